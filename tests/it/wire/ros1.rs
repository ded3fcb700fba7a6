//! ROS 1 topics as ROS 2 nodes see them.

use bagplay::bag::{Schema, Topic, TopicId};
use bagplay::output::{Delivery, Occasion, Output};
use bagplay::ros::{Durability, History};
use bagplay::wire::{Played, Protocol, Ros1Messages, SkipReason, Token, WireEvent};
use bytes::Bytes;
use zenoh::Wait;

use crate::support::mcaps::bag;
use crate::support::network::{STRING, STRING_HASH, message, peer, router, subscribe, take};
use crate::support::patience::until;
use crate::support::ros1::{ChannelSpec, cdr_string, ros1_file, string};

fn ros1(id: u32, name: &str, text: &'static str) -> Played {
    Played {
        id: TopicId(id),
        name: name.to_owned(),
        topic: Topic {
            name: name.to_owned(),
            schema: Some(Schema {
                name: "std_msgs/String".to_owned(),
                encoding: "ros1msg".to_owned(),
                data: text.into(),
            }),
            encoding: "ros1".to_owned(),
            offered_qos: Vec::new(),
            type_hash: None,
            ros1_md5: None,
            is_latched: false,
            message_count: None,
        },
        qos: None,
    }
}

#[test]
fn ros1_messages_arrive_as_cdr_under_the_key_of_ros2() {
    let (session, events, endpoint) = router(|_| ());
    let topics = [ros1(3, "/chatter", "string data\n"), ros1(4, "/odd", "x\n")];
    let (mut output, skipped) = session.advertise(&topics, None).unwrap();
    assert_eq!(skipped.len(), 1);
    assert!(
        matches!(skipped[0].reason, SkipReason::NoRos2Form(_)),
        "{skipped:?}"
    );
    let node = peer(&endpoint);
    let key = format!("0/chatter/{STRING}/{STRING_HASH}");
    let (_subscriber, samples) = subscribe(&node, &key);
    events.wait_for_match();
    let mut send = |payload: Vec<u8>| {
        let payload = Bytes::from(payload);
        output.message(&message(3, payload), Occasion::Due)
    };
    let as_sent = |text| Delivery::Transcoded(cdr_string(text).into());
    assert_eq!(send(string("one")), as_sent("one"));
    // CDR is no ROS 1 message, and neither is half of one.
    assert_eq!(send(cdr_string("one")), Delivery::Dropped);
    assert_eq!(send(vec![9, 0]), Delivery::Dropped);
    assert_eq!(send(string("two")), as_sent("two"));
    for (number, text) in [(1, "one"), (2, "two")] {
        let sample = take(&samples);
        assert_eq!(sample.payload().to_bytes(), cdr_string(text));
        let attachment = sample.attachment().expect("an attachment").to_bytes();
        assert_eq!(attachment[0], number, "what is left out has no number");
    }
    let topic = output.monitor().topic(TopicId(3)).unwrap();
    assert_eq!((topic.sent, topic.dropped), (2, 2));
    let problem = topic.first_problem.expect("why");
    assert!(problem.starts_with("the payload is not a valid std_msgs/String: at byte "));
    let warnings: Vec<String> = events
        .drain()
        .into_iter()
        .filter_map(|event| match event {
            WireEvent::Warning(text) => Some(text),
            _ => None,
        })
        .collect();
    let [warning] = &warnings[..] else {
        panic!("{warnings:?}")
    };
    assert!(warning.contains("/chatter") && warning.ends_with(&problem));
}

#[test]
fn without_transcoding_ros1_topics_are_skipped() {
    let (session, _, _) = router(|options| options.ros1 = Ros1Messages::LeftOut);
    let topics = [ros1(3, "/chatter", "string data\n")];
    let (_, skipped) = session.advertise(&topics, None).unwrap();
    assert_eq!(skipped[0].reason, SkipReason::Encoding("ros1".to_owned()));
}

#[test]
fn plain_keys_have_ros1_messages_as_they_are_recorded() {
    let (session, events, endpoint) = router(|it| it.protocol = Protocol::PlainKeys);
    let topics = [ros1(3, "/chatter", "string data\n")];
    let (mut output, _) = session.advertise(&topics, None).unwrap();
    let node = peer(&endpoint);
    let (_subscriber, samples) = subscribe(&node, "chatter");
    events.wait_for_match();
    let sent = output.message(&message(3, string("one").into()), Occasion::Due);
    assert_eq!(sent, Delivery::Sent);
    assert_eq!(take(&samples).payload().to_bytes(), string("one"));
}

#[test]
fn a_latched_topic_keeps_a_message_of_each_latched_publisher() {
    let text = "string data\n";
    let latched: Vec<ChannelSpec<'_>> = CALLERS
        .iter()
        .map(|metadata| ChannelSpec {
            metadata,
            ..ChannelSpec::ros1("/map", "std_msgs/String", text)
        })
        .collect();
    let payload = string("x");
    let messages: Vec<(usize, u64, &[u8])> = (0..30)
        .map(|n| (n % CALLERS.len(), n as u64 + 1, &payload[..]))
        .collect();
    let recorded = bag(&ros1_file(&latched, &messages));
    let topic = recorded.topics()[0].clone();
    let played = Played {
        id: TopicId(0),
        name: topic.name.clone(),
        topic,
        qos: None,
    };
    let (session, _, endpoint) = router(|_| ());
    let (_output, _) = session.advertise(&[played], None).unwrap();
    let node = peer(&endpoint);
    let own = format!("@ros2_lv/0/{}/**", session.zid());
    let mut qos = None;
    until("the token of the topic", || {
        let found = node.liveliness().get(&own).wait().expect("a query");
        let tokens = found.into_iter().filter_map(|reply| {
            let sample = reply.into_result().ok()?;
            Token::parse(sample.key_expr().as_str())?.endpoint
        });
        let mut tokens = tokens.filter(|endpoint| endpoint.name == "/map");
        qos = tokens.next().map(|endpoint| endpoint.qos);
        qos.is_some()
    });
    let qos = qos.unwrap();
    // Twelve that latched, and one that did not.
    assert_eq!(
        (qos.durability, qos.history),
        (Durability::TransientLocal, History::KeepLast(12))
    );
}

/// Twelve publishers that latch, and one that does not.
const CALLERS: [&[(&str, &str)]; 13] = [
    &[("callerid", "/0"), ("latching", "0")],
    &[("callerid", "/1"), ("latching", "1")],
    &[("callerid", "/2"), ("latching", "1")],
    &[("callerid", "/3"), ("latching", "1")],
    &[("callerid", "/4"), ("latching", "1")],
    &[("callerid", "/5"), ("latching", "1")],
    &[("callerid", "/6"), ("latching", "1")],
    &[("callerid", "/7"), ("latching", "1")],
    &[("callerid", "/8"), ("latching", "1")],
    &[("callerid", "/9"), ("latching", "1")],
    &[("callerid", "/10"), ("latching", "1")],
    &[("callerid", "/11"), ("latching", "1")],
    &[("callerid", "/12"), ("latching", "1")],
];
