//! Models of waiting: sleeps, timers and what wakes them. How they are checked: `mod.rs`.

use std::sync::{Arc, Mutex};

use loom::thread::{self, JoinHandle};

use super::{ALL, SOME, at, back, check, ns};
use crate::clock::handle::Clock;
use crate::clock::state::change::Fallback;
use crate::clock::state::extrapolate::{ClockState, Extrapolation};
use crate::clock::test_clock::TestClock;
use crate::clock::timers::rate::{Cycle, Rate};
use crate::clock::timers::timer::Timer;
use crate::clock::timers::timer_set::Timers;
use crate::clock::waiting::cancel::Cancel;
use crate::clock::waiting::on_jump::{OnJump, SleepError};
use crate::time::{Duration, Ros, Speed, Time};

fn asleep(clock: Clock<Ros>, until: i64, cancel: &Cancel) -> JoinHandle<Result<(), SleepError>> {
    let options = OnJump::Continue.unless(cancel);
    thread::spawn(move || clock.sleep_until(at(until), options))
}

#[test]
fn a_sleeper_wakes_when_its_time_comes() {
    check(ALL, || {
        let test = TestClock::new(at(1));
        let clock = test.ros();
        let sleeper = thread::spawn(move || clock.sleep_until(at(10), OnJump::Continue));
        test.set(at(5));
        test.set(at(10));
        assert_eq!(sleeper.join().unwrap(), Ok(()));
    });
}

#[test]
fn two_sleepers_wake_when_the_machines_time_comes() {
    check(ALL, || {
        let test = TestClock::new(at(1));
        let clock = test.steady();
        let until = clock.now() + ns(5);
        let sleepers = [(); 2].map(|()| {
            let clock = clock.clone();
            thread::spawn(move || clock.sleep_until(until, OnJump::Continue))
        });
        test.pass(ns(5));
        for sleeper in sleepers {
            assert_eq!(sleeper.join().unwrap(), Ok(()));
        }
    });
}

#[test]
fn a_cancellation_ends_a_sleep() {
    check(ALL, || {
        let (test, cancel) = (TestClock::new(at(1)), Cancel::new());
        let sleeper = asleep(test.ros(), 10, &cancel);
        cancel.cancel();
        assert_eq!(sleeper.join().unwrap(), Err(SleepError::Cancelled));
    });
}

#[test]
fn the_shutdown_of_a_clock_ends_a_sleep() {
    check(ALL, || {
        let test = TestClock::new(at(1));
        let sleeper = asleep(test.ros(), 10, &Cancel::new());
        test.writer().shut_down();
        assert_eq!(sleeper.join().unwrap(), Err(SleepError::Shutdown));
    });
}

#[test]
fn a_change_of_source_ends_a_sleep() {
    check(ALL, || {
        let test = TestClock::new(at(1));
        let clock = test.ros();
        let sleeper = thread::spawn(move || clock.sleep_until(Time::MAX, OnJump::Continue));
        test.wait_asleep(&test.ros(), 1);
        test.writer().deactivate();
        assert_eq!(sleeper.join().unwrap(), Err(SleepError::SourceChanged));
    });
}

#[test]
fn a_wait_for_a_timer_ends_after_ticks_and_a_reset() {
    check(ALL, || {
        let test = TestClock::new(at(100));
        let timer = Timer::new(&test.ros(), ns(10)).unwrap();
        let [waiting, reset] = [(); 2].map(|()| timer.clone());
        let waiting = thread::spawn(move || waiting.wait(OnJump::Continue));
        let reset = thread::spawn(move || reset.reset());
        test.set(at(110));
        reset.join().unwrap();
        // The reset came at 110 at the latest.
        test.set(at(120));
        let tick = waiting.join().unwrap().unwrap();
        assert!([at(110), at(120)].contains(&tick.actual), "{tick:?}");
    });
}

#[test]
fn a_set_of_timers_runs_what_is_due_until_it_is_cancelled() {
    check(ALL, || {
        let (test, cancel) = (TestClock::new(at(100)), Cancel::new());
        let mut timers = Timers::new(&test.ros());
        let ends = cancel.clone();
        timers.add(ns(10), move |_, _| ends.cancel()).unwrap();
        let never = timers.add(ns(1_000), |_, _| panic!("not due")).unwrap();
        let running = thread::spawn(move || timers.run(OnJump::Continue.unless(&cancel)));
        test.set(at(110));
        never.reset();
        assert_eq!(running.join().unwrap(), SleepError::Cancelled);
    });
}

