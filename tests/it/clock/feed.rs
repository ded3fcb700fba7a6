//! What a program feeds by hand and what the clocks then tell: their pace, complaints; sources that are chosen at run
//! time.

use bagplay::clock::{
    Clock, ClockPace, ClockState, Complaint, Extrapolation, Fallback, MachineSource, NoSource,
    SimTime, TestClock, TimeSource,
};
use bagplay::time::{Duration, Speed};

use super::support::{at, ns};

#[test]
fn a_source_is_fed_by_hand() {
    let test = TestClock::new(at(1));
    let (sim, feed) = SimTime::fed_on_test_clock(&test);
    let clock = sim.clock();
    feed.time(at(3)); // ignored: sim time is off
    sim.enable().unwrap();
    assert!(!clock.started());
    feed.time(at(5));
    assert_eq!(clock.now(), at(5));
    feed.publishers(2);
    assert_eq!(sim.complaints(), [Complaint::SeveralPublishers]);
    sim.replace_source(NoSource).unwrap();
    feed.time(at(6)); // ignored: the source was replaced
    assert!(!clock.started());
}

#[test]
fn a_boxed_source_is_a_source() {
    let (fed, _feed) = SimTime::fed();
    for source in [MachineSource::System, MachineSource::Steady] {
        let source: Box<dyn TimeSource> = Box::new(source);
        let sim = SimTime::new(source);
        sim.enable().unwrap();
        assert!(sim.clock().started());
    }
    fed.replace_source(Box::new(MachineSource::Steady) as Box<dyn TimeSource>)
        .unwrap();
    fed.enable().unwrap();
    assert!(fed.clock().started());
}

#[test]
fn pace_is_that_of_the_last_value_of_the_source() {
    let test = TestClock::new(at(1));
    let (sim, feed) = SimTime::fed_on_test_clock(&test);
    let clock: Clock = sim.clock();
    let how = Extrapolation::for_at_most(Duration::MAX);
    let double = Speed::from_f64(2.0).unwrap();
    assert_eq!(clock.pace(), ClockPace::Machine);
    sim.enable().unwrap();
    assert_eq!(clock.pace(), ClockPace::NotStarted);
    feed.time(at(5));
    assert_eq!(clock.pace(), ClockPace::Unknown);
    feed.state(ClockState::new(at(6), Some(double)), how);
    assert_eq!(clock.pace(), ClockPace::At(double));
    feed.state(ClockState::new(at(7), None), how);
    assert_eq!((clock.pace(), clock.now()), (ClockPace::Paused, at(7)));
    feed.time(at(8));
    assert_eq!(clock.pace(), ClockPace::Unknown);
    sim.disable();
    assert_eq!(clock.pace(), ClockPace::Machine);
    let machine = sim.clock_with(Fallback::Machine);
    sim.replace_source(NoSource).unwrap();
    sim.enable().unwrap();
    assert_eq!(machine.pace(), ClockPace::NotStarted);
}

/// One old state may have been delayed on its way; several in a row mean that the system clocks differ.
#[test]
fn three_states_in_a_row_that_are_too_old_are_a_complaint() {
    let test = TestClock::new(at(1));
    let (sim, feed) = SimTime::fed_on_test_clock(&test);
    let clock = sim.clock();
    sim.enable().unwrap();
    let how = Extrapolation::for_at_most(ns(100));
    let feed_state = |time, age: i64, speed| {
        let state = ClockState {
            sent: Some(test.system().now() - ns(age)),
            ..ClockState::new(at(time), speed)
        };
        feed.state(state, how);
    };
    let runs = Some(Speed::NORMAL);
    for round in 0..5 {
        feed_state(10 + 2 * round, 101, runs);
        feed_state(11 + 2 * round, 100, runs);
        feed_state(12 + 2 * round, 101, None);
    }
    assert_eq!(sim.complaints(), []);
    for time in 30..33 {
        assert_eq!(sim.complaints(), []);
        feed_state(time, 101, runs);
    }
    assert_eq!(sim.complaints(), [Complaint::Stale]);
    test.pass(ns(50));
    assert_eq!(clock.now(), at(32));
    // Complaints are those of the current source.
    sim.replace_source(NoSource).unwrap();
    assert_eq!(sim.complaints(), []);
}

#[test]
fn messages_that_a_source_cannot_read_are_counted() {
    let (sim, feed) = SimTime::fed();
    assert_eq!((sim.malformed(), sim.complaints()), (0, vec![]));
    feed.malformed();
    feed.malformed();
    let complaints = sim.complaints();
    assert_eq!(
        (sim.malformed(), complaints),
        (2, vec![Complaint::Malformed])
    );
    sim.replace_source(NoSource).unwrap();
    feed.malformed(); // ignored: the source was replaced
    assert_eq!((sim.malformed(), sim.complaints()), (0, vec![]));
}
