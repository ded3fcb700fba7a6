//! The binary as a process: exit codes, standard output and standard error.

use std::path::Path;
use std::process::{Child, Command as Process, Output, Stdio};

use assert_cmd::Command;
use bagplay::time::{Duration, signed_seconds_text};
use predicates::prelude::*;
use predicates::str::contains;

use crate::bag::hostile::{base, put};
use crate::cli::{demo, json, limited, play, play_process, signal};
use crate::support::mcaps::{Files, Note, Spec, make_pipe, place, places};
use crate::support::network::{free_endpoint, peer, subscribe, take};

/// The summary of a run of the demo without a network.
fn summary(args: &[&str]) -> serde_json::Value {
    summary_of(&demo().to_string_lossy(), args)
}

/// The same of another recording.
fn summary_of(bag: &str, args: &[&str]) -> serde_json::Value {
    let run: Output = play()
        .arg(bag)
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
    json(lines[0])
}

#[test]
fn usage_errors_end_with_2_and_name_the_mistake() {
    let cases: [(&[&str], &str); 16] = [
        (&["--rate", "0"], "rate 0 is not between 0.001 and 1000"),
        (&["--rate", "fast"], "rate `fast` is not a number between"),
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
        (&["--start", "+60s"], "is after the end of the recording"),
        (&["--end", "+10s", "--start", "+20s"], "is before the start"),
        (&["--remap", "/imu"], "is not A:=B"),
        (&["--read-ahead", "much"], "`much` is not a size"),
        (&["--no-such-flag"], "unexpected argument"),
        (
            &["--bridge-namespace", "/bot1"],
            "--bridge-namespace needs --wire ros2dds",
        ),
        (
            &["--bridge-namespace", "bot1"],
            "a namespace begins with a slash",
        ),
        (
            &["--playback-until-sec", "nan"],
            "`nan` is not a span of time",
        ),
        (
            &["--log-file", "/no/such/folder/log"],
            "/no/such/folder/log",
        ),
        (
            &["--lockstep", "--cgroup", "/sys/fs/cgroup", "--", "true"],
            "--cgroup and a program after `--` exclude each other",
        ),
    ];
    for (args, message) in cases {
        play()
            .arg(demo())
            .args(["--wire", "null"])
            .args(args)
            .assert()
            .code(2)
            .stdout("")
            .stderr(contains(message));
    }
    play()
        .assert()
        .code(2)
        .stderr(contains("no recording is given").and(contains("hint:")));
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
        let name = file.to_string_lossy().into_owned();
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
fn a_pipe_is_refused_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe");
    make_pipe(&pipe);
    play()
        .arg(&pipe)
        .assert()
        .code(3)
        .stderr(contains("a pipe or device"));
}

#[test]
fn a_result_that_cannot_be_written_ends_with_1() {
    let demo = demo().to_string_lossy().into_owned();
    let run = [&demo, "--wire", "null", "--rate", "max", "--format", "json"];
    for args in [
        &run[..],
        &["info", &demo],
        &["--help"],
        &["info", "-h"],
        &["--version"],
        &["man"],
        &["completions", "bash"],
    ] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
        let done = play_process()
            .args(args)
            .stdout(full.unwrap())
            .output()
            .unwrap();
        assert_eq!(done.status.code(), Some(1), "{args:?}");
        let error = String::from_utf8_lossy(&done.stderr);
        let end = "standard output: No space left on device (os error 28)\n";
        assert!(
            error.starts_with("error: ") && error.ends_with(end),
            "{args:?} {error}"
        );
    }
}

#[test]
fn unpaced_playback_without_a_network_sends_every_message_once() {
    let summary = summary(&["--rate", "max"]);
    assert_eq!(summary["messages_sent"], 12_247);
    assert_eq!(summary["ended"], "end");
    assert_eq!(summary["topics"].as_array().unwrap().len(), 9);
    assert_eq!(summary["digest"], digest_of_the_file());
}

