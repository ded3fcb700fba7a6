//! Handlers, sleeps and readers that run at the same time. A thread that waits for ever fails its test at a time limit.

use std::panic::panic_any;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use bagplay::clock::{
    Cancel, Clock, ClockState, Cycle, Extrapolation, Fallback, JumpEvent, JumpFilter, JumpHandle,
    JumpKind, OnJump, Phase, Rate, SleepError, TestClock, Timer, TimerError, Timers,
};
use bagplay::time::{Ros, Speed, Time};

use super::support::{LogLines, SEC, at, backward, ns, returns, sleep_during};
use crate::support::patience::PATIENCE;

/// The log subscriber reads the clock for each line, as log formatters do.
#[test]
fn a_panic_of_a_handler_is_logged_with_the_time() {
    let test = TestClock::new(at(100));
    let clock = test.ros();
    let handle = clock.on_jump(backward(), |_, _| panic!("its own fault"));
    let reading = clock.clone();
    let log = LogLines(move |_| {
        reading.now();
    });
    let _test = returns(move || {
        tracing::subscriber::with_default(log, || test.set(at(10)));
        test
    });
    assert_eq!((handle.unwrap().panics(), clock.now()), (2, at(10)));
}

/// Calls a function when it is dropped.
struct CallsWhenDropped<F: FnMut()>(F);

impl<F: FnMut()> Drop for CallsWhenDropped<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Registers a handler that drops its own handle. What the handler owns is dropped with it and calls `when_dropped`.
fn drops_itself(clock: &Clock, when_dropped: impl FnMut() + Send + 'static) {
    let slot = Arc::new(Mutex::new(None::<JumpHandle>));
    let (own, value) = (Arc::clone(&slot), CallsWhenDropped(when_dropped));
    let handle = clock.on_jump(backward(), move |_, _| {
        let _owned = &value;
        own.lock().unwrap().take();
    });
    *slot.lock().unwrap() = Some(handle.unwrap());
}

#[test]
fn a_value_that_a_handler_owns_may_read_the_clock_in_its_drop() {
    let test = TestClock::new(at(100));
    let clock = test.ros();
    let timer = Timer::new(&clock, ns(5)).unwrap();
    let (send, received) = sync_channel(1);
    let (own, canceled) = (clock.clone(), timer.clone());
    drops_itself(&clock, move || {
        canceled.cancel();
        send.send(own.now()).unwrap();
    });
    let _test = returns(move || {
        test.set(at(10));
        test
    });
    assert_eq!(received.recv().unwrap(), at(10), "after the jump");
    assert!(timer.is_canceled());
}

#[test]
fn a_value_that_a_handler_owns_may_panic_in_its_drop() {
    let test = TestClock::new(at(100));
    let clock = test.ros();
    drops_itself(&clock, || panic!("its own fault"));
    let other = clock.on_jump(backward(), |_, _| {
        panic_any(CallsWhenDropped(|| panic!("the payload's own fault")))
    });
    test.set(at(10));
    test.set(at(5));
    let now = returns(move || clock.now());
    assert_eq!((now, other.unwrap().panics()), (at(5), 4));
}

/// A handler makes both changes, so they follow each other at once and no sleeper runs between them.
#[test]
fn a_sleep_whose_time_was_shown_ends_well_whatever_is_shown_next() {
    let any = OnJump::ErrorOnAny {
        min_forward: ns(1_000),
    };
    let ends_with: [fn(&TestClock); 2] =
        [|test| test.set(at(10)), |test| test.writer().deactivate()];
    for policy in [OnJump::Continue, OnJump::ErrorOnBackward, any] {
        for next in ends_with {
            let test = Arc::new(TestClock::new(at(100)));
            let mover = Arc::clone(&test);
            let _handle =
                test.ros()
                    .on_jump(JumpFilter::new().min_forward(ns(60)), move |phase, _| {
                        if phase == Phase::After {
                            mover.set(at(200));
                            next(&mover);
                        }
                    });
            let ended = sleep_during(&test, at(200), policy, |test| test.set(at(160)));
            assert_eq!(ended, Ok(()), "{policy:?}");
        }
    }
}

