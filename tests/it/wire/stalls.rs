//! Subscribers that take no data or leave, and other publishers of the same topics: handling, reports and counts.

use std::process::Child;
use std::time::Duration;

use bagplay::output::{Occasion, Output};
use bagplay::ros::{Qos, Reliability};
use bagplay::time::Time;
use bagplay::wire::{ClockOptions, WireEvent, WireOutput, encode_clock};
use crossbeam_channel::Receiver;
use mcap::Compression;
use zenoh::Wait;
use zenoh::sample::Sample;

use crate::support::mcaps::{Files, Note, Spec};
use crate::support::network::{
    self, CLOCK_KEY, Pipe, STRING, STRING_HASH, free_endpoint, hearing, interrupt, message, number,
    payload, peer, played, router, start_player, start_player_of, subscribe, summary, take,
};
use crate::support::patience::{PATIENCE, until};

const ODOMETRY: &str = "nav_msgs::msg::dds_::Odometry_";
const ODOMETRY_HASH: &str =
    "RIHS01_3cc97dc7fb7502f8714462c526d369e35b603cfc34d946e3f2eda2766dfec6e0";

/// The program, as the router at an endpoint, and what it says.
fn play(args: &[&str]) -> (Child, impl FnMut(&str) + use<>, String) {
    let endpoint = free_endpoint();
    let (child, hear) = play_on(&endpoint, args);
    (child, hear, endpoint)
}

fn play_on(endpoint: &str, args: &[&str]) -> (Child, impl FnMut(&str) + use<>) {
    let usual = ["-v", "--no-tui", "--format", "json", "--listen", endpoint];
    let mut child = start_player(&[&usual[..], args].concat());
    let hear = hearing(&mut child);
    (child, hear)
}

/// A subscription of /odom with its token, as a ROS 2 node has it, and what it receives.
fn odometry(node: &zenoh::Session) -> (impl Sized, Receiver<Sample>) {
    let key = format!("0/odom/{ODOMETRY}/{ODOMETRY_HASH}");
    let token = network::token(node, "MS", "/odom", ODOMETRY, ODOMETRY_HASH);
    let (subscriber, received) = subscribe(node, &key);
    let token = node.liveliness().declare_token(token).wait().unwrap();
    ((subscriber, token), received)
}

#[test]
fn a_stall_in_a_put_of_the_clock_is_reported_and_counted() {
    let (session, events, endpoint) =
        router(|options| options.stall_timeout = Duration::from_secs(5));
    let best_effort = Qos {
        reliability: Reliability::BestEffort,
        ..Qos::default()
    };
    let clock = ClockOptions {
        hz: None,
        per_message: true,
    };
    let (mut output, _) = session
        .advertise(&[played(0, "/image", Some(best_effort))], Some(clock))
        .unwrap();
    let pipe = Pipe::to(&endpoint);
    let node = pipe.peer();
    let (_subscriber, _samples) = subscribe(&node, "0/**");
    events.wait_for_match();
    pipe.block();
    let monitor = output.monitor();
    for n in 0..400 {
        output.clock(Time::from_nanos(i64::from(n) + 1));
        output.message(&message(0, payload(n, 300_000)), Occasion::Due);
    }
    let stalled = events.wait("stall", |event| matches!(event, WireEvent::Stalled { .. }));
    let told = stalled.to_string();
    let (clock, image) = (monitor.clock().unwrap(), monitor.topics()[0].missed);
    assert_eq!(clock.stalled + image.stalled, 1, "{told}");
    assert!(clock.lost + image.lost >= 1, "{told}");
}

