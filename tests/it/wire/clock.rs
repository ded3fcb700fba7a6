//! `/clock` on the wire, and that it is always repeated.

use std::time::Duration;

use bagplay::output::{Delivery, Occasion, Output};
use bagplay::ros::{Qos, Reliability};
use bagplay::time::{AtEnd, Segment, Speed, Time, TimeRange};
use bagplay::wire::{ClockOptions, WireEvent, encode_clock};
use zenoh::Wait;
use zenoh::sample::Sample;

use crate::support::network::{
    CLOCK_HASH, CLOCK_KEY, Pipe, message, number, payload, peer, played, protocol, router,
    subscribe, take, token,
};
use crate::support::patience::{PATIENCE, instant, until};

/// Declares the token of a node that subscribes to the clock.
fn follows(node: &zenoh::Session) -> zenoh::liveliness::LivelinessToken {
    let clock_type = "rosgraph_msgs::msg::dds_::Clock_";
    let token = token(node, "MS", "/clock", clock_type, CLOCK_HASH);
    node.liveliness().declare_token(token).wait().unwrap()
}

/// The nanoseconds of a clock message.
fn nanos(sample: &Sample) -> u32 {
    let bytes = sample.payload().to_bytes();
    u32::from_le_bytes(bytes[8..12].try_into().unwrap())
}

#[test]
fn ticks_arrive_as_clock_messages_with_one_sequence() {
    for per_message in [false, true] {
        let (session, events, endpoint) = router(|_| ());
        let options = ClockOptions {
            hz: Some(40.0),
            per_message,
        };
        let (mut output, _) = session.advertise(&[], Some(options)).unwrap();
        let node = peer(&endpoint);
        let (_subscriber, samples) = subscribe(&node, CLOCK_KEY);
        let _token = follows(&node);
        events.wait("follower", |event| {
            matches!(event, WireEvent::ClockSubscriber { .. })
        });
        let mut sequences = Vec::new();
        let mut shown = Time::ZERO;
        for second in 1..=100 {
            let time = Time::from_nanos(second * 1_000_000_007);
            output.clock(time);
            // The repeat for the new follower may come in between: an earlier value, never a newer one.
            loop {
                let sample = take(&samples);
                let attachment = sample.attachment().expect("an attachment").to_bytes();
                sequences.push(i64::from_le_bytes(attachment[..8].try_into().unwrap()));
                if sample.payload().to_bytes()[..] == encode_clock(time).bytes {
                    break;
                }
                assert_eq!(sample.payload().to_bytes()[..], encode_clock(shown).bytes);
            }
            shown = time;
        }
        sequences.sort_unstable();
        sequences.dedup();
        let first = sequences[0];
        let count = i64::try_from(sequences.len()).unwrap();
        assert_eq!(sequences, (first..first + count).collect::<Vec<_>>());
    }
}

#[test]
fn a_new_subscriber_of_the_clock_gets_the_last_value() {
    for (is_ros, per_message, key) in [(false, false, "clock"), (true, true, CLOCK_KEY)] {
        let (session, _, endpoint) = router(|it| it.protocol = protocol(is_ros));
        let options = Some(ClockOptions {
            hz: None,
            per_message,
        });
        let (mut output, _) = session.advertise(&[], options).unwrap();
        let time = Time::from_nanos(42);
        output.clock(time);
        let node = peer(&endpoint);
        let (_subscriber, samples) = subscribe(&node, key);
        let _token = is_ros.then(|| follows(&node));
        let sample = take(&samples);
        assert_eq!(
            sample.payload().to_bytes()[..],
            encode_clock(time).bytes,
            "{key}"
        );
    }
}

