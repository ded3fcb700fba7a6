//! Look-ups in a recording for the screen.

use std::sync::Arc;

use bagplay::bag::{Bag, TopicId};
use bagplay::decode::MessageAt;
use bagplay::tui::{Event, Lane, Lookup, LookupResult};
use crossbeam_channel::{Receiver, bounded};

use crate::support::mcaps::{Note, Spec, bag};
use crate::support::patience::PATIENCE;

fn demo() -> Bag {
    Bag::open(&[concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/demo.mcap")]).unwrap()
}

/// A lookup of the demo, and its events; the channel is disconnected when its thread has ended.
fn lookup() -> (Bag, Lookup, Receiver<Event>) {
    let (send, events) = bounded(1000);
    let sink = move |event| send.send(event).unwrap();
    let lookup = Lookup::start(demo(), Arc::new(sink)).unwrap();
    (demo(), lookup, events)
}

fn next_whole(events: &Receiver<Event>) -> Lane {
    loop {
        match events.recv_timeout(PATIENCE).unwrap() {
            Event::Lane(lane) if lane.is_whole => return lane,
            Event::Lane(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_density_is_that_of_the_outline() {
    let (bag, lookup, events) = lookup();
    let range = bag.range().unwrap();
    lookup.outline(range);
    let lane = next_whole(&events);
    assert_eq!(lane.range, range);
    assert_eq!(
        lane.outline,
        bag.outline(lane.outline.topics[0].density.len())
    );
}

#[test]
fn the_holes_are_those_of_the_recording() {
    let (bag, lookup, events) = lookup();
    lookup.holes();
    let found = events.recv_timeout(PATIENCE).unwrap();
    assert_eq!(found, Event::Holes(bag.holes()));
    assert_eq!(bag.holes().map(|holes| holes.len()), Some(1));
}

#[test]
fn the_message_at_or_before_a_time_is_found_and_decoded() {
    let (bag, lookup, events) = lookup();
    let range = bag.range().unwrap();
    let imu = bag.topics().iter().position(|topic| topic.name == "/imu");
    let imu = TopicId(u32::try_from(imu.unwrap()).unwrap());
    for (at, is_there) in [(range.stop(), true), (range.start(), false)] {
        lookup.find_message(imu, at);
        let Event::Lookup(LookupResult {
            topic,
            at: asked,
            outcome: found,
        }) = events.recv_timeout(PATIENCE).unwrap()
        else {
            panic!("no message");
        };
        assert_eq!((topic, asked), (imu, at));
        match found {
            MessageAt::Message {
                log_time, decoded, ..
            } => {
                assert!(is_there && log_time <= at);
                assert!(decoded.lines.iter().any(|line| line.name == "frame_id"));
            }
            MessageAt::NoMessage => assert!(!is_there),
            MessageAt::Damaged(damage) => panic!("{damage}"),
        }
    }
}

#[test]
fn no_answer_comes_after_the_lookup_is_dropped() {
    let (send, events) = bounded(1000);
    let (open, gate) = bounded::<()>(0);
    let sink = move |event| {
        send.send(event).unwrap();
        // Nothing is sent: this call returns when the gate is dropped.
        let _ = gate.recv_timeout(PATIENCE);
    };
    let bag = demo();
    let lookup = Lookup::start(bag.clone(), Arc::new(sink)).unwrap();
    lookup.find_message(TopicId(0), bag.range().unwrap().stop());
    let first = events.recv_timeout(PATIENCE).unwrap();
    assert!(matches!(first, Event::Lookup(_)));
    for _ in 0..50 {
        lookup.outline(bag.range().unwrap());
        lookup.find_message(TopicId(0), bag.range().unwrap().stop());
    }
    drop(lookup);
    drop(open);
    let after: Vec<Event> = events.iter().collect();
    assert_eq!(after, []);
}

/// Also during the search for the older one in many chunks without an index.
#[test]
fn a_newer_request_for_a_message_cancels_the_older_one() {
    let note = |chunk: u64, i: u64| Note::new(1, 1 + 100 * chunk + i, vec![0; 60_000]);
    let mut chunks: Vec<Vec<Note>> = (0..80)
        .map(|chunk| (0..5).map(|i| note(chunk, i)).collect())
        .collect();
    chunks[0].insert(0, Note::new(0, 0, "first"));
    let spec = Spec::new(chunks).options(|options| options.emit_message_indexes(false));
    let bag = bag(&spec.write());
    let end = bag.range().unwrap().stop();
    let (rare, common) = (TopicId(0), TopicId(1));
    let (send, events) = bounded(1000);
    let sink = move |event| send.send(event).unwrap();
    let lookup = Lookup::start(bag, Arc::new(sink)).unwrap();
    let answer = || match events.recv_timeout(PATIENCE).unwrap() {
        Event::Lookup(peeked) => (
            peeked.topic,
            matches!(peeked.outcome, MessageAt::Message { .. }),
        ),
        other => panic!("{other:?}"),
    };
    // Without another request it is found.
    lookup.find_message(rare, end);
    assert_eq!(answer(), (rare, true));
    // The newer request may come too late, after the search has ended.
    let is_cancelled = || {
        lookup.find_message(rare, end);
        lookup.find_message(common, end);
        let first = answer();
        let last = if first.0 == rare { answer() } else { first };
        assert_eq!(last, (common, true));
        first.0 == common
    };
    assert!((0..100).any(|_| is_cancelled()));
}
