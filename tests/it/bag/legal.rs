//! Every file that the specification allows plays completely, in order, without warnings or damage.

use bagplay::bag::{Bag, Direction, Message, MessageOrder, Opening, Selection, StartAt, TopicId};
use bagplay::time::{Ros, Time};
use bytes::Bytes;

use crate::support::mcap_features::{Features, Note, write};

/// Three chunks that overlap, with times out of order, equal, and zero; the last channel is used in the last
/// chunk only.
const CHUNKS: [&[Note]; 3] = [
    &[(1, 3, 2, "c"), (1, 0, 9, "a"), (2, 0, 0, "b")],
    &[(2, 2, 1, "d"), (1, 3, 3, "e"), (2, 6, 6, "g")],
    &[(9, 5, 5, "f"), (1, 7, 7, "h"), (9, 8, 8, "i")],
];

/// Times at the limit of signed numbers: 2^63 - 1 is the last time there is, 2^63 the first.
const FAR: [&[Note]; 2] = [
    &[(1, (1 << 63) - 1, (1 << 63) - 1, "z"), (2, 0, 1 << 63, "m")],
    &[(1, 1 << 63, 0, "a"), (2, u64::MAX, 5, "l"), (9, 1, 6, "n")],
];

/// All messages of a chunk at zero.
const ZERO: &[Note] = &[
    (1, 0, 0, "a"),
    (2, 0, 0, "b"),
    (1, 0, 0, "c"),
    (2, 0, 0, "d"),
];

/// A chunk whose times begin at zero.
const FROM_ZERO: &[Note] = &[(1, 0, 0, "e"), (2, 4, 4, "f"), (1, 8, 8, "g")];

const AFTER_ZERO: &[Note] = &[(1, 3, 3, "h"), (2, 6, 6, "i"), (9, 9, 9, "j")];

fn due(chunks: &[&[Note]], order: MessageOrder) -> Vec<(Time<Ros>, String, &'static str)> {
    let mut due: Vec<_> = chunks
        .iter()
        .copied()
        .flatten()
        .map(|(channel, log_time, publish_time, payload)| {
            let time = match order {
                MessageOrder::Received => *log_time,
                MessageOrder::Sent => *publish_time,
            };
            (Time::from_mcap(time), format!("/t{channel}"), *payload)
        })
        .collect();
    due.sort_by_key(|(time, ..)| *time);
    due
}

fn walk(bag: &Bag, topics: &Selection, from: StartAt, direction: Direction) -> Vec<Message> {
    let walk = bag.cursor(topics, from, direction);
    walk.map(|item| item.expect("no damage")).collect()
}

/// Compares everything that can be played of a file with what was written.
fn check(name: &str, file: Vec<u8>, chunks: &[&[Note]], order: MessageOrder) {
    let opening = Opening {
        order,
        ..Opening::default()
    };
    let bag = Bag::from_bytes_with("x.mcap", Bytes::from(file), &opening).expect(name);
    let due = due(chunks, order);
    assert_eq!(bag.damage(), [], "{name}");
    assert_eq!(bag.check_chunks(), [], "{name}");
    assert_eq!(bag.check_data_sections(), [], "{name}");
    let range = due.first().zip(due.last());
    let range = range.map(|((first, ..), (last, ..))| (*first, *last));
    let found = bag.range().map(|range| (range.start(), range.stop()));
    assert_eq!(found, range, "{name}");
    assert_eq!(bag.message_count(), Some(due.len() as u64), "{name}");
    for topic in bag.topics() {
        let count = due
            .iter()
            .filter(|(_, name, _)| *name == topic.name)
            .count();
        assert_eq!(topic.message_count, Some(count as u64), "{name}");
        let type_name = topic.name.replace("/t", "test_msgs/msg/Type");
        assert_eq!(topic.type_name(), type_name, "{name}");
    }
    let selections = (0..bag.topics().len()).map(|id| {
        let id = TopicId(u32::try_from(id).unwrap());
        Selection::of([id], &bag)
    });
    let ends = [Time::MIN, Time::MAX].into_iter();
    let starts: Vec<Time<Ros>> = ends
        .chain(due.get(due.len() / 2).map(|(time, ..)| *time))
        .collect();
    for topics in selections.chain([Selection::all(&bag)]) {
        for start in &starts {
            for direction in [Direction::Forward, Direction::Reverse] {
                let found = walk(&bag, &topics, StartAt::At(*start), direction);
                let text =
                    |message: &Message| String::from_utf8_lossy(&message.payload).into_owned();
                let mut found: Vec<String> = found.iter().map(text).collect();
                if direction == Direction::Reverse {
                    found.reverse();
                }
                let wanted = due.iter().filter(|(time, name, _)| {
                    let is_ahead = match direction {
                        Direction::Forward => time >= start,
                        Direction::Reverse => time <= start,
                    };
                    let mut all = bag.topics().iter().zip(0..);
                    is_ahead && all.any(|(it, id)| it.name == *name && topics.contains(TopicId(id)))
                });
                let wanted: Vec<&str> = wanted.map(|(.., payload)| *payload).collect();
                assert_eq!(found, wanted, "{name}: {start} {direction:?}");
            }
        }
    }
}

#[test]
fn every_combination_of_features_plays_whole() {
    let mut seen = 0;
    for n in 0..Features::COUNT {
        let Some(features) = Features::nth(n) else {
            continue;
        };
        seen += 1;
        let name = format!("{features:?}");
        check(
            &name,
            write(features, &CHUNKS),
            &CHUNKS,
            MessageOrder::Received,
        );
        // The records between messages make no difference to the other cases.
        if !features.attachment && !features.metadata && !features.summary_offsets {
            let empty: [&[&[Note]]; 3] = [&[], &[&[]], &FAR];
            for chunks in empty {
                check(
                    &name,
                    write(features, chunks),
                    chunks,
                    MessageOrder::Received,
                );
            }
            for chunks in [&CHUNKS[..], &FAR] {
                check(&name, write(features, chunks), chunks, MessageOrder::Sent);
            }
        }
    }
    assert_eq!(seen, 2048 + 256);
}

/// Zero is a time like any other, also where no message index says what a chunk holds.
#[test]
fn chunks_at_time_zero_without_message_indexes_play_whole() {
    let layouts: [&[&[Note]]; 8] = [
        &[ZERO],
        &[ZERO, ZERO],
        &[ZERO, AFTER_ZERO],
        &[AFTER_ZERO, ZERO],
        &[FROM_ZERO],
        &[FROM_ZERO, AFTER_ZERO],
        &[AFTER_ZERO, FROM_ZERO],
        &[AFTER_ZERO, ZERO, FROM_ZERO],
    ];
    let is_plain = |it: &Features| !it.padding && !it.attachment && !it.metadata;
    let all = (0..Features::COUNT).filter_map(Features::nth);
    let all = all.filter(|it| it.chunked && !it.message_index && is_plain(it));
    let mut seen = 0;
    for features in all {
        for (chunks, n) in layouts.into_iter().zip(0..) {
            let name = format!("layout {n}, {features:?}");
            for order in [MessageOrder::Received, MessageOrder::Sent] {
                check(&name, write(features, chunks), chunks, order);
                seen += 1;
            }
        }
    }
    assert_eq!(seen, 128 * 8 * 2);
}
