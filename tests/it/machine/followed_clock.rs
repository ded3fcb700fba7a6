//! Playback by what is received of another clock: servers that are killed, restarted, paused, sought, fast, reversed.

use std::collections::BTreeSet;

use bagplay::bag::Cue;
use bagplay::output::{Event, Occasion, Recording};
use bagplay::player::{
    FollowOptions, FollowedClock, LeadMotion, LeadState, Machine, Options, Pace, Source, State,
    Wait, WhenDone,
};
use bagplay::time::{Duration, Segment, Time, TimeRange};
use proptest::prelude::*;

use crate::machine::transcript::{MS, NAMES, cue, messages, ros, span, wall};

/// How often a server publishes its clock, in milliseconds of wall time.
const TICK: i64 = 25;
const A: u128 = 1;
const B: u128 = 2;

fn strict() -> FollowOptions {
    FollowOptions {
        offset: Duration::ZERO,
        extrapolates: false,
        timeout: Duration::from_secs(2),
    }
}

fn extrapolating() -> FollowOptions {
    FollowOptions {
        extrapolates: true,
        ..strict()
    }
}

/// What is received from a server.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Heard {
    /// The clock shows these milliseconds.
    Tick(i64),
    /// The state: milliseconds, factor, generation.
    State(i64, f64, u64),
}
use Heard::{State as Status, Tick};

/// A player that follows a clock, and what it has sent, in milliseconds.
struct Follower {
    clock: FollowedClock,
    machine: Machine,
    lead: Option<Segment>,
    /// All times that were received.
    heard: BTreeSet<i64>,
    is_strict: bool,
    now: i64,
    sent: Vec<i64>,
    refills: usize,
}

impl Follower {
    /// Of a recording with a message every 10 ms from 0 to 20 s.
    fn new(options: FollowOptions) -> Self {
        let times: Vec<i64> = (0..=2000).map(|n| n * 10).collect();
        Self::of(options, &times)
    }

    fn of(options: FollowOptions, times: &[i64]) -> Self {
        let all = messages(times);
        let source = Source::new(NAMES, move |at| Cue::from_items(cue(&all, at)));
        let recording = TimeRange::between(ros(0), ros(20_000));
        let played = Options {
            pace: Pace::Follow,
            when_done: WhenDone::Stay,
            refill: true,
            ..Options::new(recording)
        };
        Self {
            clock: FollowedClock::new(options),
            machine: Machine::new(played, source),
            lead: None,
            heard: BTreeSet::new(),
            is_strict: !options.extrapolates,
            now: 0,
            sent: Vec::new(),
            refills: 0,
        }
    }

    /// Receives something from server A at a time; until then the machine does what is due.
    fn hear(&mut self, at: i64, heard: Heard) {
        self.hear_from(A, at, heard);
    }

    fn hear_from(&mut self, server: u128, at: i64, heard: Heard) {
        self.wait_until(at);
        let (Tick(ms) | Status(ms, ..)) = heard;
        self.heard.insert(ms);
        let lead = match heard {
            Tick(ms) => self.clock.tick(ros(ms), server, wall(at)),
            Status(ms, factor, generation) => {
                let state = LeadState {
                    time: ros(ms),
                    factor,
                    generation,
                };
                self.clock.state(state, wall(at))
            }
        };
        if let Some(lead) = lead {
            let position = lead.position(wall(at)).as_nanos() / MS;
            assert!(
                !self.is_strict || self.heard.contains(&position),
                "{position}"
            );
            self.machine.lead().set(lead);
            self.lead = Some(lead);
        }
        self.settle();
    }

    /// Time passes until `at`.
    fn wait_until(&mut self, at: i64) {
        loop {
            let wait = self.settle();
            match wait {
                Wait::Until(next) if next <= wall(at) => {
                    self.now = (next.as_nanos() + MS - 1) / MS;
                }
                _ => break,
            }
        }
        self.now = at;
        if self.clock.becomes_lost(wall(at)) {
            self.machine.lead().lose();
            self.lead = None;
        }
        self.settle();
    }

