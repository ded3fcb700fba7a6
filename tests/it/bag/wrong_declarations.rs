//! Indexes, headers and statistics that are wrong: the contents of chunks apply, no message is lost through a wrong
//! declaration, and the wrong record is named.

use bagplay::bag::{Bag, DamageKind, Direction, Message, Selection, StartAt, TopicId};
use bagplay::time::Time;
use mcap::Compression;
use mcap::records::op;

use crate::bag::hostile::{base, play, put};
use crate::support::mcaps::{Note, Place, Spec, at, bag, place, places, record, texts};

const MILLI: u64 = 1_000_000;

fn all_of(bytes: &[u8], opcode: u8) -> Vec<Place> {
    let all = places(bytes).into_iter();
    all.filter(|place| place.opcode == opcode).collect()
}

/// How many messages of a topic are read forwards and backwards, and the kinds of damage that are reported.
fn only(bag: &Bag, topic: u32) -> (usize, usize, Vec<DamageKind>) {
    let topics = Selection::of([TopicId(topic)], bag);
    let mut damage = Vec::new();
    let mut count = |from, direction| {
        let walk = bag.cursor(&topics, StartAt::At(from), direction);
        let (found, damaged): (Vec<_>, Vec<_>) = walk.partition(Result::is_ok);
        damage.extend(damaged.into_iter().map(|it| it.unwrap_err().kind));
        found.len()
    };
    let forwards = count(Time::MIN, Direction::Forward);
    let backwards = count(Time::MAX, Direction::Reverse);
    (forwards, backwards, damage)
}

#[test]
fn wrong_times_of_chunks_change_neither_messages_nor_order() {
    let (all, one) = (0..5, 2..3);
    for is_indexed in [true, false] {
        for has_statistics in [true, false] {
            let spec = base(Some(Compression::Zstd)).options(|o| {
                o.emit_message_indexes(is_indexed)
                    .emit_statistics(has_statistics)
            });
            for (start, end, chunks) in [
                (50, 50, all.clone()),
                (0, 0, all.clone()),
                (0, 0, one.clone()),
                (0, 1_000_000, one.clone()),
                (45, 45, one.clone()),
            ] {
                let mut bytes = spec.write();
                for n in chunks {
                    for opcode in [op::CHUNK, op::CHUNK_INDEX] {
                        let at = place(&bytes, opcode, n).at + 9;
                        put(&mut bytes, at, start * MILLI);
                        put(&mut bytes, at + 8, end * MILLI);
                    }
                }
                let bag = bag(&bytes);
                let name = format!("{start} to {end}, {is_indexed} {has_statistics}");
                let range = bag.range().unwrap();
                assert_eq!(
                    (range.start(), range.stop()),
                    (at(0), at(99 * MILLI)),
                    "{name}"
                );
                for direction in [Direction::Forward, Direction::Reverse] {
                    let (messages, damage) = play(&bag, direction);
                    assert_eq!(
                        (messages.len(), damage),
                        (100, vec![DamageKind::Index]),
                        "{name}"
                    );
                    let mut keys: Vec<_> = messages.iter().map(|message| message.key).collect();
                    if direction == Direction::Reverse {
                        keys.reverse();
                    }
                    assert!(keys.is_sorted(), "{name}");
                }
            }
        }
    }
}

/// The beginning of 2025, in nanoseconds.
const IN_2025: u64 = 1_735_689_600_000_000_000;

/// A recording of chunks of five messages, one per millisecond from the beginning of 2025. The header and the index of
/// one chunk give zero as its first and last time.
fn zero_declared(chunks: u64, wrong: usize, is_indexed: bool, has_statistics: bool) -> Vec<u8> {
    let note = |i: u64| Note::new(usize::from(i % 2 == 1), IN_2025 + i * MILLI, i.to_string());
    let chunk = |c: u64| (c * 5..c * 5 + 5).map(note).collect();
    let spec = Spec::new((0..chunks).map(chunk).collect()).options(|o| {
        o.emit_message_indexes(is_indexed)
            .emit_statistics(has_statistics)
            .calculate_summary_section_crc(false)
            .calculate_data_section_crc(false)
    });
    let mut bytes = spec.write();
    for opcode in [op::CHUNK, op::CHUNK_INDEX] {
        let at = place(&bytes, opcode, wrong).at + 9;
        put(&mut bytes, at, 0);
        put(&mut bytes, at + 8, 0);
    }
    bytes
}

