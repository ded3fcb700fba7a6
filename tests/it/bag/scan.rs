//! Files without a usable index: cut, unfinished, unchunked, with a wrong summary. Their intact parts play in order as
//! if there were an index, and each damage is reported once.

use bagplay::bag::DamageKind::{self, Compression as Codec, Framing, Index, TooLarge, Truncated};
use bagplay::bag::{Bag, Direction, IndexOrigin, MessageOrder, Opening, Progress, StartAt};
use bagplay::time::Time;
use mcap::records::op;
use mcap::{Compression, WriteOptions};
use std::io::Read as _;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::bag::hostile::{Change, UNCOMPRESSED, base, chunk_field, play, plays, put};
use crate::support::mcaps::{Files, Note, Spec, all, at, bag, place, places, texts};

const ZSTD: Option<Compression> = Some(Compression::Zstd);

/// The same file without a summary.
fn without_summary(compression: Option<Compression>) -> Spec {
    let spec = base(compression);
    spec.options(|o| {
        o.emit_statistics(false)
            .emit_chunk_indexes(false)
            .emit_summary_offsets(false)
            .repeat_channels(false)
            .repeat_schemas(false)
    })
}

type Options = fn(WriteOptions) -> WriteOptions;

#[test]
fn finished_files_without_an_index_play_without_damage() {
    for compression in [None, ZSTD, Some(Compression::Lz4)] {
        let less: [(&str, Options); 4] = [
            ("no chunk index", |o| o.emit_chunk_indexes(false)),
            ("nor message indexes", |o| {
                o.emit_chunk_indexes(false).emit_message_indexes(false)
            }),
            ("unchunked", |o| o.use_chunks(false)),
            ("unchunked, nothing repeated", |o| {
                o.use_chunks(false)
                    .repeat_channels(false)
                    .repeat_schemas(false)
                    .emit_statistics(false)
            }),
        ];
        for (name, less) in less {
            plays(name, &base(compression).options(less), |_| {}, 100, &[]);
        }
        plays(
            "no summary",
            &without_summary(compression),
            |_| {},
            100,
            &[],
        );
        let zeroed: Change = |b| {
            let at = b.len() - 28;
            put(b, at, 0);
        };
        plays("summary not named", &base(compression), zeroed, 100, &[]);
    }
}

#[test]
fn a_scan_finds_what_a_summary_says() {
    for compression in [None, ZSTD] {
        let indexed = bag(&base(compression).write());
        let options: [Options; 3] = [
            |o| o,
            |o| o.emit_message_indexes(false),
            |o| o.use_chunks(false),
        ];
        for change in options {
            let scanned = bag(&without_summary(compression).options(change).write());
            assert_eq!(scanned.files()[0].origin, IndexOrigin::Scan);
            assert_eq!(indexed.files()[0].origin, IndexOrigin::Summary);
            assert_eq!(scanned.range(), indexed.range());
            assert_eq!(scanned.message_count(), Some(100));
            let facts = |bag: &Bag| -> Vec<_> {
                let topics = bag.topics().iter();
                topics
                    .map(|t| (t.name.clone(), t.type_name().to_owned(), t.message_count))
                    .collect()
            };
            assert_eq!(facts(&scanned), facts(&indexed));
        }
    }
}

#[test]
fn a_scanned_file_gives_the_messages_of_an_indexed_one() {
    let latched = |i: u64| {
        Note::new(
            usize::from(i.is_multiple_of(10)),
            i * 1_000_000,
            i.to_string(),
        )
    };
    let chunks = (0..8).map(|c| (c * 25..c * 25 + 25).map(latched).collect());
    let mut spec = Spec::new(chunks.collect());
    spec.topics[1] = spec.topics[1].clone().with(
        "offered_qos_profiles",
        "- {history: 1, depth: 1, reliability: 1, durability: 1}",
    );
    let spec = spec.compression(ZSTD);
    let indexed = bag(&spec.write());
    let stripped: [Options; 3] = [
        |o| o.emit_chunk_indexes(false),
        |o| o.emit_chunk_indexes(false).emit_message_indexes(false),
        |o| o.use_chunks(false).emit_statistics(false),
    ];
    for change in stripped {
        let scanned = bag(&spec.clone().options(change).write());
        for start in [0, 7, 60, 100, 199] {
            for direction in [Direction::Forward, Direction::Reverse] {
                let walk = |bag: &Bag| {
                    let from = StartAt::At(at(start * 1_000_000));
                    let walk = bag.cursor(&all(bag), from, direction);
                    texts(&walk.map(Result::unwrap).collect::<Vec<_>>())
                };
                assert_eq!(walk(&scanned), walk(&indexed), "{start} {direction:?}");
            }
            let latched = |bag: &Bag| texts(&bag.latched(&all(bag), at(start * 1_000_000)).0);
            assert_eq!(latched(&scanned), latched(&indexed), "{start}");
            assert_eq!(latched(&scanned).len(), 1);
        }
    }
}

