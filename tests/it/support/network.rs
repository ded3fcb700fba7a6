//! Two sessions on loopback, and helpers of the wire tests. Ports are free ones, scouting is off, waits are for
//! conditions.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use bagplay::bag::{Key, Message, PublisherId, Schema, Topic, TopicId};
use bagplay::ros::Qos;
use bagplay::time::Time;
use bagplay::wire::{Played, Protocol, Session, WireEvent, WireOptions};
use bytes::Bytes;
use crossbeam_channel::{Receiver, RecvTimeoutError, bounded};
use zenoh::Wait;
use zenoh::bytes::ZBytes;
use zenoh::sample::Sample;

use crate::support::patience::{Patience, until};
use crate::support::ports::free_port;

pub(crate) const STRING: &str = "std_msgs::msg::dds_::String_";
pub(crate) const STRING_HASH: &str =
    "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18";
pub(crate) const CLOCK_HASH: &str =
    "RIHS01_692f7a66e93a3c83e71765d033b60349ba68023a8c689a79e48078bcb5c58564";
pub(crate) const CLOCK_KEY: &str = "0/clock/rosgraph_msgs::msg::dds_::Clock_/RIHS01_692f7a66e93a3c83e71765d033b60349ba68023a8c689a79e48078bcb5c58564";

/// An endpoint on which nobody listens and that only the caller will use. A session that lost its router keeps looking
/// for it, and would otherwise find the router of another test.
pub(crate) fn free_endpoint() -> String {
    format!("tcp/127.0.0.1:{}", free_port())
}

/// A listener at an endpoint.
fn listener(endpoint: &str) -> TcpListener {
    TcpListener::bind(endpoint.trim_start_matches("tcp/")).expect("a free port")
}

/// Events in order of arrival.
pub(crate) struct Events(Receiver<WireEvent>);

impl Events {
    /// The first event, not yet taken, that matches.
    pub(crate) fn wait(
        &self,
        what: &str,
        mut is_wanted: impl FnMut(&WireEvent) -> bool,
    ) -> WireEvent {
        let mut others = Vec::new();
        loop {
            match next(&self.0) {
                Some(event) if is_wanted(&event) => return event,
                Some(event) => others.push(event),
                None => panic!("no {what}, only {others:?}"),
            }
        }
    }

    /// A topic has got a subscriber that data can reach.
    pub(crate) fn wait_for_match(&self) {
        let is_match =
            |event: &WireEvent| matches!(event, WireEvent::Matching { matched: true, .. });
        self.wait("match", is_match);
    }

    /// Each of the topics has got a subscriber that data can reach.
    pub(crate) fn wait_for_matches(&self, topics: &[Played]) {
        let mut without: HashSet<&str> = topics.iter().map(|one| &*one.topic.name).collect();
        self.wait("matches", |event| {
            if let WireEvent::Matching { topic, matched } = event {
                match (topics.iter().find(|one| one.topic.name == **topic), matched) {
                    (Some(one), false) => drop(without.insert(&one.topic.name)),
                    (Some(one), true) => drop(without.remove(&*one.topic.name)),
                    (None, _) => {}
                }
            }
            without.is_empty()
        });
    }

    /// A subscription is known, and whose it is. The two come in any order.
    pub(crate) fn wait_for_subscriber(&self) {
        let (mut is_match, mut is_known) = (false, false);
        self.wait("a subscriber", |event| {
            is_match |= matches!(event, WireEvent::Matching { matched: true, .. });
            is_known |= matches!(event, WireEvent::SubscriberJoined { .. });
            is_match && is_known
        });
    }

    /// All events so far.
    pub(crate) fn drain(&self) -> Vec<WireEvent> {
        self.0.try_iter().collect()
    }
}

pub(crate) fn options(listen: &[String], connect: &[String]) -> WireOptions {
    WireOptions {
        domain_id: Some(0),
        listen: listen.to_vec(),
        connect: connect.to_vec(),
        ..WireOptions::default()
    }
}

pub(crate) fn open(options: &WireOptions) -> (Session, Events) {
    let (tell, events) = bounded(10_000);
    let session = Session::open(options, move |event| drop(tell.try_send(event)));
    (session.expect("a session"), Events(events))
}

/// A second session of the same process; the endpoints in `options` have no effect.
pub(crate) fn open_beside(first: &Session, options: &WireOptions) -> (Session, Events) {
    let (tell, events) = bounded(10_000);
    let second = first.open_beside(options, move |event| drop(tell.try_send(event)));
    (second.expect("a session"), Events(events))
}

