//! What subscribers receive: keys, attachments, order, history, no losses.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use bagplay::bag::TopicId;
use bagplay::output::{Delivery, Occasion, Output};
use bagplay::ros::{Durability, History, Qos, Reliability};
use bagplay::time::Time;
use bagplay::wire::{ClockOptions, Drained, Gid, Played, Protocol, SendOrder, SourceStamps, Token};
use crossbeam_channel::{Receiver, bounded};
use zenoh::Wait;
use zenoh::sample::Sample;
use zenoh_ext::{AdvancedSubscriberBuilderExt, HistoryConfig, RecoveryConfig};

use crate::support::network::{
    CLOCK_KEY, Pipe, STRING, STRING_HASH, message, node, number, open, options, payload, peer,
    played, router, subscribe, take,
};
use crate::support::patience::{PATIENCE, until};

#[test]
fn a_volatile_topic_arrives_with_sequence_and_gid() {
    let (session, events, endpoint) = router(|_| ());
    assert_eq!(session.describe(), format!("router on {endpoint}"));
    let (mut output, skipped) = session
        .advertise(&[played(3, "/chatter", None)], None)
        .unwrap();
    assert!(skipped.is_empty());
    let node = peer(&endpoint);
    let key = format!("0/chatter/{STRING}/{STRING_HASH}");
    let (_subscriber, samples) = subscribe(&node, &key);
    events.wait_for_match();
    for n in 0..100 {
        let sent = output.message(&message(3, payload(n, 8)), Occasion::Due);
        assert_eq!(sent, Delivery::Sent);
    }
    let token = format!(
        "@ros2_lv/0/{}/0/1/MP/%/%/rosbag2_player/%chatter/{STRING}/{STRING_HASH}/::,10:,:,:,,",
        session.zid()
    );
    for n in 0..100_u8 {
        let sample = take(&samples);
        assert_eq!(sample.key_expr().as_str(), key);
        assert_eq!(number(sample.payload()), u32::from(n));
        let attachment = sample.attachment().expect("an attachment").to_bytes();
        assert_eq!(attachment.len(), 33);
        assert_eq!(attachment[..8], [n + 1, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(attachment[16], 16);
        assert_eq!(attachment[17..], Gid::of(&token).0);
    }
    let topic = output.monitor().topic(TopicId(3)).unwrap();
    assert_eq!((topic.sent, topic.bytes, topic.dropped), (100, 800, 0));
    assert_eq!(
        output.message(&message(9, payload(0, 8)), Occasion::Due),
        Delivery::Dropped
    );
    let not_cdr = vec![0, 3, 0, 0, 0].into();
    assert_eq!(
        output.message(&message(3, not_cdr), Occasion::Due),
        Delivery::Dropped
    );
    let Token { endpoint, .. } = Token::parse(&token).unwrap();
    assert_eq!(endpoint.unwrap().qos, Qos::default());
}

/// The source times of messages with log time 5.
#[test]
fn source_timestamps_show_the_wall_time_or_the_log_time() {
    for (stamps, is_log) in [(SourceStamps::Wall, false), (SourceStamps::Log, true)] {
        let (session, events, endpoint) = router(|options| options.source_stamps = stamps);
        let (mut output, _) = session
            .advertise(&[played(3, "/chatter", None)], None)
            .unwrap();
        let node = peer(&endpoint);
        let key = format!("0/chatter/{STRING}/{STRING_HASH}");
        let (_subscriber, samples) = subscribe(&node, &key);
        events.wait_for_match();
        output.message(&message(3, payload(0, 8)), Occasion::Due);
        let sample = take(&samples);
        let attachment = sample.attachment().expect("an attachment").to_bytes();
        let time = i64::from_le_bytes(attachment[8..16].try_into().unwrap());
        assert_eq!(time == 5, is_log, "{stamps:?}: {time}");
    }
}

/// `/clock` is sent before each message, in line with it.
const IN_LINE: ClockOptions = ClockOptions {
    hz: None,
    per_message: true,
};

/// One topic for each combination of durability and reliability.
fn one_of_each() -> [Played; 4] {
    let both = [Durability::Volatile, Durability::TransientLocal].map(|durability| {
        [Reliability::Reliable, Reliability::BestEffort].map(|reliability| Qos {
            durability,
            reliability,
            ..Qos::default()
        })
    });
    let [[reliable, lossy], [latched, lossy_latched]] = both;
    [
        played(0, "/reliable", Some(reliable)),
        played(1, "/lossy", Some(lossy)),
        played(2, "/latched", Some(latched)),
        played(3, "/lossy_latched", Some(lossy_latched)),
    ]
}

/// With a clock before each message, one session sends all topics and the clock. Otherwise one session sends best-effort
/// topics and another one sends reliable topics.
#[test]
fn zenoh_timestamps_rise_on_each_topic() {
    const ROUNDS: u32 = 20;
    for (stamps, is_in_line) in [
        (SourceStamps::Wall, true),
        (SourceStamps::Wall, false),
        (SourceStamps::Log, true),
        (SourceStamps::Log, false),
    ] {
        let (session, events, endpoint) = router(|options| options.source_stamps = stamps);
        let clock = is_in_line.then_some(IN_LINE);
        let topics = one_of_each();
        let (mut output, skipped) = session.advertise(&topics, clock).unwrap();
        assert!(skipped.is_empty(), "{skipped:?}");
        // This node has no clock, so it does not add the timestamp that a message lacks.
        let node = node("\"peer\"", &endpoint, &[("timestamping/enabled", "false")]);
        let (_subscriber, samples) = subscribe(&node, "0/**");
        events.wait_for_matches(&topics);
        let mut sent = 0;
        for round in 0..ROUNDS {
            for topic in &topics {
                if is_in_line {
                    output.clock(Time::from_nanos(i64::from(sent) + 1));
                }
                let message = message(topic.id.0, payload(round, 100));
                assert_eq!(output.message(&message, Occasion::Due), Delivery::Sent);
                sent += 1;
            }
        }
        let mut last = HashMap::new();
        let mut by_session = HashSet::new();
        while sent > 0 {
            let sample = take(&samples);
            let stamp = *sample.timestamp().expect("a timestamp");
            let key = sample.key_expr().to_string();
            if key != CLOCK_KEY {
                sent -= 1;
                by_session.insert(*stamp.get_id());
            }
            let before = last.insert((key, *stamp.get_id()), stamp);
            assert!(
                before.is_none_or(|before| before < stamp),
                "{stamps:?}, {is_in_line}: {before:?}, then {stamp} on {}",
                sample.key_expr()
            );
        }
        let sessions = if is_in_line { 1 } else { 2 };
        assert_eq!(by_session.len(), sessions, "{stamps:?}, {is_in_line}");
    }
}

#[test]
fn no_topic_has_timestamps_if_the_configuration_switches_them_off() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("zenoh.json5");
    std::fs::write(
        &file,
        "{mode: 'router', scouting: {delay: 0, multicast: {enabled: false}}, timestamping: {enabled: false}}",
    )
    .unwrap();
    for clock in [None, Some(IN_LINE)] {
        let (session, events, endpoint) =
            router(|options| options.config_file = Some(file.clone()));
        let topics = one_of_each();
        let (mut output, skipped) = session.advertise(&topics, clock).unwrap();
        assert!(skipped.is_empty(), "{skipped:?}");
        let node = node("\"peer\"", &endpoint, &[("timestamping/enabled", "false")]);
        let (_subscriber, samples) = subscribe(&node, "0/**");
        events.wait_for_matches(&topics);
        for topic in &topics {
            output.message(&message(topic.id.0, payload(7, 100)), Occasion::Due);
        }
        for _ in &topics {
            let sample = take(&samples);
            assert_eq!(sample.timestamp(), None, "{} {clock:?}", sample.key_expr());
        }
    }
}

/// As `rmw_zenoh` subscribes to a latched topic: what it receives, up to the last message.
fn late_joiner(node: &zenoh::Session, depth: usize) -> Vec<u32> {
    let (tell, samples) = bounded(1000);
    let key = format!("0/map/{STRING}/{STRING_HASH}");
    let _subscriber = node
        .declare_subscriber(key)
        .callback(move |sample| drop(tell.try_send(sample)))
        .history(
            HistoryConfig::default()
                .detect_late_publishers()
                .max_samples(depth),
        )
        .recovery(RecoveryConfig::default().heartbeat())
        .query_timeout(Duration::from_millis(u64::MAX))
        .subscriber_detection()
        .wait()
        .expect("a subscriber");
    let mut numbers = Vec::new();
    while numbers.last() != Some(&24) {
        let sample = take(&samples);
        assert_eq!(sample.attachment().expect("of the original put").len(), 33);
        numbers.push(number(sample.payload()));
    }
    numbers
}

#[test]
fn a_late_joiner_of_a_latched_topic_gets_the_last_samples() {
    let qos = Qos {
        durability: Durability::TransientLocal,
        history: History::KeepLast(10),
        ..Qos::default()
    };
    for reliability in [Reliability::Reliable, Reliability::BestEffort] {
        // Large ones, too, which have no lane of their own if they are latched.
        for (order, size, clock) in [
            (SendOrder::AllTopics, 100, None),
            (SendOrder::AllTopics, 100, Some(IN_LINE)),
            (SendOrder::PerTopic, 100_000, None),
        ] {
            let (session, _, endpoint) = router(|options| options.order = order);
            let map = played(0, "/map", Some(Qos { reliability, ..qos }));
            let (mut output, _) = session.advertise(&[map], clock).unwrap();
            for n in 0..25 {
                output.message(&message(0, payload(n, size)), Occasion::Due);
            }
            let node = peer(&endpoint);
            assert_eq!(late_joiner(&node, 100), (15..25).collect::<Vec<_>>());
            assert_eq!(late_joiner(&node, 3), (22..25).collect::<Vec<_>>());
        }
    }
}

#[test]
fn a_recorded_tf_static_keeps_all_messages_under_any_name() {
    let (session, _, endpoint) = router(|_| ());
    let mut map = played(0, "/map", None);
    map.topic.name = "/tf_static".to_owned();
    map.topic.is_latched = true;
    map.topic.offered_qos = vec![Qos {
        history: History::KeepLast(1),
        durability: Durability::TransientLocal,
        ..Qos::default()
    }];
    let (mut output, _) = session.advertise(&[map], None).unwrap();
    for n in 0..25 {
        output.message(&message(0, payload(n, 100)), Occasion::Due);
    }
    assert_eq!(
        late_joiner(&peer(&endpoint), 100),
        (0..25).collect::<Vec<_>>()
    );
}

#[test]
fn blocking_loses_nothing_to_a_slow_reader() {
    const MESSAGES: u32 = 200;
    let (session, events, endpoint) = router(|options| options.stall_timeout = PATIENCE);
    let (mut output, _) = session
        .advertise(&[played(0, "/image", None)], None)
        .unwrap();
    // 30 MB a second at most.
    let pipe = Pipe::slow(&endpoint, Duration::from_millis(2));
    let node = pipe.peer();
    let (_subscriber, samples) = subscribe(&node, "0/image/**");
    events.wait_for_match();
    let player = std::thread::spawn(move || {
        for n in 0..MESSAGES {
            output.message(&message(0, payload(n, 300_000)), Occasion::Due);
        }
        output
    });
    for n in 0..MESSAGES {
        assert_eq!(number(take(&samples).payload()), n);
    }
    let output = player.join().unwrap();
    assert_eq!(output.monitor().topics()[0].sent, u64::from(MESSAGES));
    assert_eq!(output.monitor().topics()[0].missed.stalled, 0);
}

#[test]
fn a_put_for_any_hash_reaches_each() {
    let (session, events, endpoint) = router(|options| options.any_type_hash = true);
    let (mut output, _) = session
        .advertise(&[played(0, "/chatter", None)], None)
        .unwrap();
    let node = peer(&endpoint);
    let (_humble, humble) = subscribe(&node, &format!("0/chatter/{STRING}/TypeHashNotSupported"));
    let (_other, other) = subscribe(&node, &format!("0/chatter/{STRING}/RIHS01_1"));
    events.wait_for_match();
    // Only the first subscription is reported; the second may be known a moment later.
    let arrived = |samples: &Receiver<Sample>| !samples.is_empty();
    while !(arrived(&humble) && arrived(&other)) {
        output.message(&message(0, payload(1, 8)), Occasion::Due);
        assert!(
            output.monitor().topics()[0].sent < 1_000_000,
            "never arrives"
        );
    }
}

#[test]
fn messages_put_before_leaving_arrive() {
    let (session, events, endpoint) = router(|options| options.stall_timeout = PATIENCE);
    let (mut output, _) = session
        .advertise(&[played(0, "/chatter", None)], None)
        .unwrap();
    let node = peer(&endpoint);
    let (_subscriber, samples) = subscribe(&node, "0/chatter/**");
    events.wait_for_match();
    for n in 0..2000 {
        output.message(&message(0, payload(n, 1000)), Occasion::Due);
    }
    assert_eq!(session.drain(|| false), Drained::Whole);
    drop(output);
    session.close();
    for n in 0..2000 {
        assert_eq!(number(take(&samples).payload()), n);
    }
}

#[test]
fn plain_keys_carry_any_encoding_and_no_tokens() {
    let (session, events, endpoint) = router(|it| it.protocol = Protocol::PlainKeys);
    let mut json = played(0, "/web/log", None);
    json.topic.encoding = "json".to_owned();
    let (mut output, skipped) = session
        .advertise(std::slice::from_ref(&json), None)
        .unwrap();
    assert!(skipped.is_empty());
    let monitor = output.monitor();
    assert!(!monitor.is_ready(TopicId(0)));
    let node = peer(&endpoint);
    let (_subscriber, samples) = subscribe(&node, "web/log");
    events.wait_for_match();
    assert!(monitor.is_ready(TopicId(0)));
    output.message(&message(0, "{}".into()), Occasion::Due);
    let sample = take(&samples);
    assert_eq!(sample.payload().to_bytes()[..], *b"{}");
    assert!(sample.attachment().is_none());
    // No ROS node is on the graph.
    let alive = node.liveliness().get("@ros2_lv/**").wait().unwrap();
    assert_eq!(alive.iter().count(), 0);
}

#[test]
fn of_two_topics_with_one_name_only_the_unreadable_one_is_skipped() {
    let (session, _, _) = router(|_| ());
    let mut json = played(0, "/diag", None);
    json.topic.encoding = "json".to_owned();
    let played = [json, played(1, "/diag", None), played(2, "/a#b", None)];
    let (mut output, skipped) = session.advertise(&played, None).unwrap();
    let ids: Vec<TopicId> = skipped.iter().map(|one| one.id).collect();
    assert_eq!(ids, [TopicId(0), TopicId(2)]);
    let mut put = |id| output.message(&message(id, payload(0, 8)), Occasion::Due);
    assert_eq!((put(0), put(1)), (Delivery::Dropped, Delivery::Sent));
}

#[test]
fn errors_contain_names_that_zenoh_cannot_carry() {
    let (session, _, endpoint) = router(|_| ());
    let error = session
        .advertise(&[played(0, "/a#b", None)], None)
        .unwrap_err();
    assert!(error.to_string().contains("/a#b"), "{error}");
    let (second, _) = open(&options(&[], std::slice::from_ref(&endpoint)));
    until("a link", || second.has_path());
    assert_eq!(second.describe(), format!("connected to {endpoint}"));
}
