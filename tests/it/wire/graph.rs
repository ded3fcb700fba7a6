//! The tokens of a session as other nodes see them, and events about other nodes.

use bagplay::output::{Occasion, Output};
use bagplay::wire::{ClockOptions, Distro, Session, WireEvent, WireOptions};
use crossbeam_channel::bounded;
use zenoh::Wait;
use zenoh::sample::SampleKind;

use crate::support::network::{
    CLOCK_HASH, Relay, STRING, STRING_HASH, endpoints_of_both_sessions, free_endpoint, message,
    node, number, open, options, payload, peer, played, router, subscribe, take, token,
};
use crate::support::patience::{PATIENCE, until};

const CLOCK: &str = "rosgraph_msgs::msg::dds_::Clock_";

#[test]
fn tokens_are_those_of_a_ros_node() {
    let (session, _, endpoint) = router(|options: &mut WireOptions| {
        options.node_name = "/robot1/player".to_owned();
        options.domain_id = Some(7);
    });
    let clock = ClockOptions {
        hz: Some(40.0),
        per_message: true,
    };
    let (output, _) = session
        .advertise(
            &[played(0, "/chatter", None), played(1, "ns/other", None)],
            Some(clock),
        )
        .unwrap();
    let node = peer(&endpoint);
    let (tell, tokens) = bounded(100);
    let _watch = node
        .liveliness()
        .declare_subscriber("@ros2_lv/7/**")
        .history(true)
        .callback(move |sample| {
            let is_there = sample.kind() == SampleKind::Put;
            drop(tell.try_send((is_there, sample.key_expr().to_string())));
        })
        .wait()
        .unwrap();
    let take = || tokens.recv_timeout(PATIENCE).expect("a token");
    let mut seen: Vec<(bool, String)> = (0..4).map(|_| take()).collect();
    seen.sort();
    let zid = session.zid();
    let own = "%/%robot1/player";
    let node_token = format!("@ros2_lv/7/{zid}/0/0/NN/{own}");
    assert_eq!(
        seen,
        [
            (true, node_token.clone()),
            (
                true,
                format!(
                    "@ros2_lv/7/{zid}/0/1/MP/{own}/%chatter/{STRING}/{STRING_HASH}/::,10:,:,:,,"
                )
            ),
            (
                true,
                format!(
                    "@ros2_lv/7/{zid}/0/2/MP/{own}/%ns%other/{STRING}/{STRING_HASH}/::,10:,:,:,,"
                )
            ),
            (
                true,
                format!("@ros2_lv/7/{zid}/0/3/MP/{own}/%clock/{CLOCK}/{CLOCK_HASH}/2::,1:,:,:,,")
            ),
        ]
    );
    drop(output);
    let gone: Vec<(bool, String)> = (0..3).map(|_| take()).collect();
    assert!(
        gone.iter()
            .all(|(is_there, key)| !is_there && key.contains("/MP/")),
        "{gone:?}"
    );
    session.close();
    assert_eq!(take(), (false, node_token));
}

#[test]
fn nodes_that_come_and_go_are_reported() {
    let (session, events, endpoint) = router(|_| ());
    let clock = ClockOptions {
        hz: Some(40.0),
        per_message: false,
    };
    let (output, _) = session
        .advertise(&[played(0, "/chatter", None)], Some(clock))
        .unwrap();
    let node = peer(&endpoint);
    let declare = |kind: &str, topic: &str, dds_type: &str, hash: &str| {
        let key = token(&node, kind, topic, dds_type, hash);
        node.liveliness().declare_token(key).wait().unwrap()
    };
    let (topic, listener) = ("/chatter".to_owned(), "/listener".to_owned());

    let subscription = declare("MS", "/chatter", STRING, STRING_HASH);
    let joined = WireEvent::SubscriberJoined {
        topic: topic.clone(),
        node: listener.clone(),
    };
    events.wait("subscriber", |event| *event == joined);
    let graph = session.graph();
    assert_eq!(graph.subscribers("/chatter", "std_msgs/msg/String"), 1);
    assert_eq!(output.monitor().topics()[0].subscribers, 1);
    assert!(
        !output.monitor().is_ready(bagplay::bag::TopicId(0)),
        "a token is no route"
    );
    subscription.undeclare().wait().unwrap();
    let left = WireEvent::SubscriberLeft {
        topic: topic.clone(),
        node: listener.clone(),
    };
    events.wait("leaving", |event| *event == left);

    let _other = declare("MS", "/chatter", STRING, "TypeHashNotSupported");
    let mismatch = events.wait("mismatch", |event| {
        matches!(event, WireEvent::TypeMismatch { .. })
    });
    let text = mismatch.to_string();
    assert!(
        text.contains(STRING_HASH) && text.contains("Humble") && text.contains("/listener"),
        "{text}"
    );

    let _publisher = declare("MP", "/chatter", STRING, STRING_HASH);
    let foreign = WireEvent::ForeignPublisher {
        topics: vec![topic],
        node: listener.clone(),
    };
    events.wait("publisher", |event| *event == foreign);

    let _clock = declare("MP", "/clock", CLOCK, CLOCK_HASH);
    let foreign = WireEvent::ForeignClock {
        node: listener.clone(),
    };
    events.wait("clock", |event| *event == foreign);
    assert_eq!(graph.foreign_clock(), Some(listener.clone()));

    let _follower = declare("MS", "/clock", CLOCK, CLOCK_HASH);
    let follower = WireEvent::ClockSubscriber { node: listener };
    events.wait("follower", |event| *event == follower);

    let twin = format!("@ros2_lv/0/{}/0/0/NN/%/%/rosbag2_player", node.zid());
    let _twin = node.liveliness().declare_token(twin).wait().unwrap();
    events.wait("twin", |event| {
        matches!(event, WireEvent::SameNodeName { .. })
    });
    assert_eq!(graph.same_node_name(), Some(node.zid().to_string()));
}

