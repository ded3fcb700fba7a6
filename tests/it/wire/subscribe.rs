//! What a session receives of what others publish: which topics, from whom, each message once and in order.

use std::collections::BTreeMap;
use std::sync::Arc;

use bagplay::output::{Occasion, Output as _};
use bagplay::ros::{Durability, History, PublishedTopic, Qos, Reliability};
use bagplay::wire::{
    ClockOptions, EntityKind, Received, Session, Subscribed, Subscriptions, Which, WireEvent,
    WireOptions, WireOutput,
};
use crossbeam_channel::{Receiver, bounded};
use zenoh::Wait as _;

use crate::support::network::{
    self, Events, STRING, STRING_HASH, message, number, open, options, payload, played, router,
    token,
};
use crate::support::patience::{PATIENCE, until};

/// Another node in a session of its own.
fn node(name: &str, endpoint: &str) -> (Session, Events) {
    open(&WireOptions {
        node_name: name.to_owned(),
        ..options(&[], &[endpoint.to_owned()])
    })
}

/// A zenoh session with one way to all others: through the router. Between two peers a message may take a way on which
/// the subscription is not known yet.
fn client(endpoint: &str) -> zenoh::Session {
    network::node("\"client\"", endpoint, &[])
}

fn receive(session: &Session, which: Which) -> (Subscriptions, Receiver<Received>) {
    let (tell, told) = bounded(50_000);
    let receive = move |received| drop(tell.try_send(received));
    (session.receive(which, receive).unwrap(), told)
}

fn wait_for(subscriptions: &Subscriptions, topics: &[&str]) {
    let all_there = subscriptions.wait(PATIENCE, |subscriptions| {
        let all = subscriptions.publishers();
        let is_there = |topic: &&str| all.iter().any(|it| it.topic == *topic);
        topics.iter().all(is_there)
    });
    assert!(all_there, "only {:?}", subscriptions.publishers());
}

/// Waits until the publishers of these topics reach a subscriber, as a node that publishes only then does.
fn reached(session: &Session, events: &Events, topics: &[&str]) {
    let mut missing = topics.to_vec();
    events.wait("routes to a subscriber", |event| {
        if let WireEvent::Matching { topic, matched } = event {
            missing.retain(|it| it != topic || !*matched);
        }
        missing.is_empty()
    });
    let is_known = |topic: &&str| session.graph().reached(topic) > 0;
    until("the tokens of a subscriber", || topics.iter().all(is_known));
}

fn take(received: &Receiver<Received>) -> Received {
    received.recv_timeout(PATIENCE).expect("a message")
}

fn text_of(received: &Received) -> u32 {
    number(&zenoh::bytes::ZBytes::from(received.payload.to_vec()))
}

fn numbers(received: &Receiver<Received>, count: usize) -> Vec<u32> {
    (0..count).map(|_| text_of(&take(received))).collect()
}

fn put(output: &mut WireOutput, topic: u32, numbers: std::ops::Range<u32>) {
    for number in numbers {
        output.message(&message(topic, payload(number, 8)), Occasion::Due);
    }
}

fn latched(reliability: Reliability, depth: u32) -> Qos {
    Qos {
        reliability,
        durability: Durability::TransientLocal,
        history: History::KeepLast(depth),
        ..Qos::default()
    }
}

#[test]
fn a_message_comes_with_its_topic_and_its_publisher() {
    let (session, _events, endpoint) = router(|_| ());
    let (other, events) = node("/robot/slam", &endpoint);
    let best_effort = Qos {
        reliability: Reliability::BestEffort,
        history: History::KeepLast(5),
        ..Qos::default()
    };
    let topics = [
        played(0, "/odom", Some(best_effort)),
        played(1, "/map", None),
    ];
    let (mut output, _) = other.advertise(&topics, None).unwrap();
    let (subscriptions, received) = receive(&session, Which::Named(vec!["odom".to_owned()]));
    wait_for(&subscriptions, &["/odom"]);
    reached(&other, &events, &["/odom"]);
    put(&mut output, 1, 0..1);
    put(&mut output, 0, 0..100);
    for sequence in 1..=100 {
        let message = take(&received);
        assert_eq!(text_of(&message), sequence - 1);
        assert_eq!(message.sequence, Some(sequence.into()));
        assert!(
            message
                .source_time
                .is_some_and(|time| time > 1_600_000_000_000_000_000)
        );
        assert_eq!(message.publisher.to_string(), "/robot/slam");
        let topic = PublishedTopic {
            number: 0,
            name: "/odom".to_owned(),
            type_name: "std_msgs/msg/String".to_owned(),
            type_hash: Some(STRING_HASH.to_owned()),
            qos: best_effort,
        };
        assert_eq!(*message.topic, topic);
    }
    let of_slam = Subscribed {
        topic: "/odom".to_owned(),
        node: "/robot/slam".to_owned(),
    };
    assert_eq!(subscriptions.publishers(), [of_slam]);
    assert_eq!(subscriptions.topics().len(), 1);
    // What others see of the subscription.
    let tokens = other.graph().tokens();
    let ours = tokens
        .iter()
        .filter(|it| it.kind == EntityKind::Subscription);
    let ours: Vec<_> = ours.map(|it| it.endpoint.clone().unwrap()).collect();
    assert_eq!(ours.len(), 1, "{ours:?}");
    let requested = Qos {
        history: History::KeepAll,
        ..best_effort
    };
    assert_eq!((ours[0].name.as_str(), ours[0].qos), ("/odom", requested));
    drop(subscriptions);
    until("the end of the subscription", || {
        other.graph().reached("/odom") == 0
    });
}

