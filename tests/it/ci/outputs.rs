//! Outputs over the network: received, digested, recorded, with definitions and stamps.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use bagplay::bag::{Bag, Direction, Message, Schema, Selection, StartAt, Topic, TopicId};
use bagplay::ci::outputs::{
    AmentIndex, Arrival, Definitions, OutputOptions, Outputs, OutputsEnd, PlayedTopic,
    RecordInputs, RecorderOptions, Stamp,
};
use bagplay::output::{Delivery, Occasion, Output as _};
use bagplay::player::Player;
use bagplay::ros::{Durability, History, Qos, Reliability, TypeDescription};
use bagplay::time::Time;
use bagplay::transcode::Transcoder;
use bagplay::wire::{
    NodeDescription, NodeFeed, Played, ServedNode, Session, Subscribed, Which, WireEvent,
    WireOptions, WireOutput,
};
use bytes::Bytes;
use crossbeam_channel::{Receiver, bounded};
use zenoh::Wait as _;
use zenoh::query::Query;

use crate::support::mcaps::{bag, incompressible};
use crate::support::network::{
    Events, message, open, options, peer, played, router, wait_for_direct_link,
};
use crate::support::patience::{PATIENCE, until};
use crate::support::ros1::{ChannelSpec, cdr_string, ros1_file, string};

const STAMPED: &str = "std_msgs/Header header\nint32 x\n\
    ================================================================================\n\
    MSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id\n\
    ================================================================================\n\
    MSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n";

/// A topic of a type that begins with a header.
fn stamped(id: u32, name: &str) -> Played {
    let topic = played(id, name, None);
    Played {
        topic: Topic {
            schema: Some(Schema {
                name: "test_msgs/msg/Stamped".to_owned(),
                encoding: "ros2msg".to_owned(),
                data: STAMPED.into(),
            }),
            ..topic.topic
        },
        ..topic
    }
}

