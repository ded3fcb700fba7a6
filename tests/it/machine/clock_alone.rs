//! A player without messages: a clock server without a recording.

use bagplay::bag::TopicId;
use bagplay::output::{Event, Null, Recording};
use bagplay::player::{
    ClockOptions, Command, Control, Machine, Options, Outcome, Pace, Refusal, Source, State,
    Ticket, Wait, WhenDone,
};
use bagplay::time::{AtEnd, Segment, Speed, TimeRange};

use crate::machine::transcript::{line, pace, ros, settle, span, wall};

/// A clock that can show 1 ms to 10,000 ms, begins at 5,000 ms and ticks every 100 ms.
fn options() -> Options {
    Options {
        start: Some(ros(5000)),
        when_done: WhenDone::Stay,
        clock: ClockOptions {
            period: Some(span(100)),
            ..ClockOptions::default()
        },
        ..Options::new(TimeRange::between(ros(1), ros(10_000)))
    }
}

/// Calls the machine at every instant that it asks for, until `end`: what it shows, in milliseconds.
fn shown(machine: &mut Machine, begin: i64, end: i64) -> Vec<String> {
    let (mut now, mut shown) = (wall(begin), Vec::new());
    while now <= wall(end) {
        let wait = machine.advance(
            now,
            &mut Recording(|event| {
                if matches!(event, Event::Clock(_)) {
                    shown.push(line(&event));
                }
            }),
        );
        match wait {
            Wait::Now => {}
            Wait::Until(next) => now = next,
            _ => break,
        }
    }
    shown
}

fn outcome(machine: &mut Machine, command: Command, now: i64) -> Outcome {
    machine.ask(command, Ticket(1), wall(now));
    settle(machine, wall(now));
    let (_, outcome) = machine.answer().expect("an answer");
    outcome
}

#[test]
fn a_clock_begins_where_it_is_told_to_and_runs_both_ways_from_there() {
    let mut machine = Machine::new(options(), Source::empty());
    assert_eq!(
        shown(&mut machine, 0, 299),
        ["clock 5000", "clock 5100", "clock 5200"]
    );
    // Backwards past its start: that is no edge.
    assert_eq!(outcome(&mut machine, pace(-10.0), 300), Outcome::Done);
    assert_eq!(shown(&mut machine, 301, 599), ["clock 4300", "clock 3300"]);
    assert_eq!(outcome(&mut machine, Command::Pause, 600), Outcome::Done);
    assert_eq!(
        shown(&mut machine, 601, 899),
        ["clock 2300", "clock 2300"],
        "held, and still published"
    );
    assert_eq!(
        outcome(&mut machine, Command::Seek(ros(9000)), 900),
        Outcome::Landed(ros(9000))
    );
    assert_eq!(machine.state(), State::Paused);
    assert_eq!(machine.report().sent, 0);
}

#[test]
fn backwards_it_begins_at_its_start_too() {
    let reverse = Options {
        pace: Pace::At(Speed::NORMAL.reversed()),
        ..options()
    };
    let mut machine = Machine::new(reverse, Source::empty());
    assert_eq!(shown(&mut machine, 0, 199), ["clock 5000", "clock 4900"]);
}

/// The edges are the first and last time that `/clock` can show.
#[test]
fn at_an_edge_it_stands_and_is_published_until_it_starts_again() {
    let mut machine = Machine::new(options(), Source::empty());
    shown(&mut machine, 0, 100);
    outcome(&mut machine, pace(1000.0), 110);
    let edge = shown(&mut machine, 111, 399);
    assert_eq!(machine.state(), State::Ended);
    assert_eq!(edge.last().unwrap(), "clock 10000");
    assert!(edge.len() >= 3, "{edge:?}");
    assert_eq!(outcome(&mut machine, pace(1.0), 400), Outcome::Done);
    assert_eq!(outcome(&mut machine, Command::Play, 400), Outcome::Done);
    assert_eq!(machine.state(), State::Playing);
    assert_eq!(machine.status().segment.position(wall(400)), ros(5000));
}

#[test]
fn what_needs_messages_changes_nothing() {
    let mut machine = Machine::new(options(), Source::empty());
    settle(&mut machine, wall(0));
    let refused = Outcome::Refused(Refusal::NoMessages);
    let max = Command::SetPace(Pace::Max);
    assert_eq!(outcome(&mut machine, max, 0), refused);
    let position = |machine: &Machine| machine.status().segment.position(wall(50));
    assert_eq!(position(&machine), ros(5050));
    let position_later = |machine: &Machine| machine.status().segment.position(wall(70));
    for command in [
        Command::Step(3),
        Command::Step(-3),
        Command::Burst(2),
        Command::StepTopic(TopicId(0), 1),
    ] {
        assert_eq!(outcome(&mut machine, command, 50), refused, "{command:?}");
        assert_eq!(position(&machine), ros(5050));
        assert_eq!(position_later(&machine), ros(5070), "it goes on");
    }
}

/// The clock of the machine that a player follows.
fn lead(ms: i64, now: i64) -> Segment {
    let range = TimeRange::between(ros(1), ros(10_000));
    let segment = Segment::new(range, Speed::NORMAL, AtEnd::Hold);
    segment.seek(ros(ms)).roll(wall(now))
}

#[test]
fn a_clock_of_the_machine_is_shown_as_it_is_and_refuses_to_be_driven() {
    let machine_time = Options {
        pace: Pace::Follow,
        control: Control::StopOnly,
        ..options()
    };
    let mut machine = Machine::new(machine_time, Source::empty());
    let mut followed = lead(7000, 0);
    machine.lead().set(followed);
    assert_eq!(shown(&mut machine, 0, 199), ["clock 7000", "clock 7100"]);
    for command in [
        Command::Pause,
        Command::Play,
        Command::Toggle,
        Command::Seek(ros(1)),
        Command::SeekBy(span(1)),
        Command::Step(1),
        Command::PlayUntil(ros(8000)),
        Command::PlayFor(span(1)),
        Command::SetAtEnd(AtEnd::Loop),
        Command::SetRange(TimeRange::between(ros(1), ros(2)), None),
        pace(2.0),
    ] {
        let refused = Outcome::Refused(Refusal::NotDrivable);
        assert_eq!(outcome(&mut machine, command, 200), refused, "{command:?}");
    }
    assert_eq!(machine.state(), State::Playing);
    // The date is set back by 1,450 ms.
    followed = followed.seek(ros(5800)).roll(wall(250));
    machine.lead().set(followed);
    assert_eq!(shown(&mut machine, 250, 399), ["clock 5800", "clock 5850"]);
    assert_eq!(outcome(&mut machine, Command::Query, 399), Outcome::Done);
    machine.apply(Command::Stop, wall(400));
    assert_eq!(machine.advance(wall(400), &mut Null), Wait::Over);
}
