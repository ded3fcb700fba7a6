//! Messages without a schedule: [`Machine::send_on`] does what [`Machine::advance`] would do next.

use bagplay::bag::TopicId;
use bagplay::output::{Event, Recording};
use bagplay::player::{
    Before, ClockOptions, Command, Gate, Intent, Machine, Options, Pace, Status, Wait, WhenDone,
};
use bagplay::time::{AtEnd, Ros, Speed, Steady, Time};
use proptest::prelude::*;

use super::transcript::{Act, line, messages, options, pace, playing, quiet, ros, span, wall};

/// A lap without a schedule takes no time, so a loop never waits.
const MOST_EFFECTS: usize = 300;

/// What a machine did in a script, and its status at the end. `burst`: how many messages it may send after each
/// `advance`.
fn effects(mut machine: Machine, script: &[(i64, Act)], burst: usize) -> (Vec<String>, Status) {
    let mut seen = Vec::new();
    let mut script = script.iter().peekable();
    let mut now: Time<Steady> = wall(0);
    while seen.len() < MOST_EFFECTS {
        while let Some((_, act)) = script.next_if(|(at, _)| wall(*at) <= now) {
            act.on(&mut machine, now);
        }
        let mut out = Recording(|event| seen.push(line(&event)));
        let wait = machine.advance(now, &mut out);
        let mut asked = 0..burst;
        if wait == Wait::Now {
            machine.send_on(now, &mut out, || asked.next().is_some());
        }
        let next = script.peek().map(|(at, _)| wall(*at));
        now = match (wait, next) {
            (Wait::Now, _) => now,
            (Wait::Until(deadline), Some(next)) => deadline.min(next.max(now)),
            (Wait::Until(deadline), None) if deadline <= wall(9000) => deadline,
            (_, Some(next)) => next.max(now),
            (_, None) => break,
        };
    }
    let status = machine.status();
    (seen, status)
}

fn acts() -> impl Strategy<Value = Act> {
    let topic = TopicId(0);
    let max = Just(Command::SetPace(Pace::Max));
    let commands = prop_oneof![
        4 => max,
        2 => Just(Command::Play),
        1 => Just(Command::Pause),
        1 => Just(pace(3.0)),
        1 => Just(pace(-1.0)),
        1 => (-3..4_i64).prop_map(Command::Step),
        1 => (900..2100_i64).prop_map(|ms| Command::PlayUntil(ros(ms))),
        2 => (900..2100_i64).prop_map(|ms| Command::Seek(ros(ms))),
        1 => any::<bool>().prop_map(move |is_muted| if is_muted { Command::Mute(topic) } else { Command::Unmute(topic) }),
        1 => Just(Command::SetAtEnd(AtEnd::Loop)),
    ];
    prop_oneof![
        6 => commands.prop_map(Act::Do),
        1 => Just(Act::Close(Gate::Path)),
        1 => Just(Act::Open(Gate::Path)),
    ]
}

/// Runs with and without a clock, with skipped gaps, refills and steps of the clock.
fn runs() -> impl Strategy<Value = Options> {
    let flags = any::<[bool; 6]>();
    flags.prop_map(|[ticks, before, steps, skips, refill, is_reverse]| {
        let speed = if is_reverse { -1.0 } else { 1.0 };
        Options {
            clock: ClockOptions {
                period: ticks.then(|| span(70)),
                before: if before {
                    Before::All
                } else {
                    Before::default()
                },
                steps: steps.then(|| span(130)).into_iter().collect(),
                ..ClockOptions::default()
            },
            skip_empty: skips.then(|| span(200)),
            when_done: WhenDone::Stay,
            pace: Pace::At(Speed::from_f64(speed).unwrap()),
            refill,
            ..options()
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_burst_has_the_effects_of_single_advances(
        times in proptest::collection::vec(1000..2000_i64, 1..40),
        options in runs(),
        script in proptest::collection::vec((0..1500_i64, acts()), 1..10),
        burst in 1..40_usize,
    ) {
        let mut script = script;
        script.sort_by_key(|(at, _)| *at);
        let machine = || playing(options.clone(), messages(&times));
        let (singly, status) = effects(machine(), &script, 0);
        let (in_bursts, status_after_bursts) = effects(machine(), &script, burst);
        let compared = singly.len().min(in_bursts.len());
        prop_assert_eq!(&singly[..compared], &in_bursts[..compared]);
        if compared < MOST_EFFECTS {
            prop_assert_eq!(singly.len(), in_bursts.len());
            prop_assert_eq!(status, status_after_bursts);
        }
    }
}

/// Allows one message.
fn once() -> impl FnMut() -> bool {
    let mut allowed = true;
    move || std::mem::take(&mut allowed)
}

#[test]
fn a_burst_ends_at_a_gate_that_the_output_closes() {
    let unpaced = Options {
        pace: Pace::Max,
        intent: Intent::Play,
        ..quiet()
    };
    let mut machine = playing(unpaced, messages(&[1000, 1100, 1200, 1300]));
    let gates = machine.gates().clone();
    let mut sent: Vec<Time<Ros>> = Vec::new();
    let mut out = Recording(|event| {
        if let Event::Message(_, time, _) = event {
            sent.push(time);
            if time == ros(1200) {
                gates.close(Gate::Answer);
            }
        }
    });
    while machine.report().sent == 0 {
        machine.advance(wall(0), &mut out);
    }
    let second = machine.send_on(wall(0), &mut out, once());
    assert_eq!(second, 1, "as many as it may send");
    let third = machine.send_on(wall(0), &mut out, || true);
    assert_eq!(third, 1, "until the gate closes");
    let held = machine.send_on(wall(0), &mut out, || true);
    assert_eq!(held, 0, "held by the gate");
    assert_eq!(machine.advance(wall(0), &mut out), Wait::ForGate);
    assert_eq!(sent, [ros(1000), ros(1100), ros(1200)]);
}

#[test]
fn nothing_is_sent_on_at_a_rate() {
    let mut machine = playing(quiet(), messages(&[1000, 1000, 1000]));
    let mut out = Recording(|_| ());
    while machine.report().sent == 0 {
        machine.advance(wall(0), &mut out);
    }
    assert_eq!(machine.send_on(wall(0), &mut out, || true), 0);
}

/// A thread that was woken late sends all that is due by then before it waits again.
#[test]
fn everything_that_is_due_is_sent_in_one_wake_up() {
    let mut machine = playing(quiet(), messages(&[1000, 1000, 1001, 1003, 1010, 1020]));
    let mut sent = Vec::new();
    let mut out = Recording(|event| {
        if let Event::Message(_, log_time, _) = event {
            sent.push(log_time);
        }
    });
    let mut wake = |now| loop {
        match machine.advance(now, &mut out) {
            Wait::Now => {}
            wait => break wait,
        }
    };
    // Playback begins; of the other messages none is due yet.
    assert_eq!(wake(wall(0)), Wait::Until(wall(1)));
    assert_eq!(wake(wall(3)), Wait::Until(wall(10)));
    assert_eq!(wake(wall(25)), Wait::Until(wall(1000)));
    let all = [1000, 1000, 1001, 1003, 1010, 1020];
    assert_eq!(sent, all.map(ros));
}