#[test]
fn the_clock_is_repeated_while_a_put_blocks() {
    // In line with messages it waits until that is stuck for good.
    for (per_message, count) in [(false, 50), (true, 3)] {
        let (session, events, endpoint) = router(|options| options.stall_timeout = PATIENCE);
        let options = ClockOptions {
            hz: Some(200.0),
            per_message,
        };
        let (mut output, _) = session
            .advertise(&[played(0, "/image", None)], Some(options))
            .unwrap();
        let healthy = peer(&endpoint);
        let (_subscriber, ticks) = subscribe(&healthy, CLOCK_KEY);
        let pipe = Pipe::to(&endpoint);
        let stuck = pipe.peer();
        let (_stuck, _) = subscribe(&stuck, "0/image/**");
        events.wait_for_match();
        pipe.block();
        let last = encode_clock(Time::from_nanos(7));
        output.clock(Time::from_nanos(7));
        let monitor = output.monitor();
        let player = std::thread::spawn(move || {
            for n in 0..400 {
                output.message(&message(0, payload(n, 300_000)), Occasion::Due);
            }
        });
        for _ in 0..count {
            assert_eq!(take(&ticks).payload().to_bytes()[..], last.bytes);
        }
        assert!(monitor.topics()[0].sent < 400, "the put did not block");
        drop(pipe);
        player.join().unwrap();
        assert_eq!(monitor.topics()[0].sent, 400);
    }
}

/// On a link that takes all at once, and on one so slow that puts wait for longer than the clock may be silent.
#[test]
fn with_a_clock_before_each_message_the_message_arrives_directly_after_it() {
    for (pause, messages, size) in [(0, 500, 10_000), (4, 40, 1_000_000)] {
        let (session, events, endpoint) = router(|options| options.stall_timeout = PATIENCE);
        let options = ClockOptions {
            hz: None,
            per_message: true,
        };
        let (mut output, _) = session
            .advertise(&[played(0, "/chatter", None)], Some(options))
            .unwrap();
        let pipe = Pipe::slow(&endpoint, Duration::from_millis(pause));
        let node = pipe.peer();
        let (_subscriber, samples) = subscribe(&node, "0/**");
        events.wait_for_match();
        let player = std::thread::spawn(move || {
            for n in 1..=messages {
                output.clock(Time::from_nanos(i64::from(n)));
                output.message(&message(0, payload(n, size)), Occasion::Due);
            }
            output
        });
        // The last value is sent again for a new subscriber, to all subscribers.
        let node = peer(&endpoint);
        let (_late, late) = subscribe(&node, CLOCK_KEY);
        let _token = follows(&node);
        let (mut clock, mut seen) = (0, 0);
        while seen < messages {
            let sample = take(&samples);
            if sample.key_expr().as_str() == CLOCK_KEY {
                let shown = nanos(&sample);
                assert!(
                    shown == clock || shown == clock + 1,
                    "{shown} after {clock}"
                );
                clock = shown;
            } else {
                seen = number(sample.payload());
                assert_eq!(seen, clock);
            }
        }
        take(&late);
        drop(player.join().unwrap());
    }
}

/// On a link that a player fills at once, and on one so slow that the clock is repeated.
#[test]
fn the_clock_of_a_jump_arrives_after_old_messages_and_before_new_ones() {
    for (pause, per_message) in [
        (Duration::ZERO, false),
        (Duration::from_millis(4), false),
        (Duration::from_millis(4), true),
    ] {
        let (session, events, endpoint) = router(|options| options.stall_timeout = PATIENCE);
        let options = ClockOptions {
            hz: Some(40.0),
            per_message,
        };
        let (mut output, _) = session
            .advertise(&[played(0, "/image", None)], Some(options))
            .unwrap();
        let pipe = Pipe::slow(&endpoint, pause);
        let node = pipe.peer();
        let (_subscriber, samples) = subscribe(&node, "0/**");
        events.wait_for_match();
        // More than the buffers of the system hold, so that there is a queue.
        let (laps, each) = (3, 120);
        let player = std::thread::spawn(move || {
            let range = TimeRange::between(Time::from_nanos(0), Time::from_nanos(1_000_000));
            let mut segment = Segment::new(range, Speed::NORMAL, AtEnd::Hold);
            output.segment(&segment);
            for lap in 0..laps {
                segment = segment.seek(Time::from_nanos(i64::from(lap) + 1));
                output.segment(&segment);
                output.clock(Time::from_nanos(i64::from(lap) + 1));
                for n in 0..each {
                    let sent = output
                        .message(&message(0, payload(lap * each + n, 100_000)), Occasion::Due);
                    assert_eq!(sent, Delivery::Sent);
                }
            }
            output
        });
        let (mut clock, mut next) = (0, 0);
        while next < laps * each {
            let sample = take(&samples);
            if sample.key_expr().as_str() == CLOCK_KEY {
                let shown = nanos(&sample);
                // A repeat is of the value that is shown.
                assert!(
                    shown == clock || shown == clock + 1,
                    "{shown} after {clock}"
                );
                assert!(shown == clock || next == clock * each, "{next} of {clock}");
                clock = shown;
            } else {
                let number = number(sample.payload());
                assert_eq!((number, number / each + 1), (next, clock), "{pause:?}");
                next += 1;
            }
        }
        drop(player.join().unwrap());
    }
}

