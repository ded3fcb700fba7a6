//! `play ctl` as a user runs it, against players that are processes, too.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use assert_cmd::Command;
use serde_json::Value;

use crate::support::network::{free_endpoint, hearing, interrupt, signal, start_player, summary};
use crate::support::patience::until;

/// A player of the demo with its router, paused, and what ends it.
pub(crate) struct Driven {
    player: Child,
    endpoint: String,
}

impl Driven {
    pub(crate) fn new(args: &[&str]) -> Self {
        let endpoint = free_endpoint();
        let usual = ["--no-tui", "--format", "json", "--listen", &endpoint];
        let mut player = start_player(&[&usual[..], args].concat());
        hearing(&mut player)("router on");
        Self { player, endpoint }
    }

    pub(crate) fn ctl(&self, args: &[&str]) -> Done {
        ctl(&self.endpoint, args)
    }

    /// The result of a command that is carried out.
    #[track_caller]
    pub(crate) fn done(&self, args: &[&str]) -> Value {
        let done = self.ctl(args);
        assert_eq!(done.code, 0, "{args:?}: {}", done.error);
        assert_eq!(done.result["success"], true, "{args:?}");
        done.result
    }
}

impl Drop for Driven {
    fn drop(&mut self) {
        // An error means that it has ended.
        let _ = self.player.kill();
        let _ = self.player.wait();
    }
}

/// What became of one `play ctl`.
pub(crate) struct Done {
    pub(crate) code: i32,
    pub(crate) result: Value,
    pub(crate) error: String,
}

/// `play ctl` with these arguments. It waits for the player and its answer as long as tests wait, unless the arguments
/// say how long.
pub(crate) fn ctl(endpoint: &str, args: &[&str]) -> Done {
    let patience = ["--timeout", "60"];
    let patience = &patience[..if args.contains(&"--timeout") { 0 } else { 2 }];
    let run = Command::cargo_bin("play")
        .unwrap()
        .arg("ctl")
        .args(args)
        .args(patience)
        .args(["--connect", endpoint, "--format", "json"])
        .env_remove("RUST_LOG")
        .env_remove("ROS_DOMAIN_ID")
        .output()
        .unwrap();
    Done {
        code: run.status.code().unwrap(),
        result: serde_json::from_slice(&run.stdout).unwrap_or_default(),
        error: String::from_utf8(run.stderr).unwrap(),
    }
}

#[test]
fn each_command_does_what_it_says() {
    let driven = Driven::new(&["--start-paused"]);
    let status = driven.done(&["status"])["status"].clone();
    assert_eq!(status["state"], "paused");
    let start = status["recording"]["start_ns"].as_i64().unwrap();
    let end = status["recording"]["end_ns"].as_i64().unwrap();
    assert_eq!(status["clock_ns"], start);

    assert_eq!(driven.done(&["rate", "0.5"])["status"]["rate"], 0.5);
    let status = driven.done(&["rate", "max"])["status"].clone();
    assert_eq!(
        (&status["rate"], &status["pace"]),
        (&Value::Null, &"max".into())
    );
    assert_eq!(driven.done(&["rate", "1"])["status"]["rate"], 1.0);

    let sought = driven.done(&["seek", "+10s"]);
    assert_eq!(sought["landed_ns"], start + 10_000_000_000);
    assert_eq!(sought["status"]["clock_ns"], start + 10_000_000_000);
    assert_eq!(
        driven.done(&["seek", "-5s"])["landed_ns"],
        end - 5_000_000_000
    );
    assert_eq!(driven.done(&["seek", "100%"])["landed_ns"], end);
    assert_eq!(driven.done(&["seek", "0%"])["landed_ns"], start);

    assert_eq!(driven.done(&["step"])["published"], 1);
    assert_eq!(driven.done(&["step", "4"])["published"], 4);
    assert_eq!(driven.done(&["step", "-2"])["published"], 1);
    let odometry = driven.done(&["step", "3", "--topic", "/odom"]);
    assert!(odometry["published"].as_u64().unwrap() >= 3);
    assert_eq!(driven.done(&["burst", "7"])["published"], 7);

    let looped = driven.done(&["loop", "+5s..+6s"])["status"].clone();
    assert_eq!(looped["ab_loop"]["start_ns"], start + 5_000_000_000);
    assert_eq!(looped["ab_loop"]["end_ns"], start + 6_000_000_000);
    assert_eq!(
        (&looped["loop"], &looped["range"]),
        (&false.into(), &looped["recording"])
    );
    let whole = driven.done(&["loop", "off"])["status"].clone();
    assert_eq!(whole["ab_loop"], serde_json::Value::Null);
    assert_eq!(whole["loop"], false);
    assert_eq!(whole["range"], whole["recording"]);

    assert!(is_playing(&driven.done(&["resume"])["status"]));
    assert_eq!(driven.done(&["toggle"])["status"]["state"], "paused");
    assert_eq!(driven.done(&["pause"])["status"]["state"], "paused");
    // So slow that it is not over before the next command.
    driven.done(&["rate", "0.1"]);
    driven.done(&["seek", "0%"]);
    driven.done(&["resume"]);
    let waited = driven.done(&["wait-until", "+0.2s"]);
    assert!(waited["status"]["clock_ns"].as_i64().unwrap() >= start + 200_000_000);
}

