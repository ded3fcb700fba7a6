//! Malformed and hostile files: opening fails or damage is reported with the right count; no panic and no huge
//! allocation.

use bagplay::bag::{
    Bag, Damage, DamageExtent, DamageKind, DamagedPart, Direction, Message, Selection, StartAt,
    TopicId,
};
use bagplay::time::{Time, TimeRange};
use mcap::Compression;
use mcap::records::op;

use crate::support::mcaps::{Files, Note, Spec, TopicSpec, all, bag, incompressible, place, texts};

/// Five chunks of twenty messages, one per millisecond. Without checksums, which would report every change first.
pub(crate) fn base(compression: Option<Compression>) -> Spec {
    let message = |i: u64| Note::new(usize::from(i.is_multiple_of(2)), i * 1_000_000, vec![1; 40]);
    let chunk = |c: u64| (c * 20..c * 20 + 20).map(message).collect();
    let spec = Spec::new((0..5).map(chunk).collect()).compression(compression);
    spec.options(|o| {
        o.calculate_summary_section_crc(false)
            .calculate_chunk_crcs(false)
    })
}

pub(crate) fn play(bag: &Bag, direction: Direction) -> (Vec<Message>, Vec<DamageKind>) {
    let from = match direction {
        Direction::Forward => StartAt::At(Time::MIN),
        Direction::Reverse => StartAt::At(Time::MAX),
    };
    let mut messages = Vec::new();
    let mut damage: Vec<_> = bag.damage().iter().map(|it| it.kind).collect();
    let mut cursor = bag.cursor(&all(bag), from, direction);
    for item in &mut cursor {
        match item {
            Ok(message) => messages.push(message),
            Err(it) => {
                assert!(it.to_string().contains(".mcap: "), "{it}");
                damage.push(it.kind);
            }
        }
    }
    let peak = cursor.usage().peak_bytes;
    assert!(peak < 8 << 20, "{peak} bytes for a file of some kilobytes");
    (messages, damage)
}

pub(crate) type Change = fn(&mut Vec<u8>);

/// Asserts that the changed file plays so many messages, in order, with damage of these kinds.
#[track_caller]
pub(crate) fn plays(name: &str, spec: &Spec, change: Change, count: usize, kinds: &[DamageKind]) {
    let mut bytes = spec.write();
    change(&mut bytes);
    let bag = bag(&bytes);
    for direction in [Direction::Forward, Direction::Reverse] {
        let (messages, damage) = play(&bag, direction);
        assert_eq!(messages.len(), count, "{name}: {direction:?} {damage:?}");
        assert_eq!(damage, kinds, "{name}: {direction:?}");
        if !kinds.contains(&DamageKind::Times) {
            let mut keys: Vec<_> = messages.iter().map(|message| message.key).collect();
            if direction == Direction::Reverse {
                keys.reverse();
            }
            assert!(keys.is_sorted(), "{name}: {direction:?}");
        }
    }
}

#[track_caller]
fn refused(name: &str, bytes: &[u8], message: &str) {
    let files = Files::of([bytes]);
    let error = Bag::open(&files.paths).expect_err(name).to_string();
    assert!(error.contains(message), "{name}: {error}");
    for part in ["0.mcap: ", "byte ", "hint: "] {
        assert!(error.contains(part), "{name}: {error} lacks {part}");
    }
}