/// Best-effort images and the clock ahead of messages take one link, reliable messages and the clock of a jump another.
#[test]
fn a_tick_from_before_a_jump_arrives_before_the_clock_of_the_jump() {
    let (session, events, endpoint) = router(|options| options.stall_timeout = PATIENCE);
    let best_effort = Qos {
        reliability: Reliability::BestEffort,
        ..Qos::default()
    };
    let topics = [
        played(0, "/image", Some(best_effort)),
        played(1, "/odom", None),
    ];
    for _ in 0..3 {
        let options = ClockOptions {
            hz: Some(1000.0),
            per_message: false,
        };
        let (mut output, _) = session.advertise(&topics, Some(options)).unwrap();
        let pipe = Pipe::slow(&endpoint, Duration::from_millis(4));
        let node = pipe.peer_with_admin_space();
        let (_subscriber, samples) = subscribe(&node, "0/**");
        let monitor = output.monitor();
        until("both topics have a subscriber", || {
            monitor.topics().iter().all(|topic| topic.has_match)
        });
        events.drain();
        let range = TimeRange::between(Time::from_nanos(0), Time::from_nanos(1_000_000));
        let mut segment = Segment::new(range, Speed::NORMAL, AtEnd::Hold);
        output.segment(&segment);
        // Ticks of the old lap, some of them behind images, and of two new ones.
        let laps: [&[u32]; 3] = [&[1, 2, 10, 11, 12], &[3, 4, 5], &[1, 2]];
        for (lap, ticks) in laps.iter().enumerate() {
            if lap > 0 {
                segment = segment.seek(Time::from_nanos(i64::from(ticks[0])));
                output.segment(&segment);
            }
            for (n, &tick) in ticks.iter().enumerate() {
                if n == 2 {
                    for image in 0..10 {
                        output.message(&message(0, payload(image, 100_000)), Occasion::Due);
                    }
                }
                output.clock(Time::from_nanos(i64::from(tick)));
            }
        }
        output.message(&message(1, payload(0, 8)), Occasion::Due);
        let mut shown = Vec::new();
        loop {
            let sample = take(&samples);
            let key = sample.key_expr().as_str();
            if key == CLOCK_KEY {
                shown.push(nanos(&sample));
            } else if key.starts_with("0/odom") {
                break;
            }
        }
        // For a new subscriber a value is repeated.
        shown.dedup();
        assert_eq!(shown, laps.concat());
    }
}

/// Best effort messages have links of their own, which nothing orders before or behind those of the clock of a jump.
/// They are waited for, but not for long: a jump that took so long is not judged.
#[test]
fn best_effort_messages_from_before_a_jump_arrive_before_its_clock() {
    until(
        "a jump that does not take long",
        best_effort_messages_arrive_before_the_clock,
    );
}