/// A player that is the router, and its endpoint.
pub(crate) fn router(change: impl FnOnce(&mut WireOptions)) -> (Session, Events, String) {
    let endpoint = free_endpoint();
    let mut options = options(std::slice::from_ref(&endpoint), &[]);
    change(&mut options);
    let (session, events) = open(&options);
    (session, events, endpoint)
}

/// The protocol for ROS 2 nodes on zenoh, or plain keys.
pub(crate) fn protocol(is_ros: bool) -> Protocol {
    if is_ros {
        Protocol::RmwZenoh
    } else {
        Protocol::PlainKeys
    }
}

/// A plain zenoh session configured as in a ROS 2 node, with changes for the test.
pub(crate) fn node(mode: &str, connect: &str, settings: &[(&str, &str)]) -> zenoh::Session {
    let mut config = zenoh::Config::default();
    let connect = if connect.is_empty() {
        "[]".to_owned()
    } else {
        format!("[{connect:?}]")
    };
    let listen = format!("[{:?}]", free_endpoint());
    let usual = [
        ("mode", mode),
        ("connect/endpoints", connect.as_str()),
        ("listen/endpoints", listen.as_str()),
        ("scouting/multicast/enabled", "false"),
        ("open/return_conditions/connect_scouted", "false"),
        ("open/return_conditions/declares", "false"),
        ("transport/shared_memory/enabled", "false"),
        (
            "timestamping/enabled",
            "{router:true,peer:true,client:true}",
        ),
    ];
    for (key, value) in usual.iter().chain(settings) {
        if *key == "listen/endpoints" && mode.contains("client") {
            continue;
        }
        config.insert_json5(key, value).expect(key);
    }
    zenoh::open(config).wait().expect("a node's session")
}

pub(crate) fn peer(connect: &str) -> zenoh::Session {
    node("\"peer\"", connect, &[])
}

/// The same, with an admin space, as nodes of `rmw_zenoh_cpp` have one: a player waits until such a node has what was
/// sent before a jump.
pub(crate) fn peer_with_admin_space(connect: &str) -> zenoh::Session {
    node("\"peer\"", connect, &[("adminspace/enabled", "true")])
}

/// A string topic.
pub(crate) fn played(id: u32, name: &str, qos: Option<Qos>) -> Played {
    Played {
        id: TopicId(id),
        name: name.to_owned(),
        topic: Topic {
            name: name.to_owned(),
            schema: Some(Schema {
                name: "std_msgs/msg/String".to_owned(),
                encoding: "ros2msg".to_owned(),
                data: "string data".into(),
            }),
            encoding: "cdr".to_owned(),
            offered_qos: Vec::new(),
            type_hash: None,
            ros1_md5: None,
            is_latched: false,
            message_count: None,
        },
        qos,
    }
}

/// A CDR payload that contains its number.
pub(crate) fn payload(number: u32, size: usize) -> Bytes {
    let mut bytes = vec![0, 1, 0, 0];
    bytes.extend(number.to_le_bytes());
    bytes.resize(size.max(8), 0);
    bytes.into()
}

pub(crate) fn number(payload: &ZBytes) -> u32 {
    let bytes = payload.to_bytes();
    u32::from_le_bytes(bytes[4..8].try_into().expect("four bytes"))
}

pub(crate) fn message(id: u32, payload: Bytes) -> Message {
    let time = Time::from_nanos(5);
    Message {
        key: Key {
            time,
            input: 0,
            chunk: 0,
            record: 0,
        },
        topic: TopicId(id),
        publisher: PublisherId::default(),
        log_time: time,
        publish_time: time,
        sequence: 0,
        payload,
    }
}

/// A plain subscriber's samples.
pub(crate) fn subscribe(
    session: &zenoh::Session,
    key: &str,
) -> (zenoh::pubsub::Subscriber<()>, Receiver<Sample>) {
    // More than any test leaves in the channel.
    let (tell, samples) = bounded(50_000);
    let subscriber = session.declare_subscriber(key.to_owned());
    let subscriber = subscriber
        .callback(move |sample| drop(tell.try_send(sample)))
        .wait();
    (subscriber.expect("a subscriber"), samples)
}

pub(crate) fn take(samples: &Receiver<Sample>) -> Sample {
    try_take(samples).expect("a sample")
}

