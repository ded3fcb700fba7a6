//! `play --foxglove` as a process.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::SECOND;
use super::client::{Client, Data, PLAYING, port_in};
use crate::support::mcaps::{Files, Note, Spec, incompressible};

fn play(bag: &Path, args: &[&str]) -> Command {
    let mut play = Command::new(assert_cmd::cargo::cargo_bin("play"));
    play.arg(bag).args(args);
    play.env_remove("RUST_LOG").env("CI", "1");
    play.stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    play
}

/// A run that serves viewers.
struct Run {
    child: Child,
    log: BufReader<std::process::ChildStderr>,
    /// The lines up to the one with the address.
    lines: String,
    port: u16,
}

impl Run {
    fn start(bag: &Path, args: &[&str]) -> Self {
        let mut child = play(bag, args).spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut lines = String::new();
        let port = loop {
            let mut line = String::new();
            assert!(log.read_line(&mut line).unwrap() > 0, "ended: {lines}");
            lines.push_str(&line);
            if let Some(port) = port_in(&line) {
                break port;
            }
        };
        Self {
            child,
            log,
            lines,
            port,
        }
    }

    /// The summary on standard output, and the log.
    fn end(mut self) -> (Value, String) {
        let mut rest = String::new();
        self.log.read_to_string(&mut rest).unwrap();
        let output = self.child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}{rest}", self.lines);
        let summary = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
        (summary, self.lines + &rest)
    }
}

fn files() -> Files {
    let note = |n: u64| Note::new(0, SECOND + n * 10_000_000, format!("message {n}"));
    Files::of([Spec::new(vec![(0..50).map(note).collect()]).write()])
}

#[test]
fn a_run_without_ros_serves_viewers_and_counts_them() {
    let files = files();
    let args = "--wire null --foxglove 0 --start-paused --format json --prefix /robot --clock --clock-start 0";
    let args: Vec<&str> = args.split(' ').collect();
    let run = Run::start(&files.paths[0], &args);
    let link = "https://app.foxglove.dev";
    assert!(run.lines.contains(link), "{}", run.lines);
    assert!(!run.lines.contains("control the player"), "{}", run.lines);
    let mut client = Client::connect(run.port);
    client.subscribe(&["/robot/t0"]);
    client.sync();
    client.ask(true, 1.0, None);
    let received: Vec<Data> = (0..50).map(|_| client.data()).collect();
    assert_eq!(received[49].payload, b"message 49");
    assert_eq!(received[49].time, SECOND + 490_000_000);
    assert!(received.is_sorted());
    let times = client.times();
    assert!(times.iter().all(|time| *time >= SECOND), "{times:?}");
    let (summary, _) = run.end();
    assert_eq!(summary["messages_sent"], 50);
    assert_eq!(summary["viewers"]["connected"], 1);
}

#[test]
fn topics_that_ros_cannot_take_are_played_for_viewers() {
    let mut writer = mcap::Writer::new(std::io::Cursor::new(Vec::new())).unwrap();
    let none = std::collections::BTreeMap::new();
    let channel_id = writer.add_channel(0, "/status", "json", &none).unwrap();
    for n in 0..20 {
        let header = mcap::records::MessageHeader {
            channel_id,
            sequence: 0,
            log_time: SECOND + n * 10_000_000,
            publish_time: SECOND,
        };
        writer.write_to_known_channel(&header, b"{}").unwrap();
    }
    writer.finish().unwrap();
    let files = Files::of([writer.into_inner().into_inner()]);
    let endpoint = crate::support::network::free_endpoint();
    let args = [
        "--listen",
        &endpoint,
        "--foxglove",
        "0",
        "--start-paused",
        "--format",
        "json",
        "--strict",
        "--wait-for-subscribers",
    ];
    let run = Run::start(&files.paths[0], &args);
    let mut client = Client::connect(run.port);
    client.subscribe(&["/status"]);
    client.sync();
    client.ask(true, 1.0, None);
    for _ in 0..20 {
        assert_eq!(client.data().payload, b"{}");
    }
    let (summary, log) = run.end();
    assert!(log.contains("played for viewers alone: /status"), "{log}");
    assert_eq!(summary["messages_sent"], 20);
    assert_eq!(summary["skipped"], serde_json::json!([]));
}

#[test]
fn a_port_in_use_and_an_address_that_is_none_are_named() {
    let files = files();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    for (args, code, said) in [
        (
            ["--wire", "null", "--foxglove", &port],
            1,
            "hint: --foxglove PORT",
        ),
        (
            ["--wire", "null", "--foxglove=a/b", "-q"],
            2,
            "--foxglove: expected HOST:PORT",
        ),
        (
            ["--foxglove", "0", "--gate", "/t0 -> /x"],
            2,
            "--foxglove cannot be used",
        ),
    ] {
        let output = play(&files.paths[0], &args).output().unwrap();
        let log = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{log}");
        assert!(log.contains(said), "{log}");
    }
}

#[test]
fn who_opens_it_to_the_network_is_told_what_that_means() {
    let files = files();
    let args = ["--wire", "null", "--foxglove", "0.0.0.0:0", "--rate", "max"];
    let output = play(&files.paths[0], &args).output().unwrap();
    let log = String::from_utf8(output.stderr).unwrap();
    assert!(
        log.contains("can see what is played, and control the player"),
        "{log}"
    );
    assert!(log.contains("0 connections of viewers"), "{log}");
}

#[test]
fn a_viewer_whose_messages_are_dropped_is_named() {
    // More than sockets and the queue of a viewer hold.
    let note = |n: u64| Note::new(0, SECOND + n, incompressible(n + 1, 16 << 10));
    let chunks = (0..150).map(|c| (c * 20..(c + 1) * 20).map(note).collect());
    let files = Files::of([Spec::new(chunks.collect()).write()]);
    let args = "--wire null --foxglove 0 --start-paused --rate max --format json";
    let args: Vec<&str> = args.split(' ').collect();
    let run = Run::start(&files.paths[0], &args);
    let mut slow = Client::connect(run.port);
    slow.subscribe(&["/t0"]);
    slow.sync();
    slow.ask(true, 1000.0, None);
    let (summary, log) = run.end();
    assert_eq!(summary["messages_sent"], 3000);
    let words = format!("warning: viewer {} does not keep up: ", slow.address());
    assert!(log.contains(&words), "{log}");
}

#[test]
fn a_second_viewer_sees_what_the_first_one_does() {
    let files = files();
    let args = [
        "--wire",
        "null",
        "--foxglove",
        "0",
        "--start-paused",
        "--rate",
        "0.001",
    ];
    let run = Run::start(&files.paths[0], &args);
    let mut first = Client::connect(run.port);
    first.ask(true, 0.001, None);
    let mut second = Client::connect(run.port);
    second.state("that it plays", |state| state.status == PLAYING);
    let answer = second.ask(true, 1000.0, None);
    assert_eq!(answer.speed.to_bits(), 1000.0_f32.to_bits());
    let same = first.state("the answer to the other", |state| state.id == answer.id);
    assert_eq!(same, answer);
    let (_, log) = run.end();
    assert!(log.contains("2 connections of viewers"), "{log}");
}