#[test]
fn a_chunk_declared_at_zero_does_not_move_the_start_to_1970() {
    // The first, a middle and the last chunk; one that is in no sample of the chunks.
    for (chunks, wrong) in [(5, 0), (5, 2), (5, 4), (3_000, 1_001)] {
        for (is_indexed, has_statistics) in
            [(true, true), (true, false), (false, true), (false, false)]
        {
            let name = format!("{wrong} of {chunks}, {is_indexed} {has_statistics}");
            let bag = bag(&zero_declared(chunks, wrong, is_indexed, has_statistics));
            let last = 5 * chunks - 1;
            let range = bag.range().unwrap();
            let ends = (range.start(), range.stop());
            assert_eq!(ends, (at(IN_2025), at(IN_2025 + last * MILLI)), "{name}");
            for direction in [Direction::Forward, Direction::Reverse] {
                let (mut messages, damage) = play(&bag, direction);
                assert_eq!(damage, [DamageKind::Index], "{name}");
                if direction == Direction::Reverse {
                    messages.reverse();
                }
                let due: Vec<_> = (0..=last).map(|i| i.to_string()).collect();
                assert_eq!(texts(&messages), due, "{name}: {direction:?}");
                let is_in_range = |message: &Message| range.contains(message.log_time);
                assert!(messages.iter().all(is_in_range), "{name}");
            }
        }
    }
}

#[test]
fn a_message_outside_the_declared_times_is_played_at_its_own_time() {
    // One message of the third chunk was received in 1970, or centuries later than the others.
    for (index, time) in [(40, 0), (59, 9_000_000_000_000_000_000)] {
        for is_indexed in [true, false] {
            let note = |i: u64| {
                let stamp = if i == index {
                    time
                } else {
                    (1_000 + i) * MILLI
                };
                Note::new(0, stamp, i.to_string())
            };
            let chunks = (0..5).map(|c| (c * 20..c * 20 + 20).map(note).collect());
            let spec = Spec::new(chunks.collect());
            let spec = spec.options(|o| {
                o.emit_message_indexes(is_indexed)
                    .calculate_summary_section_crc(false)
            });
            let mut bytes = spec.write();
            // The headers give the times of the other messages.
            for opcode in [op::CHUNK, op::CHUNK_INDEX] {
                let at = place(&bytes, opcode, 2).at + 9;
                put(&mut bytes, at, 1_041 * MILLI);
                put(&mut bytes, at + 8, 1_058 * MILLI);
            }
            let bag = bag(&bytes);
            let (messages, damage) = play(&bag, Direction::Forward);
            assert_eq!((messages.len(), damage), (100, vec![DamageKind::Index]));
            assert!(messages.is_sorted_by_key(|message| message.key));
            let outlier = if time == 0 {
                messages.first()
            } else {
                messages.last()
            };
            assert_eq!(outlier.unwrap().payload, index.to_string().as_bytes());
            assert!(bag.range().unwrap().contains(at(time)));
        }
    }
}

/// A recording in which the chunk indexes after the first leave out the second channel. Without `has_records`, its
/// message indexes are missing, too.
fn without_second_channel(has_statistics: bool, has_records: bool) -> Vec<u8> {
    // In no chunk first or last, so that the times of the chunks are the same without it.
    let note = |i: u64| Note::new(usize::from(i % 20 % 2 == 1 && i % 20 < 19), i * MILLI, "x");
    let mut spec = base(None).options(|o| o.emit_statistics(has_statistics));
    spec.chunks = (0..5)
        .map(|c| (c * 20..c * 20 + 20).map(note).collect())
        .collect();
    let mut bytes = spec.write();
    let second = |bytes: &[u8], place: &Place| bytes[place.at + 9..place.at + 11] == [2, 0];
    for index in all_of(&bytes, op::CHUNK_INDEX).iter().skip(1) {
        let map = index.at + 45;
        for entry in [map, map + 10] {
            if bytes[entry..entry + 2] == [2, 0] {
                let other = if entry == map { map + 10 } else { map };
                bytes.copy_within(other..other + 10, entry);
            }
        }
    }
    if !has_records {
        for index in all_of(&bytes, op::MESSAGE_INDEX).iter().skip(2) {
            if second(&bytes, index) {
                bytes[index.at] = 0x90;
            }
        }
    }
    bytes
}

