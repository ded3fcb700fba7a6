//! What commands change beside the motion of playback: the clock that is served, and the gaps that are skipped.

use bagplay::bag::Message;
use bagplay::output::{Delivery, Occasion, Output};
use bagplay::player::{
    Before, ClockMode, ClockOptions, Command, Intent, Options, Outcome, Refusal, Ticket, WhenDone,
};
use bagplay::time::{Duration, Ros, Segment, Time};

use crate::machine::transcript::{
    check, messages, options, playing, quiet, ros, settle, span, wall,
};

#[test]
fn the_clock_begins_changes_its_rate_and_ends_while_playing() {
    let machine = check(
        quiet(),
        &[1000, 1500],
        &[
            (130, Command::ServeClock(span(100))),
            (350, Command::ServeClock(span(200))),
            (400, Command::ServeClock(span(200))),
            (600, Command::EndClock),
            (700, Command::Stop),
        ],
        "
        0 gen 0 held 1000
        0 gen 0 rolls 1000 ×1
        0 msg 1000
        130 clock each 0.1s
        130 clock 1130
        230 clock 1230
        330 clock 1330
        350 clock each 0.2s
        350 clock 1350
        500 msg 1500
        550 clock 1550
        600 no clock
        700 gen 0 held 1700",
    );
    assert_eq!(machine.status().clock, ClockMode::Off);
}

#[test]
fn the_clock_begins_at_once_while_paused_and_is_sent_until_it_ends() {
    check(
        Options {
            intent: Intent::Pause,
            ..quiet()
        },
        &[1000],
        &[
            (50, Command::ServeClock(span(100))),
            (270, Command::EndClock),
            (900, Command::Stop),
        ],
        "
        0 gen 0 held 1000
        50 clock each 0.1s
        50 clock 1000
        150 clock 1000
        250 clock 1000
        270 no clock",
    );
}

/// A busy player finds several commands at once.
#[test]
fn a_clock_that_is_ended_with_the_run_is_off_in_its_last_status() {
    let clock = ClockOptions {
        period: Some(span(100)),
        ..ClockOptions::default()
    };
    let options = Options { clock, ..quiet() };
    let mut machine = playing(options, messages(&[1000, 1900]));
    settle(&mut machine, wall(0));
    machine.ask(Command::EndClock, Ticket(1), wall(10));
    machine.apply(Command::Stop, wall(10));
    settle(&mut machine, wall(10));
    assert_eq!(machine.answer(), Some((Ticket(1), Outcome::Done)));
    assert_eq!(machine.status().clock, ClockMode::Off);
    // A clock that begins is not served for the end alone.
    let mut machine = playing(quiet(), messages(&[1000, 1900]));
    settle(&mut machine, wall(0));
    machine.apply(Command::ServeClock(span(50)), wall(10));
    machine.apply(Command::Stop, wall(10));
    let (seen, _) = settle(&mut machine, wall(10));
    assert!(seen.iter().all(|line| !line.contains("clock")), "{seen:?}");
}

/// An output that cannot serve a clock.
#[derive(Default)]
struct Clockless(Vec<Option<Duration>>);

impl Output for Clockless {
    fn segment(&mut self, _: &Segment) {}
    fn clock(&mut self, time: Time<Ros>) {
        panic!("{time} on a clock that is not served");
    }
    fn serve_clock(&mut self, period: Option<Duration>) -> bool {
        self.0.push(period);
        false
    }
    fn message(&mut self, _: &Message, _: Occasion) -> Delivery {
        Delivery::Sent
    }
    fn finish(&mut self) {}
}

#[test]
fn a_clock_that_the_output_cannot_serve_stays_off() {
    let mut machine = playing(quiet(), messages(&[1000, 1900]));
    let mut out = Clockless::default();
    machine.advance(wall(0), &mut out);
    machine.apply(Command::ServeClock(span(100)), wall(10));
    for now in [10, 110, 210] {
        machine.advance(wall(now), &mut out);
    }
    assert_eq!(out.0, [Some(span(100))]);
    assert_eq!(machine.status().clock, ClockMode::Off);
}

#[test]
fn a_clock_that_is_sent_with_messages_cannot_be_changed() {
    let with_messages = |period| ClockOptions {
        period,
        before: Before::All,
        ..ClockOptions::default()
    };
    let steps = ClockOptions {
        steps: vec![span(20)],
        ..ClockOptions::default()
    };
    for clock in [with_messages(None), with_messages(Some(span(100))), steps] {
        let mode = clock.mode();
        let options = Options { clock, ..options() };
        let mut machine = playing(options, messages(&[1000, 1900]));
        settle(&mut machine, wall(0));
        for command in [Command::ServeClock(span(50)), Command::EndClock] {
            machine.ask(command, Ticket(1), wall(1));
            let refused = Outcome::Refused(Refusal::ClockWithMessages);
            assert_eq!(machine.answer(), Some((Ticket(1), refused)));
        }
        assert_eq!(machine.status().clock, mode);
        assert!(matches!(mode, ClockMode::WithMessages(_)));
    }
}

/// The first gap is played up to the command, which skips the rest of it.
#[test]
fn gaps_are_skipped_from_a_command_until_another() {
    let machine = check(
        Options {
            when_done: WhenDone::Stop,
            ..quiet()
        },
        &[1000, 1600, 1750, 1990],
        &[
            (100, Command::SkipEmpty(Some(span(200)))),
            (110, Command::SkipEmpty(None)),
        ],
        "
        0 gen 0 held 1000
        0 gen 0 rolls 1000 ×1
        0 msg 1000
        100 gen 1 held 1600
        100 gen 1 rolls 1600 ×1
        100 msg 1600
        250 msg 1750
        490 msg 1990
        500 gen 1 held 2000",
    );
    assert_eq!(machine.status().skip_empty, None);
    let mut machine = playing(quiet(), messages(&[1000]));
    machine.apply(Command::SkipEmpty(Some(span(200))), wall(0));
    assert_eq!(machine.status().skip_empty, Some(span(200)));
    assert_eq!(machine.status().segment.position(wall(0)), ros(1000));
}
