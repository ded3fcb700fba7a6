//! Messages and the clock as subscribers get them.

use bagplay::bag::{Direction, Selection, StartAt};
use bagplay::output::{Delivery, Occasion, Output};
use bagplay::ros::Durability;
use bagplay::ros1::{Ros1Event, Ros1Played, Ros1SkipReason};
use bagplay::time::{Duration, Time};

use super::peer::{Subscriber, Val, call, text, texts, try_call};
use super::{Joined, STRING, hour, latched, message, send, strings};
use crate::support::mcaps::bag;
use crate::support::patience::until;
use crate::support::ros1::{ChannelSpec, ros1_file};

#[test]
fn messages_arrive_in_order_as_recorded() {
    let player = Joined::player();
    let mut output = player.advertise(&[strings(0, "/chatter"), strings(1, "other")]);
    let mut subscriber = Subscriber::of_topic(&player.master, "/listener", "/chatter");
    let header = &subscriber.header;
    for (key, value) in [
        ("callerid", "/player"),
        ("latching", "0"),
        ("md5sum", STRING),
        ("message_definition", "string data\n"),
        ("topic", "/chatter"),
        ("type", "std_msgs/String"),
    ] {
        assert_eq!(header.get(key).map(String::as_str), Some(value));
    }
    player.joined("/listener");
    let large = vec![7; 3 << 20];
    let payloads = [b"one".to_vec(), Vec::new(), large, b"last".to_vec()];
    for payload in &payloads {
        send(&mut output, &message(1, 0, 0, "for nobody"));
        send(&mut output, &message(0, 0, 0, payload.clone()));
    }
    for payload in &payloads {
        assert_eq!(subscriber.message().unwrap(), *payload);
    }
    drop(player);
    assert_eq!(subscriber.message(), None);
}

#[test]
fn a_late_subscriber_gets_the_last_message_of_each_publisher() {
    let player = Joined::player();
    let topics = [latched(0, "/map"), latched(1, "/tf_static")];
    let mut output = player.advertise(&topics);
    for (publisher, at, payload) in [(1, 0, "a1"), (2, 1, "b1"), (1, 2, "a2")] {
        send(&mut output, &message(0, publisher, at, payload));
        send(&mut output, &message(1, 0, at, payload));
    }
    // Sent again, as after a jump.
    send(&mut output, &message(1, 0, 0, "a1"));
    let mut map = Subscriber::of_topic(&player.master, "/late", "/map");
    assert_eq!(map.header["latching"], "1");
    let mut transforms = Subscriber::of_topic(&player.master, "/late", "/tf_static");
    player.joined("/late");
    player.joined("/late");
    send(&mut output, &message(0, 2, 3, "b2"));
    let got = [map.message(), map.message(), map.message()];
    assert_eq!(got.map(Option::unwrap), [b"a2", b"b1", b"b2"]);
    // Publishers of transforms are not told apart here, and all of them count.
    let got = [
        transforms.message(),
        transforms.message(),
        transforms.message(),
    ];
    assert_eq!(got.map(Option::unwrap), [b"a1", b"b1", b"a2"]);
}

#[test]
fn publishers_of_a_recording_are_told_apart() {
    let channel = |caller: &'static [(&str, &str)]| ChannelSpec {
        metadata: caller,
        ..ChannelSpec::ros1("/map", "std_msgs/String", "string data\n")
    };
    let channels = [
        channel(&[("callerid", "/a"), ("latching", "1")]),
        channel(&[("callerid", "/b"), ("latching", "1")]),
    ];
    let messages: [(usize, u64, &[u8]); 3] = [(0, 1, b"a1"), (1, 2, b"b1"), (0, 3, b"a2")];
    let recording = bag(&ros1_file(&channels, &messages));
    let map = Ros1Played {
        topic: recording.topics()[0].clone(),
        ..strings(0, "/map")
    };
    let player = Joined::player();
    let mut output = player.advertise(&[map]);
    let all = Selection::all(&recording);
    for message in recording.cursor(&all, StartAt::At(Time::MIN), Direction::Forward) {
        send(&mut output, &message.unwrap());
    }
    let mut late = Subscriber::of_topic(&player.master, "/late", "/map");
    let got = [late.message(), late.message()];
    assert_eq!(got.map(Option::unwrap), [b"a2", b"b1"]);
}

