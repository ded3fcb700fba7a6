//! `play convert` as a process, and what `play info` and playing say of ROS 1 topics.

use std::fs;

use predicates::prelude::*;
use predicates::str::contains;

use crate::cli::{demo, json, play};
use crate::support::network::free_endpoint;
use crate::support::ros1::{ChannelSpec, ros1_file, string};

/// Two topics that can be transcoded, one of which has a message that cannot, and one that cannot.
fn recording() -> Vec<u8> {
    let channels = [
        ChannelSpec::ros1("/chatter", "std_msgs/String", "string data\n"),
        ChannelSpec::ros1("/n", "p/Number", "int32 n\n"),
        ChannelSpec::ros1("/odd", "p/Odd", "q/Missing x\n"),
    ];
    let text = string("hello");
    let messages: [(usize, u64, &[u8]); 4] = [
        (0, 1_000_000_000, &text),
        (1, 2_000_000_000, &[1, 0, 0, 0]),
        (1, 3_000_000_000, &[1, 0]),
        (2, 4_000_000_000, &[1]),
    ];
    ros1_file(&channels, &messages)
}

#[test]
fn a_recording_is_converted_and_described() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("old.mcap"), recording()).unwrap();
    let convert = |flags: &[&str]| {
        let mut convert = play();
        convert.current_dir(dir.path());
        convert.args(["--format", "text", "convert", "old.mcap"]);
        convert.args(flags).assert()
    };
    let why = "q/msg/Missing is referred to but not defined in the schema";
    convert(&["-o", "new.mcap"])
        .code(0)
        .stderr(contains(format!("/odd is left out: {why}")))
        .stdout(
            contains("wrote     new.mcap")
                .and(contains("content   2 messages on 2 topics"))
                .and(contains(
                    "left out  1 message that cannot be transcoded: /n 1\n",
                ))
                .and(contains("framing")),
        );
    convert(&["-o", "new.mcap"])
        .code(2)
        .stderr(contains("--force replaces it"));
    convert(&["-o", "old.mcap", "--force"]).code(2);
    convert(&["-o", "new.mcap", "--force", "--strict"])
        .code(3)
        .stderr(contains("a topic is left out (--strict)"));
    let done = play()
        .current_dir(dir.path())
        .args([
            "convert",
            "old.mcap",
            "-o",
            "again.mcap",
            "--format",
            "json",
        ])
        .output()
        .unwrap();
    let report = json(&done.stdout);
    assert_eq!(report["left_out"], 1);
    assert_eq!(report["refused"][0]["name"], "/odd");
    assert_eq!(report["refused"][0]["reason"], why);
    assert_eq!(report["topics"][0]["type"], "std_msgs/msg/String");
    play()
        .current_dir(dir.path())
        .args(["info", "--check", "again.mcap", "--format", "text"])
        .assert()
        .code(0)
        .stdout(contains("p/msg/Number").and(contains("ros2")));
}

#[test]
fn without_ros1_messages_nothing_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let mut convert = play();
    convert.current_dir(dir.path()).arg("convert").arg(demo());
    let words = "no topic has `ros1` messages; hint: play cut writes recordings as they are";
    convert.args(["-o", "out.mcap"]);
    convert.assert().code(2).stderr(contains(words));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn info_says_what_is_transcoded() {
    let dir = tempfile::tempdir().unwrap();
    let bag = dir.path().join("old.mcap");
    fs::write(&bag, recording()).unwrap();
    let mut info = play();
    info.args(["info", "--format", "text"]).arg(&bag);
    info.assert().code(0).stdout(
        contains("transcode 2 topics, from ros1 to cdr for ROS 2 nodes\n").and(contains(
            "not transcoded: /odd: q/msg/Missing is referred to",
        )),
    );
    let mut info = play();
    info.args(["info", "--format", "json"]).arg(&bag);
    let info = json(&info.output().unwrap().stdout);
    let topics = info["topics"].as_array().unwrap();
    assert_eq!(topics[0]["ros2_type"], "std_msgs/msg/String");
    assert!(topics[0]["not_transcoded"].is_null());
    assert!(topics[2]["ros2_type"].is_null());
    assert!(
        topics[2]["not_transcoded"]
            .as_str()
            .unwrap()
            .contains("q/msg/Missing")
    );
    let mut info = play();
    info.args(["info", "--format", "json"]).arg(demo());
    let info = json(&info.output().unwrap().stdout);
    assert!(info["topics"][0]["ros2_type"].is_null());
}

#[test]
fn playing_names_what_has_no_ros2_form_and_counts_it() {
    let dir = tempfile::tempdir().unwrap();
    let bag = dir.path().join("old.mcap");
    fs::write(&bag, recording()).unwrap();
    let run = |flags: &[&str]| {
        let mut run = play();
        run.arg(&bag).args(["--no-tui", "--rate", "max"]);
        run.args(["--listen", &free_endpoint()]).args(flags);
        run
    };
    let words = "not played: /odd: `ros1` messages that cannot be transcoded: q/msg/Missing";
    let skipped = "message of /n at 3.000000000 is skipped, and others like it: the payload is not a valid p/Number";
    let mut text = run(&["--format", "text"]);
    let text = text.assert().code(0);
    text.stderr(contains(words).and(contains(skipped)));
    let done = run(&["--format", "json"]).output().unwrap();
    let summary = json(&done.stdout);
    assert_eq!(summary["skipped"][0]["topic"], "/odd");
    let topics = summary["topics"].as_array().unwrap();
    let counts = |name: &str| {
        let topic = topics.iter().find(|topic| topic["name"] == name).unwrap();
        (topic["sent"].clone(), topic["dropped"].clone())
    };
    assert_eq!(counts("/chatter"), (1.into(), 0.into()));
    assert_eq!(counts("/n"), (1.into(), 1.into()));
    let mut off = run(&["--transcode", "off"]);
    off.assert().stderr(contains(
        "without --transcode off they are sent as ROS 2 messages",
    ));
}