#[test]
fn everything_of_others_is_received_also_of_those_that_come_later_and_nothing_of_this_node() {
    let (session, _events, endpoint) = router(|_| ());
    let (subscriptions, received) = receive(&session, Which::OfOthers);
    // This node publishes one of their topics, too, best effort and reliable ones in sessions of their own.
    let own = [played(0, "/both", None), played(1, "/mine", None)];
    let clock = Some(ClockOptions {
        hz: Some(100.0),
        per_message: false,
    });
    let (mut own_output, _) = session.advertise(&own, None).unwrap();
    let (first, first_events) = node("/first", &endpoint);
    let theirs = [played(0, "/both", None), played(1, "/a", None)];
    let (mut first_output, _) = first.advertise(&theirs, clock).unwrap();
    wait_for(&subscriptions, &["/both", "/a"]);
    reached(&first, &first_events, &["/a", "/both"]);
    let (second, second_events) = node("/second", &endpoint);
    let (mut second_output, _) = second.advertise(&[played(0, "/b", None)], None).unwrap();
    wait_for(&subscriptions, &["/b"]);
    reached(&second, &second_events, &["/b"]);
    put(&mut own_output, 0, 900..910);
    put(&mut own_output, 1, 900..910);
    put(&mut first_output, 0, 0..1);
    put(&mut first_output, 1, 1..2);
    put(&mut second_output, 0, 2..3);
    let mut seen: Vec<(u32, String, String)> = (0..3)
        .map(|_| take(&received))
        .map(|it| {
            (
                text_of(&it),
                it.topic.name.clone(),
                it.publisher.to_string(),
            )
        })
        .collect();
    seen.sort();
    let of = |number, topic: &str, node: &str| (number, topic.to_owned(), node.to_owned());
    assert_eq!(
        seen,
        [
            of(0, "/both", "/first"),
            of(1, "/a", "/first"),
            of(2, "/b", "/second")
        ]
    );
    let topics: Vec<String> = subscriptions
        .topics()
        .iter()
        .map(|it| it.name.clone())
        .collect();
    assert_eq!(topics.len(), 3, "{topics:?}");
    assert!(received.try_recv().is_err());
}

#[test]
fn what_latched_publishers_published_before_comes_first_in_order_and_once() {
    for reliability in [Reliability::Reliable, Reliability::BestEffort] {
        let (session, _events, endpoint) = router(|_| ());
        let (early, _) = node("/early", &endpoint);
        let qos = latched(reliability, 3);
        let (mut output, _) = early
            .advertise(&[played(0, "/map", Some(qos))], None)
            .unwrap();
        put(&mut output, 0, 0..5);
        let (subscriptions, received) = receive(&session, Which::OfOthers);
        // What was under way when the subscription began comes, too.
        let first = numbers(&received, 1)[0];
        assert!(first <= 2, "{first}, {reliability:?}");
        let rest: Vec<u32> = (first + 1..5).collect();
        assert_eq!(numbers(&received, rest.len()), rest, "{reliability:?}");
        put(&mut output, 0, 5..8);
        assert_eq!(numbers(&received, 3), [5, 6, 7]);
        // One that joins later.
        let (late, _) = node("/late", &endpoint);
        let (mut output, _) = late
            .advertise(&[played(0, "/map", Some(qos))], None)
            .unwrap();
        until("its token", || {
            session.graph().nodes().contains(&"/late".to_owned())
        });
        put(&mut output, 0, 10..12);
        let late = [take(&received), take(&received)];
        assert_eq!(late.each_ref().map(text_of), [10, 11]);
        assert_eq!(late[0].publisher.to_string(), "/late");
        until("both publishers", || subscriptions.publishers().len() == 2);
        assert!(received.try_recv().is_err());
    }
}

