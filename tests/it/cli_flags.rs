//! The command line as people and scripts write it.

use std::path::PathBuf;

use assert_cmd::Command;
use predicates::str::contains;
use zenoh::Wait;

use crate::patience::PATIENCE;
use crate::wire_net::{STRING, STRING_HASH, free_endpoint, hearing, node, token};

fn play() -> Command {
    let mut play = Command::cargo_bin("play").unwrap();
    play.env_remove("RUST_LOG")
        .env_remove("ROS_DOMAIN_ID")
        .timeout(3 * PATIENCE);
    play
}

fn demo() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata/demo.mcap")
}

#[test]
fn global_flags_may_stand_before_a_verb() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log");
    let log = log.to_str().unwrap();
    for flags in [&["-vvv"][..], &["--verbose"], &["-q"], &["--log-file", log]] {
        let shown = play().args(flags).arg("info").arg(demo()).assert();
        shown.code(0).stdout(contains("12,247 messages"));
    }
}

#[test]
fn a_hint_names_what_was_recorded_and_not_what_is_sent() {
    let endpoint = free_endpoint();
    let listen = format!("[\"{endpoint}\"]");
    let other = node("\"router\"", "", &[("listen/endpoints", listen.as_str())]);
    let publish = |topic: &str| {
        let key = token(&other, "MP", topic, STRING, STRING_HASH);
        other.liveliness().declare_token(key).wait().unwrap()
    };
    let _imu = publish("/robot1/imu");
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("play"))
        .arg(demo())
        .args(["--clock", "--prefix", "robot1", "--rate", "0.01"])
        .args(["--connect", &endpoint])
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut hear = hearing(&mut child);
    hear(
        "/robot1/imu too: subscribers get both; hint: stop it, --exclude-topics /imu, or --remap /imu:=/other",
    );
    let _state = publish("/rosbag2_player/clock_state");
    hear(
        "/clock_state too: subscribers get both; hint: stop it, or give this player another name with --node-name",
    );
    let _clock = publish("/clock");
    hear("hint: stop it, or play without --clock");
    child.kill().unwrap();
    child.wait().unwrap();
}