/// False if no jump can be judged.
fn best_effort_messages_arrive_before_the_clock() -> bool {
    const EACH: u32 = 5;
    const AT_MOST: Duration = Duration::from_millis(100);
    let (session, _events, endpoint) = router(|options| options.stall_timeout = PATIENCE);
    let best_effort = Qos {
        reliability: Reliability::BestEffort,
        ..Qos::default()
    };
    let topics = [
        played(0, "/image", Some(best_effort)),
        played(1, "/odom", None),
    ];
    let options = ClockOptions {
        hz: Some(1000.0),
        per_message: false,
    };
    let (mut output, _) = session.advertise(&topics, Some(options)).unwrap();
    let pipe = Pipe::slow(&endpoint, Duration::from_millis(4));
    let node = pipe.peer_with_admin_space();
    let (_subscriber, samples) = subscribe(&node, "0/**");
    let monitor = output.monitor();
    until("both topics have a subscriber", || {
        monitor.topics().iter().all(|topic| topic.has_match)
    });
    let range = TimeRange::between(Time::from_nanos(0), Time::from_nanos(1_000_000));
    let mut segment = Segment::new(range, Speed::NORMAL, AtEnd::Hold);
    output.segment(&segment);
    output.clock(Time::from_nanos(1));
    let mut waited = Vec::new();
    for jump in 1..=20_u32 {
        for image in 0..EACH {
            output.message(&message(0, payload(image, 8)), Occasion::Due);
        }
        // The clock shows 1 and the number of jumps.
        let to = Time::from_nanos(i64::from(1 + jump));
        segment = segment.seek(to);
        output.segment(&segment);
        let before = instant();
        output.clock(to);
        waited.push(before.elapsed());
    }
    output.message(&message(1, payload(0, 8)), Occasion::Due);
    let is_judged = |jumps: u32| {
        // Once one has taken so long, the next ones do not wait for a while.
        let jumps = usize::try_from(jumps).unwrap();
        jumps > 0 && waited[..jumps].iter().all(|waited| *waited < AT_MOST)
    };
    if !is_judged(1) {
        return false;
    }
    let mut images = 0;
    loop {
        let sample = take(&samples);
        let key = sample.key_expr().as_str();
        if key == CLOCK_KEY {
            let jumps = nanos(&sample) - 1;
            let sent = jumps * EACH;
            assert!(
                images >= sent || !is_judged(jumps),
                "{images} of {sent} messages before jump {jumps}"
            );
        } else if key.starts_with("0/image") {
            images += 1;
        } else if key.starts_with("0/odom") {
            return true;
        }
    }
}

#[test]
fn the_clock_of_a_jump_arrives_although_another_subscriber_takes_nothing() {
    let (session, events, endpoint) = router(|options| options.stall_timeout = PATIENCE);
    let clock = Some(ClockOptions::default());
    let (mut output, _) = session
        .advertise(&[played(0, "/odom", None)], clock)
        .unwrap();
    let pipe = Pipe::to(&endpoint);
    let stuck = pipe.peer_with_admin_space();
    let (_stuck, ticks) = subscribe(&stuck, CLOCK_KEY);
    let healthy = peer(&endpoint);
    let (_healthy, samples) = subscribe(&healthy, "0/**");
    events.wait_for_match();
    let range = TimeRange::between(Time::from_nanos(0), Time::from_nanos(1_000_000));
    let mut segment = Segment::new(range, Speed::NORMAL, AtEnd::Hold);
    output.segment(&segment);
    until("both have the clock", || {
        output.clock(Time::from_nanos(1));
        !ticks.is_empty() && !samples.is_empty()
    });
    pipe.block();
    for jump in 1..=3 {
        segment = segment.seek(Time::from_nanos(jump * 10));
        output.segment(&segment);
        let expected = u32::try_from(jump * 10).unwrap();
        output.clock(Time::from_nanos(jump * 10));
        while nanos(&take(&samples)) != expected {}
    }
}

#[test]
fn a_time_that_does_not_fit_is_reported_once() {
    let (session, events, _) = router(|_| ());
    let (mut output, _) = session
        .advertise(&[], Some(ClockOptions::default()))
        .unwrap();
    output.clock(Time::MAX);
    output.clock(Time::MAX);
    let events = events.drain();
    let warnings = events
        .iter()
        .filter(|event| matches!(event, WireEvent::Warning(_)))
        .count();
    assert_eq!(warnings, 1, "{events:?}");
}
