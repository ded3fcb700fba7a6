//! Sleeping on a clock: targets, jumps, changes of source, cancellation, the first time.

use std::sync::Arc;
use std::thread;

use bagplay::clock::{
    Cancel, Clock, ClockState, Extrapolation, Fallback, JumpEvent, JumpKind, OnJump, Phase, Rate,
    SleepError, SleepOptions, TestClock, Timer, TimerError, Timers,
};
use bagplay::time::{Duration, Kind, Ros, Speed, Time};

use super::support::{at, backward, ns, sleep_during};

const MINUTE: Duration = Duration::from_secs(60);

/// The result of a sleep that this jump ended.
fn jumped(kind: JumpKind, before: i64, after: i64) -> Result<(), SleepError> {
    let (before, after) = (at(before), at(after));
    Err(SleepError::TimeJumped(JumpEvent {
        kind,
        before,
        after,
    }))
}

#[test]
fn a_target_in_the_past_is_no_wait() {
    let test = TestClock::new(at(100));
    for active in [true, false] {
        if !active {
            test.writer().deactivate();
        }
        let clock = test.ros();
        for target in [clock.now(), clock.now() - ns(1), Time::MIN] {
            assert_eq!(clock.sleep_until(target, OnJump::Continue), Ok(()));
        }
        for span in [0, -1, i64::MIN] {
            assert_eq!(clock.sleep_for(ns(span), OnJump::ErrorOnBackward), Ok(()));
        }
    }
    let steady = test.steady();
    assert_eq!(steady.sleep_until(steady.now(), OnJump::Continue), Ok(()));
    let unset = TestClock::new(Time::ZERO).ros();
    assert_eq!(unset.sleep_for(ns(-1), OnJump::Continue), Ok(()));
}

/// A tick at the target, and one past it.
#[test]
fn a_sleep_ends_with_the_first_tick_at_or_after_its_target() {
    for last in [200, 201] {
        let test = TestClock::new(at(100));
        let ended = sleep_during(&test, at(200), OnJump::Continue, |test| {
            test.set(at(150));
            test.set(at(199));
            test.wait_asleep(&test.ros(), 1);
            test.set(at(last));
        });
        assert_eq!(ended, Ok(()));
        assert_eq!(
            test.wakeups(&test.ros()),
            1,
            "a tick wakes only the threads that are due"
        );
    }
}

#[test]
fn a_jump_has_the_effect_that_the_options_of_the_sleep_name() {
    use JumpKind::{Backward, Forward};
    let any = OnJump::ErrorOnAny {
        min_forward: ns(50),
    };
    // (policy, times that are set, how a sleep from 100 until 200 ends)
    for (policy, times, ended) in [
        (OnJump::Continue, &[10, 199, 200][..], Ok(())),
        (OnJump::Continue, &[900], Ok(())),
        (OnJump::ErrorOnBackward, &[99], jumped(Backward, 100, 99)),
        (OnJump::ErrorOnBackward, &[900], Ok(())),
        (any, &[99], jumped(Backward, 100, 99)),
        (any, &[149, 198, 247], Ok(())),
        (any, &[150], jumped(Forward, 100, 150)),
        (any, &[149, 900], jumped(Forward, 149, 900)),
    ] {
        let outcome = sleep_during(&TestClock::new(at(100)), at(200), policy, |test| {
            for time in times {
                test.set(at(*time));
            }
        });
        assert_eq!(outcome, ended, "{policy:?}, {times:?}");
    }
}

/// Whatever follows before the sleeping thread has run. Repeated, so that in some rounds it has not.
#[test]
fn a_sleep_whose_target_was_shown_ends_well() {
    let how = Extrapolation::for_at_most(MINUTE);
    let reverse = ClockState::new(at(200), Some(Speed::NORMAL.reversed()));
    for _ in 0..100 {
        let unset = TestClock::new(Time::ZERO);
        let first = sleep_during(&unset, at(200), OnJump::Continue, |test| {
            test.set(at(300));
            test.set(at(10));
            test.writer().shut_down();
        });
        assert_eq!(first, Ok(()), "the first time");
        let turned = sleep_during(
            &TestClock::new(at(100)),
            at(200),
            OnJump::Continue,
            |test| {
                test.writer().set_state(reverse, how);
                test.pass(ns(5));
                test.writer().shut_down();
            },
        );
        assert_eq!(turned, Ok(()), "an extrapolation that runs backwards");
    }
}

