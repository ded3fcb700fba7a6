//! The order of messages on the network, with [`SendOrder::PerTopic`] and without it.

use std::time::Duration;

use bagplay::bag::TopicId;
use bagplay::output::{Delivery, Occasion, Output};
use bagplay::time::{AtEnd, Segment, Speed, Time, TimeRange};
use bagplay::wire::{
    ClockOptions, Drained, Missed, SendOrder, TopicState, WireEvent, WireOutput, encode_clock,
};
use zenoh::Wait;

use crate::support::network::{
    self, CLOCK_KEY, Pipe, STRING, STRING_HASH, message, number, payload, peer, played, router,
    subscribe, take,
};
use crate::support::patience::until;

const LARGE: usize = 1_000_000;
/// More than a link takes while its reader takes nothing.
const HUGE: usize = 20_000_000;
/// As many as a test of the clock sends.
const MESSAGES: u32 = 60;
/// One that is put, and those that wait for the thread of large messages.
const IMAGES: u32 = 3;

/// A stuck subscriber gets [`IMAGES`] large messages and then a small one of another topic: how many large ones come
/// before the small one.
fn large_before_small(order: SendOrder) -> usize {
    let (session, events, endpoint) = router(|options| {
        options.order = order;
        options.stall_timeout = Duration::from_secs(60);
    });
    let topics = [played(0, "/image", None), played(1, "/imu", None)];
    let (mut output, _) = session.advertise(&topics, None).unwrap();
    let pipe = Pipe::to(&endpoint);
    let node = pipe.peer();
    let (_subscriber, samples) = subscribe(&node, "0/**");
    events.wait_for_match();
    events.wait_for_match();
    pipe.block();
    let sending = std::thread::spawn(move || {
        for n in 0..IMAGES {
            output.message(&message(0, payload(n, HUGE)), Occasion::Due);
        }
        output.message(&message(1, payload(0, 8)), Occasion::Due);
        output
    });
    if order == SendOrder::PerTopic {
        // Nothing keeps the small message from being put, although the link takes nothing.
        let mut output = sending.join().unwrap();
        drop(pipe);
        output.finish();
        return position_of_small(&samples);
    }
    drop(pipe);
    let position = position_of_small(&samples);
    drop(sending.join().unwrap());
    position
}

fn position_of_small(samples: &crossbeam_channel::Receiver<zenoh::sample::Sample>) -> usize {
    let all: Vec<usize> = (0..=IMAGES)
        .map(|_| take(samples).payload().len())
        .collect();
    all.iter()
        .position(|bytes| *bytes == 8)
        .expect("the small one")
}

#[test]
fn a_small_message_waits_for_large_ones_only_if_all_topics_keep_one_order() {
    let images = usize::try_from(IMAGES).unwrap();
    assert_eq!(large_before_small(SendOrder::AllTopics), images);
    let before = large_before_small(SendOrder::PerTopic);
    assert!(before < images, "{before} large ones came first");
}

/// How many bytes of a large message the system, at both ends, holds for a subscriber that takes nothing.
fn bytes_at_the_system(order: SendOrder) -> u64 {
    let (session, events, endpoint) = router(|options| {
        options.order = order;
        options.stall_timeout = Duration::from_millis(300);
    });
    let (mut output, _) = session
        .advertise(&[played(0, "/image", None)], None)
        .unwrap();
    let pipe = Pipe::to(&endpoint);
    let node = pipe.peer();
    let _subscriber = subscribe(&node, "0/**");
    events.wait_for_match();
    pipe.block();
    output.message(&message(0, payload(0, HUGE)), Occasion::Due);
    output.finish();
    match session.drain(|| false) {
        Drained::Untaken { bytes } => bytes,
        other => panic!("{other:?}"),
    }
}

/// A small message can overtake what zenoh has queued, and nothing that the system has taken.
#[test]
fn little_of_a_large_message_is_at_the_system_if_each_topic_keeps_its_own_order() {
    let [all, each] = [SendOrder::AllTopics, SendOrder::PerTopic].map(bytes_at_the_system);
    assert!(3 * each < all, "{each} and {all} bytes");
}

/// Messages grow large, and small again: the topic keeps its order, its sequence and its counts.
#[test]
fn a_topic_keeps_its_order_when_its_messages_become_large() {
    let (session, events, endpoint) = router(|options| options.order = SendOrder::PerTopic);
    let topics = [played(0, "/image", None), played(1, "/imu", None)];
    let (mut output, _) = session.advertise(&topics, None).unwrap();
    let node = peer(&endpoint);
    let (_images, images) = subscribe(&node, "0/image/**");
    let (_imus, imus) = subscribe(&node, "0/imu/**");
    events.wait_for_match();
    events.wait_for_match();
    let sizes = |n: u32| if n % 50 == 20 { LARGE } else { 8 };
    for n in 0..200 {
        let sent = output.message(&message(0, payload(n, sizes(n))), Occasion::Due);
        assert_eq!(sent, Delivery::Sent);
        output.message(&message(1, payload(n, 8)), Occasion::Due);
    }
    output.finish();
    let image = output.monitor().topic(TopicId(0)).unwrap();
    assert_eq!((image.sent, image.bytes), (200, 4 * LARGE as u64 + 196 * 8));
    for samples in [images, imus] {
        for n in 0..200_u32 {
            let sample = take(&samples);
            assert_eq!(number(sample.payload()), n);
            let attachment = sample.attachment().unwrap().to_bytes();
            assert_eq!(attachment[..8], i64::from(n + 1).to_le_bytes());
        }
    }
}

