//! `play --follow` beside real clock servers that are paused, killed, restarted, sought, fast and reversed: its
//! messages are never ahead of the clock.

use std::ffi::OsStr;

use crossbeam_channel::Receiver;
use serde_json::Value;
use zenoh::pubsub::Subscriber;
use zenoh::sample::Sample;

use crate::support::mcaps::Files;
use crate::support::network::{
    free_endpoint, hearing, number, router, start_play, start_player_of, subscribe, take,
};
use crate::wire::ctl::ctl;
use crate::wire::follow::{MESSAGES, Node, START, STEP, Started, clock, recording, source_time};

/// After this many messages of the clock without any other message, the test takes it that none comes.
const A_WHILE: usize = 20;

fn time_of(number: u32) -> i64 {
    START + i64::from(number) * STEP
}

/// The number of the last message up to this time.
fn last_at(time: i64) -> u32 {
    u32::try_from((time - START) / STEP).unwrap()
}

/// `play clock` as a process of its own, which the test drives. It begins paused, and is killed when this is dropped.
struct Server {
    _process: Started,
    endpoint: String,
}

impl Server {
    /// Starts with these flags, at a time in seconds.
    fn start(endpoint: &str, at: &str, flags: &[&str]) -> Self {
        let usual = ["--start", at, "--start-paused", "--hz", "200"];
        let named = ["--node-name", "server"];
        let args = [&usual[..], &named, flags].concat();
        let mut process = Started::new(start_play([OsStr::new("clock")], &args));
        hearing(process.child())("tcp/");
        Self {
            _process: process,
            endpoint: endpoint.to_owned(),
        }
    }

    #[track_caller]
    fn does(&self, args: &[&str]) -> Value {
        let done = ctl(&self.endpoint, &[args, &["--node", "/server"]].concat());
        assert_eq!(done.code, 0, "{args:?}: {}", done.error);
        done.result
    }

    /// Pauses; returns the time at which it stands.
    fn pauses(&self) -> i64 {
        let done = self.does(&["pause"]);
        done["status"]["clock_ns"].as_i64().unwrap()
    }
}

/// A node that receives the messages and the clock.
struct Observer {
    node: Node,
    clocks: Receiver<Sample>,
    _clock: Subscriber<()>,
    /// What was received so far: when it was sent, and the clock, or the number of a message and whether time ran
    /// backwards.
    seen: Vec<(i64, Seen)>,
    is_reverse: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Seen {
    Clock(i64),
    Message(u32, bool),
}

impl Observer {
    fn new(endpoint: &str) -> Self {
        let node = Node::new(endpoint);
        let (clock, clocks) = subscribe(&node.session, "0/clock/**");
        Self {
            node,
            clocks,
            _clock: clock,
            seen: Vec::new(),
            is_reverse: false,
        }
    }

    fn message(&mut self) -> u32 {
        let sample = take(&self.node.messages);
        let number = number(sample.payload());
        let seen = Seen::Message(number, self.is_reverse);
        self.seen.push((source_time(&sample), seen));
        number
    }

    /// The next messages are these.
    #[track_caller]
    fn gets(&mut self, numbers: impl Iterator<Item = u32>) {
        for expected in numbers {
            assert_eq!(self.message(), expected);
        }
    }

    /// Messages in order up to this one, from wherever playback has begun; returns the first one.
    #[track_caller]
    fn gets_up_to(&mut self, last: u32) -> u32 {
        let first = self.message();
        if self.is_reverse {
            // The direction of a clock that stood is known when it moves: what it stood at may be sent again.
            let next = Some(self.message()).filter(|next| *next != first);
            assert!(
                next.is_none_or(|next| next == first - 1),
                "{next:?} after {first}"
            );
            let after = next.unwrap_or(first);
            self.gets((last..after).rev());
        } else {
            self.gets(first + 1..=last);
        }
        first
    }

    fn tick(&mut self) -> i64 {
        let sample = take(&self.clocks);
        let time = clock(&sample);
        self.seen.push((source_time(&sample), Seen::Clock(time)));
        time
    }

    /// The clock still stands, and no message comes.
    #[track_caller]
    fn gets_nothing_while_it_stands(&mut self, time: i64) {
        while self.tick() != time {}
        for _ in 0..A_WHILE {
            assert_eq!(self.tick(), time);
        }
        assert!(self.node.messages.is_empty());
    }

