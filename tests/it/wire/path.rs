//! Losing the path to the network and regaining it; being the router; no deadlocks.

use std::time::Duration;

use bagplay::bag::TopicId;
use bagplay::output::{Delivery, Occasion, Output};
use bagplay::wire::{Session, WireError, WireEvent, WireOptions};
use crossbeam_channel::Receiver;
use zenoh::Wait;
use zenoh::sample::Sample;

use crate::support::network::{
    Events, Pipe, Relay, STRING, STRING_HASH, free_endpoint, message, node, number, open, options,
    payload, peer, played, router, subscribe, take, token,
};
use crate::support::patience::until;

#[test]
fn loss_and_return_of_the_router_are_reported() {
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
    // A router that takes its time is not waited for.
    until("a link", || session.has_path());
    assert_eq!(session.describe(), format!("connected to {endpoint}"));
    drop(first);
    until("loss", || !session.has_path());
    events.wait("loss", |event| *event == WireEvent::PathChanged);
    let _second = start();
    until("return", || session.has_path());
    assert_eq!(session.path().losses, 1);
}

#[test]
fn a_loss_of_either_session_of_the_player_counts() {
    let (_router, _, endpoint) = router(|_| ());
    let relay = Relay::to(&endpoint);
    let (session, _) = open(&options(&[], std::slice::from_ref(&relay.endpoint)));
    until("a link", || session.has_path());
    let of_main = 0..relay.count();
    // A reliable topic goes through a session of its own, opened now.
    let _output = session
        .advertise(&[played(0, "/chatter", None)], None)
        .unwrap();
    until("a link of both", || session.has_path());
    let of_second = of_main.end..relay.count();
    assert_eq!(session.path().losses, 0);
    relay.cut(of_main);
    // zenoh may lose the new link once more before it stays.
    until("the return of the first", || {
        session.path().losses > 0 && session.has_path()
    });
    let losses = session.path().losses;
    relay.close();
    relay.cut(of_second);
    until("the loss of the second", || !session.has_path());
    assert!(session.path().losses > losses);
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

/// A program that accepts connections and never sends anything, and its endpoint.
fn silent_listener() -> (std::net::TcpListener, String) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("tcp/{}", listener.local_addr().unwrap());
    (listener, endpoint)
}

#[test]
fn a_port_without_a_zenoh_router_is_not_called_connected() {
    let (_listener, endpoint) = silent_listener();
    let (session, events) = open(&options(&[], std::slice::from_ref(&endpoint)));
    assert!(!session.has_path());
    let waiting = format!("waiting for {endpoint}, where no zenoh router answers");
    assert_eq!(session.describe(), waiting);
    let warning = events.wait("warning", |event| matches!(event, WireEvent::Warning(_)));
    let expected = format!("no zenoh router answers at {endpoint}, although the port is open");
    assert!(warning.to_string().starts_with(&expected), "{warning}");
}

/// A message of the player reaches a node that joins later.
fn reaches(player: &Session, events: &Events, node: impl FnOnce() -> zenoh::Session) {
    let (mut output, _) = player
        .advertise(&[played(0, "/chatter", None)], None)
        .unwrap();
    let node = node();
    let (_subscriber, samples) = subscribe(&node, "0/chatter/**");
    events.wait_for_match();
    output.message(&message(0, payload(9, 8)), Occasion::Due);
    assert_eq!(number(take(&samples).payload()), 9);
}

#[test]
fn two_peers_meet_through_the_player_that_is_the_router() {
    let (_session, _, endpoint) = router(|_| ());
    let (player, events) = open(&options(&[], std::slice::from_ref(&endpoint)));
    reaches(&player, &events, || peer(&endpoint));
}

#[test]
fn a_player_is_a_client_of_a_router_on_another_host() {
    let (_router, _, endpoint) = router(|_| ());
    // Reaches this host, but does not look like a loopback address.
    let elsewhere = endpoint.replace("127.0.0.1", "0.0.0.0");
    let (player, events) = open(&options(&[], &[elsewhere]));
    reaches(&player, &events, || peer(&endpoint));
}

#[test]
fn a_client_of_the_router_of_the_player_is_reached() {
    let (session, events, endpoint) = router(|_| ());
    reaches(&session, &events, || node("\"client\"", &endpoint, &[]));
}

