//! Look-ups in a recording for the screen.

use std::sync::Arc;

use bagplay::bag::{Bag, TopicId};
use bagplay::tui::{Event, Found, Lane, Lookup, Peeked};
use crossbeam_channel::{Receiver, bounded};

use crate::support::mcaps::{Note, Spec, bag};
use crate::support::patience::PATIENCE;

fn demo() -> Bag {
    Bag::open(&[concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/demo.mcap")]).unwrap()
}

/// A lookup of the demo, and its events; the channel is disconnected when its thread has ended.
fn lookup() -> (Bag, Lookup, Receiver<Event>) {
    let (send, told) = bounded(1000);
    let tell = move |event| send.send(event).unwrap();
    let lookup = Lookup::start(demo(), Arc::new(tell)).unwrap();
    (demo(), lookup, told)
}

fn next_whole(told: &Receiver<Event>) -> Lane {
    loop {
        match told.recv_timeout(PATIENCE).unwrap() {
            Event::Lane(lane) if lane.is_whole => return lane,
            Event::Lane(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_density_is_that_of_the_outline() {
    let (bag, lookup, told) = lookup();
    let range = bag.range().unwrap();
    lookup.outline(range);
    let lane = next_whole(&told);
    assert_eq!(lane.range, range);
    assert_eq!(
        lane.outline,
        bag.outline(lane.outline.topics[0].density.len())
    );
}

#[test]
fn the_message_at_or_before_a_time_is_found_and_decoded() {
    let (bag, lookup, told) = lookup();
    let range = bag.range().unwrap();
    let imu = bag.topics().iter().position(|topic| topic.name == "/imu");
    let imu = TopicId(u32::try_from(imu.unwrap()).unwrap());
    for (at, is_there) in [(range.stop(), true), (range.start(), false)] {
        lookup.peek(imu, at);
        let Event::Peeked(Peeked {
            topic,
            at: asked,
            found,
        }) = told.recv_timeout(PATIENCE).unwrap()
        else {
            panic!("no message");
        };
        assert_eq!((topic, asked), (imu, at));
        match found {
            Found::Message { log_time, said, .. } => {
                assert!(is_there && log_time <= at);
                assert!(said.lines.iter().any(|line| line.name == "frame_id"));
            }
            Found::Nothing => assert!(!is_there),
            Found::Damaged(damage) => panic!("{damage}"),
        }
    }
}

#[test]
fn reading_ends_with_who_asks() {
    let (send, told) = bounded(1000);
    let (open, gate) = bounded::<()>(0);
    let tell = move |event| {
        send.send(event).unwrap();
        // Nobody sends: the answer is on its way until the gate is gone.
        let _ = gate.recv_timeout(PATIENCE);
    };
    let bag = demo();
    let lookup = Lookup::start(bag.clone(), Arc::new(tell)).unwrap();
    lookup.peek(TopicId(0), bag.range().unwrap().stop());
    let first = told.recv_timeout(PATIENCE).unwrap();
    assert!(matches!(first, Event::Peeked(_)));
    for _ in 0..50 {
        lookup.outline(bag.range().unwrap());
        lookup.peek(TopicId(0), bag.range().unwrap().stop());
    }
    drop(lookup);
    drop(open);
    let after: Vec<Event> = told.iter().collect();
    assert_eq!(after, []);
}

/// Also while the older one is looked for behind many chunks without an index.
#[test]
fn of_two_messages_that_are_asked_for_the_newer_one_is_told() {
    let note = |chunk: u64, i: u64| Note::new(1, 1 + 100 * chunk + i, vec![0; 60_000]);
    let mut chunks: Vec<Vec<Note>> = (0..80)
        .map(|chunk| (0..5).map(|i| note(chunk, i)).collect())
        .collect();
    chunks[0].insert(0, Note::new(0, 0, "first"));
    let spec = Spec::new(chunks).options(|options| options.emit_message_indexes(false));
    let bag = bag(&spec.write());
    let end = bag.range().unwrap().stop();
    let (rare, common) = (TopicId(0), TopicId(1));
    let (send, told) = bounded(1000);
    let tell = move |event| send.send(event).unwrap();
    let lookup = Lookup::start(bag, Arc::new(tell)).unwrap();
    let answer = || match told.recv_timeout(PATIENCE).unwrap() {
        Event::Peeked(peeked) => (peeked.topic, matches!(peeked.found, Found::Message { .. })),
        other => panic!("{other:?}"),
    };
    // By itself it is found.
    lookup.peek(rare, end);
    assert_eq!(answer(), (rare, true));
    // Who asks at once again may still be too late for once.
    let is_broken_off = || {
        lookup.peek(rare, end);
        lookup.peek(common, end);
        let first = answer();
        let last = if first.0 == rare { answer() } else { first };
        assert_eq!(last, (common, true));
        first.0 == common
    };
    assert!((0..100).any(|_| is_broken_off()));
}
