//! `play clock`: a clock server without a recording, and programs that follow it.

use std::ffi::OsStr;
use std::process::Child;

use bagplay::cli::{Cli, Verb, clock_plan};
use bagplay::clock::{
    Clock, ClockPace, Extrapolation, JumpFilter, JumpKind, LateTick, OnJump, Phase, SimTime,
};
use bagplay::player::{Command, Options, Pace, Player, Source};
use bagplay::time::{Duration, Ros, Speed, Time};
use bagplay::wire;
use bagplay::wire::{Follow, Session};
use crossbeam_channel::bounded;
use zenoh::Wait;

use crate::support::network::{
    Relay, free_endpoint, hearing, interrupt, node, open, options, router, start_play, summary,
};
use crate::support::patience::{PATIENCE, until};
use crate::wire::ctl::{ctl, is_playing};

/// What `play clock LINE` would serve, if the system time were 1,000 s.
fn planned(line: &str) -> Options {
    let words = format!("play clock {line}");
    let cli = Cli::read(words.split_whitespace().map(Into::into)).unwrap();
    let Some(Verb::Clock(args)) = cli.command else {
        panic!("{cli:?}");
    };
    clock_plan(&args, Time::from_secs(1000)).unwrap().options
}

/// `play clock` as a user starts it.
fn serving(args: &[&str]) -> Child {
    let verb = ["clock", "--format", "json"].map(OsStr::new);
    start_play(verb, args)
}

/// A node that follows the server at this endpoint.
fn follower(endpoint: &str) -> Session {
    open(&options(&[free_endpoint()], &[endpoint.to_owned()])).0
}

/// A clock that follows a topic, once it has a time.
fn following(session: &Session, follow: Follow) -> (SimTime, Clock<Ros>) {
    let sim = SimTime::new(session.clock_source(follow));
    let clock = sim.clock();
    sim.enable().unwrap();
    clock
        .wait_started(OnJump::Continue.within(PATIENCE.into()))
        .unwrap();
    (sim, clock)
}

/// The state topic of the command, extrapolated for longer than any machine stands still.
fn state() -> Follow {
    let how = Extrapolation {
        late: LateTick::Jump,
        ..Extrapolation::for_at_most(Duration::from_secs(60))
    };
    Follow::State("/clock_server/clock_state".to_owned(), how)
}

fn factor(factor: f64) -> Command {
    Command::SetPace(Pace::At(Speed::from_f64(factor).unwrap()))
}

#[test]
fn a_program_follows_a_clock_without_a_recording_wherever_it_is_driven() {
    let (session, _, endpoint) = router(|options| options.node_name = "clock_server".to_owned());
    let served = wire::ClockOptions {
        hz: Some(200.0),
        per_message: false,
    };
    let (out, _) = session.advertise(&[], Some(served)).unwrap();
    let player = Player::new();
    let transport = player.transport();
    let state_topic = session.serve_state(&transport, Duration::ZERO).unwrap();
    let options = planned("--hz 200");
    let running = player.start(options, Source::empty(), out).unwrap();
    let after = |command| transport.ask(command).unwrap().status.segment;

    let node = follower(&endpoint);
    let (sim, clock) = following(&node, Follow::Clock);
    let (_state_sim, extrapolated) = following(&node, state());
    let (sender, jumps) = bounded(100_000);
    let filter = JumpFilter::new().min_backward(Duration::from_nanos(1));
    let _handle = clock
        .on_jump(filter, move |phase, jump| {
            if phase == Phase::After {
                sender.send(jump).unwrap();
            }
        })
        .unwrap();
    let start = Time::from_secs(1000);
    assert!(clock.now() >= start && extrapolated.now() >= start);
    // A hundred seconds take a tenth of one.
    after(factor(1000.0));
    clock
        .sleep_until(start + Duration::from_secs(100), OnJump::Continue)
        .unwrap();
    let held = after(Command::Pause).position(transport.now());
    until("the time it is held at", || clock.now() == held);
    until("the same by its state", || extrapolated.now() == held);
    let back = Time::from_secs(50);
    after(Command::Seek(back));
    let jump = jumps.recv_timeout(PATIENCE).expect("a jump");
    assert_eq!(
        (jump.kind, jump.before, jump.after),
        (JumpKind::Backward, held, back)
    );
    // Backwards: every tick is a jump.
    after(factor(-1.0));
    after(Command::Play);
    for _ in 0..5 {
        assert!(jumps.recv_timeout(PATIENCE).expect("a jump").after <= back);
    }
    until("the number of publishers", || sim.publishers() == 1);
    assert_eq!(sim.complaints(), []);
    transport.send(Command::Stop).unwrap();
    drop(state_topic);
    let (report, _) = running.join().unwrap();
    assert_eq!((report.sent, report.laps), (0, 0));
}

