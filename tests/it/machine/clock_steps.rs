//! The clock on a grid of log time: in order with the messages, at any pace.

use bagplay::bag::Cue;
use bagplay::output::Event;
use bagplay::player::{Before, ClockOptions, Command, Gate, GateHandle, Options, Pace, WhenDone};
use bagplay::time::{Duration, Speed, Time};
use proptest::prelude::*;

use crate::machine::transcript::{Act, check_acts, cue, messages, options, ros, run_acts, span};

/// From 1000 ms to 2000 ms, as fast as possible, with a clock every 250 ms of the log.
fn stepped() -> Options {
    Options {
        pace: Pace::Max,
        clock: ClockOptions {
            steps: vec![span(250)],
            ..ClockOptions::default()
        },
        ..options()
    }
}

fn nothing(_: &Event, _: &GateHandle) {}

#[test]
fn without_a_schedule_the_clock_goes_through_every_step_between_messages() {
    check_acts(
        stepped(),
        messages(&[1000, 1300, 1500, 1900]),
        &[],
        nothing,
        "
        0 gen 0 held 1000
        0 clock 1000
        0 msg 1000
        0 gen 0 held 1250
        0 clock 1250
        0 gen 0 held 1300
        0 msg 1300
        0 gen 0 held 1500
        0 clock 1500
        0 msg 1500
        0 gen 0 held 1750
        0 clock 1750
        0 gen 0 held 1900
        0 msg 1900
        0 clock 2000
        0 gen 0 held 2000",
    );
}

#[test]
fn a_step_at_the_time_of_a_message_is_its_clock() {
    let clock = ClockOptions {
        steps: vec![span(500)],
        before: Before::All,
        ..ClockOptions::default()
    };
    check_acts(
        Options { clock, ..stepped() },
        messages(&[1200, 1500, 1500]),
        &[],
        nothing,
        "
        0 gen 0 held 1000
        0 clock 1000
        0 gen 0 held 1200
        0 clock 1200
        0 msg 1200
        0 gen 0 held 1500
        0 clock 1500
        0 msg 1500
        0 msg 1500
        0 clock 2000
        0 gen 0 held 2000",
    );
}

#[test]
fn at_a_speed_each_step_has_its_instant() {
    check_acts(
        Options {
            pace: Pace::At(Speed::from_f64(2.0).unwrap()),
            ..stepped()
        },
        messages(&[1300]),
        &[],
        nothing,
        "
        0 gen 0 held 1000
        0 clock 1000
        0 gen 0 rolls 1000 ×2
        125 clock 1250
        150 msg 1300
        250 clock 1500
        375 clock 1750
        500 clock 2000
        500 gen 0 held 2000",
    );
}

#[test]
fn a_step_that_waits_for_an_answer_holds_playback_at_its_time() {
    for (pace, is_rolling) in [(Pace::Max, false), (Pace::At(Speed::NORMAL), true)] {
        let closes = |event: &Event, gates: &GateHandle| {
            if *event == Event::Clock(ros(1250)) {
                gates.close(Gate::Answer);
            }
        };
        let transcript = if is_rolling {
            "
            0 gen 0 held 1000
            0 clock 1000
            0 gen 0 rolls 1000 ×1
            250 clock 1250
            250 gen 0 held 1250
            900 gen 0 rolls 1250 ×1
            950 msg 1300
            1150 clock 1500
            1400 clock 1750
            1650 clock 2000
            1650 gen 0 held 2000"
        } else {
            "
            0 gen 0 held 1000
            0 clock 1000
            0 gen 0 held 1250
            0 clock 1250
            900 gen 0 held 1300
            900 msg 1300
            900 gen 0 held 1500
            900 clock 1500
            900 gen 0 held 1750
            900 clock 1750
            900 clock 2000
            900 gen 0 held 2000"
        };
        let options = Options { pace, ..stepped() };
        let script = [(900, Act::Open(Gate::Answer))];
        check_acts(options, messages(&[1300]), &script, closes, transcript);
    }
}

#[test]
fn after_a_jump_the_grid_is_the_same_and_in_reverse_it_is_gone_through_backwards() {
    let stays = Options {
        when_done: WhenDone::Stay,
        ..stepped()
    };
    check_acts(
        stays,
        messages(&[1100]),
        &[
            (100, Act::Do(Command::Seek(ros(1600)))),
            (
                200,
                Act::Do(Command::SetPace(Pace::At(
                    Speed::from_f64(-1000.0).unwrap(),
                ))),
            ),
            (300, Act::Do(Command::Stop)),
        ],
        nothing,
        "
        0 gen 0 held 1000
        0 clock 1000
        0 gen 0 held 1100
        0 msg 1100
        0 gen 0 held 1250
        0 clock 1250
        0 gen 0 held 1500
        0 clock 1500
        0 gen 0 held 1750
        0 clock 1750
        0 clock 2000
        0 gen 0 held 2000
        100 gen 1 held 1600
        100 clock 1600
        100 gen 1 held 1750
        100 clock 1750
        100 clock 2000
        100 gen 1 held 2000
        200 gen 2 held 2000
        200 clock 2000
        200 gen 2 rolls 2000 ×-1000
        200 clock 1750
        200 clock 1500
        200 clock 1250
        200 msg 1100
        201 clock 1000
        201 gen 2 held 1000",
    );
}

proptest! {
    /// Whatever the times of the messages: every step is shown once, in order, and none comes after a message that is
    /// later than it.
    #[test]
    fn every_step_is_shown_once_and_in_order(
        mut times in prop::collection::vec(1000..=2000_i64, 0..20),
        steps in prop::collection::vec(1..300_i64, 1..3),
        is_paced: bool,
        closes: bool,
    ) {
        // Closed gates are opened at each millisecond of the script.
        times.sort_unstable();
        let all = messages(&times);
        let source = move |at| Cue::from_items(cue(&all, at));
        let mut shown = Vec::new();
        let mut reached = Time::MIN;
        let clock = ClockOptions { steps: steps.iter().map(|step| Duration::from_millis(*step)).collect(), ..ClockOptions::default() };
        let pace = if is_paced { Pace::At(Speed::from_f64(1000.0).unwrap()) } else { Pace::Max };
        let opens: Vec<(i64, Act)> = (1..2000).map(|ms| (ms, Act::Open(Gate::Answer))).collect();
        run_acts(Options { pace, clock, ..options() }, source, &opens, |event, gates| {
            match event {
                Event::Clock(time) => {
                    assert!(*time >= reached, "{time} after {reached}");
                    reached = *time;
                    shown.push(*time);
                }
                Event::Message(_, time, _) => {
                    assert!(*time >= reached, "{time} after {reached}");
                    reached = *time;
                }
                Event::Segment(_) | Event::ServeClock(_) => return,
            }
            if closes {
                gates.close(Gate::Answer);
            }
        });
        let is_step = |ms: &i64| steps.iter().any(|step| (ms - 1000) % step == 0);
        let expected: Vec<_> = (1000..2000).filter(is_step).chain([2000]).map(ros).collect();
        prop_assert_eq!(shown, expected);
    }
}
