//! Gates are levels: nothing is sent after the message or the clock for which a gate was closed, at any pace.

use std::sync::{Arc, Mutex};
use std::thread;

use bagplay::bag::{Cue, Message, TopicId};
use bagplay::output::{Delivery, Event, Occasion, Output};
use bagplay::player::{
    Before, ClockOptions, Command, Gate, GateHandle, Gates, Intent, Options, Outcome, Pace,
    PlayedRange, Player, Source, State, Ticket, WhenDone,
};
use bagplay::time::{AtEnd, Duration, Ros, Segment, Speed, Time, TimeRange};
use proptest::prelude::*;

use crate::machine::transcript::{
    Act, NAMES, check_acts, cue, messages, options, quiet, ros, run_acts, span, wall,
};
use crate::support::patience::PATIENCE;

/// Closes the gate when a message of this time is taken.
fn waits_for(times: &'static [i64]) -> impl FnMut(&Event, &GateHandle) {
    move |event, gates| {
        if let Event::Message(_, time, Occasion::Due) = event
            && times.iter().any(|ms| ros(*ms) == *time)
        {
            gates.close(Gate::Answer);
        }
    }
}

#[test]
fn a_message_that_waits_for_an_answer_holds_position_and_clock_at_its_time() {
    let machine = check_acts(
        options(),
        messages(&[1000, 1100, 1100, 1300]),
        &[(600, Act::Open(Gate::Answer))],
        waits_for(&[1000]),
        "
        0 gen 0 held 1000
        0 clock 1000
        0 gen 0 rolls 1000 ×1
        0 msg 1000
        0 gen 0 held 1000
        250 clock 1000
        500 clock 1000
        600 gen 0 rolls 1000 ×1
        700 msg 1100
        700 msg 1100
        750 clock 1150
        900 msg 1300
        1000 clock 1400
        1250 clock 1650
        1500 clock 1900
        1600 clock 2000
        1600 gen 0 held 2000",
    );
    assert_eq!(machine.report().held.gated, span(600));
}

#[test]
fn without_a_schedule_a_message_that_waits_for_an_answer_is_the_last_until_then() {
    check_acts(
        Options {
            pace: Pace::Max,
            ..options()
        },
        messages(&[1000, 1100, 1900]),
        &[
            (300, Act::Open(Gate::Answer)),
            (600, Act::Open(Gate::Answer)),
        ],
        waits_for(&[1100, 1900]),
        "
        0 gen 0 held 1000
        0 clock 1000
        0 msg 1000
        0 gen 0 held 1100
        0 msg 1100
        250 clock 1100
        300 gen 0 held 1900
        300 clock 1900
        300 msg 1900
        500 clock 1900
        600 clock 2000
        600 gen 0 held 2000",
    );
}

#[test]
fn steps_wait_for_an_answer_and_are_not_refused() {
    let paused = Options {
        intent: Intent::Pause,
        when_done: WhenDone::Stay,
        ..quiet()
    };
    check_acts(
        paused,
        messages(&[1000, 1100, 1200, 1300]),
        &[
            (10, Act::Do(Command::Step(3))),
            (20, Act::Open(Gate::Answer)),
            (30, Act::Open(Gate::Answer)),
            // The search ends, and its message waits.
            (40, Act::Do(Command::Step(-2))),
            (50, Act::Open(Gate::Answer)),
            (60, Act::Do(Command::Stop)),
        ],
        waits_for(&[1000, 1100, 1200]),
        "
        0 gen 0 held 1000
        10 msg 1000
        20 gen 0 held 1100
        20 msg 1100
        30 gen 0 held 1200
        30 msg 1200
        50 gen 1 held 1000
        50 msg 1000",
    );
}