/// The clock before each message comes before it, also if the message is large.
#[test]
fn the_clock_of_a_large_message_comes_before_it() {
    let (session, events, endpoint) = router(|options| options.order = SendOrder::PerTopic);
    let clock = ClockOptions {
        hz: None,
        per_message: true,
    };
    let topics = [played(0, "/image", None), played(1, "/imu", None)];
    let (mut output, _) = session.advertise(&topics, Some(clock)).unwrap();
    let node = peer(&endpoint);
    let (_subscriber, samples) = subscribe(&node, "0/**");
    events.wait_for_match();
    events.wait_for_match();
    for n in 0..MESSAGES {
        output.clock(Time::from_nanos(i64::from(n) + 1));
        let (id, size) = if n % 3 == 0 { (0, LARGE) } else { (1, 8) };
        output.message(&message(id, payload(n, size)), Occasion::Due);
    }
    output.finish();
    let mut shown = 0;
    let mut left = MESSAGES;
    while left > 0 {
        let sample = take(&samples);
        if sample.key_expr().as_str() == CLOCK_KEY {
            let ticks = (shown..=MESSAGES).find(|tick| {
                let clock = encode_clock(Time::from_nanos(i64::from(*tick)));
                clock.bytes[..] == sample.payload().to_bytes()[..]
            });
            shown = ticks.expect("the clock does not go back");
        } else {
            let n = number(sample.payload());
            assert!(shown > n, "message {n} came at clock {shown}");
            left -= 1;
        }
    }
}

/// A jump waits until large messages from before it have been put.
#[test]
fn large_messages_are_put_before_a_jump() {
    let (session, events, endpoint) = router(|options| options.order = SendOrder::PerTopic);
    let (mut output, _) = session
        .advertise(&[played(0, "/image", None)], None)
        .unwrap();
    let node = peer(&endpoint);
    let (_subscriber, _samples) = subscribe(&node, "0/**");
    events.wait_for_match();
    let range = TimeRange::between(Time::from_secs(0), Time::from_secs(10));
    let segment = Segment::new(range, Speed::NORMAL, AtEnd::Hold);
    output.segment(&segment);
    for n in 0..IMAGES {
        output.message(&message(0, payload(n, LARGE)), Occasion::Due);
    }
    output.segment(&segment.seek(Time::from_secs(5)));
    let image = output.monitor().topic(TopicId(0)).unwrap();
    assert_eq!(image.sent, u64::from(IMAGES));
}

/// A put of a large message has waited for the whole stall timeout. From then on zenoh drops large messages, but small
/// ones have a queue of their own, which has room.
#[test]
fn what_a_stuck_subscriber_loses_of_large_topics_is_not_counted_for_small_ones() {
    let (session, events, endpoint) = router(|options| {
        options.order = SendOrder::PerTopic;
        options.stall_timeout = Duration::from_secs(5);
    });
    let topics = [played(0, "/image", None), played(1, "/imu", None)];
    let (mut output, _) = session.advertise(&topics, None).unwrap();
    let pipe = Pipe::to(&endpoint);
    let node = pipe.peer();
    let _tokens = ["/image", "/imu"].map(|topic| {
        let token = network::token(&node, "MS", topic, STRING, STRING_HASH);
        node.liveliness().declare_token(token).wait().unwrap()
    });
    let (_images, images) = subscribe(&node, "0/image/**");
    let (_imus, imus) = subscribe(&node, "0/imu/**");
    let monitor = output.monitor();
    until("both", || {
        let topics = monitor.topics();
        let is_known = |it: &TopicState| it.has_match && it.subscribers == 1;
        topics.iter().all(is_known)
    });
    pipe.block();
    output.message(&message(0, payload(0, HUGE)), Occasion::Due);
    let missed = || [0, 1].map(|topic| monitor.topics()[topic].missed);
    let mut small = 0;
    let mut put_small = |output: &mut WireOutput| {
        output.message(&message(1, payload(small, 8)), Occasion::Due);
        small += 1;
    };
    until("a stall", || {
        put_small(&mut output);
        missed()[0].stalled == 1
    });
    let mut image = 0;
    until("large messages that are known to be lost", || {
        put_small(&mut output);
        image += 1;
        output.message(&message(0, payload(image, LARGE)), Occasion::Due);
        missed()[0].lost > 20
    });
    assert_eq!(missed()[0].stalled, 1);
    assert_eq!(missed()[1], Missed::default());
    drop(pipe);
    let back = events.wait("return", |event| matches!(event, WireEvent::Back { .. }));
    assert!(
        matches!(back, WireEvent::Back { lost, .. } if lost > 20),
        "{back}"
    );
    until("large messages again", || {
        image += 1;
        output.message(&message(0, payload(image, LARGE)), Occasion::Due);
        !images.is_empty()
    });
    // All that were put before it are lost.
    let first = number(take(&images).payload());
    let lost = missed()[0].lost;
    assert!((21..=u64::from(first)).contains(&lost), "{lost} of {first}");
    for n in 0..small {
        assert_eq!(number(take(&imus).payload()), n);
    }
    assert_eq!(missed()[1], Missed::default());
}