#[test]
fn a_cut_file_plays_up_to_the_cut() {
    let zstd = base(ZSTD);
    let cut: Change = |b| {
        let at = chunk_field(b, 2, 60);
        b.truncate(at);
    };
    plays("in a chunk", &zstd, cut, 40, &[Truncated]);
    plays(
        "in an lz4 chunk",
        &base(Some(Compression::Lz4)),
        cut,
        40,
        &[Truncated],
    );
    // Records of 71 bytes follow the chunk's header of 40 bytes: seven whole ones and a part of one.
    let inside: Change = |b| {
        let at = chunk_field(b, 2, 40 + 7 * 71 + 30);
        b.truncate(at);
    };
    plays(
        "in a plain chunk",
        &base(None),
        inside,
        47,
        &[Framing, Truncated],
    );
    let index: Change = |b| {
        let at = place(b, op::MESSAGE_INDEX, 5).at;
        b.truncate(at + 20);
    };
    plays("in a message index", &zstd, index, 60, &[Truncated]);
    let between: Change = |b| {
        let at = place(b, op::MESSAGE_INDEX, 5).at;
        b.truncate(at);
    };
    plays("between message indexes", &zstd, between, 60, &[Truncated]);
    for opcode in [op::DATA_END, op::STATISTICS, op::CHUNK_INDEX, op::FOOTER] {
        for length in [0, 4, 15] {
            let mut bytes = zstd.write();
            let at = place(&bytes, opcode, 0).at;
            bytes.truncate(at + length);
            let (messages, damage) = play(&bag(&bytes), Direction::Forward);
            assert_eq!(
                (messages.len(), damage),
                (100, vec![Truncated]),
                "{opcode:#x}"
            );
        }
    }
    let loose = base(None).options(|o| o.use_chunks(false));
    let inside: Change = |b| {
        let at = place(b, op::MESSAGE, 40).at;
        b.truncate(at + 30);
    };
    plays("in a loose message", &loose, inside, 40, &[Truncated]);
    for length in [8, 12] {
        let (messages, damage) = play(&bag(&zstd.write()[..length]), Direction::Forward);
        assert_eq!((messages.len(), damage), (0, vec![Truncated]), "{length}");
    }
}

#[test]
fn zeros_and_unfinished_chunks_after_a_power_loss_are_not_played() {
    let zeros: Change = |b| {
        let at = place(b, op::CHUNK, 3).at;
        b[at..].fill(0);
    };
    plays("zeros to the end", &base(ZSTD), zeros, 60, &[Truncated]);
    let open: Change = |b| {
        let at = place(b, op::CHUNK, 3).at;
        let end = chunk_field(b, 3, 40 + 5 * 71);
        put(b, at + 1, u64::MAX);
        b[at + 9..at + 33].fill(0xff);
        b.truncate(end);
    };
    plays(
        "a chunk never closed",
        &base(None),
        open,
        65,
        &[Framing, Truncated],
    );
}

