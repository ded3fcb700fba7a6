//! `play --follow` as a process: by a clock that the test publishes, and by another `play`.

use std::process::Child;

use bagplay::time::{Duration, Ros, Time};
use bagplay::wire::services::messages::bagplay::PlayerStatus;
use bagplay::wire::services::messages::parameters::{
    Parameter, ParameterValue, Parameters, SetParameters,
};
use bagplay::wire::services::messages::rosbag2::{PlayRequest, Rate, SetRate};
use bagplay::wire::{PlayerClient, encode_clock};
use crossbeam_channel::{Receiver, RecvTimeoutError, bounded};
use serde_json::Value;
use zenoh::Wait;
use zenoh::liveliness::LivelinessToken;
use zenoh::pubsub::{Publisher, Subscriber};
use zenoh::sample::Sample;

use crate::support::mcaps::{Files, Note, Spec};
use crate::support::network::{
    CLOCK_HASH, CLOCK_KEY, STRING, STRING_HASH, free_endpoint, hearing, interrupt, number, open,
    options, payload, peer, start_player, start_player_of, subscribe, summary, take, token,
};
use crate::support::patience::{PATIENCE, until};
use crate::wire::ctl::ctl;

const CLOCK: &str = "rosgraph_msgs::msg::dds_::Clock_";

/// When the recording begins: a message every 10 ms, numbered from 0.
pub(super) const START: i64 = 1_000_000_000_000;
pub(super) const STEP: i64 = 10_000_000;
pub(super) const MESSAGES: u32 = 1000;

pub(super) fn recording() -> Files {
    let note = |n: u32| {
        let time = u64::try_from(START + i64::from(n) * STEP).unwrap();
        Note::new(0, time, payload(n, 16).to_vec())
    };
    Files::of([Spec::new(vec![(0..MESSAGES).map(note).collect()]).write()])
}

/// How often [`show_until`] shows a time.
const BETWEEN_TICKS: std::time::Duration = std::time::Duration::from_millis(20);

/// The time of a message, and somewhat later: between it and the next one.
pub(super) fn at(number: u32) -> Time<Ros> {
    Time::from_nanos(START + i64::from(number) * STEP + STEP / 2)
}

/// A node that subscribes to the recorded topic and publishes the clock.
pub(super) struct Node {
    pub(super) session: zenoh::Session,
    _subscriber: Subscriber<()>,
    pub(super) messages: Receiver<Sample>,
    _token: LivelinessToken,
}

impl Node {
    pub(super) fn new(endpoint: &str) -> Self {
        let session = peer(endpoint);
        let (subscriber, messages) = subscribe(&session, "0/t0/**");
        let token = token(&session, "MS", "/t0", STRING, STRING_HASH);
        let token = session.liveliness().declare_token(token).wait().unwrap();
        Self {
            session,
            _subscriber: subscriber,
            messages,
            _token: token,
        }
    }

    /// A publisher of the clock that has a subscriber.
    fn clock(&self) -> Publisher<'static> {
        let publisher = self.session.declare_publisher(CLOCK_KEY).wait().unwrap();
        let has_subscriber = || publisher.matching_status().wait().unwrap().matching();
        until("a follower", has_subscriber);
        publisher
    }

    /// The next messages are these, and there are no others.
    #[track_caller]
    fn gets(&self, numbers: impl Iterator<Item = u32>) {
        for expected in numbers {
            assert_eq!(number(take(&self.messages).payload()), expected);
        }
        assert!(self.messages.is_empty());
    }
}

fn show(clock: &Publisher<'_>, time: Time<Ros>) {
    clock.put(encode_clock(time).bytes).wait().unwrap();
}

/// Shows a time again and again until `happens` returns: a clock counts as silent if its last value is too old when it
/// is looked at.
fn show_until(clock: &Publisher<'_>, time: Time<Ros>, happens: impl FnOnce()) {
    let (over, is_over) = bounded::<()>(0);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while is_over.recv_timeout(BETWEEN_TICKS) == Err(RecvTimeoutError::Timeout) {
                show(clock, time);
            }
        });
        // It is dropped in any case, and the thread ends.
        let _over = over;
        happens();
    });
}

/// A process that is killed if the test fails before its end.
pub(super) struct Started(Option<Child>);

impl Started {
    pub(super) fn new(child: Child) -> Self {
        Self(Some(child))
    }