#[test]
fn a_sleep_ends_well_if_extrapolated_time_passed_its_target() {
    let how = Extrapolation::for_at_most(ns(SEC));
    let state = |time, factor, generation| ClockState {
        generation,
        ..ClockState::new(at(time), Speed::from_f64(factor).ok())
    };
    for (factor, generation) in [(0.0, 1), (-1.0, 0)] {
        for _ in 0..20 {
            let test = TestClock::new(at(1));
            test.writer().set_state(state(100, 1.0, 0), how);
            let ended = sleep_during(&test, at(200), OnJump::ErrorOnBackward, |test| {
                test.pass(ns(120));
                let next = state(if generation == 0 { 220 } else { 50 }, factor, generation);
                test.writer().set_state(next, how);
                test.pass(ns(100));
            });
            assert_eq!(ended, Ok(()));
        }
    }
}

/// The date is set to the target and back again.
#[test]
fn a_sleep_whose_date_was_shown_ends_well() {
    let test = TestClock::new(at(1));
    let system = test.system();
    for _ in 0..20 {
        let (now, sleeping) = (system.now(), system.clone());
        let sleeper = thread::spawn(move || sleeping.sleep_until(now + ns(100), OnJump::Continue));
        test.wait_asleep(&system, 1);
        test.set_system(Some(now + ns(100)));
        test.set_system(Some(now));
        assert_eq!(returns(move || sleeper.join().unwrap()), Ok(()));
    }
}

/// `wait_asleep` replaces a fixed pause: a thread that was woken counts as asleep only when it has checked and waits
/// again.
#[test]
fn a_thread_that_was_woken_and_has_not_run_is_not_asleep() {
    const TICKS: u64 = 500;
    let test = TestClock::new(at(1));
    let clock = test.ros();
    let timer = Timer::new(&clock, ns(10)).unwrap();
    let serving = thread::spawn(move || {
        let ticks = (0..TICKS).map(|_| timer.wait(OnJump::Continue).unwrap());
        ticks.map(|tick| tick.missed).sum::<u64>()
    });
    for _ in 0..TICKS {
        test.wait_asleep(&clock, 1);
        test.advance(ns(10));
    }
    assert_eq!(returns(move || serving.join().unwrap()), 0);
    let mut rate = Rate::new(&clock, ns(10)).unwrap();
    let cycling = thread::spawn(move || {
        let cycles = (0..TICKS).map(|_| rate.sleep(OnJump::Continue).unwrap());
        cycles.filter(|cycle| *cycle == Cycle::Missed).count()
    });
    for _ in 0..TICKS {
        test.wait_asleep(&clock, 1);
        test.advance(ns(10));
    }
    assert_eq!(returns(move || cycling.join().unwrap()), 0);
}

#[test]
fn handlers_of_two_clocks_that_sleep_until_a_past_time_do_not_deadlock() {
    for held_in in [Phase::Before, Phase::After] {
        let tests = [(); 2].map(|()| Arc::new(TestClock::new(at(100))));
        let [one, other] = tests.each_ref().map(|test| test.ros());
        let both = Arc::new(Barrier::new(2));
        let handles = [(&one, &other), (&other, &one)].map(|(clock, slept_on)| {
            let (slept_on, both) = (slept_on.clone(), Arc::clone(&both));
            let handle = clock.on_jump(backward(), move |phase, _| {
                if phase == held_in {
                    both.wait();
                    let slept = slept_on.sleep_until(at(90), OnJump::ErrorOnBackward);
                    assert_eq!(slept, Ok(()));
                    both.wait();
                }
            });
            handle.unwrap()
        });
        let moving = tests.map(|test| thread::spawn(move || test.set(at(50))));
        for moving in moving {
            returns(move || moving.join().unwrap());
        }
        assert!(handles.iter().all(|handle| handle.panics() == 0));
    }
}

