//! The binary as a user meets it: exit codes, what is said and where.

use std::path::PathBuf;
use std::process::Output;

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;

fn play() -> Command {
    let mut play = Command::cargo_bin("play").unwrap();
    play.env_remove("RUST_LOG")
        .env_remove("ROS_DOMAIN_ID")
        .timeout(std::time::Duration::from_secs(60));
    play
}

fn demo() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata/demo.mcap")
}

/// A summary of a run into nothing.
fn summary(args: &[&str]) -> serde_json::Value {
    let run: Output = play()
        .arg(demo())
        .args(["--wire", "null", "--format", "json"])
        .args(args)
        .output()
        .unwrap();
    assert!(
        run.status.success(),
        "{}",
        String::from_utf8_lossy(&run.stderr)
    );
    let lines: Vec<&[u8]> = run
        .stdout
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .collect();
    assert_eq!(lines.len(), 1, "one JSON object on stdout");
    serde_json::from_slice(lines[0]).unwrap()
}

#[test]
fn mistakes_on_the_command_line_end_with_2_and_say_what_is_wrong() {
    let cases: [(&[&str], &str); 12] = [
        (&["--rate", "0"], "rate 0 is not between 0.001 and 1000"),
        (&["--rate", "fast"], "rate `fast` is not between"),
        (
            &["--clock", "--clock-topics", "/nope"],
            "--clock-topics: no topic `/nope`",
        ),
        (
            &["--topics", "/imu", "/lidar"],
            "--topics: no topic `/lidar` in the recording; recorded are: /camera/image/compressed, /clock",
        ),
        (&["--exclude-regex", "("], "--exclude-regex: "),
        (&["--start", "soon"], "`soon` is not a time"),
        (&["--start", "+60s"], "lies after the end of the recording"),
        (
            &["--end", "+10s", "--start", "+20s"],
            "lies before the start",
        ),
        (&["--remap", "/imu"], "is not A:=B"),
        (&["--read-ahead", "much"], "`much` is not a size"),
        (&["--no-such-flag"], "unexpected argument"),
        (
            &["--message-order", "sent"],
            "--message-order sent is not supported yet",
        ),
    ];
    for (args, said) in cases {
        play()
            .arg(demo())
            .args(["--wire", "null"])
            .args(args)
            .assert()
            .code(2)
            .stdout("")
            .stderr(contains(said));
    }
    play()
        .assert()
        .code(2)
        .stderr(contains("no recording named").and(contains("hint:")));
}

#[test]
fn an_unreadable_recording_ends_with_3_and_names_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let text = dir.path().join("notes.mcap");
    std::fs::write(&text, "these are notes").unwrap();
    let empty = dir.path().join("empty.mcap");
    std::fs::write(&empty, "").unwrap();
    let missing = dir.path().join("missing.mcap");
    for file in [&text, &empty, &missing, &dir.path().to_path_buf()] {
        let name = file.display().to_string();
        play()
            .arg(file)
            .args(["--wire", "null"])
            .assert()
            .code(3)
            .stdout("")
            .stderr(contains(name.clone()));
        play()
            .arg("info")
            .arg(file)
            .assert()
            .code(3)
            .stdout("")
            .stderr(contains(name));
    }
}

#[test]
fn flat_out_into_nothing_sends_every_message_once() {
    let summary = summary(&["--rate", "max"]);
    assert_eq!(summary["messages_sent"], 12_247);
    assert_eq!(summary["ended"], "end");
    assert_eq!(summary["topics"].as_array().unwrap().len(), 9);
    assert_eq!(summary["held_ms"]["stalled"], 0.0);
    assert_eq!(summary["digest"], digest_of_the_file());
}

/// The digest as the documentation defines it, from the crate's reader.
fn digest_of_the_file() -> String {
    let bytes = std::fs::read(demo()).unwrap();
    let mut messages: Vec<_> = mcap::MessageStream::new(&bytes)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    messages.sort_by_key(|message| message.log_time);
    let mut digest = xxhash_rust::xxh3::Xxh3::new();
    for message in messages {
        digest.update(message.channel.topic.as_bytes());
        digest.update(&[0]);
        digest.update(&message.log_time.to_le_bytes());
        digest.update(&message.publish_time.to_le_bytes());
        digest.update(&(message.data.len() as u64).to_le_bytes());
        digest.update(&message.data);
    }
    format!("{:032x}", digest.digest128())
}