/// The next sample, if one comes in time.
pub(crate) fn try_take(samples: &Receiver<Sample>) -> Option<Sample> {
    next(samples)
}

fn next<T>(told: &Receiver<T>) -> Option<T> {
    let mut patience = Patience::new();
    std::iter::from_fn(|| patience.slice()).find_map(|slice| told.recv_timeout(slice).ok())
}

/// Waits for lines that a program prints on stderr, in order: each call reads up to the first line that contains the
/// given words.
pub(crate) fn hearing(child: &mut Child) -> impl FnMut(&str) + use<> {
    let printed = BufReader::new(child.stderr.take().expect("a pipe"));
    let (tell, told) = bounded(50_000);
    std::thread::spawn(move || {
        for line in printed.lines() {
            if tell.send(line.expect("text")).is_err() {
                return;
            }
        }
    });
    move |words| {
        let mut patience = Patience::new();
        loop {
            let slice = patience.slice();
            let slice = slice.unwrap_or_else(|| panic!("`{words}` was not printed in time"));
            match told.recv_timeout(slice) {
                Ok(line) if line.contains(words) => return,
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => panic!("`{words}` was not printed"),
            }
        }
    }
}

/// A process that is killed when this is dropped, also when the test fails.
pub(crate) struct KilledWhenDropped(pub(crate) Child);

impl Drop for KilledWhenDropped {
    fn drop(&mut self) {
        drop((self.0.kill(), self.0.wait()));
    }
}

/// The installed player with the demo recording; its output goes into pipes.
pub(crate) fn start_player(args: &[&str]) -> Child {
    let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/demo.mcap");
    start_player_of(Path::new(demo), args)
}

/// The same with another recording.
pub(crate) fn start_player_of(bag: &Path, args: &[&str]) -> Child {
    start_play([bag.as_os_str()], args)
}

/// The installed program; its output goes into pipes.
pub(crate) fn start_play<'a>(first: impl IntoIterator<Item = &'a OsStr>, args: &[&str]) -> Child {
    Command::new(assert_cmd::cargo::cargo_bin("play"))
        .args(first)
        .args(args)
        .env_remove("RUST_LOG")
        .env_remove("ROS_DOMAIN_ID")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program")
}

/// Interrupts a program, as ctrl-C does.
pub(crate) fn interrupt(child: &Child) {
    signal(child, "-INT");
}

/// Sends a signal to a program.
pub(crate) fn signal(child: &Child, name: &str) {
    let pid = child.id().to_string();
    let kill = Command::new("kill").args([name, &pid]).status();
    assert!(kill.expect("kill").success());
}

/// The summary in JSON of a program that ends with an exit code.
pub(crate) fn summary(child: Child, code: i32) -> serde_json::Value {
    let done = child.wait_with_output().expect("its output");
    assert_eq!(done.status.code(), Some(code));
    serde_json::from_slice(&done.stdout).expect("a summary")
}

/// The token of a subscription as a node would declare it.
pub(crate) fn token(
    session: &zenoh::Session,
    kind: &str,
    topic: &str,
    dds_type: &str,
    hash: &str,
) -> String {
    let zid = session.zid();
    let topic = topic.replace('/', "%");
    format!("@ros2_lv/0/{zid}/0/1/{kind}/%/%/listener/{topic}/{dds_type}/{hash}/::,10:,:,:,,")
}

/// The endpoints of both zenoh sessions of a player that has joined the router at `endpoint`: that of the main one,
/// whose id is `main`, and that of the one for blocking puts.
pub(crate) fn endpoints_of_both_sessions(endpoint: &str, main: &str) -> [String; 2] {
    let found = players(endpoint, |found| found.len() == 2);
    let address = |is_main: bool| {
        let mut found = found.iter();
        let session = found.find(|it| (it["zid"] == main) == is_main);
        let address = session.and_then(|it| it["locators"][0].as_str());
        address.expect("the address of a session").to_owned()
    };
    [true, false].map(address)
}

/// What the players that have joined the router at `endpoint` say of themselves, once that is as `is_wanted`. Read from
/// their admin spaces, which plain sessions of tests do not have.
fn players(
    endpoint: &str,
    is_wanted: impl Fn(&[serde_json::Value]) -> bool,
) -> Vec<serde_json::Value> {
    let client = node("\"client\"", endpoint, &[]);
    let mut found = Vec::new();
    until("players", || {
        let replies = client.get("@/*/peer").wait().expect("a query");
        let payloads = replies.iter().filter_map(|reply| {
            let payload = reply.result().ok()?.payload().to_bytes();
            serde_json::from_slice(&payload).ok()
        });
        found = payloads.collect();
        is_wanted(&found)
    });
    found
}

