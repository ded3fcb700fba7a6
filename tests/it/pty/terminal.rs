//! The terminal is restored, however the bar ends.

use std::path::Path;

use bagplay::tui::Terminal;
use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{Action, OptionalActions, tcflow, tcgetattr, tcsetattr};

use crate::pty::terminal_session::{Setup, Tape, demo, play, play_bag, until};
use crate::support::network::{Pipe, free_endpoint, subscribe, take};

/// As what a job is started by: it takes the place of the shell that says its number.
const ALONE: &str = r#"exec "$0" "$@""#;
/// It is started by that shell, which waits for it.
const WITHIN: &str = r#""$0" "$@"; exit $?"#;

/// What a shell has of the terminal.
fn open(tape: &Tape) -> std::fs::File {
    let path = tape.terminal().tty_name().unwrap();
    let mut options = std::fs::OpenOptions::new();
    options.read(true).write(true).open(path).unwrap()
}

fn is_raw(tape: &Tape) -> bool {
    let modes = format!("{:?}", tape.terminal().get_termios());
    !modes.contains("ICANON") && !modes.contains("ECHO ")
}

/// The demo on no network.
fn quiet(args: &[&str]) -> Tape {
    let own = [
        demo().to_str().unwrap().to_owned(),
        "--wire".into(),
        "null".into(),
    ];
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    let tape = play(&[&own, args].concat()).run();
    tape.wait_for("the bar", |shot| {
        shot.shows("PLAYING") || shot.shows("PAUSED")
    });
    tape
}

#[test]
fn keys_and_signals_that_end_it_give_the_terminal_back() {
    for (key, signal, code, said) in [
        (Some("q"), None, 0, "stopped after"),
        (Some("\x03"), None, 0, "stopped after"),
        (None, Some(Signal::INT), 130, "interrupted after"),
        (None, Some(Signal::TERM), 143, "interrupted after"),
        (None, Some(Signal::HUP), 143, "interrupted after"),
    ] {
        for args in [&[][..], &["--start-paused"]] {
            let mut tape = quiet(args);
            tape.assert_taken();
            if let Some(key) = key {
                tape.keys(key);
            }
            if let Some(signal) = signal {
                tape.signal(signal);
            }
            let (ended, shot) = tape.wait_end();
            assert_eq!(ended, code, "{key:?} {signal:?}: {shot}");
            tape.assert_restored();
            assert!(shot.has(said), "{key:?} {signal:?}: {shot}");
        }
    }
}

#[test]
fn a_signal_that_kills_leaves_the_terminal_as_it_was() {
    for signal in [
        Signal::QUIT,
        Signal::USR1,
        Signal::USR2,
        Signal::ALARM,
        Signal::XCPU,
    ] {
        let mut tape = quiet(&[]);
        tape.assert_taken();
        tape.signal(signal);
        let (ended, shot) = tape.wait_end();
        assert_ne!(ended, 0, "{signal:?}: {shot}");
        tape.assert_restored();
    }
}

#[test]
fn a_terminal_that_takes_nothing_holds_up_no_end() {
    // Two that are one and the same may come as one.
    for signals in [&[Signal::TERM][..], &[Signal::INT, Signal::TERM]] {
        let mut tape = quiet(&["--loop"]);
        let tty = open(&tape);
        tcflow(&tty, Action::OOff).unwrap();
        // It is playing: the next frame waits.
        let mut size = 0;
        until("silence", || {
            let pause = crossbeam_channel::never::<()>();
            let _ = pause.recv_timeout(std::time::Duration::from_millis(200));
            let before = std::mem::replace(&mut size, tape.bytes().len());
            before == size
        });
        for (n, signal) in signals.iter().enumerate() {
            if n > 0 {
                // The first signal has been handled: signals that are sent together arrive in any order.
                until("the thread that ends it", || has_thread(&tape, "leave"));
            }
            tape.signal(*signal);
        }
        drop(tty);
        let (code, _) = tape.wait_end();
        assert_eq!(code, 143);
        assert!(!is_raw(&tape));
    }
}