#[test]
fn who_expects_another_type_or_sends_nonsense_is_refused_alone() {
    let player = Joined::player();
    let mut output = player.advertise(&[strings(0, "/chatter")]);
    let mut good = Subscriber::of_topic(&player.master, "/good", "/chatter");
    player.joined("/good");
    let node = call(&player.master, "lookupNode", &[text("/x"), text("/player")]);
    let mut other = Subscriber::connect(node.str(), "/other", "/chatter", &"0".repeat(32));
    assert!(
        other.header["error"].contains("/chatter is std_msgs/String"),
        "{other:?}"
    );
    assert_eq!(other.message(), None);
    let node_name = player.event("mismatch", |event| match event {
        Ros1Event::TypeMismatch { node, .. } => Some(node.clone()),
        _ => None,
    });
    assert_eq!(node_name, "/other");
    let mut odd = Subscriber::connect(node.str(), "/odd", "/chatter", STRING);
    player.joined("/odd");
    odd.send(b"nonsense");
    assert_eq!(odd.message(), None);
    let unknown = [
        text("/x"),
        text("/unknown"),
        Val::List(vec![texts(&["TCPROS"])]),
    ];
    assert_eq!(
        try_call(node.str(), "requestTopic", &unknown).unwrap().0,
        -1
    );
    let udp = [
        text("/x"),
        text("/chatter"),
        Val::List(vec![texts(&["UDPROS"])]),
    ];
    assert_eq!(try_call(node.str(), "requestTopic", &udp).unwrap().0, 0);
    send(&mut output, &message(0, 0, 0, "still"));
    assert_eq!(good.message().unwrap(), b"still");
}

#[test]
fn the_clock_is_repeated_while_another_output_waits() {
    let player = Joined::player();
    let (mut output, _, _) = player.node.advertise(&[], true).unwrap();
    let mut follower = Subscriber::of_topic(&player.master, "/follower", "/clock");
    player.joined("/follower");
    output.clock(Time::from_millis(7_000));
    output.waits_elsewhere(true);
    let seven = [7u32.to_le_bytes(), [0; 4]].concat();
    for _ in 0..4 {
        assert_eq!(follower.message().unwrap(), seven);
    }
    output.waits_elsewhere(false);
    output.clock(Time::from_millis(8_000));
    let eight = [8u32.to_le_bytes(), [0; 4]].concat();
    until("a later time", || follower.message().unwrap() == eight);
    // Never an earlier one again.
    output.waits_elsewhere(true);
    assert_eq!(follower.message().unwrap(), eight);
}

#[test]
fn the_clock_is_published_as_long_as_it_is_served() {
    let player = Joined::player();
    let json = {
        let mut topic = strings(0, "/json");
        topic.topic.encoding = "json".to_owned();
        topic
    };
    let (mut output, _, skipped) = player.node.advertise(&[json], true).unwrap();
    assert_eq!(
        skipped[0].reason,
        Ros1SkipReason::Encoding("json".to_owned())
    );
    let mut follower = Subscriber::of_topic(&player.master, "/follower", "/clock");
    assert_eq!(
        follower.header["md5sum"],
        "a9c97c1d230cfc112e270351a944ee47"
    );
    player.joined("/follower");
    output.clock(Time::from_millis(3_000_000_000_001));
    let bytes = follower.message().unwrap();
    let halves: (&[u8], &[u8]) = bytes.split_at(4);
    assert_eq!(halves.0, 3_000_000_000_u32.to_le_bytes());
    assert_eq!(halves.1, 1_000_000_u32.to_le_bytes());
    // Before 1970 there are no times.
    output.clock(Time::from_millis(-1));
    player.event("warning", |event| {
        matches!(event, Ros1Event::Warning(_)).then_some(())
    });
    assert!(!output.serve_clock(None));
    assert_eq!(follower.message(), None);
    let published = || {
        call(
            &player.master,
            "getPublishedTopics",
            &[text("/x"), text("")],
        )
    };
    until("the end of the clock", || published() == Val::List(vec![]));
    assert!(output.serve_clock(Some(Duration::from_millis(10))));
    let clock = Val::List(vec![texts(&["/clock", "rosgraph_msgs/Clock"])]);
    until("the clock", || published() == clock);
}