#[test]
fn a_wrong_end_of_a_file_loses_no_message() {
    let zstd = base(ZSTD);
    let cases: [(&str, Change, DamageKind); 8] = [
        ("no end magic", |b| b.truncate(b.len() - 8), Truncated),
        ("bytes behind the end", |b| b.extend([0; 1024]), Framing),
        ("twice the file", |b| b.extend(b.clone()), Index),
        (
            "footer opcode",
            |b| {
                let at = b.len() - 37;
                b[at] = 9;
            },
            Truncated,
        ),
        (
            "summary starts in a record",
            |b| {
                let at = place(b, op::CHUNK_INDEX, 1).at as u64 + 4;
                let foot = b.len() - 28;
                put(b, foot, at);
            },
            Index,
        ),
        (
            "summary elsewhere",
            |b| {
                let foot = b.len() - 28;
                put(b, foot, 1 << 40);
            },
            Index,
        ),
        (
            "summary record length",
            |b| {
                let at = place(b, op::CHUNK_INDEX, 1).at;
                put(b, at + 1, u64::MAX);
            },
            Index,
        ),
        (
            "summary record cut short",
            |b| {
                let at = place(b, op::CHUNK_INDEX, 1).at;
                b[at + 9 + 32] = 0xff;
            },
            Index,
        ),
    ];
    for (name, change, kind) in cases {
        let mut bytes = zstd.write();
        change(&mut bytes);
        let (messages, damage) = play(&bag(&bytes), Direction::Forward);
        assert_eq!(messages.len(), 100, "{name}: {damage:?}");
        assert_eq!(damage.first(), Some(&kind), "{name}: {damage:?}");
    }
    let summed = base(None).options(|o| o.calculate_summary_section_crc(true));
    let flip: Change = |b| {
        let at = place(b, op::CHUNK_INDEX, 1).at;
        b[at + 9] ^= 1;
    };
    plays("summary checksum", &summed, flip, 100, &[Index]);
    let header: Change = |b| put(b, 9, u64::MAX);
    plays("header length", &zstd, header, 100, &[Framing, Framing]);
}

#[test]
fn a_scan_finds_the_next_record_after_damaged_bytes() {
    for (spec, rest) in [
        (without_summary(ZSTD), 80),
        (without_summary(Some(Compression::Lz4)), 80),
    ] {
        let header: Change = |b| {
            let at = place(b, op::CHUNK, 1).at;
            b[at..at + 40].fill(0);
        };
        plays("chunk header destroyed", &spec, header, rest, &[Framing]);
        let length: Change = |b| {
            let at = place(b, op::CHUNK, 1).at;
            put(b, at + 1, u64::MAX - 3);
        };
        plays("record length", &spec, length, rest, &[Framing]);
    }
    // All records of an uncompressed chunk are found.
    let header: Change = |b| {
        let at = place(b, op::CHUNK, 1).at;
        b[at..at + 40].fill(0);
    };
    plays(
        "plain chunk header",
        &without_summary(None),
        header,
        100,
        &[Framing],
    );
    // Text over half of a message outside chunks.
    let loose = without_summary(None).options(|o| o.use_chunks(false));
    let text: Change = |b| {
        let at = place(b, op::MESSAGE, 50).at;
        b[at..at + 35].fill(b'x');
    };
    plays("text in the file", &loose, text, 99, &[Framing]);
}

#[test]
fn chunks_with_impossible_sizes_are_skipped_without_an_index_too() {
    for spec in [
        without_summary(None),
        without_summary(ZSTD),
        without_summary(Some(Compression::Lz4)),
    ] {
        for size in [1_u64 << 40, 1 << 63, u64::MAX] {
            let mut bytes = spec.write();
            let field = chunk_field(&bytes, 3, UNCOMPRESSED);
            put(&mut bytes, field, size);
            let (messages, damage) = play(&bag(&bytes), Direction::Forward);
            assert_eq!((messages.len(), damage), (80, vec![TooLarge]), "{size}");
        }
    }
    let garble: Change = |b| {
        let at = chunk_field(b, 1, 45);
        b[at..at + 20].fill(0xee);
    };
    plays("garbled", &without_summary(ZSTD), garble, 80, &[Codec]);
    // 256 MiB of zeros, compressed to eight kilobytes.
    let bomb = zstd::encode_all(std::io::repeat(0).take(256 << 20), 3).unwrap();
    let mut bytes = without_summary(ZSTD).write();
    let at = place(&bytes, op::CHUNK, 2).at;
    let mut chunk = vec![op::CHUNK];
    chunk.extend((44 + bomb.len() as u64).to_le_bytes());
    chunk.extend([0; 16]);
    chunk.extend((256_u64 << 20).to_le_bytes());
    chunk.extend([0; 4]);
    chunk.extend(4_u32.to_le_bytes());
    chunk.extend(b"zstd");
    chunk.extend((bomb.len() as u64).to_le_bytes());
    chunk.extend(bomb);
    bytes.splice(at..at, chunk);
    let (messages, damage) = play(&bag(&bytes), Direction::Forward);
    assert_eq!((messages.len(), damage), (100, vec![TooLarge]));
}