pub(crate) fn put(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

/// The offset in the file of byte `field` of the nth chunk's body.
pub(crate) fn chunk_field(bytes: &[u8], n: usize, field: usize) -> usize {
    place(bytes, op::CHUNK, n).at + 9 + field
}

pub(crate) const UNCOMPRESSED: usize = 16;
const CRC: usize = 24;

#[test]
fn files_without_optional_summary_records_play_whole() {
    let none = base(None);
    plays("as it is", &none, |_| {}, 100, &[]);
    for change in [
        (|o| o.emit_message_indexes(false)) as fn(mcap::WriteOptions) -> mcap::WriteOptions,
        |o| o.emit_statistics(false),
        |o| o.emit_summary_offsets(false),
        |o| o.repeat_channels(false),
        |o| o.repeat_schemas(false),
        |o| o.repeat_channels(false).repeat_schemas(false),
    ] {
        let spec = base(Some(Compression::Zstd)).options(change);
        plays("less summary", &spec, |_| {}, 100, &[]);
        let bag = bag(&spec.write());
        assert_eq!(bag.topics().len(), 2);
        assert_eq!(bag.topics()[0].type_name(), "std_msgs/msg/String");
    }
    let double: Change = |bytes| {
        // The first chunk index overwrites the second, which is as long.
        let (a, b) = (
            place(bytes, op::CHUNK_INDEX, 0),
            place(bytes, op::CHUNK_INDEX, 1),
        );
        bytes.copy_within(a.at..a.at + 9 + a.body, b.at);
    };
    plays("an index twice", &none, double, 100, &[DamageKind::Index]);
}

#[test]
fn each_damaged_chunk_is_reported_once_and_skipped() {
    use DamageKind::{Checksum, Compression as Codec, Framing, Index, TooLarge, UnknownChannel};
    let (none, zstd) = (base(None), base(Some(Compression::Zstd)));
    let lz4 = base(Some(Compression::Lz4));
    let flip: Change = |bytes| {
        let data = chunk_field(bytes, 2, 500);
        bytes[data] ^= 1;
    };
    let checked = base(None).options(|o| o.calculate_chunk_crcs(true));
    plays("payload bit", &checked, flip, 80, &[Checksum]);
    plays(
        "wrong checksum",
        &zstd,
        |b| {
            let at = chunk_field(b, 1, CRC);
            b[at] = 1;
        },
        80,
        &[Checksum],
    );
    for spec in [&zstd, &lz4] {
        let garble: Change = |bytes| {
            let at = chunk_field(bytes, 1, 45);
            bytes[at..at + 20].fill(0xee);
        };
        plays("garbled", spec, garble, 80, &[Codec]);
    }
    for size in [1_u64 << 40, 1 << 63, u64::MAX, 1 << 31] {
        for spec in [&none, &zstd, &lz4] {
            let mut bytes = spec.write();
            let at = chunk_field(&bytes, 3, UNCOMPRESSED);
            put(&mut bytes, at, size);
            let (messages, damage) = play(&bag(&bytes), Direction::Forward);
            assert_eq!(
                (messages.len(), damage),
                (80, vec![Index, TooLarge]),
                "{size}"
            );
        }
    }
    for size in [1, 0, 1300] {
        for spec in [&none, &zstd, &lz4] {
            let mut bytes = spec.write();
            let at = chunk_field(&bytes, 3, UNCOMPRESSED);
            put(&mut bytes, at, size);
            let (messages, damage) = play(&bag(&bytes), Direction::Reverse);
            assert_eq!(messages.len(), 80, "{size}");
            assert!(
                matches!(damage[..], [Index, Codec | TooLarge]),
                "{size} {damage:?}"
            );
        }
    }
    let unknown: Change = |b| {
        let at = chunk_field(b, 1, 32);
        b[at..at + 4].copy_from_slice(b"zstx");
    };
    plays("unknown compression", &zstd, unknown, 80, &[Codec]);
    plays(
        "chunk opcode",
        &zstd,
        |b| {
            let at = place(b, op::CHUNK, 4).at;
            b[at] = 9;
        },
        80,
        &[Framing],
    );
    // A record length that is too short, or so long that only the chunk's own header shows where it ends.
    for (length, due) in [
        (0, (80, vec![Framing])),
        (5, (80, vec![Framing])),
        (1 << 30, (100, vec![])),
        (u64::MAX - 8, (100, vec![])),
        (u64::MAX, (100, vec![])),
    ] {
        let mut bytes = zstd.write();
        let at = place(&bytes, op::CHUNK, 4).at;
        put(&mut bytes, at + 1, length);
        let (messages, damage) = play(&bag(&bytes), Direction::Forward);
        assert_eq!((messages.len(), damage), due, "{length}");
    }
    // The third message of an uncompressed chunk: its length, its opcode, its channel.
    let long: Change = |b| {
        let at = chunk_field(b, 2, 40 + 2 * 71 + 1);
        put(b, at, u64::MAX - 3);
    };
    plays("message longer than its chunk", &none, long, 82, &[Framing]);
    let zeros: Change = |b| {
        let at = chunk_field(b, 2, 40 + 2 * 71);
        b[at..at + 64].fill(0);
    };
    plays("zeros in a chunk", &none, zeros, 82, &[Framing]);
    let stray: Change = |b| {
        let at = chunk_field(b, 2, 40 + 2 * 71 + 9);
        b[at] = 77;
    };
    plays("unknown channel", &none, stray, 99, &[UnknownChannel]);
    let past: Change = |b| {
        let at = place(b, op::CHUNK_INDEX, 2).at;
        put(b, at + 9 + 16, 1 << 50);
    };
    plays("chunk index past the file", &none, past, 100, &[Index]);
}

#[test]
fn wrong_fields_of_the_index_alone_lose_no_message() {
    let none = base(Some(Compression::Zstd));
    for size in [0, 1_u64 << 40, u64::MAX] {
        let mut bytes = none.write();
        let index = place(&bytes, op::CHUNK_INDEX, 1);
        // The last field of the record.
        put(&mut bytes, index.at + 9 + index.body - 8, size);
        let (messages, damage) = play(&bag(&bytes), Direction::Forward);
        assert_eq!((messages.len(), damage), (100, vec![DamageKind::Index]));
    }
    let offsets: Change = |b| {
        let at = place(b, op::CHUNK_INDEX, 3).at;
        put(b, at + 9 + 32 + 4 + 2, 1 << 60);
    };
    let kinds = [DamageKind::Index];
    plays("message index past the file", &none, offsets, 100, &kinds);
}

#[test]
fn a_chunk_with_wrong_times_loses_no_message_and_stays_within_the_range() {
    let millis = 1_000_000;
    // The start and end that the index gives for the fourth chunk, which has messages from 60 to 79 ms.
    let times = [
        (70, 79),
        (60, 65),
        (5, 20),
        (200, 300),
        (65, 66),
        (90, 95),
        (0, 0),
        (80, 80),
    ];
    for ((start, end), is_indexed) in times.into_iter().flat_map(|it| [(it, true), (it, false)]) {
        let spec = base(Some(Compression::Zstd));
        let mut bytes = spec.options(|o| o.emit_message_indexes(is_indexed)).write();
        let at = place(&bytes, op::CHUNK_INDEX, 3).at + 9;
        // The chunk's header has the same wrong times: only its messages have the right ones, and their index if any.
        for at in [at, place(&bytes, op::CHUNK, 3).at + 9] {
            put(&mut bytes, at, start * millis);
            put(&mut bytes, at + 8, end * millis);
        }
        let bag = bag(&bytes);
        let kinds: Vec<_> = bag.damage().iter().map(|it| it.kind).collect();
        assert_eq!(kinds, [DamageKind::Index], "{start} to {end}");
        assert_eq!(
            bag.range().unwrap().stop(),
            crate::support::mcaps::at(99 * millis)
        );
        for held in [u64::MAX, 1000, 0] {
            for direction in [Direction::Forward, Direction::Reverse] {
                let from = match direction {
                    Direction::Forward => StartAt::At(Time::MIN),
                    Direction::Reverse => StartAt::At(Time::MAX),
                };
                let walk = |range| {
                    let walk = bag.cursor_within(&all(&bag), from, direction, range);
                    let found = walk.holding(held).filter_map(Result::ok);
                    let mut found: Vec<_> = found.map(|message| message.log_time).collect();
                    found.sort_unstable();
                    found
                };
                let whole: Vec<_> = (0..100)
                    .map(|i| crate::support::mcaps::at(i * millis))
                    .collect();
                assert_eq!(walk(TimeRange::ALL), whole, "{start} to {end}, {held}");
                for (low, high) in [(0, 64), (62, 90), (66, 66), (71, 300)] {
                    let range =
                        TimeRange::between(whole[low], crate::support::mcaps::at(high * millis));
                    let found = walk(range);
                    let is_inside = |time: &&_| range.contains(**time);
                    let due: Vec<_> = whole.iter().filter(is_inside).copied().collect();
                    assert_eq!(found, due, "{start} to {end}, {held}, {range:?}");
                }
            }
        }
    }
}

#[test]
fn a_chunk_larger_than_declared_is_not_decompressed() {
    let zeros = vec![Note::new(0, 1, vec![0; 6 << 20])];
    let spec = Spec::new(vec![zeros, vec![Note::new(0, 2, "b")]]);
    let spec = spec.compression(Some(Compression::Zstd));
    let spec = spec.options(|o| o.calculate_summary_section_crc(false));
    let mut bytes = spec.write();
    let at = chunk_field(&bytes, 0, UNCOMPRESSED);
    put(&mut bytes, at, 1000);
    let (messages, damage) = play(&bag(&bytes), Direction::Forward);
    assert_eq!(texts(&messages), ["b"]);
    assert_eq!(damage, [DamageKind::Index, DamageKind::Compression]);
}

/// Also a chunk that is too large to be read at once.
#[test]
fn an_uncompressed_chunk_longer_than_declared_is_named_with_its_length() {
    for size in [1000, 17 << 20] {
        let spec = Spec::new(vec![vec![Note::new(0, 1, vec![7; size])]]).compression(None);
        let spec = spec.options(|o| o.calculate_summary_section_crc(false));
        let mut bytes = spec.write();
        let at = chunk_field(&bytes, 0, UNCOMPRESSED);
        let length = u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        put(&mut bytes, at, length - 1);
        let bag = bag(&bytes);
        let walk = bag.cursor(&all(&bag), StartAt::At(Time::MIN), Direction::Forward);
        let damage: Vec<String> = walk.filter_map(Result::err).map(|it| it.detail).collect();
        let said = format!("chunk holds {length} bytes, not {}", length - 1);
        assert_eq!(damage.last(), Some(&said), "{damage:?}");
    }
}

#[test]
fn an_index_that_names_a_message_of_another_topic_does_not_latch_it() {
    let latched = TopicSpec::named("/map").with("latching", "1");
    let notes = vec![Note::new(0, 5, "map"), Note::new(1, 5, "odom")];
    let mut bytes = Spec {
        topics: vec![latched, TopicSpec::named("/odom")],
        ..Spec::new(vec![notes])
    }
    .write();
    // The only entry of the first channel is replaced by that of the second.
    let entry = |n| place(&bytes, op::MESSAGE_INDEX, n).at + 9 + 2 + 4;
    let (to, from) = (entry(0), entry(1));
    bytes.copy_within(from..from + 16, to);
    let bag = bag(&bytes);
    let (messages, damage) = bag.latched(&all(&bag), Time::MAX);
    assert_eq!(texts(&messages), [""; 0]);
    let kinds: Vec<_> = damage.iter().map(|it| it.kind).collect();
    assert_eq!(kinds, [DamageKind::Index]);
}

#[test]
fn files_of_other_formats_are_refused_by_their_format() {
    for (bytes, message) in [
        (&b""[..], "an empty file"),
        (b"#ROSBAG V2.0\n..........", "a ROS 1 bag"),
        (b"SQLite format 3\0.......", "sqlite3"),
        (
            b"version https://git-lfs.github.com/spec/v1",
            "git-lfs pointer",
        ),
        (b"\x89MCAP1\r\n", "unknown version"),
        (b"hello", "unknown bytes"),
    ] {
        refused(message, bytes, message);
    }
    let dir = tempfile::tempdir().unwrap();
    let error = Bag::open(&[dir.path().join("absent")]).expect_err("nothing");
    assert!(error.to_string().contains("absent: cannot be opened"));
}

#[test]
fn a_recording_without_messages_opens() {
    let bag = bag(&Spec::new(vec![]).write());
    assert_eq!((bag.range(), bag.message_count()), (None, Some(0)));
    assert_eq!(play(&bag, Direction::Forward).0.len(), 0);
}

#[test]
fn a_flipped_byte_leaves_walks_bounded_and_consistent() {
    for compression in [None, Some(Compression::Lz4), Some(Compression::Zstd)] {
        let sound = base(compression).write();
        let step = if cfg!(debug_assertions) { 7 } else { 1 };
        for at in (0..sound.len()).step_by(step) {
            let mut bytes = sound.clone();
            bytes[at] ^= 0xff;
            let files = Files::of([bytes]);
            if let Ok(bag) = Bag::open(&files.paths) {
                let (messages, _) = play(&bag, Direction::Reverse);
                assert!(messages.len() <= 100);
                // The walks over single topics find the same messages as the walk over all.
                for id in (0..).map(TopicId).take(bag.topics().len()) {
                    let topics = Selection::of([id], &bag);
                    let walk = bag.cursor(&topics, StartAt::At(Time::MIN), Direction::Forward);
                    let due = messages
                        .iter()
                        .filter(|message| message.topic == id)
                        .count();
                    assert_eq!(walk.flatten().count(), due, "byte {at}");
                }
                let _ = bag.latched(&all(&bag), Time::MAX);
            }
        }
    }
}

/// Crate mcap leaves the data of chunks out of this checksum if it writes chunks without checksums.
#[test]
fn the_checksum_of_a_data_section_is_checked_as_its_writer_computed_it() {
    for (compression, has_checksums) in [
        (None, true),
        (None, false),
        (Some(Compression::Zstd), true),
        (Some(Compression::Zstd), false),
    ] {
        let spec = base(compression).options(|o| o.calculate_chunk_crcs(has_checksums));
        let mut bytes = spec.write();
        assert_eq!(bag(&bytes).check_data_sections(), [], "{has_checksums}");
        // The log time of an entry of the first message index.
        let index = place(&bytes, op::MESSAGE_INDEX, 0);
        bytes[index.at + 9 + 6] ^= 1;
        let damage = bag(&bytes).check_data_sections();
        let kinds: Vec<_> = damage.iter().map(|it| it.kind).collect();
        assert_eq!(kinds, [DamageKind::DataSection], "{has_checksums}");
    }
}

/// Three chunks, each with two topics; a payload of the second is changed.
#[test]
fn what_is_lost_by_damage_has_times_and_topics() {
    let note = |topic, time: u64| Note::new(topic, time, vec![7; 50]);
    let chunk = |start| vec![note(0, start), note(2, start + 5)];
    let spec = Spec {
        topics: ["/a", "/b", "/c"].map(TopicSpec::named).to_vec(),
        ..Spec::new(vec![chunk(10), chunk(20), chunk(30)])
    };
    let mut bytes = spec.options(|o| o.calculate_chunk_crcs(true)).write();
    let second = place(&bytes, op::CHUNK, 1);
    bytes[second.at + 9 + second.body - 1] ^= 1;
    let bag = bag(&bytes);
    let cursor = bag.cursor(&all(&bag), StartAt::At(Time::MIN), Direction::Forward);
    let damage: Vec<Damage> = cursor.filter_map(Result::err).collect();
    assert_eq!(damage.len(), 1, "{damage:?}");
    let part = bag.damaged_part(&damage[0]).unwrap();
    assert_eq!(
        part.range,
        TimeRange::between(Time::from_nanos(20), Time::from_nanos(25))
    );
    let names = part.topics.iter().map(|id| &bag.topics()[id.index()].name);
    assert_eq!(names.collect::<Vec<_>>(), ["/a", "/c"]);
    assert_eq!(
        (part.at, part.extent, part.messages),
        (second.at as u64, DamageExtent::Chunk, Some(2))
    );
    // Nothing is lost by these, or nobody knows when.
    let other = |change: fn(&mut Damage)| {
        let mut damage = damage[0].clone();
        change(&mut damage);
        bag.damaged_part(&damage)
    };
    assert_eq!(other(|damage| damage.kind = DamageKind::Times), None);
    assert_eq!(other(|damage| damage.offset = 0), None);
    assert_eq!(other(|damage| damage.file = "elsewhere".into()), None);
}

/// The damaged parts that are known: what is known of their times, these in milliseconds, and how many messages.
fn parts(bag: &Bag) -> Vec<(DamageExtent, i64, i64, Option<u64>)> {
    let part = |part: &DamagedPart| {
        let [from, to] =
            [part.range.start(), part.range.stop()].map(|end| end.as_nanos() / 1_000_000);
        (part.extent, from, to, part.messages)
    };
    bag.damaged_parts().iter().map(part).collect()
}

#[test]
fn damage_that_one_reader_has_met_is_known_to_all_and_counts_once() {
    let mut bytes = base(None).options(|o| o.calculate_chunk_crcs(true)).write();
    let at = chunk_field(&bytes, 2, 500);
    bytes[at] ^= 1;
    let bag = bag(&bytes);
    let clone = bag.clone();
    assert_eq!((bag.damage_count(), parts(&bag)), (0, vec![]));
    let read = || {
        let walk = bag.cursor(&all(&bag), StartAt::At(Time::MIN), Direction::Forward);
        walk.flatten().count()
    };
    let third = (DamageExtent::Chunk, 40, 59, Some(20));
    for _ in 0..2 {
        assert_eq!(read(), 80);
        assert_eq!((clone.damage_count(), parts(&clone)), (1, vec![third]));
    }
    assert_eq!(bag.damage(), []);
}

/// Nothing has been read when these are asked for.
#[test]
fn parts_that_are_lost_are_known_from_opening_as_far_as_it_finds_them() {
    let spec = || base(Some(Compression::Zstd));
    // The last chunk has no end.
    let mut cut = spec().write();
    cut.truncate(place(&cut, op::CHUNK, 4).at + 60);
    let cut = bag(&cut);
    let end = (DamageExtent::OpenEnd, 79, 79, None);
    assert_eq!((cut.damage_count(), parts(&cut)), (1, vec![end]));

    // Neither a summary nor one of the chunks.
    let mut gone = spec().write();
    let third = place(&gone, op::CHUNK, 2).at;
    gone.truncate(place(&gone, op::DATA_END, 0).at);
    gone[third] = 0;
    let between = (DamageExtent::Between, 39, 60, None);
    let end = (DamageExtent::OpenEnd, 99, 99, None);
    assert_eq!(parts(&bag(&gone)), [between, end]);

    // Without message indexes, chunks are opened for their channels. The damage is reported when they are played.
    let unindexed = spec().options(|o| o.emit_message_indexes(false).emit_summary_records(false));
    let mut unread = unindexed.write();
    let at = chunk_field(&unread, 1, 45);
    unread[at..at + 8].fill(0xff);
    let unread = bag(&unread);
    let second = (DamageExtent::Chunk, 20, 39, None);
    assert_eq!((unread.damage_count(), parts(&unread)), (1, vec![second]));
    assert_eq!(unread.damage(), []);
    let (messages, damage) = play(&unread, Direction::Forward);
    assert_eq!(
        (messages.len(), damage),
        (80, vec![DamageKind::Compression])
    );
    assert_eq!(unread.damage_count(), 1);

    // A file that was compressed as a whole: where its stream breaks is no place of the recording.
    let note = |n: u64| vec![Note::new(0, n * 1_000_000, incompressible(n, 40_000))];
    let large = Spec::new((0..20).map(note).collect()).write();
    let packed = zstd::encode_all(&large[..], 1).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.mcap.zstd");
    std::fs::write(&path, &packed[..packed.len() / 2]).unwrap();
    let unpacked = Bag::open(&[path]).unwrap();
    let kinds: Vec<_> = unpacked.damage().iter().map(|it| it.kind).collect();
    assert_eq!(kinds, [DamageKind::Compression, DamageKind::Truncated]);
    let extents: Vec<_> = parts(&unpacked).iter().map(|part| part.0).collect();
    assert_eq!(extents, [DamageExtent::OpenEnd]);

    // Nothing is lost by these.
    let mut behind = spec().write();
    behind.extend([1; 20]);
    let behind = bag(&behind);
    let kinds: Vec<_> = behind.damage().iter().map(|it| it.kind).collect();
    assert_eq!((kinds, parts(&behind)), (vec![DamageKind::Framing], vec![]));
    let mut index = spec().write();
    let at = place(&index, op::CHUNK_INDEX, 0).at + 9;
    put(&mut index, at, 1);
    let index = bag(&index);
    assert_eq!((index.damage().len(), parts(&index)), (1, vec![]));
}

#[test]
fn a_full_check_tells_what_no_checksum_covers() {
    let unverified = |spec: Spec| {
        let check = bag(&spec.write()).check();
        assert_eq!(check.damage, []);
        (
            check.chunks,
            check.unverified_chunks,
            check.has_unverified_rest,
        )
    };
    for compression in [None, Some(Compression::Zstd), Some(Compression::Lz4)] {
        let spec = |has_crc| base(compression).options(|o| o.calculate_chunk_crcs(has_crc));
        assert_eq!(unverified(spec(true)), (5, 0, false), "{compression:?}");
        // Crate mcap leaves the data of such chunks out of the checksum of the data section. Its frames of lz4
        // have one of their own.
        let without = if matches!(compression, Some(Compression::Lz4)) {
            0
        } else {
            5
        };
        assert_eq!(
            unverified(spec(false)),
            (5, without, false),
            "{compression:?}"
        );
    }
    let outside =
        |has_crc| base(None).options(|o| o.use_chunks(false).calculate_data_section_crc(has_crc));
    assert_eq!(unverified(outside(true)), (0, 0, false));
    assert_eq!(unverified(outside(false)), (0, 0, true));
}
