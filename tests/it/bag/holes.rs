//! Times in which topics with a steady rate have no messages.

use std::ops::Range;

use bagplay::bag::{Bag, Direction, Hole, HoleFinder, Silent, StartAt};
use bagplay::time::{Duration, Time};
use mcap::Compression;
use proptest::prelude::*;

use crate::support::mcaps::{Note, Spec, all, at, bag, place, topic_id};

const MESSAGE_INDEX: u8 = 0x07;
const MILLI: u64 = 1_000_000;

/// Times in milliseconds, from `within`, one every `period`, but none inside of a gap from one time to another.
fn steady(within: Range<u64>, period: u64, gaps: &[(u64, u64)]) -> Vec<u64> {
    let is_in_gap = |time: &u64| gaps.iter().any(|(from, to)| from < time && time < to);
    let times = (within.start..=within.end).step_by(usize::try_from(period).unwrap());
    times.filter(|time| !is_in_gap(time)).collect()
}

/// A recording of topics `/t0`, `/t1`, … with messages at these times in milliseconds, a second in each chunk.
fn recording(topics: &[Vec<u64>]) -> Bag {
    let of_topic = |(topic, times): (usize, &Vec<u64>)| {
        let note = move |time: &u64| Note::new(topic, time * MILLI, "x");
        times.iter().map(note).collect::<Vec<_>>()
    };
    let mut notes: Vec<Note> = topics.iter().enumerate().flat_map(of_topic).collect();
    notes.sort_by_key(|note| note.time);
    let chunks = notes.chunk_by(|a, b| a.time / (1000 * MILLI) == b.time / (1000 * MILLI));
    bag(&Spec::new(chunks.map(<[Note]>::to_vec).collect()).write())
}

/// The holes as text: who is silent, from and to in milliseconds, and the mean period outside of its holes.
fn holes(bag: &Bag) -> Vec<String> {
    let text = |hole: &Hole| {
        let (from, to) = (hole.range.start().as_nanos(), hole.range.stop().as_nanos());
        let silent = match hole.silent {
            Silent::Recording => "all".to_owned(),
            Silent::Topic { id, period } => {
                let name = &bag.topics()[id.index()].name;
                format!("{name} every {}", period.as_nanos() / 1_000_000)
            }
        };
        format!("{silent}: {} to {}", from / 1_000_000, to / 1_000_000)
    };
    bag.holes().expect("an index").iter().map(text).collect()
}

/// What a finder finds while everything is read.
fn while_read(bag: &Bag) -> Option<Vec<Hole>> {
    let mut finder = HoleFinder::new(bag.topics(), bag.range().unwrap());
    for message in bag.cursor(&all(bag), StartAt::At(Time::MIN), Direction::Forward) {
        let message = message.unwrap();
        finder.add(message.topic, message.log_time);
    }
    finder.finish()
}

#[test]
fn a_topic_that_is_silent_for_more_than_five_periods_has_a_hole() {
    let bag = recording(&[
        steady(0..20_000, 100, &[(5_000, 7_500), (9_000, 9_500)]),
        steady(0..20_000, 20, &[]),
    ]);
    // 500 ms are not more than five usual periods; that span counts for the mean period.
    assert_eq!(holes(&bag), ["/t0 every 102: 5000 to 7500"]);
    let Hole { silent, range } = bag.holes().unwrap()[0];
    let id = topic_id(&bag, "/t0");
    assert!(matches!(silent, Silent::Topic { id: one, .. } if one == id));
    assert_eq!(
        (range.start(), range.stop()),
        (at(5_000 * MILLI), at(7_500 * MILLI))
    );
}

#[test]
fn a_topic_that_begins_late_or_ends_early_has_a_hole_there() {
    let bag = recording(&[steady(3_000..10_000, 100, &[]), steady(0..20_000, 20, &[])]);
    let expected = ["/t0 every 100: 0 to 3000", "/t0 every 100: 10000 to 20000"];
    assert_eq!(holes(&bag), expected);
}

