//! `play convert` as a process, and what `play info` and playing say of ROS 1 topics.

use std::fs;

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

use crate::cli::{demo, json, play};
use crate::support::network::free_endpoint;
use crate::support::ros1::{ChannelSpec, cdr_string, ros1_file, string};

/// Two topics that can be transcoded, one of which has a message that cannot, and two that cannot, for the same reason.
fn recording() -> Vec<u8> {
    let channels = [
        ChannelSpec::ros1("/chatter", "std_msgs/String", "string data\n"),
        ChannelSpec::ros1("/n", "p/Number", "int32 n\n"),
        ChannelSpec::ros1("/odd", "p/Odd", "q/Missing x\n"),
        ChannelSpec::ros1("/odder", "p/Odder", "q/Missing x\n"),
    ];
    let text = string("hello");
    let messages: [(usize, u64, &[u8]); 6] = [
        (0, 1_000_000_000, &text),
        (1, 2_000_000_000, &[1, 0, 0, 0]),
        (1, 3_000_000_000, &[1, 0]),
        (2, 4_000_000_000, &[1]),
        (3, 4_000_000_000, &[1]),
        (3, 4_000_000_000, &[2]),
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
    let broken = "the payload is not a valid p/Number: at byte 0 of it, needed 4, left 2";
    let lines = [
        format!("/odd 1, /odder 2: {why}\n"),
        format!("/n 1: {broken}\n"),
    ];
    let [odd, number] = &lines;
    convert(&["-o", "new.mcap"])
        .code(0)
        .stderr(contains(format!("left out: {odd}")).and(contains(format!("left out: {number}"))))
        .stdout(
            contains("wrote     new.mcap")
                .and(contains("content   2 messages on 2 topics"))
                .and(contains("left out  4 messages that cannot be transcoded\n"))
                .and(contains(format!("          {odd}")))
                .and(contains(format!("          {number}")))
                .and(contains("framing")),
        );
    convert(&["-o", "new.mcap"])
        .code(2)
        .stderr(contains("--force replaces it"));
    convert(&["-o", "old.mcap", "--force"]).code(2);
    convert(&["-o", "new.mcap", "--force", "--strict"])
        .code(3)
        .stderr(contains("2 topics left out (--strict)"));
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
    assert_eq!(report["left_out"], 4);
    let refused =
        |name, messages| serde_json::json!({ "name": name, "messages": messages, "reason": why });
    let due = [refused("/odd", 1), refused("/odder", 2)];
    assert_eq!(report["refused"], serde_json::json!(due));
    assert_eq!(report["topics"][0]["type"], "std_msgs/msg/String");
    let number = &report["topics"][1];
    assert_eq!(number["left_out"], 1);
    assert_eq!(number["reason"], broken);
    assert!(report["topics"][0]["reason"].is_null());
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
            "not on rmw_zenoh, ros2dds: /odd, /odder: `ros1` messages that cannot be transcoded: q/msg/Missing is referred to",
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
    assert_eq!(topics[0]["not_on"], serde_json::json!({}));
    let reason = &topics[2]["not_on"]["ros2dds"];
    assert!(
        reason.as_str().unwrap().contains("q/msg/Missing"),
        "{reason}"
    );
    assert!(topics[2]["not_on"]["zenoh"].is_null());
    let mut info = play();
    info.args(["info", "--format", "json"]).arg(demo());
    let info = json(&info.output().unwrap().stdout);
    assert!(info["topics"][0]["ros2_type"].is_null());
}

#[test]
fn info_says_which_wires_take_a_topic_and_why_others_do_not() {
    let channel = |topic, name, schema_encoding, encoding| ChannelSpec {
        topic,
        schema: (name, schema_encoding, "string data\n"),
        encoding,
        metadata: &[],
    };
    let channels = [
        channel("/ros2", "std_msgs/msg/String", "ros2msg", "cdr"),
        channel("/own", "own_msgs/msg/Text", "ros2msg", "cdr"),
        channel("/json", "Object", "jsonschema", "json"),
        ChannelSpec::ros1("/ros1", "std_msgs/String", "string data\n"),
    ];
    let (cdr, ros1) = (cdr_string("x"), string("x"));
    let messages: [(usize, u64, &[u8]); 4] =
        [(0, 1, &cdr), (1, 2, &cdr), (2, 3, b"{}"), (3, 4, &ros1)];
    let dir = tempfile::tempdir().unwrap();
    let bag = dir.path().join("mixed.mcap");
    fs::write(&bag, ros1_file(&channels, &messages)).unwrap();
    let info = |format: &str| {
        let output = play().args(["info", "--format", format]).arg(&bag).output();
        output.unwrap().stdout
    };
    let text = String::from_utf8(info("text")).unwrap();
    for words in [
        "wires     rmw_zenoh 3 of 4, ros2dds 3 of 4, ros1 3 of 4, zenoh all\n",
        "not on rmw_zenoh, ros2dds: /json: messages are `json`, and ROS 2 nodes read only cdr\n",
        "not on ros1: /json: messages are `json`, and ROS 1 nodes read only ros1\n",
    ] {
        assert!(text.contains(words), "{text}");
    }
    let info = json(&info("json"));
    for topic in info["topics"].as_array().unwrap() {
        let wires: Vec<&str> = match topic["name"].as_str() {
            Some("/json") => vec!["rmw_zenoh", "ros1", "ros2dds"],
            _ => vec![],
        };
        let not_on = topic["not_on"].as_object().unwrap();
        assert_eq!(not_on.keys().collect::<Vec<_>>(), wires, "{topic}");
    }
}

#[test]
fn a_recording_of_which_nothing_can_be_converted_names_all_topics() {
    let dir = tempfile::tempdir().unwrap();
    let channels = [
        ChannelSpec::ros1("/a", "p/A", "q/Missing x\n"),
        ChannelSpec::ros1("/b", "p/B", "B b\n"),
    ];
    let file = ros1_file(&channels, &[(0, 10, b"1"), (1, 20, b"1"), (0, 30, b"1")]);
    fs::write(dir.path().join("old.mcap"), file).unwrap();
    let mut convert = play();
    convert.current_dir(dir.path());
    convert.args(["convert", "old.mcap", "-o", "new.mcap"]);
    convert.assert().code(3).stderr(
        contains("left out: /a 2: q/msg/Missing is referred to")
            .and(contains("left out: /b 1: p/msg/B contains itself")),
    );
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
    let why = "`ros1` messages that cannot be transcoded: q/msg/Missing";
    let words = format!("not played: /odd, /odder: {why}");
    let broken = "the payload is not a valid p/Number: at byte 0 of it, needed 4, left 2";
    let skipped = format!("message of /n at 3.000000000 is skipped, and others like it: {broken}");
    let summary = contains(format!("messages not sent: /odd 1, /odder 2: {why}"))
        .and(contains(format!("messages not sent: /n 1: {broken}")));
    let mut text = run(&["--format", "text"]);
    let text = text.assert().code(0);
    text.stderr(summary.and(contains(words)).and(contains(skipped)));
    let done = run(&["--format", "json"]).output().unwrap();
    let summary = json(&done.stdout);
    assert_eq!(summary["messages_sent"], 2);
    let skipped = &summary["skipped"];
    assert_eq!(
        (&skipped[0]["topic"], &skipped[0]["messages"]),
        (&"/odd".into(), &1.into())
    );
    assert_eq!(
        (&skipped[1]["topic"], &skipped[1]["messages"]),
        (&"/odder".into(), &2.into())
    );
    let topics = summary["topics"].as_array().unwrap();
    let counts = |name: &str| {
        let topic = topics.iter().find(|topic| topic["name"] == name).unwrap();
        let counts = [&topic["sent"], &topic["dropped"], &topic["dropped_because"]];
        counts.map(Clone::clone)
    };
    assert_eq!(counts("/chatter"), [Value::from(1), 0.into(), Value::Null]);
    assert_eq!(counts("/n"), [Value::from(1), 1.into(), broken.into()]);
    let could_not = contains("messages of the recording could not be sent (--strict)");
    run(&["--strict"]).assert().code(3).stderr(could_not);
    let without = ["--strict", "--exclude-topics", "/n", "/odd", "/odder"];
    run(&without).assert().code(0);
    let mut off = run(&["--transcode", "off"]);
    off.assert().stderr(contains(
        "without --transcode off they are sent as ROS 2 messages",
    ));
}

/// As for `--wire zenoh`, each message is one that can be sent.
#[test]
fn without_a_wire_messages_are_what_is_recorded() {
    let dir = tempfile::tempdir().unwrap();
    let bag = dir.path().join("old.mcap");
    fs::write(&bag, recording()).unwrap();
    let summary = |wire: &[&str]| {
        let mut run = play();
        run.arg(&bag)
            .args(["--no-tui", "--rate", "max", "--strict"]);
        run.args(["--format", "json"]).args(wire);
        json(&run.assert().code(0).get_output().stdout)
    };
    let null = summary(&["--wire", "null"]);
    let plain = summary(&["--wire", "zenoh", "--listen", &free_endpoint()]);
    assert_eq!(null["messages_sent"], 6);
    for field in ["messages_sent", "bytes_sent", "digest", "skipped"] {
        assert_eq!(null[field], plain[field], "{field}");
    }
}

#[test]
fn the_digest_is_that_of_the_messages_that_were_sent() {
    let dir = tempfile::tempdir().unwrap();
    let (text, number) = (string("hello"), [1, 0, 0, 0]);
    let all: [(usize, u64, &[u8]); 3] = [(0, 10, &text), (1, 20, &number), (1, 30, &[1, 0])];
    let digest = |name: &str, messages: &[(usize, u64, &[u8])]| {
        let channels = [
            ChannelSpec::ros1("/chatter", "std_msgs/String", "string data\n"),
            ChannelSpec::ros1("/n", "p/Number", "int32 n\n"),
        ];
        let bag = dir.path().join(name);
        fs::write(&bag, ros1_file(&channels, messages)).unwrap();
        let mut run = play();
        run.arg(&bag).args(["--no-tui", "--rate", "max"]);
        run.args(["--listen", &free_endpoint(), "--format", "json"]);
        json(&run.assert().code(0).get_output().stdout)["digest"].clone()
    };
    let sent = digest("sent.mcap", &all[..2]);
    assert!(sent.is_string());
    assert_eq!(digest("all.mcap", &all), sent);
}

#[test]
fn names_that_ros2_forbids_are_warned_of_and_sent() {
    let dir = tempfile::tempdir().unwrap();
    let bag = dir.path().join("old.mcap");
    let channel = ChannelSpec::ros1("/camera/0/name", "std_msgs/String", "string data\n");
    fs::write(&bag, ros1_file(&[channel], &[(0, 10, &string("hello"))])).unwrap();
    let mut run = play();
    run.arg(&bag).args(["--no-tui", "--rate", "max"]);
    run.args(["--listen", &free_endpoint(), "--format", "json"]);
    let words = "ROS 2 nodes cannot subscribe to /camera/0/name: a part of the name begins with a digit; \
                 hint: --remap /camera/0/name:=/other";
    let run = run.assert().code(0).stderr(contains(words));
    assert_eq!(json(&run.get_output().stdout)["messages_sent"], 1);
}

#[test]
fn it_is_said_how_many_topics_are_sent_in_another_form() {
    let dir = tempfile::tempdir().unwrap();
    let bag = dir.path().join("old.mcap");
    let channels = [
        ChannelSpec::ros1("/a", "std_msgs/String", "string data\n"),
        ChannelSpec::ros1("/b", "std_msgs/String", "string data\n"),
    ];
    let text = string("hello");
    fs::write(
        &bag,
        ros1_file(&channels, &[(0, 10, &text), (1, 20, &text)]),
    )
    .unwrap();
    let said = |args: &[&str]| {
        let mut run = play();
        run.arg(&bag).args(["--no-tui", "--rate", "max"]).args(args);
        let run = run.args(["--listen", &free_endpoint()]).output().unwrap();
        let log = String::from_utf8(run.stderr).unwrap();
        let lines = log
            .lines()
            .filter(|line| line.contains("with ROS 1 messages"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(
        said(&[]),
        ["2 topics with ROS 1 messages, which are sent as ROS 2 messages"]
    );
    let one = ["--topics", "/a"];
    assert_eq!(
        said(&one),
        ["1 topic with ROS 1 messages, which are sent as ROS 2 messages"]
    );
    assert!(said(&["--wire", "zenoh"]).is_empty());
}
