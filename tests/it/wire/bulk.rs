//! The lane of large messages when a subscriber takes nothing, when the session closes, and for topics that do not
//! wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bagplay::output::{Delivery, Occasion, Output};
use bagplay::ros::{Qos, Reliability};
use bagplay::wire::{Missed, Monitor, SendOrder, Session, WireEvent, WireOutput};
use crossbeam_channel::Receiver;
use zenoh::Wait;
use zenoh::sample::Sample;

use crate::support::network::{
    self, Events, Pipe, STRING, STRING_HASH, message, number, payload, peer, played, router,
    subscribe, take,
};
use crate::support::patience::{PATIENCE, until};

const ORDERS: [SendOrder; 2] = [SendOrder::AllTopics, SendOrder::PerTopic];
const LARGE: usize = 1_000_000;
/// More than a link takes while its reader takes nothing.
const HUGE: usize = 20_000_000;
/// As many of them as are begun when the lane is full: one is put, two wait for that, and one waits for room.
const FULL: u64 = 4;
/// More than that.
const MESSAGES: u32 = 8;

/// A player of a large topic (0) and a small one (1), and a subscriber of both at the other end of a pipe.
struct Pair {
    pipe: Pipe,
    _node: (zenoh::Session, Vec<Box<dyn Send>>),
    images: Receiver<Sample>,
    imus: Receiver<Sample>,
    events: Events,
    output: WireOutput,
    session: Session,
}

/// They know each other.
fn pair(stall_timeout: Duration) -> Pair {
    let (session, events, endpoint) = router(|options| {
        options.order = SendOrder::PerTopic;
        options.stall_timeout = stall_timeout;
    });
    let topics = [played(0, "/image", None), played(1, "/imu", None)];
    let (output, _) = session.advertise(&topics, None).unwrap();
    let pipe = Pipe::to(&endpoint);
    let node = pipe.peer();
    let mut declared: Vec<Box<dyn Send>> = Vec::new();
    let [images, imus] = ["/image", "/imu"].map(|topic| {
        let token = network::token(&node, "MS", topic, STRING, STRING_HASH);
        declared.push(Box::new(
            node.liveliness().declare_token(token).wait().unwrap(),
        ));
        let (subscriber, samples) = subscribe(&node, &format!("0{topic}/**"));
        declared.push(Box::new(subscriber));
        samples
    });
    let monitor = output.monitor();
    until("both subscriptions", || {
        let topics = monitor.topics();
        topics.iter().all(|it| it.has_match && it.subscribers == 1)
    });
    Pair {
        pipe,
        _node: (node, declared),
        images,
        imus,
        events,
        output,
        session,
    }
}

/// Puts [`MESSAGES`] of both topics on a thread of its own, the small one first. Returns when the lane is full, because
/// the link takes nothing.
fn fill(mut output: WireOutput) -> JoinHandle<WireOutput> {
    let begun = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&begun);
    let sending = thread::spawn(move || {
        for n in 0..MESSAGES {
            output.message(&message(1, payload(n, 8)), Occasion::Due);
            let image = message(0, payload(n, HUGE));
            counted.fetch_add(1, Ordering::SeqCst);
            output.message(&image, Occasion::Due);
        }
        output
    });
    until("a full lane", || begun.load(Ordering::SeqCst) >= FULL);
    sending
}

fn missed(monitor: &Monitor) -> [Missed; 2] {
    [0, 1].map(|topic| monitor.topics()[topic].missed)
}

#[test]
fn a_subscriber_that_reads_again_before_the_stall_timeout_gets_all_behind_a_full_lane() {
    let Pair {
        pipe,
        _node,
        images,
        imus,
        events,
        output,
        session: _session,
    } = pair(PATIENCE);
    let monitor = output.monitor();
    pipe.block();
    let sending = fill(output);
    let [image, imu] = [0, 1].map(|topic| monitor.topics()[topic].sent);
    assert_eq!((image, imu), (0, FULL));
    drop(pipe);
    for samples in [&images, &imus] {
        for n in 0..MESSAGES {
            let sample = take(samples);
            assert_eq!(number(sample.payload()), n);
            let attachment = sample.attachment().unwrap().to_bytes();
            assert_eq!(attachment[..8], i64::from(n + 1).to_le_bytes());
        }
    }
    let mut output = sending.join().unwrap();
    output.finish();
    assert_eq!(missed(&monitor), [Missed::default(); 2]);
    let is_report =
        |event: &WireEvent| matches!(event, WireEvent::Stalled { .. } | WireEvent::Back { .. });
    assert_eq!(events.drain().into_iter().find(is_report), None);
}

