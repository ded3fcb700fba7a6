//! End to end: a recording, the player, zenoh, a subscriber; and the binary when its router is lost.

use std::path::Path;
use std::process::Child;

use bagplay::bag::{Bag, Cues, Direction, Selection, StartAt, TopicId};
use bagplay::player::{ClockOptions, Command, Options, Pace, PlayedRange, Player, Source};
use bagplay::time::{AtEnd, Duration, Ros, Speed, Time, TimeRange};
use bagplay::wire;
use bagplay::wire::{Drained, Played};
use zenoh::Wait;
use zenoh::sample::Sample;

use crate::support::mcaps::{Files, Note, Spec};
use crate::support::network::{
    CLOCK_HASH, CLOCK_KEY, Relay, STRING, STRING_HASH, free_endpoint, hearing, interrupt, node,
    peer, router, start_player, start_player_of, subscribe, summary, take, token,
};
use crate::support::patience::PATIENCE;

fn demo() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/demo.mcap")
}

fn sequence(sample: &Sample) -> i64 {
    let attachment = sample.attachment().expect("an attachment").to_bytes();
    i64::from_le_bytes(attachment[..8].try_into().unwrap())
}

fn clock(sample: &Sample) -> Time<Ros> {
    let bytes = sample.payload().to_bytes();
    let sec = i32::from_le_bytes(bytes[4..8].try_into().unwrap());
    let nanosec = u32::from_le_bytes(bytes[8..12].try_into().unwrap());
    Time::from_nanos(i64::from(sec) * 1_000_000_000 + i64::from(nanosec))
}

#[test]
fn sequence_numbers_continue_through_laps_seeks_steps_and_reversals() {
    let (session, events, endpoint) = router(|_| ());
    let bag = Bag::open(&[demo()]).unwrap();
    let (id, topic) = (0..)
        .map(TopicId)
        .zip(bag.topics())
        .find(|(_, topic)| topic.name == "/imu")
        .unwrap();
    let imu = Played {
        id,
        name: "/imu".into(),
        topic: topic.clone(),
        qos: None,
    };
    let served = wire::ClockOptions {
        hz: Some(200.0),
        per_message: false,
    };
    let (out, _) = session.advertise(&[imu], Some(served)).unwrap();
    let listener = peer(&endpoint);
    let (_imus, imus) = subscribe(&listener, "0/imu/**");
    let (_clocks, clocks) = subscribe(&listener, "0/clock/**");
    events.wait_for_match();

    let start = bag.range().unwrap().start();
    let range = TimeRange::between(start, start.saturating_add(Duration::from_millis(200)));
    let player = Player::new();
    let cues = Cues::new(
        bag.clone(),
        Selection::of([id], &bag),
        1 << 20,
        player.waker(),
    );
    let options = Options {
        played: PlayedRange::new(range, AtEnd::Loop),
        clock: ClockOptions {
            period: Some(Duration::from_millis(5)),
            ..ClockOptions::default()
        },
        pace: Pace::At(Speed::from_f64(10.0).unwrap()),
        ..Options::new(bag.range().unwrap())
    };
    let transport = player.transport();
    let running = player.start(options, Source::of(cues), out).unwrap();
    let mut expected = 1;
    let mut expect = |count: i64| {
        for _ in 0..count {
            assert_eq!(sequence(&take(&imus)), expected);
            expected += 1;
        }
    };
    expect(150); // 40 a lap
    assert!(transport.status().unwrap().laps >= 2);
    for command in [
        Command::Seek(start.saturating_add(Duration::from_millis(100))),
        Command::SetPace(Pace::At(Speed::from_f64(-10.0).unwrap())),
        Command::SetPace(Pace::At(Speed::NORMAL)),
    ] {
        transport.ask(command).unwrap();
        expect(5);
    }
    let paused = transport.ask(Command::Step(3)).unwrap().status;
    let back = transport.ask(Command::Step(-2)).unwrap().status;
    assert_eq!(
        (back.sent, back.segment.generation()),
        (paused.sent + 1, paused.segment.generation() + 1)
    );
    transport.send(Command::Stop).unwrap();
    let (report, out) = running.join().unwrap();
    assert_eq!(session.drain(|| false), Drained::Whole);
    drop(out);
    let sent = i64::try_from(report.sent).unwrap();
    expect(sent - 165);
    // The last value of the clock is the position at which playback was held, and all values are in the range.
    let values: Vec<_> = clocks.try_iter().map(|sample| clock(&sample)).collect();
    assert_eq!(values.last(), Some(&back.segment.position(transport.now())));
    assert!(values.iter().all(|value| range.contains(*value)));
}

