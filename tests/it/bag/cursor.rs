//! The cursor, compared with a plain sort, in both directions, from any start.

use bagplay::bag::{Bag, Damage, Direction, Key, Message, Selection, StartAt, TopicId};
use bagplay::time::Time;
use mcap::Compression;
use proptest::prelude::*;

use crate::support::mcaps::{Files, Note, Spec, all, at, bag, texts};

fn walk(cursor: impl Iterator<Item = Result<Message, Damage>>) -> Vec<Message> {
    cursor.map(|item| item.expect("no damage")).collect()
}

fn forward(bag: &Bag) -> Vec<Message> {
    walk(bag.cursor(&all(bag), StartAt::At(Time::MIN), Direction::Forward))
}

fn keys(messages: &[Message]) -> Vec<Key> {
    messages.iter().map(|message| message.key).collect()
}

fn spec(chunks: &[&[(u64, &str)]]) -> Spec {
    let chunk = |chunk: &&[(u64, &str)]| {
        let notes = chunk.iter().map(|(time, text)| Note::new(0, *time, *text));
        notes.collect()
    };
    Spec::new(chunks.iter().map(chunk).collect())
}

#[test]
fn messages_with_equal_times_keep_the_order_of_the_file() {
    let bag = bag(&spec(&[&[(5, "a"), (3, "b")], &[(3, "c"), (9, "d"), (3, "e")]]).write());
    assert_eq!(texts(&forward(&bag)), ["b", "c", "e", "a", "d"]);
    let back = bag.cursor(&all(&bag), StartAt::At(Time::MAX), Direction::Reverse);
    assert_eq!(texts(&walk(back)), ["d", "a", "e", "c", "b"]);
}

#[test]
fn messages_of_several_files_are_merged_by_time_then_input() {
    let (a, b) = (
        spec(&[&[(1, "a1"), (4, "a4")]]).write(),
        spec(&[&[(1, "b1"), (2, "b2"), (4, "b4")]]).write(),
    );
    let bag = Files::of([a, b]).bag();
    assert_eq!(texts(&forward(&bag)), ["a1", "b1", "b2", "a4", "b4"]);
    assert_eq!(bag.topics().len(), 1);
    assert_eq!(bag.topics()[0].message_count, Some(5));
    assert_eq!(bag.message_count(), Some(5));
}

#[test]
fn a_walk_from_a_time_includes_it_and_a_walk_after_a_message_excludes_it() {
    let bag = bag(&spec(&[&[(1, "a"), (2, "b"), (2, "c")], &[(2, "d"), (3, "e")]]).write());
    let from = |start, direction| texts(&walk(bag.cursor(&all(&bag), start, direction)));
    let two = StartAt::At(at(2));
    assert_eq!(from(two, Direction::Forward), ["b", "c", "d", "e"]);
    assert_eq!(from(two, Direction::Reverse), ["d", "c", "b", "a"]);
    let c = StartAt::After(forward(&bag)[2].key);
    assert_eq!(from(c, Direction::Forward), ["d", "e"]);
    assert_eq!(from(c, Direction::Reverse), ["b", "a"]);
}

#[test]
fn a_negative_time_sorts_before_zero() {
    let minus = u64::MAX;
    let bag = bag(&spec(&[&[(7, "a"), (minus, "b")], &[(9, "c")]]).write());
    assert_eq!(texts(&forward(&bag)), ["b", "a", "c"]);
    let range = bag.range().unwrap();
    assert_eq!((range.start(), range.stop()), (at(minus), at(9)));
}

/// Chunks of messages at few different times, so that many times are equal and chunks overlap.
fn chunks() -> impl Strategy<Value = Vec<Vec<Note>>> {
    let note = (0..3_usize, 0..40_u64, 0..200_usize);
    let note = note.prop_map(|(topic, time, size)| Note::new(topic, time, vec![7; size]));
    prop::collection::vec(prop::collection::vec(note, 0..20), 0..8)
}

fn compression() -> impl Strategy<Value = Option<Compression>> {
    prop_oneof![
        Just(None),
        Just(Some(Compression::Lz4)),
        Just(Some(Compression::Zstd))
    ]
}

