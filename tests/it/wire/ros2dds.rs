//! What bridges to DDS see of a player: keys, tokens, latched topics, services. A zenoh session stands for the bridge;
//! `tests/interop/test_ros2dds.py` has a real one.

use std::process::Child;
use std::time::Duration;

use bagplay::bag::{Cue, TopicId};
use bagplay::output::{Null, Occasion, Output};
use bagplay::player::{Intent, Options, Player, Source, State, WhenDone};
use bagplay::ros::{Durability, History, Qos};
use bagplay::time::{self, Time, TimeRange};
use bagplay::wire::{
    ClockOptions, Protocol, ServedPlayer, SkipReason, WireEvent, WireOptions, encode_clock,
};
use crossbeam_channel::bounded;
use zenoh::Wait;
use zenoh::handlers::DefaultHandler;
use zenoh::liveliness::LivelinessToken;
use zenoh::sample::SampleKind;
use zenoh::session::SessionGetBuilder;
use zenoh_ext::{AdvancedSubscriberBuilderExt, HistoryConfig};

use crate::support::network::{
    CLOCK_HASH, KilledWhenDropped, STRING_HASH, free_endpoint, hearing, message, number, payload,
    peer, played, router, start_play, start_player, subscribe, take,
};
use crate::support::patience::{PATIENCE, until};

const CLOCK: ClockOptions = ClockOptions {
    hz: None,
    per_message: false,
};

fn for_bridges(options: &mut WireOptions) {
    options.protocol = Protocol::Ros2Dds;
}

fn latched() -> Qos {
    Qos {
        durability: Durability::TransientLocal,
        history: History::KeepLast(5),
        ..Qos::default()
    }
}

/// The tokens of sessions that speak to bridges, sorted.
fn tokens(bridge: &zenoh::Session) -> Vec<String> {
    let alive = bridge.liveliness().get("@/*/@ros2_lv/**").wait().unwrap();
    let alive = alive.iter().filter_map(|reply| reply.into_result().ok());
    let mut tokens: Vec<_> = alive.map(|sample| sample.key_expr().to_string()).collect();
    tokens.sort();
    tokens
}

/// Declares a token of the bridge.
fn announce(bridge: &zenoh::Session, token: &str) -> LivelinessToken {
    let key = format!("@/{}/@ros2_lv/{token}", bridge.zid());
    bridge.liveliness().declare_token(key).wait().unwrap()
}

#[test]
fn volatile_topics_are_announced_and_latched_ones_are_not() {
    let (session, events, endpoint) = router(for_bridges);
    let topics = [
        played(0, "/a/chatter", None),
        played(1, "/map", Some(latched())),
    ];
    let (mut output, skipped) = session.advertise(&topics, Some(CLOCK)).unwrap();
    assert!(skipped.is_empty());
    let bridge = peer(&endpoint);
    let (zid, pub_of) = (session.zid(), "@ros2_lv/MP");
    let expected = [
        format!("@/{zid}/{pub_of}/a§chatter/std_msgs§msg§String/:1:0:0,10:typehash={STRING_HASH};"),
        format!("@/{zid}/{pub_of}/clock/rosgraph_msgs§msg§Clock/:0:0:0,1:typehash={CLOCK_HASH};"),
    ];
    until("both tokens", || tokens(&bridge) == expected);

    let (_subscriber, samples) = subscribe(&bridge, "a/chatter");
    events.wait_for_match();
    output.message(&message(0, payload(7, 8)), Occasion::Due);
    let sample = take(&samples);
    assert_eq!(number(sample.payload()), 7);
    assert!(sample.attachment().is_none());
}

