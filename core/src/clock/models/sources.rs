//! Models of [`SimTime`]: what is fed while clocks are made and dropped, attached and detached, and sim time is
//! switched on and off.
//!
//! How they are checked: `mod.rs`.

use loom::thread;

use super::{ALL, SOME, at, back, check, ns};
use crate::clock::handle::Clock;
use crate::clock::handle::JumpHandle;
use crate::clock::jump::jump_event::{JumpKind, Phase};
use crate::clock::jump::jump_filter::JumpFilter;
use crate::clock::source::sim_time::SimTime;
use crate::clock::source::time_source::{Feed, SourceError, TimeSource};
use crate::clock::test_clock::TestClock;
use crate::clock::waiting::on_jump::OnJump;
use crate::time::Ros;

/// A [`SimTime`] that is on and whose source has fed `time`.
fn enabled(test: &TestClock, time: i64) -> (SimTime, Feed) {
    let (sim, feed) = SimTime::fed_on_test_clock(test);
    sim.enable().unwrap();
    feed.time(at(time));
    (sim, feed)
}

fn feed_in_thread(feed: &Feed, time: i64) -> thread::JoinHandle<()> {
    let feed = feed.clone();
    thread::spawn(move || feed.time(at(time)))
}

#[test]
fn sim_time_is_switched_off_and_on_while_it_is_fed() {
    check(ALL, || {
        let test = TestClock::new(at(1));
        let (sim, feed) = enabled(&test, 10);
        let clock = sim.clock();
        let other = feed_in_thread(&feed, 20);
        sim.disable();
        assert!(!sim.is_enabled());
        sim.enable().unwrap();
        other.join().unwrap();
        assert!(clock.is_active());
        assert!([at(10), at(20)].contains(&clock.now()));
        feed.time(at(30));
        assert_eq!(clock.now(), at(30));
    });
}

#[test]
fn clocks_agree_with_the_switch_after_enable_and_disable_at_once() {
    check(ALL, || {
        let test = TestClock::new(at(1));
        let (sim, _) = enabled(&test, 10);
        let clock = sim.clock();
        let switch = sim.clone();
        let other = thread::spawn(move || switch.enable().unwrap());
        sim.disable();
        other.join().unwrap();
        assert_eq!(sim.is_enabled(), clock.is_active());
    });
}

/// A clock that is not active yet, and a handler of it that feeds times up to `20`: more than the call that switches
/// sim time on delivers. A new thread delivers the rest.
fn with_feeding_handler(test: &TestClock) -> (SimTime, Clock<Ros>, JumpHandle) {
    let (sim, feed) = SimTime::fed_on_test_clock(test);
    let clock = sim.clock();
    let handle = clock.on_jump(JumpFilter::any(), move |phase, jump| {
        if phase == Phase::After && jump.kind != JumpKind::Deactivated && jump.after < at(20) {
            feed.time(jump.after + ns(10));
        }
    });
    (sim, clock, handle.unwrap())
}

#[test]
fn values_that_enable_leaves_are_delivered_without_another_feed() {
    check(SOME, || {
        let test = TestClock::new(at(1));
        let (sim, clock, handle) = with_feeding_handler(&test);
        sim.enable().unwrap();
        assert!(clock.is_active());
        assert_eq!(clock.sleep_until(at(20), OnJump::Continue), Ok(()));
        assert_eq!(handle.panics(), 0);
    });
}

#[test]
fn disable_returns_while_a_thread_delivers_the_rest() {
    check(SOME, || {
        let test = TestClock::new(at(1));
        let (sim, clock, handle) = with_feeding_handler(&test);
        sim.enable().unwrap();
        sim.disable();
        assert!(!clock.is_active());
        sim.enable().unwrap();
        assert_eq!(clock.sleep_until(at(20), OnJump::Continue), Ok(()));
        assert_eq!(handle.panics(), 0);
    });
}

#[test]
fn a_clock_that_joins_while_it_is_fed_misses_nothing() {
    check(ALL, || {
        let test = TestClock::new(at(1));
        let (sim, feed) = enabled(&test, 10);
        let other = feed_in_thread(&feed, 20);
        let clock = sim.clock();
        other.join().unwrap();
        assert_eq!(clock.now(), at(20));
    });
}

#[test]
fn clocks_of_one_source_agree_when_two_feed_it() {
    check(ALL, || {
        let test = TestClock::new(at(1));
        let (sim, feed) = enabled(&test, 10);
        let clocks = [sim.clock(), sim.clock()];
        let other = feed_in_thread(&feed, 20);
        feed.time(at(30));
        other.join().unwrap();
        assert_eq!(clocks[0].now(), clocks[1].now());
        assert!([at(20), at(30)].contains(&clocks[0].now()));
    });
}

