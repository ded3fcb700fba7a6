//! Ends of ranges and rare values: periods of zero, the last instant, rates with a period below a nanosecond, a source
//! that is disabled and enabled again.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bagplay::clock::{
    Clock, ClockState, Extrapolation, InvalidPeriod, MissedTicks, Rate, SimTime, TestClock,
    TimerOptions, Timers,
};
use bagplay::time::{Duration, Ros, Speed, Time};

use super::support::{at, ns};

/// A counter twice: for a callback, and for the test.
fn counter() -> (Arc<AtomicUsize>, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    (Arc::clone(&count), count)
}

/// Such a timer is due at every instant, so its next deadline is no step of `drive`.
#[test]
fn a_timer_with_a_period_of_zero_is_served_after_each_step_of_a_drive() {
    let test = TestClock::new(at(1_000));
    let (counted, count) = counter();
    let (others, other) = counter();
    let mut timers = Timers::new(&test.ros());
    timers
        .add(Duration::ZERO, move |_, _| {
            counted.fetch_add(1, Ordering::Relaxed);
        })
        .unwrap();
    timers
        .add(Duration::from_secs(100), move |_, _| {
            others.fetch_add(1, Ordering::Relaxed);
        })
        .unwrap();
    test.drive(&mut timers, Duration::from_secs(350));
    assert_eq!(other.load(Ordering::Relaxed), 3);
    // Before the first step, after each of the three ticks of the other timer, and at the end.
    assert_eq!(count.load(Ordering::Relaxed), 5);
    assert_eq!(test.ros().now(), at(1_000) + Duration::from_secs(350));
}

/// A timer whose period became zero after it was made, and one that ticks once without delay.
#[test]
fn timers_with_a_period_of_zero_are_served_when_they_are_due() {
    let test = TestClock::new(at(1_000));
    let (counted, count) = counter();
    let mut timers = Timers::new(&test.ros());
    let timer = timers.add(ns(50), move |_, tick| {
        assert_eq!(
            (tick.actual - at(1_050)).as_nanos() % 100,
            0,
            "{}",
            tick.actual
        );
        counted.fetch_add(1, Ordering::Relaxed);
    });
    timer.unwrap().exchange_period(Duration::ZERO).unwrap();
    let (served, once) = counter();
    let delay = TimerOptions::once(Duration::ZERO);
    let once_now = move |_: &_, tick: bagplay::clock::Tick<Ros>| {
        served.fetch_add(1, Ordering::Relaxed);
        assert_eq!(tick.actual, at(1_000));
    };
    timers.add(delay, once_now).unwrap();
    test.drive(&mut timers, ns(150));
    assert_eq!(count.load(Ordering::Relaxed), 2);
    assert_eq!(once.load(Ordering::Relaxed), 1);
}

#[test]
fn drive_serves_all_ticks_that_were_missed_before() {
    let test = TestClock::new(at(1_000));
    let (counted, count) = counter();
    let mut timers = Timers::new(&test.ros());
    let burst = TimerOptions::new(ns(100)).missed(MissedTicks::Burst);
    timers
        .add(burst, move |_, _| {
            counted.fetch_add(1, Ordering::Relaxed);
        })
        .unwrap();
    test.advance(ns(1_000));
    test.drive(&mut timers, ns(100));
    assert_eq!(count.load(Ordering::Relaxed), 11);
}

#[test]
fn test_clocks_stop_at_the_end_of_the_range() {
    let test = TestClock::new(at(1));
    let (steady, system) = (test.steady(), test.system());
    for _ in 0..2 {
        test.pass(Duration::MAX);
        assert_eq!((steady.now(), system.now()), (Time::MAX, Time::MAX));
    }
    test.advance(Duration::MAX);
    test.advance(Duration::MAX);
    assert_eq!(steady.now(), Time::MAX);
    assert_eq!(test.ros().now(), Time::MAX);
}

#[test]
fn a_rate_without_a_valid_period_is_an_error_with_its_reason() {
    let clock = Clock::steady();
    let error = |hz| Rate::from_hz(&clock, hz).unwrap_err();
    for hz in [1e9 + 1.0, 2e9, 3e9, f64::MAX] {
        assert_eq!(error(hz), InvalidPeriod::TooFast(hz));
    }
    assert_eq!(
        error(3e9).to_string(),
        "a rate of 3000000000 Hz has a period of less than a nanosecond; 1e9 Hz is the highest"
    );
    for hz in [1e-10, 1e-300, f64::MIN_POSITIVE] {
        assert_eq!(error(hz), InvalidPeriod::TooSlow(hz));
    }
    for hz in [0.0, -0.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        assert!(matches!(error(hz), InvalidPeriod::NotARate(_)), "{hz}");
    }
    for (hz, period) in [(1e9, 1), (4e8, 3), (0.25, 4_000_000_000)] {
        assert_eq!(Rate::from_hz(&clock, hz).unwrap().period(), ns(period));
    }
}

/// The source may have paused while it was off, so its last state is not extrapolated.
#[test]
fn a_clock_that_is_switched_on_again_shows_the_last_time() {
    let test = TestClock::new(at(1));
    let (sim, feed) = SimTime::fed_on_test_clock(&test);
    let clock = sim.clock();
    sim.enable().unwrap();
    let how = Extrapolation::for_at_most(Duration::MAX);
    feed.state(ClockState::new(at(5_000), Some(Speed::NORMAL)), how);
    test.pass(ns(100));
    assert_eq!(clock.now(), at(5_100));
    sim.disable();
    let late = sim.clock();
    test.pass(ns(1_000_000));
    sim.enable().unwrap();
    for clock in [clock, late, sim.clock()] {
        assert_eq!(clock.now(), at(5_000));
        test.pass(ns(1));
        assert_eq!(clock.now(), at(5_000));
    }
}

#[test]
fn a_state_that_was_set_while_the_clock_was_inactive_is_extrapolated() {
    let test = TestClock::new(at(1));
    let (clock, writer) = test.another_ros(bagplay::clock::Fallback::Zero);
    let how = Extrapolation::for_at_most(Duration::MAX);
    writer.activate();
    writer.set_state(ClockState::new(at(5_000), Some(Speed::NORMAL)), how);
    writer.deactivate();
    test.pass(ns(100));
    writer.activate();
    assert_eq!(clock.now(), at(5_000));
    writer.deactivate();
    writer.set_state(ClockState::new(at(7_000), Some(Speed::NORMAL)), how);
    test.pass(ns(100));
    writer.activate();
    assert_eq!(clock.now(), at(7_100));
}
