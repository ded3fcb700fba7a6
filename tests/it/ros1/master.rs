//! The master that the player serves, and how it joins another one.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bagplay::ros1::{Ros1Error, Ros1Event, Ros1Left, Ros1Node, Ros1Options};

use super::peer::{Slave, Subscriber, Val, ask, call, post, text, texts, try_call};
use super::relay::{Fate, NONSENSE, Relay};
use super::{Joined, free_master, message, send, strings};
use crate::support::patience::until;

#[test]
fn a_subscriber_that_waits_is_told_of_the_player() {
    let player = Joined::player();
    assert!(player.node.is_master());
    let slave = Slave::new();
    let params = [
        text("/waits"),
        text("/chatter"),
        text("*"),
        text(&slave.uri),
    ];
    assert_eq!(
        call(&player.master, "registerSubscriber", &params),
        Val::List(vec![])
    );
    let _output = player.advertise(&[strings(0, "/chatter")]);
    let node = call(&player.master, "lookupNode", &[text("/x"), text("/player")]);
    let (method, params) = slave.call();
    assert_eq!(method, "publisherUpdate");
    assert_eq!(params[1..], [text("/chatter"), texts(&[node.str()])]);
    let state = call(&player.master, "getSystemState", &[text("/x")]);
    let row = |nodes: &[&str]| Val::List(vec![Val::List(vec![text("/chatter"), texts(nodes)])]);
    assert_eq!(state.list()[..2], [row(&["/player"]), row(&["/waits"])]);
}

#[test]
fn parameters_are_kept_and_watched() {
    let player = Joined::player();
    let ask = |method: &str, params: &[Val]| {
        let params: Vec<Val> = [text("/n/node")].iter().chain(params).cloned().collect();
        try_call(&player.master, method, &params).unwrap()
    };
    assert_eq!(ask("getParam", &[text("/a/b")]).0, -1);
    let slave = Slave::new();
    let watched = ask("subscribeParam", &[text(&slave.uri), text("/a")]);
    assert_eq!(watched, (1, Val::Struct(BTreeMap::new())));
    assert_eq!(ask("setParam", &[text("/a/b"), Val::Int(3)]).0, 1);
    let (method, params) = slave.call();
    assert_eq!(method, "paramUpdate");
    assert_eq!(params[1..], [text("/a/b/"), Val::Int(3)]);
    let inner = BTreeMap::from([("b".to_owned(), Val::Int(3))]);
    assert_eq!(ask("getParam", &[text("/a")]), (1, Val::Struct(inner)));
    ask("setParam", &[text("~own"), Val::Bool(true)]);
    assert_eq!(
        ask("hasParam", &[text("/n/node/own")]),
        (1, Val::Bool(true))
    );
    assert_eq!(
        ask("getParamNames", &[]),
        (1, texts(&["/a/b", "/n/node/own"]))
    );
    assert_eq!(ask("deleteParam", &[text("/a")]).0, 1);
    assert_eq!(ask("hasParam", &[text("/a/b")]), (1, Val::Bool(false)));
}

#[test]
fn nonsense_does_not_disturb_the_master() {
    let player = Joined::player();
    for body in ["", "nonsense", "<methodCall></methodCall>"] {
        let answer = post(&player.master, body).unwrap();
        assert!(answer.contains("fault"), "{body}: {answer}");
    }
    for params in [
        &[][..],
        &[Val::Int(3)],
        &[text("/x"), text("/t"), text("*"), text("no uri")],
    ] {
        let (code, _) = try_call(&player.master, "registerSubscriber", params).unwrap();
        assert_eq!(code, -1, "{params:?}");
    }
    call(&player.master, "getPid", &[text("/x")]);
}

#[test]
fn several_calls_in_one_are_answered_each() {
    let player = Joined::player();
    let call = |method: &str| {
        let params = Val::List(vec![text("/x")]);
        let members = [("methodName", text(method)), ("params", params)];
        Val::Struct(members.map(|(key, value)| (key.to_owned(), value)).into())
    };
    let calls = Val::List(vec![call("getUri"), call("nothing"), call("getPid")]);
    let answers = ask(&player.master, "system.multicall", &[calls]).unwrap();
    let codes = answers
        .list()
        .iter()
        .map(|answer| &answer.list()[0].list()[0]);
    let codes: Vec<&Val> = codes.collect();
    assert_eq!(codes, [&Val::Int(1), &Val::Int(-1), &Val::Int(1)]);
}