/// Whether a player plays. If a send takes its time, its state is another one meanwhile.
pub(crate) fn is_playing(status: &Value) -> bool {
    ["playing", "stalled"]
        .iter()
        .any(|state| status["state"] == *state)
}

/// `play ctl status --watch`, and its lines.
fn watch(driven: &Driven, node: Option<&str>) -> (Child, impl FnMut() -> String + use<>) {
    let mut watch = std::process::Command::new(assert_cmd::cargo::cargo_bin("play"))
        .args(["ctl", "status", "--watch", "--timeout", "60"])
        .args(["--connect", &driven.endpoint])
        .args(node.iter().flat_map(|node| ["--node", node]))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    (watch, move || lines.next().unwrap().unwrap())
}

#[test]
fn a_watched_player_is_followed_to_its_end() {
    // With `--clock-state`, whose last state tells the end, and without.
    for (args, is_stopped) in [
        (&["--clock", "--clock-state"][..], true),
        (&[], true),
        (&[], false),
    ] {
        let driven = Driven::new(&[&["--start-paused"][..], args].concat());
        let (mut watch, mut next) = watch(&driven, None);
        assert!(next().starts_with("paused ×1  00:00.0 / 00:29.9"));
        driven.done(&["rate", "0.5"]);
        assert!(next().starts_with("paused ×0.5"));
        driven.done(&["loop", "+1s..+2s"]);
        // The range and the loop are two changes.
        while !next().contains("loop 00:01.0..00:02.0") {}
        driven.done(&["loop", "off"]);
        while next().contains("loop") {}
        if is_stopped {
            driven.done(&["stop"]);
        } else {
            driven.done(&["rate", "max"]);
            driven.done(&["resume"]);
        }
        let mut last = next();
        while !last.starts_with("stopped") {
            last = next();
        }
        assert!(watch.wait().unwrap().success(), "{args:?}");
    }
}

#[test]
fn the_loss_of_a_watched_player_is_no_end() {
    for args in [&["--clock", "--clock-state"][..], &[]] {
        let mut driven = Driven::new(&[&["--start-paused"][..], args].concat());
        let (mut watch, mut next) = watch(&driven, None);
        assert!(next().starts_with("paused"));
        driven.player.kill().unwrap();
        assert_eq!(watch.wait().unwrap().code(), Some(4), "{args:?}");
    }
}

#[test]
fn a_player_that_is_killed_behind_another_router_has_not_ended() {
    let router = Driven::new(&["--start-paused", "--node-name", "other"]);
    let network = ["--connect", &router.endpoint, "--no-tui", "--start-paused"];
    for state in [&["--clock", "--clock-state"][..], &[]] {
        let mut player = start_player(&[&network[..], state].concat());
        hearing(&mut player)("connected to");
        let endpoint = router.endpoint.clone();
        let mut driven = Driven { player, endpoint };
        let node = "rosbag2_player";
        driven.done(&["status", "--node", node]);
        let (mut watch, mut next) = watch(&driven, Some(node));
        assert!(next().starts_with("paused"));
        driven.player.kill().unwrap();
        assert_eq!(watch.wait().unwrap().code(), Some(4), "{state:?}");
    }
}

#[test]
fn a_seek_outside_a_loop_ends_the_loop() {
    let driven = Driven::new(&["--start-paused"]);
    driven.done(&["loop", "+1s..+2s"]);
    let within = driven.done(&["seek", "+1.5s"])["status"].clone();
    assert!(within["ab_loop"].is_object());
    let outside = driven.done(&["seek", "+9s"])["status"].clone();
    assert!(outside["ab_loop"].is_null());
    assert_eq!(outside["range"], outside["recording"]);
}

#[test]
fn steps_back_past_the_first_message_say_that_they_were_fewer() {
    let driven = Driven::new(&["--start-paused"]);
    driven.done(&["step", "3"]);
    let back = driven.ctl(&["step", "-9"]);
    assert_eq!((back.code, &back.result["published"]), (1, &1.into()));
    let reason = "fewer steps than asked for, 1 message published: there is no previous message";
    assert!(back.error.contains(reason), "{}", back.error);
}