/// How a cycle ends if the clock shows `times` during the sleep, and then `end`.
fn cycle(rate: &Arc<Mutex<Rate>>, test: &TestClock, times: &[i64], end: i64) -> Cycle {
    let sleeping = Arc::clone(rate);
    let sleeper = thread::spawn(move || sleeping.lock().unwrap().sleep(OnJump::Continue).unwrap());
    test.wait_asleep(&test.ros(), 1);
    for time in times {
        test.set(at(*time));
        test.wait_asleep(&test.ros(), 1);
    }
    test.set(at(end));
    returns(move || sleeper.join().unwrap())
}

/// As in roscpp, after a step back during the sleep the cycle begins again at the new time.
#[test]
fn a_step_back_during_the_sleep_of_a_rate_begins_a_new_cycle() {
    let test = TestClock::new(at(1_300));
    let rate = Arc::new(Mutex::new(Rate::new(&test.ros(), ns(100)).unwrap()));
    test.set(at(1_350));
    assert_eq!(cycle(&rate, &test, &[1_310, 1_399], 1_400), Cycle::Kept);
    assert_eq!(cycle(&rate, &test, &[1_450, 500, 599], 600), Cycle::Kept);
    let times = [650, 200, 250, 100, 150, 199];
    assert_eq!(cycle(&rate, &test, &times, 200), Cycle::Kept);
    assert_eq!(cycle(&rate, &test, &[299], 300), Cycle::Kept, "in the grid");
}

/// The end of the new cycle is shown, and the time set back again, before the sleeping thread has run.
#[test]
fn a_cycle_ends_if_its_end_was_shown_after_a_step_back() {
    let test = Arc::new(TestClock::new(at(100)));
    let rate = Arc::new(Mutex::new(Rate::new(&test.ros(), ns(100)).unwrap()));
    let mover = Arc::clone(&test);
    let filter = JumpFilter::new().min_forward(ns(60));
    let _handle = test.ros().on_jump(filter, move |phase, _| {
        if phase == Phase::After {
            for time in [10, 60, 110, 20] {
                mover.set(at(time));
            }
        }
    });
    assert_eq!(cycle(&rate, &test, &[], 160), Cycle::Kept);
}

/// The first cycle begins with the first time of the clock.
#[test]
fn a_rate_on_a_clock_without_a_time_begins_with_the_first_time() {
    for starts_asleep in [true, false] {
        let test = TestClock::new(Time::ZERO);
        let rate = Rate::new(&test.ros(), ns(100)).unwrap();
        let rate = Arc::new(Mutex::new(rate));
        let start = 1_700_000_000 * SEC;
        let times = [start, start + 99];
        if starts_asleep {
            assert_eq!(cycle(&rate, &test, &times, start + 100), Cycle::Kept);
            assert_eq!(rate.lock().unwrap().last_cycle(), ns(0));
        } else {
            test.set(at(start));
            test.set(at(start + 30));
            assert_eq!(cycle(&rate, &test, &times[1..], start + 100), Cycle::Kept);
            assert_eq!(rate.lock().unwrap().last_cycle(), ns(30));
        }
        test.set(at(start + 150));
        assert_eq!(
            cycle(&rate, &test, &[start + 199], start + 200),
            Cycle::Kept
        );
        assert_eq!(rate.lock().unwrap().last_cycle(), ns(50));
    }
}

#[test]
fn a_loop_that_is_always_late_can_be_cancelled() {
    let test = TestClock::new(at(1));
    let cancel = Cancel::new();
    let mut rate = Rate::new(&test.ros(), ns(10)).unwrap();
    test.set(at(30));
    let options = || OnJump::Continue.unless(&cancel);
    assert_eq!(rate.sleep(options()), Ok(Cycle::Missed));
    test.set(at(60));
    cancel.cancel();
    assert_eq!(rate.sleep(options()), Err(SleepError::Cancelled));
}

