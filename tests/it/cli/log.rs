//! The log of the binary: with readers that do not read, and in files.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Output, Stdio};

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;

use crate::support::network::{free_endpoint, peer, subscribe, take};
use crate::support::patience::PATIENCE;

fn demo() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata/demo.mcap")
}

fn play() -> Command {
    let mut play = Command::cargo_bin("play").unwrap();
    play.env_remove("RUST_LOG").timeout(3 * PATIENCE);
    play
}

#[test]
fn an_unread_log_delays_no_message() {
    let endpoint = free_endpoint();
    let mut child = Process::new(assert_cmd::cargo::cargo_bin("play"))
        .arg(demo())
        .args(["--listen", &endpoint, "--loop", "--rate", "100"])
        .args(["--format", "json"])
        // Many lines a message, of the thread that sends it among others.
        .env("RUST_LOG", "trace")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let listener = loop {
        // zenoh gives up on a connection that is refused.
        if std::net::TcpStream::connect(endpoint.trim_start_matches("tcp/")).is_ok() {
            break peer(&endpoint);
        }
        std::thread::yield_now();
    };
    let (_imus, imus) = subscribe(&listener, "0/imu/**");
    // Three laps: far more lines than a pipe holds, and than may wait.
    for _ in 0..15_600 {
        take(&imus);
    }
    // Read at last, it tells what is missing, and goes on.
    let said = BufReader::new(child.stderr.take().unwrap());
    let mut said = said.split(b'\n').map(Result::unwrap);
    let is_told = said.any(|line| {
        let line = String::from_utf8_lossy(&line).into_owned();
        line.starts_with("warning: ") && line.contains(" lines are missing here")
    });
    assert!(is_told);
    let reading = std::thread::spawn(move || said.count());
    let kill = Process::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(kill.unwrap().success());
    let done = child.wait_with_output().unwrap();
    reading.join().unwrap();
    assert_eq!(done.status.code(), Some(130));
    let summary: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert!(summary["messages_sent"].as_u64().unwrap() > 0);
}

#[test]
fn a_run_ends_although_nobody_reads_its_log() {
    let mut child = Process::new(assert_cmd::cargo::cargo_bin("play"))
        .arg(demo())
        .args(["--listen", "tcp/127.0.0.1:0", "--rate", "max"])
        .args(["--format", "json"])
        .env("RUST_LOG", "trace")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let unread = child.stderr.take();
    let done = child.wait_with_output().unwrap();
    assert_eq!(done.status.code(), Some(0));
    let summary: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(summary["ended"], "end");
    drop(unread);
}

#[test]
fn all_log_lines_are_written_before_the_end() {
    // More than a pipe holds, all of it at once.
    const FILES: usize = 700;
    let mut play = play();
    play.arg("info").args(std::iter::repeat_n(demo(), FILES));
    let done = play.assert().code(0);
    let said = String::from_utf8_lossy(&done.get_output().stderr);
    let twice = said.lines().filter(|line| line.contains("named twice"));
    assert_eq!(twice.count(), FILES - 1);
}

#[test]
fn a_log_level_for_zenoh_keeps_our_own_lines() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("none.mcap");
    let demo = demo();
    let run: &[&OsStr] = &["--wire", "null", "--rate", "max"].map(OsStr::new);
    let said = |asked: &str, args: &[&OsStr]| {
        let mut play = play();
        let done = play.env("RUST_LOG", asked).args(args).output().unwrap();
        String::from_utf8(done.stderr).unwrap()
    };
    let played = [&[demo.as_os_str()], run].concat();
    for asked in [
        "zenoh=warn",
        "zenoh=warn,zenoh_transport=error",
        " zenoh=warn",
        "",
        "=,=",
        "bagplay::bag=debug",
    ] {
        let lines = said(asked, &[missing.as_os_str()]);
        assert!(
            lines.contains("error: ") && lines.contains("none.mcap"),
            "{asked}: {lines}"
        );
        let lines = said(asked, &played);
        assert!(lines.contains("messages"), "{asked}: {lines}");
    }
    // A directive for us, and one for everything, are obeyed.
    for asked in ["play=off,bagplay=off", "off", "zenoh=warn,off", "play=warn"] {
        let lines = said(asked, &played);
        assert_eq!(lines, "", "{asked}");
    }
    let lines = said("zenoh=warn,bagplay=trace", &played);
    assert!(lines.contains("messages"), "{lines}");
    let quiet = [&played[..], &[OsStr::new("-q")]].concat();
    assert_eq!(said("zenoh=warn", &quiet), "");
}

