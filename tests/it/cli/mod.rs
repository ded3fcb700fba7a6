//! The binary: its flags, its output, its exit.

use std::path::PathBuf;
use std::process::{Child, Command as Process, Stdio};

use assert_cmd::Command;

use crate::support::patience::PATIENCE;

pub(crate) mod clock_server;
pub(crate) mod convert;
pub(crate) mod cut;
pub(crate) mod find;
pub(crate) mod flags;
pub(crate) mod foreign;
pub(crate) mod log;
pub(crate) mod process;
pub(crate) mod qos_overrides;
pub(crate) mod realtime;
pub(crate) mod replay;
pub(crate) mod suite;

/// The binary, without the variables of the developer's environment that it reads.
fn play() -> Command {
    let mut play = Command::cargo_bin("play").unwrap();
    play.env_remove("RUST_LOG")
        .env_remove("ROS_DOMAIN_ID")
        .timeout(3 * PATIENCE);
    play
}

/// The binary under a limit of `ulimit`, such as `-n 16`.
fn limited(limit: &str) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &format!(r#"ulimit {limit}; exec "$0" "$@""#)]);
    shell.arg(assert_cmd::cargo::cargo_bin("play"));
    shell.env_remove("RUST_LOG").timeout(3 * PATIENCE);
    shell
}

/// The binary as a process whose output is read while it runs.
fn play_process() -> Process {
    let mut play = Process::new(assert_cmd::cargo::cargo_bin("play"));
    play.stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    play
}

/// Sends a signal, such as `-INT`.
fn signal(signal: &str, child: &Child) {
    let kill = Process::new("kill")
        .args([signal, &child.id().to_string()])
        .status();
    assert!(kill.unwrap().success());
}

fn demo() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata/demo.mcap")
}

/// The summary or report on standard output, a single JSON object.
fn json(stdout: &[u8]) -> serde_json::Value {
    serde_json::from_slice(stdout).unwrap()
}