/// Inserts messages after the chunks, which the summary does not list.
fn with_loose(mut bytes: Vec<u8>, count: u64) -> Vec<u8> {
    let mut loose = Vec::new();
    for i in 0..count {
        loose.push(op::MESSAGE);
        loose.extend(24_u64.to_le_bytes());
        loose.extend(1_u16.to_le_bytes());
        loose.extend(0_u32.to_le_bytes());
        loose.extend([(i * 7_000_000 + 500_000).to_le_bytes(); 2].concat());
        loose.extend([b'l', b'x']);
    }
    let at = place(&bytes, op::DATA_END, 0).at;
    let shift = loose.len() as u64;
    bytes.splice(at..at, loose);
    let foot = bytes.len() - 28;
    let start = u64::from_le_bytes(bytes[foot..foot + 8].try_into().unwrap());
    put(&mut bytes, foot, start + shift);
    bytes
}

#[test]
fn messages_missing_in_the_index_are_found() {
    let mut bytes = with_loose(base(ZSTD).write(), 10);
    let found = bag(&bytes);
    assert_eq!(found.files()[0].origin, IndexOrigin::Summary);
    for direction in [Direction::Forward, Direction::Reverse] {
        let (messages, damage) = play(&found, direction);
        assert_eq!((messages.len(), damage), (110, vec![]));
        let mut keys: Vec<_> = messages.iter().map(|message| message.key).collect();
        if direction == Direction::Reverse {
            keys.reverse();
        }
        assert!(keys.is_sorted());
    }
    // The index of one chunk becomes a private record.
    let entry = place(&bytes, op::CHUNK_INDEX, 2).at;
    bytes[entry] = 0x90;
    let (messages, damage) = play(&bag(&bytes), Direction::Forward);
    assert_eq!((messages.len(), damage), (110, vec![Index]));
}

#[test]
fn wrong_times_in_the_index_are_corrected() {
    for field in [0, 8] {
        for millis in [0_u64, 5, 30, 70, 95, 1000] {
            let mut bytes = base(ZSTD).write();
            let entry = place(&bytes, op::CHUNK_INDEX, 3).at;
            put(&mut bytes, entry + 9 + field, millis * 1_000_000);
            let (messages, damage) = play(&bag(&bytes), Direction::Forward);
            assert_eq!((messages.len(), damage), (100, vec![Index]), "{millis}");
            assert!(messages.is_sorted_by_key(|message| message.key));
        }
    }
}

#[test]
fn the_order_by_publish_time_is_exact_over_the_whole_recording() {
    // Sent in the opposite order of arrival, across all chunks.
    let sent = |i: u64| 1_000 - i;
    let plain = base(None).write();
    // Publish times are changed in uncompressed chunks, so that nothing has to be compressed again.
    let mut patched = plain.clone();
    let chunks: Vec<_> = places(&plain)
        .into_iter()
        .filter(|place| place.opcode == op::CHUNK)
        .collect();
    let mut i = 0;
    for chunk in chunks {
        let records = chunk.at + 9 + 40;
        let mut at = records;
        while at < chunk.at + 9 + chunk.body {
            let length = u64::from_le_bytes(plain[at + 1..at + 9].try_into().unwrap());
            if plain[at] == op::MESSAGE {
                put(&mut patched, at + 9 + 14, sent(i));
                i += 1;
            }
            at += 9 + usize::try_from(length).unwrap();
        }
    }
    assert_eq!(i, 100);
    let files = Files::of([patched]);
    let opening = Opening {
        order: MessageOrder::Sent,
        ..Opening::default()
    };
    let bag = Bag::open_with(&files.paths, &opening).unwrap();
    assert_eq!(bag.range().unwrap().start(), at(sent(99)));
    assert_eq!(bag.range().unwrap().stop(), at(sent(0)));
    for held in [u64::MAX, 1000, 0] {
        let walk = bag.cursor(&all(&bag), StartAt::At(Time::MIN), Direction::Forward);
        let messages: Vec<_> = walk.holding(held).map(Result::unwrap).collect();
        let due: Vec<_> = (0..100).rev().map(|i| at(sent(i))).collect();
        let order: Vec<_> = messages
            .iter()
            .map(|message| message.publish_time)
            .collect();
        assert_eq!(order, due);
        assert!(messages.iter().all(|it| it.key.time == it.publish_time));
        assert!(messages[0].log_time > messages[99].log_time);
    }
}