/// Switching ROS time on or off ends every sleep, whatever the policy.
#[test]
fn a_change_of_source_ends_a_sleep() {
    for policy in [OnJump::Continue, OnJump::ErrorOnBackward] {
        let test = TestClock::new(at(100));
        let ended = sleep_during(&test, at(200), policy, |test| test.writer().deactivate());
        assert_eq!(ended, Err(SleepError::SourceChanged));
        let later = test.ros().now() + MINUTE;
        let ended = sleep_during(&test, later, policy, |test| test.writer().activate());
        assert_eq!(ended, Err(SleepError::SourceChanged));
        let unset = TestClock::new(Time::ZERO); // no time was fed
        let ended = sleep_during(&unset, at(200), policy, |test| test.writer().deactivate());
        assert_eq!(ended, Err(SleepError::SourceChanged));
    }
}

#[test]
fn a_shutdown_ends_all_sleeps_and_later_ones() {
    let test = TestClock::new(at(100));
    let ended = sleep_during(&test, at(200), OnJump::Continue, |test| {
        test.writer().shut_down();
    });
    assert_eq!(ended, Err(SleepError::Shutdown));
    let later = test.ros().sleep_for(MINUTE, OnJump::Continue);
    assert_eq!(later, Err(SleepError::Shutdown));
    let unset = TestClock::new(Time::ZERO); // no time was fed
    let clock = unset.ros();
    thread::scope(|scope| {
        let sleepers = [Time::MAX, at(200)].map(|target| {
            let sleeper = clock.clone();
            scope.spawn(move || sleeper.sleep_until(target, OnJump::Continue))
        });
        let span = scope.spawn(|| clock.sleep_for(MINUTE, OnJump::Continue));
        unset.wait_asleep(&clock, 3);
        unset.writer().shut_down();
        for sleeper in sleepers.into_iter().chain([span]) {
            assert_eq!(sleeper.join().unwrap(), Err(SleepError::Shutdown));
        }
    });
}

/// A span counts from the first time of the clock; a point of time does not depend on it.
#[test]
fn a_sleep_that_began_without_a_time_counts_from_the_first_time() {
    let test = TestClock::new(Time::ZERO);
    let clock = test.ros();
    thread::scope(|scope| {
        let sleeper = clock.clone();
        let sleeper = scope.spawn(move || sleeper.sleep_for(ns(100), OnJump::ErrorOnBackward));
        test.wait_asleep(&clock, 1);
        test.set(at(1_000));
        test.set(at(1_099));
        assert!(!sleeper.is_finished());
        test.set(at(1_100));
        assert_eq!(sleeper.join().unwrap(), Ok(()));
    });
    let test = TestClock::new(Time::ZERO);
    let ended = sleep_during(&test, at(2_000), OnJump::Continue, |test| {
        test.set(at(1_999));
        test.set(at(2_000));
    });
    assert_eq!(ended, Ok(()));
}

#[test]
fn a_sleep_on_a_fallback_ends_when_the_source_starts() {
    let test = TestClock::with_fallback(Time::ZERO, Fallback::Machine);
    let target = test.ros().now() + MINUTE;
    let ended = sleep_during(&test, target, OnJump::Continue, |test| test.set(at(5)));
    assert_eq!(ended, Err(SleepError::SourceChanged));
    let test = TestClock::with_fallback(Time::ZERO, Fallback::Machine);
    let target = test.ros().now() + MINUTE;
    let ended = sleep_during(&test, target, OnJump::Continue, |test| test.pass(MINUTE));
    assert_eq!(ended, Ok(()));
}

/// Also with a time limit, and on clocks that always have a time.
#[test]
fn wait_started_waits_for_the_first_time() {
    type Event<'a> = &'a dyn Fn(&TestClock, &Cancel);
    let within = |nanos| OnJump::Continue.within(ns(nanos));
    let waits = |event: Event| {
        let (test, cancel) = (TestClock::new(Time::ZERO), Cancel::new());
        let clock = test.ros();
        thread::scope(|scope| {
            let waiter = scope.spawn(|| clock.wait_started(within(50).unless(&cancel)));
            test.wait_asleep(&clock, 1);
            event(&test, &cancel);
            waiter.join().unwrap()
        })
    };
    assert_eq!(waits(&|test, _| test.set(at(1))), Ok(()));
    assert_eq!(waits(&|test, _| test.writer().deactivate()), Ok(()));
    let timed_out = waits(&|test, _| {
        test.pass(ns(49));
        test.wait_asleep(&test.ros(), 1);
        test.pass(ns(1));
    });
    assert_eq!(timed_out, Err(SleepError::TimedOut));
    assert_eq!(waits(&|_, it| it.cancel()), Err(SleepError::Cancelled));
    let shut = waits(&|test, _| test.writer().shut_down());
    assert_eq!(shut, Err(SleepError::Shutdown));

    let test = TestClock::new(at(1));
    assert_eq!(test.ros().wait_started(OnJump::Continue), Ok(()));
    assert_eq!(test.ros().wait_started(within(0)), Ok(()));
    assert_eq!(test.steady().wait_started(within(0)), Ok(()));
    let test = TestClock::new(Time::ZERO);
    let never = test.ros();
    for limit in [0, -1, i64::MIN] {
        let ended = never.wait_started(within(limit));
        assert_eq!(ended, Err(SleepError::TimedOut));
    }
}