#[test]
fn a_sleeper_wakes_when_extrapolated_time_reaches_its_time() {
    check(ALL, || {
        let test = TestClock::new(at(1));
        let how = Extrapolation::for_at_most(ns(1_000));
        let tick = |time| ClockState::new(at(time), Some(Speed::NORMAL));
        test.writer().set_state(tick(100), how);
        let sleeper = asleep(test.ros(), 110, &Cancel::new());
        test.pass(ns(5));
        test.writer().set_state(tick(104), how);
        test.pass(ns(6));
        assert_eq!(sleeper.join().unwrap(), Ok(()));
    });
}

#[test]
fn a_sleep_is_cancelled_during_a_backward_jump_with_handlers() {
    check(ALL, || {
        let (test, cancel) = (TestClock::new(at(5)), Cancel::new());
        let _handle = test.ros().on_jump(back(), |_, _| {});
        let sleeper = asleep(test.ros(), 10, &cancel);
        let cancelling = thread::spawn(move || cancel.cancel());
        test.set(at(1));
        cancelling.join().unwrap();
        assert_eq!(sleeper.join().unwrap(), Err(SleepError::Cancelled));
    });
}

#[test]
fn waits_for_the_first_time_end_when_it_comes() {
    check(ALL, || {
        let test = TestClock::new(Time::ZERO);
        let (clock, sleeping) = (test.ros(), test.ros());
        let sleeping = thread::spawn(move || sleeping.sleep_for(ns(5), OnJump::Continue));
        test.wait_asleep(&clock, 1);
        let waiting = thread::spawn(move || clock.wait_started(OnJump::Continue.within(ns(10))));
        test.set(at(100));
        // The span counts from 100.
        test.set(at(105));
        assert_eq!(sleeping.join().unwrap(), Ok(()));
        assert_eq!(waiting.join().unwrap(), Ok(()));
    });
}

#[test]
fn a_timer_that_is_reset_to_an_earlier_time_wakes_its_waiter() {
    check(ALL, || {
        let test = TestClock::new(at(100));
        let timer = Timer::new(&test.ros(), ns(1_000)).unwrap();
        let waiting = timer.clone();
        let waiting = thread::spawn(move || waiting.wait(OnJump::Continue));
        timer.exchange_period(Duration::ZERO).unwrap();
        timer.reset();
        assert!(waiting.join().unwrap().is_ok());
    });
}

#[test]
fn a_sleeper_wakes_when_the_writer_is_dropped() {
    check(ALL, || {
        let (clock, writer) = TestClock::new(at(1)).another_ros(Fallback::Zero);
        writer.set(at(1));
        writer.activate();
        let other = clock.clone();
        let sleeper = thread::spawn(move || other.sleep_until(Time::MAX, OnJump::Continue));
        clock.core.wait_asleep(1, std::time::Duration::ZERO);
        drop(writer);
        assert_eq!(sleeper.join().unwrap(), Err(SleepError::SourceChanged));
    });
}

#[test]
fn a_sleep_whose_time_was_shown_ends_well_before_a_step_back() {
    check(ALL, || {
        let test = TestClock::new(at(1));
        let clock = test.ros();
        let sleeper = thread::spawn(move || clock.sleep_until(at(10), OnJump::ErrorOnBackward));
        test.wait_asleep(&test.ros(), 1);
        test.set(at(10));
        test.set(at(5));
        assert_eq!(sleeper.join().unwrap(), Ok(()));
    });
}

#[test]
fn a_sleep_whose_time_was_the_first_ends_well_before_a_step_back() {
    check(ALL, || {
        let test = TestClock::new(Time::ZERO);
        let sleeper = asleep(test.ros(), 10, &Cancel::new());
        test.wait_asleep(&test.ros(), 1);
        test.set(at(10));
        test.set(at(5));
        assert_eq!(sleeper.join().unwrap(), Ok(()));
    });
}