#[test]
fn errors_of_opening_name_the_reason() {
    let mut wrong = options(&[], &["nonsense".to_owned()]);
    let open = |options: &WireOptions| Session::open(options, |_| ()).unwrap_err();
    assert!(matches!(open(&wrong), WireError::Endpoint { endpoint, .. } if endpoint == "nonsense"));
    wrong.connect.clear();
    wrong.node_name = "a b".to_owned();
    assert!(matches!(open(&wrong), WireError::NodeName(name) if name == "a b"));
    let (_listener, endpoint) = silent_listener();
    assert!(matches!(
        open(&options(&[endpoint], &[])),
        WireError::Open { .. }
    ));
    let mut missing = options(&[free_endpoint()], &[]);
    missing.config_file = Some("/nowhere/zenoh.json5".into());
    assert!(matches!(open(&missing), WireError::ConfigFile { .. }));
}

#[test]
fn a_configuration_file_is_used_with_the_given_endpoints() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("zenoh.json5");
    std::fs::write(&file, "{mode: 'router', scouting: {delay: 0, multicast: {enabled: false}}, timestamping: {enabled: true}}").unwrap();
    let (session, events, endpoint) = router(|options| options.config_file = Some(file.clone()));
    assert_eq!(
        session.describe(),
        format!("configured by {}", file.to_string_lossy())
    );
    assert!(session.has_path(), "to a router of its own");
    reaches(&session, &events, || peer(&endpoint));
}

/// A file makes the player a peer, and there is no router.
fn configured_peer(listen: &[String]) -> (Session, Events) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("zenoh.json5");
    std::fs::write(
        &file,
        "{mode: 'peer', scouting: {multicast: {enabled: false}}, timestamping: {enabled: true}}",
    )
    .unwrap();
    open(&WireOptions {
        config_file: Some(file),
        ..options(listen, &[])
    })
}

/// A peer that connects to the player also finds the session for
/// reliable messages.
#[test]
fn peers_that_connect_to_a_configured_peer_get_reliable_messages() {
    let listen = [free_endpoint(), free_endpoint()];
    let (session, events) = configured_peer(&listen);
    for endpoint in &listen {
        reaches(&session, &events, || peer(endpoint));
    }
}

#[test]
fn a_client_of_a_configured_peer_gets_reliable_messages_and_a_warning_tells_what_it_may_lose() {
    let endpoint = free_endpoint();
    let (session, events) = configured_peer(std::slice::from_ref(&endpoint));
    let client = node("\"client\"", &endpoint, &[]);
    let warning = events.wait("warning", |event| matches!(event, WireEvent::Warning(_)));
    let text = warning.to_string();
    assert!(
        text.contains("a zenoh client is linked to the player itself"),
        "{text}"
    );
    reaches(&session, &events, || client.clone());
    until("a path to the client", || session.has_path());
}

#[test]
fn a_subscriber_that_reads_nothing_is_reported_by_name() {
    let (session, events, endpoint) =
        router(|options| options.stall_timeout = Duration::from_secs(5));
    let (mut output, _) = session
        .advertise(&[played(0, "/image", None)], None)
        .unwrap();
    let stuck = Pipe::to(&endpoint);
    let node = stuck.peer();
    let token = token(&node, "MS", "/image", STRING, STRING_HASH);
    let _token = node.liveliness().declare_token(token).wait().unwrap();
    let (_subscriber, samples) = subscribe(&node, "0/image/**");
    events.wait_for_subscriber();
    output.message(&message(0, payload(7, 8)), Occasion::Due);
    assert_eq!(number(take(&samples).payload()), 7);
    stuck.block();
    for n in 0..400 {
        output.message(&message(0, payload(n, 300_000)), Occasion::Due);
    }
    let stalled = events.wait("stall", |event| matches!(event, WireEvent::Stalled { .. }));
    assert!(stalled.to_string().contains("/listener"), "{stalled}");
    let topic = &output.monitor().topics()[0];
    assert_eq!((topic.sent, topic.missed.stalled), (401, 1));
}