/// Numbers the payloads, so that each is unique, and sorts the messages by time.
fn number_and_sort(files: &mut [Vec<Vec<Note>>]) -> Vec<Note> {
    let mut sorted = Vec::new();
    for (number, note) in (0_u32..).zip(files.iter_mut().flatten().flatten()) {
        note.payload.splice(0..0, number.to_le_bytes());
        sorted.push(note.clone());
    }
    sorted.sort_by_key(|note| note.time);
    sorted
}

fn check(found: &[Message], expected: &[&Note]) {
    let found: Vec<_> = found.iter().map(|m| (m.log_time, &m.payload[..])).collect();
    let expected: Vec<_> = expected
        .iter()
        .map(|note| (at(note.time), &note.payload[..]))
        .collect();
    assert_eq!(found, expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(160))]

    #[test]
    fn any_walk_is_a_slice_of_the_sorted_messages(
        mut files in prop::collection::vec(chunks(), 1..3),
        compression in compression(),
        held in prop_oneof![Just(u64::MAX), Just(1_u64 << 20), 0..4000_u64],
        start in 0..42_u64,
        after in any::<prop::sample::Index>(),
        only in 0..4_u32,
        has_message_indexes in any::<bool>(),
    ) {
        let sorted = number_and_sort(&mut files);
        let write = |chunks| {
            let spec = Spec::new(chunks).compression(compression);
            spec.options(|o| o.emit_message_indexes(has_message_indexes)).write()
        };
        let bag = Files::of(files.into_iter().map(write)).bag();
        let chunks: usize = bag.files().iter().map(|file| file.chunks).sum();
        let topics = if only < 3 {
            let wanted = format!("/t{only}");
            let ids = (0..).map(TopicId).zip(bag.topics());
            let ids = ids.filter(|(_, topic)| topic.name == wanted).map(|(id, _)| id);
            Selection::of(ids, &bag)
        } else {
            all(&bag)
        };
        let sorted: Vec<&Note> = sorted.iter().filter(|n| only == 3 || n.topic == only as usize).collect();
        let walk = |from, direction| {
            let mut cursor = bag.cursor(&topics, from, direction).holding(held);
            let messages = walk(cursor.by_ref());
            let usage = cursor.usage();
            assert!(usage.decompressions <= 2 * chunks as u64, "{usage:?}");
            messages
        };
        let (forwards, reverse) = (Direction::Forward, Direction::Reverse);

        let whole = walk(StartAt::At(Time::MIN), forwards);
        check(&whole, &sorted);
        let mut back = walk(StartAt::At(Time::MAX), reverse);
        back.reverse();
        prop_assert_eq!(keys(&back), keys(&whole));

        let split = sorted.partition_point(|note| note.time < start);
        check(&walk(StartAt::At(at(start)), forwards), &sorted[split..]);
        let split = sorted.partition_point(|note| note.time <= start);
        let mut back = walk(StartAt::At(at(start)), reverse);
        back.reverse();
        check(&back, &sorted[..split]);

        if !sorted.is_empty() {
            let i = after.index(sorted.len());
            let key = whole[i].key;
            check(&walk(StartAt::After(key), forwards), &sorted[i + 1..]);
            let mut back = walk(StartAt::After(key), reverse);
            back.reverse();
            check(&back, &sorted[..i]);
        }
    }
}

#[test]
fn a_walk_interrupted_before_a_chunk_can_be_resumed() {
    // Too large for all chunks to be read when the file is opened: only those at its ends are known then.
    let large = vec![0; 5 << 20];
    let note = |c: u64| vec![Note::new(1, 10 + c, large.clone())];
    let mut chunks: Vec<Vec<Note>> = (0..8).map(note).collect();
    chunks[1].insert(0, Note::new(0, 11, "rare"));
    let spec = Spec::new(chunks).options(|options| options.emit_message_indexes(false));
    let spec = spec.compression(Some(Compression::Zstd));
    let bag = bag(&spec.write());
    let rare = Selection::of([TopicId(0)], &bag);
    let end = StartAt::At(bag.range().unwrap().stop());
    let mut cursor = bag.cursor(&rare, end, Direction::Reverse);
    let mut calls = 0;
    let interrupted = cursor.next_while(|| {
        calls += 1;
        calls <= 2
    });
    assert!(interrupted.is_none() && calls == 3);
    assert_eq!(cursor.usage().decompressions, 2);
    let found = cursor.next_while(|| true).unwrap().unwrap();
    assert_eq!(&found.payload[..], b"rare");
    assert_eq!(cursor.usage().decompressions, 6);
}
