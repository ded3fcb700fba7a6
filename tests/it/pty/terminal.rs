//! The terminal is restored, whatever ends the bar.

use std::path::Path;

use bagplay::tui::Terminal;
use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{Action, LocalModes, OptionalActions, tcflow, tcgetattr, tcsetattr};

use crate::pty::terminal_session::{
    Frame, KIND_QUERY, SERIAL_LINE, TerminalCommand, TerminalSession, demo, has, play, play_bag,
    until,
};
use crate::support::network::{Pipe, free_endpoint, subscribe, take};
use crate::support::patience::Patience;

/// How the program is started: it replaces the shell that prints its process number.
const REPLACING_ITS_SHELL: &str = r#"exec "$0" "$@""#;
/// How the program is started: by that shell, which waits for it.
const AS_A_CHILD: &str = r#""$0" "$@"; exit $?"#;

/// The terminal as a shell opens it.
fn open(session: &TerminalSession) -> std::fs::File {
    let path = session.terminal().tty_name().unwrap();
    let mut options = std::fs::OpenOptions::new();
    options.read(true).write(true).open(path).unwrap()
}

fn is_raw(session: &TerminalSession) -> bool {
    let modes = format!("{:?}", session.terminal().get_termios());
    !modes.contains("ICANON") && !modes.contains("ECHO ")
}

/// The demo on no network.
fn quiet(args: &[&str]) -> TerminalSession {
    let own = [
        demo().to_str().unwrap().to_owned(),
        "--wire".into(),
        "null".into(),
        "--loop".into(),
    ];
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    let session = play(&[&own, args].concat()).run();
    session.wait_for("the bar", |frame| {
        frame.shows("PLAYING") || frame.shows("PAUSED")
    });
    session
}

#[test]
fn keys_and_signals_that_end_the_run_restore_the_terminal() {
    for (key, signal, code, expected) in [
        (Some("q"), None, 0, "stopped after"),
        (Some("\x03"), None, 130, "interrupted after"),
        (None, Some(Signal::INT), 130, "interrupted after"),
        (None, Some(Signal::TERM), 143, "interrupted after"),
        (None, Some(Signal::HUP), 143, "interrupted after"),
    ] {
        for args in [&[][..], &["--start-paused"]] {
            let mut session = quiet(args);
            session.assert_taken();
            if let Some(key) = key {
                session.keys(key);
            }
            if let Some(signal) = signal {
                session.signal(signal);
            }
            let (ended, frame) = session.wait_end();
            assert_eq!(ended, code, "{key:?} {signal:?}: {frame}");
            session.assert_restored();
            assert!(frame.has(expected), "{key:?} {signal:?}: {frame}");
        }
    }
}

#[test]
fn a_signal_that_kills_restores_the_terminal() {
    for signal in [
        Signal::QUIT,
        Signal::USR1,
        Signal::USR2,
        Signal::ALARM,
        Signal::XCPU,
    ] {
        let mut session = quiet(&[]);
        session.assert_taken();
        session.signal(signal);
        let (ended, frame) = session.wait_end();
        assert_ne!(ended, 0, "{signal:?}: {frame}");
        session.assert_restored();
    }
}

#[test]
fn a_terminal_that_takes_no_output_does_not_delay_the_end() {
    let end = |signals: &[Signal]| {
        let mut session = quiet(&[]);
        let tty = open(&session);
        tcflow(&tty, Action::OOff).unwrap();
        for (n, signal) in signals.iter().enumerate() {
            if n > 0 {
                // The first signal has been handled: signals that are sent together arrive in any order.
                until("the thread that ends it", || has_thread(&session, "leave"));
            }
            session.signal(*signal);
        }
        drop(tty);
        let (code, _) = session.wait_end();
        assert!(!is_raw(&session));
        code
    };
    assert_eq!(end(&[Signal::TERM]), 143);
    // Two equal signals may be delivered as one. Two seconds after the first one the program ends by itself, perhaps
    // before the second one.
    let mut codes = (0..5).map(|_| end(&[Signal::INT, Signal::TERM]));
    let is_ended_by_the_second = codes.any(|code| {
        assert!([130, 143].contains(&code), "{code}");
        code == 143
    });
    assert!(is_ended_by_the_second);
}

#[test]
fn ctrl_c_ends_the_run_also_in_overlays_and_prompts() {
    for opens in ["?", "e", "\r", "g", "/", "M"] {
        let mut session = quiet(&["--start-paused"]);
        let before = session.frame().rows;
        session.keys(opens);
        session.wait_for("that it is open", |frame| frame.rows != before);
        session.keys("\x03");
        let (code, frame) = session.wait_end();
        assert_eq!(code, 130, "{opens}: {frame}");
        session.assert_restored();
    }
}