/// Until then the machine's clock was shown.
#[test]
fn the_first_time_after_a_fallback_is_a_change_of_clock() {
    let test = Arc::new(TestClock::with_fallback(Time::ZERO, Fallback::Machine));
    let clock = test.ros();
    let (send, received) = sync_channel(4);
    let (reached, is_reached) = sync_channel(1);
    let (release, released) = sync_channel::<()>(1);
    let _handle = clock.on_jump(backward().clock_changes(), move |phase, jump| {
        send.send((phase, jump)).unwrap();
        if phase == Phase::After {
            reached.send(()).unwrap();
            released.recv().unwrap();
        }
    });
    let jump = JumpEvent {
        kind: JumpKind::Started,
        before: clock.now(),
        after: at(5),
    };
    assert!(jump.is_clock_change());
    let mover = Arc::clone(&test);
    let moving = thread::spawn(move || mover.set(at(5)));
    assert_eq!(received.recv_timeout(PATIENCE), Ok((Phase::Before, jump)));
    assert_eq!(received.recv_timeout(PATIENCE), Ok((Phase::After, jump)));
    is_reached.recv().unwrap();
    let reading = clock.clone();
    let reader = thread::spawn(move || reading.now());
    test.wait_asleep(&clock, 1);
    release.send(()).unwrap();
    returns(move || moving.join().unwrap());
    assert_eq!(returns(move || reader.join().unwrap()), at(5));

    let test = TestClock::new(Time::ZERO);
    let (send, received) = sync_channel(4);
    let _handle = test
        .ros()
        .on_jump(JumpFilter::new().clock_changes(), move |_, jump| {
            send.send(jump).unwrap();
        });
    test.set(at(5));
    assert!(
        received.try_recv().is_err(),
        "before the first time no other clock was shown"
    );
}

/// Waits of every kind, while a handler of a backward jump runs.
#[test]
fn waits_can_be_cancelled_while_a_jump_is_handled() {
    let test = Arc::new(TestClock::new(at(100)));
    let clock = test.ros();
    let timer = Timer::new(&clock, ns(1_000)).unwrap();
    let mover = Arc::clone(&test);
    let (own, outcome) = (clock.clone(), Arc::new(Mutex::new(Vec::new())));
    let log = Arc::clone(&outcome);
    let handle = clock.on_jump(backward(), move |_, _| {
        let cancel = Cancel::new();
        let options = OnJump::ErrorOnBackward.unless(&cancel);
        let spawn = |wait: &dyn Fn() -> thread::JoinHandle<SleepError>| wait();
        let sleeping = |target: Option<Time<Ros>>| {
            let (clock, options) = (own.clone(), options.clone());
            thread::spawn(move || {
                let slept = match target {
                    Some(target) => clock.sleep_until(target, options),
                    None => clock.sleep_for(ns(5), options),
                };
                slept.unwrap_err()
            })
        };
        let waiting = || {
            let (timer, options) = (timer.clone(), options.clone());
            thread::spawn(move || match timer.wait(options) {
                Err(TimerError::Wait(error)) => error,
                other => panic!("{other:?}"),
            })
        };
        let running = || {
            let (mut timers, options) = (Timers::new(&own), options.clone());
            thread::spawn(move || timers.run(options))
        };
        let threads = [
            sleeping(None),
            sleeping(Some(at(1_000))),
            spawn(&waiting),
            spawn(&running),
        ];
        mover.wait_asleep(&own, threads.len());
        cancel.cancel();
        for thread in threads {
            log.lock().unwrap().push(thread.join().unwrap());
        }
        let waiting = timer.clone();
        let waiting = thread::spawn(move || waiting.wait(OnJump::Continue));
        mover.wait_asleep(&own, 1);
        timer.cancel();
        assert_eq!(waiting.join().unwrap(), Err(TimerError::Canceled));
        timer.reset();
        let other = own.clone();
        let started = thread::spawn(move || other.wait_started(OnJump::Continue.within(ns(0))));
        assert_eq!(started.join().unwrap(), Ok(()), "the time before");
    });
    let moving = Arc::clone(&test);
    returns(move || moving.set(at(10)));
    assert_eq!(*outcome.lock().unwrap(), [SleepError::Cancelled; 8]);
    assert_eq!(handle.unwrap().panics(), 0);
}