#[test]
fn ctrl_c_ends_it_from_under_everything_that_can_be_open() {
    for opens in ["?", "e", "\r", "g", "/", "M"] {
        let mut tape = quiet(&["--start-paused"]);
        let before = tape.shot().rows;
        tape.keys(opens);
        tape.wait_for("that it is open", |shot| shot.rows != before);
        tape.keys("\x03");
        let (code, shot) = tape.wait_end();
        assert_eq!(code, 0, "{opens}: {shot}");
        tape.assert_restored();
    }
}

#[test]
fn a_result_for_programs_is_printed_once_the_screen_is_back() {
    let mut tape = quiet(&["--format", "json", "--start-paused"]);
    tape.keys("q");
    tape.wait_end();
    let text = tape.text();
    let (_, json) = text.split_once('{').unwrap();
    let summary: serde_json::Value = serde_json::from_str(&format!("{{{}", json.trim())).unwrap();
    assert_eq!(summary["ended"], "stopped");
}

/// A run whose player is in the middle of a send to somebody who takes nothing; and that one.
fn stuck() -> (Tape, impl Sized) {
    let endpoint = free_endpoint();
    let demo = demo();
    // More than all that lies between can take.
    let stuck = ["--rate", "1000", "--loop", "--stall-timeout", "600"];
    let network = [demo.to_str().unwrap(), "--listen", &endpoint];
    let tape = play(&[&network[..], &stuck].concat()).run();
    tape.wait_text("PLAYING");
    let pipe = Pipe::to(&endpoint);
    let session = pipe.peer();
    let (subscriber, samples) = subscribe(&session, "0/tf/**");
    take(&samples);
    pipe.block();
    let sent = |shot: &crate::pty::terminal_session::Shot| shot.row(" /tf  ").to_owned();
    let mut last = String::new();
    until("a send that is stuck", || {
        let shot = tape.shot();
        let now = sent(&shot);
        let pause = crossbeam_channel::never::<()>();
        let _ = pause.recv_timeout(std::time::Duration::from_millis(300));
        std::mem::replace(&mut last, now) == last && shot.shows("STALLED")
    });
    (tape, (subscriber, session, pipe))
}

#[test]
fn a_second_interrupt_ends_a_run_that_is_stuck() {
    let (mut tape, _listener) = stuck();
    tape.signal(Signal::INT);
    tape.wait_text("once more ends it now");
    tape.signal(Signal::INT);
    let (code, shot) = tape.wait_end();
    assert_eq!(code, 130, "{shot}");
    tape.assert_restored();
}

#[test]
fn a_second_quit_ends_a_run_that_is_stuck_and_no_other() {
    let (mut tape, _listener) = stuck();
    tape.keys("q");
    tape.wait_text("once more ends it now");
    tape.keys("q");
    let (code, shot) = tape.wait_end();
    assert_eq!(code, 130, "{shot}");
    tape.assert_restored();

    let folder = tempfile::tempdir().unwrap();
    let bag = folder.path().join("drive.mcap");
    std::fs::copy(demo(), &bag).unwrap();
    let mut tape = play_bag(&bag, &["--start-paused"]).run();
    tape.wait_text("PAUSED");
    tape.keys("3mqqq");
    let (code, shot) = tape.wait_end();
    assert_eq!(code, 0, "{shot}");
    assert!(shot.has("stopped after"), "{shot}");
    let kept = std::fs::read_to_string(folder.path().join("drive.mcap.marks.yaml")).unwrap();
    assert!(kept.contains("time_ns: "), "{kept}");
}

#[test]
fn what_is_asked_of_a_player_that_is_stuck_is_shown_until_it_takes_it() {
    let (mut tape, _listener) = stuck();
    tape.keys("t");
    let shot = tape.wait_text("/camera/image/compressed is muted");
    assert!(shot.has("compressed  (muted)"), "{shot}");
    tape.keys("5");
    let shot = tape.wait_elapsed(14_998);
    assert!(shot.has("compressed  (muted)"), "{shot}");
    tape.keys("t");
    let shot = tape.wait_text("/camera/image/compressed is published again");
    assert!(!shot.has("(muted)"), "{shot}");
}