#[test]
fn a_json_result_is_printed_after_the_terminal_is_restored() {
    let mut session = quiet(&["--format", "json", "--start-paused"]);
    session.keys("q");
    session.wait_end();
    let text = session.text();
    let (_, json) = text.split_once('{').unwrap();
    let summary: serde_json::Value = serde_json::from_str(&format!("{{{}", json.trim())).unwrap();
    assert_eq!(summary["ended"], "stopped");
}

/// A run whose player is in a send to a subscriber that takes nothing; and that subscriber.
fn stuck() -> (TerminalSession, impl Sized) {
    let endpoint = free_endpoint();
    let demo = demo();
    // More than all buffers in between can take.
    let stuck = ["--rate", "1000", "--loop", "--stall-timeout", "600"];
    let network = [demo.to_str().unwrap(), "--listen", &endpoint];
    let session = play(&[&network[..], &stuck].concat()).run();
    session.wait_text("PLAYING");
    let pipe = Pipe::to(&endpoint);
    let peer = pipe.peer();
    let (subscriber, samples) = subscribe(&peer, "0/tf/**");
    take(&samples);
    pipe.block();
    // Frames are drawn all the time. A send that is only slow, also beside other work, would have changed the count within
    // so many of them.
    let (mut last, mut unchanged) = (String::new(), 0);
    session.wait_for("a send that is stuck", |frame| {
        let sent = frame.row(" /tf  ").to_owned();
        let is_same = frame.shows("STALLED") && sent == last;
        unchanged = if is_same { unchanged + 1 } else { 0 };
        last = sent;
        unchanged >= 60
    });
    (session, (subscriber, peer, pipe))
}

#[test]
fn a_second_interrupt_ends_a_run_that_is_stuck() {
    let (mut session, _listener) = stuck();
    session.signal(Signal::INT);
    session.wait_text("quit again to end now");
    session.signal(Signal::INT);
    let (code, frame) = session.wait_end();
    assert_eq!(code, 130, "{frame}");
    session.assert_restored();
}

#[test]
fn a_second_quit_ends_a_run_that_is_stuck_and_no_other() {
    let (mut session, _listener) = stuck();
    session.keys("q");
    session.wait_text("quit again to end now");
    session.keys("q");
    let (code, frame) = session.wait_end();
    assert_eq!(code, 130, "{frame}");
    session.assert_restored();

    let folder = tempfile::tempdir().unwrap();
    let bag = folder.path().join("drive.mcap");
    std::fs::copy(demo(), &bag).unwrap();
    let mut session = play_bag(&bag, &["--start-paused"]).run();
    session.wait_text("PAUSED");
    session.keys("3mqqq");
    let (code, frame) = session.wait_end();
    assert_eq!(code, 0, "{frame}");
    assert!(frame.has("stopped after"), "{frame}");
    let kept = std::fs::read_to_string(folder.path().join("drive.mcap.marks.yaml")).unwrap();
    assert!(kept.contains("time_ns: "), "{kept}");
}

#[test]
fn commands_to_a_stuck_player_are_shown_before_it_takes_them() {
    let (mut session, _listener) = stuck();
    session.keys("t");
    let frame = session.wait_text("/camera/image/compressed is muted");
    assert!(frame.has("compressed  (muted)"), "{frame}");
    session.keys("5");
    let frame = session.wait_elapsed(14_998);
    assert!(frame.has("compressed  (muted)"), "{frame}");
    session.keys("t");
    let frame = session.wait_text("/camera/image/compressed is published again");
    assert!(!frame.has("(muted)"), "{frame}");
}

/// The demo without a network, started by `inner` as a job of a shell, which continues the job when a line is typed;
/// and the process number of the job.
fn job(inner: &str) -> (TerminalSession, Pid) {
    let script = r#"set -m
        /bin/sh -c 'echo "job $$."; '"$INNER" "$0" "$@"
        while [ $? -gt 128 ]; do stops=$((stops + 1)); echo "is stopped $stops"; read line; fg; done"#;
    let (program, demo) = (assert_cmd::cargo::cargo_bin("play"), demo());
    let own = ["-c", script, program.to_str().unwrap()];
    let quiet = [demo.to_str().unwrap(), "--wire", "null", "--loop"];
    let command = TerminalCommand::of(Path::new("/bin/sh"), &[&own[..], &quiet].concat());
    let session = command.env("INNER", inner).run();
    session.wait_text("PLAYING");
    let bytes = String::from_utf8_lossy(&session.bytes()).into_owned();
    let number = bytes
        .split_once("job ")
        .and_then(|(_, rest)| rest.split_once('.'));
    let pid = number.and_then(|(number, _)| Pid::from_raw(number.parse().ok()?));
    (session, pid.unwrap())
}