/// The digest as the documentation defines it, of what the reader of crate mcap returns.
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
fn a_range_of_selected_topics_is_played_under_other_names() {
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
fn a_late_start_refills_latched_topics_unless_disabled() {
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
fn serving_a_clock_leaves_out_the_recorded_clock() {
    let run = summary(&["--rate", "max", "--clock"]);
    assert_eq!(run["skipped"][0]["topic"], "/clock");
    assert_eq!(run["messages_sent"], 12_247 - 2_600);
}

#[test]
fn a_run_is_never_faster_than_its_rate_and_can_go_backwards() {
    let run = summary(&["--start", "+20s", "--end", "+25s", "--rate", "10"]);
    let rate = run["rate"]["achieved"].as_f64().unwrap();
    assert!(rate > 0.0 && rate < 10.01, "achieved {rate}");
    assert_eq!(run["rate"]["asked"], 10.0);
    let back = summary(&["--start", "+20s", "--end", "+25s", "--rate", "-10"]);
    assert_eq!(back["messages_sent"], run["messages_sent"]);
    assert_ne!(back["digest"], run["digest"]);
}

#[test]
fn the_summary_shows_rates_as_factors() {
    for (args, factors) in [
        (&["--rate", "10"][..], r"rate ×\d+\.\d{2,4} \(asked ×10\)"),
        (&["--rate", "-10"], r"rate ×-\d+\.\d{2,4} \(asked ×-10\)"),
        (&["--rate", "max"], r"rate ×\d+\.\d\d\n"),
        (
            &["--rate", "10", "--ascii"],
            r"rate x\d+\.\d{2,4} \(asked x10\)",
        ),
    ] {
        let mut play = play();
        play.args(["--wire", "null", "--start", "+20s", "--end", "+20.5s"]);
        let run = play.args(args).arg(demo()).assert().code(0);
        run.stderr(predicates::str::is_match(factors).unwrap());
    }
}

#[test]
fn info_shows_duration_topics_and_counts() {
    let text = play().arg("info").arg(demo()).assert().code(0).stderr("");
    text.stdout(
        contains("29.997 s")
            .and(contains("/tf_static"))
            .and(contains("latched"))
            .and(contains("12,247")),
    );
    let printed = play()
        .args(["info", "--format", "json"])
        .arg(demo())
        .output()
        .unwrap();
    let info = json(&printed.stdout);
    assert_eq!(info["message_count"], 12_247);
    assert_eq!(info["topics"].as_array().unwrap().len(), 9);
}

/// The demo has a hole of four seconds, in which no topic has a message.
#[test]
fn info_lists_the_hole_of_the_demo() {
    let text = play().arg("info").arg(demo()).assert().code(0);
    text.stdout(contains(
        "holes     1\n               +13.997 s     4.003 s  all topics\n",
    ));
    let printed = play()
        .args(["info", "--format", "json"])
        .arg(demo())
        .output()
        .unwrap();
    let holes = &json(&printed.stdout)["holes"];
    assert_eq!(holes.as_array().unwrap().len(), 1);
    let hole = &holes[0];
    assert_eq!(hole["topic"], serde_json::Value::Null);
    assert_eq!(hole["start_ns"], 1_760_000_013_997_683_395_i64);
    assert_eq!(hole["end_ns"], 1_760_000_018_001_344_319_i64);
    assert_eq!(hole["duration_s"], 4.003_660_924);
}

#[test]
fn info_lists_marks_and_warns_of_an_invalid_marks_file() {
    let dir = tempfile::tempdir().unwrap();
    let bag = dir.path().join("drive.mcap");
    std::fs::copy(demo(), &bag).unwrap();
    let info = |format: &str| {
        let mut play = play();
        play.args(["info", "--format", format]).arg(&bag);
        play.env("XDG_STATE_HOME", dir.path().join("state"));
        play.assert().code(0)
    };
    let shown = json(&info("json").stderr("").get_output().stdout);
    assert_eq!(shown["marks"], serde_json::json!([]));
    let start = shown["start_ns"].as_i64().unwrap();
    let sidecar = dir.path().join("drive.mcap.marks.yaml");
    let time = start + 12_345_000_000;
    let marks = format!("marks:\n- time_ns: {time}\n  name: \"brakes\\e[2J\"\n");
    std::fs::write(&sidecar, marks).unwrap();
    info("text").stderr("").stdout(
        contains("marks     1\n")
            .and(contains("+12.345 s  brakes\\u{1b}[2J"))
            .and(contains('\u{1b}').not()),
    );
    let shown = json(&info("json").get_output().stdout);
    let mark = &shown["marks"][0];
    assert_eq!(
        (mark["time_ns"].as_i64(), mark["name"].as_str()),
        (Some(time), Some("brakes\u{1b}[2J"))
    );
    std::fs::write(&sidecar, "marks:\n- soon\n").unwrap();
    info("text")
        .stderr(contains("drive.mcap.marks.yaml: line 2: "))
        .stdout(contains("12,247"));
}

#[test]
fn help_completions_and_manual_list_the_flags() {
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
        .stdout(predicate::function(|text: &str| text.lines().count() <= 60));
}

#[test]
fn a_closed_standard_output_is_no_error() {
    for word in ["man", "--help", "--version"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let done = play_process().arg(word).stdout(writer).output().unwrap();
        assert_eq!(
            (
                done.status.code(),
                String::from_utf8_lossy(&done.stderr).as_ref()
            ),
            (Some(0), ""),
            "{word}"
        );
    }
}

/// Sends a signal as a shell would, once the run has joined the network.
fn signalled(name: &str, args: &[&str]) -> Output {
    let (child, mut log) =
        started(&[args, &["--listen", "tcp/127.0.0.1:0", "--format", "json"]].concat());
    let first = log.next().unwrap();
    assert!(first.contains("router on"), "{first}");
    signal(name, &child);
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
        assert_eq!(json(&done.stdout)["ended"], "interrupted");
    }
}

#[test]
fn a_run_that_ignores_hang_ups_survives_one() {
    for (script, is_played) in [
        (r#"exec "$0" "$@""#, false),
        (r#"trap "" HUP; exec "$0" "$@""#, true),
    ] {
        let mut shell = Process::new("/bin/sh");
        shell.args(["-c", script]);
        shell.arg(assert_cmd::cargo::cargo_bin("play"));
        shell.arg(demo()).args(["--listen", "tcp/127.0.0.1:0"]);
        // Only the hang-up ends the other one.
        shell.args(if is_played {
            ["--end", "+1s"]
        } else {
            ["--rate", "0.01"]
        });
        let (child, mut log) = with_log(&mut shell);
        let first = log.next().unwrap();
        assert!(first.contains("router on"), "{first}");
        signal("-HUP", &child);
        let done = child.wait_with_output().unwrap();
        assert_eq!(done.status.code(), Some(if is_played { 0 } else { 143 }));
    }
}

#[test]
fn a_wait_without_subscribers_ends_with_4_and_names_the_topic() {
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
        .stderr(contains("no subscriber of /imu within 0.2s"));
}

#[test]
fn invalid_network_arguments_end_with_2() {
    for (args, reason) in [
        (["--node-name", "a b"], "not a node name"),
        (["--connect", "nonsense"], "the protocol is missing"),
        (["--listen", "tcp"], "the protocol is missing"),
        (["--connect", "tcp/127.0.0.1"], "the port is missing"),
        (["--listen", "tcp/[::1]"], "the port is missing"),
        (["--connect", "tcp/127.0.0.1:99999"], "at most 65535"),
        (["--listen", "tcp/127.0.0.1:99999"], "at most 65535"),
        (["--connect", "tcp/127.0.0.1:0"], "port 0"),
        (["--connect", "tpc/127.0.0.1:7447"], "`tpc` is no protocol"),
        (["--listen", "udp/127.0.0.1:7447"], "`udp` is no protocol"),
    ] {
        let run = play().arg(demo()).args(args).assert();
        run.code(2).stdout("").stderr(contains(reason));
    }
    play()
        .arg(demo())
        .env("ROS_DOMAIN_ID", "abc")
        .assert()
        .code(2)
        .stderr(contains("ROS_DOMAIN_ID"));
}

#[test]
fn a_zenoh_configuration_that_is_no_file_is_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let (device, pipe) = (dir.path().join("zero.json5"), dir.path().join("pipe.json5"));
    std::os::unix::fs::symlink("/dev/zero", &device).unwrap();
    make_pipe(&pipe);
    for path in [&device, &pipe] {
        let error = format!(
            "zenoh configuration {} cannot be used: not a file",
            path.to_string_lossy()
        );
        play()
            .arg(demo())
            .arg("--zenoh-config")
            .arg(path)
            .assert()
            .code(2)
            .stdout("")
            .stderr(contains(error));
    }
}

/// A run of the demo that may have so many files open.
fn with_open_files(files: u32) -> Command {
    let mut play = limited(&format!("-n {files}"));
    play.arg(demo());
    play
}

#[test]
fn too_few_file_descriptors_for_signals_are_an_error() {
    let mut play = with_open_files(4);
    let run = play.args(["--wire", "null", "--rate", "max"]).assert();
    let error = "error: signals cannot be received: Too many open files (os error 24)\n";
    run.code(1).stdout("").stderr(error);
}

#[test]
fn too_few_file_descriptors_for_the_network_are_an_error() {
    let network = ["--listen", "tcp/127.0.0.1:0", "--end", "+0.1s"];
    for files in [6, 12, 16, 79] {
        let error = format!(
            "error: only {files} files may be open, and the network needs 80; hint: ulimit -n 1024\n"
        );
        let run = with_open_files(files).args(network).assert();
        run.code(1).stdout("").stderr(error);
    }
    with_open_files(80).args(network).assert().code(0);
}

#[test]
fn a_run_without_a_router_waits_ends_or_plays_as_configured() {
    let endpoint = free_endpoint();
    let rest = ["--connect", &endpoint, "--end", "+0.2s"];
    play()
        .arg(demo())
        .args(rest)
        .args(["--on-disconnect", "exit"])
        .assert()
        .code(1)
        .stderr(contains(
            "not connected to the network (--on-disconnect exit)",
        ));
    play()
        .arg(demo())
        .args(rest)
        .args(["--on-disconnect", "continue"])
        .assert()
        .code(0);
    let (mut child, mut log) = started(&rest);
    assert!(log.any(|line| line.contains("not connected to the network: playback is held")));
    signal("-INT", &child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn closed_output_pipes_do_not_end_a_run() {
    for (closes_stdout, closes_stderr) in [(false, true), (true, false), (true, true)] {
        let mut child = play_process()
            .arg(demo())
            .args([
                "--wire",
                "null",
                "--rate",
                "max",
                "--format",
                "json",
                "--clock-start",
                "0",
                "--clock",
                "-v",
            ])
            .spawn()
            .unwrap();
        drop(child.stdout.take().filter(|_| closes_stdout));
        drop(child.stderr.take().filter(|_| closes_stderr));
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn damage_is_counted_and_ends_with_3_only_if_strict() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("broken.mcap");
    let mut bytes = std::fs::read(demo()).unwrap();
    let chunks = mcap::Summary::read(&bytes).unwrap().unwrap().chunk_indexes;
    let middle = usize::try_from(chunks[chunks.len() / 2].chunk_start_offset).unwrap() + 1_000;
    bytes[middle..middle + 100].fill(0x55);
    std::fs::write(&path, bytes).unwrap();
    let play = |args: &[&str]| {
        play()
            .arg(&path)
            .args(["--wire", "null", "--rate", "max", "--format", "json"])
            .args(args)
            .output()
            .unwrap()
    };
    let lenient = play(&[]);
    assert_eq!(lenient.status.code(), Some(0));
    let summary = json(&lenient.stdout);
    assert_eq!(
        (&summary["damaged"], &summary["damage"][0]["count"]),
        (&1.into(), &1.into()),
        "{summary}"
    );
    let sent = summary["messages_sent"].as_u64().unwrap();
    assert!(sent > 11_000);
    assert_eq!(summary["damaged_messages"], 12_247 - sent);
    assert!(String::from_utf8_lossy(&lenient.stderr).contains("broken.mcap"));
    assert_eq!(play(&["--strict"]).status.code(), Some(3));
}

#[test]
fn chunks_at_time_zero_without_message_indexes_are_no_damage() {
    let note = |time: u64, n: u64| Note::new(usize::from(n % 2 == 1), time, n.to_string());
    let zero = || (0..8).map(|n| note(0, n)).collect();
    let from_zero = || (0..8).map(|n| note(n, n)).collect();
    let after = || (0..8).map(|n| note(5 + n, n)).collect();
    for (chunks, sent) in [
        (vec![zero()], 8),
        (vec![zero(), after()], 16),
        (vec![after(), zero()], 16),
        (vec![from_zero()], 8),
        (vec![from_zero(), after()], 16),
        (vec![zero(), from_zero(), after()], 24),
    ] {
        let spec = Spec::new(chunks).options(|o| o.emit_message_indexes(false));
        let files = Files::of([spec.write()]);
        let run = [
            "--wire", "null", "--rate", "max", "--strict", "--format", "json",
        ];
        let done = play().arg(&files.paths[0]).args(run).assert().code(0);
        let summary = json(&done.get_output().stdout);
        assert_eq!(summary["messages_sent"], sent, "{summary}");
        let zero = (&summary["damaged"], &summary["damaged_messages"]);
        assert_eq!(zero, (&0.into(), &0.into()), "{summary}");
        let check = ["info", "--check", "--format", "json"];
        let done = play().args(check).arg(&files.paths[0]).assert().code(0);
        let info = json(&done.get_output().stdout);
        assert_eq!(info["check"]["messages"], sent, "{info}");
        assert_eq!(info["check"]["damage"], serde_json::json!([]), "{info}");
    }
}

#[test]
fn gaps_are_skipped_and_a_delay_is_waited_for() {
    let skipped = summary(&[
        "--start",
        "+13.9s",
        "--end",
        "+18.1s",
        "--skip-empty",
        "1",
        "--delay",
        "0.1",
    ]);
    assert_eq!(skipped["jumps"], 1);
    assert!(skipped["held_ms"]["gated"].as_f64().unwrap() >= 100.0);
    let whole = summary(&["--start", "+13.9s", "--end", "+18.1s", "--rate", "50"]);
    assert_eq!(skipped["digest"], whole["digest"]);
}

#[test]
fn a_loop_goes_on_until_a_signal_ends_it() {
    let endpoint = free_endpoint();
    let (mut child, mut log) = started(&[
        "--listen",
        &endpoint,
        "--loop-range",
        "+1s..+1.05s",
        "--format",
        "json",
    ]);
    assert!(log.next().unwrap().contains("router on"));
    let listener = peer(&endpoint);
    let (_imus, imus) = subscribe(&listener, "0/imu/**");
    // More than three laps have.
    for _ in 0..40 {
        take(&imus);
    }
    signal("-INT", &child);
    let mut out = Vec::new();
    std::io::Read::read_to_end(&mut child.stdout.take().unwrap(), &mut out).unwrap();
    let summary = json(&out);
    let (laps, jumps) = (
        summary["laps"].as_u64().unwrap(),
        summary["jumps"].as_u64().unwrap(),
    );
    assert!(laps >= 2 && laps == jumps, "{laps} laps, {jumps} jumps");
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

/// A run of the demo, and the lines of its log.
fn started(args: &[&str]) -> (Child, impl Iterator<Item = String> + use<>) {
    with_log(play_process().arg(demo()).args(args))
}

/// The same of any command.
fn with_log(command: &mut Process) -> (Child, impl Iterator<Item = String> + use<>) {
    use std::io::{BufRead, BufReader};
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let log = BufReader::new(child.stderr.take().unwrap())
        .lines()
        .map_while(Result::ok);
    (child, log)
}

#[test]
fn a_cut_recording_plays_up_to_the_cut_and_a_check_reports_it() {
    let dir = tempfile::tempdir().unwrap();
    let cut = dir.path().join("cut.mcap");
    let bytes = std::fs::read(demo()).unwrap();
    std::fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    let cut = cut.to_string_lossy().into_owned();
    let played = summary_of(&cut, &["--rate", "max"]);
    let sent = played["messages_sent"].as_u64().unwrap();
    assert!((3_000..12_000).contains(&sent), "{sent}");
    assert_eq!(played["damage"][0]["kind"], "truncated");
    assert_eq!(played["damage"][0]["file"], cut);
    assert_eq!(played["damaged"], 1);
    assert!(played["damaged_messages"].is_null());
    let strict = [&cut, "--wire", "null", "--rate", "max", "--strict"];
    let strict = play().args(strict).assert().code(3);
    let place = format!(
        "{cut}: byte {}: the file ends in the middle of a record (its last ",
        played["damage"][0]["offset"]
    );
    strict.stderr(contains(place).and(contains("(--strict)")));

    let plain = play().args(["info", &cut]).assert().code(0);
    plain
        .stdout(contains("no index that can be used, so it was scanned"))
        .stderr(contains("the file ends in the middle of a record"));
    let checked = play().args(["info", "--check", &cut]).assert().code(3);
    checked.stdout(contains("damage found").and(contains("\ntruncated ")));
    let printed = play()
        .args(["info", "--check", "--format", "json", &cut])
        .assert()
        .code(3);
    let info = json(&printed.get_output().stdout);
    assert_eq!(info["files"][0]["indexed"], false);
    assert_eq!(
        info["check"]["messages"].as_u64(),
        info["message_count"].as_u64()
    );
    assert_eq!(info["check"]["damage"][0]["kind"], "truncated");
    // Nothing tells how much later times there were.
    let part = &info["damaged"][0];
    assert_eq!(part["start_ns"], info["end_ns"]);
    let unknown = ["end_ns", "duration_s", "messages"].map(|key| part[key].is_null());
    assert_eq!(
        (unknown, part["kind"].as_str()),
        ([true; 3], Some("truncated"))
    );
    let ends = ["start_ns", "end_ns"].map(|key| info[key].as_i64().unwrap());
    let seconds = signed_seconds_text(Duration::from_nanos(ends[1] - ends[0]));
    let line = format!("{seconds:>12} s    open end  any topic: byte ");
    for args in [&["info"][..], &["info", "--check"]] {
        let page = play().args(args).arg(&cut).assert();
        page.stdout(contains("damaged   1 part\n").and(contains(&line)));
    }
}

/// A payload in the third of five chunks is changed.
#[test]
fn a_check_lists_what_is_lost_with_its_times_and_topics() {
    let mut bytes = base(None).options(|o| o.calculate_chunk_crcs(true)).write();
    let third = place(&bytes, 0x06, 2);
    bytes[third.at + 9 + third.body - 1] ^= 1;
    let files = Files::of([bytes]);
    let bag = &files.paths[0];
    let unread = play().arg("info").arg(bag).assert().code(0);
    let unread_line =
        "check     contents were not read: damage in them is not known; hint: --check\n";
    unread.stdout(contains("damaged   ").not().and(contains(unread_line)));
    let checked = play().args(["info", "--check"]).arg(bag).assert().code(3);
    let line = format!(
        "damaged   1 part\n                +0.040 s     0.019 s  /t0, /t1, up to 20 messages: byte {}\n",
        third.at
    );
    checked.stdout(contains(line));
    let args = ["info", "--check", "--format", "json"];
    let printed = play().args(args).arg(bag).assert().code(3);
    let info = json(&printed.get_output().stdout);
    // The data section fails its checksum, too, which is no chunk more.
    let kinds = info["check"]["damage"].as_array().unwrap().iter();
    let kinds: Vec<_> = kinds
        .map(|it| (it["kind"].as_str(), it["count"].as_u64()))
        .collect();
    let due = ["checksum", "data-section", "index"].map(|kind| (Some(kind), Some(1)));
    assert_eq!(kinds, due);
    assert_eq!(info["checked"], true);
    let part = &info["damaged"][0];
    let due = serde_json::json!({
        "file": bag, "offset": third.at, "kind": "checksum", "topics": ["/t0", "/t1"],
        "start_ns": 40_000_000, "end_ns": 59_000_000, "duration_s": 0.019, "messages": 20,
    });
    assert_eq!(*part, due);
}

/// A chunk of all topics is lost, for more than a second.
#[test]
fn what_damage_makes_silent_is_shown_as_damage_only() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("flipped.mcap");
    let mut bytes = std::fs::read(demo()).unwrap();
    let chunk = place(&bytes, 0x06, 5);
    bytes[chunk.at + chunk.body / 2] ^= 0x55;
    std::fs::write(&path, bytes).unwrap();
    let info = |args: &[&str], bag: &Path| {
        let mut info = play();
        info.args(["info", "--check"]).args(args).arg(bag);
        info.output().unwrap().stdout
    };
    let of = |bag: &Path| json(&info(&["--format", "json"], bag));
    let (sound, damaged) = (of(&demo()), of(&path));
    assert_eq!(damaged["holes"], sound["holes"]);
    assert_eq!(damaged["damaged"].as_array().unwrap().len(), 1);
    let imu = |info: &serde_json::Value| {
        let topics = info["topics"].as_array().unwrap().iter();
        let imu = topics
            .clone()
            .find(|topic| topic["name"] == "/imu")
            .unwrap();
        let lost = imu["lost"].as_array().unwrap().iter();
        lost.filter(|part| **part == true).count()
    };
    assert_eq!(imu(&sound), 0);
    // A part is 1.25 s.
    assert!((1..=3).contains(&imu(&damaged)));
    let page = String::from_utf8(info(&[], &path)).unwrap();
    let is_shown = |line: &str| line.starts_with("/imu ") && line.contains("█╳");
    assert!(page.lines().any(is_shown), "{page}");
    // Without an end of the terminal nothing gives way.
    assert!(!page.contains("not shown in "));
}

/// `info` without reading the contents, and a run of everything; the recording is the demo with these bytes changed.
fn info_and_summary(
    change: impl FnOnce(&mut [u8]),
) -> (serde_json::Value, serde_json::Value, String) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("changed.mcap");
    let mut bytes = std::fs::read(demo()).unwrap();
    change(&mut bytes);
    std::fs::write(&path, bytes).unwrap();
    let info = play()
        .args(["info", "--format", "json"])
        .arg(&path)
        .output();
    let info = info.unwrap();
    let flat_out = ["--wire", "null", "--rate", "max", "--format", "json"];
    let run = play().arg(&path).args(flat_out).output().unwrap();
    let log = String::from_utf8([info.stderr, run.stderr].concat()).unwrap();
    (json(&info.stdout), json(&run.stdout), log)
}

/// To a percent: what is lost changes medians a little.
fn rates(info: &serde_json::Value) -> Vec<(Option<i32>, bool)> {
    let topics = info["topics"].as_array().unwrap().iter();
    let rate = |topic: &serde_json::Value| {
        let hz = topic["hz"].as_f64();
        #[expect(clippy::cast_possible_truncation, reason = "a rate")]
        let logarithm = hz.map(|hz| (hz.ln() * 100.0).round() as i32);
        (logarithm, topic["hz_is_mean"] == true)
    };
    topics.map(rate).collect()
}

/// As a bad sector of a disk leaves it.
#[test]
fn chunks_that_are_lost_with_their_message_indexes_are_damage_with_times_and_counts() {
    let (sound, _, _) = info_and_summary(|_| ());
    // The last one ends where the recording has a hole.
    for (at, lost) in [(4, 1), (4, 2), (4, 3), (11, 1)] {
        let (info, summary, log) = info_and_summary(|bytes| {
            let (first, after) = (place(bytes, 0x06, at), place(bytes, 0x06, at + lost));
            bytes[first.at..after.at].fill(0);
        });
        let sent = summary["messages_sent"].as_u64().unwrap();
        assert!(sent < 12_247);
        assert_eq!(summary["damaged"], lost, "{summary}");
        assert_eq!(summary["damaged_messages"], 12_247 - sent, "{summary}");
        let damaged = info["damaged"].as_array().unwrap();
        let messages = damaged
            .iter()
            .map(|part| part["messages"].as_u64().unwrap());
        assert_eq!((damaged.len(), messages.sum()), (lost, 12_247 - sent));
        assert_eq!(info["damage"][0]["kind"], "framing", "{info}");
        assert_eq!(info["damage"].as_array().unwrap().len(), 1);
        assert_eq!(info["holes"], sound["holes"]);
        assert_eq!(rates(&info), rates(&sound));
        let imu = info["topics"].as_array().unwrap().iter();
        let imu = imu.clone().find(|topic| topic["name"] == "/imu").unwrap();
        assert!(imu["lost"].as_array().unwrap().contains(&true.into()));
        // By info, and by the run when it comes there.
        assert_eq!(
            log.matches("no chunk where the index says").count(),
            2,
            "{log}"
        );
        assert!(!log.contains("opened and read"), "{log}");
    }
}

#[test]
fn a_range_without_messages_is_played_and_said() {
    let run = |args: &[&str]| {
        let mut run = play();
        run.arg(demo()).args(["--wire", "null", "--rate", "max"]);
        run.args(args).assert().code(0)
    };
    let range = ["--start", "+5s", "--end", "+5s"];
    let said =
        "no messages of the played topics from 1760000005.000412377 s to 1760000005.000412377 s";
    run(&range).stderr(contains(said));
    // What is asked for is the clock.
    run(&[&range[..], &["--clock", "--exclude-regex", ".*"]].concat()).stderr(contains(said).not());
    run(&["--end", "+1s"]).stderr(contains(said).not());
}

#[test]
fn one_bad_message_index_changes_neither_holes_nor_rates() {
    let (sound, _, _) = info_and_summary(|_| ());
    let (info, summary, log) = info_and_summary(|bytes| {
        let chunk = place(bytes, 0x06, 11).at;
        let all = places(bytes);
        let index = all.iter().find(|it| it.opcode == 0x07 && it.at > chunk);
        let at = index.unwrap().at;
        bytes[at..at + 9].fill(0);
    });
    assert_eq!(summary["messages_sent"], 12_247);
    assert_eq!(info["damage"][0]["kind"], "index");
    assert_eq!(info["damaged"], serde_json::json!([]));
    assert_eq!(info["holes"], sound["holes"]);
    assert_eq!(rates(&info), rates(&sound));
    assert!(log.contains("the chunk was opened and read"), "{log}");
}

/// As rosbag2 writes it by default. A changed payload cannot be told from what was recorded.
#[test]
fn a_check_says_which_chunks_have_no_checksum() {
    for (has_crc, verdict, rest, unverified) in [
        (true, ": no damage found\n", "\n", 0),
        (
            false,
            ": no damage found, but not everything can be verified\n",
            "          the contents of 5 of 5 chunks have no checksum and cannot be verified\n",
            5,
        ),
    ] {
        let spec = base(None).options(|o| o.calculate_chunk_crcs(has_crc));
        let files = Files::of([spec.write()]);
        let text = play()
            .args(["info", "--check"])
            .arg(&files.paths[0])
            .assert()
            .code(0);
        text.stdout(contains(format!("{verdict}{rest}")));
        let args = ["info", "--check", "--format", "json"];
        let printed = play().args(args).arg(&files.paths[0]).assert().code(0);
        let check = &json(&printed.get_output().stdout)["check"];
        assert_eq!(
            (&check["chunks"], &check["unverified_chunks"]),
            (&5.into(), &unverified.into())
        );
        assert_eq!(check["unverified_outside_chunks"], false);
    }
    let outside = base(None).options(|o| o.use_chunks(false).calculate_data_section_crc(false));
    let files = Files::of([outside.write()]);
    let text = play()
        .args(["info", "--check"])
        .arg(&files.paths[0])
        .assert();
    text.code(0).stdout(contains(
        "\n          messages outside chunks have no checksum and cannot be verified\n",
    ));
}

#[test]
fn a_check_shows_counted_messages_instead_of_the_statistics() {
    let info = |bytes: Vec<u8>, code: i32| {
        let files = Files::of([bytes]);
        let args = ["info", "--check", "--format", "json"];
        let printed = play().args(args).arg(&files.paths[0]).assert().code(code);
        json(&printed.get_output().stdout)
    };
    let without =
        base(None).options(|o| o.emit_statistics(false).calculate_data_section_crc(false));
    let without = without.write();
    let mut wrong = base(None).write();
    let statistics = place(&wrong, 0x0b, 0).at + 9;
    put(&mut wrong, statistics, 150);
    // The count of the first channel.
    let counts = statistics + 8 + 2 + 4 + 4 + 4 + 4 + 16 + 4;
    put(&mut wrong, counts + 2, 7);
    for (bytes, code) in [(without, 0), (wrong, 3)] {
        let info = info(bytes, code);
        assert_eq!(info["message_count"], 100);
        assert_eq!(info["files"][0]["message_count"], 100);
        for topic in info["topics"].as_array().unwrap() {
            assert_eq!(topic["message_count"], 50);
        }
    }
}

#[test]
fn a_check_of_a_sound_recording_counts_every_byte() {
    let text = play()
        .args(["info", "--check"])
        .arg(demo())
        .assert()
        .code(0);
    text.stdout(contains("check     12,247 messages read, ").and(contains(": no damage found")));
    let info = |args: &[&str]| {
        let printed = play().args(args).arg(demo()).assert().code(0);
        json(&printed.get_output().stdout)
    };
    let (estimated, counted) = (
        info(&["info", "--format", "json"]),
        info(&["info", "--check", "--format", "json"]),
    );
    let topics = |info: &serde_json::Value| info["topics"].as_array().unwrap().clone();
    for (estimated, counted) in topics(&estimated).iter().zip(topics(&counted)) {
        let (about, exact) = (
            estimated["bytes"].as_f64().unwrap(),
            counted["bytes"].as_f64().unwrap(),
        );
        // The estimate from the index includes definitions between messages.
        assert!(
            about >= exact && about < exact * 1.1 + 10_000.0,
            "{estimated}"
        );
        let density = estimated["density"].as_array().unwrap();
        let sum: f64 = density.iter().map(|part| part.as_f64().unwrap()).sum();
        assert!((sum - estimated["message_count"].as_f64().unwrap()).abs() < 1e-6);
    }
    // For four of its thirty seconds the demo has no messages of /imu.
    let imu = topics(&estimated);
    let imu = imu.iter().find(|topic| topic["name"] == "/imu").unwrap();
    let parts = imu["density"].as_array().unwrap();
    assert!(parts.iter().any(|part| part.as_f64() == Some(0.0)));
}

#[test]
fn a_directory_plays_like_a_file_in_either_message_order() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::copy(demo(), dir.path().join("demo_0.mcap")).unwrap();
    let name = dir.path().to_string_lossy().into_owned();
    let file = demo().to_string_lossy().into_owned();
    let digest = |path: &str| summary_of(path, &["--rate", "max"])["digest"].clone();
    assert_eq!(digest(&name), digest(&file));
    let sent = summary_of(&name, &["--rate", "max", "--message-order", "sent"]);
    assert_eq!(
        (&sent["order"], &sent["messages_sent"]),
        (&"sent".into(), &12_247.into())
    );
}

#[test]
fn a_pipe_in_a_directory_is_reported_as_damage_without_waiting() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::copy(demo(), dir.path().join("demo_0.mcap")).unwrap();
    make_pipe(&dir.path().join("demo_1.mcap"));
    let bag = dir.path().to_string_lossy().into_owned();
    let missing = format!("{bag}/demo_1.mcap: a part of the recording is missing: not a file");
    let played = summary_of(&bag, &["--rate", "max"]);
    let damage = &played["damage"][0];
    assert_eq!(
        (&played["damaged"], &damage["kind"]),
        (&1.into(), &"missing".into())
    );
    assert_eq!(damage["file"], format!("{bag}/demo_1.mcap"));
    assert_eq!(played["messages_sent"], 12_247);
    let strict = [&bag, "--wire", "null", "--rate", "max", "--strict"];
    let strict = play().args(strict).assert().code(3);
    strict.stderr(contains(missing.clone()));
    let checked = play().args(["info", "--check", &bag]).assert().code(3);
    checked.stdout(contains(missing));
}

/// Chunks that overlap and do not fit into the read-ahead are kept in a temporary file. Without one they are played all
/// the same, and the reason is reported once.
#[test]
fn without_room_for_a_temporary_file_overlapping_chunks_play_all_the_same() {
    let chunk = |i: u8| {
        let note = |n: u64| Note::new(0, 1_000 + 10 * n + u64::from(i), vec![i; 10_000]);
        (0..20).map(note).collect()
    };
    let files = Files::of([Spec::new((0..4).map(chunk).collect()).write()]);
    let run = |dir: Option<&str>| {
        let mut play = play();
        play.arg(&files.paths[0]).args([
            "--wire",
            "null",
            "--rate",
            "max",
            "--read-ahead",
            "50000",
            "--format",
            "json",
        ]);
        if let Some(dir) = dir {
            play.env("TMPDIR", dir);
        }
        let done = play.output().unwrap();
        let log = String::from_utf8(done.stderr).unwrap();
        assert!(done.status.success(), "{log}");
        let summary = json(&done.stdout);
        assert_eq!(summary["messages_sent"], 80, "{summary}");
        (summary["digest"].clone(), log)
    };
    let (digest, log) = run(None);
    assert!(!log.contains("TMPDIR"), "{log}");
    let mut without = vec![("/nowhere", "No such file or directory")];
    if cfg!(target_os = "linux") && std::path::Path::new("/dev/shm").is_dir() {
        without.push(("/dev/shm", "temporary files are in memory there"));
    }
    for (dir, why) in without {
        let (other, log) = run(Some(dir));
        assert_eq!(other, digest);
        let told = log.matches("set TMPDIR to a directory on a disk").count();
        assert!(told == 1 && log.contains(why) && log.contains(dir), "{log}");
    }
}
