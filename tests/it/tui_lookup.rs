//! What is read from a recording for the screen alone.

use std::sync::Arc;
use std::time::Duration;

use bagplay::bag::{Bag, TopicId};
use bagplay::tui::{Event, Found, Lane, Lookup, Peeked};
use crossbeam_channel::{Receiver, bounded};

const PATIENCE: Duration = Duration::from_secs(20);

fn demo() -> Bag {
    Bag::open(&[concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/demo.mcap")]).unwrap()
}

/// A lookup of the demo, and what it tells; the channel is disconnected when its thread has ended.
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
    let (bag, lookup, told) = lookup();
    for _ in 0..50 {
        lookup.outline(bag.range().unwrap());
    }
    drop(lookup);
    let told: Vec<Event> = told.iter().collect();
    let whole = told
        .iter()
        .filter(|event| matches!(event, Event::Lane(lane) if lane.is_whole));
    assert!(
        whole.count() <= 1,
        "older questions are not answered any more"
    );
}
