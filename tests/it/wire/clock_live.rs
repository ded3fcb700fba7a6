//! A `/clock` that begins, changes its rate and ends while an output publishes.

use bagplay::clock::{OnJump, SimTime};
use bagplay::output::{Delivery, Occasion, Output};
use bagplay::time::{Duration, Time};
use bagplay::wire::{Follow, WireEvent, encode_clock};
use crossbeam_channel::{Receiver, bounded};
use zenoh::Wait;
use zenoh::pubsub::Subscriber;
use zenoh::sample::SampleKind;

use crate::support::network::{
    CLOCK_HASH, CLOCK_KEY, Pipe, free_endpoint, message, open, options, payload, peer, played,
    protocol, router, subscribe, take, token,
};
use crate::support::patience::{PATIENCE, until};

const RATE: Option<Duration> = Some(Duration::from_millis(25));

/// The publishers of `/clock` that come and go on the ROS graph.
fn clock_tokens(node: &zenoh::Session) -> (Subscriber<()>, Receiver<(SampleKind, String)>) {
    let (tell, told) = bounded(100);
    let changes = node
        .liveliness()
        .declare_subscriber("@ros2_lv/**")
        .history(true);
    let subscriber = changes.callback(move |sample| {
        let key = sample.key_expr().to_string();
        if key.contains("/MP/") && key.contains("/%clock/") {
            let _ = tell.try_send((sample.kind(), key));
        }
    });
    (subscriber.wait().unwrap(), told)
}

fn next(tokens: &Receiver<(SampleKind, String)>) -> (SampleKind, String) {
    tokens.recv_timeout(PATIENCE).expect("a token")
}

#[test]
fn the_clock_is_on_the_graph_as_long_as_it_is_served() {
    let (session, events, endpoint) = router(|_| ());
    let (mut output, _) = session.advertise(&[played(0, "/a", None)], None).unwrap();
    let monitor = output.monitor();
    let node = peer(&endpoint);
    let (_tokens, tokens) = clock_tokens(&node);
    let (_subscriber, samples) = subscribe(&node, "0/**");
    let clock_type = "rosgraph_msgs::msg::dds_::Clock_";
    let follows = token(&node, "MS", "/clock", clock_type, CLOCK_HASH);
    let _follows = node.liveliness().declare_token(follows).wait().unwrap();
    events.wait_for_match();
    until("the follower's token", || {
        !session.graph().tokens().is_empty()
    });
    let mut tokens_seen = Vec::new();
    for round in 1..=2 {
        assert!(!monitor.has_clock());
        assert!(output.serve_clock(RATE));
        assert!(monitor.has_clock());
        let (kind, key) = next(&tokens);
        assert_eq!(kind, SampleKind::Put);
        events.wait("the clock", |event| {
            matches!(event, WireEvent::OwnClock { is_served: true })
        });
        // A node that was there before.
        events.wait("its follower", |event| {
            matches!(event, WireEvent::ClockSubscriber { .. })
        });
        let time = Time::from_secs(round);
        output.clock(time);
        let sample = take(&samples);
        assert_eq!(sample.key_expr().as_str(), CLOCK_KEY);
        assert_eq!(sample.payload().to_bytes()[..], encode_clock(time).bytes);
        let attachment = sample.attachment().expect("an attachment").to_bytes();
        assert_eq!(
            attachment[..8],
            1_i64.to_le_bytes(),
            "a publisher of its own"
        );
        // Another rate is no other publisher.
        assert!(output.serve_clock(Some(Duration::from_millis(5))));
        assert!(!output.serve_clock(None));
        assert_eq!(next(&tokens), (SampleKind::Delete, key.clone()));
        events.wait("its end", |event| {
            matches!(event, WireEvent::OwnClock { is_served: false })
        });
        tokens_seen.push(key);
        output.clock(Time::from_secs(100));
        // What comes after it shows that nothing was sent.
        let sent = output.message(&message(0, payload(7, 10)), Occasion::Due);
        assert_eq!(sent, Delivery::Sent);
        until("the message, and no clock but repeated ones", || {
            let sample = take(&samples);
            let late = encode_clock(Time::from_secs(100)).bytes;
            assert_ne!(sample.payload().to_bytes()[..], late);
            sample.key_expr().as_str().starts_with("0/a/")
        });
    }
    assert_ne!(tokens_seen[0], tokens_seen[1]);
    assert!(tokens.is_empty());
}

#[test]
fn a_clock_that_begins_reaches_programs_that_wait_and_nodes_that_come_later() {
    for is_ros in [true, false] {
        let (session, _, endpoint) = router(|it| it.protocol = protocol(is_ros));
        let played = [played(0, "/a", None)];
        let (mut output, _) = session.advertise(&played, None).unwrap();
        let (follower, _) = open(&options(
            &[free_endpoint()],
            std::slice::from_ref(&endpoint),
        ));
        let sim = SimTime::new(follower.clock_source(Follow::Clock));
        let clock = sim.clock();
        if is_ros {
            sim.enable().unwrap();
            assert!(!clock.started());
        }
        assert!(output.serve_clock(RATE));
        let time = Time::from_secs(42);
        output.clock(time);
        if is_ros {
            clock
                .wait_started(OnJump::Continue.within(PATIENCE.into()))
                .unwrap();
            assert_eq!(clock.now(), time);
        }
        let late = peer(&endpoint);
        let key = if is_ros { CLOCK_KEY } else { "clock" };
        let (_subscriber, samples) = subscribe(&late, key);
        let clock_type = "rosgraph_msgs::msg::dds_::Clock_";
        let follows = token(&late, "MS", "/clock", clock_type, CLOCK_HASH);
        let _follows = late.liveliness().declare_token(follows).wait().unwrap();
        let sample = take(&samples);
        assert_eq!(
            sample.payload().to_bytes()[..],
            encode_clock(time).bytes,
            "{key}"
        );
    }
}

/// With a schedule of 20 s the last value is not repeated while a put blocks; with one of 5 ms it is, at once.
#[test]
fn a_clock_with_another_rate_is_repeated_at_that_rate() {
    let (session, events, endpoint) = router(|options| options.stall_timeout = PATIENCE);
    let (mut output, _) = session
        .advertise(&[played(0, "/image", None)], None)
        .unwrap();
    assert!(output.serve_clock(Some(Duration::from_secs(20))));
    let healthy = peer(&endpoint);
    let (_subscriber, ticks) = subscribe(&healthy, CLOCK_KEY);
    let pipe = Pipe::to(&endpoint);
    let stuck = pipe.peer();
    let (_stuck, _) = subscribe(&stuck, "0/image/**");
    events.wait_for_match();
    assert!(output.serve_clock(Some(Duration::from_millis(5))));
    pipe.block();
    let time = Time::from_nanos(7);
    output.clock(time);
    let player = std::thread::spawn(move || {
        for n in 0..400 {
            output.message(&message(0, payload(n, 300_000)), Occasion::Due);
        }
    });
    for _ in 0..50 {
        let sample = take(&ticks);
        assert_eq!(sample.payload().to_bytes()[..], encode_clock(time).bytes);
    }
    drop(pipe);
    player.join().unwrap();
}
