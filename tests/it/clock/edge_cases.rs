//! Ends of ranges and rare values: periods of zero, the last instant, rates beyond a nanosecond, a source that is
//! disabled and enabled again.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bagplay::clock::{
    Clock, ClockState, Extrapolation, Feed, InvalidPeriod, MissedTicks, Rate, SimTime, SourceError,
    TestClock, TimeSource, TimerOptions, Timers,
};
use bagplay::time::{Duration, Ros, Speed, Time};

fn ns(nanos: i64) -> Duration {
    Duration::from_nanos(nanos)
}

fn at(nanos: i64) -> Time<Ros> {
    Time::from_nanos(nanos)
}

/// A count and what a callback does with it.
fn counter() -> (Arc<AtomicUsize>, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    (Arc::clone(&count), count)
}

/// Such a timer is due at every instant, so there is no next one to drive to.
#[test]
fn a_timer_without_a_period_is_driven_from_one_stop_to_the_next() {
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
    // Before the first step, with each tick of the other one, and at the end.
    assert_eq!(count.load(Ordering::Relaxed), 5);
    assert_eq!(test.ros().now(), at(1_000) + Duration::from_secs(350));
}

/// Also one that lost its period after it was made, and one that ticks once without delay.
#[test]
fn other_timers_without_a_period_are_served_when_they_are_due() {
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
fn ticks_that_were_missed_before_a_drive_are_all_served() {
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
fn the_machines_clocks_end_where_their_range_does() {
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
fn a_rate_that_no_period_can_keep_is_refused_for_what_it_is() {
    let clock = Clock::steady();
    let why = |hz| Rate::from_hz(&clock, hz).unwrap_err();
    for hz in [1e9 + 1.0, 2e9, 3e9, f64::MAX] {
        assert_eq!(why(hz), InvalidPeriod::TooFast(hz));
    }
    assert_eq!(
        why(3e9).to_string(),
        "a rate of 3000000000 Hz has a period of less than a nanosecond; 1e9 Hz is the highest"
    );
    for hz in [1e-10, 1e-300, f64::MIN_POSITIVE] {
        assert_eq!(why(hz), InvalidPeriod::TooSlow(hz));
    }
    for hz in [0.0, -0.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        assert!(matches!(why(hz), InvalidPeriod::NotARate(_)), "{hz}");
    }
    for (hz, period) in [(1e9, 1), (4e8, 3), (0.25, 4_000_000_000)] {
        assert_eq!(Rate::from_hz(&clock, hz).unwrap().period(), ns(period));
    }
}

/// Gives a feed to say the time with.
struct Open(crossbeam_channel::Sender<Feed>);

impl TimeSource for Open {
    fn start(&mut self, feed: &Feed) -> Result<(), SourceError> {
        self.0.send(feed.clone()).unwrap();
        Ok(())
    }

    fn stop(&mut self) {}
}

/// What a source would have said while it was off is known to nobody: it may have paused.
#[test]
fn a_clock_that_is_switched_on_again_shows_what_was_said_last() {
    let test = TestClock::new(at(1));
    let (sender, feeds) = crossbeam_channel::bounded(10);
    let sim = SimTime::on_test_clock(&test, Open(sender));
    let clock = sim.clock();
    sim.enable().unwrap();
    let feed = feeds.recv().unwrap();
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

/// What is said while a clock is not active goes on as it was said.
#[test]
fn a_state_that_was_said_before_the_clock_was_active_goes_on() {
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