/// Waits until two players have a direct link to each other, besides that to the router at `endpoint`. While it is
/// made, a query to the other can be lost.
#[cfg(feature = "ci")]
pub(crate) fn wait_for_direct_link(endpoint: &str) {
    let is_linked = |player: &serde_json::Value| {
        let sessions = player["sessions"].as_array().expect("a list of sessions");
        sessions.iter().any(|it| it["whatami"] == "peer")
    };
    players(endpoint, |found| {
        found.len() == 2 && found.iter().all(is_linked)
    });
}

/// The session, when it has all its links. What it declares while a link is made can be lost.
fn linked(session: zenoh::Session, links: usize) -> zenoh::Session {
    until("a link to each endpoint", || {
        let info = session.info();
        let peers = info.peers_zid().wait().count();
        peers + info.routers_zid().wait().count() >= links
    });
    session
}

/// TCP connections through a pipe that can hold back data of the far side, as if its reader were frozen.
pub(crate) struct Pipe {
    /// The near ends.
    endpoints: Vec<String>,
    gate: Arc<(Mutex<bool>, Condvar)>,
    /// The same for the other direction.
    up: Arc<(Mutex<bool>, Condvar)>,
}

impl Pipe {
    /// To both zenoh sessions of the player that has joined the router at `endpoint`: ROS 2 nodes on this host have such
    /// direct links. The player publishes a reliable topic, so it has the session for blocking puts.
    pub(crate) fn to(endpoint: &str) -> Self {
        Self::slow(endpoint, Duration::ZERO)
    }

    /// The same, with at most 64 KiB per `pause` of data from the far side.
    pub(crate) fn slow(endpoint: &str, pause: Duration) -> Self {
        let address =
            |player: &serde_json::Value| player["locators"][0].as_str().map(str::to_owned);
        // Not to one alone: the other may not answer yet, and what it puts would never reach the near end.
        let found = players(endpoint, |found| {
            found.iter().filter_map(address).count() == 2
        });
        let endpoints: Vec<_> = found.iter().filter_map(address).collect();
        Self::carrying(&endpoints, pause)
    }

    /// To the router itself, which forwards the player's data to clients.
    pub(crate) fn to_router(endpoint: &str, pause: Duration) -> Self {
        Self::carrying(&[endpoint.to_owned()], pause)
    }

    /// Accepts one connection per endpoint and forwards it there.
    fn carrying(endpoints: &[String], pause: Duration) -> Self {
        let [gate, up] = [(); 2].map(|()| Arc::new((Mutex::new(true), Condvar::new())));
        let endpoints = endpoints
            .iter()
            .map(|endpoint| pipe(endpoint, pause, &gate, &up))
            .collect();
        Self {
            endpoints,
            gate,
            up,
        }
    }

    /// A node at the near end that has no other link: a peer, or a client of the router at the far end.
    pub(crate) fn node(&self, mode: &str) -> zenoh::Session {
        self.node_with(mode, "10000")
    }

    /// The same, with a lease in milliseconds.
    pub(crate) fn node_with(&self, mode: &str, lease: &str) -> zenoh::Session {
        let connect = format!("{:?}", self.endpoints);
        let settings = [
            ("connect/endpoints", connect.as_str()),
            ("scouting/gossip/enabled", "false"),
            ("transport/link/tx/lease", lease),
        ];
        linked(node(mode, "", &settings), self.endpoints.len())
    }

    /// The same, a peer.
    pub(crate) fn peer(&self) -> zenoh::Session {
        self.node("\"peer\"")
    }

    /// The same, that takes part in shared memory.
    pub(crate) fn peer_that_shares_memory(&self) -> zenoh::Session {
        let connect = format!("{:?}", self.endpoints);
        let settings = [
            ("connect/endpoints", connect.as_str()),
            ("scouting/gossip/enabled", "false"),
            ("transport/shared_memory/enabled", "true"),
        ];
        linked(node("\"peer\"", "", &settings), self.endpoints.len())
    }

    /// The same, with an admin space, as nodes of `rmw_zenoh_cpp` have one.
    pub(crate) fn peer_with_admin_space(&self) -> zenoh::Session {
        let connect = format!("{:?}", self.endpoints);
        let settings = [
            ("connect/endpoints", connect.as_str()),
            ("scouting/gossip/enabled", "false"),
            ("adminspace/enabled", "true"),
        ];
        linked(node("\"peer\"", "", &settings), self.endpoints.len())
    }