fn stamped_payload(sec: i32, x: i32) -> Bytes {
    let mut bytes = vec![0, 1, 0, 0];
    bytes.extend(sec.to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend([1, 0, 0, 0, 0, 0, 0, 0]);
    bytes.extend(x.to_le_bytes());
    bytes.into()
}

/// The node under test, and the one that observes it.
struct Pair {
    observer: Session,
    _events: Events,
    node: Session,
    node_events: Events,
}

fn pair() -> Pair {
    let (observer, events, endpoint) = router(|_| ());
    let (node, node_events) = open(&WireOptions {
        node_name: "/under_test".to_owned(),
        ..options(&[], std::slice::from_ref(&endpoint))
    });
    wait_for_direct_link(&endpoint);
    Pair {
        observer,
        _events: events,
        node,
        node_events,
    }
}

impl Pair {
    fn serve(&self, types: Vec<Schema>) -> ServedNode {
        let description = NodeDescription {
            types,
            ..NodeDescription::default()
        };
        let transport = Player::new().transport();
        self.node
            .serve_node(&transport, description, &NodeFeed::default())
            .unwrap()
    }

    /// Waits until a topic of the node reaches the observer, and its definition is known.
    fn ready(&self, outputs: &Outputs, topics: &[&str]) {
        let names: Vec<String> = topics.iter().map(|&it| it.to_owned()).collect();
        assert_eq!(outputs.wait_for(&names, PATIENCE), [""; 0]);
        let mut missing = topics.to_vec();
        self.node_events.wait("routes to the observer", |event| {
            if let WireEvent::Matching { topic, matched } = event {
                missing.retain(|it| it != topic || !*matched);
            }
            missing.is_empty()
        });
    }
}

type Seen = (String, Stamp);

fn start(
    session: &Session,
    file: Option<&Path>,
    definitions: Definitions,
    position: &Arc<AtomicI64>,
) -> (Outputs, Receiver<Seen>) {
    start_with(PATIENCE, session, file, definitions, position)
}

/// The same with the time that a node may take to describe a type.
fn start_with(
    describe_limit: Duration,
    session: &Session,
    file: Option<&Path>,
    definitions: Definitions,
    position: &Arc<AtomicI64>,
) -> (Outputs, Receiver<Seen>) {
    let (tell, told) = bounded(100_000);
    let options = OutputOptions {
        topics: Which::OfOthers,
        record_with_inputs: None,
        record: file.map(RecorderOptions::new),
        definitions: definitions.with_describe_limit(describe_limit),
        are_publishers_new: true,
    };
    let position = Arc::clone(position);
    let at = move || Some(Time::from_nanos(position.load(Ordering::SeqCst)));
    let on_arrival = move |arrival: &Arrival, stamp| {
        tell.try_send((arrival.topic.name.clone(), stamp)).unwrap();
    };
    let outputs = Outputs::start(session, options, at, on_arrival).unwrap();
    (outputs, told)
}

fn take(seen: &Receiver<Seen>) -> Seen {
    seen.recv_timeout(PATIENCE).expect("a message")
}

fn put(output: &mut WireOutput, topic: u32, payload: Bytes) {
    output.message(&message(topic, payload), Occasion::Due);
}

#[test]
fn outputs_are_recorded_at_the_position_of_playback_with_the_definition_of_their_node() {
    let pair = pair();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("out.mcap");
    let topic = stamped(0, "/odom");
    let _served = pair.serve(vec![topic.topic.schema.clone().unwrap()]);
    let (mut output, _) = pair
        .node
        .advertise(std::slice::from_ref(&topic), None)
        .unwrap();
    let position = Arc::new(AtomicI64::new(50));
    let definitions = Definitions::default();
    let (outputs, seen) = start(&pair.observer, Some(&path), definitions, &position);
    pair.ready(&outputs, &["/odom"]);
    let odom = Subscribed {
        topic: "/odom".to_owned(),
        node: "/under_test".to_owned(),
    };
    assert!(outputs.subscribed().contains(&odom));
    for n in 0..10 {
        position.store(100 + i64::from(n), Ordering::SeqCst);
        put(&mut output, 0, stamped_payload(7 + n, n));
        let expected = Stamp::Read(Time::from_secs(i64::from(7 + n)));
        assert_eq!(take(&seen), ("/odom".to_owned(), expected));
    }
    assert_eq!(outputs.messages(), 10);
    let OutputsEnd {
        topics, recorded, ..
    } = outputs.finish();
    let recorded = recorded.unwrap();
    assert!(
        recorded.error.is_none() && recorded.notes.is_empty(),
        "{recorded:?}"
    );
    assert_eq!(topics.len(), 1);
    let counts = (topics[0].messages, topics[0].lost, topics[0].unrecorded);
    assert_eq!((topics[0].topic.as_str(), counts), ("/odom", (10, 0, 0)));
    assert_eq!(
        (topics[0].type_name.as_str(), topics[0].bytes),
        ("test_msgs/msg/Stamped", 240)
    );
    let bag = Bag::open(&[&path]).unwrap();
    let all = bag.cursor(
        &Selection::all(&bag),
        StartAt::At(Time::MIN),
        Direction::Forward,
    );
    let times: Vec<i64> = all.map(|it| it.unwrap().log_time.as_nanos()).collect();
    assert_eq!(times, (100..110).collect::<Vec<_>>());
    let found = &bag.topics()[0];
    let described = |topic: &Topic| {
        let schema = topic.schema.as_ref().unwrap();
        TypeDescription::read(&schema.name, &schema.data).unwrap()
    };
    assert_eq!(described(found), described(&topic.topic));
    assert_eq!(found.offered_qos, [Qos::default()]);
    assert!(found.type_hash.is_some());
}

/// A recording with one ROS 1 message.
fn old_bag() -> Bag {
    let channel = ChannelSpec::ros1("/old", "std_msgs/String", "string data\n");
    bag(&ros1_file(&[channel], &[(0, 1, &string("x"))]))
}

/// Topics that are sent: this one, one of ROS 1, and one that is not recorded.
fn sent_topics(recorded: &Topic) -> [Played; 3] {
    let named = |id, name, topic: &Topic| Played {
        topic: topic.clone(),
        ..stamped(id, name)
    };
    [
        named(1, "/played", recorded),
        named(2, "/old", &old_bag().topics()[0]),
        stamped(7, "/unrecorded"),
    ]
}

/// A recording, and its messages sorted: topic, log time, payload.
fn sorted(file: &Path) -> (Bag, Vec<(String, i64, Bytes)>) {
    let bag = Bag::open(&[file]).unwrap();
    let all = Selection::all(&bag);
    let cursor = bag.cursor(&all, StartAt::At(Time::MIN), Direction::Forward);
    let message = |it: Message| {
        let name = bag.topics()[it.topic.index()].name.clone();
        (name, it.log_time.as_nanos(), it.payload)
    };
    let mut read: Vec<_> = cursor.map(|it| message(it.unwrap())).collect();
    read.sort();
    (bag, read)
}

#[test]
fn inputs_and_outputs_are_in_one_recording_and_the_outputs_alone_in_another() {
    let pair = pair();
    let dir = tempfile::tempdir().unwrap();
    let [alone, both] = ["outputs.mcap", "both.mcap"].map(|name| dir.path().join(name));
    let (topic, played) = (stamped(0, "/odom"), stamped(1, "/recorded"));
    let (mut output, _) = pair
        .node
        .advertise(std::slice::from_ref(&topic), None)
        .unwrap();
    let (tell, seen) = bounded(10);
    let position = Arc::new(AtomicI64::new(0));
    let at = Arc::clone(&position);
    let place = move || Time::from_nanos(at.load(Ordering::SeqCst));
    let of_outputs = place.clone();
    let options = OutputOptions {
        topics: Which::OfOthers,
        record: Some(RecorderOptions::new(&alone)),
        record_with_inputs: Some(RecorderOptions::new(&both)),
        definitions: Definitions::new([&topic.topic], AmentIndex::default()),
        are_publishers_new: true,
    };
    let on_arrival = move |_: &Arrival, stamp| tell.send(stamp).unwrap();
    let outputs = Outputs::start(
        &pair.observer,
        options,
        move || Some(of_outputs()),
        on_arrival,
    )
    .unwrap();
    pair.ready(&outputs, &["/odom"]);
    let qos = Qos {
        reliability: Reliability::BestEffort,
        ..Qos::default()
    };
    let recorded = Topic {
        offered_qos: vec![qos],
        ..played.topic
    };
    let sent = sent_topics(&recorded);
    let as_sent = Transcoder::ros2_form(&sent[1].topic);
    // What this session itself publishes is no output.
    let (sender, _) = pair.observer.advertise(&sent, None).unwrap();
    let inputs = [
        PlayedTopic {
            id: TopicId(1),
            as_sent: &recorded,
            name: "/played",
        },
        PlayedTopic {
            id: TopicId(2),
            as_sent: &as_sent,
            name: "/old",
        },
    ];
    let mut both_ways = RecordInputs::new(sender, outputs.input_recorder(), inputs, place);
    let mut taken = Vec::new();
    for n in 1..4 {
        // Played at a later time than its log time, as a message that is out of order in the recording.
        let at = 100 * i64::from(n);
        position.store(at, Ordering::SeqCst);
        let input = message(1, stamped_payload(n, n));
        both_ways.message(&input, Occasion::Due);
        both_ways.message(&message(2, string("x").into()), Occasion::Due);
        // It is no message of its type, so it is not sent.
        let dropped = both_ways.message(&message(2, vec![9, 0].into()), Occasion::Due);
        assert_eq!(dropped, Delivery::Dropped);
        // This topic is not among the recorded ones.
        both_ways.message(&message(7, stamped_payload(n, n)), Occasion::Due);
        put(&mut output, 0, stamped_payload(n, 10 * n));
        seen.recv_timeout(PATIENCE).unwrap();
        taken.push(("/played", at, input.payload));
        taken.push(("/odom", at, stamped_payload(n, 10 * n)));
        taken.push(("/old", at, cdr_string("x").into()));
    }
    let OutputsEnd {
        topics,
        recorded: of_outputs,
        with_inputs,
        ..
    } = outputs.finish();
    assert_eq!(topics.len(), 1, "an input is no output");
    let (of_outputs, with_inputs) = (of_outputs.unwrap(), with_inputs.unwrap());
    assert_eq!((of_outputs.messages, with_inputs.messages), (3, 9));
    assert!(with_inputs.error.is_none() && with_inputs.notes.is_empty());
    let (bag, found) = sorted(&both);
    let mut expected: Vec<_> = taken
        .into_iter()
        .map(|(name, at, payload)| (name.to_owned(), at, payload))
        .collect();
    expected.sort();
    assert_eq!(found, expected);
    let found = bag.topics().iter().find(|it| it.name == "/played").unwrap();
    assert_eq!(found.offered_qos, [qos]);
    assert_eq!(found.schema, recorded.schema);
    let old = bag.topics().iter().find(|it| it.name == "/old").unwrap();
    assert_eq!(
        (old.type_name(), &*old.encoding),
        ("std_msgs/msg/String", "cdr")
    );
    expected.retain(|(name, ..)| name == "/odom");
    assert_eq!(sorted(&alone).1, expected);
}

/// A file that takes nothing until it is read; returns its reading end. `begin` opens the writing end at the same time,
/// because each end waits to be opened until the other is.
fn slow_disk<T>(path: &Path, begin: impl FnOnce() -> T) -> (std::fs::File, T) {
    let made = std::process::Command::new("mkfifo").arg(path).status();
    assert!(made.unwrap().success());
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| std::fs::File::open(path).unwrap());
        let started = begin();
        (reader.join().unwrap(), started)
    })
}