    fn settle(&mut self) -> Wait {
        loop {
            let (lead, now) = (self.lead, self.now);
            let (sent, refills) = (&mut self.sent, &mut self.refills);
            let wait = self.machine.advance(
                wall(now),
                &mut Recording(|event| match event {
                    Event::Message(_, time, Occasion::Due) => {
                        let lead = lead.expect("sent without a clock");
                        let position = lead.position(wall(now));
                        assert!(
                            !lead.is_before(position, time),
                            "{time} is ahead of {lead:?}"
                        );
                        sent.push(time.as_nanos() / MS);
                    }
                    Event::Message(_, _, Occasion::Refill) => *refills += 1,
                    Event::Clock(_) | Event::Segment(_) | Event::ServeClock(_) => {}
                }),
            );
            if wait != Wait::Now {
                return wait;
            }
        }
    }

    /// The server runs from `ms` at a factor for a span of wall time, with a tick at the beginning; returns where it
    /// is then.
    fn run(&mut self, ms: i64, factor: i64, lasts: i64) -> i64 {
        let begun = self.now;
        let mut shown = ms;
        for n in 0..lasts / TICK {
            shown = ms + n * TICK * factor;
            self.hear(begun + n * TICK, Tick(shown));
        }
        self.wait_until(begun + lasts);
        shown
    }

    fn take_sent(&mut self) -> Vec<i64> {
        std::mem::take(&mut self.sent)
    }

    fn jumps(&self) -> u64 {
        self.machine.report().jumps
    }

    fn motion(&self) -> LeadMotion {
        self.clock.motion(wall(self.now))
    }
}

/// The times of the messages from `a` to `b`.
fn between(a: i64, b: i64) -> Vec<i64> {
    if a <= b {
        (a..=b).filter(|ms| ms % 10 == 0).collect()
    } else {
        (b..=a).rev().filter(|ms| ms % 10 == 0).collect()
    }
}

#[test]
fn a_server_that_is_paused_for_a_minute_holds_playback_and_goes_on() {
    let mut player = Follower::new(strict());
    assert_eq!(player.motion(), LeadMotion::Unknown);
    player.wait_until(100);
    assert_eq!(player.machine.state(), State::Gated);
    let paused = player.run(1000, 1, 500);
    assert_eq!(player.take_sent(), between(1000, paused));
    assert!(matches!(player.motion(), LeadMotion::Moves(Some(by)) if (by - 1.0).abs() < 1e-6));
    player.run(paused, 0, 60_000);
    assert_eq!(
        (player.take_sent(), player.motion()),
        (vec![], LeadMotion::Stands)
    );
    let end = player.run(paused, 1, 500);
    assert_eq!(player.take_sent(), between(paused, end));
    // The jump to where the clock was first.
    assert_eq!(player.jumps(), 1);
}

#[test]
fn a_server_that_is_killed_holds_playback_and_another_one_starts_it_again() {
    let mut player = Follower::new(strict());
    let last = player.run(1000, 1, 500);
    player.take_sent();
    player.wait_until(2400);
    assert_eq!(player.machine.state(), State::Playing);
    player.wait_until(2600);
    assert_eq!(
        (player.machine.state(), player.motion()),
        (State::Gated, LeadMotion::Lost)
    );
    // Restarted, it begins elsewhere: that is a jump, also ahead.
    let refills = player.refills;
    for (n, at) in (0..4).map(|n| (n, last + 3000 + n * TICK)) {
        player.hear_from(B, 3000 + n * TICK, Tick(at));
    }
    assert_eq!(
        player.take_sent(),
        between(last + 3000, last + 3000 + 3 * TICK)
    );
    assert_eq!((player.jumps(), player.refills), (2, refills + 1));
    assert_eq!(player.machine.state(), State::Playing);
}