/// As an output that waits until the subscribers have dealt with the clock.
#[test]
fn a_clock_that_waits_for_an_answer_goes_before_its_message_once() {
    let per_message = ClockOptions {
        before: Before::All,
        ..ClockOptions::default()
    };
    let stepped = Options {
        clock: per_message,
        ..quiet()
    };
    for pace in [Pace::Max, Pace::At(Speed::NORMAL)] {
        let mut opened = Vec::new();
        let options = Options {
            pace,
            ..stepped.clone()
        };
        let all = messages(&[1000, 1100]);
        let script: Vec<(i64, Act)> = (1..9)
            .map(|n| (1000 * n, Act::Open(Gate::Answer)))
            .collect();
        let source = move |at| Cue::from_items(cue(&all, at));
        run_acts(options, source, &script, |event, gates| match event {
            Event::Clock(time) => {
                opened.push(('c', *time));
                gates.close(Gate::Answer);
            }
            Event::Message(_, time, _) => {
                opened.push(('m', *time));
                gates.close(Gate::Answer);
            }
            Event::Segment(_) | Event::ServeClock(_) => {}
        });
        let expected = [
            ('c', 1000),
            ('c', 1000),
            ('m', 1000),
            ('c', 1100),
            ('m', 1100),
            ('c', 2000),
        ];
        assert_eq!(opened, expected.map(|(what, ms)| (what, ros(ms))));
    }
    // A step back shows the time of its message first.
    check_acts(
        Options {
            intent: Intent::Pause,
            when_done: WhenDone::Stay,
            ..stepped
        },
        messages(&[1000, 1100]),
        &[
            (10, Act::Do(Command::Step(2))),
            (20, Act::Do(Command::Step(-1))),
            (30, Act::Open(Gate::Answer)),
            (40, Act::Do(Command::Play)),
            (50, Act::Do(Command::Stop)),
        ],
        |event, gates| {
            if matches!(event, Event::Segment(segment) if segment.generation() == 1 && !segment.is_rolling())
            {
                gates.close(Gate::Answer);
            }
        },
        "
        0 gen 0 held 1000
        0 clock 1000
        10 clock 1000
        10 msg 1000
        10 gen 0 held 1100
        10 clock 1100
        10 msg 1100
        20 gen 1 held 1000
        20 clock 1000
        30 msg 1000
        40 gen 1 rolls 1000 ×1
        50 gen 1 held 1010",
    );
}

#[test]
fn a_seek_leaves_a_message_that_waits_and_still_waits_itself() {
    check_acts(
        Options {
            refill: true,
            ..options()
        },
        messages(&[1000, 1500, 1900]),
        &[
            (100, Act::Do(Command::Seek(ros(1800)))),
            (400, Act::Open(Gate::Answer)),
            (420, Act::Do(Command::Stop)),
        ],
        waits_for(&[1000]),
        "
        0 gen 0 held 1000
        0 clock 1000
        0 gen 0 rolls 1000 ×1
        0 msg 1000
        0 gen 0 held 1000
        100 gen 1 held 1800
        100 clock 1800
        250 clock 1800
        400 refill 1500
        400 gen 1 rolls 1800 ×1
        420 gen 1 held 1820",
    );
}

#[test]
fn a_path_that_was_away_between_two_looks_is_noticed() {
    let clock = ClockOptions {
        before: Before::All,
        ..ClockOptions::default()
    };
    check_acts(
        Options { clock, ..quiet() },
        messages(&[1000, 1900]),
        &[
            (100, Act::Close(Gate::Path)),
            (100, Act::Open(Gate::Path)),
            (200, Act::Close(Gate::Subscribers)),
            (200, Act::Open(Gate::Subscribers)),
            (300, Act::Do(Command::Stop)),
        ],
        |_, _| (),
        "
        0 gen 0 held 1000
        0 clock 1000
        0 gen 0 rolls 1000 ×1
        0 clock 1000
        0 msg 1000
        100 clock 1100
        300 gen 0 held 1300",
    );
}

#[test]
fn a_handle_closes_and_opens_each_gate_by_itself() {
    let player = Player::new();
    let gates = player.gates();
    gates.close(Gate::Path);
    gates.close(Gate::Answer);
    gates.close(Gate::Path);
    gates.open(Gate::Subscribers);
    let both = Gates::OPEN.close(Gate::Path).close(Gate::Answer);
    assert_eq!(gates.closed(), both);
    // What was closed before the start stays closed, besides what the options close.
    let source = Source::new(NAMES, |_| Cue::from_items([]));
    let transport = player.transport();
    let start = Options {
        gates: Gates::OPEN.close(Gate::Subscribers),
        ..quiet()
    };
    let running = player.start(start, source, bagplay::output::Null).unwrap();
    let status = transport.ask(Command::Query).unwrap().status;
    assert_eq!(status.gates, both.close(Gate::Subscribers));
    assert_eq!(status.state, State::Gated);
    transport.send(Command::Stop).unwrap();
    running.join().unwrap();
}

/// Closes these gates when a message of this time is taken.
fn leave_with(ms: i64, closed: &'static [Gate]) -> impl FnMut(&Event, &GateHandle) {
    move |event, gates| {
        if matches!(event, Event::Message(_, time, _) if *time == ros(ms)) {
            for gate in closed {
                gates.close(*gate);
            }
        }
    }
}