#[test]
fn ctrl_z_restores_the_terminal_until_the_job_continues() {
    let (mut session, pid) = job(REPLACING_ITS_SHELL);
    for turn in 0..3 {
        match turn {
            0 => session.keys("\x1a"),
            _ => kill_process(pid, Signal::TSTP).unwrap(),
        }
        // From here on the shell reads the keys.
        let stopped = format!("is stopped {}", turn + 1);
        session.wait_for("the old screen", |frame| {
            !frame.is_alternate && frame.has(&stopped)
        });
        session.assert_restored();
        if turn == 1 {
            session.resize(100, 24);
        }
        session.keys("\n");
        session.wait_for("the bar", |frame| {
            frame.shows("PLAYING") && frame.has("/imu") && frame.has("q quit")
        });
        session.assert_taken();
        session.keys(" ");
        session.wait_text("PAUSED");
        session.keys(" ");
        session.wait_text("PLAYING");
    }
    let rows = session.frame().rows.len();
    assert_eq!(rows, 24, "the size that was set while it was stopped");
    session.quit();
}

/// Otherwise ctrl-Z would be a signal in between, and the shell would get a terminal that is not restored.
#[test]
fn a_program_that_is_told_to_continue_keeps_the_keys() {
    const ENTER_SCREEN: &str = "\x1b[?1049h";
    let recording = demo();
    let command = play(&[recording.to_str().unwrap(), "--wire", "null", "--loop"]);
    let session = command.run();
    session.wait_text("PLAYING");
    let tty = open(&session);
    let taken = |session: &TerminalSession| {
        let bytes = String::from_utf8_lossy(&session.bytes()).into_owned();
        bytes.matches(ENTER_SCREEN).count()
    };
    for turn in 0..20 {
        let before = taken(&session);
        let mut patience = Patience::new();
        while taken(&session) == before {
            // One that comes while another is dealt with has no effect of its own.
            session.signal(Signal::CONT);
            for _ in 0..500 {
                let modes = tcgetattr(&tty).unwrap().local_modes;
                assert!(!modes.contains(LocalModes::ICANON), "turn {turn}");
            }
            assert!(patience.slice().is_some(), "it does not take the terminal");
        }
    }
    // Otherwise its output would have no end.
    drop(tty);
    session.quit();
}

#[test]
fn ctrl_z_also_stops_the_parent_in_the_job() {
    let (mut session, _) = job(AS_A_CHILD);
    for turn in 1..4 {
        session.keys("\x1a");
        let stopped = format!("is stopped {turn}");
        session.wait_for("the old screen", |frame| {
            !frame.is_alternate && frame.has(&stopped)
        });
        session.assert_restored();
        session.keys("\n");
        session.wait_for("the bar", |frame| {
            frame.shows("PLAYING") && frame.has("q quit")
        });
        session.assert_taken();
    }
    session.quit();
}

#[test]
fn a_job_that_is_continued_in_the_background_stops_whole_and_its_shell_knows() {
    let script = r#"set -m
        /bin/sh -c "$INNER" "$0" "$@"
        echo "is stopped"; read line; bg
        while read line && [ -z "$line" ]; do jobs; done
        fg"#;
    let (program, demo) = (assert_cmd::cargo::cargo_bin("play"), demo());
    let own = ["-c", script, program.to_str().unwrap()];
    let quiet = [demo.to_str().unwrap(), "--wire", "null", "--loop"];
    let command = TerminalCommand::of(Path::new("/bin/sh"), &[&own[..], &quiet].concat());
    let mut session = command.env("INNER", AS_A_CHILD).run();
    session.wait_text("PLAYING");
    session.keys("\x1a");
    session.wait_for("the old screen", |frame| {
        !frame.is_alternate && frame.has("is stopped")
    });
    session.keys("\n");
    until("the shell lists it as stopped by the terminal", || {
        session.keys("\n");
        session.frame().has("tty output")
    });
    session.keys("fg\n");
    session.wait_for("the bar", |frame| {
        frame.shows("PLAYING") && frame.has("q quit")
    });
    session.assert_taken();
    session.quit();
}

