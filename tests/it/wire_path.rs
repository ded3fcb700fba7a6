//! Losing the way and finding it again; being the router; not hanging.

use std::time::Duration;

use bagplay::output::{Delivery, Occasion, Output};
use zenoh::Wait;

use bagplay::wire::{Session, WireError, WireEvent, WireOptions};

use crate::patience::until;
use crate::wire_net::{
    Pipe, STRING, STRING_HASH, free_endpoint, message, node, number, open, options, payload, peer,
    played, router, subscribe, take, token,
};

#[test]
fn a_router_that_dies_and_comes_back_is_told() {
    let endpoint = free_endpoint();
    let listen = format!("[{endpoint:?}]");
    let start = || {
        let settings = [
            ("listen/endpoints", listen.as_str()),
            ("scouting/delay", "0"),
        ];
        node("\"router\"", "", &settings)
    };
    let first = start();
    let (session, events) = open(&options(&[], std::slice::from_ref(&endpoint)));
    assert_eq!(session.describe(), format!("connected to {endpoint}"));
    // A router that takes its time is not waited for.
    until("a link", || session.has_path());
    drop(first);
    until("loss", || !session.has_path());
    events.wait("loss", |event| *event == WireEvent::PathChanged);
    let _second = start();
    until("return", || session.has_path());
    assert_eq!(session.path().losses, 1);
}

#[test]
fn a_router_that_is_not_there_yet_is_found_later() {
    let endpoint = free_endpoint();
    let (session, events) = open(&options(&[], std::slice::from_ref(&endpoint)));
    assert_eq!(session.describe(), format!("waiting for {endpoint}"));
    assert!(!session.has_path());
    let (_router, _) = open(&options(&[endpoint], &[]));
    events.wait("path", |event| *event == WireEvent::PathChanged);
    assert!(session.has_path());
}

#[test]
fn two_peers_meet_through_the_player_that_is_the_router() {
    let (_session, _, endpoint) = router(|_| ());
    let (player, events) = open(&options(&[], std::slice::from_ref(&endpoint)));
    let (mut output, _) = player
        .advertise(&[played(0, "/chatter", None)], None)
        .unwrap();
    let node = peer(&endpoint);
    let (_subscriber, samples) = subscribe(&node, "0/chatter/**");
    events.wait("match", |event| {
        matches!(event, WireEvent::Matching { matched: true, .. })
    });
    output.message(&message(0, payload(9, 8)), Occasion::Due);
    assert_eq!(number(take(&samples).payload()), 9);
}

#[test]
fn a_router_elsewhere_makes_us_its_client() {
    let (_router, _, endpoint) = router(|_| ());
    // Reaches this host, and is no loopback address by its looks.
    let elsewhere = endpoint.replace("127.0.0.1", "0.0.0.0");
    let (player, events) = open(&options(&[], &[elsewhere]));
    let (mut output, _) = player
        .advertise(&[played(0, "/chatter", None)], None)
        .unwrap();
    let node = peer(&endpoint);
    let (_subscriber, samples) = subscribe(&node, "0/chatter/**");
    events.wait("match", |event| {
        matches!(event, WireEvent::Matching { matched: true, .. })
    });
    output.message(&message(0, payload(9, 8)), Occasion::Due);
    assert_eq!(number(take(&samples).payload()), 9);
}

#[test]
fn a_client_elsewhere_is_reached_through_us() {
    let (session, events, endpoint) = router(|_| ());
    let (mut output, _) = session
        .advertise(&[played(0, "/chatter", None)], None)
        .unwrap();
    let node = node("\"client\"", &endpoint, &[]);
    let (_subscriber, samples) = subscribe(&node, "0/chatter/**");
    events.wait("match", |event| {
        matches!(event, WireEvent::Matching { matched: true, .. })
    });
    output.message(&message(0, payload(9, 8)), Occasion::Due);
    assert_eq!(number(take(&samples).payload()), 9);
}

#[test]
fn what_cannot_be_opened_says_why() {
    let mut wrong = options(&[], &["nonsense".to_owned()]);
    let open = |options: &WireOptions| Session::open(options, |_| ()).unwrap_err();
    assert!(matches!(open(&wrong), WireError::Endpoint { endpoint, .. } if endpoint == "nonsense"));
    wrong.connect.clear();
    wrong.node_name = "a b".to_owned();
    assert!(matches!(open(&wrong), WireError::NodeName(name) if name == "a b"));
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("tcp/{}", taken.local_addr().unwrap());
    assert!(matches!(
        open(&options(&[endpoint], &[])),
        WireError::Open { .. }
    ));
    let mut missing = options(&[free_endpoint()], &[]);
    missing.config_file = Some("/nowhere/zenoh.json5".into());
    assert!(matches!(open(&missing), WireError::ConfigFile { .. }));
}

#[test]
fn a_configuration_file_is_taken_with_the_endpoints_given() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("zenoh.json5");
    std::fs::write(&file, "{mode: 'router', scouting: {delay: 0, multicast: {enabled: false}}, timestamping: {enabled: true}}").unwrap();
    let (session, events, endpoint) = router(|options| options.config_file = Some(file.clone()));
    assert_eq!(
        session.describe(),
        format!("configured by {}", file.display())
    );
    assert!(session.has_path(), "to a router of its own");
    let (mut output, _) = session
        .advertise(&[played(0, "/chatter", None)], None)
        .unwrap();
    let node = peer(&endpoint);
    let (_subscriber, samples) = subscribe(&node, "0/chatter/**");
    events.wait("match", |event| {
        matches!(event, WireEvent::Matching { matched: true, .. })
    });
    output.message(&message(0, payload(9, 8)), Occasion::Due);
    assert_eq!(number(take(&samples).payload()), 9);
}

#[test]
fn a_subscriber_that_takes_nothing_is_cut_off_and_named() {
    let (session, events, endpoint) =
        router(|options| options.stall_timeout = Duration::from_millis(300));
    let (mut output, _) = session
        .advertise(&[played(0, "/image", None)], None)
        .unwrap();
    let stuck = Pipe::to(&endpoint);
    let node = stuck.peer();
    let token = token(&node, "MS", "/image", STRING, STRING_HASH);
    let _token = node.liveliness().declare_token(token).wait().unwrap();
    let (_subscriber, samples) = subscribe(&node, "0/image/**");
    events.wait("match", |event| {
        matches!(event, WireEvent::Matching { matched: true, .. })
    });
    output.message(&message(0, payload(7, 8)), Occasion::Due);
    assert_eq!(number(take(&samples).payload()), 7);
    stuck.block();
    for n in 0..400 {
        output.message(&message(0, payload(n, 300_000)), Occasion::Due);
    }
    let stalled = events.wait("stall", |event| matches!(event, WireEvent::Stalled { .. }));
    assert!(stalled.to_string().contains("/listener"), "{stalled}");
    let topic = &output.monitor().topics()[0];
    assert_eq!((topic.sent, topic.stalled), (401, 1));
}

#[test]
fn an_output_that_outlives_its_session_drops_and_says_so() {
    let (session, events, _) = router(|_| ());
    let (mut output, _) = session
        .advertise(&[played(0, "/chatter", None)], None)
        .unwrap();
    session.close();
    assert_eq!(
        output.message(&message(0, payload(0, 8)), Occasion::Due),
        Delivery::Dropped
    );
    events.wait("warning", |event| matches!(event, WireEvent::Warning(_)));
}