#[test]
fn the_namespace_of_bridges_is_in_front_of_keys_and_tokens() {
    let (session, events, endpoint) = router(|options| {
        for_bridges(options);
        options.bridge_namespace = "/bot1".parse().unwrap();
    });
    let topics = [played(0, "/a/chatter", None)];
    let (mut output, _) = session.advertise(&topics, None).unwrap();
    let bridge = peer(&endpoint);
    until(
        "the token",
        || matches!(&tokens(&bridge)[..], [token] if token.contains("/MP/bot1§a§chatter/")),
    );
    let (_subscriber, samples) = subscribe(&bridge, "bot1/a/chatter");
    let _other = announce(&bridge, "MS/a§chatter/std_msgs§msg§String/:1::0,10");
    let _reader = announce(&bridge, "MS/bot1§a§chatter/std_msgs§msg§String/:1::0,10");
    events.wait_for_subscriber();
    assert_eq!(session.graph().reached("/a/chatter"), 1);
    output.message(&message(0, payload(7, 8)), Occasion::Due);
    assert_eq!(number(take(&samples).payload()), 7);
}

#[test]
fn subscribers_that_were_there_first_are_judged_by_type_and_durability() {
    let (session, events, endpoint) = router(for_bridges);
    let bridge = peer(&endpoint);
    let _wrong = announce(&bridge, "MS/chatter/std_msgs§msg§Bool/:1::0,1");
    let _volatile = announce(&bridge, "MS/map/std_msgs§msg§String/:1::0,1");
    until("both tokens", || session.graph().tokens().len() == 2);
    let topics = [
        played(0, "/chatter", None),
        played(1, "/map", Some(latched())),
    ];
    let _output = session.advertise(&topics, None).unwrap();
    events.wait("another type", |event| {
        matches!(event, WireEvent::TypeMismatch { ours, theirs, .. }
            if ours == "std_msgs/msg/String" && theirs == "std_msgs/msg/Bool")
    });
    events.wait(
        "a volatile subscriber",
        |event| matches!(event, WireEvent::Warning(text) if text.starts_with("/map is latched")),
    );
}

#[test]
fn names_and_types_that_a_bridge_cannot_carry_are_skipped() {
    let (session, events, _) = router(for_bridges);
    let mut bool = played(4, "/chatter", None);
    bool.topic.schema.as_mut().unwrap().name = "std_msgs/msg/Bool".to_owned();
    let topics = [
        played(0, "/chatter", None),
        // In tokens, § stands for a slash.
        played(1, "/temp§", None),
        played(2, "/a/§b", None),
        played(3, "/two words", None),
        bool,
    ];
    let (_output, skipped) = session.advertise(&topics, None).unwrap();
    let reasons: Vec<_> = skipped.iter().map(|one| (one.id, &one.reason)).collect();
    assert_eq!(reasons.len(), 4, "{reasons:?}");
    for (id, reason) in reasons {
        match reason {
            SkipReason::RosName(_) => assert!((1..4).contains(&id.index())),
            SkipReason::OtherType(first) => {
                assert_eq!((id.index(), first.as_str()), (4, "std_msgs/msg/String"));
            }
            other => panic!("{other:?}"),
        }
    }
    events.wait(
        "a word about the bridge",
        |event| matches!(event, WireEvent::Warning(text) if text.contains("no bridge to DDS")),
    );
}

#[test]
fn a_late_bridge_gets_the_latched_messages() {
    let (session, _, endpoint) = router(for_bridges);
    let topics = [played(1, "/map", Some(latched()))];
    let (mut output, _) = session.advertise(&topics, None).unwrap();
    for n in 0..7 {
        output.message(&message(1, payload(n, 8)), Occasion::Due);
    }
    let bridge = peer(&endpoint);
    let (tell, samples) = crossbeam_channel::bounded(100);
    // As the bridge does it.
    let _subscriber = bridge
        .declare_subscriber("map")
        .callback(move |sample| drop(tell.try_send(sample)))
        .history(
            HistoryConfig::default()
                .detect_late_publishers()
                .max_samples(5),
        )
        .query_timeout(Duration::from_secs(5))
        .wait()
        .unwrap();
    let numbers: Vec<u32> = (0..5).map(|_| number(take(&samples).payload())).collect();
    assert_eq!(numbers, [2, 3, 4, 5, 6]);
}

