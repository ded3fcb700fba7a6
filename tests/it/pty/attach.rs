//! `play attach`: the transport bar in a terminal on a player that is another process.

use std::fs;
use std::path::PathBuf;
use std::process::Child;

use crate::pty::terminal_session::{ENTER, ESC, HOME, TerminalSession, demo, play};
use crate::support::network::{
    free_endpoint, hearing, interrupt, signal, start_play, start_player_of,
};
use crate::support::patience::until;
use crate::wire::ctl::ctl;

/// A headless player of a copy of the demo, with its router.
struct Player {
    process: Child,
    endpoint: String,
    bag: PathBuf,
    _folder: tempfile::TempDir,
}

impl Player {
    fn new(args: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let bag = folder.path().join("drive.mcap");
        fs::copy(demo(), &bag).unwrap();
        let endpoint = free_endpoint();
        let usual = ["--no-tui", "--listen", &endpoint];
        let mut process = start_player_of(&bag, &[&usual[..], args].concat());
        hearing(&mut process)("router on");
        Self {
            process,
            endpoint,
            bag,
            _folder: folder,
        }
    }

    fn attach(&self) -> TerminalSession {
        let patience = ["--timeout", "60s"];
        play(&[&["attach", "--connect", &self.endpoint], &patience[..]].concat()).run()
    }

    /// The player's status.
    fn status(&self) -> serde_json::Value {
        let done = ctl(&self.endpoint, &["status"]);
        assert_eq!(done.code, 0, "{}", done.error);
        done.result["status"].clone()
    }