/// Beside a router, on direct links, as ROS 2 nodes have them.
#[test]
fn a_stuck_subscriber_that_reads_again_gets_messages_and_the_clock_and_is_reported() {
    let (session, events, endpoint) =
        router(|options| options.stall_timeout = Duration::from_secs(5));
    let clock = ClockOptions {
        hz: Some(100.0),
        per_message: false,
    };
    let (mut output, _) = session
        .advertise(&[played(0, "/image", None)], Some(clock))
        .unwrap();
    let pipe = Pipe::to(&endpoint);
    let node = pipe.peer();
    let token = network::token(&node, "MS", "/image", STRING, STRING_HASH);
    let _token = node.liveliness().declare_token(token).wait().unwrap();
    let (_images, images) = subscribe(&node, "0/image/**");
    let (_clocks, clocks) = subscribe(&node, CLOCK_KEY);
    events.wait_for_match();
    output.message(&message(0, payload(0, 8)), Occasion::Due);
    assert_eq!(number(take(&images).payload()), 0);
    pipe.block();
    let monitor = output.monitor();
    let mut sent = 1;
    let mut put = |output: &mut WireOutput| {
        output.message(&message(0, payload(sent, 300_000)), Occasion::Due);
        sent += 1;
        sent
    };
    // It is waited for once, and then no more.
    while monitor.topics()[0].missed.stalled == 0 {
        put(&mut output);
    }
    // What is sent from now on is counted as lost, as long as the link stands still.
    until("more is known to be lost", || {
        put(&mut output);
        monitor.topics()[0].missed.lost > 1
    });
    assert_eq!(monitor.topics()[0].missed.stalled, 1);
    drop(pipe);
    let back = events.wait("return", |event| matches!(event, WireEvent::Back { .. }));
    let told = back.to_string();
    assert!(
        told.starts_with("/listener: reading again after") && told.contains("messages or more"),
        "{told}"
    );
    let resumed = put(&mut output);
    until("messages again", || {
        put(&mut output);
        images
            .try_iter()
            .any(|image| number(image.payload()) >= resumed)
    });
    let now = encode_clock(Time::from_nanos(42));
    until("the clock again", || {
        output.clock(Time::from_nanos(42));
        clocks
            .try_iter()
            .any(|tick| tick.payload().to_bytes()[..] == now.bytes)
    });
    let gone = |event: &WireEvent| matches!(event, WireEvent::Matching { matched: false, .. });
    assert!(!events.drain().iter().any(gone), "the link was closed");
}

#[test]
fn a_slow_subscriber_is_not_counted_as_stuck_beside_a_stuck_one() {
    let (session, events, endpoint) =
        router(|options| options.stall_timeout = Duration::from_secs(5));
    let topics = [played(0, "/image", None), played(1, "/points", None)];
    let (mut output, _) = session.advertise(&topics, None).unwrap();
    let join = |pipe: &Pipe, topic: &str| {
        let node = pipe.peer();
        let token = network::token(&node, "MS", topic, STRING, STRING_HASH);
        let token = node.liveliness().declare_token(token).wait().unwrap();
        let subscribed = subscribe(&node, &format!("0{topic}/**"));
        (node, token, subscribed)
    };
    let frozen = Pipe::to(&endpoint);
    let _frozen = join(&frozen, "/image");
    // Its buffer stands between two reads, and is full.
    let slow = Pipe::slow(&endpoint, Duration::from_millis(20));
    let _slow = join(&slow, "/points");
    let monitor = output.monitor();
    until("both", || {
        monitor
            .topics()
            .iter()
            .all(|topic| topic.has_match && topic.subscribers == 1)
    });
    frozen.block();
    while monitor.topics()[0].missed.stalled == 0 {
        output.message(&message(0, payload(0, 300_000)), Occasion::Due);
    }
    // As much as the system's buffers hold.
    for n in 0..110 {
        output.message(&message(1, payload(n, 100_000)), Occasion::Due);
    }
    // There is room for small ones in zenoh's queue. They are put slowly, so that those of the frozen subscriber are
    // counted as lost in many samples of the buffers.
    until("many lost messages of the frozen subscriber", || {
        output.message(&message(0, payload(0, 8)), Occasion::Due);
        output.message(&message(1, payload(0, 8)), Occasion::Due);
        monitor.topics()[0].missed.lost > 200
    });
    let (image, points) = (monitor.topics()[0].missed, monitor.topics()[1].missed);
    assert!(image.lost > 1, "{image:?}");
    assert_eq!((points.stalled, points.lost), (0, 0));
    let is_back = |event: &WireEvent| matches!(event, WireEvent::Back { .. });
    let back = events.drain().into_iter().find(is_back);
    assert_eq!(back, None);
}