/// A subscriber that has got the last message may leave before the player looks whether anything follows.
#[test]
fn a_subscriber_that_leaves_with_the_last_message_does_not_hold_the_end() {
    let unpaced = Options {
        pace: Pace::Max,
        ..quiet()
    };
    let without_gaps = Options {
        skip_empty: Some(span(50)),
        ..quiet()
    };
    let reverse = Options {
        pace: Pace::At(Speed::from_f64(-1.0).unwrap()),
        ..quiet()
    };
    for (options, last) in [
        (quiet(), 2000),
        (unpaced.clone(), 2000),
        // Without a schedule, or without gaps, what is after the last message takes no time.
        (unpaced, 1900),
        (without_gaps, 1900),
        (reverse, 1000),
    ] {
        for (when_done, state) in [
            (WhenDone::Stop, State::Stopped),
            (WhenDone::Stay, State::Ended),
        ] {
            let options = Options {
                when_done,
                ..options.clone()
            };
            let source = move |at| Cue::from_items(cue(&messages(&[last, 1500]), at));
            let leaves = leave_with(last, &[Gate::Subscribers]);
            let (transcript, machine) = run_acts(options, source, &[], leaves);
            assert_eq!(machine.state(), state, "{transcript}");
            assert!(machine.report().reached_end);
            assert_eq!(machine.report().sent, 2);
        }
    }
}