#[test]
fn a_second_player_joins_the_master_of_the_first_and_leaves_it_as_it_was() {
    let first = Joined::player();
    let second = Joined::with(&first.master, |options| {
        options.node_name = "/second".to_owned();
        options.use_sim_time = true;
    });
    assert!(!second.node.is_master());
    let param = || {
        try_call(
            &first.master,
            "getParam",
            &[text("/x"), text("/use_sim_time")],
        )
    };
    let output = second.advertise(&[strings(0, "/chatter")]);
    assert_eq!(param().unwrap(), (1, Val::Bool(true)));
    Subscriber::of_topic(&first.master, "/listener", "/chatter");
    drop((output, second));
    assert_eq!(param().unwrap().0, -1);
    let published = call(&first.master, "getPublishedTopics", &[text("/x"), text("")]);
    assert_eq!(published, Val::List(vec![]));
}

#[test]
fn the_player_registers_again_when_the_master_was_started_again() {
    let master = Joined::with(&free_master(), |options| {
        options.node_name = "/m".to_owned();
    });
    let address = master.master.clone();
    let player = Joined::with(&address, |options| options.use_sim_time = true);
    let _output = player.advertise(&[strings(0, "/chatter")]);
    drop(master);
    player.wait_for_master(false);
    let options = Ros1Options::new(address.parse().unwrap(), "m");
    // The port may be in use for a moment after the end.
    let mut again = None;
    until("a second master", || {
        again = Ros1Node::start(&options, drop).ok();
        again.is_some()
    });
    player.wait_for_master(true);
    let topics = Val::List(vec![texts(&["/chatter", "std_msgs/String"])]);
    let published = || call(&address, "getPublishedTopics", &[text("/x"), text("")]);
    until("the topics", || published() == topics);
    let sim_time = [text("/x"), text("/use_sim_time")];
    until("time of simulation", || {
        try_call(&address, "getParam", &sim_time) == Some((1, Val::Bool(true)))
    });
}

#[test]
fn a_player_of_the_same_name_ends_the_first() {
    let master = Joined::with(&free_master(), |options| {
        options.node_name = "/m".to_owned();
    });
    let first = Joined::with(&master.master, |_| ());
    let _first = first.advertise(&[strings(0, "/chatter")]);
    let second = Joined::with(&master.master, |_| ());
    let _second = second.advertise(&[strings(0, "/chatter")]);
    let reason = first.event("end", |event| match event {
        Ros1Event::Shutdown { reason } => Some(reason.clone()),
        _ => None,
    });
    assert!(
        reason.contains("new node registered with same name"),
        "{reason}"
    );
}

#[test]
fn a_request_to_end_that_is_for_another_node_is_not_followed() {
    let player = Joined::player();
    let _output = player.advertise(&[strings(0, "/chatter")]);
    let node = call(&player.master, "lookupNode", &[text("/x"), text("/player")]);
    // A node that was killed had the port that this one has, and is back at another one.
    for (name, ends) in [("/listener", false), ("/player", true)] {
        let reason = format!("[{name}] Reason: new node registered with same name");
        call(node.str(), "shutdown", &[text("/master"), text(&reason)]);
        let is_end = |event| matches!(event, Ros1Event::Shutdown { .. });
        assert_eq!(player.events.try_iter().any(is_end), ends, "{name}");
    }
}

#[test]
fn a_master_elsewhere_that_does_not_answer_is_not_replaced() {
    let start = |uri: &str| {
        let options = Ros1Options::new(uri.parse().unwrap(), "player");
        Ros1Node::start(&options, drop).map(drop)
    };
    // Something else listens there, and never answers rightly.
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let uri = format!("http://{}/", other.local_addr().unwrap());
    let closing = std::thread::spawn(move || drop(other.accept().unwrap()));
    let error = start(&uri).unwrap_err();
    assert!(
        matches!(
            error,
            Ros1Error::OtherProgram { .. } | Ros1Error::NoMaster { .. }
        ),
        "{error}"
    );
    closing.join().unwrap();
}

#[test]
fn a_master_that_answers_nonsense_counts_as_away() {
    let master = Joined::with(&free_master(), |options| {
        options.node_name = "/m".to_owned();
    });
    // One kind of wrong answer is enough here, because one rule covers all; the starts below test each kind.
    let (relay, switch) = Relay::with_switch(&master.master, Fate::Nonsense(NONSENSE[2]));
    let player = Joined::with(&relay.uri, |_| ());
    let mut output = player.advertise(&[strings(0, "/chatter")]);
    let mut subscriber = Subscriber::of_topic(&master.master, "/listener", "/chatter");
    player.joined("/listener");
    switch.off();
    player.wait_for_master(false);
    // Nodes that are connected need no master.
    send(&mut output, &message(0, 0, 0, "payload"));
    assert_eq!(subscriber.message().unwrap(), b"payload");
    for nonsense in NONSENSE {
        let other = Relay::before(&master.master, |_| Fate::Nonsense(nonsense));
        let options = Ros1Options::new(other.uri.parse().unwrap(), "other");
        let error = Ros1Node::start(&options, drop).unwrap_err();
        assert!(matches!(error, Ros1Error::OtherProgram { .. }), "{error}");
    }
    switch.on();
    player.wait_for_master(true);
    assert_eq!(player.leave(), Ros1Left::default());
}