#[test]
fn a_sleep_ends_when_an_extrapolation_begins_at_its_time_and_runs_backwards() {
    check(ALL, || {
        let test = TestClock::new(at(1));
        let how = Extrapolation::for_at_most(ns(1_000));
        let reverse = Some(Speed::NORMAL.reversed());
        let sleeper = asleep(test.ros(), 10, &Cancel::new());
        test.wait_asleep(&test.ros(), 1);
        test.writer()
            .set_state(ClockState::new(at(10), reverse), how);
        test.pass(ns(5));
        assert_eq!(sleeper.join().unwrap(), Ok(()));
    });
}

/// An extrapolation that is set ahead wakes only the waiter with the nearest time; when it leaves, it wakes the next
/// one.
#[test]
fn sleepers_wake_one_after_the_other_when_extrapolated_time_is_set_ahead() {
    check(SOME, || {
        let test = TestClock::new(at(1));
        let how = Extrapolation::for_at_most(ns(1_000));
        let tick = |time| ClockState::new(at(time), Some(Speed::NORMAL));
        test.writer().set_state(tick(100), how);
        let sleepers = [110, 112].map(|until| asleep(test.ros(), until, &Cancel::new()));
        test.writer().set_state(tick(105), how);
        test.pass(ns(6));
        let [first, second] = sleepers;
        assert_eq!(first.join().unwrap(), Ok(()));
        test.pass(ns(1));
        assert_eq!(second.join().unwrap(), Ok(()));
    });
}

/// The waiter with the nearest time is cancelled, so it leaves before that time.
#[test]
fn the_next_sleeper_wakes_on_extrapolated_time_when_the_first_is_cancelled() {
    check(SOME, || {
        let (test, cancel) = (TestClock::new(at(1)), Cancel::new());
        let how = Extrapolation::for_at_most(ns(1_000));
        let tick = |time| ClockState::new(at(time), Some(Speed::NORMAL));
        test.writer().set_state(tick(100), how);
        let first = asleep(test.ros(), 110, &cancel);
        let second = asleep(test.ros(), 120, &Cancel::new());
        test.wait_asleep(&test.ros(), 2);
        test.writer().set_state(tick(105), how);
        cancel.cancel();
        test.pass(ns(15));
        assert!(matches!(
            first.join().unwrap(),
            Ok(()) | Err(SleepError::Cancelled)
        ));
        assert_eq!(second.join().unwrap(), Ok(()));
    });
}

#[test]
fn a_reset_causes_no_callback_before_its_time() {
    check(ALL, || {
        let test = TestClock::new(at(100));
        let mut timers = Timers::new(&test.ros());
        let ticks = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&ticks);
        let timer = timers.add(ns(10), move |_, tick| log.lock().unwrap().push(tick));
        let timer = timer.unwrap();
        test.set(at(110));
        let reset = thread::spawn(move || timer.reset());
        timers.run_due();
        reset.join().unwrap();
        let ticks = ticks.lock().unwrap();
        assert!(
            ticks.iter().all(|tick| tick.expected <= tick.actual),
            "{ticks:?}"
        );
    });
}

#[test]
fn a_rate_sleeps_for_one_period_after_the_time_was_set_back() {
    check(ALL, || {
        let test = TestClock::new(at(100));
        let mut rate = Rate::new(&test.ros(), ns(10)).unwrap();
        let sleeper = thread::spawn(move || rate.sleep(OnJump::Continue));
        test.set(at(50));
        // The new cycle began at 50, whether the thread was asleep or not.
        test.wait_asleep(&test.ros(), 1);
        test.set(at(60));
        assert_eq!(sleeper.join().unwrap(), Ok(Cycle::Kept));
    });
}

#[test]
fn wait_asleep_returns_after_the_tick_before_was_served() {
    check(ALL, || {
        let test = TestClock::new(at(100));
        let (clock, timer) = (test.ros(), Timer::new(&test.ros(), ns(10)).unwrap());
        let serving = thread::spawn(move || {
            let ticks = [(); 2].map(|()| timer.wait(OnJump::Continue).unwrap());
            assert_eq!(ticks.map(|tick| tick.missed), [0; 2]);
        });
        for time in [110, 120] {
            test.wait_asleep(&clock, 1);
            test.set(at(time));
        }
        serving.join().unwrap();
    });
}