#[test]
fn humble_is_recognised_by_its_tokens_before_the_first_publisher() {
    let (_router, _, endpoint) = router(|_| ());
    let node = peer(&endpoint);
    let key = token(&node, "MS", "/chatter", STRING, "TypeHashNotSupported");
    let _token = node.liveliness().declare_token(key).wait().unwrap();
    let mut options = options(&[], &[endpoint]);
    options.node_name = "second".to_owned();
    let (session, events) = open(&options);
    // The token is known before the first publisher is declared.
    let is_seen = |session: &Session| session.graph().nodes().contains(&"/listener".to_owned());
    until("the token", || is_seen(&session));
    let (_output, _) = session
        .advertise(&[played(0, "/chatter", None)], None)
        .unwrap();
    let joined = |event: &WireEvent| matches!(event, WireEvent::SubscriberJoined { .. });
    events.wait("the Humble subscriber", joined);

    options.distro = Distro::Jazzy;
    let (session, events) = open(&options);
    until("the token", || is_seen(&session));
    let (_output, _) = session
        .advertise(&[played(0, "/chatter", None)], None)
        .unwrap();
    events.wait("mismatch", |event| {
        matches!(event, WireEvent::TypeMismatch { .. })
    });
}

#[test]
fn three_hundred_tokens_are_read() {
    let (_router, _, endpoint) = router(|_| ());
    let node = peer(&endpoint);
    let _tokens: Vec<_> = (0..300)
        .map(|n| {
            let key = token(&node, "MS", &format!("/t{n}"), STRING, STRING_HASH);
            node.liveliness().declare_token(key).wait().unwrap()
        })
        .collect();
    let (session, events) = open(&options(&[], &[endpoint]));
    let (_output, _) = session
        .advertise(&[played(0, "/t299", None)], None)
        .unwrap();
    events.wait("subscriber", |event| {
        matches!(event, WireEvent::SubscriberJoined { .. })
    });
}

#[test]
fn a_subscriber_counts_when_the_session_that_puts_has_a_link_to_it() {
    let (session, events, endpoint) = router(|_| ());
    let topics = [played(0, "/chatter", None)];
    let (mut output, _) = session.advertise(&topics, None).unwrap();
    let zid = session.zid();
    let [main, blocking_puts] = endpoints_of_both_sessions(&endpoint, &zid);
    // Nothing listens there yet: the node tries again until something does.
    let later = free_endpoint();
    let connect = format!("[{main:?},{later:?}]");
    let settings = [
        ("connect/endpoints", connect.as_str()),
        ("scouting/gossip/enabled", "false"),
    ];
    let node = node("\"peer\"", "", &settings);
    let (_subscriber, received) = subscribe(&node, "0/chatter/**");
    let token = token(&node, "MS", "/chatter", STRING, STRING_HASH);
    let _token = node.liveliness().declare_token(token).wait().unwrap();
    until("the node", || session.graph().nodes() == ["/listener"]);
    assert_eq!(output.monitor().topics()[0].subscribers, 0);
    let _relay = Relay::between(later, &blocking_puts);
    let joined = events.wait("a subscriber", |event| {
        matches!(event, WireEvent::SubscriberJoined { .. })
    });
    assert!(matches!(joined, WireEvent::SubscriberJoined { node, .. } if node == "/listener"));
    output.message(&message(0, payload(7, 8)), Occasion::Due);
    assert_eq!(number(take(&received).payload()), 7);
}