#[test]
fn a_master_that_stands_still_counts_as_away() {
    let master = Joined::with(&free_master(), |options| {
        options.node_name = "/m".to_owned();
    });
    let (relay, switch) = Relay::with_switch(&master.master, Fate::Silence);
    // A call passes four threads, each of which a busy machine may stop.
    let player = Joined::with(&relay.uri, |options| {
        options.patience = Duration::from_secs(10);
    });
    let mut output = player.advertise(&[strings(0, "/chatter")]);
    let mut subscriber = Subscriber::of_topic(&master.master, "/listener", "/chatter");
    player.joined("/listener");
    switch.off();
    player.wait_for_master(false);
    // Nodes that are connected need no master.
    send(&mut output, &message(0, 0, 0, "payload"));
    assert_eq!(subscriber.message().unwrap(), b"payload");
    // A player that starts now is told.
    let silent = Relay::before(&master.master, |_| Fate::Silence);
    let options = Ros1Options::new(silent.uri.parse().unwrap(), "other");
    let error = Ros1Node::start(&options, drop).unwrap_err();
    assert!(matches!(error, Ros1Error::NoMaster { .. }), "{error}");
    switch.on();
    player.wait_for_master(true);
    send(&mut output, &message(0, 0, 0, "again"));
    assert_eq!(subscriber.message().unwrap(), b"again");
}

#[test]
fn what_a_master_refuses_is_told_once_and_the_rest_is_registered() {
    let master = Joined::with(&free_master(), |options| {
        options.node_name = "/m".to_owned();
    });
    let relay = Relay::before(&master.master, |(method, body)| {
        if method.as_str() == "registerPublisher" && body.contains("/bad") {
            Fate::Refusal
        } else {
            Fate::Pass
        }
    });
    let player = Joined::with(&relay.uri, |_| ());
    let _output = player.advertise(&[strings(0, "/bad"), strings(1, "/good")]);
    let refused = |event: &Ros1Event| match event {
        Ros1Event::NotRegistered { name, reason } => Some((name.clone(), reason.clone())),
        _ => None,
    };
    let told = player.event("refusal", refused);
    assert_eq!(told, ("/bad".to_owned(), "no".to_owned()));
    let topics = Val::List(vec![texts(&["/good", "std_msgs/String"])]);
    let published = call(
        &master.master,
        "getPublishedTopics",
        &[text("/x"), text("")],
    );
    assert_eq!(published, topics);
    let mut attempts = 0;
    let mut tries_again = || {
        let calls = relay.take_changes();
        attempts += calls
            .iter()
            .filter(|(_, body)| body.contains("/bad"))
            .count();
        attempts > 2
    };
    until("another attempt", &mut tries_again);
    let others: Vec<_> = player.events.try_iter().collect();
    assert!(!others.iter().any(|event| refused(event).is_some()));
    let is_away = |event: &Ros1Event| matches!(event, Ros1Event::Master { .. });
    assert!(!others.iter().any(is_away));
}

#[test]
fn what_nodes_keep_at_the_master_has_limits() {
    let player = Joined::player();
    let slave = "http://127.0.0.1:1/";
    let long = format!("/{}", "x".repeat(2000));
    for (node, topic, kind) in [("/n", &long[..], "*"), (&long, "/t", "*")] {
        let params = [text(node), text(topic), text(kind), text(slave)];
        let (code, _) = try_call(&player.master, "registerPublisher", &params).unwrap();
        assert_ne!(code, 1);
    }
    let large = text(&"x".repeat(3 << 20));
    let set = |n: i32| {
        let params = [text("/n"), text(&format!("/p{n}")), large.clone()];
        try_call(&player.master, "setParam", &params).unwrap().0 == 1
    };
    let count = (0..20).filter(|n| set(*n)).count();
    assert!((1..10).contains(&count), "{count}");
    // Each answer is as large as a parameter.
    let get = |n: i32| {
        let params = Val::List(vec![text("/n"), text(&format!("/p{}", n % 5))]);
        let members = [("methodName", text("getParam")), ("params", params)];
        Val::Struct(members.map(|(key, value)| (key.to_owned(), value)).into())
    };
    let calls = Val::List((0..100).map(get).collect());
    let answers = ask(&player.master, "system.multicall", &[calls]).unwrap();
    let codes = answers
        .list()
        .iter()
        .map(|answer| &answer.list()[0].list()[0]);
    let good = codes.filter(|code| **code == Val::Int(1)).count();
    assert!((5..20).contains(&good), "{good}");
}