#[test]
fn outputs_that_wait_for_the_disk_are_in_hand_and_hold_no_lock() {
    let pair = pair();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("out.mcap");
    let topic = stamped(0, "/image");
    let (mut output, _) = pair
        .node
        .advertise(std::slice::from_ref(&topic), None)
        .unwrap();
    let definitions = Definitions::new([&topic.topic], AmentIndex::default());
    let (tell, seen) = bounded(10);
    let (mut disk, outputs) = slow_disk(&path, || {
        let options = OutputOptions {
            topics: Which::OfOthers,
            record_with_inputs: None,
            record: Some(RecorderOptions {
                queue_bytes: 1,
                longest_wait: Duration::from_secs(3600),
                ..RecorderOptions::new(&path)
            }),
            definitions,
            are_publishers_new: true,
        };
        let on_arrival = move |arrival: &Arrival, _| tell.send(arrival.sequence).unwrap();
        Outputs::start(&pair.observer, options, || Some(Time::ZERO), on_arrival).unwrap()
    });
    pair.ready(&outputs, &["/image"]);
    let in_hand = outputs.in_hand();
    assert!(in_hand.is_empty());
    // More than a pipe and a chunk take.
    for n in 0..2 {
        let mut payload = stamped_payload(n, n).to_vec();
        payload.extend(incompressible(2 * u64::from(n.unsigned_abs()) + 1, 2 << 20));
        put(&mut output, 0, payload.into());
    }
    assert_eq!(seen.recv_timeout(PATIENCE), Ok(Some(1)));
    // What is known of the second one can be asked for although its thread waits.
    until("the second one", || outputs.messages() == 2);
    assert_eq!(outputs.topics()[0].messages, 2);
    assert!(!in_hand.is_empty() && seen.is_empty());
    let reader = std::thread::spawn(move || std::io::copy(&mut disk, &mut std::io::sink()));
    assert_eq!(seen.recv_timeout(PATIENCE), Ok(Some(2)));
    until("all are handed on", || in_hand.is_empty());
    let recorded = outputs.finish().recorded.unwrap();
    assert!(recorded.error.is_none(), "{recorded:?}");
    assert_eq!(recorded.messages, 2);
    assert_eq!(reader.join().unwrap().unwrap(), recorded.bytes);
}

