//! Subscribers that do not keep up.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use bagplay::output::Output;
use bagplay::ros1::{Ros1Event, Ros1Options, SlowSubscriber};
use bagplay::time::Time;

use bytes::Bytes;

use super::peer::Subscriber;
use super::{Joined, free_master, hour, message, send, strings};
use crate::support::patience::{instant, until};

const SIZE: usize = 1 << 20;
/// More than queue and buffers of the system take together.
const COUNT: u8 = 100;

fn payload(n: u8) -> Vec<u8> {
    vec![n; SIZE]
}

#[test]
fn the_player_waits_and_nothing_is_lost() {
    let player = Joined::player();
    let (mut output, monitor, _) = player
        .node
        .advertise(&[strings(0, "/images")], false)
        .unwrap();
    let mut subscriber = Subscriber::of_topic(&player.master, "/slow", "/images");
    player.joined("/slow");
    let sending = thread::spawn(move || {
        for n in 0..COUNT {
            send(&mut output, &message(0, 0, 0, payload(n)));
        }
    });
    until("a full queue", || monitor.topics()[0].sent > 16);
    for n in 0..COUNT {
        assert!(subscriber.message().unwrap() == payload(n), "{n}");
    }
    sending.join().unwrap();
    let state = &monitor.topics()[0];
    assert_eq!(
        (state.sent, state.stalled, state.lost),
        (u64::from(COUNT), 0, 0)
    );
    assert_eq!(player.node.drain(|| false), 0);
}

#[test]
fn the_clock_is_repeated_while_a_message_waits() {
    let player = Joined::player();
    let (mut output, monitor, _) = player
        .node
        .advertise(&[strings(0, "/images")], true)
        .unwrap();
    let mut subscriber = Subscriber::of_topic(&player.master, "/slow", "/images");
    player.joined("/slow");
    let mut clock = Subscriber::of_topic(&player.master, "/clocked", "/clock");
    player.joined("/clocked");
    output.clock(Time::from_nanos(7_000_000_009));
    let sending = thread::spawn(move || {
        for n in 0..COUNT {
            send(&mut output, &message(0, 0, 0, payload(n)));
        }
        output
    });
    // One is sent before anything waits.
    for _ in 0..3 {
        assert_eq!(clock.message().unwrap(), [7, 0, 0, 0, 9, 0, 0, 0]);
    }
    assert!(monitor.topics()[0].sent < u64::from(COUNT));
    for n in 0..COUNT {
        assert_eq!(subscriber.message().unwrap()[0], n);
    }
    drop(sending.join().unwrap());
}

#[test]
fn the_oldest_messages_are_dropped_if_that_is_the_rule() {
    let drop_oldest = |options: &mut Ros1Options| {
        options.slow_subscriber = SlowSubscriber::DropOldest;
    };
    let player = Joined::with(&free_master(), drop_oldest);
    let (mut output, monitor, _) = player
        .node
        .advertise(&[strings(0, "/images")], false)
        .unwrap();
    let mut subscriber = Subscriber::of_topic(&player.master, "/slow", "/images");
    player.joined("/slow");
    // Returns without anybody reading.
    for n in 0..COUNT {
        send(&mut output, &message(0, 0, 0, payload(n)));
    }
    let lost = monitor.topics()[0].lost;
    assert!(lost > 0);
    let slow = |event: &Ros1Event| match event {
        Ros1Event::Slow { topic, node } => Some((topic.clone(), node.clone())),
        _ => None,
    };
    let named = ("/images".to_owned(), "/slow".to_owned());
    assert_eq!(player.event("a slow node", slow), named);
    // It is told once.
    assert!(player.events.try_iter().all(|event| slow(&event).is_none()));
    let got: Vec<u8> = (lost..u64::from(COUNT))
        .map(|_| subscriber.message().unwrap()[0])
        .collect();
    assert!(got.is_sorted(), "{got:?}");
    assert_eq!(got.last(), Some(&(COUNT - 1)));
}