#[test]
fn connections_that_are_too_many_are_told_once() {
    let player = Joined::player();
    let authority = player.master.strip_prefix("http://").unwrap();
    let authority = authority.trim_end_matches('/');
    let open = || std::net::TcpStream::connect(authority).unwrap();
    let all: Vec<_> = (0..300).map(|_| open()).collect();
    let told = || {
        player.event("refusal", |event| match event {
            Ros1Event::TooManyConnections { what, most } => Some((*what, *most)),
            _ => None,
        })
    };
    assert_eq!(told(), ("calls of other nodes to the master", 256));
    drop(all);
    until("a place", || {
        try_call(&player.master, "getPid", &[text("/x")]).is_some()
    });
    let again = |event| matches!(event, Ros1Event::TooManyConnections { .. });
    assert!(!player.events.try_iter().any(again));
}

#[test]
fn a_clock_counts_only_while_its_node_runs() {
    let player = Joined::player();
    let master = player.master.as_str();
    let register = |node: &str, at: &str| {
        let params = [node, "/clock", "rosgraph_msgs/Clock", at].map(text);
        call(master, "registerPublisher", &params);
    };
    register("/killed", &free_master());
    let second = Joined::with(master, |options| {
        "/second".clone_into(&mut options.node_name);
    });
    until("the end of the node that was killed", || {
        second.node.foreign_clock().is_none()
    });
    // It takes connections and does not answer, like a process that is stopped.
    let stopped = TcpListener::bind("127.0.0.1:0").unwrap();
    register(
        "/stopped",
        &format!("http://{}/", stopped.local_addr().unwrap()),
    );
    until("the clock of a node that runs", || {
        second.node.foreign_clock().as_deref() == Some("/stopped")
    });
    drop(stopped);
    until("the end of that node", || {
        second.node.foreign_clock().is_none()
    });
    // Other programs have these addresses now: a node without a clock, and one that is no node.
    let [other, clock] = ["/other", "/clock_server"]
        .map(|name| Joined::with(master, |options| name.clone_into(&mut options.node_name)));
    let _chatter = other.advertise(&[strings(0, "/chatter")]);
    let found = call(master, "lookupNode", &[text("/x"), text("/other")]);
    let no_node = Relay::before(master, |_| Fate::Nonsense(NONSENSE[1]));
    register("/replaced", found.str());
    register("/web", &no_node.uri);
    let _clock = clock.node.advertise(&[], true).unwrap();
    // Nodes are asked in the order of registration, so those before `/clock_server` have been asked.
    until("the clock of a node that publishes it", || {
        second.node.foreign_clock().as_deref() == Some("/clock_server")
    });
}

#[test]
fn a_master_that_does_not_set_the_parameter_again_is_named() {
    let master = Joined::with(&free_master(), |options| {
        options.node_name = "/m".to_owned();
    });
    let refuses = Arc::new(AtomicBool::new(false));
    let is_off = Arc::clone(&refuses);
    let relay = Relay::before(&master.master, move |(method, _)| {
        if is_off.load(Ordering::SeqCst) && method == "setParam" {
            Fate::Refusal
        } else {
            Fate::Pass
        }
    });
    let player = Joined::with(&relay.uri, |options| options.use_sim_time = true);
    let _output = player.advertise(&[]);
    // Twice: a refusal is reported again after the parameter has been set.
    for _ in 0..2 {
        refuses.store(true, Ordering::SeqCst);
        // As if it had been started again.
        for name in ["/use_sim_time", "/bagplay_use_sim_time"] {
            call(&master.master, "deleteParam", &[text("/x"), text(name)]);
        }
        let reason = player.event("the refusal", |event| match event {
            Ros1Event::SimTimeRefused { reason } => Some(reason.clone()),
            _ => None,
        });
        assert_eq!(reason, "refused: no");
        refuses.store(false, Ordering::SeqCst);
        let sim_time = [text("/x"), text("/use_sim_time")];
        until("the parameter", || {
            try_call(&master.master, "getParam", &sim_time) == Some((1, Val::Bool(true)))
        });
    }
}