#[test]
fn equal_outputs_have_equal_digests_and_different_ones_do_not() {
    let run = |values: [i32; 4], at_once: i64, swap: bool| {
        let pair = pair();
        let topics = [stamped(0, "/a"), stamped(1, "/b")];
        let (mut output, _) = pair.node.advertise(&topics, None).unwrap();
        let position = Arc::new(AtomicI64::new(0));
        let definitions =
            Definitions::new(topics.iter().map(|it| &it.topic), AmentIndex::default());
        let (outputs, seen) = start(&pair.observer, None, definitions, &position);
        pair.ready(&outputs, &["/a", "/b"]);
        for (n, value) in (0..).zip(values) {
            position.store(n / at_once, Ordering::SeqCst);
            let topic = u32::from((n % 2 == 0) == swap);
            let value = if swap {
                values[usize::try_from(n ^ 1).unwrap()]
            } else {
                value
            };
            put(&mut output, topic, stamped_payload(1, value));
            take(&seen);
        }
        outputs.finish().digest
    };
    let first = run([1, 2, 3, 4], 2, false);
    assert_eq!(first, run([1, 2, 3, 4], 2, false));
    assert_eq!(first, run([1, 2, 3, 4], 2, true), "the order of topics");
    assert_ne!(first, run([1, 2, 3, 5], 2, false));
    assert_ne!(first, run([1, 2, 3, 4], 1, false));
}