/// The demo on no network, started by `inner` as the job of a shell that lets it go on when a line is typed; and the
/// number of the job.
fn job(inner: &str) -> (Tape, Pid) {
    let script = r#"set -m
        /bin/sh -c 'echo "job $$."; '"$INNER" "$0" "$@"
        while [ $? -gt 128 ]; do stops=$((stops + 1)); echo "it stands $stops"; read line; fg; done"#;
    let (program, demo) = (assert_cmd::cargo::cargo_bin("play"), demo());
    let own = ["-c", script, program.to_str().unwrap()];
    let quiet = [demo.to_str().unwrap(), "--wire", "null"];
    let setup = Setup::of(Path::new("/bin/sh"), &[&own[..], &quiet].concat());
    let tape = setup.env("INNER", inner).run();
    tape.wait_text("PLAYING");
    let bytes = String::from_utf8_lossy(&tape.bytes()).into_owned();
    let number = bytes
        .split_once("job ")
        .and_then(|(_, rest)| rest.split_once('.'));
    let pid = number.and_then(|(number, _)| Pid::from_raw(number.parse().ok()?));
    (tape, pid.unwrap())
}

#[test]
fn ctrl_z_gives_the_terminal_back_until_it_goes_on() {
    let (mut tape, pid) = job(ALONE);
    for turn in 0..3 {
        match turn {
            0 => tape.keys("\x1a"),
            _ => kill_process(pid, Signal::TSTP).unwrap(),
        }
        // The shell has it: before, it would still take the key that is for the shell.
        let stands = format!("it stands {}", turn + 1);
        tape.wait_for("the old screen", |shot| {
            !shot.is_alternate && shot.has(&stands)
        });
        tape.assert_restored();
        if turn == 1 {
            tape.resize(100, 24);
        }
        tape.keys("\n");
        tape.wait_for("the bar", |shot| {
            shot.shows("PLAYING") && shot.has("/imu") && shot.has("q quit")
        });
        tape.assert_taken();
        tape.keys(" ");
        tape.wait_text("PAUSED");
        tape.keys(" ");
        tape.wait_text("PLAYING");
    }
    let rows = tape.shot().rows.len();
    assert_eq!(rows, 24, "the size that it got while it stood");
    tape.quit();
}

#[test]
fn ctrl_z_stops_whoever_started_it_as_well() {
    let (mut tape, _) = job(WITHIN);
    for turn in 1..4 {
        tape.keys("\x1a");
        let stands = format!("it stands {turn}");
        tape.wait_for("the old screen", |shot| {
            !shot.is_alternate && shot.has(&stands)
        });
        tape.assert_restored();
        tape.keys("\n");
        tape.wait_for("the bar", |shot| {
            shot.shows("PLAYING") && shot.has("q quit")
        });
        tape.assert_taken();
    }
    tape.quit();
}

#[test]
fn a_signal_ends_what_stands_and_leaves_the_terminal_to_the_shell() {
    let standing = |stop: &str| {
        let (mut tape, pid) = job(ALONE);
        match stop {
            "key" => tape.keys("\x1a"),
            _ => kill_process(pid, Signal::STOP).unwrap(),
        }
        until("the shell", || tells(&tape, "it stands 1"));
        (tape, pid)
    };
    let (tape, pid) = standing("nobody could prepare for it");
    kill_process(pid, Signal::TERM).unwrap();
    kill_process(pid, Signal::CONT).unwrap();
    until("its end", || tells(&tape, "interrupted after"));
    for signal in [Signal::TERM, Signal::HUP] {
        let (tape, pid) = standing("key");
        // As a shell does it.
        kill_process(pid, signal).unwrap();
        kill_process(pid, Signal::CONT).unwrap();
        tape.wait_for("its end, on the old screen", |shot| {
            !shot.is_alternate && shot.has("interrupted after")
        });
        tape.assert_restored();
    }
}

#[test]
fn in_the_background_it_waits_for_its_turn() {
    let (mut tape, pid) = job(ALONE);
    tape.keys("\x1a");
    tape.wait_for("the old screen", |shot| {
        !shot.is_alternate && shot.has("it stands 1")
    });
    for _ in 0..2 {
        kill_process(pid, Signal::CONT).unwrap();
        until("it stands again", || state(pid) == Some('T'));
        tape.assert_restored();
    }
    tape.keys("\n");
    tape.wait_text("PLAYING");
    tape.assert_taken();
    tape.quit();
}