#[test]
fn a_subscriber_that_is_stuck_with_a_full_lane_is_reported_and_gets_what_follows_its_return() {
    let Pair {
        pipe,
        _node,
        images,
        imus,
        events,
        output,
        session: _session,
    } = pair(Duration::from_secs(5));
    let monitor = output.monitor();
    pipe.block();
    let sending = fill(output);
    let stalled = events.wait("stall", |event| matches!(event, WireEvent::Stalled { .. }));
    let told = stalled.to_string();
    assert!(
        told.contains("/image") && told.contains("/listener"),
        "{told}"
    );
    // The lane goes on: what follows is dropped at once.
    let mut output = sending.join().unwrap();
    output.finish();
    assert_eq!(monitor.topics()[0].sent, u64::from(MESSAGES));
    assert_eq!(missed(&monitor)[0].stalled, 1);
    drop(pipe);
    let back = events.wait("return", |event| matches!(event, WireEvent::Back { .. }));
    assert!(
        back.to_string()
            .starts_with("/listener: reading again after"),
        "{back}"
    );
    let mut next = MESSAGES;
    until("large messages again", || {
        output.message(&message(0, payload(next, LARGE)), Occasion::Due);
        output.message(&message(1, payload(next, 8)), Occasion::Due);
        next += 1;
        !images.is_empty()
    });
    let lost = missed(&monitor)[0].lost;
    for _ in 0..MESSAGES {
        output.message(&message(0, payload(next, LARGE)), Occasion::Due);
        output.message(&message(1, payload(next, 8)), Occasion::Due);
        next += 1;
    }
    output.finish();
    let first = number(take(&images).payload());
    assert!((1..=u64::from(first)).contains(&lost), "{lost} of {first}");
    for n in first + 1..next {
        assert_eq!(number(take(&images).payload()), n);
    }
    for n in 0..next {
        assert_eq!(number(take(&imus).payload()), n);
    }
    let [image, imu] = missed(&monitor);
    assert_eq!((image.lost, imu), (lost, Missed::default()));
}

/// zenoh closes a session only when its puts have ended, which takes as long as they wait.
#[test]
fn a_session_that_closes_while_the_lane_is_full_ends_the_puts_and_their_messages_are_counted() {
    let Pair {
        pipe,
        _node,
        events,
        output,
        session,
        ..
    } = pair(Duration::from_secs(2));
    let monitor = output.monitor();
    pipe.block();
    let sending = fill(output);
    session.close();
    let mut output = sending.join().unwrap();
    let dropped = output.message(&message(1, payload(MESSAGES, 8)), Occasion::Due);
    assert_eq!(dropped, Delivery::Dropped);
    output.message(&message(0, payload(MESSAGES, HUGE)), Occasion::Due);
    output.finish();
    for topic in monitor.topics() {
        assert_eq!(topic.sent + topic.dropped, u64::from(MESSAGES) + 1);
        assert!(topic.dropped > 0, "{topic:?}");
    }
    events.wait("a report", |event| {
        event.to_string().contains("cannot be published")
    });
}

#[test]
fn large_best_effort_messages_do_not_wait_for_a_stuck_subscriber_in_either_order() {
    const MANY: u32 = 100;
    for order in ORDERS {
        let (session, events, endpoint) = router(|options| {
            options.order = order;
            options.stall_timeout = 2 * PATIENCE;
        });
        let best_effort = Qos {
            reliability: Reliability::BestEffort,
            ..Qos::default()
        };
        let topics = [
            played(0, "/image", Some(best_effort)),
            played(1, "/reliable", None),
        ];
        let (mut output, _) = session.advertise(&topics, None).unwrap();
        let monitor = output.monitor();
        let pipe = Pipe::to(&endpoint);
        let node = pipe.peer();
        let (_subscriber, samples) = subscribe(&node, "0/image/**");
        events.wait_for_match();
        pipe.block();
        for n in 0..MANY {
            output.message(&message(0, payload(n, LARGE)), Occasion::Due);
        }
        output.finish();
        assert_eq!(monitor.topics()[0].sent, u64::from(MANY), "{order:?}");
        assert_eq!(missed(&monitor), [Missed::default(); 2], "{order:?}");
        drop(pipe);
        let mut next = MANY;
        let mut received = Vec::new();
        until("messages again", || {
            output.message(&message(0, payload(next, LARGE)), Occasion::Due);
            next += 1;
            received.extend(samples.try_iter().map(|sample| number(sample.payload())));
            received.last() >= Some(&MANY)
        });
        assert!(received.is_sorted(), "{order:?}: {received:?}");
    }
}

#[test]
fn a_subscriber_that_joins_late_gets_large_messages_from_then_on_in_either_order() {
    for order in ORDERS {
        let (session, events, endpoint) = router(|options| options.order = order);
        let topics = [played(0, "/image", None)];
        let (mut output, _) = session.advertise(&topics, None).unwrap();
        let mut numbers = 0..;
        let mut put = |output: &mut WireOutput| {
            for n in numbers.by_ref().take(usize::try_from(MESSAGES).unwrap()) {
                let size = if n % 2 == 0 { LARGE } else { 8 };
                output.message(&message(0, payload(n, size)), Occasion::Due);
            }
            output.finish();
        };
        put(&mut output);
        // A session that is there already may be sent messages for which it has no subscriber yet.
        let node = peer(&endpoint);
        let (_subscriber, samples) = subscribe(&node, "0/image/**");
        events.wait_for_match();
        put(&mut output);
        for n in MESSAGES..2 * MESSAGES {
            let sample = take(&samples);
            assert_eq!(number(sample.payload()), n, "{order:?}");
            let attachment = sample.attachment().unwrap().to_bytes();
            assert_eq!(attachment[..8], i64::from(n + 1).to_le_bytes(), "{order:?}");
        }
        assert!(samples.is_empty(), "{order:?}");
    }
}