#[test]
fn readers_behind_a_bridge_count_by_its_token() {
    let (session, events, endpoint) = router(for_bridges);
    let topics = [played(0, "/chatter", None), played(1, "/other", None)];
    let (output, _) = session.advertise(&topics, Some(CLOCK)).unwrap();
    let monitor = output.monitor();
    let bridge = peer(&endpoint);
    let (_subscriber, _samples) = subscribe(&bridge, "chatter");
    let reader = announce(&bridge, "MS/chatter/std_msgs§msg§String/:1::0,10");
    events.wait_for_subscriber();
    until("the reader", || monitor.is_ready(TopicId(0)));
    let state = monitor.topic(TopicId(0)).unwrap();
    assert_eq!((state.subscribers, state.has_match), (1, true));
    let nodes = session.graph().subscriber_nodes("/chatter");
    assert_eq!(nodes, ["/zenoh_bridge_ros2dds"]);
    assert!(!monitor.is_ready(TopicId(1)));

    let _clock = announce(&bridge, "MP/clock/rosgraph_msgs§msg§Clock/:0::0,1");
    events.wait("another clock", |event| {
        matches!(event, WireEvent::ForeignClock { .. })
    });
    let _same = announce(&bridge, "MP/other/std_msgs§msg§String/:1::0,1");
    events.wait("another publisher", |event| {
        matches!(event, WireEvent::ForeignPublisher { topics, .. } if topics == &["/other"])
    });
    // What is no token of a topic is ignored; this one comes before the next.
    let _no_token = announce(&bridge, "MS/other/no type/:1::0,1");
    let _latched = announce(&bridge, "MS/other/std_msgs§msg§String/:1:1:0,1");
    events.wait("a subscriber that gets nothing", |event| {
        matches!(event, WireEvent::Warning(text) if text.starts_with("/other is not latched"))
    });
    assert_eq!(monitor.topic(TopicId(1)).unwrap().subscribers, 1);

    reader.undeclare().wait().unwrap();
    events.wait(
        "the end of the reader",
        |event| matches!(event, WireEvent::SubscriberLeft { topic, .. } if topic == "/chatter"),
    );
    assert!(!monitor.is_ready(TopicId(0)));
}

#[test]
fn a_reader_of_the_clock_gets_its_last_value() {
    let (session, _, endpoint) = router(for_bridges);
    let (mut output, _) = session.advertise(&[], Some(CLOCK)).unwrap();
    let time = Time::from_nanos(42);
    output.clock(time);
    let bridge = peer(&endpoint);
    let (_subscriber, samples) = subscribe(&bridge, "clock");
    let _token = announce(&bridge, "MS/clock/rosgraph_msgs§msg§Clock/:0::0,1");
    let sample = take(&samples);
    assert_eq!(sample.payload().to_bytes()[..], encode_clock(time).bytes);
    assert!(sample.attachment().is_none());
}

/// A request as a bridge sends it: padded to a multiple of four, with the client's number.
fn request<'a>(
    bridge: &'a zenoh::Session,
    key: &'a str,
    request: &[u8],
) -> SessionGetBuilder<'a, 'a, DefaultHandler> {
    let mut payload = vec![0, 1, 0, 0];
    payload.extend(request);
    payload.resize(payload.len().next_multiple_of(4), 0);
    let client = [0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11];
    let attachment = [&b"rqh"[..], &client, &1_i64.to_le_bytes(), &[1]].concat();
    bridge.get(key).payload(payload).attachment(attachment)
}

/// The response to a request.
fn call(bridge: &zenoh::Session, key: &str, asked: &[u8]) -> Vec<u8> {
    let replies = request(bridge, key, asked);
    let reply = replies.wait().unwrap().recv().expect("a response");
    reply
        .result()
        .expect("a response")
        .payload()
        .to_bytes()
        .into_owned()
}

