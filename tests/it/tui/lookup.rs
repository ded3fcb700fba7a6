//! Look-ups in a recording for the screen.

use std::ops::ControlFlow;
use std::sync::Arc;

use bagplay::bag::{Bag, Direction, Selection, StartAt, TopicId};
use bagplay::decode::{FieldReader, MessageAt};
use bagplay::find::{Conditions, Found, Search};
use bagplay::tui::{
    Event, FindRequest, FoundMessages, Lane, Lookup, LookupResult, Pin, ValueAt, WatchedField,
    WatchedValue,
};
use crossbeam_channel::{Receiver, Sender, bounded};

use crate::support::mcaps::{Note, Spec, bag, place};
use crate::support::patience::PATIENCE;

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/demo.mcap");

fn demo() -> Bag {
    Bag::open(&[DEMO]).unwrap()
}

/// A lookup of the demo, and its events; the channel is disconnected when its thread has ended.
fn lookup() -> (Bag, Lookup, Receiver<Event>) {
    let (send, events) = bounded(1000);
    let sink = move |event| send.send(event).unwrap();
    let lookup = Lookup::start(demo(), Arc::new(sink)).unwrap();
    (demo(), lookup, events)
}

/// The same; its thread is held in its first answer until the sender is dropped, and takes no request until then.
fn held_lookup() -> (Bag, Lookup, Receiver<Event>, Sender<()>) {
    let (send, events) = bounded(1000);
    let (open, gate) = bounded::<()>(0);
    let sink = move |event| {
        send.send(event).unwrap();
        // Nothing is sent: this call returns when the sender is dropped.
        let _ = gate.recv_timeout(PATIENCE);
    };
    let lookup = Lookup::start(demo(), Arc::new(sink)).unwrap();
    let bag = demo();
    lookup.find_message(TopicId(0), bag.range().unwrap().stop());
    let first = events.recv_timeout(PATIENCE).unwrap();
    assert!(matches!(first, Event::Lookup(_)), "{first:?}");
    (bag, lookup, events, open)
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
    let timing = bag.timing_while(&mut || true).unwrap();
    assert!(timing.periods.iter().any(Option::is_some));
    let next = || events.recv_timeout(PATIENCE).unwrap();
    assert_eq!(next(), Event::Periods(timing.periods));
    assert_eq!(next(), Event::Holes(timing.holes));
    assert_eq!(bag.holes().map(|holes| holes.len()), Some(1));
}