/// What the demo's clock shows first.
const START: i64 = 1_760_000_000_000_412_377;

fn playing(endpoint: &str, args: &[&str]) -> Child {
    start_player(&[&["--listen", endpoint, "--format", "json"][..], args].concat())
}

/// A node that follows the clock, as ROS 2 nodes do that use simulated time.
fn follows_clock(node: &zenoh::Session) -> impl Drop + use<> {
    let clock_type = "rosgraph_msgs::msg::dds_::Clock_";
    let token = token(node, "MS", "/clock", clock_type, CLOCK_HASH);
    node.liveliness().declare_token(token).wait().unwrap()
}

/// Many nodes do nothing before they have seen a time; playback that waits for them must not wait with it.
#[test]
fn a_node_that_subscribes_after_its_first_time_gets_a_time_while_it_is_waited_for() {
    let endpoint = free_endpoint();
    let topic = "/robot_description";
    let waits = ["--wait-for-subscribers", topic, "--wait-timeout", "600"];
    let unpaced = ["--rate", "max", "--clock-topics-all"];
    let mut child = playing(&endpoint, &[&waits[..], &unpaced[..]].concat());
    let mut hear = hearing(&mut child);
    hear("router on");
    let node = peer(&endpoint);
    let (_clocks, clocks) = subscribe(&node, CLOCK_KEY);
    let _follows = follows_clock(&node);
    assert_eq!(clock(&take(&clocks)), Time::from_nanos(START));
    let (_messages, messages) = subscribe(&node, "0/robot_description/**");
    let token = token(&node, "MS", topic, STRING, STRING_HASH);
    let _token = node.liveliness().declare_token(token).wait().unwrap();
    take(&messages);
    assert_eq!(summary(child, 0)["ended"], "end");
}

/// Without any other flag of CI replay, too.
#[test]
fn source_timestamps_are_those_of_the_command_line() {
    let topic = "/robot_description";
    for (stamps, is_log) in [("log", true), ("wall", false)] {
        let endpoint = free_endpoint();
        let waits = ["--wait-for-subscribers", topic, "--wait-timeout", "600"];
        let words = ["--topics", topic, "--rate", "max", "--source-stamp", stamps];
        let mut child = playing(&endpoint, &[&waits[..], &words[..]].concat());
        let mut hear = hearing(&mut child);
        hear("router on");
        let node = peer(&endpoint);
        let (_messages, messages) = subscribe(&node, "0/robot_description/**");
        let token = token(&node, "MS", topic, STRING, STRING_HASH);
        let _token = node.liveliness().declare_token(token).wait().unwrap();
        let attachment = take(&messages);
        let attachment = attachment.attachment().expect("an attachment").to_bytes();
        let stamp = i64::from_le_bytes(attachment[8..16].try_into().unwrap());
        assert_eq!(summary(child, 0)["ended"], "end");
        let bag = Bag::open(&[demo()]).unwrap();
        let (id, _) = (0..)
            .map(TopicId)
            .zip(bag.topics())
            .find(|(_, recorded)| recorded.name == topic)
            .unwrap();
        let first = bag
            .cursor(
                &Selection::of([id], &bag),
                StartAt::At(Time::MIN),
                Direction::Forward,
            )
            .next()
            .unwrap()
            .unwrap();
        let is_equal = Time::from_nanos(stamp) == first.key.time;
        assert_eq!(is_equal, is_log, "{stamps}: {stamp}");
    }
}

