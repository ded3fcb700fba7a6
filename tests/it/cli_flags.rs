//! The command line as people and scripts write it.

use std::path::PathBuf;

use assert_cmd::Command;
use predicates::str::contains;

use crate::patience::PATIENCE;

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
