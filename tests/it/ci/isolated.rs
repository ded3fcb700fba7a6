//! Isolated runs: real sessions, and nodes that are programs of their own, with the environment that a run gives them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use bagplay::ci::child::{Child, Program};
use bagplay::ci::isolation::{Earlier, Isolation, RunFolder};
use bagplay::output::{Delivery, Occasion, Output as _};
use bagplay::wire::{Session, WireEvent, WireOptions};
use crossbeam_channel::bounded;
use zenoh::Wait as _;

use crate::support::network::{
    Events, free_endpoint, message, number, open, payload, played, router, subscribe, take,
};
use crate::support::patience::PATIENCE;

const RUNS: u32 = 8;
const MESSAGES: u32 = 5;
const LAST: u32 = 0xffff;
/// The same for all runs, so that it is not the domain that separates them.
const DOMAIN: u32 = 42;

/// The file in which a node says what it received, and to whom it is linked.
const HEARD: &str = "heard";

/// This test program, started once more: it runs the program of this name.
const PROGRAM: &str = "BAGPLAY_ISOLATED_PROGRAM";
const ENTRY: &str = "ci::isolated::runs_side_by_side_do_not_hear_each_other";

struct Run {
    player: Session,
    events: Events,
    output: bagplay::wire::WireOutput,
    node: Child,
    folder: RunFolder,
}

impl Run {
    fn start(folder: RunFolder) -> Self {
        let isolation = Isolation::in_domain(DOMAIN);
        let (player, events) = open(&isolation.wire_options(WireOptions::default()));
        let endpoint = player.router_endpoint().expect("a router of its own");
        let (output, _) = player
            .advertise(&[played(0, "/shared", None)], None)
            .unwrap();
        let mut program = this_program(&folder, "node");
        program
            .environment
            .extend(isolation.environment(&endpoint, &folder));
        let node = Child::start(&program).unwrap();
        Self {
            player,
            events,
            output,
            node,
            folder,
        }
    }

    fn send(&mut self, value: u32) {
        let sent = self
            .output
            .message(&message(0, payload(value, 8)), Occasion::Due);
        assert_eq!(sent, Delivery::Sent);
    }
}

fn this_program(folder: &RunFolder, name: &str) -> Program {
    let this = std::env::current_exe().unwrap();
    let words = [this.to_str().unwrap(), ENTRY, "--exact", "--nocapture"];
    let mut program = Program::new(words, folder);
    program.environment = vec![(PROGRAM.into(), name.into())];
    program
}

/// What follows a word in the lines that a node wrote.
fn heard(folder: &RunFolder, word: &str) -> Vec<String> {
    let text = fs::read_to_string(folder.file(HEARD)).unwrap();
    let values = text.lines().filter_map(|line| line.strip_prefix(word));
    values.map(|value| value.trim().to_owned()).collect()
}

#[test]
fn runs_side_by_side_do_not_hear_each_other() {
    match std::env::var(PROGRAM).as_deref() {
        Ok("node") => return node(),
        Ok("player") => return player(),
        _ => {}
    }
    let root = tempfile::tempdir().unwrap();
    let folder = |number: u32| {
        let path = root.path().join(number.to_string());
        RunFolder::make(&path, Earlier::Refuse).unwrap()
    };
    let mut runs: Vec<Run> = (0..RUNS).map(|number| Run::start(folder(number))).collect();
    for run in &runs {
        run.events.wait_for_match();
    }
    // All runs have matched before the first one sends.
    for _ in 0..MESSAGES {
        for (run, number) in runs.iter_mut().zip(0..) {
            run.send(number);
        }
    }
    for run in &mut runs {
        run.send(LAST);
    }
    let mut known = BTreeSet::new();
    for (run, number) in runs.into_iter().zip(0_u32..) {
        let exit = run.node.ended().recv_timeout(PATIENCE).unwrap();
        assert!(exit.is_success(), "{exit}: {:?}", run.node.tail(20));
        let received = heard(&run.folder, "received");
        assert_eq!(received, vec![number.to_string(); 5], "run {number}");
        let routers = heard(&run.folder, "router");
        assert_eq!(routers.len(), 1, "run {number}");
        let linked = [routers, heard(&run.folder, "peer")].concat();
        assert!(linked.contains(&run.player.zid()));
        for zid in linked {
            assert!(known.insert(zid), "run {number} is linked to another run");
        }
    }
}