#[test]
fn a_stuck_subscriber_is_left_behind_and_named() {
    let impatient = |options: &mut Ros1Options| {
        options.stall_timeout = Duration::from_millis(300);
    };
    let player = Joined::with(&free_master(), impatient);
    let (mut output, monitor, _) = player
        .node
        .advertise(&[strings(0, "/images")], false)
        .unwrap();
    let mut stuck = Subscriber::of_topic(&player.master, "/stuck", "/images");
    player.joined("/stuck");
    for n in 0..COUNT {
        send(&mut output, &message(0, 0, 0, payload(n)));
    }
    let node = player.event("stall", |event| match event {
        Ros1Event::Stalled { node, .. } => Some(node.clone()),
        _ => None,
    });
    assert_eq!(node, "/stuck");
    let lost = monitor.topics()[0].lost;
    // It is not waited for at the end.
    assert!(player.node.drain(|| false) > 0);
    assert_eq!(player.node.late_nodes(), ["/stuck"]);
    let mut next = 0;
    while u64::from(next) < u64::from(COUNT) - lost {
        assert_eq!(stuck.message().unwrap()[0], next);
        next += 1;
    }
    let (node, told) = player.event("return", |event| match event {
        Ros1Event::Back { node, lost, .. } => Some((node.clone(), *lost)),
        _ => None,
    });
    assert_eq!((node.as_str(), told), ("/stuck", lost));
    send(&mut output, &message(0, 0, 0, "again"));
    assert_eq!(stuck.message().unwrap(), b"again");
    output.finish();
}

#[test]
fn a_node_that_is_stuck_on_one_topic_is_not_waited_for_on_another() {
    let impatient = |options: &mut Ros1Options| {
        options.stall_timeout = Duration::from_millis(300);
    };
    let player = Joined::with(&free_master(), impatient);
    let topics = [strings(0, "/images"), strings(1, "/clouds")];
    let (mut output, monitor, _) = player.node.advertise(&topics, false).unwrap();
    let names = ["/images", "/clouds"];
    let mut stuck = names.map(|topic| {
        let subscriber = Subscriber::of_topic(&player.master, "/stuck", topic);
        player.joined("/stuck");
        subscriber
    });
    for topic in 0..2 {
        for n in 0..COUNT {
            send(&mut output, &message(topic, 0, 0, payload(n)));
        }
    }
    let [images, clouds] = &monitor.topics()[..] else {
        panic!("two topics");
    };
    assert_eq!((images.stalled, clouds.stalled), (1, 0));
    assert!(images.lost > 0 && clouds.lost > 0);
    for (subscriber, state) in stuck.iter_mut().zip([images, clouds]) {
        for n in 0..u64::from(COUNT) - state.lost {
            assert_eq!(u64::from(subscriber.message().unwrap()[0]), n);
        }
        player.event("return", |event| match event {
            Ros1Event::Back { topic, lost, .. } => {
                assert_eq!((topic, *lost), (&state.name, state.lost));
                Some(())
            }
            _ => None,
        });
    }
    for (topic, subscriber) in (0..).zip(&mut stuck) {
        send(&mut output, &message(topic, 0, 0, "again"));
        assert_eq!(subscriber.message().unwrap(), b"again");
    }
}

/// A payload in memory that counts who has it.
struct Held {
    payload: Vec<u8>,
    _holder: Arc<()>,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.payload
    }
}

#[test]
fn what_waits_for_a_stuck_subscriber_keeps_nothing_of_the_recording_in_memory() {
    const WAITING: u8 = 15;
    for slow_subscriber in [SlowSubscriber::Wait, SlowSubscriber::DropOldest] {
        let player = Joined::with(&free_master(), |options| {
            options.slow_subscriber = slow_subscriber;
        });
        let (mut output, _, _) = player
            .node
            .advertise(&[strings(0, "/images")], false)
            .unwrap();
        let mut stuck = Subscriber::of_topic(&player.master, "/stuck", "/images");
        player.joined("/stuck");
        let holders = Arc::new(());
        for n in 0..WAITING {
            let held = Held {
                payload: payload(n),
                _holder: Arc::clone(&holders),
            };
            send(&mut output, &message(0, 0, 0, Bytes::from_owner(held)));
        }
        until("copies", || Arc::strong_count(&holders) == 1);
        for n in 0..WAITING {
            assert!(stuck.message().unwrap() == payload(n), "{n}");
        }
    }
}