#[test]
fn stop_ends_the_run() {
    let mut driven = Driven::new(&["--start-paused"]);
    driven.done(&["stop"]);
    let player = std::mem::replace(&mut driven.player, start_nothing());
    assert_eq!(summary(player, 0)["ended"], "stopped");
}

/// A process that has ended, in place of the player.
fn start_nothing() -> Child {
    std::process::Command::new("true").spawn().unwrap()
}

#[test]
fn what_is_refused_ends_with_1_and_the_reason() {
    let driven = Driven::new(&["--start-paused"]);
    driven.done(&["seek", "100%"]);
    driven.done(&["burst", "0"]);
    let past = driven.ctl(&["step"]);
    assert_eq!(
        (past.code, &past.result["success"]),
        (1, &Value::Bool(false))
    );
    assert!(past.error.contains("no next message"), "{}", past.error);
    let unknown = driven.ctl(&["step", "--topic", "/nothing"]);
    assert_eq!(unknown.code, 1);
    assert!(unknown.error.contains("/nothing"), "{}", unknown.error);
    driven.done(&["seek", "0%"]);
    driven.done(&["resume"]);
    let playing = driven.ctl(&["burst", "3"]);
    assert_eq!(
        (playing.code, &playing.result["published"]),
        (1, &Value::from(0))
    );
    assert!(playing.result["status"].is_object(), "{}", playing.result);
}

#[test]
fn a_loop_outside_the_recording_is_refused() {
    let driven = Driven::new(&["--start-paused"]);
    let empty = "the loop has no length";
    for (range, reason) in [
        ("+40s..+50s", "the loop is outside of the recording"),
        ("+5s..+5s", empty),
        ("+9s..+3s", "the range ends before it begins"),
        ("100%..", empty),
    ] {
        let refused = driven.ctl(&["loop", range]);
        assert_eq!(refused.code, 1, "{range}");
        assert!(refused.error.contains(reason), "{range}: {}", refused.error);
        assert_eq!(refused.result["message"], reason);
    }
    let whole = driven.done(&["loop", "+25s..+50s"])["status"].clone();
    assert_eq!(whole["ab_loop"]["end_ns"], whole["recording"]["end_ns"]);
}

/// As the key `L` does: what is played is played again and again, also a part of the recording.
#[test]
fn loop_on_and_off_leave_the_range_as_it_is() {
    let driven = Driven::new(&["--start-paused", "--start", "+5s", "--end", "+9s"]);
    let status = |words: &[&str]| driven.done(words)["status"].clone();
    let before = status(&["status"]);
    assert_ne!(before["range"], before["recording"]);
    for (words, is_loop, has_ab_loop) in [
        (&["loop", "on"][..], true, false),
        (&["loop", "+6s..+7s"], true, true),
        (&["loop", "off"], false, false),
    ] {
        let after = status(words);
        assert_eq!(after["range"], before["range"], "{words:?}");
        assert_eq!(after["loop"], is_loop, "{words:?}");
        assert_eq!(after["ab_loop"].is_object(), has_ab_loop, "{words:?}");
    }
}

/// A loop of the command line is one like any other.
#[test]
fn a_loop_of_the_command_line_ends_by_a_seek() {
    let driven = Driven::new(&["--start-paused", "--loop-range", "+1s..+2s"]);
    let begun = driven.done(&["status"])["status"].clone();
    assert!(begun["ab_loop"].is_object());
    let after = driven.done(&["seek", "+9s"])["status"].clone();
    assert!(after["ab_loop"].is_null());
    assert_eq!(
        (&after["range"], &after["loop"]),
        (&begun["recording"], &false.into())
    );
}

#[test]
fn invalid_commands_are_usage_errors() {
    for args in [
        &["rate", "0"][..],
        &["rate", "abc"],
        &["rate"],
        &["seek"],
        &["seek", "soon"],
        &["loop", "5"],
        &["pause", "--node", ""],
        &["pause", "--node", "a b"],
        &["pause", "--node", "/robot/*"],
        &["pause", "--node", "//player"],
        &["fly"],
        &[],
    ] {
        let run = ctl("tcp/127.0.0.1:9", args);
        assert_eq!(run.code, 2, "{args:?}: {}", run.error);
    }
    let nowhere = ctl("junk", &["pause"]);
    assert_eq!(nowhere.code, 2, "{}", nowhere.error);
    assert!(nowhere.error.contains("junk"), "{}", nowhere.error);
}