    pub(super) fn child(&mut self) -> &mut Child {
        self.0.as_mut().unwrap()
    }

    /// Its summary in JSON; it ends with this exit code.
    pub(super) fn summary(mut self, code: i32) -> Value {
        summary(self.0.take().unwrap(), code)
    }

    pub(super) fn interrupt(&mut self) {
        interrupt(self.child());
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            // An error means that it has ended.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn follow(endpoint: &str, recording: &Files, more: &[&str]) -> Started {
    let usual = ["--follow", "--no-tui", "--listen", endpoint];
    let waits = ["--wait-for-subscribers", "/t0", "--format", "json"];
    let args = [&usual[..], &waits, more].concat();
    Started::new(start_player_of(&recording.paths[0], &args))
}

#[test]
fn playback_follows_a_clock_through_jumps_and_turns_and_past_its_end() {
    let (endpoint, recording) = (free_endpoint(), recording());
    // Longer than any wait: a value that is shown once counts until the next one.
    let mut child = follow(&endpoint, &recording, &["--follow-timeout", "60"]);
    let mut hear = hearing(child.child());
    hear("router on");
    let node = Node::new(&endpoint);
    hear("waiting for the first value of /clock");
    let clock = node.clock();
    // Before the recording.
    show(&clock, Time::from_nanos(START - 1_000_000_000));
    hear("following /clock");
    show(&clock, at(3));
    node.gets(0..=3);
    show(&clock, at(3));
    show(&clock, at(20));
    node.gets(4..=20);
    show(&clock, at(70));
    node.gets(21..=70);
    // Back: a jump, with the last message before it sent again for latched topics only.
    show(&clock, at(10));
    show(&clock, at(12));
    node.gets(11..=12);
    // Backwards: the second step back tells the direction, and nothing since the turn is missed.
    for back in [11, 10, 4] {
        show(&clock, at(back));
    }
    node.gets((5..=12).rev());
    for forth in [6, 8] {
        show(&clock, at(forth));
    }
    show(&clock, at(MESSAGES));
    hear("past the end of what is played");
    node.gets(5..MESSAGES);
    show(&clock, at(990));
    show(&clock, at(991));
    node.gets(991..=991);
    child.interrupt();
    let summary = child.summary(130);
    assert_eq!(summary["followed"]["topic"], "/clock");
    assert_eq!(summary["ended"], "interrupted");
    assert!(summary["jumps"].as_u64().unwrap() >= 6, "{summary}");
}

#[test]
fn a_clock_that_falls_silent_is_reported_and_followed_again() {
    let (endpoint, recording) = (free_endpoint(), recording());
    let mut child = follow(&endpoint, &recording, &["--follow-timeout", "0.3"]);
    let mut hear = hearing(child.child());
    hear("router on");
    let node = Node::new(&endpoint);
    hear("waiting for the first value of /clock");
    let clock = node.clock();
    show_until(&clock, at(0), || hear("following /clock"));
    show_until(&clock, at(3), || node.gets(1..=3));
    hear("nothing on /clock for");
    show_until(&clock, at(5), || hear("/clock is received again"));
    show_until(&clock, at(5), || node.gets(4..=5));
    child.interrupt();
    child.summary(130);
}

#[test]
fn another_topic_and_an_offset_are_followed_to_the_end() {
    let (endpoint, recording) = (free_endpoint(), recording());
    let more = [
        "--follow=/sim/clock",
        "--follow-offset",
        "-100",
        "--follow-to-end",
    ];
    let waits = ["--wait-for-subscribers", "/t0", "--format", "json"];
    let usual = ["--no-tui", "--listen", &endpoint];
    let args = [&more[..], &usual, &waits].concat();
    let mut child = Started::new(start_player_of(&recording.paths[0], &args));
    let mut hear = hearing(child.child());
    hear("router on");
    let node = Node::new(&endpoint);
    let key = CLOCK_KEY.replace("0/clock", "0/sim/clock");
    let clock = node.session.declare_publisher(key).wait().unwrap();
    until("a follower", || {
        clock.matching_status().wait().unwrap().matching()
    });
    let later = Duration::from_secs(100);
    show(&clock, at(0) + later);
    show(&clock, at(5) + later);
    node.gets(1..=5);
    // Services tell the time of the clock.
    let status = ctl(&endpoint, &["status"]).result["status"].clone();
    assert_eq!(status["clock_ns"], (at(5) + later).as_nanos());
    let start = status["recording"]["start_ns"].as_i64().unwrap();
    assert_eq!(start, START + later.as_nanos());
    show(&clock, at(MESSAGES) + later);
    let summary = child.summary(0);
    assert_eq!(summary["followed"]["topic"], "/sim/clock");
    assert_eq!(summary["ended"], "end");
    node.gets(6..MESSAGES);
}

pub(super) fn source_time(sample: &Sample) -> i64 {
    let attachment = sample.attachment().expect("an attachment").to_bytes();
    i64::from_le_bytes(attachment[8..16].try_into().unwrap())
}

pub(super) fn clock(sample: &Sample) -> i64 {
    let time = bagplay::wire::decode_clock(&sample.payload().to_bytes());
    time.unwrap().as_nanos()
}

/// One process serves the clock, another one follows it. The clock had shown the time of each message before it was
/// sent.
#[test]
fn a_player_follows_another_player() {
    for more in [&[][..], &["--clock-state"]] {
        let (endpoint, recording) = (free_endpoint(), recording());
        let serve = ["--no-tui", "--listen", &endpoint, "--prefix", "server"];
        let loops = [
            "--clock",
            "100",
            "--loop",
            "--end",
            "+2s",
            "--node-name",
            "server",
        ];
        let args = [&serve[..], &loops, more].concat();
        let mut server = Started::new(start_player_of(&recording.paths[0], &args));
        let mut hear_server = hearing(server.child());
        hear_server("router on");
        let node = Node::new(&endpoint);
        let (_clocks, clocks) = subscribe(&node.session, "0/clock/**");
        take(&clocks);
        let follows = ["--follow", "--no-tui", "--connect", &endpoint];
        let waits = ["--wait-for-subscribers", "--format", "json"];
        let args = [&follows[..], &waits].concat();
        let mut follower = Started::new(start_player_of(&recording.paths[0], &args));
        let mut hear = hearing(follower.child());
        hear("following /clock");
        // More than a lap of the server.
        let sent: Vec<Sample> = (0..500).map(|_| take(&node.messages)).collect();
        let last_sent = sent.iter().map(source_time).max();
        // What a killed server had not sent to the observer would be missing for the comparison.
        let mut ticks = vec![take(&clocks)];
        while ticks.last().map(source_time) < last_sent {
            ticks.push(take(&clocks));
        }
        follower.interrupt();
        let summary = follower.summary(130);
        assert_eq!(summary["followed"]["node"], "/server");
        assert!(summary["jumps"].as_u64().unwrap() >= 2, "{summary}");
        drop(server);

        let ticks = ticks.iter().map(|it| (source_time(it), None, clock(it)));
        let time_of = |it| START + i64::from(number(it)) * STEP;
        let messages = sent
            .iter()
            .map(|it| (source_time(it), Some(()), time_of(it.payload())));
        let mut events: Vec<(i64, Option<()>, i64)> = ticks.chain(messages).collect();
        events.sort_unstable();
        // The lap and the time of the clock, and of the messages. A lap begins when the time goes back.
        let (mut shown, mut played) = ((0, i64::MIN), None);
        let next = |(lap, last): (i32, i64), time| (lap + i32::from(time < last), time);
        for (_, message, time) in events {
            if message.is_none() {
                shown = next(shown, time);
                continue;
            }
            // The first message may be of the lap before that of the clock.
            let first = (shown.0 - i32::from(time > shown.1), time);
            let now = played.map_or(first, |played| next(played, time));
            // With the state of the clock, a lap may begin before the first tick of it.
            let half = START + 1_000_000_000;
            let is_next_lap = now.0 == shown.0 + 1 && time < half && half < shown.1;
            assert!(now <= shown || is_next_lap, "{now:?} at {shown:?}");
            played = Some(now);
        }
        assert!(played.unwrap().0 >= 1);
    }
}

/// Only the clock moves a follower: a refusal names the node of the clock.
#[test]
fn a_follower_refuses_to_be_driven_and_names_its_clock() {
    let (endpoint, recording) = (free_endpoint(), recording());
    let mut child = follow(&endpoint, &recording, &[]);
    let mut hear = hearing(child.child());
    hear("router on");
    let node = Node::new(&endpoint);
    let publishes = token(&node.session, "MP", "/clock", CLOCK, CLOCK_HASH);
    let publishes = node.session.liveliness().declare_token(publishes);
    let _publishes = publishes.wait().unwrap();
    let clock = node.clock();
    show(&clock, at(5));
    hear("following /clock of /listener");
    show(&clock, at(9));
    node.gets(6..=9);

    let why = "playback follows /clock of /listener, which alone moves it";
    for args in [
        &["pause"][..],
        &["resume"],
        &["toggle"],
        &["rate", "2"],
        &["rate", "-1"],
        &["rate", "max"],
        &["seek", "50%"],
        &["step"],
        &["step", "-2"],
        &["step", "3", "--topic", "/t0"],
        &["burst", "3"],
        &["loop", "on"],
        &["loop", "+1s..+2s"],
    ] {
        let refused = ctl(&endpoint, args);
        assert_eq!(refused.code, 1, "{args:?}: {}", refused.error);
        assert_eq!(refused.result["message"], why, "{args:?}");
        assert!(refused.error.contains(why), "{args:?}: {}", refused.error);
    }
    let (session, _events) = open(&options(&[], std::slice::from_ref(&endpoint)));
    let mut players = Vec::new();
    until("the player", || {
        players = session.players();
        !players.is_empty()
    });
    let player = PlayerClient::new(&session, players.remove(0), PATIENCE);
    let mut status = player.status().unwrap();
    until("a clock that stands", || {
        show(&clock, at(9));
        status = player.status().unwrap();
        status.state == PlayerStatus::HELD
    });
    assert!(status.rate.is_nan());
    assert_eq!(status.followed, "/clock of /listener");
    assert!(!player.is_paused().unwrap());
    assert!(player.play(&PlayRequest::default()).is_err());
    assert!(player.play_next().is_err());
    assert_eq!(player.burst(0).unwrap(), 0);
    let refused = player.play_until(at(500)).unwrap_err();
    assert_eq!(refused.to_string(), why);
    let name = "/rosbag2_player/set_rate";
    let set_rate = session.service_client::<SetRate>(name, None).unwrap();
    for rate in [1.0, f64::INFINITY] {
        assert!(!set_rate.call(&Rate { rate }, PATIENCE).unwrap().success);
    }
    let name = "/rosbag2_player/set_parameters";
    let set = session.service_client::<SetParameters>(name, None).unwrap();
    for (name, value) in [
        ("rate", ParameterValue::from(2.0)),
        ("paused", true.into()),
        ("loop", true.into()),
    ] {
        let name = name.to_owned();
        let parameters = vec![Parameter { name, value }];
        let set = set.call(&Parameters { parameters }, PATIENCE).unwrap();
        assert!(set.results[0].reason.ends_with(why), "{set:?}");
    }

    // Its position has not changed, and it still follows.
    assert!(node.messages.is_empty());
    show(&clock, at(12));
    node.gets(10..=12);
    let status = ctl(&endpoint, &["status"]);
    assert_eq!(status.result["status"]["followed"], "/clock of /listener");
    assert_eq!(ctl(&endpoint, &["stop"]).code, 0);
    assert_eq!(child.summary(0)["ended"], "stopped");
}

#[test]
fn what_contradicts_following_is_a_usage_error() {
    for flags in [
        &["--clock"][..],
        &["--clock-topics", "/t0"],
        &["--clock-topics-all"],
        &["--clock-start", "5"],
        &["--clock-state"],
        &["--strict-clock"],
        &["--rate", "1"],
        &["--start-paused"],
        &["--delay", "1"],
        &["--loop"],
        &["--loop-range", "1..2"],
        &["--skip-empty", "1"],
        &["--wire", "zenoh"],
        &["--wire", "null"],
    ] {
        let child = start_player(&[&["--follow"], flags].concat());
        let done = child.wait_with_output().unwrap();
        let said = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(2), "{flags:?}: {said}");
        assert!(
            said.contains("--follow") && said.contains(flags[0]),
            "{said}"
        );
    }
    for flags in [
        &["--follow-offset", "1"][..],
        &["--extrapolate"],
        &["--follow-state", "/s/clock_state"],
        &["--follow-timeout", "1"],
        &["--follow-to-end"],
        &["--follow", "--follow-timeout", "0"],
        &["--follow=/a//b"],
        &["--follow", "--follow-state=//x"],
    ] {
        let child = start_player(&[flags, &["--no-tui"]].concat());
        let done = child.wait_with_output().unwrap();
        let said = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(2), "{flags:?}: {said}");
    }
}