/// Sleeps, rates, timers and sets of timers, while the machine's time passes and the source feeds nothing.
#[test]
fn every_wait_has_a_limit_of_the_machines_time() {
    type Wait = fn(&Clock<Ros>, SleepOptions) -> SleepError;
    let waits: [Wait; 5] = [
        |clock, options| clock.sleep_for(MINUTE, options).unwrap_err(),
        |clock, options| clock.sleep_until(at(1_000), options).unwrap_err(),
        |clock, options| {
            let mut rate = Rate::new(clock, MINUTE).unwrap();
            rate.sleep(options).unwrap_err()
        },
        |clock, options| {
            let timer = Timer::new(clock, MINUTE).unwrap();
            match timer.wait(options).unwrap_err() {
                TimerError::Wait(ended) => ended,
                other => panic!("{other}"),
            }
        },
        |clock, options| {
            let mut timers = Timers::new(clock);
            timers.add(MINUTE, |_, _| panic!("not due")).unwrap();
            timers.run(options)
        },
    ];
    for wait in waits {
        for start in [at(100), Time::ZERO] {
            let test = TestClock::new(start);
            let clock = test.ros();
            thread::scope(|scope| {
                let options = OnJump::ErrorOnBackward.within(ns(50));
                let waiter = scope.spawn(|| wait(&clock, options));
                test.wait_asleep(&clock, 1);
                test.pass(ns(49));
                test.wait_asleep(&clock, 1);
                test.pass(ns(1));
                assert_eq!(waiter.join().unwrap(), SleepError::TimedOut);
            });
        }
        // On the machine's own clock, where no test moves the time.
        let (clock, writer) = Clock::ros(Fallback::Zero);
        writer.activate();
        let soon = OnJump::Continue.within(Duration::from_millis(5));
        assert_eq!(wait(&clock, soon), SleepError::TimedOut);
    }
}

/// The target is reached at the time limit.
#[test]
fn a_sleep_that_reaches_its_target_at_its_limit_ends_well() {
    let test = TestClock::new(at(100));
    let steady = test.steady();
    thread::scope(|scope| {
        let options = OnJump::Continue.within(ns(50));
        let sleeper = scope.spawn(|| steady.sleep_for(ns(50), options));
        test.wait_asleep(&steady, 1);
        test.pass(ns(50));
        assert_eq!(sleeper.join().unwrap(), Ok(()));
    });
}

/// Before the sleep or during it, on test clocks and on the machine's clocks.
#[test]
fn a_sleep_can_be_cancelled() {
    fn check<K: Kind>(test: &TestClock, clock: &Clock<K>) {
        let cancel = Cancel::new();
        thread::scope(|scope| {
            let options = OnJump::Continue.unless(&cancel);
            let sleeper = scope.spawn(|| clock.sleep_for(MINUTE, options));
            test.wait_asleep(clock, 1);
            cancel.cancel();
            assert_eq!(sleeper.join().unwrap(), Err(SleepError::Cancelled));
        });
        let options = OnJump::Continue.unless(&cancel);
        assert_eq!(clock.sleep_for(MINUTE, options), Err(SleepError::Cancelled));
    }
    let test = TestClock::new(at(1));
    let (inactive, _writer) = test.another_ros(Fallback::Zero);
    let (machine, _writer) = Clock::ros(Fallback::Zero);
    let silent = TestClock::new(Time::ZERO); // active, and no time was fed
    for ros in [test.ros(), silent.ros(), inactive, machine] {
        check(&test, &ros);
    }
    check(&test, &test.system());
    check(&test, &test.steady());
    check(&test, &Clock::system());
    check(&test, &Clock::steady());
}

#[test]
fn a_shutdown_ends_many_sleeps() {
    let test = TestClock::new(at(1));
    let clock = test.ros();
    thread::scope(|scope| {
        let sleepers: Vec<_> = (0..10)
            .map(|_| scope.spawn(|| clock.sleep_for(MINUTE, OnJump::Continue)))
            .collect();
        test.wait_asleep(&clock, 10);
        assert!(sleepers.iter().all(|sleeper| !sleeper.is_finished()));
        test.writer().shut_down();
        for sleeper in sleepers {
            assert_eq!(sleeper.join().unwrap(), Err(SleepError::Shutdown));
        }
    });
}

