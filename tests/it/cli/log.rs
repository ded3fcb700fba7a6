//! The log of the binary: with readers that do not read, and in files.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Output;

use predicates::prelude::*;
use predicates::str::contains;

use crate::cli::{demo, json, limited, play, play_process, signal};
use crate::support::network::{free_endpoint, peer, subscribe, take};
use crate::support::patience::until;

/// Optimised builds have no lines of the level `trace`.
#[cfg(debug_assertions)]
#[test]
fn an_unread_log_delays_no_message() {
    let endpoint = free_endpoint();
    let mut child = play_process()
        .arg(demo())
        .args(["--listen", &endpoint, "--loop", "--rate", "100"])
        .args(["--format", "json"])
        // Many lines per message, also of the thread that sends it.
        .env("RUST_LOG", "trace")
        .spawn()
        .unwrap();
    // zenoh does not repeat a connection that was refused.
    until("a listener", || {
        std::net::TcpStream::connect(endpoint.trim_start_matches("tcp/")).is_ok()
    });
    let listener = peer(&endpoint);
    let (_imus, imus) = subscribe(&listener, "0/imu/**");
    // A lap has 5 MB of lines, the pipe and the queue of the log hold little more than 1 MiB.
    for _ in 0..5_200 {
        take(&imus);
    }
    // Once it is read, the log says how many lines are missing, and goes on.
    let log = BufReader::new(child.stderr.take().unwrap());
    let mut lines = log.split(b'\n').map(Result::unwrap);
    let is_reported = lines.any(|line| {
        let line = String::from_utf8_lossy(&line).into_owned();
        line.starts_with("warning: ") && line.contains(" lines are missing here")
    });
    assert!(is_reported);
    let reading = std::thread::spawn(move || lines.count());
    signal("-INT", &child);
    let done = child.wait_with_output().unwrap();
    reading.join().unwrap();
    assert_eq!(done.status.code(), Some(130));
    let summary = json(&done.stdout);
    assert!(summary["messages_sent"].as_u64().unwrap() > 0);
}

#[test]
fn a_run_ends_although_nobody_reads_its_log() {
    let mut child = play_process()
        .arg(demo())
        .args(["--listen", "tcp/127.0.0.1:0", "--rate", "max"])
        .args(["--format", "json"])
        .env("RUST_LOG", "trace")
        .spawn()
        .unwrap();
    let unread = child.stderr.take();
    let done = child.wait_with_output().unwrap();
    assert_eq!(done.status.code(), Some(0));
    assert_eq!(json(&done.stdout)["ended"], "end");
    drop(unread);
}

#[test]
fn all_log_lines_are_written_before_the_end() {
    // More than a pipe holds, all at once.
    const FILES: usize = 700;
    let mut play = play();
    play.arg("info").args(std::iter::repeat_n(demo(), FILES));
    let done = play.assert().code(0);
    let log = String::from_utf8_lossy(&done.get_output().stderr);
    let twice = log.lines().filter(|line| line.contains("given twice"));
    assert_eq!(twice.count(), FILES - 1);
}

#[test]
fn a_log_level_for_zenoh_keeps_our_own_lines() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("none.mcap");
    let demo = demo();
    let run: &[&OsStr] = &["--wire", "null", "--rate", "max"].map(OsStr::new);
    let log = |directives: &str, args: &[&OsStr]| {
        let mut play = play();
        let done = play
            .env("RUST_LOG", directives)
            .args(args)
            .output()
            .unwrap();
        String::from_utf8(done.stderr).unwrap()
    };
    let played = [&[demo.as_os_str()], run].concat();
    for directives in [
        "zenoh=warn",
        "zenoh=warn,zenoh_transport=error",
        "zenoh=warn, zenoh_transport=error",
        "zenoh=warn,",
        "zenoh[{x}]=error",
        " zenoh=warn",
        "",
        "=,=",
        "bagplay::bag=debug",
    ] {
        let lines = log(directives, &[missing.as_os_str()]);
        assert!(
            lines.contains("error: ") && lines.contains("none.mcap"),
            "{directives}: {lines}"
        );
        let lines = log(directives, &played);
        assert!(lines.contains("messages"), "{directives}: {lines}");
    }
    // Directives for our own modules, and for all modules, apply.
    for directives in ["play=off,bagplay=off", "off", "zenoh=warn,off", "play=warn"] {
        let lines = log(directives, &played);
        assert_eq!(lines, "", "{directives}");
    }
    let lines = log("zenoh=warn,bagplay=trace", &played);
    assert!(lines.contains("messages"), "{lines}");
    let quiet = [&played[..], &[OsStr::new("-q")]].concat();
    assert_eq!(log("zenoh=warn", &quiet), "");
}

fn info_with_log(file: &Path) -> Output {
    let mut play = play();
    play.arg("info").arg(demo()).arg("--log-file").arg(file);
    play.output().unwrap()
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
        let done = info_with_log(&path);
        let error = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{name}: {error}");
        let start = format!("error: --log-file {}: ", path.to_string_lossy());
        assert!(
            error.starts_with(&start) && error.contains("; hint: "),
            "{error}"
        );
        assert_eq!(std::fs::read(&path).unwrap(), content, "{name}");
    }
    // A flag without a file takes the recording as its value: one that exists, and one that does not.
    for bag in [dir.path().join("drive.mcap"), dir.path().join("none.mcap")] {
        let mut play = play();
        let refused = play.arg("--log-file").arg(&bag).assert().code(2);
        refused.stderr(contains("this is the name of a recording"));
    }
    assert!(!dir.path().join("none.mcap").exists());
    let odd = dir.path().join(OsStr::from_bytes(b"odd\x1b[2J\xff\n.log"));
    std::fs::write(&odd, "mine").unwrap();
    let log = String::from_utf8(info_with_log(&odd).stderr).unwrap();
    assert!(log.contains(r"odd\u{1b}[2J\xff\n.log: this file"), "{log}");
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

#[test]
fn a_file_beyond_the_size_limit_is_an_error_with_its_reason() {
    // Files of at most two blocks.
    let limit = "-f 2";
    let too_large = "File too large (os error 27)";
    let dir = tempfile::tempdir().unwrap();
    // A recording that is unpacked when it is opened.
    let packed = dir.path().join("drive.mcap.zstd");
    let recording = std::fs::read(demo()).unwrap();
    std::fs::write(&packed, zstd::encode_all(&recording[..], 1).unwrap()).unwrap();
    for args in [&["info"][..], &["--wire", "null", "--rate", "max"]] {
        let mut limited = limited(limit);
        let run = limited.args(args).arg(&packed).env("TMPDIR", dir.path());
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
    let mut logged = limited(limit);
    let run = logged.arg("info").arg(&missing).arg("--log-file").arg(&log);
    run.assert().code(3).stderr(
        contains(format!(
            "warning: --log-file cannot be written any more: {too_large}"
        ))
        .and(contains("none.mcap")),
    );
    // A result.
    let result = std::fs::File::create(dir.path().join("result")).unwrap();
    let mut info = std::process::Command::new("/bin/sh");
    info.args(["-c", &format!(r#"ulimit {limit}; exec "$0" "$@""#)]);
    info.arg(assert_cmd::cargo::cargo_bin("play"));
    let info = info.args(["info", "--format", "json"]).arg(demo());
    let done = info.stdout(result).output().unwrap();
    let error = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(1), "{error}");
    assert!(error.contains(too_large), "{error}");
}