    /// Holds back data of the far side, as long as the pipe lives.
    pub(crate) fn block(&self) {
        *self.gate.0.lock().expect("no panic") = false;
    }

    /// Holds back data of both sides, as if the node were a stopped process.
    pub(crate) fn stop(&self) {
        self.block();
        *self.up.0.lock().expect("no panic") = false;
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        for gate in [&self.gate, &self.up] {
            *gate.0.lock().expect("no panic") = true;
            gate.1.notify_all();
        }
    }
}

/// TCP connections to an endpoint, each of which can be cut.
pub(crate) struct Relay {
    /// The endpoint to connect to.
    pub(crate) endpoint: String,
    relayed: Arc<Mutex<Relayed>>,
}

#[derive(Default)]
struct Relayed {
    /// In order of arrival.
    connections: Vec<TcpStream>,
    is_closed: bool,
}

impl Relay {
    pub(crate) fn to(endpoint: &str) -> Self {
        Self::between(free_endpoint(), endpoint)
    }

    /// From a given endpoint.
    pub(crate) fn between(near: String, endpoint: &str) -> Self {
        let listener = listener(&near);
        let target = endpoint.trim_start_matches("tcp/").to_owned();
        let relayed = Arc::new(Mutex::new(Relayed::default()));
        let accepted = Arc::clone(&relayed);
        std::thread::spawn(move || {
            for near in listener.incoming() {
                let near = near.expect("a connection");
                let mut accepted = accepted.lock().expect("no panic");
                let handle = || near.try_clone().expect("a handle");
                if accepted.is_closed {
                    continue;
                }
                let Ok(far) = TcpStream::connect(&target) else {
                    continue;
                };
                let (up, back) = (far.try_clone().expect("a handle"), handle());
                accepted.connections.push(handle());
                std::thread::spawn(move || carry(near, up, || ()));
                std::thread::spawn(move || carry(far, back, || ()));
            }
        });
        Self {
            endpoint: near,
            relayed,
        }
    }

    /// The number of connections so far.
    pub(crate) fn count(&self) -> usize {
        self.relayed.lock().expect("no panic").connections.len()
    }

    /// Cuts some connections, counted from the first.
    pub(crate) fn cut(&self, which: std::ops::Range<usize>) {
        for connection in &self.relayed.lock().expect("no panic").connections[which] {
            // Some have closed already.
            drop(connection.shutdown(Shutdown::Both));
        }
    }

    /// Closes new connections at once.
    pub(crate) fn close(&self) {
        self.relayed.lock().expect("no panic").is_closed = true;
    }
}

/// Forwards one connection to an endpoint; returns the near end.
fn pipe(
    endpoint: &str,
    pause: Duration,
    gate: &Arc<(Mutex<bool>, Condvar)>,
    up_gate: &Arc<(Mutex<bool>, Condvar)>,
) -> String {
    let near = free_endpoint();
    let listener = listener(&near);
    let target = endpoint.trim_start_matches("tcp/").to_owned();
    let (tap, up_tap) = (Arc::clone(gate), Arc::clone(up_gate));
    std::thread::spawn(move || {
        // Connections after the first are not accepted.
        let (near, _) = listener.accept().expect("a connection");
        let far = TcpStream::connect(target).expect("the far side");
        let up = (
            near.try_clone().expect("a handle"),
            far.try_clone().expect("a handle"),
        );
        std::thread::spawn(move || carry(up.0, up.1, || pass(&up_tap)));
        carry(far, near, || {
            let _ = crossbeam_channel::never::<()>().recv_timeout(pause);
            pass(&tap);
        });
    });
    near
}

/// Waits until a gate is open.
fn pass((is_open, changed): &(Mutex<bool>, Condvar)) {
    let is_open = is_open.lock().expect("no panic");
    let woken = changed.wait_while(is_open, |is_open| !*is_open);
    drop(woken.expect("no panic"));
}

fn carry(mut from: TcpStream, mut to: TcpStream, mut before: impl FnMut()) {
    let mut buffer = vec![0; 65536];
    loop {
        before();
        match from.read(&mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(read) => {
                if to.write_all(&buffer[..read]).is_err() {
                    break;
                }
            }
        }
    }
    // The other direction ends with this one.
    drop((from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both)));
}