#[test]
fn an_output_that_outlives_its_session_drops_messages_with_a_warning() {
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

/// A node as in ROS 2, with a subscription: it connects to an endpoint at which a router will listen later.
fn early_node(endpoint: &str) -> (zenoh::Session, impl Sized + use<>, Receiver<Sample>) {
    let node = node(
        "\"peer\"",
        endpoint,
        &[("connect/retry", "{period_init_ms:50,period_max_ms:200}")],
    );
    let token = token(&node, "MS", "/chatter", STRING, STRING_HASH);
    let token = node.liveliness().declare_token(token).wait().unwrap();
    let (subscriber, samples) = subscribe(&node, "0/chatter/**");
    (node, (token, subscriber), samples)
}

#[test]
fn a_node_that_was_there_before_the_router_is_seen_and_reached() {
    let endpoint = free_endpoint();
    let (_node, _shown, samples) = early_node(&endpoint);
    let (session, _events) = open(&options(&[endpoint], &[]));
    let (mut output, _) = session
        .advertise(&[played(0, "/chatter", None)], None)
        .unwrap();
    let monitor = output.monitor();
    until("the subscriber", || monitor.is_ready(TopicId(0)));
    assert_eq!(session.graph().nodes(), ["/listener"]);
    output.message(&message(0, payload(9, 8)), Occasion::Due);
    assert_eq!(number(take(&samples).payload()), 9);
}

/// A player that looks for the router of this host at another port than the usual one.
fn at_port(port: u16) -> (Session, Events) {
    let mut options = options(&[], &[]);
    options.router_port = port;
    open(&options)
}

fn free_port() -> u16 {
    let endpoint = free_endpoint();
    let (_, port) = endpoint.rsplit_once(':').unwrap();
    port.parse().unwrap()
}

fn is_router(session: &Session) -> bool {
    session.describe().starts_with("router on")
}

#[test]
fn when_the_player_that_is_the_router_ends_another_becomes_the_router() {
    let port = free_port();
    let (first, _) = at_port(port);
    assert!(is_router(&first), "{first:?}");
    let (second, events) = at_port(port);
    assert!(!is_router(&second), "{second:?}");
    let (mut output, _) = second
        .advertise(&[played(0, "/chatter", None)], None)
        .unwrap();
    let endpoint = format!("tcp/127.0.0.1:{port}");
    let (_node, _shown, samples) = early_node(&endpoint);
    let monitor = output.monitor();
    until("the subscriber", || monitor.is_ready(TopicId(0)));
    output.message(&message(0, payload(1, 8)), Occasion::Due);
    assert_eq!(number(take(&samples).payload()), 1);
    first.close();
    let became = events.wait("the router", |event| {
        matches!(event, WireEvent::BecameRouter { .. })
    });
    assert!(became.to_string().contains(&endpoint), "{became}");
    assert!(is_router(&second), "{second:?}");
    until("the path", || second.has_path());
    assert_eq!(second.path().losses, 1);
    // The node that was there before, and a new one.
    let (_other, _also_shown, others) = early_node(&endpoint);
    until("both", || monitor.topics()[0].subscribers == 2);
    until("both, reached", || {
        output.message(&message(0, payload(2, 8)), Occasion::Due);
        !samples.is_empty() && !others.is_empty()
    });
}

#[test]
fn of_several_players_one_becomes_the_router_and_the_others_find_it() {
    let port = free_port();
    let (first, _) = at_port(port);
    let mut others: Vec<Session> = (0..3).map(|_| at_port(port).0).collect();
    until("links", || others.iter().all(Session::has_path));
    assert!(!others.iter().any(is_router));
    drop(first);
    until("a router", || others.iter().any(is_router));
    until("links to it", || others.iter().all(Session::has_path));
    let routers: Vec<usize> = (0..3).filter(|&at| is_router(&others[at])).collect();
    assert_eq!(routers.len(), 1, "{others:?}");
    // And again when that one ends.
    drop(others.remove(routers[0]));
    until("the next", || others.iter().any(is_router));
    until("links to it", || others.iter().all(Session::has_path));
    assert_eq!(others.iter().filter(|one| is_router(one)).count(), 1);
}

#[test]
fn a_player_with_given_endpoints_does_not_become_the_router() {
    let port = free_port();
    let (first, _) = at_port(port);
    let endpoint = format!("tcp/127.0.0.1:{port}");
    let (given, _) = open(&options(&[], std::slice::from_ref(&endpoint)));
    let (other, events) = at_port(port);
    until("links", || given.has_path() && other.has_path());
    drop(first);
    events.wait("the router", |event| {
        matches!(event, WireEvent::BecameRouter { .. })
    });
    until("a link", || given.has_path() && given.path().losses == 1);
    assert!(is_router(&other) && !is_router(&given));
    drop(other);
    until("loss", || !given.has_path());
    // The remaining player has not become the router, so the port is free.
    let (third, _) = at_port(port);
    assert!(is_router(&third), "{third:?}");
}