#[test]
fn a_scan_reports_its_progress() {
    let chunk = |i: u64| vec![Note::new(0, i, vec![7; 3 << 20])];
    let spec = Spec::new((0..20).map(chunk).collect());
    let files = Files::of([spec.options(|o| o.emit_chunk_indexes(false)).write()]);
    let (calls, most) = (AtomicU64::new(0), AtomicU64::new(0));
    let watch = |progress: Progress<'_>| {
        assert_eq!(*progress.file, (&files.paths[0]).into());
        assert!(progress.done <= progress.of);
        calls.fetch_add(1, Ordering::Relaxed);
        most.fetch_max(progress.done, Ordering::Relaxed);
    };
    let opening = Opening {
        progress: Some(&watch),
        ..Opening::default()
    };
    Bag::open_with(&files.paths, &opening).unwrap();
    assert!(calls.into_inner() >= 3);
    assert!(most.into_inner() > 40 << 20);
}

#[test]
fn a_summary_start_inside_the_data_hides_no_message() {
    for chunked in [true, false] {
        let spec = base(None).options(|o| o.use_chunks(chunked));
        let first = if chunked { op::CHUNK } else { op::MESSAGE };
        let mut bytes = spec.write();
        let (begin, footer) = (place(&bytes, first, 0).at, place(&bytes, op::FOOTER, 0).at);
        put(&mut bytes, footer + 9, begin as u64);
        let (messages, damage) = play(&bag(&bytes), Direction::Forward);
        assert_eq!((messages.len(), damage), (100, vec![Index]), "{chunked}");
    }
}

#[test]
fn a_chunk_that_the_index_declares_empty_is_read() {
    let mut bytes = base(ZSTD)
        .options(|o| o.emit_message_indexes(false))
        .write();
    // The last field of the record; the index names no channels either.
    let index = place(&bytes, op::CHUNK_INDEX, 1);
    put(&mut bytes, index.at + 9 + index.body - 8, 0);
    let (messages, damage) = play(&bag(&bytes), Direction::Forward);
    assert_eq!((messages.len(), damage), (100, vec![Index]));
}

#[test]
fn a_chunk_broken_from_its_first_record_is_reported() {
    let spec = without_summary(None).options(|o| o.emit_message_indexes(false));
    let zeros: Change = |b| {
        let at = chunk_field(b, 2, 40);
        b[at..at + 9].fill(0);
    };
    plays("zeros at a chunk's start", &spec, zeros, 80, &[Framing]);
}

/// Sets the length of the second chunk so that it ends where the fourth chunk does.
fn lengthen(bytes: &mut [u8]) {
    let (first, last) = (place(bytes, op::CHUNK, 1), place(bytes, op::CHUNK, 3));
    let length = last.at + 9 + last.body - first.at - 9;
    put(bytes, first.at + 1, length as u64);
}

#[test]
fn a_wrong_length_of_a_chunk_hides_no_others() {
    plays(
        "no index",
        &without_summary(ZSTD),
        |b| lengthen(b),
        100,
        &[Framing],
    );
    // The index has the same wrong length, and does not list the chunks within it.
    for field in [24, 0] {
        let mut bytes = base(ZSTD).write();
        let end = place(&bytes, op::DATA_END, 0).at;
        for _ in 2..5 {
            let entry = place(&bytes, op::CHUNK_INDEX, 2);
            bytes[entry.at] = 0x90;
        }
        let entry = place(&bytes, op::CHUNK_INDEX, 1);
        let chunk = place(&bytes, op::CHUNK, 1);
        let all = (end - chunk.at) as u64;
        if field == 24 {
            put(&mut bytes, entry.at + 9 + 24, all);
        } else {
            let map = u32::from_le_bytes(bytes[entry.at + 41..entry.at + 45].try_into().unwrap());
            put(&mut bytes, entry.at + 45 + map as usize, all - 100);
        }
        let (messages, _) = play(&bag(&bytes), Direction::Forward);
        assert_eq!(messages.len(), 100, "{field}");
    }
}