#[test]
fn damage_that_another_reader_has_met_is_told() {
    let mut bytes = std::fs::read(DEMO).unwrap();
    let chunk = place(&bytes, 0x06, 3);
    let payload = chunk.at + 9 + chunk.body - 100;
    bytes[payload..payload + 50].fill(0x55);
    let bag = bag(&bytes);
    let (send, events) = bounded(1000);
    let sink = move |event| send.send(event).unwrap();
    let lookup = Lookup::start(bag.clone(), Arc::new(sink)).unwrap();
    lookup.damaged();
    assert_eq!(
        events.recv_timeout(PATIENCE).unwrap(),
        Event::Damaged(vec![])
    );
    let all = Selection::all(&bag);
    let walk = bag.cursor(
        &all,
        StartAt::At(bag.range().unwrap().start()),
        Direction::Forward,
    );
    let damage: Vec<_> = walk.filter_map(Result::err).collect();
    lookup.damaged();
    let Event::Damaged(parts) = events.recv_timeout(PATIENCE).unwrap() else {
        panic!("no damage");
    };
    let told: Vec<_> = parts.iter().map(|part| part.damage.clone()).collect();
    assert_eq!((told, parts[0].at), (damage, chunk.at as u64));
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
fn watched_values_are_those_of_the_messages() {
    let (bag, lookup, events) = lookup();
    let range = bag.range().unwrap();
    let named = |name: &str| {
        let at = bag.topics().iter().position(|topic| topic.name == name);
        TopicId(u32::try_from(at.unwrap()).unwrap())
    };
    let value = |path: &str| WatchedField::Value(path.parse().unwrap());
    let pins = [
        ("/imu", value("angular_velocity.z")),
        ("/imu", WatchedField::Delay),
        ("/odom", value("child_frame_id")),
        ("/imu", value("no.such.field")),
        ("/tf_static", WatchedField::Delay),
    ];
    let pins: Vec<Pin> = pins
        .into_iter()
        .map(|(topic, field)| Pin {
            topic: named(topic),
            field,
        })
        .collect();
    lookup.watch(pins.clone(), range);
    let Event::Watched(found) = events.recv_timeout(PATIENCE).unwrap() else {
        panic!("no values");
    };
    assert_eq!((found.pins, found.range), (pins, range));
    let last: Vec<Option<WatchedValue>> = found
        .series
        .iter()
        .map(|series| match series.at(range.stop()) {
            ValueAt::Known(point) => Some(point.value.clone()),
            ValueAt::None | ValueAt::Unread => None,
        })
        .collect();
    let imu = Selection::of([named("/imu")], &bag);
    let mut back = bag.cursor(&imu, StartAt::At(range.stop()), Direction::Reverse);
    let imu = back.next().unwrap().unwrap();
    let reader = FieldReader::new(
        &bag.topics()[imu.topic.index()],
        &"angular_velocity.z".parse().unwrap(),
    );
    let mut z = None;
    reader
        .unwrap()
        .read(&imu.payload, &mut |_, value| {
            z = Some(value.to_string());
            ControlFlow::Continue(())
        })
        .unwrap();
    let Some(WatchedValue::Number(number)) = last[0] else {
        panic!("{last:?}");
    };
    assert_eq!(Some(format!("{number:?}")), z);
    assert!(
        matches!(last[1], Some(WatchedValue::Number(delay)) if delay.abs() < 1.0),
        "{last:?}"
    );
    assert!(
        matches!(&last[2], Some(WatchedValue::Text(text)) if text == "base_link"),
        "{last:?}"
    );
    assert_eq!(last[3..], [None, None]);
    let problems: Vec<bool> = found
        .series
        .iter()
        .map(|it| it.problem().is_some())
        .collect();
    assert_eq!(problems, [false, false, false, true, true]);
}

#[cfg(feature = "ci")]
#[test]
fn pictures_are_those_of_the_last_messages() {
    use bagplay::time::Time;
    use bagplay::tui::{ColorDepth, PictureAt, PictureRequest, PictureSlot, PictureStyle, Size};

    use crate::support::images;

    let bag = images::recording();
    let (send, events) = bounded(1000);
    let sink = move |event| send.send(event).unwrap();
    let lookup = Lookup::start(bag.clone(), Arc::new(sink)).unwrap();
    let topic = |name: &str| {
        let at = bag.topics().iter().position(|topic| topic.name == name);
        TopicId(u32::try_from(at.unwrap()).unwrap())
    };
    let cells = Size {
        width: 20,
        height: 6,
    };
    let slots = [images::IMAGE, "/text"].map(|name| PictureSlot {
        topic: topic(name),
        cells,
    });
    let style = PictureStyle::Blocks(ColorDepth::True);
    let mut found = Vec::new();
    for millis in [500, 700, 9_500, -1] {
        let at = Time::from_millis(millis);
        lookup.pictures(PictureRequest {
            slots: slots.to_vec(),
            at,
            style: style.clone(),
            is_fresh: millis == 700,
        });
        let Event::Pictures(pictures) = events.recv_timeout(PATIENCE).unwrap() else {
            panic!("something else was asked for");
        };
        assert_eq!(pictures.at, at);
        let [(image_slot, image), (_, text)] = pictures.found.try_into().unwrap();
        assert_eq!(image_slot, slots[0]);
        match text {
            PictureAt::NoMessage => assert_eq!(millis, -1),
            problem => {
                let expected = "this topic has no pictures".to_owned();
                assert_eq!(problem, PictureAt::Problem(expected));
            }
        }
        found.push(match image {
            PictureAt::Picture {
                log_time, picture, ..
            } => {
                // As many pixels as the cells have room for.
                assert_eq!(picture.pixels.size().to_string(), "16x12");
                (log_time.as_nanos() / 1_000_000, picture.pixels.at(3, 3))
            }
            _ => (-1, [0; 3]),
        });
    }
    let (red, green) = ([250, 20, 10], [70, 200, 10]);
    assert_eq!(found, [(0, red), (0, red), (9_000, green), (-1, [0; 3])]);
}

fn begin(expression: &str) -> FindRequest {
    FindRequest::Begin(Box::new(expression.parse().unwrap()))
}

fn whole_hits(events: &Receiver<Event>) -> FoundMessages {
    loop {
        match events.recv_timeout(PATIENCE).unwrap() {
            Event::Hits(found) | Event::Alerts(found) if found.has_ended => return found,
            Event::Hits(_) | Event::Alerts(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn messages_are_found_by_an_expression() {
    let (bag, lookup, events) = lookup();
    let expression = "/imu angular_velocity.z > 0";
    lookup.find(begin(expression));
    let found = whole_hits(&events);
    assert_eq!(
        (found.expression.as_str(), found.problem),
        (expression, None)
    );
    let conditions = Conditions::new(bag.topics(), &[expression.parse().unwrap()]).unwrap();
    let search = Search::new(&bag, conditions, bag.range().unwrap(), Direction::Forward);
    let times: Vec<_> = search
        .filter_map(|found| match found {
            Found::Hit(hit) => Some(hit.time),
            _ => None,
        })
        .collect();
    assert!(times.len() > 100);
    let hits: Vec<_> = found.messages.iter().map(|it| it.time).collect();
    assert_eq!(hits, times);
}

#[test]
fn warnings_of_nodes_are_found() {
    let (_, lookup, events) = lookup();
    lookup.alerts();
    let found = whole_hits(&events);
    assert!(!found.messages.is_empty());
    assert!(found.messages.iter().all(|it| it.severity.is_some()));
}

#[test]
fn what_takes_less_time_is_answered_while_a_search_goes_on() {
    let (bag, lookup, events, open) = held_lookup();
    let range = bag.range().unwrap();
    // All of these are known before one of them is begun; the search is for every message.
    lookup.alerts();
    lookup.holes();
    lookup.find(begin("/imu angular_velocity.z > -100"));
    lookup.outline(range);
    lookup.find_message(TopicId(0), range.stop());
    drop(open);
    let (mut seen, mut hits) = (Vec::new(), 0);
    while seen.len() < 5 {
        let kind = match events.recv_timeout(PATIENCE).unwrap() {
            Event::Lookup(_) => "message",
            Event::Lane(lane) if lane.is_whole => "density",
            Event::Hits(found) if found.has_ended => {
                hits = found.messages.len();
                "hits"
            }
            Event::Holes(_) => "holes",
            Event::Alerts(found) if found.has_ended => "alerts",
            _ => continue,
        };
        seen.push(kind);
    }
    assert_eq!(seen, ["message", "density", "hits", "holes", "alerts"]);
    assert_eq!(hits, 5200);
}

#[test]
fn a_search_that_is_no_longer_wanted_has_no_result() {
    let (bag, lookup, events, open) = held_lookup();
    lookup.find(begin("/imu angular_velocity.z > -100"));
    lookup.find(FindRequest::End);
    lookup.find_message(TopicId(0), bag.range().unwrap().stop());
    drop(open);
    let event = events.recv_timeout(PATIENCE).unwrap();
    assert!(matches!(event, Event::Lookup(_)), "{event:?}");
    drop(lookup);
    let rest: Vec<Event> = events.iter().collect();
    assert_eq!(rest, []);
}

#[test]
fn no_answer_comes_after_the_lookup_is_dropped() {
    let (bag, lookup, events, open) = held_lookup();
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