#[test]
fn after_ctrl_z_no_frame_waits_for_what_the_terminal_did_not_answer_before() {
    let (mut session, _) = job(REPLACING_ITS_SHELL);
    session.set_silent(true);
    let before = session.frame().rows;
    session.wait_for("a frame that is not acknowledged", |frame| {
        frame.rows != before
    });
    session.keys("\x1a");
    session.wait_for("the old screen", |frame| {
        !frame.is_alternate && frame.has("is stopped 1")
    });
    session.assert_restored();
    session.set_silent(false);
    let stopped = session.bytes().len();
    session.keys("\n");
    let frame = session.wait_text("PLAYING");
    assert!(has(&session.bytes()[stopped..], KIND_QUERY), "{frame}");
    session.wait_for("another frame", |other| {
        other.shows("PLAYING") && other.rows != frame.rows
    });
    session.quit();
}

#[test]
fn a_signal_ends_a_stopped_job_and_leaves_the_terminal_to_the_shell() {
    let stop_by = |stop: &str| {
        let (mut session, pid) = job(REPLACING_ITS_SHELL);
        match stop {
            "key" => session.keys("\x1a"),
            _ => kill_process(pid, Signal::STOP).unwrap(),
        }
        until("the shell", || has_written(&session, "is stopped 1"));
        (session, pid)
    };
    let (session, pid) = stop_by("SIGSTOP");
    kill_process(pid, Signal::TERM).unwrap();
    kill_process(pid, Signal::CONT).unwrap();
    until("its end", || has_written(&session, "interrupted after"));
    for signal in [Signal::TERM, Signal::HUP] {
        let (session, pid) = stop_by("key");
        // In the order of a shell.
        kill_process(pid, signal).unwrap();
        kill_process(pid, Signal::CONT).unwrap();
        session.wait_for("its end, on the old screen", |frame| {
            !frame.is_alternate && frame.has("interrupted after")
        });
        session.assert_restored();
    }
}

#[test]
fn in_the_background_the_job_stays_stopped() {
    let (mut session, pid) = job(REPLACING_ITS_SHELL);
    session.keys("\x1a");
    session.wait_for("the old screen", |frame| {
        !frame.is_alternate && frame.has("is stopped 1")
    });
    for _ in 0..2 {
        kill_process(pid, Signal::CONT).unwrap();
        until("it is stopped again", || state(pid) == Some('T'));
        session.assert_restored();
    }
    session.keys("\n");
    session.wait_text("PLAYING");
    session.assert_taken();
    session.quit();
}

#[test]
fn a_job_without_its_shell_leaves_the_terminal_to_the_other_job() {
    let (session, pid) = job(AS_A_CHILD);
    kill_process(pid, Signal::KILL).unwrap();
    // Either another job has it, or nothing can be read from it, whatever is noticed first.
    session.wait_for("its end, on the old screen", |frame| {
        !frame.is_alternate && frame.has("the terminal cannot be drawn on: ")
    });
}

/// Whether this was written, even within a frame.
fn has_written(session: &TerminalSession, words: &str) -> bool {
    String::from_utf8_lossy(&session.bytes()).contains(words)
}

/// Whether the program has a thread of this name.
fn has_thread(session: &TerminalSession, name: &str) -> bool {
    let pid = session.pid().as_raw_nonzero();
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    threads.flatten().any(|thread| {
        let found = std::fs::read_to_string(thread.path().join("comm"));
        found.is_ok_and(|found| found.trim_end() == name)
    })
}