#[test]
fn a_channel_missing_in_chunk_indexes_loses_no_message() {
    for (has_statistics, has_records) in [(true, true), (true, false), (false, true)] {
        let bag = bag(&without_second_channel(has_statistics, has_records));
        let name = format!("{has_statistics} {has_records}");
        let kinds: Vec<_> = bag.damage().iter().map(|it| it.kind).collect();
        assert_eq!(kinds, [DamageKind::Index], "{name}");
        assert_eq!(only(&bag, 0), (55, 55, vec![]), "{name}");
        assert_eq!(only(&bag, 1), (45, 45, vec![]), "{name}");
        assert_eq!(bag.message_count(), Some(100), "{name}");
    }
}

#[test]
fn wrong_statistics_of_a_file_without_chunks_are_damage() {
    let spec = base(None).options(|o| o.use_chunks(false));
    let message = place(&spec.write(), op::MESSAGE, 33).at;
    let channel = spec.write()[message + 9];
    // A message becomes a private record, or a message of the other channel.
    for (at, value, counts) in [
        (message, 0x85, (50, 49)),
        (message + 9, 3 - channel, (51, 49)),
    ] {
        let mut bytes = spec.write();
        bytes[at] = value;
        let bag = bag(&bytes);
        let kinds: Vec<_> = bag.damage().iter().map(|it| it.kind).collect();
        assert_eq!(kinds, [DamageKind::Index], "{counts:?}");
        assert!(
            bag.damage()[0].detail.contains("statistics"),
            "{:?}",
            bag.damage()
        );
        let (first, second) = (only(&bag, 0), only(&bag, 1));
        let mut found = [first.0, second.0];
        found.sort_unstable_by(|a, b| b.cmp(a));
        assert_eq!((found[0], found[1]), counts);
        assert_eq!(bag.message_count(), Some((counts.0 + counts.1) as u64));
    }
}

/// A recording of 3,000 chunks with two channels. The map of one chunk index that is in no sample leaves out the second
/// channel. If `is_consistent`, the declared length of the message indexes leaves it out, too.
fn one_map_without_second_channel(is_consistent: bool) -> Vec<u8> {
    let note = |i: u64| Note::new(usize::from(i % 4 == 1), i * MILLI, "x");
    let chunk = |c: u64| (c * 4..c * 4 + 4).map(note).collect();
    let spec = Spec::new((0..3000).map(chunk).collect());
    let spec = spec.options(|o| {
        o.calculate_summary_section_crc(false)
            .calculate_chunk_crcs(false)
    });
    let mut bytes = spec.write();
    let index = place(&bytes, op::CHUNK_INDEX, 1501);
    let (map, end) = (index.at + 45, index.at + 9 + index.body);
    assert_eq!(bytes[map - 4..map], [20, 0, 0, 0]);
    bytes[map - 4] = 10;
    if bytes[map..map + 2] == [2, 0] {
        bytes.copy_within(map + 10..map + 20, map);
    }
    bytes.copy_within(map + 20..end, map + 10);
    if is_consistent {
        let length = u64::from_le_bytes(bytes[map + 10..map + 18].try_into().unwrap());
        put(&mut bytes, map + 10, length - 15 - 16);
    }
    bytes
}

#[test]
fn a_channel_missing_in_one_chunk_index_of_thousands_loses_no_message() {
    for is_consistent in [false, true] {
        let bag = bag(&one_map_without_second_channel(is_consistent));
        let kinds: Vec<_> = bag.damage().iter().map(|it| it.kind).collect();
        assert_eq!(kinds, [DamageKind::Index], "{is_consistent}");
        assert_eq!(only(&bag, 1), (3000, 3000, vec![]), "{is_consistent}");
    }
}