/// Servers of one node share the topic of the state, so that the state of the second one comes while the first one
/// counts.
#[test]
fn a_server_that_was_restarted_is_followed_from_its_first_state_on() {
    // In one case the first server is lost by then, in the other it is not.
    for (restart, ticks) in [(3000, 100), (600, 100)] {
        let mut player = Follower::new(strict());
        player.hear(0, Status(1000, 1.0, 10));
        player.run(1000, 1, 500);
        player.take_sent();
        player.hear_from(B, restart, Status(5000, 1.0, 77));
        let mut end = 5000;
        for n in 1..ticks {
            end = 5000 + n * TICK;
            if n * TICK % 1000 == 0 {
                player.hear_from(B, restart + n * TICK - 1, Status(end - 1, 1.0, 77));
            }
            player.hear_from(B, restart + n * TICK, Tick(end));
        }
        assert_eq!(player.take_sent(), between(5000, end), "{restart}");
        assert_eq!((player.jumps(), player.refills), (2, 2), "{restart}");
    }
}

#[test]
fn what_a_server_passed_while_it_was_not_heard_is_sent_afterwards() {
    let mut player = Follower::new(strict());
    let last = player.run(1000, 1, 500);
    player.take_sent();
    player.wait_until(5500);
    assert_eq!(player.machine.state(), State::Gated);
    player.hear(5500, Tick(last + 5025));
    assert_eq!(player.take_sent(), between(last, last + 5025));
    assert_eq!(player.jumps(), 1);
}

#[test]
fn a_jump_back_is_a_jump_here_with_refills() {
    let mut player = Follower::new(strict());
    player.run(1000, 1, 500);
    let refills = player.refills;
    player.take_sent();
    let end = player.run(205, 1, 500);
    assert_eq!(player.take_sent(), between(210, end));
    assert_eq!((player.jumps(), player.refills), (2, refills + 1));
    // Less than a millisecond back is no jump.
    let now = wall(player.now);
    let before = player.clock.tick(ros(end), A, now).unwrap();
    let jitter = Time::from_nanos(ros(end).as_nanos() - MS / 2);
    assert_eq!(player.clock.tick(jitter, A, now), Some(before));
}

#[test]
fn a_clock_at_a_hundred_times_is_followed() {
    let mut player = Follower::new(strict());
    let end = player.run(1000, 100, 150);
    assert_eq!(player.take_sent(), between(1000, end));
    assert_eq!(player.jumps(), 1);
    let LeadMotion::Moves(Some(factor)) = player.motion() else {
        panic!("it moves");
    };
    assert!((factor - 100.0).abs() < 1e-6, "{factor}");
}

#[test]
fn a_clock_that_runs_backwards_is_followed_backwards_after_two_ticks() {
    let mut player = Follower::new(strict());
    let turn = player.run(1000, 1, 500);
    player.take_sent();
    let end = player.run(turn, -1, 500);
    // The first tick back could be a jump; the second one tells the direction: then all is sent from the turn on.
    let back = |first: i64, on: Vec<i64>| [vec![first], on].concat();
    assert_eq!(player.take_sent(), back(turn - TICK, between(turn, end)));
    assert_eq!(player.jumps(), 1 + 1 + 2);
    // A jump ahead while it runs backwards, and on.
    let end = player.run(5000, -1, 500);
    assert_eq!(player.take_sent(), between(5000, end));
    // Forwards again.
    let last = player.run(end, 1, 500);
    assert_eq!(player.take_sent(), back(end + TICK, between(end, last)));
}

/// Two jumps back look like a turn; what lies between them must not be sent at once.
#[test]
fn two_seeks_back_in_a_row_send_nothing_in_between() {
    for stands_between in [false, true] {
        let mut player = Follower::new(strict());
        player.run(3000, 1, 500);
        player.take_sent();
        let mut at = 600;
        let mut tick = |time| {
            at += TICK;
            player.hear(at, Tick(time));
        };
        tick(2000);
        if stands_between {
            tick(2000);
        }
        tick(1900);
        tick(1900);
        assert_eq!(player.take_sent(), [2000, 1900], "{stands_between}");
    }
}