#[test]
fn nobody_there_ends_with_4() {
    let endpoint = free_endpoint();
    let nobody = ctl(&endpoint, &["pause", "--timeout", "0.2"]);
    assert_eq!(nobody.code, 4, "{}", nobody.error);
    let waits = "no player on the network yet";
    assert!(!nobody.error.contains(waits), "{}", nobody.error);
    // After a moment it says what it waits for, and where.
    let nobody = ctl(
        &endpoint,
        &["pause", "--timeout", "6", "--domain-id", "999"],
    );
    let waits = "no player on the network yet; ROS domain 999, waiting for tcp/";
    assert!(nobody.error.contains(waits), "{}", nobody.error);
    let error = "no player on the network within 6 s; ROS domain 999";
    assert!(nobody.error.contains(error), "{}", nobody.error);
    let driven = Driven::new(&["--start-paused"]);
    driven.done(&["status"]);
    let other = driven.ctl(&["pause", "--node", "other", "--timeout", "0.2"]);
    assert_eq!(other.code, 4, "{}", other.error);
    assert!(other.error.contains("/rosbag2_player"), "{}", other.error);
}

#[test]
fn a_player_that_does_not_answer_is_not_said_to_be_nowhere() {
    let router = Driven::new(&["--start-paused", "--node-name", "other"]);
    let network = ["--connect", &router.endpoint, "--node-name", "pl"];
    let mut player = start_player(&[&["--no-tui", "--start-paused"], &network[..]].concat());
    hearing(&mut player)("connected to");
    let endpoint = router.endpoint.clone();
    let stopped = Driven { player, endpoint };
    stopped.done(&["status", "--node", "pl"]);
    signal(&stopped.player, "-STOP");
    // A router may be late, too.
    until("a router that knows it", || {
        let silent = router.ctl(&["status", "--node", "pl", "--timeout", "0.5"]);
        assert_eq!(silent.code, 4, "{}", silent.error);
        let reason = "/pl is known to a router, but did not answer within 0.5 s";
        silent.error.contains(reason)
    });
}

#[test]
fn one_message_is_not_several() {
    let driven = Driven::new(&["--start-paused"]);
    driven.done(&["step"]);
    let status = Command::cargo_bin("play")
        .unwrap()
        .args(["ctl", "status", "--connect", &driven.endpoint])
        .output()
        .unwrap();
    let shown = String::from_utf8(status.stdout).unwrap();
    assert!(shown.ends_with("  1 message\n"), "{shown}");
}

#[test]
fn of_several_players_none_is_guessed() {
    let driven = Driven::new(&["--start-paused"]);
    let start = |name: &str| {
        let usual = ["--no-tui", "--format", "json", "--start-paused"];
        let network = ["--connect", &driven.endpoint, "--node-name", name];
        let mut player = start_player(&[&usual[..], &network].concat());
        hearing(&mut player)("connected to");
        Driven {
            player,
            endpoint: driven.endpoint.clone(),
        }
    };
    let second = start("second");
    // It is on the graph once it can be driven.
    second.done(&["status", "--node", "second"]);
    let mut guess = driven.ctl(&["pause"]);
    // The link to the second may come after that to the first: then there is only one.
    until("both players", || {
        guess = driven.ctl(&["pause"]);
        guess.code == 2
    });
    for name in ["/rosbag2_player", "/second", "--node"] {
        assert!(guess.error.contains(name), "{}", guess.error);
    }
    driven.done(&["resume", "--node", "/second"]);
    let status = |node| driven.done(&["status", "--node", node])["status"].clone();
    assert_eq!(status("rosbag2_player")["state"], "paused");
    assert!(is_playing(&status("second")));
    drop(second);

    let twin = start("rosbag2_player");
    until("two players of one name", || {
        let same = driven.ctl(&["pause", "--node", "rosbag2_player"]);
        same.code == 1
            && same
                .error
                .contains("have the name /rosbag2_player: all of them would be driven")
    });
    interrupt(&twin.player);
}

#[test]
fn two_players_of_one_name_say_so_and_neither_is_driven() {
    let endpoint = free_endpoint();
    // They are killed when the test is over, however it ends.
    let start = |network: &str| {
        let args = ["--no-tui", "--start-paused", network, &endpoint];
        let mut player = start_player(&args);
        let says = hearing(&mut player);
        let endpoint = endpoint.clone();
        (Driven { player, endpoint }, says)
    };
    let (_first, mut first_says) = start("--listen");
    first_says("router on");
    let (_second, mut second_says) = start("--connect");
    second_says("another node is called /rosbag2_player");
    first_says("another node is called /rosbag2_player");
    // The services of a player come after its node.
    until("the services of both", || {
        let refused = ctl(&endpoint, &["pause"]);
        let reason = "have the name /rosbag2_player: all of them would be driven";
        refused.code != 0 && refused.error.contains(reason)
    });
}