/// The program with two topics, once it has reported that the subscriber of the first is stuck. That subscriber then
/// reads again, so that nothing is left unsent at the end of the run.
fn play_to_a_stuck_subscriber(args: &[&str]) -> (Child, impl FnMut(&str) + use<>, impl Sized) {
    // More than all buffers in between can take.
    let images = |from: u64| {
        let image = |at| Note::new(0, at, payload(0, 300_000));
        (from..from + 20).map(image).collect()
    };
    let mut chunks: Vec<Vec<Note>> = (1..400).step_by(20).map(images).collect();
    chunks.push(vec![Note::new(1, 401, payload(0, 8))]);
    let recording = Files::of([Spec::new(chunks)
        .compression(Some(Compression::Zstd))
        .write()]);
    let endpoint = free_endpoint();
    let run = ["-v", "--rate", "max", "--stall-timeout", "6"];
    let network = ["--listen", &endpoint, "--wait-for-subscribers"];
    let all = [&run[..], args, &network].concat();
    let mut child = start_player_of(&recording.paths[0], &all);
    let mut hear = hearing(&mut child);
    hear("waiting for subscribers");
    let pipe = Pipe::to(&endpoint);
    let (stuck, other) = (pipe.peer(), peer(&endpoint));
    let join = |node: &zenoh::Session, topic: &str| {
        let subscription = subscribe(node, &format!("0{topic}/{STRING}/{STRING_HASH}"));
        let token = network::token(node, "MS", topic, STRING, STRING_HASH);
        (
            subscription,
            node.liveliness().declare_token(token).wait().unwrap(),
        )
    };
    let first = join(&stuck, "/t0");
    hear("subscribes to /t0");
    pipe.block();
    // The last that it waited for.
    let last = join(&other, "/t1");
    hear("read nothing for");
    drop(pipe);
    (child, hear, (recording, stuck, other, first, last))
}

#[test]
fn the_summary_has_the_stalls_and_losses_of_the_run_and_of_each_topic() {
    let (child, _hear, _others) = play_to_a_stuck_subscriber(&["--format", "json"]);
    let summary = summary(child, 0);
    let count = |of: &serde_json::Value, what: &str| of[what].as_u64().unwrap();
    let topic = |name: &str| {
        let topics = summary["topics"].as_array().unwrap();
        topics.iter().find(|topic| topic["name"] == name).unwrap()
    };
    for all in [&summary, topic("/t0")] {
        assert_eq!(count(all, "stalled"), 1, "{summary}");
        assert!((1..400).contains(&count(all, "lost")), "{summary}");
        assert_eq!(count(all, "possibly_lost"), 0, "{summary}");
    }
    for what in ["stalled", "lost", "possibly_lost"] {
        assert_eq!(count(topic("/t1"), what), 0, "{summary}");
    }
    assert_eq!(count(&summary, "unsent_bytes"), 0, "{summary}");
    assert_eq!(summary["ended"], "end");
}