#[test]
fn the_node_tells_about_itself() {
    let player = Joined::player();
    let _output = player.advertise(&[strings(0, "/chatter")]);
    let node = call(&player.master, "lookupNode", &[text("/x"), text("/player")]);
    let ask = |method: &str| call(node.str(), method, &[text("/x")]);
    let pid = i64::from(std::process::id());
    assert_eq!(ask("getPid"), Val::Int(pid));
    assert_eq!(ask("getName"), text("/player"));
    assert_eq!(ask("getMasterUri"), text(&player.master));
    let topics = Val::List(vec![texts(&["/chatter", "std_msgs/String"])]);
    assert_eq!(ask("getPublications"), topics);
    assert_eq!(ask("getSubscriptions"), Val::List(vec![]));
    let _subscriber = Subscriber::of_topic(&player.master, "/listener", "/chatter");
    player.joined("/listener");
    let connection = [
        Val::Int(0),
        text("/listener"),
        text("o"),
        text("TCPROS"),
        text("/chatter"),
        Val::Bool(true),
    ];
    let connections = Val::List(vec![Val::List(connection.to_vec())]);
    assert_eq!(ask("getBusInfo"), connections);
    assert_eq!(try_call(node.str(), "nothing", &[]).unwrap().0, -1);
}

#[test]
fn a_late_subscriber_gets_nothing_that_comes_after_the_position() {
    let player = Joined::player();
    let topics = [latched(0, "/map"), latched(1, "/tf_static")];
    let mut output = player.advertise(&topics);
    output.segment(&hour());
    for (publisher, at, payload) in [(1, 1_000, "a1"), (2, 5_000, "b5"), (1, 6_000, "a6")] {
        send(&mut output, &message(0, publisher, at, payload));
        send(&mut output, &message(1, 0, at, payload));
    }
    output.segment(&hour().seek(Time::from_secs(2)));
    // As the player sends them again.
    for topic in 0..2 {
        let again = message(topic, 1 - topic, 1_000, "a1");
        assert_eq!(output.message(&again, Occasion::Refill), Delivery::Sent);
    }
    let mut late = ["/map", "/tf_static"].map(|topic| {
        let subscriber = Subscriber::of_topic(&player.master, "/late", topic);
        player.joined("/late");
        subscriber
    });
    for (topic, subscriber) in (0..).zip(&mut late) {
        send(&mut output, &message(topic, 1, 2_500, "a2"));
        assert_eq!(subscriber.message().unwrap(), b"a1");
        assert_eq!(subscriber.message().unwrap(), b"a2");
    }
    // What does not jump forgets nothing.
    output.segment(&hour().seek(Time::from_secs(2)));
    let mut later = Subscriber::of_topic(&player.master, "/later", "/map");
    assert_eq!(later.message().unwrap(), b"a2");
}

#[test]
fn if_nothing_is_sent_again_a_late_subscriber_gets_what_was_sent_up_to_the_position() {
    let player = Joined::player();
    // The player sends nothing again of a topic that only the options make latched.
    let made_latched = Ros1Played {
        durability: Some(Durability::TransientLocal),
        ..strings(1, "/status")
    };
    let mut output = player.advertise(&[latched(0, "/map"), made_latched]);
    output.segment(&hour());
    for topic in 0..2 {
        for (publisher, at, payload) in [(1, 1_000, "a1"), (2, 5_000, "b5")] {
            send(&mut output, &message(topic, publisher, at, payload));
        }
    }
    output.segment(&hour().seek(Time::from_secs(2)));
    for (topic, name) in (0..).zip(["/map", "/status"]) {
        let mut late = Subscriber::of_topic(&player.master, "/late", name);
        player.joined("/late");
        send(&mut output, &message(topic, 2, 3_000, "b3"));
        assert_eq!(late.message().unwrap(), b"a1");
        assert_eq!(late.message().unwrap(), b"b3");
    }
    output.segment(&hour().seek(Time::from_millis(500)));
    let mut late = Subscriber::of_topic(&player.master, "/later", "/status");
    player.joined("/later");
    send(&mut output, &message(1, 1, 1_000, "a1"));
    assert_eq!(late.message().unwrap(), b"a1");
}

#[test]
fn a_node_that_follows_the_clock_counts_also_if_the_master_does_not_know_it() {
    let player = Joined::player();
    let (_output, monitor, _) = player.node.advertise(&[], true).unwrap();
    assert_eq!(monitor.clock_subscribers(), Some(vec![]));
    let node = call(&player.master, "lookupNode", &[text("/x"), text("/player")]);
    let follower = Subscriber::connect(node.str(), "/follower", "/clock", "*");
    player.joined("/follower");
    let followers = || monitor.clock_subscribers().unwrap();
    assert_eq!(followers(), ["/follower"]);
    drop(follower);
    until("the end of the follower", || followers().is_empty());
}