#[test]
fn services_are_announced_and_answered_in_either_layout() {
    let (session, _, endpoint) = router(for_bridges);
    let recording = TimeRange::between(Time::from_secs(1), Time::from_secs(2));
    let player = Player::new();
    let transport = player.transport();
    let source = Source::new(["/a"], |_| Cue::from_items([]));
    let paused = Options {
        intent: Intent::Pause,
        when_done: WhenDone::Stay,
        ..Options::new(recording)
    };
    let running = player.start(paused, source, Null).unwrap();
    let served = ServedPlayer {
        recording,
        shift: time::Duration::ZERO,
        topics: Vec::new(),
    };
    let services = session.serve_player(&transport, served).unwrap();
    let bridge = peer(&endpoint);
    let pause = format!(
        "@/{}/@ros2_lv/SS/rosbag2_player§pause/rosbag2_interfaces§srv§Pause",
        session.zid()
    );
    until("the services", || tokens(&bridge).contains(&pause));
    let state = || transport.status().map(|status| status.state);

    let is_paused = |bridge| call(bridge, "rosbag2_player/is_paused", &[0]);
    assert_eq!(is_paused(&bridge), [0, 1, 0, 0, 1]);
    // The layout of ROS 2 Jazzy: no fields, in either direction.
    assert_eq!(
        call(&bridge, "rosbag2_player/resume", &[0]),
        [0, 1, 0, 0, 0]
    );
    assert_ne!(state(), Some(State::Paused));
    assert_eq!(call(&bridge, "rosbag2_player/pause", &[0]), [0, 1, 0, 0, 0]);
    assert_eq!(state(), Some(State::Paused));
    // The layout after it: a time, a mode that a player does not have, no topic.
    let request = [&[0; 8][..], &[5, 0, 0, 0], &[1, 0, 0, 0, 0]].concat();
    let answer = call(&bridge, "rosbag2_player/resume", &request);
    assert_eq!(answer[4..8], 1_i32.to_le_bytes());
    assert_eq!(state(), Some(State::Paused));
    // A request that is too long has the response of that layout, too.
    let refused = call(&bridge, "rosbag2_player/stop", &vec![0; 1 << 17]);
    assert_ne!(refused[4..8], [0; 4]);
    assert!(refused.len() > 12, "{refused:?}");
    // The response of the layout with a result begins with that of the other.
    assert_eq!(call(&bridge, "rosbag2_player/stop", &[0])[4..8], [0; 4]);
    drop(services);
    running.join().unwrap();
}

/// A bridge discards the open calls of a service when its token goes.
#[test]
fn a_call_that_ends_the_run_is_answered_before_the_services_go() {
    let is_answered_first = |start: &dyn Fn(&[&str]) -> Child, key: &str| {
        let endpoint = free_endpoint();
        let mut player = KilledWhenDropped(start(&["--wire", "ros2dds", "--listen", &endpoint]));
        hearing(&mut player.0)("router on");
        let bridge = peer(&endpoint);
        let (seen, events) = bounded(9);
        let token = format!("@/*/@ros2_lv/SS/{}/**", key.replace('/', "§"));
        let token = bridge.liveliness().declare_subscriber(token).history(true);
        let tokens = seen.clone();
        let token = token.callback(move |sample| {
            let event = match sample.kind() {
                SampleKind::Put => "announced",
                SampleKind::Delete => "gone",
            };
            tokens.send(event).unwrap();
        });
        let _token = token.wait().unwrap();
        let next = || events.recv_timeout(PATIENCE).unwrap();
        assert_eq!(next(), "announced", "{key}");
        let call = request(&bridge, key, &[0]).timeout(PATIENCE);
        let call = call.callback(move |reply| {
            let is_response = reply.result().is_ok();
            seen.send(if is_response { "answered" } else { "failed" })
                .unwrap();
        });
        call.wait().unwrap();
        assert_eq!([next(), next()], ["answered", "gone"], "{key}");
        assert!(player.0.wait().unwrap().success());
    };
    let play = |args: &[&str]| start_player(&[args, &["--no-tui", "--start-paused"]].concat());
    is_answered_first(&play, "rosbag2_player/stop");
    let clock = |args: &[&str]| start_play(["clock".as_ref()], args);
    is_answered_first(&clock, "clock_server/stop");
}