#[test]
fn the_command_serves_its_own_time_until_it_is_interrupted() {
    let endpoint = free_endpoint();
    let mut child = serving(&[
        "--listen",
        &endpoint,
        "--start",
        "0",
        "--rate",
        "100",
        "--clock-state",
    ]);
    let mut hear = hearing(&mut child);
    hear("router on");
    let node = follower(&endpoint);
    for follow in [Follow::Clock, state()] {
        let (_sim, clock) = following(&node, follow);
        let begun = clock.now();
        let target = begun + Duration::from_secs(20);
        clock.sleep_until(target, OnJump::Continue).unwrap();
        assert!(begun > Time::ZERO && clock.now() >= target);
    }
    interrupt(&child);
    let summary = summary(child, 130);
    assert_eq!(summary["source"], "sim");
    assert_eq!(summary["start_ns"], 1);
    assert!(summary["end_ns"].as_i64().unwrap() > 40_000_000_000);
    assert_eq!(summary["rate"]["asked"], 100.0);
    assert_eq!(summary["ended"], "interrupted");
}

#[test]
fn clocks_of_the_machine_are_followed_with_their_factor() {
    let system = || Clock::system().now().assume_ros();
    let steady = || Time::<Ros>::from_nanos(Clock::steady().now().as_nanos());
    let sources: [(&str, &dyn Fn() -> Time<Ros>); 2] = [("system", &system), ("steady", &steady)];
    for (source, now) in sources {
        let endpoint = free_endpoint();
        let earliest = now();
        let mut child = serving(&["--source", source, "--listen", &endpoint, "--clock-state"]);
        let mut hear = hearing(&mut child);
        hear("router on");
        let node = follower(&endpoint);
        let (_sim, clock) = following(&node, Follow::Clock);
        let shown = clock.now();
        assert!(earliest <= shown && shown <= now(), "{source}: {shown}");
        let (_state_sim, extrapolated) = following(&node, state());
        until("a factor", || {
            extrapolated.pace() == ClockPace::At(Speed::NORMAL)
        });
        interrupt(&child);
        let summary = summary(child, 130);
        assert_eq!(summary["source"], source);
        // Nobody sets the date during this test.
        assert_eq!(summary["jumps"], 0, "{source}");
        let start = summary["start_ns"].as_i64().unwrap();
        assert!(earliest.as_nanos() <= start, "{source}");
        assert!(summary["end_ns"].as_i64().unwrap() >= shown.as_nanos());
    }
}

#[test]
fn another_clock_server_is_named_and_refused_if_that_is_asked_for() {
    let (session, _, endpoint) = router(|options| options.node_name = "other".to_owned());
    let served = wire::ClockOptions::default();
    let _other = session.advertise(&[], Some(served)).unwrap();
    let connect = ["--connect", endpoint.as_str()];
    let mut warned = serving(&connect);
    let mut hear = hearing(&mut warned);
    hear("/other publishes /clock too");
    interrupt(&warned);
    assert_eq!(summary(warned, 130)["jumps"], 0);
    let strict = serving(&[connect[0], connect[1], "--strict-clock"]);
    let done = strict.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(said.contains("/other publishes /clock"), "{said}");
}