#[test]
fn the_clock_shows_the_start_before_the_first_message() {
    for waits in [&["--start-paused"][..], &["--delay", "600"]] {
        let endpoint = free_endpoint();
        let mut child = playing(&endpoint, &[waits, &["--clock-topics", "/scan"]].concat());
        let mut hear = hearing(&mut child);
        hear("router on");
        let node = peer(&endpoint);
        let (_clocks, clocks) = subscribe(&node, CLOCK_KEY);
        let _follows = follows_clock(&node);
        assert_eq!(clock(&take(&clocks)), Time::from_nanos(START), "{waits:?}");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

/// Reliable topics go through a session of their own, whose link may end alone.
#[test]
fn a_link_that_only_one_session_of_the_player_loses_holds_playback() {
    let endpoint = free_endpoint();
    let listen = format!("[\"{endpoint}\"]");
    let router = node("\"router\"", "", &[("listen/endpoints", listen.as_str())]);
    let relay = Relay::to(&endpoint);
    let mut child = start_player(&[
        "--no-tui",
        "--clock",
        "--rate",
        "0.01",
        "--connect",
        &relay.endpoint,
    ]);
    let mut hear = hearing(&mut child);
    hear("connected to");
    let node = peer(&endpoint);
    let (_clock, ticks) = subscribe(&node, CLOCK_KEY);
    // It plays, so the links of both its sessions are there, after a connection that asked whether anybody is there.
    take(&ticks);
    assert_eq!(relay.count(), 3);
    relay.cut(1..2);
    hear("playback is held until it is restored");
    hear("connection to the zenoh router is up");
    relay.close();
    relay.cut(2..3);
    hear("playback is held until it is restored");
    child.kill().unwrap();
    child.wait().unwrap();
    router.close().wait().unwrap();
}

#[test]
fn playback_is_held_while_the_router_is_gone() {
    let endpoint = free_endpoint();
    let open = || {
        let listen = format!("[\"{endpoint}\"]");
        node("\"router\"", "", &[("listen/endpoints", listen.as_str())])
    };
    let first = open();
    // Slow enough to outlast whatever this test does.
    let mut child = start_player(&[
        "--clock",
        "--rate",
        "0.01",
        "--connect",
        &endpoint,
        "--format",
        "json",
    ]);
    let mut hear = hearing(&mut child);
    hear("connected to");
    first.close().wait().unwrap();
    hear("playback is held until it is restored");
    let second = open();
    hear("connection to the zenoh router is up");
    interrupt(&child);
    let summary = summary(child, 130);
    assert!(
        summary["held_ms"]["gated"].as_f64().unwrap() > 0.0,
        "{summary}"
    );
    second.close().wait().unwrap();
}

/// A node at a router of another process, then a player of a thousand messages a second: nothing is sent before the
/// direct link to the node is there.
#[test]
fn a_node_that_was_there_first_gets_the_first_message() {
    const MESSAGES: u64 = 100;
    let note = |n| Note::new(0, n * 1_000_000, vec![0, 1, 0, 0, 1, 0, 0, 0, 0]);
    let files = Files::of([&Spec::new(vec![(0..MESSAGES).map(note).collect()]).write()]);
    let endpoint = free_endpoint();
    let _router = node(
        "\"router\"",
        "",
        &[
            ("listen/endpoints", &format!("[{endpoint:?}]")),
            // As those of rmw_zenoh have it.
            ("adminspace/enabled", "true"),
        ],
    );
    let listener = peer(&endpoint);
    // Beside other work a node may not be found within the time for that; the player says so with `-v`.
    let gave_up = [
        "there is no other session with liveliness tokens",
        "no other session has liveliness tokens",
        "some peers of the zenoh router are not linked yet",
        "some sessions have not sent their liveliness tokens yet",
        "some subscriptions are not reached yet",
    ];
    let (mut rounds, mut attempts) = (0, 0);
    while rounds < 10 {
        attempts += 1;
        assert!(
            attempts <= 30,
            "the node was found in {rounds} of 30 runs only"
        );
        let (_subscriber, samples) = subscribe(&listener, "0/t0/**");
        let topic = token(&listener, "MS", "/t0", STRING, STRING_HASH);
        let _token = listener.liveliness().declare_token(topic).wait().unwrap();
        let args = ["--connect", &endpoint, "--no-tui", "-v"];
        let done = start_player_of(&files.paths[0], &args)
            .wait_with_output()
            .unwrap();
        assert_eq!(done.status.code(), Some(0));
        let log = String::from_utf8(done.stderr).unwrap();
        if gave_up.iter().any(|line| log.contains(line)) {
            continue;
        }
        rounds += 1;
        let arrived: Vec<i64> = (0..MESSAGES)
            .map_while(|_| samples.recv_timeout(PATIENCE).ok())
            .map(|it| sequence(&it))
            .collect();
        assert_eq!(arrived.first(), Some(&1), "{log}");
        assert_eq!(arrived.len() as u64, MESSAGES, "{log}");
    }
}