#[test]
fn what_no_topic_has_is_one_hole_of_the_recording() {
    let pause = (4_000, 8_000);
    let bag = recording(&[
        steady(0..20_000, 100, &[pause]),
        steady(0..20_000, 50, &[pause, (12_000, 14_000)]),
        // Latched topics and bursts have no holes, but their messages count as recorded.
        vec![1_000, 13_000],
    ]);
    assert_eq!(
        holes(&bag),
        ["all: 4000 to 8000", "/t1 every 50: 12000 to 14000"]
    );
}

#[test]
fn a_recording_of_one_topic_names_it() {
    let bag = recording(&[steady(0..20_000, 100, &[(5_000, 7_500)])]);
    assert_eq!(holes(&bag), ["/t0 every 100: 5000 to 7500"]);
}

#[test]
fn a_gap_of_a_tenth_of_a_second_is_no_hole_at_any_rate() {
    let gaps = [(1_000, 1_100), (2_000, 2_101)];
    let bag = recording(&[steady(0..5_000, 1, &gaps), steady(0..5_000, 50, &[])]);
    assert_eq!(holes(&bag), ["/t0 every 1: 2000 to 2101"]);
}

#[test]
fn topics_without_a_steady_rate_have_no_holes() {
    let burst = |second: u64| (0..20).map(move |n| second * 1_000 + n);
    let bursts = (0..30).step_by(10).flat_map(burst).collect();
    let few = vec![0, 10, 20, 30, 40, 50, 60, 70, 20_000];
    let one_burst = steady(500..1_400, 50, &[]);
    let bag = recording(&[bursts, few, one_burst, steady(0..30_000, 100, &[])]);
    assert_eq!(holes(&bag), [""; 0]);
}

#[test]
fn chunks_without_a_readable_message_index_are_opened() {
    let spec = |is_indexed: bool, size: usize| {
        let notes = steady(0..20_000, 100, &[(5_000, 7_500)]).into_iter();
        let notes = notes.map(|time| Note::new(0, time * MILLI, vec![b'x'; size]));
        Spec::new(notes.map(|note| vec![note]).collect())
            .compression(Some(Compression::Zstd))
            .options(|options| options.emit_message_indexes(is_indexed))
            .write()
    };
    let indexed = bag(&spec(true, 1)).holes();
    assert_eq!(indexed.as_ref().map(Vec::len), Some(1));
    let unindexed = bag(&spec(false, 1));
    assert_eq!(unindexed.holes(), indexed);
    assert_eq!(while_read(&unindexed), indexed);
    let mut damaged = spec(true, 1);
    let index = place(&damaged, MESSAGE_INDEX, 0);
    damaged[index.at] = 0xff;
    assert_eq!(bag(&damaged).holes(), indexed);
    // More than 64 MiB are not read for this.
    assert_eq!(bag(&spec(false, 400_000)).holes(), None);
    assert_eq!(bag(&spec(true, 400_000)).holes(), indexed);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Chunks may overlap, and messages within a chunk may be out of order.
    #[test]
    fn the_index_gives_the_same_holes_as_the_messages(
        times in prop::collection::vec((0_usize..3, 0_u64..40_000), 600..900),
        gaps in prop::collection::vec(0_u64..34_000, 3),
        chunk in 1_usize..60,
    ) {
        let is_kept = |(topic, time): &&(usize, u64)| !(gaps[*topic]..gaps[*topic] + 6_000).contains(time);
        let kept = times.iter().filter(is_kept);
        let notes: Vec<Note> = kept.map(|(topic, time)| Note::new(*topic, time * MILLI, "x")).collect();
        let bag = bag(&Spec::new(notes.chunks(chunk).map(<[Note]>::to_vec).collect()).write());
        let holes = bag.holes();
        prop_assert_eq!(&holes, &while_read(&bag));
        let holes = holes.unwrap();
        prop_assert!(!holes.is_empty());
        prop_assert!(holes.iter().all(|hole| hole.range.duration() > Duration::from_millis(100)));
        prop_assert!(holes.is_sorted_by_key(|hole| hole.range.start()));
    }
}