/// Also on clocks without a writer, and on a clock whose writer is not active.
#[test]
fn a_cancellation_ends_many_sleeps() {
    fn check<K: Kind>(test: &TestClock, clock: &Clock<K>) {
        let cancel = Cancel::new();
        thread::scope(|scope| {
            let sleepers: Vec<_> = (0..10)
                .map(|_| {
                    let options = OnJump::Continue.unless(&cancel);
                    scope.spawn(|| clock.sleep_for(MINUTE, options))
                })
                .collect();
            test.wait_asleep(clock, 10);
            assert!(sleepers.iter().all(|sleeper| !sleeper.is_finished()));
            cancel.cancel();
            for sleeper in sleepers {
                assert_eq!(sleeper.join().unwrap(), Err(SleepError::Cancelled));
            }
        });
    }
    let test = TestClock::new(at(1));
    let (inactive, _writer) = test.another_ros(Fallback::Zero);
    check(&test, &test.ros());
    check(&test, &inactive);
    check(&test, &test.system());
    check(&test, &test.steady());
}

#[test]
fn a_tick_wakes_only_the_sleeps_that_are_due() {
    let test = TestClock::new(at(0) + ns(1));
    let clock = test.ros();
    thread::scope(|scope| {
        for target in 1..=10 {
            let sleeper = clock.clone();
            scope.spawn(move || sleeper.sleep_until(at(target * 100), OnJump::Continue));
        }
        test.wait_asleep(&clock, 10);
        for tick in 2..1_000 {
            test.set(at(tick));
        }
        test.set(at(1_000));
    });
    assert_eq!(test.wakeups(&clock), 10);
}

/// The one with the nearest target; it computes again when its time comes.
#[test]
fn a_state_wakes_one_sleeper_at_most() {
    let test = TestClock::new(at(1));
    let clock = test.ros();
    let how = Extrapolation::for_at_most(MINUTE);
    let say = |time: i64| {
        let state = ClockState::new(at(time), Some(Speed::NORMAL));
        test.writer().set_state(state, how);
    };
    say(100);
    let mut woken = 0;
    thread::scope(|scope| {
        for sleeper in 0..10 {
            let (clock, target) = (clock.clone(), at(1_000_000 + sleeper));
            scope.spawn(move || clock.sleep_until(target, OnJump::Continue));
        }
        test.wait_asleep(&clock, 10);
        let before = test.wakeups(&clock);
        for round in 1..=100 {
            test.pass(ns(100));
            // Some are late and some are early.
            say(100 + round * 100 + round % 7 - 3);
            test.wait_asleep(&clock, 10);
        }
        woken = test.wakeups(&clock) - before;
        test.writer().shut_down();
    });
    assert!(woken <= 100, "{woken} of 1,000");
}

#[test]
fn sleeps_on_the_machines_clocks_end_on_their_own() {
    fn check<K: Kind>(clock: &Clock<K>) {
        let target = clock.now() + Duration::from_millis(3);
        assert_eq!(clock.sleep_until(target, OnJump::Continue), Ok(()));
        assert!(clock.now() >= target);
        let (span, begun) = (Duration::from_millis(3), clock.now());
        assert_eq!(clock.sleep_for(span, OnJump::Continue), Ok(()));
        assert!(clock.now() - begun >= span);
        for past in [Duration::from_secs(-1_000), Duration::MIN] {
            assert_eq!(clock.sleep_for(past, OnJump::Continue), Ok(()));
        }
    }
    check(&Clock::steady());
    check(&Clock::system());
    check(&Clock::ros(Fallback::Zero).0);
}

#[test]
fn setting_the_date_past_a_target_ends_the_sleep() {
    let test = TestClock::new(at(1));
    let system = test.system();
    thread::scope(|scope| {
        let target = system.now() + MINUTE;
        let sleeper = system.clone();
        let sleeper = scope.spawn(move || sleeper.sleep_until(target, OnJump::Continue));
        test.wait_asleep(&system, 1);
        test.set_system(Some(target));
        assert_eq!(sleeper.join().unwrap(), Ok(()));
    });
}

/// On its own clock a handler would wait for itself.
#[test]
fn a_handler_can_sleep_on_other_clocks_only() {
    let test = Arc::new(TestClock::new(at(100)));
    let (clock, steady) = (test.ros(), Clock::steady());
    let own = clock.clone();
    let (sender, receiver) = std::sync::mpsc::sync_channel(2);
    let _handle = clock
        .on_jump(backward(), move |phase, _| {
            if phase == Phase::After {
                sender
                    .send(steady.sleep_for(ns(1_000), OnJump::Continue))
                    .unwrap();
                sender.send(own.sleep_for(ns(1), OnJump::Continue)).unwrap();
            }
        })
        .unwrap();
    test.set(at(10));
    assert_eq!(receiver.recv().unwrap(), Ok(()));
    assert_eq!(receiver.recv().unwrap(), Err(SleepError::InHandler));
}

#[test]
fn a_sleep_error_names_the_size_of_the_jump() {
    let error = jumped(JumpKind::Backward, 1_500_000_000, 0).unwrap_err();
    assert_eq!(error.to_string(), "the time jumped by -1.5s while asleep");
}