    fn signal(&self, name: &str) {
        signal(&self.process, name);
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        // An error means that it has ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn the_keys_of_the_bar_drive_a_player_elsewhere() {
    let player = Player::new(&["--start-paused", "--clock"]);
    let mut bar = player.attach();
    bar.wait_text("PAUSED");
    bar.wait_text("/clock: 40 Hz");
    bar.keys("]");
    bar.wait_text("×1.10");
    until("the rate", || player.status()["rate"] == 1.1);
    bar.keys("g+10s");
    bar.keys(ENTER);
    bar.wait_elapsed(10_000);
    until("the jump", || {
        let status = player.status();
        let start = status["recording"]["start_ns"].as_i64().unwrap();
        status["clock_ns"] == start + 10_000_000_000
    });
    // A step publishes a message, and the position is that of the message.
    bar.keys(".");
    until("the step", || player.status()["messages_sent"] == 1);
    bar.keys("L");
    until("a loop", || player.status()["loop"] == true);
    bar.keys("y");
    bar.wait_text("sent to the clipboard of the terminal: play attach --connect");
    bar.keys(" ");
    bar.wait_text("▶ PLAYING");
    until("it to play", || player.status()["state"] == "playing");
    // Leaving does not stop the player.
    let frame = bar.quit();
    assert!(frame.has("/rosbag2_player goes on"), "{frame}");
    until("it to play on", || player.status()["state"] == "playing");
}

#[test]
fn the_screen_shows_what_others_do() {
    let player = Player::new(&["--start-paused"]);
    let first = player.attach();
    let second = player.attach();
    first.wait_text("PAUSED");
    second.wait_text("PAUSED");
    for (args, shown) in [
        (&["rate", "2"][..], "×2.00"),
        (&["seek", "+20s"], "+00:20.000"),
        (&["loop", "+5s..+15s"], "loop A-B"),
        (&["resume"], "▶ PLAYING"),
        (&["loop", "off"], "▶ PLAYING"),
        (&["loop", "on"], "  loop  "),
        (&["pause"], "‖ PAUSED"),
    ] {
        assert_eq!(ctl(&player.endpoint, args).code, 0, "{args:?}");
        first.wait_text(shown);
        second.wait_text(shown);
    }
}

#[test]
fn densities_messages_marks_and_muting_come_from_the_player() {
    let player = Player::new(&["--start-paused"]);
    let mut bar = player.attach();
    // The density of the demo, which has a hole.
    bar.wait_for("a density", |frame| {
        frame.has("████████") && frame.has("260")
    });
    bar.keys("g+9s");
    bar.keys(ENTER);
    bar.wait_elapsed(9_000);
    bar.keys("/imu");
    bar.keys(ENTER);
    bar.keys(ENTER);
    bar.wait_text("frame_id: \"imu_link\"");
    bar.keys(ESC);
    bar.wait_for("the table", |frame| !frame.has("frame_id"));
    bar.keys("t");
    bar.wait_text("(muted)");
    bar.keys("m");
    let sidecar = player.bag.with_file_name("drive.mcap.marks.yaml");
    until("the mark beside the recording", || sidecar.exists());
    // The playhead is not on the mark.
    bar.keys(HOME);
    bar.wait_text("◆");
    let other = player.attach();
    other.wait_text("(muted)");
    other.wait_text("◆");
}

#[test]
fn a_player_that_does_not_answer_is_shown_as_such_until_it_does() {
    let player = Player::new(&["--loop"]);
    let bar = player.attach();
    bar.wait_text("▶ PLAYING");
    player.signal("-STOP");
    bar.wait_text("NO ANSWER");
    player.signal("-CONT");
    bar.wait_text("▶ PLAYING");
    bar.wait_text("answers again");
}

#[test]
fn a_key_that_is_pressed_again_for_want_of_an_answer_means_the_same() {
    const NOT_ANSWERED: &str =
        "not answered: no answer within 2 s; /rosbag2_player may still do it";
    const NOT_SENT: &str = "not done: the player does not answer";
    let is_sent = || {
        let player = Player::new(&["--loop"]);
        let mut bar = player.attach();
        bar.wait_text("▶ PLAYING");
        player.signal("-STOP");
        bar.keys(" ");
        bar.keys(" ");
        let frame = bar.wait_for("what became of the key", |frame| {
            frame.shows(NOT_ANSWERED) || frame.shows(NOT_SENT)
        });
        bar.wait_text("NO ANSWER");
        player.signal("-CONT");
        if !frame.shows(NOT_ANSWERED) {
            return false;
        }
        bar.wait_text("PAUSED");
        assert_eq!(player.status()["state"], "paused");
        true
    };
    // On a machine that stands still for two seconds, the bar knows of the silence before the key comes, and does not
    // send it.
    assert!((0..5).any(|_| is_sent()));
}

#[test]
fn a_key_while_there_is_no_answer_is_refused_at_once() {
    let player = Player::new(&["--loop"]);
    let mut bar = player.attach();
    bar.wait_text("▶ PLAYING");
    player.signal("-STOP");
    bar.wait_text("NO ANSWER");
    bar.keys(" ");
    bar.wait_text("ignored: the player does not answer");
    player.signal("-CONT");
    bar.wait_text("▶ PLAYING");
    until("it to play on", || player.status()["state"] == "playing");
    bar.keys(" ");
    bar.wait_text("PAUSED");
}

#[test]
fn a_player_that_does_not_answer_is_not_said_to_go_on() {
    let player = Player::new(&["--loop"]);
    let mut bar = player.attach();
    bar.wait_text("▶ PLAYING");
    player.signal("-STOP");
    bar.wait_text("NO ANSWER");
    bar.keys("q");
    let (code, frame) = bar.wait_end();
    assert!(frame.has("/rosbag2_player did not answer"), "{frame}");
    assert!(!frame.has("goes on"), "{frame}");
    assert_eq!(code, 0);
    player.signal("-CONT");
}

#[test]
fn the_end_of_the_player_is_the_end_of_the_bar() {
    // Its router ends with it, too.
    let player = Player::new(&["--loop"]);
    let mut bar = player.attach();
    bar.wait_text("▶ PLAYING");
    interrupt(&player.process);
    let (code, frame) = bar.wait_end();
    assert!(frame.has("/rosbag2_player has ended"), "{frame}");
    assert_eq!(code, 0);
}

#[test]
fn the_clock_that_the_players_own_bar_changes_is_shown_and_not_changed_from_elsewhere() {
    let (endpoint, demo) = (free_endpoint(), demo());
    let bag = demo.to_str().unwrap();
    let of_run = ["--topics", "/imu", "--start-paused"];
    let mut own = play(&[&[bag, "--listen", &endpoint], &of_run[..]].concat()).run();
    own.wait_text("/clock: off (c)");
    let mut attached = play(&["attach", "--connect", &endpoint]).run();
    let frame = attached.wait_text("/clock: off");
    assert!(!frame.has("/clock: off (c)"), "{frame}");
    own.keys("c");
    attached.wait_text("/clock: 40 Hz");
    own.keys(&format!("C100{ENTER}"));
    attached.wait_text("/clock: 100 Hz");
    for (key, what) in [("c", "/clock"), ("G", "the skipping of gaps")] {
        attached.keys(key);
        attached.wait_text(&format!("{what} can be changed only in the player's own"));
    }
    own.keys("c");
    attached.wait_text("/clock: off");
    attached.quit();
    own.quit();
}

#[test]
fn a_clock_server_is_shown_with_its_time() {
    let endpoint = free_endpoint();
    let mut server = start_play(
        ["clock".as_ref()],
        &["--start", "1000", "--start-paused", "--listen", &endpoint],
    );
    hearing(&mut server)("router on");
    let mut bar = play(&["attach", "--connect", &endpoint]).run();
    bar.wait_text("PAUSED");
    bar.wait_text("a clock without a recording");
    bar.keys("\x1b[C");
    until("a seek", || {
        ctl(&endpoint, &["status"]).result["status"]["clock_ns"] == 1_005_000_000_000_i64
    });
    server.kill().unwrap();
    server.wait().unwrap();
}

#[test]
fn nobody_there_is_an_error_before_the_screen_opens() {
    let endpoint = free_endpoint();
    let mut bar = play(&["attach", "--timeout", "0.3s", "--connect", &endpoint]).run();
    let (code, frame) = bar.wait_end();
    assert_eq!(code, 4, "{frame}");
    assert!(!frame.is_alternate, "{frame}");
}

#[test]
fn it_says_what_it_waits_for() {
    let endpoint = free_endpoint();
    let bar = play(&["attach", "--timeout", "60s", "--connect", &endpoint]).run();
    // It has no screen yet.
    until("what it waits for", || {
        bar.text()
            .contains("no player on the network yet; waiting for")
    });
}

#[test]
fn json_is_refused_as_there_is_no_result() {
    let mut bar = play(&["attach", "--format", "json"]).run();
    let (code, frame) = bar.wait_end();
    assert_eq!(code, 2, "{frame}");
    assert!(frame.has("prints no result"), "{frame}");
}