#[test]
fn a_channel_that_no_chunk_index_lists_is_found() {
    let mut bytes = base(ZSTD).write();
    for n in 0..5 {
        // The map has the first channel twice instead of both.
        let map = place(&bytes, op::CHUNK_INDEX, n).at + 45;
        let first: [u8; 10] = bytes[map..map + 10].try_into().unwrap();
        bytes[map + 10..map + 20].copy_from_slice(&first);
    }
    let found = bag(&bytes);
    let only = |id| {
        let topics = bagplay::bag::Selection::of([bagplay::bag::TopicId(id)], &found);
        let from = StartAt::At(Time::MIN);
        found.cursor(&topics, from, Direction::Forward).count()
    };
    assert_eq!((only(0), only(1), found.damage().len()), (50, 50, 1));
}

#[test]
fn a_channel_defined_twice_is_reported() {
    let loose = without_summary(None).options(|o| o.use_chunks(false));
    let mut bytes = loose.write();
    let again = place(&bytes, op::CHANNEL, 0);
    let mut other = bytes[again.at..again.at + 9 + again.body].to_vec();
    // The topic changes: /t0 becomes /x0.
    other[9 + 8 + 1] = b'x';
    let at = place(&bytes, op::MESSAGE, 40).at;
    bytes.splice(at..at, other);
    let (messages, damage) = play(&bag(&bytes), Direction::Forward);
    // Reported by the scan and by the walk.
    assert_eq!(
        (messages.len(), damage),
        (100, vec![DamageKind::ChannelConflict; 2])
    );
}

#[test]
fn a_channel_is_taken_from_a_later_chunk_if_its_first_is_broken() {
    let define = |n: u64| vec![Note::new(0, n, "a"), Note::new(1, n, "b")];
    let spec = without_summary(None).options(|o| o.calculate_chunk_crcs(true));
    let spec = Spec {
        chunks: (0..3).map(define).collect(),
        ..spec
    };
    let mut bytes = spec.write();
    // The writer defines each channel once; here the second chunk defines them, too.
    let first = place(&bytes, op::CHUNK, 0);
    let records = bytes[first.at + 9 + 40..first.at + 9 + first.body].to_vec();
    let definitions = records.len() - 2 * (9 + 22 + 1);
    assert!(definitions > 50);
    let second = place(&bytes, op::CHUNK, 1);
    let body = bytes[second.at + 9 + 40..second.at + 9 + second.body].to_vec();
    let data = [&records[..definitions], &body].concat();
    let mut chunk = vec![op::CHUNK];
    chunk.extend((40 + data.len() as u64).to_le_bytes());
    chunk.extend([1_u64.to_le_bytes(); 2].concat());
    chunk.extend((data.len() as u64).to_le_bytes());
    chunk.extend([0; 8]);
    chunk.extend((data.len() as u64).to_le_bytes());
    chunk.extend(data);
    bytes.splice(second.at..second.at + 9 + second.body, chunk);
    bytes[first.at + 9 + 40 + definitions + 25] ^= 1;
    let (messages, damage) = play(&bag(&bytes), Direction::Forward);
    assert_eq!((messages.len(), damage), (4, vec![DamageKind::Checksum]));
}

#[test]
fn a_broken_chunk_does_not_extend_the_range_by_publish_time() {
    let spec = base(None).options(|o| o.calculate_chunk_crcs(true));
    let mut bytes = spec.write();
    let data = chunk_field(&bytes, 0, 500);
    bytes[data] ^= 1;
    let files = Files::of([bytes]);
    let opening = Opening {
        order: MessageOrder::Sent,
        ..Opening::default()
    };
    let bag = Bag::open_with(&files.paths, &opening).unwrap();
    assert_eq!(bag.range().unwrap().start(), at(20_000_000));
    let walk = bag.cursor(&all(&bag), StartAt::At(Time::MIN), Direction::Forward);
    let found: Vec<_> = walk.collect();
    assert_eq!(found.iter().filter(|item| item.is_ok()).count(), 80);
    assert_eq!(found.iter().filter(|item| item.is_err()).count(), 1);
}