/// A node as `rmw_zenoh` opens it: its configuration, changed by the environment.
fn node() {
    let mut config = zenoh::Config::default();
    let overrides = std::env::var("ZENOH_CONFIG_OVERRIDE").unwrap();
    let usual = "connect/endpoints=[\"tcp/localhost:7447\"];listen/endpoints=[\"tcp/localhost:0\"]";
    for pair in usual.split(';').chain(overrides.split(';')) {
        let (key, value) = pair.split_once('=').unwrap();
        config.insert_json5(key, value).unwrap();
    }
    let session = zenoh::open(config).wait().unwrap();
    let domain = std::env::var("ROS_DOMAIN_ID").unwrap();
    let (_subscriber, samples) = subscribe(&session, &format!("{domain}/shared/**"));
    let mut heard = Vec::new();
    loop {
        match number(take(&samples).payload()) {
            LAST => break,
            number => heard.push(format!("received {number}")),
        }
    }
    let info = session.info();
    for zid in info.routers_zid().wait() {
        heard.push(format!("router {zid}"));
    }
    for zid in info.peers_zid().wait() {
        heard.push(format!("peer {zid}"));
    }
    let folder = std::env::var("BAGPLAY_RUN_DIR").unwrap();
    fs::write(Path::new(&folder).join(HEARD), heard.join("\n")).unwrap();
    assert!(samples.is_empty());
}

/// A player whose environment and options lead to a router elsewhere.
fn player() {
    let elsewhere = std::env::var("ELSEWHERE").unwrap();
    let options = WireOptions {
        connect: vec![elsewhere.clone()],
        ..WireOptions::default()
    };
    let (tell, told) = bounded(1000);
    let options = Isolation::in_domain(DOMAIN).wire_options(options);
    let session = Session::open(&options, move |event| drop(tell.try_send(event))).unwrap();
    let endpoint = session.router_endpoint().unwrap();
    assert_ne!(endpoint, elsewhere);
    assert_eq!(session.describe(), format!("router on {endpoint}"));
    assert_eq!(session.domain_id(), DOMAIN);
    let warned = told.try_iter().any(|event| {
        matches!(&event, WireEvent::Warning(text) if text.contains("connect/endpoints is ignored"))
    });
    assert!(warned);
    session.close();
}

#[test]
fn an_isolated_session_is_not_led_elsewhere() {
    let (session, _events, elsewhere) = router(|_| ());
    let root = tempfile::tempdir().unwrap();
    let folder = RunFolder::make(root.path(), Earlier::Refuse).unwrap();
    let mut program = this_program(&folder, "player");
    let (config, listen) = (folder.file("zenoh.json5"), free_endpoint());
    let text = format!("{{mode:\"router\",listen:{{endpoints:[{listen:?}]}}}}");
    fs::write(&config, text).unwrap();
    let overrides = format!("connect/endpoints=[{elsewhere:?}];transport/link/tx/lease=30000");
    for (name, value) in [
        ("ELSEWHERE", elsewhere.as_str()),
        ("ZENOH_CONFIG_OVERRIDE", overrides.as_str()),
        ("ZENOH_SESSION_CONFIG_URI", config.to_str().unwrap()),
        ("ROS_DOMAIN_ID", "5"),
    ] {
        program.environment.push((name.into(), value.into()));
    }
    let child = Child::start(&program).unwrap();
    let exit = child.ended().recv_timeout(PATIENCE).unwrap();
    assert!(exit.is_success(), "{exit}: {:?}", child.tail(20));
    session.close();
}
