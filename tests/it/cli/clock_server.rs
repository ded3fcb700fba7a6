//! `play clock` as a process without a network: its flags, its help, its end.

use predicates::str::contains;

use crate::cli::{json, play, play_process, signal};
use crate::support::network::{free_endpoint, hearing};

#[test]
fn flags_that_no_clock_can_have_end_with_2() {
    let cases: [(&[&str], &str); 7] = [
        (&["--rate", "max"], "rate `max` is not a number between"),
        (&["--hz", "0"], "0.001 to 100000 Hz"),
        (&["--start", "+10s"], "--start: without a recording"),
        (&["--start", "3000000000"], "is not a time of /clock"),
        (
            &["--source", "system", "--start-paused"],
            "--start-paused: the system time of this machine cannot be driven",
        ),
        (&["--source", "gps"], "invalid value 'gps'"),
        (&["bag.mcap"], "unexpected argument 'bag.mcap'"),
    ];
    for (args, message) in cases {
        play()
            .args(["clock", "--wire", "null"])
            .args(args)
            .assert()
            .code(2)
            .stdout("")
            .stderr(contains(message));
    }
}

#[test]
fn help_completions_and_manual_know_the_command() {
    let help = play().args(["clock", "--help"]).assert().code(0).stderr("");
    let help = String::from_utf8_lossy(&help.get_output().stdout).into_owned();
    for words in ["--source", "--hz", "[default: clock_server]", "Examples:"] {
        assert!(help.contains(words), "{words}: {help}");
    }
    for args in [&["man"][..], &["completions", "bash"], &["--help"]] {
        play().args(args).assert().code(0).stdout(contains("clock"));
    }
}

#[test]
fn a_clock_runs_until_a_signal_ends_it() {
    let mut process = play_process();
    let endpoint = free_endpoint();
    process.args(["clock", "--listen", &endpoint, "--format", "json"]);
    process.args(["--start", "100", "--rate", "-0.5"]);
    let mut child = process.spawn().unwrap();
    let mut hear = hearing(&mut child);
    hear("router on");
    signal("-TERM", &child);
    let done = child.wait_with_output().unwrap();
    assert_eq!(done.status.code(), Some(143));
    let summary = json(&done.stdout);
    assert_eq!(summary["start_ns"], 100_000_000_000_i64);
    assert!(summary["end_ns"].as_i64().unwrap() <= 100_000_000_000);
    assert_eq!(summary["rate"]["asked"], -0.5);
    assert_eq!(summary["ended"], "interrupted");
}
