//! `play --wire … --wire …`, as a program: zenoh sessions stand for a node of ROS 2 and a bridge to DDS.

use std::path::Path;
use std::process::Output;

use zenoh::Wait;

use super::peer::{Subscriber, Val, call, publishes, text, try_call};
use super::program::{LARGE, WireRun, files, large_files, play_on, text_of};
use super::{Joined, free_master};
use crate::support::mcaps::Files;
use crate::support::network::{
    CLOCK_KEY, Pipe, STRING, STRING_HASH, free_endpoint, peer, subscribe, take, token,
};
use crate::support::patience::until;
use crate::support::ros1::{ChannelSpec, cdr_string, ros1_file, string};

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/demo.mcap");

/// Starts the player on several wires, with a router of its own for those over zenoh.
pub(super) fn start(bag: &Path, wires: &str, endpoint: &str, master: &str, flags: &str) -> WireRun {
    let wires = wires.split(' ').flat_map(|wire| ["--wire", wire]);
    let network = ["--listen", endpoint, "--format", "json"];
    let args: Vec<&str> = wires.chain(network).chain(flags.split(' ')).collect();
    WireRun::start(play_on(master, bag, &args))
}

/// The summary of a run that has succeeded.
pub(super) fn summary(output: &Output) -> serde_json::Value {
    assert!(output.status.success(), "{}", text_of(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// How many runs a test makes at most until one is not held up by a busy machine.
const RUNS: usize = 5;
#[test]
fn nodes_on_each_wire_get_every_message_and_the_clock() {
    let (master, endpoint, files) = (free_master(), free_endpoint(), files());
    // One subscriber on each wire.
    let flags = "--clock 100 --wait-for-subscribers /chatter=3";
    let wires = "rmw_zenoh ros2dds ros1";
    let run = start(&files.paths[0], wires, &endpoint, &master, flags);
    publishes(&master, "/chatter");
    publishes(&master, "/clock");
    let node = peer(&endpoint);
    let (_rmw, on_rmw) = subscribe(&node, &format!("0/chatter/{STRING}/{STRING_HASH}"));
    let (_dds, on_dds) = subscribe(&node, "chatter");
    let (_rmw_clock, rmw_clock) = subscribe(&node, CLOCK_KEY);
    let (_dds_clock, dds_clock) = subscribe(&node, "clock");
    let of_node = token(&node, "MS", "/chatter", STRING, STRING_HASH);
    let of_bridge = format!(
        "@/{}/@ros2_lv/MS/chatter/std_msgs§msg§String/:1::0,10",
        node.zid()
    );
    let tokens = [of_node, of_bridge];
    let _tokens = tokens.map(|key| node.liveliness().declare_token(key).wait().unwrap());
    let mut ros1_clock = Subscriber::of_topic(&master, "/clock_listener", "/clock");
    let mut on_ros1 = Subscriber::of_topic(&master, "/listener", "/chatter");
    for n in 0..50 {
        let words = format!("message {n}");
        assert_eq!(on_ros1.message().unwrap(), string(&words));
        for on_zenoh in [&on_rmw, &on_dds] {
            let payload = take(on_zenoh).payload().to_bytes().into_owned();
            assert_eq!(payload, cdr_string(&words));
        }
    }
    let ticks = std::iter::from_fn(|| ros1_clock.message()).count();
    let output = run.end();
    let summary = summary(&output);
    assert!(ticks > 10, "{ticks}");
    for clock in [rmw_clock, dds_clock] {
        assert!(clock.try_iter().count() > 10);
    }
    assert_eq!(summary["messages_sent"], 51);
    let wires = summary["wires"].as_array().unwrap();
    let sent = wires.iter().map(|wire| {
        let name = wire["wire"].as_str().unwrap();
        (name, wire["messages_sent"].as_u64().unwrap())
    });
    let sent: Vec<_> = sent.collect();
    assert_eq!(sent, [("rmw_zenoh", 51), ("ros2dds", 51), ("ros1", 51)]);
    // The router of this process is named once, for the wire that has it.
    let text = text_of(&output);
    assert!(text.contains("rmw_zenoh: router on "), "{text}");
}

#[test]
fn wires_over_zenoh_are_reached_as_a_configuration_file_says() {
    let (master, endpoint, files) = (free_master(), free_endpoint(), files());
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("router.json5");
    let text = format!(
        "{{mode: \"router\", listen: {{endpoints: [\"{endpoint}\"]}}, scouting: {{multicast: {{enabled: false}}}}}}"
    );
    std::fs::write(&config, text).unwrap();
    let mut player = play_on(
        &master,
        &files.paths[0],
        &["--wait-for-subscribers", "/chatter=2"],
    );
    player.args([
        "--wire",
        "rmw_zenoh",
        "--wire",
        "ros2dds",
        "--format",
        "json",
        "--zenoh-config",
    ]);
    player.arg(&config);
    let run = WireRun::start(player);
    let node = peer(&endpoint);
    let (_rmw, on_rmw) = subscribe(&node, &format!("0/chatter/{STRING}/{STRING_HASH}"));
    let (_dds, on_dds) = subscribe(&node, "chatter");
    let of_node = token(&node, "MS", "/chatter", STRING, STRING_HASH);
    let of_bridge = format!(
        "@/{}/@ros2_lv/MS/chatter/std_msgs§msg§String/:1::0,10",
        node.zid()
    );
    let tokens = [of_node, of_bridge];
    let _tokens = tokens.map(|key| node.liveliness().declare_token(key).wait().unwrap());
    for n in 0..50 {
        for samples in [&on_rmw, &on_dds] {
            let payload = take(samples).payload().to_bytes().into_owned();
            assert_eq!(payload, cdr_string(&format!("message {n}")));
        }
    }
    summary(&run.end());
}

#[test]
fn what_a_wire_cannot_carry_is_named_and_the_others_send_it() {
    let (master, endpoint) = (free_master(), free_endpoint());
    let wires = "rmw_zenoh ros1";
    let flags = "--rate max --transcode off";
    let output = start(Path::new(DEMO), wires, &endpoint, &master, flags).end();
    let text = text_of(&output);
    let summary = summary(&output);
    let reason = "messages are `cdr`, and ROS 1 nodes read only ros1";
    assert!(text.contains("not sent on ros1: "), "{text}");
    assert!(text.contains(reason), "{text}");
    assert!(!text.contains("not played"), "{text}");
    assert_eq!(summary["skipped"].as_array().unwrap().len(), 0);
    let (rmw, ros1) = (&summary["wires"][0], &summary["wires"][1]);
    assert!(rmw["messages_sent"].as_u64() >= summary["messages_sent"].as_u64());
    assert_eq!(ros1["messages_sent"], 0);
    let skipped = ros1["skipped"].as_array().unwrap();
    assert_eq!(
        (skipped.len(), rmw["skipped"].as_array().unwrap().len()),
        (summary["topics"].as_array().unwrap().len(), 0)
    );
}

#[test]
fn a_node_that_stands_still_holds_the_run_is_named_with_its_wire_and_others_lose_nothing() {
    // The stall timeout is that of both wires.
    assert!((0..RUNS).any(|_| only_the_node_of_ros1_stands_still()));
}

/// False if the other node, which reads, got no processor for the stall timeout.
fn only_the_node_of_ros1_stands_still() -> bool {
    let (master, endpoint, files) = (free_master(), free_endpoint(), large_files(None));
    let flags = "--rate max --clock 100 --stall-timeout 1 --wait-for-subscribers /large=2";
    let wires = "ros1 rmw_zenoh";
    let run = start(&files.paths[0], wires, &endpoint, &master, flags);
    publishes(&master, "/large");
    let node = peer(&endpoint);
    let (_large, large) = subscribe(&node, &format!("0/large/{STRING}/{STRING_HASH}"));
    let (_clock, clock) = subscribe(&node, CLOCK_KEY);
    let key = token(&node, "MS", "/large", STRING, STRING_HASH);
    let _token = node.liveliness().declare_token(key).wait().unwrap();
    // It connects, and reads nothing.
    let stuck = Subscriber::of_topic(&master, "/stuck", "/large");
    let output = run.end();
    drop(stuck);
    let summary = summary(&output);
    let text = text_of(&output);
    let names = |line: &str| line.contains("ros1: ") && line.contains("/stuck");
    assert!(text.lines().any(names), "{text}");
    let (ros1, rmw) = (&summary["wires"][0], &summary["wires"][1]);
    assert!(ros1["lost"].as_u64() > Some(0), "{summary}");
    assert_eq!(rmw["messages_sent"].as_u64(), Some(LARGE.into()));
    let stands_still = |line: &str| line.contains("rmw_zenoh: ") && line.contains("read nothing");
    if text.lines().any(stands_still) {
        return false;
    }
    assert_eq!(rmw["lost"], 0);
    assert_eq!(summary["lost"], ros1["lost"]);
    for n in 0..LARGE {
        let payload = take(&large).payload().to_bytes().into_owned();
        let number = String::from_utf8_lossy(&payload[8..14]).into_owned();
        assert_eq!(number, format!("{n:06}"));
    }
    // The clock of the other wire repeated its last time.
    let times = clock.try_iter();
    let times: Vec<_> = times
        .map(|sample| sample.payload().to_bytes().into_owned())
        .collect();
    let repeated = times.windows(2).filter(|pair| pair[0] == pair[1]).count();
    assert!(repeated > 20, "{repeated} of {}", times.len());
    true
}

#[test]
fn a_stuck_zenoh_subscriber_does_not_keep_ros1_from_restoring_its_parameter() {
    // The last calls have a time limit.
    assert!((0..RUNS).any(|_| the_parameter_is_restored_beside_a_stuck_zenoh_subscriber()));
}

/// False if the log says that the parameter stays as it is.
fn the_parameter_is_restored_beside_a_stuck_zenoh_subscriber() -> bool {
    // The master of another program.
    let other = Joined::player();
    let param = |method: &str, more: &[Val]| {
        let params = [&[text("/x"), text("/use_sim_time")][..], more].concat();
        call(&other.master, method, &params)
    };
    param("setParam", &[Val::Bool(false)]);
    let (endpoint, files) = (free_endpoint(), large_files(None));
    let flags =
        "--rate max --use-sim-time --order topic --stall-timeout 2 --wait-for-subscribers /large";
    let wires = "rmw_zenoh ros1";
    let run = start(&files.paths[0], wires, &endpoint, &other.master, flags);
    publishes(&other.master, "/large");
    assert_eq!(param("getParam", &[]), Val::Bool(true));
    let pipe = Pipe::to(&endpoint);
    let node = pipe.peer();
    let _large = subscribe(&node, &format!("0/large/{STRING}/{STRING_HASH}"));
    pipe.block();
    let key = token(&node, "MS", "/large", STRING, STRING_HASH);
    let _token = node.liveliness().declare_token(key).wait().unwrap();
    let output = run.end();
    let text = text_of(&output);
    assert!(text.contains("read nothing for"), "{text}");
    if text.contains("/use_sim_time stays true") {
        return false;
    }
    assert_eq!(param("getParam", &[]), Val::Bool(false));
    true
}

#[test]
fn a_subscriber_on_any_wire_is_enough() {
    let (master, endpoint, files) = (free_master(), free_endpoint(), files());
    let flags = "--topics /chatter --wait-for-subscribers /chatter";
    let run = start(&files.paths[0], "rmw_zenoh ros1", &endpoint, &master, flags);
    publishes(&master, "/chatter");
    let mut chatter = Subscriber::of_topic(&master, "/listener", "/chatter");
    for n in 0..50 {
        assert_eq!(chatter.message().unwrap(), string(&format!("message {n}")));
    }
    summary(&run.end());
}

#[test]
fn a_message_that_one_wire_cannot_send_is_named_and_fails_a_strict_run() {
    let (master, endpoint) = (free_master(), free_endpoint());
    let channel = ChannelSpec {
        topic: "/a",
        schema: ("std_msgs/msg/String", "ros2msg", "string data\n"),
        encoding: "cdr",
        metadata: &[],
    };
    let good = cdr_string("x");
    let messages: [(usize, u64, &[u8]); 2] = [(0, 1, &good), (0, 2, &[0, 1, 0, 0, 9, 0, 0, 0, 1])];
    let files = Files::of([ros1_file(&[channel], &messages)]);
    for (flags, code) in [("--rate max", 0), ("--rate max --strict", 3)] {
        let run = start(&files.paths[0], "rmw_zenoh ros1", &endpoint, &master, flags);
        let output = run.end();
        let text = text_of(&output);
        assert_eq!(output.status.code(), Some(code), "{text}");
        assert!(text.contains("ros1: message of /a at "), "{text}");
        let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let (rmw, ros1) = (&summary["wires"][0], &summary["wires"][1]);
        assert_eq!(summary["messages_sent"], 2);
        assert_eq!(
            (&rmw["messages_sent"], &rmw["dropped"]),
            (&2.into(), &0.into())
        );
        assert_eq!(
            (&ros1["messages_sent"], &ros1["dropped"]),
            (&1.into(), &1.into())
        );
        let why = ros1["topics"][0]["dropped_because"].as_str().unwrap();
        assert!(why.contains("is not a valid std_msgs/msg/String"), "{why}");
    }
}

#[test]
fn a_node_of_one_wire_can_end_the_run() {
    let (master, endpoint, files) = (free_master(), free_endpoint(), files());
    let flags = "--start-paused --clock";
    let run = start(&files.paths[0], "rmw_zenoh ros1", &endpoint, &master, flags);
    let lookup = [text("/x"), text("/rosbag2_player")];
    until("the node", || {
        try_call(&master, "lookupNode", &lookup).is_some_and(|(code, _)| code == 1)
    });
    let node = call(&master, "lookupNode", &lookup);
    call(node.str(), "shutdown", &[text("/x"), text("enough")]);
    let output = run.end();
    assert_eq!(output.status.code(), Some(1), "{}", text_of(&output));
    let text = text_of(&output);
    let says_why = |line: &str| line.contains("ros1: ") && line.contains("enough");
    assert!(text.lines().any(says_why), "{text}");
}

#[test]
fn wires_that_cannot_be_together_are_refused() {
    let (master, files) = (free_master(), files());
    for (args, says) in [
        ("--wire null --wire zenoh", "--wire null: it is given alone"),
        (
            "--wire zenoh --wire ros2dds",
            "it has the keys of --wire ros2dds",
        ),
        ("--wire ros1 --wire ros1", "--wire: each wire is given once"),
        (
            "--wire rmw_zenoh --wire ros1 --congestion block-first",
            "--wire ros1 has block and drop",
        ),
        (
            "--wire zenoh --wire ros1 --follow",
            "a clock is followed with --wire rmw_zenoh only",
        ),
        (
            "--wire rmw_zenoh --wire ros1 --lockstep -- true",
            "need --wire rmw_zenoh",
        ),
    ] {
        let args: Vec<&str> = args.split(' ').collect();
        let output = WireRun::start(play_on(&master, &files.paths[0], &args)).end();
        let text = text_of(&output);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {text}");
        assert!(text.contains(says), "{args:?}: {text}");
    }
}