/// Forty publishers begin at the same time as their subscriber, over links that are just being made: messages
/// come as they are published, in answers to queries, or both.
#[test]
fn latched_messages_of_those_that_begin_at_the_same_time_all_come_in_order() {
    const TOPICS: u32 = 40;
    let names: Vec<String> = (0..TOPICS).map(|at| format!("/map{at}")).collect();
    for reliability in [Reliability::Reliable, Reliability::BestEffort] {
        let (session, _events, endpoint) = router(|_| ());
        let (early, _) = node("/early", &endpoint);
        let qos = latched(reliability, 10);
        let topics = names.iter().zip(0..);
        let topics: Vec<_> = topics
            .map(|(name, id)| played(id, name, Some(qos)))
            .collect();
        let (mut output, _) = early.advertise(&topics, None).unwrap();
        for topic in 0..TOPICS {
            put(&mut output, topic, 0..3);
        }
        let (_subscriptions, received) = receive(&session, Which::OfOthers);
        for topic in 0..TOPICS {
            put(&mut output, topic, 3..6);
        }
        let mut next: BTreeMap<String, u32> = BTreeMap::new();
        for at in 0..TOPICS * 6 {
            let Ok(message) = received.recv_timeout(PATIENCE) else {
                panic!("{reliability:?}: {at} messages, then none: {next:?}");
            };
            let next = next.entry(message.topic.name.clone()).or_default();
            assert_eq!(text_of(&message), *next, "{reliability:?}");
            *next += 1;
        }
        assert!(received.try_recv().is_err());
    }
}

/// One subscription serves all three publishers.
#[test]
fn a_latched_publisher_is_asked_also_if_another_one_is_not_latched() {
    for reliability in [Reliability::Reliable, Reliability::BestEffort] {
        let (session, _events, endpoint) = router(|_| ());
        let (other, _) = node("/other", &endpoint);
        let volatile = [played(0, "/map", None)];
        let latched = [played(0, "/map", Some(latched(reliability, 10)))];
        let _before = other.advertise(&volatile, None).unwrap();
        let (mut output, _) = other.advertise(&latched, None).unwrap();
        let _after = other.advertise(&volatile, None).unwrap();
        put(&mut output, 0, 0..5);
        let (_subscriptions, received) = receive(&session, Which::OfOthers);
        assert_eq!(numbers(&received, 5), [0, 1, 2, 3, 4], "{reliability:?}");
        put(&mut output, 0, 5..8);
        assert_eq!(numbers(&received, 3), [5, 6, 7], "{reliability:?}");
    }
}

#[test]
fn publishers_of_one_node_on_one_topic_are_told_apart() {
    let (session, _events, endpoint) = router(|_| ());
    let (subscriptions, received) = receive(&session, Which::OfOthers);
    let (other, events) = node("/other", &endpoint);
    let (mut first, _) = other.advertise(&[played(0, "/a", None)], None).unwrap();
    wait_for(&subscriptions, &["/a"]);
    reached(&other, &events, &["/a"]);
    let (mut second, _) = other.advertise(&[played(0, "/a", None)], None).unwrap();
    until("the second publisher", || {
        subscriptions.offers(&subscriptions.topics()[0]).len() == 2
    });
    reached(&other, &events, &["/a"]);
    put(&mut second, 0, 1..2);
    put(&mut first, 0, 0..1);
    let mut seen: Vec<_> = (0..2).map(|_| take(&received)).collect();
    seen.sort_by_key(text_of);
    assert_eq!(seen[0].publisher.to_string(), "/other");
    assert_eq!(seen[1].publisher.to_string(), "/other");
    assert_ne!(seen[0].publisher.gid, seen[1].publisher.gid);
    // Both came after the subscription had begun.
    assert!(seen.iter().all(|it| !it.publisher.was_there));
    assert!(Arc::ptr_eq(&seen[0].topic, &seen[1].topic));
    assert_eq!(subscriptions.nodes(&seen[0].topic), ["/other"]);
}

#[test]
fn a_message_without_attachment_is_received_and_odd_tokens_are_reported() {
    let (session, events, endpoint) = router(|_| ());
    let (subscriptions, received) = receive(&session, Which::OfOthers);
    let other = client(&endpoint);
    let token_of = |topic, dds_type: &str, hash| {
        let key = token(&other, "MP", topic, dds_type, hash);
        other.liveliness().declare_token(key).wait().unwrap()
    };
    let _odd = token_of("//a", STRING, STRING_HASH);
    let odd = |event: &WireEvent| matches!(event, WireEvent::Warning(text) if text.contains("//a"));
    events.wait("a warning", odd);
    let _tokens = [
        token_of("/odd", "a%b", STRING_HASH),
        token_of("/plain", STRING, "TypeHashNotSupported"),
    ];
    wait_for(&subscriptions, &["/plain"]);
    let key = format!("0/plain/{STRING}/TypeHashNotSupported");
    let publisher = other.declare_publisher(key).wait().unwrap();
    until("a route", || {
        publisher.matching_status().wait().unwrap().matching()
    });
    publisher.put(payload(7, 8).to_vec()).wait().unwrap();
    publisher
        .put(payload(8, 100_000).to_vec())
        .attachment([1_u8; 20].as_slice())
        .wait()
        .unwrap();
    for expected in [7, 8] {
        let message = take(&received);
        assert_eq!(text_of(&message), expected);
        assert_eq!((message.sequence, message.source_time), (None, None));
        assert_eq!(message.publisher.to_string(), "an unknown node");
        assert_eq!(message.topic.type_hash, None);
    }
    assert_eq!(subscriptions.topics().len(), 1);
    let bad = session.receive(Which::Named(vec!["/a*".to_owned()]), |_| ());
    assert!(bad.unwrap_err().to_string().contains("`/a*`"));
}