#[test]
fn with_strict_a_loss_ends_the_run_with_an_error() {
    let (mut child, mut hear, _others) = play_to_a_stuck_subscriber(&["--strict"]);
    hear("by blocked sends, or while the process was suspended");
    hear("lost by subscribers that did not keep up (--congestion, --stall-timeout)");
    hear("a subscriber missed messages (--strict)");
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[test]
fn best_effort_messages_do_not_wait_for_a_stuck_subscriber() {
    let (session, events, endpoint) = router(|options| options.stall_timeout = PATIENCE);
    let best_effort = Qos {
        reliability: Reliability::BestEffort,
        ..Qos::default()
    };
    let clock = ClockOptions {
        hz: Some(100.0),
        per_message: false,
    };
    let topics = [
        played(0, "/image", Some(best_effort)),
        played(1, "/reliable", None),
    ];
    let (mut output, _) = session.advertise(&topics, Some(clock)).unwrap();
    let pipe = Pipe::to(&endpoint);
    let node = pipe.peer();
    let (_images, _samples) = subscribe(&node, "0/image/**");
    let (_clocks, _ticks) = subscribe(&node, CLOCK_KEY);
    events.wait_for_match();
    pipe.block();
    for n in 0..400 {
        output.clock(Time::from_nanos(i64::from(n)));
        output.message(&message(0, payload(n, 300_000)), Occasion::Due);
    }
    let monitor = output.monitor();
    assert_eq!(monitor.topics()[0].missed.stalled, 0);
    assert_eq!(monitor.clock().unwrap().stalled, 0);
}

#[test]
fn a_router_that_a_file_configures_waits_for_a_slow_client() {
    const MESSAGES: u32 = 80;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("zenoh.json5");
    std::fs::write(
        &file,
        "{mode: 'router', scouting: {delay: 0, multicast: {enabled: false}}, timestamping: {enabled: true}}",
    )
    .unwrap();
    let (session, events, endpoint) = router(|options| {
        options.config_file = Some(file.clone());
        options.stall_timeout = PATIENCE;
    });
    let (mut output, _) = session
        .advertise(&[played(0, "/image", None)], None)
        .unwrap();
    let pipe = Pipe::to_router(&endpoint, Duration::from_millis(20));
    let node = pipe.node("\"client\"");
    let (_subscriber, samples) = subscribe(&node, "0/image/**");
    events.wait_for_match();
    for n in 0..MESSAGES {
        output.message(&message(0, payload(n, 300_000)), Occasion::Due);
    }
    for n in 0..MESSAGES {
        assert_eq!(number(take(&samples).payload()), n);
    }
}

/// A player that waits for a subscriber of `/odom`, has got one and has lost it again; and the node that had it.
fn play_and_lose_the_awaited(args: &[&str]) -> (Child, impl FnMut(&str) + use<>, zenoh::Session) {
    let wait = [
        "--topics",
        "/odom",
        "--wait-for-subscribers",
        "--rate",
        "0.05",
    ];
    let (child, mut hear, endpoint) = play(&[&wait[..], args].concat());
    hear("waiting for subscribers of /odom");
    let node = peer(&endpoint);
    let (subscription, received) = odometry(&node);
    // It plays.
    take(&received);
    drop(subscription);
    hear("/odom lost the subscriber that playback waited for: what is left is held");
    (child, hear, node)
}

#[test]
fn playback_is_held_until_an_awaited_subscriber_is_back() {
    let (child, mut hear, node) = play_and_lose_the_awaited(&[]);
    let (second, received) = odometry(&node);
    take(&received);
    drop(second);
    hear("/odom lost the subscriber");
    interrupt(&child);
    let summary = summary(child, 130);
    assert!(
        summary["held_ms"]["gated"].as_f64() > Some(0.0),
        "{summary}"
    );
}

#[test]
fn a_subscriber_that_stays_away_ends_the_run() {
    let (child, mut hear, _node) = play_and_lose_the_awaited(&["--wait-timeout", "20"]);
    hear("no subscriber of /odom within");
    assert_eq!(summary(child, 4)["ended"], "failed");
}

#[test]
fn a_queue_that_is_too_short_for_the_rate_causes_a_warning() {
    let (child, mut hear, endpoint) = play(
        &["--topics", "/odom", "/tf", "--rate", "max"]
            .into_iter()
            .chain(["--wait-for-subscribers", "/odom", "/tf"])
            .collect::<Vec<_>>(),
    );
    hear("waiting for subscribers of");
    let node = peer(&endpoint);
    let (_odometry, _received) = odometry(&node);
    // The token of a test has a depth of ten.
    hear(
        "/listener queues at most 10 messages of /odom, and --rate max does not wait for callbacks",
    );
    interrupt(&child);
    summary(child, 130);
}

#[test]
fn another_publisher_of_the_same_topics_is_reported_once() {
    let endpoint = free_endpoint();
    // What a node has before there is a link comes together.
    let retry = [("connect/retry", "{period_init_ms:50,period_max_ms:200}")];
    let node = network::node("\"peer\"", &endpoint, &retry);
    let topics = ["/odom", "/imu", "/scan", "/tf"];
    let tokens = topics.map(|topic| {
        let key = network::token(&node, "MP", topic, ODOMETRY, ODOMETRY_HASH);
        node.liveliness().declare_token(key).wait().unwrap()
    });
    let args = [
        "--rate",
        "0.05",
        "--clock",
        "--strict-clock",
        "--start-paused",
    ];
    let (mut child, mut hear) = play_on(&endpoint, &args);
    hear("/listener publishes /imu, /odom, /scan, /tf too");
    drop(tokens);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn the_clock_state_is_published_only_on_request() {
    for (flags, is_said) in [
        (&["--clock"][..], false),
        (&["--clock", "--clock-state"], true),
    ] {
        let (mut child, mut hear, endpoint) = play(&[&["--rate", "0.05"], flags].concat());
        hear("router on");
        let node = peer(&endpoint);
        let (_tokens, tokens) = {
            let (tell, tokens) = crossbeam_channel::bounded(1000);
            let watch = node.liveliness().declare_subscriber("@ros2_lv/0/**");
            let watch = watch
                .history(true)
                .callback(move |sample| drop(tell.try_send(sample.key_expr().to_string())))
                .wait()
                .unwrap();
            (watch, tokens)
        };
        // Declared in this order, the last of them when the others are there.
        let mut seen = Vec::new();
        while !seen.iter().any(|token: &String| token.contains("%clock/")) {
            seen.push(tokens.recv_timeout(PATIENCE).unwrap());
        }
        let states = |token: &&String| token.contains("clock_state");
        if is_said {
            while seen.iter().find(states).is_none() {
                seen.push(tokens.recv_timeout(PATIENCE).unwrap());
            }
        } else {
            wait_for_end(&mut child);
            seen.extend(tokens.try_iter());
            assert_eq!(seen.iter().find(states), None);
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

/// Ends the run, so that everything that it declares has been declared.
fn wait_for_end(child: &mut Child) {
    interrupt(child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
}