#[test]
fn a_sleep_that_begins_while_a_jump_is_handled_counts_from_the_new_time() {
    let test = Arc::new(TestClock::new(at(100)));
    let clock = test.ros();
    let (own, mover) = (clock.clone(), Arc::clone(&test));
    let sleeper = Arc::new(Mutex::new(None));
    let sleeping = Arc::clone(&sleeper);
    let _handle = clock.on_jump(backward(), move |phase, _| {
        if phase == Phase::Before {
            let clock = own.clone();
            let spawned = thread::spawn(move || clock.sleep_for(ns(5), OnJump::ErrorOnBackward));
            *sleeping.lock().unwrap() = Some(spawned);
            mover.wait_asleep(&own, 1);
        }
    });
    test.set(at(10));
    test.wait_asleep(&clock, 1);
    test.set(at(14));
    test.wait_asleep(&clock, 1);
    test.set(at(15));
    let sleeper = sleeper.lock().unwrap().take().unwrap();
    assert_eq!(returns(move || sleeper.join().unwrap()), Ok(()));
}

#[test]
fn advance_does_not_set_an_extrapolated_clock() {
    let test = TestClock::new(at(1));
    let how = Extrapolation::for_at_most(ns(100));
    let state = ClockState::new(at(1_000), Some(Speed::NORMAL));
    test.writer().set_state(state, how);
    test.advance(ns(10));
    assert_eq!(test.ros().now(), at(1_010));
    test.pass(ns(5));
    assert_eq!(test.ros().now(), at(1_015), "it still moves");
}

#[test]
fn advance_and_pass_do_nothing_for_a_negative_span() {
    let test = TestClock::new(at(100));
    let shown = || (test.ros().now(), test.system().now(), test.steady().now());
    let before = shown();
    test.advance(ns(-5));
    test.pass(ns(-5));
    assert_eq!(shown(), before);
}

#[test]
fn a_jump_ends_a_wait_for_a_timer_if_its_options_ask_for_that() {
    let any = OnJump::ErrorOnAny {
        min_forward: ns(50),
    };
    let jumped = |kind, before, after| {
        let (before, after) = (at(before), at(after));
        SleepError::TimeJumped(JumpEvent {
            kind,
            before,
            after,
        })
    };
    for (policy, times, ended) in [
        (OnJump::Continue, &[99, 148, 190, 199][..], None),
        (OnJump::ErrorOnBackward, &[150, 199, 400], None),
        (
            OnJump::ErrorOnBackward,
            &[150, 149],
            Some(jumped(JumpKind::Backward, 150, 149)),
        ),
        (any, &[149, 199], Some(jumped(JumpKind::Forward, 149, 199))),
        (any, &[149, 399], Some(jumped(JumpKind::Forward, 149, 399))),
    ] {
        let test = TestClock::new(at(100));
        let clock = test.ros();
        let timer = Timer::new(&clock, ns(100)).unwrap();
        let (mut timers, cancel) = (Timers::new(&clock), Cancel::new());
        let done = cancel.clone();
        timers.add(ns(100), move |_, _| done.cancel()).unwrap();
        let waiting = thread::spawn(move || timer.wait(policy).map(drop));
        let options = policy.unless(&cancel);
        let running = thread::spawn(move || timers.run(options));
        test.wait_asleep(&clock, 2);
        for time in times {
            test.set(at(*time));
        }
        let error = ended.map_or(Ok(()), |error| Err(TimerError::Wait(error)));
        let row = format!("{policy:?} by {times:?}");
        assert_eq!(returns(move || waiting.join().unwrap()), error, "{row}");
        let ended = ended.unwrap_or(SleepError::Cancelled);
        assert_eq!(returns(move || running.join().unwrap()), ended, "{row}");
    }
}