#[test]
fn a_subscriber_that_goes_is_not_waited_for() {
    let player = Joined::player();
    let (mut output, monitor, _) = player
        .node
        .advertise(&[strings(0, "/images")], false)
        .unwrap();
    let subscriber = Subscriber::of_topic(&player.master, "/gone", "/images");
    player.joined("/gone");
    let sending = thread::spawn(move || {
        for n in 0..COUNT {
            send(&mut output, &message(0, 0, 0, payload(n)));
        }
    });
    until("a full queue", || monitor.topics()[0].sent > 16);
    drop(subscriber);
    sending.join().unwrap();
    let farewell = player.event("farewell", |event| match event {
        Ros1Event::SubscriberLeft { waiting: 1.., .. } => Some(event.to_string()),
        _ => None,
    });
    assert!(
        farewell.starts_with("/gone closed its connection to /images while "),
        "{farewell}"
    );
    assert_eq!(monitor.topics()[0].subscribers, [""; 0]);
}

#[test]
fn a_jump_is_held_up_only_for_a_moment_and_nothing_is_lost() {
    const WAITING: u8 = 15;
    const STALL: Duration = Duration::from_secs(3600);
    let patient = |options: &mut Ros1Options| options.stall_timeout = STALL;
    let player = Joined::with(&free_master(), patient);
    let mut output = player.advertise(&[strings(0, "/images")]);
    let mut stuck = Subscriber::of_topic(&player.master, "/stuck", "/images");
    player.joined("/stuck");
    let [before, after] = [hour(), hour().seek(Time::from_secs(2))];
    output.segment(&before);
    for n in 0..WAITING {
        send(&mut output, &message(0, 0, 0, payload(n)));
    }
    let begin = instant();
    output.segment(&after);
    let first = begin.elapsed();
    // A second; how a jump waits for a node that reads is tested where it can have any time.
    assert!(first >= Duration::from_secs(1), "{first:?}");
    assert!(first < STALL / 10, "{first:?}");
    // Of a node that was too slow, further jumps expect nothing.
    let begin = instant();
    let jumps: u32 = 100;
    for _ in 0..jumps / 2 {
        output.segment(&before);
        output.segment(&after);
    }
    let further = begin.elapsed();
    assert!(further < first * (jumps / 2), "{first:?}, then {further:?}");
    for n in 0..WAITING {
        assert_eq!(stuck.message().unwrap()[0], n);
    }
}

#[test]
fn what_waits_before_a_jump_is_dropped_if_that_is_the_rule() {
    const WAITING: u8 = 30;
    let drop_oldest = |options: &mut Ros1Options| {
        options.slow_subscriber = SlowSubscriber::DropOldest;
    };
    let player = Joined::with(&free_master(), drop_oldest);
    let (mut output, monitor, _) = player
        .node
        .advertise(&[strings(0, "/images")], false)
        .unwrap();
    let mut stuck = Subscriber::of_topic(&player.master, "/stuck", "/images");
    player.joined("/stuck");
    let [before, after] = [hour(), hour().seek(Time::from_secs(2))];
    output.segment(&before);
    for n in 0..WAITING {
        send(&mut output, &message(0, 0, 0, payload(n)));
    }
    let dropped = monitor.topics()[0].lost;
    output.segment(&after);
    let lost = monitor.topics()[0].lost;
    assert!(lost > dropped, "{lost} {dropped}");
    send(&mut output, &message(0, 0, 0, "after"));
    let mut got = 0;
    while stuck.message().unwrap() != b"after" {
        got += 1;
    }
    assert_eq!(got + lost, u64::from(WAITING));
}