#[test]
fn a_lost_router_holds_a_time_of_its_own_and_not_the_time_of_the_machine() {
    for (source, said) in [
        ("sim", "playback is held until it is restored"),
        (
            "system",
            "messages published until it is restored may be lost",
        ),
    ] {
        let endpoint = free_endpoint();
        let listen = format!("[\"{endpoint}\"]");
        let router = node("\"router\"", "", &[("listen/endpoints", listen.as_str())]);
        let relay = Relay::to(&endpoint);
        let mut child = serving(&["--source", source, "--connect", &relay.endpoint]);
        let mut hear = hearing(&mut child);
        hear("connected to");
        relay.close();
        relay.cut(0..relay.count());
        hear(said);
        interrupt(&child);
        assert_eq!(summary(child, 130)["source"], source);
        router.close().wait().unwrap();
    }
}

#[test]
fn a_clock_is_driven_by_its_services() {
    let endpoint = free_endpoint();
    let mut child = serving(&["--listen", &endpoint, "--start", "100", "--start-paused"]);
    hearing(&mut child)("router on");
    let done = |args: &[&str]| {
        let done = ctl(&endpoint, args);
        assert_eq!(done.code, 0, "{args:?}: {}", done.error);
        done.result
    };
    let refused = |args: &[&str], reason: &str| {
        let done = ctl(&endpoint, args);
        assert_eq!(done.code, 1, "{args:?}: {}", done.error);
        assert!(done.error.contains(reason), "{args:?}: {}", done.error);
    };
    let status = done(&["seek", "50"])["status"].clone();
    assert_eq!(status["clock_ns"], 50_000_000_000_i64);
    assert_eq!(status["state"], "paused");
    assert_eq!(status["recording"]["start_ns"], 1);
    assert_eq!(done(&["rate", "-2"])["status"]["rate"], -2.0);
    refused(&["rate", "max"], "a clock without messages");
    refused(&["step"], "a clock without messages");
    assert!(is_playing(&done(&["resume"])["status"]));
    refused(&["step", "-1"], "a clock without messages");
    assert!(is_playing(&done(&["status"])["status"]));
    done(&["wait-until", "49"]);
    let held = done(&["pause"])["status"]["clock_ns"].as_i64().unwrap();
    assert!(held <= 49_000_000_000, "{held}");
    done(&["stop"]);
    let summary = summary(child, 0);
    assert_eq!(
        (&summary["ended"], &summary["end_ns"]),
        (&"stopped".into(), &held.into())
    );
}

#[test]
fn a_clock_of_the_machine_refuses_its_services() {
    let endpoint = free_endpoint();
    let mut child = serving(&["--listen", &endpoint, "--source", "system"]);
    hearing(&mut child)("router on");
    let cannot = "the clock shows the time of the machine, which cannot be changed";
    for (args, reason) in [
        (&["rate", "2"][..], cannot),
        (&["seek", "50"], cannot),
        (&["step", "-1"], cannot),
        (&["loop", "on"], cannot),
        (
            &["pause"],
            "playback follows the system clock of this machine, which alone moves it",
        ),
        (&["resume"], cannot),
    ] {
        let done = ctl(&endpoint, args);
        assert_eq!(done.code, 1, "{args:?}: {}", done.error);
        assert!(done.error.contains(reason), "{args:?}: {}", done.error);
    }
    let status = ctl(&endpoint, &["status"]).result["status"].clone();
    assert!(is_playing(&status), "{status}");
    assert_eq!(status["followed"], "the system clock of this machine");
    assert_eq!(ctl(&endpoint, &["stop"]).code, 0);
    assert_eq!(summary(child, 0)["ended"], "stopped");
}