#[test]
fn a_type_that_nobody_defines_is_said_and_recorded() {
    let pair = pair();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("out.mcap");
    // It answers, but does not know the type.
    let _served = pair.serve(Vec::new());
    let (mut output, _) = pair.node.advertise(&[stamped(0, "/odom")], None).unwrap();
    let position = Arc::default();
    let (outputs, seen) = start(
        &pair.observer,
        Some(&path),
        Definitions::default(),
        &position,
    );
    pair.ready(&outputs, &["/odom"]);
    put(&mut output, 0, stamped_payload(1, 2));
    assert_eq!(take(&seen).1, Stamp::Absent);
    let recorded = outputs.finish().recorded.unwrap();
    assert_eq!(
        recorded.notes,
        [
            "/odom (test_msgs/msg/Stamped) has no definition, so its messages cannot be decoded (the recording does not have the \
          type; its node: /under_test: it answers: Type not currently in use by this node; installed packages: \
          AMENT_PREFIX_PATH is not set)"
        ]
    );
    let bag = Bag::open(&[&path]).unwrap();
    assert_eq!(bag.topics()[0].type_name(), "test_msgs/msg/Stamped");
    assert_eq!(bag.message_count(), Some(1));
}

/// Messages wait for their definitions, and a gate for stamps. A topic whose definition is known waits for no node.
#[test]
fn a_node_that_does_not_answer_delays_no_definition_of_others_and_is_asked_once() {
    beside_a_silent_node(PATIENCE, |outputs, kept| {
        assert_eq!(outputs.undefined().len(), 3);
        // A query that is dropped ends without an answer.
        until("the end of the look-up", || {
            kept.try_iter().for_each(drop);
            outputs.undefined().is_empty()
        });
    });
    beside_a_silent_node(Duration::from_millis(100), |outputs, kept| {
        until("the end of the look-up", || outputs.undefined().is_empty());
        until("a request", || !kept.is_empty());
        assert_eq!(kept.len(), 1, "asked once, for three types");
    });
}