#[test]
fn what_has_lost_its_shell_leaves_the_screen_to_whoever_has_it() {
    let (tape, pid) = job(WITHIN);
    kill_process(pid, Signal::KILL).unwrap();
    tape.wait_for("its end, on the old screen", |shot| {
        !shot.is_alternate && shot.has("another job has it")
    });
}

/// Whether this was written, even in the middle of a frame.
fn tells(tape: &Tape, words: &str) -> bool {
    String::from_utf8_lossy(&tape.bytes()).contains(words)
}

/// Whether the program has a thread of this name.
fn has_thread(tape: &Tape, name: &str) -> bool {
    let pid = tape.pid().as_raw_nonzero();
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    threads.flatten().any(|thread| {
        let found = std::fs::read_to_string(thread.path().join("comm"));
        found.is_ok_and(|found| found.trim_end() == name)
    })
}

/// The letter that the system has for what a process does; `None` if there is none any more.
fn state(pid: Pid) -> Option<char> {
    let pid = pid.as_raw_nonzero();
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

#[test]
fn where_no_shell_would_let_it_go_on_it_is_not_stopped() {
    let mut tape = quiet(&[]);
    for turn in 0..2 {
        match turn {
            0 => tape.keys("\x1a"),
            _ => tape.signal(Signal::TSTP),
        }
        tape.wait_text("not stopped: there is no shell");
        tape.assert_taken();
        tape.keys("e");
        tape.wait_text("events");
        tape.keys("e");
        tape.wait_text("q quit");
    }
    tape.quit();
}

#[test]
fn after_a_stop_that_nobody_can_prepare_for_the_terminal_is_taken_anew() {
    // Not in the middle of a frame.
    let tape = quiet(&["--start-paused"]);
    tape.signal(Signal::STOP);
    tape.wait_stopped();
    // What a shell does before its next prompt.
    let tty = open(&tape);
    let mut cooked = tcgetattr(&tty).unwrap();
    cooked.local_modes |= rustix::termios::LocalModes::ICANON | rustix::termios::LocalModes::ECHO;
    cooked.input_modes |= rustix::termios::InputModes::ICRNL;
    tcsetattr(&tty, OptionalActions::Now, &cooked).unwrap();
    std::io::Write::write_all(&mut &tty, b"\x1b[?1049l\x1b[?1002l\x1b[?2004l\x1b[?25h$ ").unwrap();
    drop(tty);
    tape.wait_for("the old screen", |shot| !shot.is_alternate);
    tape.signal(Signal::CONT);
    tape.wait_text("PAUSED");
    until("raw mode", || is_raw(&tape));
    tape.assert_taken();
    tape.quit();
}

/// Says to this very test, run again in a terminal, who is to break down.
const BREAKS: &str = "BAGPLAY_TEST_BREAKS";

#[test]
fn a_panic_while_the_screen_is_taken() {
    if std::env::var_os(BREAKS).is_some() {
        let _terminal = Terminal::take("a test").unwrap();
        let other = std::thread::spawn(|| panic!("another breaks down"));
        other.join().unwrap_err();
        panic!("the drawing thread breaks down");
    }
    let name = "pty::terminal::a_panic_while_the_screen_is_taken";
    let program = std::env::current_exe().unwrap();
    let setup = Setup::of(&program, &["--exact", name, "--nocapture"]);
    let mut tape = setup.env(BREAKS, "1").run();
    let (code, shot) = tape.wait_end();
    assert_eq!(code, 101, "{shot}");
    tape.assert_restored();
    let bytes = String::from_utf8_lossy(&tape.bytes()).into_owned();
    let (_, taken) = bytes.split_once("\x1b[?1049h").expect("it was taken");
    let (taken, after) = taken.split_once("\x1b[?1049l").expect("it was given back");
    assert!(!taken.contains("breaks down"), "{taken:?}");
    assert!(
        after.contains("the drawing thread breaks down"),
        "{after:?}"
    );
    assert!(!after.contains("another breaks down"), "{after:?}");
}