/// Missing subscribers hold playback if time, a message of the same time, a step of the clock, a lap or everything is
/// left. Behind another gate the end waits as well.
#[test]
fn a_subscriber_that_is_missing_holds_what_it_would_miss() {
    const SUBSCRIBERS: &[Gate] = &[Gate::Subscribers];
    let range = TimeRange::between(ros(1000), ros(1900));
    let lap = Options {
        played: PlayedRange::new(range, AtEnd::Loop),
        ..quiet()
    };
    let never_there = Options {
        gates: Gates::OPEN.close(Gate::Subscribers),
        ..quiet()
    };
    let to_its_end = Options {
        played: PlayedRange::new(range, AtEnd::Hold),
        ..quiet()
    };
    let stepped_clock = Options {
        pace: Pace::Max,
        clock: ClockOptions {
            steps: vec![span(50)],
            ..ClockOptions::default()
        },
        ..quiet()
    };
    let no_path: &[Gate] = &[Gate::Subscribers, Gate::Path];
    let seek = [(10, Act::Do(Command::Seek(ros(2000))))];
    for (options, first, closed, script) in [
        (quiet(), 1500, SUBSCRIBERS, &[][..]),
        (to_its_end.clone(), 1900, SUBSCRIBERS, &[]),
        (to_its_end, 1500, no_path, &[]),
        (stepped_clock, 1500, SUBSCRIBERS, &[]),
        (lap, 1500, SUBSCRIBERS, &[]),
        (never_there, 1500, SUBSCRIBERS, &seek),
    ] {
        let source = move |at| Cue::from_items(cue(&messages(&[first, 1900]), at));
        let (transcript, machine) = run_acts(options, source, script, leave_with(1900, closed));
        assert_eq!(machine.state(), State::Gated, "{transcript}");
        let report = machine.report();
        assert_eq!((report.reached_end, report.laps), (false, 0));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever the pace, the commands and the lateness: between a message that waits and its answer no message
    /// goes out, and the clock does not pass it.
    #[test]
    fn nothing_passes_a_message_that_waits(
        times in proptest::collection::vec(1000..2000_i64, 1..20),
        waits in proptest::collection::vec(any::<bool>(), 20),
        answers in proptest::collection::vec(0..3000_i64, 1..30),
        commands in proptest::collection::vec((0..3000_i64, prop_oneof![
            Just(Command::Pause),
            Just(Command::Play),
            Just(Command::Step(3)),
            Just(Command::SetPace(Pace::Max)),
            Just(Command::SetPace(Pace::At(Speed::NORMAL))),
        ]), 0..8),
    ) {
        let mut times = times;
        times.sort_unstable();
        let mut script: Vec<(i64, Act)> = answers.into_iter().map(|at| (at, Act::Open(Gate::Answer))).collect();
        script.extend(commands.into_iter().map(|(at, command)| (at, Act::Do(command))));
        script.sort_by_key(|(at, _)| *at);
        let all = messages(&times);
        let served = Options {
            clock: ClockOptions { before: Before::All, period: Some(span(30)), ..ClockOptions::default() },
            ..quiet()
        };
        let mut waits = waits.into_iter().cycle();
        let mut waiting: Option<Time<Ros>> = None;
        run_acts(served, move |at| Cue::from_items(cue(&all, at)), &script, |event, gates| {
            let is_closed = gates.closed().is_closed(Gate::Answer);
            match event {
                Event::Message(_, time, _) => {
                    assert!(!is_closed, "{time} overtakes {waiting:?}");
                    if waits.next() == Some(true) {
                        gates.close(Gate::Answer);
                        waiting = Some(*time);
                    }
                }
                Event::Clock(time) if is_closed => assert!(Some(*time) <= waiting),
                Event::Segment(segment) if is_closed => {
                    assert!(!segment.is_rolling() && Some(segment.position(wall(9000))) <= waiting);
                }
                Event::Clock(_) | Event::Segment(_) | Event::ServeClock(_) => {}
            }
        });
    }
}

/// An output that waits for the answer to every third message, which another thread gives.
struct Asking {
    gates: GateHandle,
    questions: crossbeam_channel::Sender<()>,
    unanswered: Arc<Mutex<Option<Time<Ros>>>>,
    sent: usize,
}

impl Asking {
    fn check(&self, what: &str, time: Time<Ros>) {
        let unanswered = *self.unanswered.lock().unwrap();
        let passes = match (what, unanswered) {
            (_, None) => false,
            ("clock", Some(waiting)) => time > waiting,
            (_, Some(_)) => true,
        };
        assert!(!passes, "{what} {time} passes {unanswered:?}");
    }
}

impl Output for Asking {
    fn segment(&mut self, _: &Segment) {}

    fn clock(&mut self, time: Time<Ros>) {
        self.check("clock", time);
    }

    fn serve_clock(&mut self, period: Option<Duration>) -> bool {
        period.is_some()
    }

    fn message(&mut self, message: &Message, _: Occasion) -> Delivery {
        self.check("message", message.log_time);
        self.sent += 1;
        if self.sent.is_multiple_of(3) {
            *self.unanswered.lock().unwrap() = Some(message.log_time);
            self.gates.close(Gate::Answer);
            self.questions.send(()).unwrap();
        }
        Delivery::Sent
    }

    fn finish(&mut self) {}
}

#[test]
fn nothing_overtakes_a_message_that_another_thread_answers() {
    // A message every 20 µs of the recording.
    let all: Vec<Message> = messages(&vec![0; 900])
        .into_iter()
        .zip(0..)
        .map(|(message, n)| {
            let mut message = message;
            message.key.time = Time::from_nanos(20_000 * n);
            message.log_time = message.key.time;
            message
        })
        .collect();
    for (pace, intent) in [
        (Pace::Max, Intent::Play),
        (Pace::At(Speed::NORMAL), Intent::Play),
        (Pace::At(Speed::NORMAL), Intent::Pause),
    ] {
        let player = Player::new();
        let transport = player.transport();
        let (questions, asked) = crossbeam_channel::bounded(1);
        let out = Asking {
            gates: player.gates(),
            questions,
            unanswered: Arc::default(),
            sent: 0,
        };
        let (unanswered, gates) = (Arc::clone(&out.unanswered), player.gates());
        let answering = thread::spawn(move || {
            for () in asked {
                *unanswered.lock().unwrap() = None;
                gates.open(Gate::Answer);
            }
        });
        let options = Options {
            pace,
            intent,
            clock: ClockOptions {
                period: Some(bagplay::time::Duration::from_micros(50)),
                before: Before::Topics(vec![TopicId(0)]),
                ..ClockOptions::default()
            },
            ..Options::new(TimeRange::between(Time::ZERO, ros(18)))
        };
        let walked = all.clone();
        let source = Source::new(NAMES, move |at| Cue::from_items(cue(&walked, at)));
        let running = player.start(options, source, out).unwrap();
        if intent == Intent::Pause {
            let answer = transport.ask(Command::Step(900)).unwrap();
            let all = Outcome::Stepped {
                sent: 900,
                short: None,
            };
            assert_eq!(answer.outcome, all);
            transport.send(Command::Stop).unwrap();
        }
        let done = running.done().recv_timeout(PATIENCE);
        assert_eq!(done, Err(crossbeam_channel::RecvTimeoutError::Disconnected));
        let (report, out) = running.join().unwrap();
        assert_eq!(report.sent, 900);
        drop(out);
        answering.join().unwrap();
    }
}

#[test]
fn a_burst_is_answered_when_its_last_message_has_been_sent() {
    let paused = Options {
        intent: Intent::Pause,
        when_done: WhenDone::Stay,
        ..quiet()
    };
    let all = messages(&[1000, 1100, 1200]);
    let source = Source::new(NAMES, move |at| Cue::from_items(cue(&all, at)));
    let mut machine = bagplay::player::Machine::new(paused, source);
    let gates = machine.gates();
    machine.ask(Command::Step(2), Ticket(1), wall(0));
    let mut closes = waits_for(&[1000]);
    let mut out = bagplay::output::Recording(|event| closes(&event, &gates));
    for _ in 0..20 {
        machine.advance(wall(0), &mut out);
    }
    assert_eq!(machine.answer(), None);
    machine.gates().open(Gate::Answer);
    for _ in 0..20 {
        machine.advance(wall(1), &mut out);
    }
    let both = Outcome::Stepped {
        sent: 2,
        short: None,
    };
    assert_eq!(machine.answer(), Some((Ticket(1), both)));
}