/// Receives the outputs of a node that keeps what it is asked, once a topic that is recorded is looked up.
fn beside_a_silent_node(limit: Duration, then: impl FnOnce(&Outputs, &Receiver<Query>)) {
    let (observer, _events, endpoint) = router(|_| ());
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("out.mcap");
    let recorded = stamped(0, "/recorded");
    let definitions = Definitions::new([&recorded.topic], AmentIndex::default());
    let other = peer(&endpoint);
    let zid = other.zid();
    let token = |entity: u32, kind: &str, name: &str, dds_type: &str, hash: &str| {
        let key = format!(
            "@ros2_lv/0/{zid}/0/{entity}/{kind}/%/%/silent/{name}/{dds_type}/{hash}/::,10:,:,:,,"
        );
        other.liveliness().declare_token(key).wait().unwrap()
    };
    let service = "type_description_interfaces::srv::dds_::GetTypeDescription_";
    let hash = |digit: &str| format!("RIHS01_{}", digit.repeat(64));
    let (keep, kept) = bounded(100);
    let key = format!("0/silent/get_type_description/{service}/{}", hash("1"));
    // A query that is kept is not answered.
    let queryable = other.declare_queryable(key).complete(true);
    let _server = queryable
        .callback(move |query| drop(keep.try_send(query)))
        .wait()
        .unwrap();
    let mut tokens = vec![token(
        1,
        "SS",
        "%silent%get_type_description",
        service,
        &hash("1"),
    )];
    for number in 2..5 {
        let (name, dds_type) = (
            format!("%odd{number}"),
            format!("test_msgs::msg::dds_::Odd{number}_"),
        );
        tokens.push(token(number, "MP", &name, &dds_type, &hash("2")));
    }
    tokens.push(token(
        5,
        "MP",
        "%recorded",
        "test_msgs::msg::dds_::Stamped_",
        "TypeHashNotSupported",
    ));
    until("the tokens", || {
        observer.graph().tokens().len() == tokens.len()
    });
    let position = Arc::default();
    let (outputs, _seen) = start_with(limit, &observer, Some(&path), definitions, &position);
    let recorded = ["/recorded".to_owned()];
    assert_eq!(outputs.wait_for(&recorded, PATIENCE), [""; 0]);
    then(&outputs, &kept);
}

#[test]
fn latched_outputs_from_before_are_outputs_and_topics_that_are_missing_are_named() {
    let pair = pair();
    let latched = Qos {
        durability: Durability::TransientLocal,
        history: History::KeepLast(2),
        ..Qos::default()
    };
    let map = Played {
        qos: Some(latched),
        ..stamped(0, "/map")
    };
    let (mut output, _) = pair
        .node
        .advertise(std::slice::from_ref(&map), None)
        .unwrap();
    for n in 0..2 {
        put(&mut output, 0, stamped_payload(n, n));
    }
    let position = Arc::default();
    let definitions = Definitions::new([&map.topic], AmentIndex::default());
    let (outputs, seen) = start(&pair.observer, None, definitions, &position);
    assert_eq!([take(&seen).0, take(&seen).0], ["/map", "/map"]);
    until("the definition", || outputs.undefined().is_empty());
    let names = ["/map".to_owned(), "/never".to_owned()];
    // The messages may come before the subscription is known as complete.
    until("the publisher", || {
        outputs.wait_for(&names[..1], Duration::ZERO).is_empty()
    });
    assert_eq!(outputs.wait_for(&names, Duration::ZERO), ["/never"]);
    let topics = outputs.topics();
    assert_eq!((topics[0].messages, topics[0].lost), (2, 0));
}

#[test]
fn what_cannot_be_received_is_named() {
    let (observer, _events, endpoint) = router(|_| ());
    let definitions = Definitions::default();
    let (outputs, _seen) = start(&observer, None, definitions, &Arc::default());
    assert_eq!(outputs.not_received(), []);
    let node = peer(&endpoint);
    let zid = node.zid();
    // The empty part of its name cannot be a part of a key.
    let token = format!(
        "@ros2_lv/0/{zid}/0/5/MP/%/%/odd/%a%%b/std_msgs::msg::dds_::String_/TypeHashNotSupported/::,10:,:,:,,"
    );
    let _token = node.liveliness().declare_token(token).wait().unwrap();
    until("it is known", || !outputs.not_received().is_empty());
    let refused = outputs.finish().not_received;
    let named: Vec<_> = refused.iter().map(|it| (&*it.topic, &*it.node)).collect();
    assert_eq!(named, [("/a//b", "/odd")]);
    assert!(
        refused[0].why.contains("cannot carry that name"),
        "{refused:?}"
    );
}