#[test]
fn the_state_of_the_server_tells_jumps_and_directions_exactly() {
    let mut player = Follower::new(strict());
    player.hear(0, Tick(1000));
    player.hear(1, Status(1001, 1.0, 40));
    let mut at = 0;
    for shown in [1025, 1050, 1075] {
        at += TICK;
        player.hear(at, Tick(shown));
    }
    assert_eq!(player.take_sent(), between(1000, 1075));
    // Ahead: the tick is sent before the state. The messages in between are not sent.
    player.hear(80, Tick(3000));
    assert_eq!(player.take_sent(), [0; 0]);
    player.hear(83, Status(3003, 1.0, 41));
    player.hear(100, Tick(3020));
    assert_eq!(player.take_sent(), between(3000, 3020));
    assert_eq!(player.jumps(), 2);
    // A tick from before the jump that comes late changes nothing.
    player.hear(101, Tick(1090));
    assert_eq!((player.take_sent(), player.jumps()), (vec![], 2));
    // Backwards, from the last tick before it turns.
    player.hear(110, Tick(3020));
    player.hear(112, Status(3018, -1.0, 42));
    player.hear(125, Tick(3005));
    player.hear(150, Tick(2980));
    assert_eq!(player.take_sent(), between(3020, 2980));
    // Faster: the tick is sent before the state that explains it.
    player.hear(175, Tick(2400));
    player.hear(176, Status(2300, -100.0, 42));
    player.hear(200, Tick(0));
    assert_eq!(player.take_sent(), between(2970, 0));
    // While it stands, and when its states stop.
    player.hear(210, Status(0, 0.0, 42));
    assert_eq!(player.motion(), LeadMotion::Stands);
    let jumps = player.jumps();
    for n in 0..200 {
        player.hear(210 + n * TICK, Tick(0));
    }
    player.hear(210 + 200 * TICK, Tick(505));
    player.hear(210 + 201 * TICK, Tick(530));
    assert_eq!(player.take_sent(), between(530, 530));
    assert!(player.jumps() > jumps);
}

#[test]
fn a_step_ahead_is_a_jump_only_if_no_clock_is_so_fast() {
    for (step, is_jump) in [(99_000, false), (101_000, true)] {
        let mut clock = FollowedClock::new(strict());
        let before = clock.tick(ros(1000), A, wall(0)).unwrap();
        let after = clock.tick(ros(1000 + step), A, wall(TICK)).unwrap();
        let has_jumped = after.generation() != before.generation();
        assert_eq!(has_jumped, is_jump, "{step}");
        assert_eq!(after.position(wall(TICK)), ros(1000 + step));
    }
}

#[test]
fn of_two_servers_one_is_followed_until_it_is_silent() {
    let mut clock = FollowedClock::new(strict());
    let mut tick = |ms, server, at| {
        let lead = clock.tick(ros(ms), server, wall(at)).unwrap();
        (
            lead.position(wall(at)),
            lead.generation(),
            clock.take_rival(),
        )
    };
    let (_, generation, _) = tick(1000, A, 0);
    assert_eq!(tick(5000, B, 10), (ros(1000), generation, true));
    assert_eq!(tick(1025, A, 25), (ros(1025), generation, false));
    assert_eq!(tick(5015, B, 1025), (ros(1025), generation, true));
    let (at, jumped, _) = tick(5030, B, 1030);
    assert_eq!(at, ros(5030));
    assert!(jumped > generation);
    assert_eq!(clock.server(), Some(B));
}

#[test]
fn a_first_time_of_zero_is_no_time_and_the_offset_shifts() {
    let mut clock = FollowedClock::new(FollowOptions {
        offset: span(-500),
        ..strict()
    });
    assert_eq!(clock.tick(Time::ZERO, A, wall(0)), None);
    let lead = clock.tick(ros(1000), A, wall(25)).unwrap();
    assert_eq!(lead.position(wall(25)), ros(500));
    // Later, zero is a simulation that starts again.
    let lead = clock.tick(Time::ZERO, A, wall(50)).unwrap();
    assert_eq!(lead.position(wall(50)), ros(-500));
}