/// All callbacks that are due are called first.
#[test]
fn a_jump_during_a_callback_ends_the_run_of_a_set_of_timers() {
    let test = Arc::new(TestClock::new(at(100)));
    let mut timers = Timers::new(&test.ros());
    let mover = Arc::clone(&test);
    timers.add(ns(0), move |_, _| mover.set(at(50))).unwrap();
    let ended = returns(move || timers.run(OnJump::ErrorOnBackward));
    assert!(matches!(ended, SleepError::TimeJumped(_)), "{ended}");
}

/// However fast backward jumps follow each other: here each handler makes the next jump.
#[test]
fn now_waits_for_one_round_of_handlers() {
    let test = Arc::new(TestClock::new(at(10_000)));
    let (clock, mover) = (test.ros(), Arc::downgrade(&test));
    let (own, asking, mut rounds) = (clock.clone(), clock.clone(), 0);
    let _handle = clock.on_jump(backward(), move |phase, jump| {
        let test = mover.upgrade().unwrap();
        match phase {
            Phase::Before if rounds == 0 => test.wait_asleep(&own, 1),
            Phase::After if rounds < 1_000 => {
                rounds += 1;
                test.set(jump.after - ns(1));
            }
            _ => {}
        }
    });
    let moving = Arc::clone(&test);
    let moving = thread::spawn(move || moving.set(at(9_000)));
    let now = returns(move || {
        // Before the first jump the result is the old time; then the call waits, and the first handler waits for that.
        std::iter::repeat_with(|| asking.now())
            .find(|now| *now != at(10_000))
            .unwrap()
    });
    moving.join().unwrap();
    assert_eq!((now, clock.now()), (at(9_000), at(8_000)));
}

/// A deadlock: one thread holds a lock and asks for the time, a handler in the other thread takes the lock.
#[test]
fn a_handler_that_blocks_readers_for_a_second_is_logged_once_with_its_place() {
    let test = TestClock::new(at(100));
    let clock = test.ros();
    let history = Arc::new(Mutex::new(()));
    let (locked, kept) = (Arc::clone(&history), history.lock().unwrap());
    let (enter, is_inside) = sync_channel(1);
    let line = line!() + 1;
    let _handle = clock.on_jump(backward(), move |phase, _| {
        if phase == Phase::Before {
            enter.send(()).unwrap();
            drop(locked.lock().unwrap());
        }
    });
    let (send, lines) = sync_channel(10);
    thread::scope(|scope| {
        let asking = || {
            let (clock, send) = (clock.clone(), send.clone());
            let log = LogLines(move |line| send.try_send(line).unwrap());
            move || tracing::subscriber::with_default(log, || clock.now())
        };
        let moving = scope.spawn(|| test.set(at(50)));
        is_inside.recv_timeout(PATIENCE).unwrap();
        let asking = [asking(), asking()].map(|asking| scope.spawn(asking));
        let warning = lines.recv_timeout(PATIENCE).unwrap();
        let place = format!("{}:{line}", file!());
        assert!(warning.contains(&place), "{warning} does not name {place}");
        drop(kept);
        moving.join().unwrap();
        for asking in asking {
            assert_eq!(asking.join().unwrap(), at(50));
        }
        assert_eq!(lines.try_iter().count(), 0, "it was logged twice");
    });
}