#[test]
fn a_wrong_index_that_only_chunks_reveal_is_reported_when_they_are_read_or_checked() {
    let bag = bag(&without_second_channel(false, false));
    assert_eq!(bag.damage(), []);
    let kinds: Vec<_> = bag.check_chunks().iter().map(|it| it.kind).collect();
    assert_eq!(kinds, [DamageKind::Index; 4]);
    let (messages, damage) = play(&bag, Direction::Forward);
    assert_eq!((messages.len(), damage), (100, vec![DamageKind::Index; 4]));
    // From now on the index is not used to skip chunks.
    let (forwards, backwards, damage) = only(&bag, 1);
    assert_eq!((forwards, backwards, damage.len()), (45, 45, 8));
}

#[test]
fn an_index_with_wrong_channels_loses_no_message() {
    for other in [1_u16, 2, 77] {
        let mut bytes = base(Some(Compression::Zstd)).write();
        for index in all_of(&bytes, op::MESSAGE_INDEX) {
            bytes[index.at + 9..index.at + 11].copy_from_slice(&other.to_le_bytes());
        }
        let found = bag(&bytes);
        let kinds: Vec<_> = found.damage().iter().map(|it| it.kind).collect();
        assert_eq!(kinds, [DamageKind::Index], "{other}");
        for topic in [0, 1] {
            assert_eq!(only(&found, topic), (50, 50, vec![]), "{other}");
        }
        // The chunk index has the wrong channel, too.
        for index in all_of(&bytes, op::CHUNK_INDEX) {
            for entry in [index.at + 45, index.at + 55] {
                bytes[entry..entry + 2].copy_from_slice(&other.to_le_bytes());
            }
        }
        let found = bag(&bytes);
        for topic in [0, 1] {
            assert_eq!(only(&found, topic), (50, 50, vec![]), "{other}");
        }
        let (messages, damage) = play(&found, Direction::Reverse);
        assert_eq!((messages.len(), damage), (100, vec![DamageKind::Index]));
    }
}

#[test]
fn messages_after_the_data_end_record_are_played_and_reported() {
    // In a file with a summary and in one without.
    for has_summary in [true, false] {
        let mut bytes = base(None).write();
        let end = place(&bytes, op::DATA_END, 0);
        let header = [
            &[1, 0, 0, 0, 0, 0][..],
            &[(33 * MILLI).to_le_bytes(); 2].concat(),
        ]
        .concat();
        let message = record(op::MESSAGE, &header);
        let behind = end.at + 9 + end.body;
        bytes.splice(behind..behind, message.clone());
        let foot = bytes.len() - 28;
        let summary = (behind + message.len()) as u64;
        put(&mut bytes, foot, if has_summary { summary } else { 0 });
        let bag = bag(&bytes);
        for direction in [Direction::Forward, Direction::Reverse] {
            let (messages, damage) = play(&bag, direction);
            assert_eq!((messages.len(), damage), (101, vec![DamageKind::Framing]));
        }
        assert_eq!(bag.damage()[0].offset, behind as u64);
    }
}

#[test]
fn a_schema_defined_twice_with_different_text_is_reported() {
    let mut bytes = base(None).write();
    let (again, end) = (place(&bytes, op::SCHEMA, 0), place(&bytes, op::DATA_END, 0));
    let mut other = bytes[again.at..again.at + 9 + again.body].to_vec();
    // The last letter of the definition.
    *other.last_mut().unwrap() = b'X';
    bytes.splice(end.at..end.at, other.clone());
    let foot = bytes.len() - 28;
    let summary = u64::from_le_bytes(bytes[foot..foot + 8].try_into().unwrap());
    put(&mut bytes, foot, summary + other.len() as u64);
    let kinds: Vec<_> = bag(&bytes).damage().iter().map(|it| it.kind).collect();
    assert_eq!(kinds, [DamageKind::ChannelConflict]);
    // In a chunk, which differs from the summary.
    let mut bytes = base(None).write();
    let data = place(&bytes, op::CHUNK, 0).at + 9 + 40;
    assert_eq!(bytes[data], op::SCHEMA);
    let length = u64::from_le_bytes(bytes[data + 1..data + 9].try_into().unwrap());
    bytes[data + 8 + usize::try_from(length).unwrap()] = b'X';
    let (messages, damage) = play(&bag(&bytes), Direction::Forward);
    assert_eq!(
        (messages.len(), damage),
        (100, vec![DamageKind::ChannelConflict])
    );
}