#[test]
fn a_value_of_the_former_source_does_not_reach_a_clock_that_was_handed_over() {
    check(ALL, || {
        let test = TestClock::new(at(1));
        let ((from, feed), (to, _)) = (enabled(&test, 10), enabled(&test, 1_000));
        let clock = from.clock();
        let other = feed_in_thread(&feed, 20);
        from.hand_over(&clock, &to);
        assert_eq!(clock.now(), at(1_000));
        other.join().unwrap();
        assert_eq!(clock.now(), at(1_000));
    });
}

#[test]
fn a_released_clock_shows_system_time_at_once_and_for_good() {
    check(ALL, || {
        let test = TestClock::new(at(1));
        let (sim, feed) = enabled(&test, 10);
        let clock = sim.clock();
        let other = feed_in_thread(&feed, 20);
        sim.release(&clock);
        assert!(!clock.is_active());
        other.join().unwrap();
        assert!(!clock.is_active());
    });
}

#[test]
fn a_clock_that_two_threads_hand_over_has_one_source() {
    check(ALL, || {
        let test = TestClock::new(at(1));
        let ((from, _), (to, feed)) = (enabled(&test, 10), enabled(&test, 1_000));
        let (another, its_feed) = enabled(&test, 2_000);
        let clock = from.clock();
        let (mine, other) = (clock.clone(), from.clone());
        let other = thread::spawn(move || {
            other.hand_over(&mine, &another);
            another
        });
        from.hand_over(&clock, &to);
        let _another = other.join().unwrap();
        feed.time(at(1_001));
        its_feed.time(at(2_001));
        assert!([at(1_001), at(2_001)].contains(&clock.now()));
    });
}

#[test]
fn a_handler_hands_its_clock_over_while_its_source_is_switched_off() {
    check(ALL, || {
        let test = TestClock::new(at(1));
        let ((from, feed), (to, _)) = (enabled(&test, 10), enabled(&test, 1_000));
        let clock = from.clock();
        let (sim, own): (SimTime, Clock<Ros>) = (from.clone(), clock.clone());
        let _handle = clock.on_jump(back(), move |phase, _| {
            if phase == Phase::After {
                sim.hand_over(&own, &to);
            }
        });
        let other = feed_in_thread(&feed, 5);
        from.disable();
        other.join().unwrap();
        // The step was ignored, or it was handled and the clock was handed over.
        assert!(!clock.is_active() || clock.now() == at(1_000));
    });
}

/// A source that feeds `1_000` when it starts.
struct FeedsAtStart;

impl TimeSource for FeedsAtStart {
    fn start(&mut self, feed: &Feed) -> Result<(), SourceError> {
        feed.time(at(1_000));
        Ok(())
    }

    fn stop(&mut self) {}
}

#[test]
fn no_value_of_a_replaced_source_arrives_after_one_of_the_new_source() {
    check(ALL, || {
        let test = TestClock::new(at(1));
        let (sim, feed) = enabled(&test, 10);
        let clock = sim.clock();
        let other = feed_in_thread(&feed, 20);
        sim.replace_source(FeedsAtStart).unwrap();
        other.join().unwrap();
        feed.time(at(30));
        assert_eq!(clock.now(), at(1_000));
    });
}

#[test]
fn a_clock_is_handed_over_and_back_while_both_sources_feed() {
    check(ALL, || {
        let test = TestClock::new(at(1));
        let ((one, feed), (two, its_feed)) = (enabled(&test, 10), enabled(&test, 1_000));
        let clock = one.clock();
        let others = [feed_in_thread(&feed, 20), feed_in_thread(&its_feed, 2_000)];
        one.hand_over(&clock, &two);
        two.hand_over(&clock, &one);
        for other in others {
            other.join().unwrap();
        }
        assert_eq!(clock.now(), at(20));
    });
}

#[test]
fn a_clock_is_made_and_another_released_during_disable() {
    check(ALL, || {
        let test = TestClock::new(at(1));
        let (sim, feed) = enabled(&test, 10);
        let (leaves, stays) = (sim.clock(), sim.clock());
        let (from, gone) = (sim.clone(), leaves.clone());
        let releasing = thread::spawn(move || from.release(&gone));
        let switch = sim.clone();
        let switching = thread::spawn(move || switch.disable());
        let comes = sim.clock();
        releasing.join().unwrap();
        switching.join().unwrap();
        assert!(![&leaves, &stays, &comes].iter().any(|it| it.is_active()));
        sim.enable().unwrap();
        feed.time(at(30));
        assert!(!leaves.is_active());
        assert_eq!([stays.now(), comes.now()], [at(30); 2]);
    });
}