fn logged(file: &Path, args: &[&str]) -> Output {
    let mut play = play();
    play.arg("info").arg(demo()).arg("--log-file").arg(file);
    play.args(args).output().unwrap()
}

#[test]
fn a_file_that_is_no_log_of_play_is_not_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &[u8]| {
        let path = dir.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    };
    let recording = std::fs::read(demo()).unwrap();
    for (name, content) in [
        ("drive.mcap", &recording[..]),
        ("drive", &recording),
        ("new.mcap", b""),
        ("drive.mcap.zstd", b""),
        ("notes.txt", b"mine"),
        ("short", b"2026-01-31T12:00:00.000Z"),
        ("other.log", b"2026-01-31T12:00:00.000Z INFO started\n"),
        ("bytes", &[0xff; 100]),
    ] {
        let path = file(name, content);
        let done = logged(&path, &[]);
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{name}: {said}");
        let start = format!("error: --log-file {}: ", path.to_string_lossy());
        assert!(
            said.starts_with(&start) && said.contains("; hint: "),
            "{said}"
        );
        assert_eq!(std::fs::read(&path).unwrap(), content, "{name}");
    }
    // The flag before the bag takes the bag: a recording that is there, and one that is not.
    for bag in [dir.path().join("drive.mcap"), dir.path().join("none.mcap")] {
        let mut play = play();
        let refused = play.arg("--log-file").arg(&bag).assert().code(2);
        refused.stderr(contains("that is the name of a recording"));
    }
    assert!(!dir.path().join("none.mcap").exists());
    play()
        .args(["info", "--log-file", "/dev/null"])
        .arg(demo())
        .assert()
        .code(0);
}

#[test]
fn a_log_file_is_appended_to_even_after_it_was_emptied() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log");
    let broken = dir.path().join("broken.mcap");
    std::fs::write(&broken, "no recording").unwrap();
    let runs = |count: usize| {
        for _ in 0..count {
            let mut play = play();
            let run = play.arg("info").arg(&broken).arg("--log-file").arg(&path);
            run.assert().code(3).stderr(contains("broken.mcap"));
        }
        std::fs::read_to_string(&path).unwrap()
    };
    let text = runs(2);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert!(lines[0].contains("Z log of play "), "{text}");
    assert!(lines[1..].iter().all(|line| line.contains("broken.mcap")));
    std::fs::write(&path, "").unwrap();
    assert_eq!(runs(2).lines().count(), 3);
}

/// The binary where a file may have so few blocks.
fn small(blocks: u32) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &format!(r#"ulimit -f {blocks}; exec "$0" "$@""#)]);
    shell.arg(assert_cmd::cargo::cargo_bin("play"));
    shell.env_remove("RUST_LOG").timeout(3 * PATIENCE);
    shell
}

#[test]
fn a_file_beyond_the_size_limit_is_an_error_with_its_reason() {
    let too_large = "File too large (os error 27)";
    let dir = tempfile::tempdir().unwrap();
    // What is unpacked while it is opened.
    let packed = dir.path().join("drive.mcap.zstd");
    let recording = std::fs::read(demo()).unwrap();
    std::fs::write(&packed, zstd::encode_all(&recording[..], 1).unwrap()).unwrap();
    for args in [&["info"][..], &["--wire", "null", "--rate", "max"]] {
        let mut small = small(2);
        let run = small.args(args).arg(&packed).env("TMPDIR", dir.path());
        run.assert()
            .code(3)
            .stdout("")
            .stderr(contains(too_large).and(contains("drive.mcap.zstd")));
    }
    // A log.
    let log = dir.path().join("log");
    let line = "2026-01-31T12:00:00.000Z log of play 0.1.0\n";
    std::fs::write(&log, line.repeat(100)).unwrap();
    let missing = dir.path().join("none.mcap");
    let mut small_log = small(2);
    let run = small_log
        .arg("info")
        .arg(&missing)
        .arg("--log-file")
        .arg(&log);
    run.assert().code(3).stderr(
        contains(format!(
            "the log file cannot be written any more: {too_large}"
        ))
        .and(contains("none.mcap")),
    );
    // A result.
    let result = std::fs::File::create(dir.path().join("result")).unwrap();
    let mut info = Process::new("/bin/sh");
    info.args(["-c", r#"ulimit -f 2; exec "$0" "$@""#]);
    info.arg(assert_cmd::cargo::cargo_bin("play"));
    let info = info.args(["info", "--format", "json"]).arg(demo());
    let done = info.stdout(result).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(said.contains(too_large), "{said}");
}