    /// Each message was sent after a value of the clock that had reached its time.
    #[track_caller]
    fn assert_nothing_was_ahead(&mut self) {
        for sample in self.clocks.try_iter() {
            let seen = Seen::Clock(clock(&sample));
            self.seen.push((source_time(&sample), seen));
        }
        self.seen.sort_unstable();
        let mut shown = None;
        for (_, seen) in self.seen.drain(..) {
            match seen {
                Seen::Clock(time) => shown = Some(time),
                Seen::Message(number, is_reverse) => {
                    let (time, shown) = (time_of(number), shown.expect("a clock before it"));
                    let is_ahead = if is_reverse {
                        time < shown
                    } else {
                        time > shown
                    };
                    assert!(!is_ahead, "{number} at {shown}, reverse {is_reverse}");
                }
            }
        }
    }
}

fn follow(recording: &Files, endpoint: &str) -> Started {
    let usual = ["--follow", "--no-tui", "--connect", endpoint];
    let more = ["--follow-timeout", "0.5", "--format", "json"];
    let waits = ["--wait-for-subscribers", "/t0", "--node-name", "follower"];
    let args = [&usual[..], &more, &waits].concat();
    Started::new(start_player_of(&recording.paths[0], &args))
}

/// Jumps are made while the server is paused, so that no earlier message can be under way.
fn is_followed_through_everything(flags: &[&str]) {
    let (_router, _events, endpoint) = router(|_| ());
    let recording = recording();
    let connect = ["--connect", &endpoint];
    let flags = &[&connect[..], flags].concat();
    let mut observer = Observer::new(&endpoint);
    let server = Server::start(&endpoint, "1000", flags);
    let mut follower = follow(&recording, &endpoint);
    let mut hear = hearing(follower.child());
    hear("following /clock of /server");
    observer.gets([0].into_iter());

    // Held by a pause.
    server.does(&["resume"]);
    observer.gets(1..=30);
    let paused = server.pauses();
    observer.gets(31..=last_at(paused));
    observer.gets_nothing_while_it_stands(paused);

    // Killed, and restarted elsewhere.
    drop(server);
    observer.assert_nothing_was_ahead();
    hear("nothing on /clock for");
    let server = Server::start(&endpoint, "1003", flags);
    hear("/clock is received again");
    observer.gets([300].into_iter());
    observer.gets_nothing_while_it_stands(time_of(300));
    // The observer may have been without a link when the first times were sent.
    observer.seen.clear();

    // A hundred times as fast, past the end of the recording.
    server.does(&["rate", "100"]);
    server.does(&["resume"]);
    observer.gets(301..MESSAGES);
    hear("past the end of what is played");
    let paused = server.pauses();
    observer.gets_nothing_while_it_stands(paused);

    // Back.
    server.does(&["seek", "1005"]);
    observer.gets([500].into_iter());
    observer.gets_nothing_while_it_stands(time_of(500));

    // Backwards.
    server.does(&["rate", "-1"]);
    observer.is_reverse = true;
    server.does(&["resume"]);
    let first = observer.gets_up_to(450);
    let paused = server.pauses();
    let last = last_at(paused - 1) + 1;
    observer.gets((last..450).rev());
    observer.gets_nothing_while_it_stands(paused);
    // Without the state, the first tick back could be a jump: the message that it passed is not sent.
    assert!((498..=500).contains(&first), "{first}");

    follower.interrupt();
    let summary = follower.summary(130);
    assert_eq!(summary["followed"]["node"], "/server");
    observer.assert_nothing_was_ahead();
}

#[test]
fn a_server_is_followed_through_pause_kill_restart_jumps_and_all_rates() {
    is_followed_through_everything(&[]);
}

#[test]
fn a_server_with_a_state_is_followed_through_the_same() {
    is_followed_through_everything(&["--clock-state"]);
}

/// The usual setup of two players on one host: the server is the router, too.
#[test]
fn a_server_that_was_the_router_is_killed_and_another_one_is_followed() {
    let (endpoint, recording) = (free_endpoint(), recording());
    let listen = ["--listen", &endpoint];
    let server = Server::start(&endpoint, "1000", &listen);
    let mut observer = Observer::new(&endpoint);
    let mut follower = follow(&recording, &endpoint);
    let mut hear = hearing(follower.child());
    hear("following /clock of /server");
    observer.gets([0].into_iter());
    server.does(&["resume"]);
    observer.gets(1..=30);
    // What a killed server had not sent to the observer would be missing for the comparison.
    while observer.tick() < time_of(30) {}
    drop(server);
    observer.assert_nothing_was_ahead();
    hear("connection to the zenoh router lost");
    hear("nothing on /clock for");
    let server = Server::start(&endpoint, "1003", &listen);
    hear("/clock is received again");
    server.does(&["resume"]);
    while observer.message() < 300 {}
    // The observer may have been without a link when the first times were sent.
    observer.gets(301..=350);
    drop(server);
    follower.interrupt();
    let summary = follower.summary(130);
    assert_eq!(summary["jumps"], 2);
}