#[test]
fn a_part_of_some_topics_under_other_names() {
    let part = summary(&[
        "--rate",
        "max",
        "--start",
        "+5s",
        "--end",
        "+6s",
        "--topics",
        "/imu",
        "/odom",
        "-m",
        "/odom:=/o",
        "--prefix",
        "r1",
    ]);
    let topics: Vec<_> = part["topics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|topic| {
            (
                topic["name"].as_str().unwrap(),
                topic["sent"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        topics.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
        ["/r1/o", "/r1/imu"]
    );
    assert!(
        topics.iter().all(|(name, sent)| if name.ends_with('o') {
            (49..=51).contains(sent)
        } else {
            (199..=201).contains(sent)
        }),
        "{topics:?}"
    );
}

#[test]
fn a_late_start_sends_latched_topics_again_unless_told_not_to() {
    let refilled = |args: &[&str]| -> u64 {
        let run = summary(&[&["--rate", "max", "--start", "+10s"], args].concat());
        run["topics"]
            .as_array()
            .unwrap()
            .iter()
            .map(|topic| topic["refilled"].as_u64().unwrap())
            .sum()
    };
    assert_eq!(refilled(&[]), 3, "robot_description and both tf_static");
    assert_eq!(refilled(&["--no-refill"]), 0);
}

#[test]
fn a_served_clock_leaves_the_recorded_one_out() {
    let run = summary(&["--rate", "max", "--clock"]);
    assert_eq!(run["skipped"][0]["topic"], "/clock");
    assert_eq!(run["messages_sent"], 12_247 - 2_600);
}

#[test]
fn a_run_is_never_faster_than_its_rate_and_goes_backwards_too() {
    let run = summary(&["--start", "+20s", "--end", "+25s", "--rate", "10"]);
    let rate = run["rate"]["achieved"].as_f64().unwrap();
    assert!(rate > 0.0 && rate < 10.01, "achieved {rate}");
    assert_eq!(run["rate"]["asked"], 10.0);
    let back = summary(&["--start", "+20s", "--end", "+25s", "--rate", "-10"]);
    assert_eq!(back["messages_sent"], run["messages_sent"]);
    assert_ne!(back["digest"], run["digest"]);
}

#[test]
fn info_tells_what_is_inside() {
    let text = play().arg("info").arg(demo()).assert().code(0).stderr("");
    text.stdout(
        contains("29.998 s")
            .and(contains("/tf_static"))
            .and(contains("latched"))
            .and(contains("12,247")),
    );
    let json = play()
        .args(["info", "--format", "json"])
        .arg(demo())
        .output()
        .unwrap();
    let info: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(info["message_count"], 12_247);
    assert_eq!(info["topics"].as_array().unwrap().len(), 9);
}

#[test]
fn help_and_completions_and_the_manual_know_every_flag() {
    for args in [
        &["--help"][..],
        &["man"],
        &["completions", "bash"],
        &["completions", "fish"],
        &["completions", "zsh"],
    ] {
        let shown = play().args(args).assert().code(0).stderr("");
        let text = String::from_utf8_lossy(&shown.get_output().stdout).replace('\\', "");
        for flag in [
            "clock-topics-all",
            "skip-empty",
            "wait-for-subscribers",
            "congestion",
            "loop-range",
        ] {
            assert!(text.contains(flag), "{args:?} does not know --{flag}");
        }
    }
    play()
        .arg("-h")
        .assert()
        .code(0)
        .stdout(predicate::function(|text: &str| text.lines().count() <= 50));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    use std::process::{Command as Process, Stdio};
    let mut child = Process::new(assert_cmd::cargo::cargo_bin("play"))
        .arg("man")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let done = child.wait_with_output().unwrap();
    assert_eq!(
        (
            done.status.code(),
            String::from_utf8_lossy(&done.stderr).as_ref()
        ),
        (Some(0), "")
    );
}

/// Sends a signal as a shell would, once the run says that it plays.
fn signalled(signal: &str, args: &[&str]) -> Output {
    use std::io::{BufRead, BufReader};
    use std::process::{Command as Process, Stdio};
    let mut child = Process::new(assert_cmd::cargo::cargo_bin("play"))
        .arg(demo())
        .args(args)
        .args(["--listen", "tcp/127.0.0.1:0", "--format", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    let first = said.next().unwrap().unwrap();
    assert!(first.contains("router on"), "{first}");
    assert!(
        Process::new("kill")
            .args([signal, &child.id().to_string()])
            .status()
            .unwrap()
            .success()
    );
    child.wait_with_output().unwrap()
}

#[test]
fn a_signal_ends_the_run_at_once_with_its_own_code_and_a_summary() {
    for (signal, args, code) in [
        ("-INT", &[][..], 130),
        ("-TERM", &["--start-paused"], 143),
        ("-INT", &["--start", "+14.5s", "--rate", "0.01"], 130),
    ] {
        let done = signalled(signal, args);
        assert_eq!(done.status.code(), Some(code), "{signal} {args:?}");
        let summary: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
        assert_eq!(summary["ended"], "interrupted");
    }
}

#[test]
fn nobody_listening_ends_with_4_and_names_who_is_missing() {
    play()
        .arg(demo())
        .args([
            "--listen",
            "tcp/127.0.0.1:0",
            "--wait-for-subscribers",
            "/imu",
            "--wait-timeout",
            "0.2",
        ])
        .assert()
        .code(4)
        .stderr(contains("nobody subscribed to /imu within 0.2s"));
}