/// The state of a process, as a letter of `/proc`; `None` if there is no such process.
fn state(pid: Pid) -> Option<char> {
    let pid = pid.as_raw_nonzero();
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

#[test]
fn without_a_shell_that_could_continue_it_the_run_is_not_stopped() {
    let mut session = quiet(&[]);
    for turn in 0..2 {
        match turn {
            0 => session.keys("\x1a"),
            _ => session.signal(Signal::TSTP),
        }
        session.wait_text("not suspended: there is no shell");
        session.assert_taken();
        session.keys("e");
        session.wait_text("events");
        session.keys("e");
        session.wait_text("q quit");
    }
    session.quit();
}

#[test]
fn after_sigstop_the_terminal_is_set_up_again() {
    // Not in the middle of a frame.
    let session = quiet(&["--start-paused"]);
    session.signal(Signal::STOP);
    session.wait_stopped();
    // A shell does this before its next prompt.
    let tty = open(&session);
    let mut cooked = tcgetattr(&tty).unwrap();
    cooked.local_modes |= rustix::termios::LocalModes::ICANON | rustix::termios::LocalModes::ECHO;
    cooked.input_modes |= rustix::termios::InputModes::ICRNL;
    tcsetattr(&tty, OptionalActions::Now, &cooked).unwrap();
    std::io::Write::write_all(&mut &tty, b"\x1b[?1049l\x1b[?1002l\x1b[?2004l\x1b[?25h$ ").unwrap();
    drop(tty);
    session.wait_for("the old screen", |frame| !frame.is_alternate);
    session.signal(Signal::CONT);
    session.wait_text("PAUSED");
    until("raw mode", || is_raw(&session));
    session.assert_taken();
    session.quit();
}

/// Set when the test runs itself again in a terminal, to panic there.
const PANICS: &str = "BAGPLAY_TEST_BREAKS";

#[test]
fn a_panic_restores_the_terminal_before_its_message() {
    if std::env::var_os(PANICS).is_some() {
        let _terminal = Terminal::enter("a test").unwrap();
        let other = std::thread::spawn(|| panic!("another panics"));
        other.join().unwrap_err();
        panic!("the drawing thread panics");
    }
    let name = "pty::terminal::a_panic_restores_the_terminal_before_its_message";
    let program = std::env::current_exe().unwrap();
    let command = TerminalCommand::of(&program, &["--exact", name, "--nocapture"]);
    let mut session = command.env(PANICS, "1").run();
    let (code, frame) = session.wait_end();
    assert_eq!(code, 101, "{frame}");
    session.assert_restored();
    let bytes = String::from_utf8_lossy(&session.bytes()).into_owned();
    let (_, taken) = bytes.split_once("\x1b[?1049h").expect("it was taken");
    let (taken, after) = taken.split_once("\x1b[?1049l").expect("it was given back");
    assert!(!taken.contains("panics"), "{taken:?}");
    assert!(after.contains("the drawing thread panics"), "{after:?}");
    assert!(!after.contains("another panics"), "{after:?}");
}

#[test]
fn on_a_slow_line_a_key_waits_for_a_third_of_a_second_of_output_at_most() {
    let recording = demo();
    let command = play(&[recording.to_str().unwrap(), "--wire", "null", "--loop"]);
    let mut session = command.size(200, 50).line_rate(SERIAL_LINE).run();
    let time = |frame: &Frame| frame.rows.iter().find(|row| row.contains(" / ")).cloned();
    // Tenths of seconds say that the line is known to be slow.
    session.wait_for("tenths", |frame| {
        let elapsed = time(frame).and_then(|row| Some(row.split_once(" / ")?.0.to_owned()));
        let tenths = elapsed.and_then(|elapsed| Some(elapsed.rsplit_once('.')?.1.len() == 1));
        frame.is_alternate && tenths == Some(true)
    });
    let before = time(&session.frame());
    session.wait_for("another time", |frame| time(frame) != before);
    let mut waits = Vec::new();
    for answer in ["PAUSED", "PLAYING"].repeat(8) {
        waits.push(session.bytes_in_front_of_answer(" ", answer));
        if answer == "PLAYING" {
            let before = time(&session.frame());
            session.wait_for("another time", |frame| time(frame) != before);
        }
    }
    // What the line carries in 0.3 s. A program that is stopped when a key comes answers some later, but not many.
    let most = SERIAL_LINE as usize * 3 / 10;
    let late = waits.iter().filter(|bytes| **bytes > most);
    assert!(late.count() <= waits.len() / 4, "{waits:?}");
}

#[test]
fn no_answer_of_the_terminal_is_left_for_the_shell() {
    let recording = demo();
    let left = || {
        let command = play(&[recording.to_str().unwrap(), "--wire", "null", "--loop"]);
        let mut session = command.line_rate(SERIAL_LINE).run();
        session.wait_text("PLAYING");
        let tty = open(&session);
        session.keys("q");
        // This comes last through the line, and the terminal has answered everything before it.
        until("its last line", || {
            session.text().contains("resume with: play")
        });
        let mut raw = tcgetattr(&tty).unwrap();
        raw.make_raw();
        tcsetattr(&tty, OptionalActions::Now, &raw).unwrap();
        rustix::io::ioctl_fionread(&tty).unwrap()
    };
    // The program waits a second for an answer, and on a busy machine this terminal may give it later.
    assert!((0..5).any(|_| left() == 0));
}