#[test]
fn outside_of_the_recording_playback_is_held_at_its_edges() {
    let mut player = Follower::new(strict());
    player.run(-1000, 1, 500);
    assert_eq!(
        (player.take_sent(), player.machine.state()),
        (vec![], State::Playing)
    );
    player.run(-500, 1, 600);
    assert_eq!(player.take_sent(), between(0, 75));
    player.run(75, 100, 500);
    assert_eq!(player.take_sent(), between(80, 20_000));
    assert_eq!(player.machine.state(), State::Ended);
    let end = player.run(15_000, 1, 100);
    assert_eq!(player.take_sent(), between(15_000, end));
    assert_eq!(player.machine.state(), State::Playing);
}

#[test]
fn without_a_state_time_goes_on_between_ticks_until_the_next_one_is_due() {
    let mut player = Follower::of(extrapolating(), &[1000, 1090, 1110, 1140, 1900]);
    for n in 0..4 {
        player.hear(n * TICK, Tick(1000 + n * TICK));
    }
    assert_eq!(player.take_sent(), [1000]);
    player.wait_until(89);
    assert_eq!(player.take_sent(), [0; 0]);
    player.wait_until(90);
    assert_eq!(player.take_sent(), [1090]);
    // The tick of 100 does not come: time stands at the value of that tick.
    player.wait_until(500);
    assert_eq!(player.take_sent(), [0; 0]);
    player.hear(500, Tick(1120));
    assert_eq!(player.take_sent(), [1110]);
    assert_eq!(player.jumps(), 1);
}

#[test]
fn with_a_state_time_goes_on_at_its_factor_for_a_second_and_a_half() {
    let mut player = Follower::of(extrapolating(), &[1000, 2000, 3990, 4100, 4200]);
    player.hear(0, Status(1000, 2.0, 7));
    player.wait_until(499);
    assert_eq!(player.take_sent(), [1000]);
    player.wait_until(500);
    assert_eq!(player.take_sent(), [2000]);
    player.wait_until(1499);
    assert_eq!(player.take_sent(), [3990]);
    player.wait_until(1900);
    assert_eq!(player.take_sent(), [0; 0]);
    player.hear(1900, Status(4150, 0.0, 7));
    player.wait_until(3000);
    assert_eq!(player.take_sent(), [4100]);
    assert_eq!(player.jumps(), 1);
}

/// What a server does next.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// It shows this.
    To(i64),
    /// It moves on by this.
    By(i64),
    /// It sends a state: where, factor, generation.
    Tell(i64, f64, u64),
}

fn steps() -> impl Strategy<Value = Step> {
    let factors = [0.0, 1.0, -1.0, 100.0, f64::NAN].map(Just);
    let [stands, normal, back, fast, unknown] = factors;
    let factor = prop_oneof![stands, normal, back, fast, unknown];
    prop_oneof![
        4 => (-500..20_500_i64).prop_map(Step::To),
        8 => (-30..60_i64).prop_map(Step::By),
        2 => (-500..20_500_i64, factor, 0..3_u64)
            .prop_map(|(ms, factor, generation)| Step::Tell(ms, factor, generation)),
    ]
}

proptest! {
    /// Whatever arrives, and whenever: the position is a time that was received, and no message is ahead of it.
    #[test]
    fn no_message_is_ahead_of_what_was_heard(
        times in prop::collection::btree_set(0..20_000_i64, 1..40),
        script in prop::collection::vec(
            (prop_oneof![4 => 0..50_i64, 1 => 0..4000_i64], steps(), 1..3_u128),
            1..40,
        ),
    ) {
        let times: Vec<i64> = times.into_iter().collect();
        let mut player = Follower::of(strict(), &times);
        let (mut at, mut last) = (0, 1000);
        for (wait, step, server) in script {
            at += wait;
            let heard = match step {
                Step::To(ms) => Tick(ms),
                Step::By(by) => Tick(last + by),
                Step::Tell(ms, factor, generation) => Status(ms, factor, generation),
            };
            let (Tick(ms) | Status(ms, ..)) = heard;
            last = ms;
            player.hear_from(server, at, heard);
        }
    }
}
