//! Timers and rates. The tests of `schedule.rs` and `rate.rs` have the pure arithmetic.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use bagplay::clock::{
    Cancel, Clock, Cycle, Fallback, InvalidPeriod, MissedTicks, OnJump, Rate, SleepError, Start,
    TestClock, Timer, TimerError, TimerOptions, Timers,
};
use bagplay::time::{Duration, Kind, Ros, Time};

use super::support::{SEC, at, backward, ns};

fn secs(secs: i64) -> Duration {
    Duration::from_secs(secs)
}

#[test]
fn the_deadline_follows_the_time() {
    // Made at 1 ns with a period of 5 s.
    let test = TestClock::new(at(1));
    let timer = Timer::new(&test.ros(), secs(5)).unwrap();
    for (now, until) in [
        (1, 5 * SEC),
        (5 * SEC, 1),
        (5 * SEC + 1, 0),
        (5 * SEC + 2, -1),
    ] {
        test.set(at(now));
        assert_eq!(timer.time_until(), Some(ns(until)), "at {now}");
        assert_eq!(timer.is_ready(), until <= 0);
    }
}

#[test]
fn a_timer_that_is_made_without_a_time_counts_from_the_first_time() {
    let test = TestClock::new(Time::ZERO);
    let timer = Timer::new(&test.ros(), secs(5)).unwrap();
    assert_eq!(timer.time_until(), Some(secs(5)));
    test.set(at(1_700_000_000 * SEC));
    assert_eq!(timer.time_until(), Some(secs(5)));
}

/// When ROS time is switched on, and when it is switched off.
#[test]
fn the_remaining_wait_is_the_same_after_a_change_of_source() {
    let test = TestClock::new(at(100 * SEC));
    test.writer().deactivate();
    let timer = Timer::new(&test.ros(), secs(5)).unwrap();
    test.pass(secs(1));
    assert_eq!(timer.time_until(), Some(secs(4)));
    test.writer().activate();
    assert_eq!(timer.time_until(), Some(secs(4)));
    test.advance(secs(1));
    test.writer().deactivate();
    assert_eq!(
        (timer.time_until(), timer.since_last()),
        (Some(secs(3)), secs(2))
    );
    test.pass(secs(3));
    assert!(timer.is_ready());
}

#[test]
fn a_step_back_never_makes_a_wait_longer_than_a_period() {
    let test = TestClock::new(at(2 * SEC));
    let timer = Timer::new(&test.ros(), secs(5)).unwrap();
    for (now, until) in [(3, 4), (2, 5), (6, 1), (1, 5), (5, 1)] {
        test.set(at(now * SEC));
        assert_eq!(timer.time_until(), Some(secs(until)), "at {now} s");
    }
    // The same on a system clock whose date is set back by a day (rclpy #1490).
    let system = test.system();
    let timer = Timer::new(&system, secs(5)).unwrap();
    test.set_system(Some(system.now() - secs(86_400)));
    assert_eq!(timer.time_until(), Some(secs(5)));
    test.pass(secs(3));
    assert_eq!(timer.time_until(), Some(secs(2)));
    test.pass(secs(2));
    assert!(timer.is_ready());
}

#[test]
fn after_an_overrun_there_is_one_call_and_the_same_grid() {
    let test = TestClock::new(at(0) + ns(1));
    let timer = Timer::new(&test.ros(), ns(200)).unwrap();
    test.set(at(501));
    let tick = timer.call().unwrap();
    assert_eq!(
        (tick.expected, tick.actual, tick.missed),
        (at(201), at(501), 1)
    );
    assert_eq!(
        (timer.is_ready(), timer.time_until()),
        (false, Some(ns(100)))
    );
    // Further ticks.
    let mut expected = at(601);
    for late in [0, 1, 199, 5] {
        test.set(expected + ns(late));
        let tick = timer.call().unwrap();
        assert_eq!(
            (tick.expected, tick.actual),
            (expected, expected + ns(late))
        );
        expected += ns(200);
    }
}

#[test]
fn call_reset_exchange_period_and_cancel_set_the_deadline() {
    let test = TestClock::new(at(SEC));
    let timer = Timer::new(&test.ros(), secs(1)).unwrap();
    for calls in 1..=3 {
        timer.call().unwrap();
        assert_eq!(timer.time_until(), Some(secs(1 + calls)));
    }
    assert_eq!(timer.exchange_period(ns(0)), Ok(secs(1)));
    assert_eq!((timer.period(), timer.call().map(|_| ())), (ns(0), Ok(())));
    assert_eq!(
        timer.time_until(),
        Some(ns(0)),
        "a period of zero is always due"
    );
    timer.exchange_period(secs(2)).unwrap();
    timer.reset();
    assert_eq!(timer.time_until(), Some(secs(2)));
    timer.cancel();
    assert_eq!(
        (timer.is_canceled(), timer.is_ready(), timer.time_until()),
        (true, false, None)
    );
    assert_eq!(timer.call(), Err(TimerError::Canceled));
    test.advance(secs(9));
    assert_eq!(timer.wait(OnJump::Continue), Err(TimerError::Canceled));
    timer.reset();
    assert_eq!(
        (timer.is_canceled(), timer.time_until()),
        (false, Some(secs(2)))
    );
    test.writer().set(at(-1)); // rcl refuses negative times; recordings have them
    assert!(timer.call().is_ok());
}

#[test]
fn invalid_periods_are_errors_and_the_longest_and_zero_are_valid() {
    let clock = TestClock::new(at(1)).ros();
    for bad in [ns(-1), Duration::MIN] {
        assert_eq!(
            Timer::new(&clock, bad).map(drop),
            Err(InvalidPeriod::Negative(bad))
        );
        assert!(Timers::new(&clock).add(bad, |_, _| {}).is_err());
    }
    let forever = Timer::new(&clock, Duration::MAX).unwrap();
    assert!(!forever.is_ready() && forever.time_until() > Some(secs(86_400)));
    assert!(forever.exchange_period(ns(-1)).is_err());
    let zero = Timer::new(&clock, ns(0)).unwrap();
    for _ in 0..3 {
        assert!(zero.is_ready() && zero.call().is_ok());
    }
    let idle = Timer::new(&clock, TimerOptions::new(ns(5)).start(Start::OnReset)).unwrap();
    assert!(idle.is_canceled() && idle.call().is_err());
    idle.reset();
    assert_eq!(idle.time_until(), Some(ns(5)));
}

/// A tick before the deadline does not.
#[test]
fn a_tick_at_or_after_the_deadline_ends_a_wait_for_a_timer() {
    let test = TestClock::new(at(SEC));
    let clock = test.ros();
    let timer = Timer::new(&clock, secs(1)).unwrap();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| timer.wait(OnJump::Continue));
        test.wait_asleep(&clock, 1);
        test.set(at(SEC * 3 / 2));
        assert!(!waiting.is_finished());
        test.set(at(5 * SEC));
        let tick = waiting.join().unwrap().unwrap();
        assert_eq!(
            (tick.expected, tick.actual, tick.missed),
            (at(2 * SEC), at(5 * SEC), 3)
        );
        for end in [Timer::cancel, |_: &Timer| {}] {
            let cancel = Cancel::new();
            let options = OnJump::Continue.unless(&cancel);
            let waiting = scope.spawn(|| timer.wait(options));
            test.wait_asleep(&clock, 1);
            end(&timer);
            cancel.cancel();
            let error = waiting.join().unwrap().unwrap_err();
            let causes = [TimerError::Canceled, SleepError::Cancelled.into()];
            assert!(causes.contains(&error), "{error}");
            timer.reset();
        }
    });
}

/// A set with one timer, and the times in nanoseconds at which it was served.
fn logged_timer(clock: &Clock<Ros>, options: TimerOptions) -> (Timers<Ros>, Arc<Mutex<Vec<i64>>>) {
    let served = Arc::new(Mutex::new(Vec::new()));
    let mut timers = Timers::new(clock);
    let log = Arc::clone(&served);
    timers
        .add(options, move |_, tick| {
            log.lock().unwrap().push(tick.actual.as_nanos());
        })
        .unwrap();
    (timers, served)
}

/// The cases are those of roscpp; by rcl's rule there is one call for each jump.
#[test]
fn a_timer_on_simulated_time_is_called_once_for_each_jump() {
    let period = Duration::from_millis(10);
    // (options, steps, length of a step in ms, calls)
    for (options, steps, length, calls) in [
        (TimerOptions::new(period), 1_000, 1, 100),
        (TimerOptions::once(period), 1_000, 1, 1),
        (TimerOptions::new(period), 100, 100, 100),
        (
            TimerOptions::new(period).missed(MissedTicks::Delay),
            100,
            100,
            100,
        ),
        (TimerOptions::new(period).start(Start::OnReset), 1_000, 1, 0),
    ] {
        let test = TestClock::new(at(SEC));
        let (mut timers, served) = logged_timer(&test.ros(), options);
        for _ in 0..steps {
            test.advance(Duration::from_millis(length));
            timers.run_due();
            assert_eq!(timers.run_due(), 0, "one call for each jump");
        }
        assert_eq!(served.lock().unwrap().len(), calls, "{options:?}");
    }
    let test = TestClock::new(at(SEC));
    let options = TimerOptions::new(period).missed(MissedTicks::Burst);
    let (mut timers, _) = logged_timer(&test.ros(), options);
    test.advance(Duration::from_millis(100));
    let calls = std::iter::from_fn(|| Some(timers.run_due()).filter(|calls| *calls > 0));
    assert_eq!(
        calls.count(),
        10,
        "a burst is one call for each missed tick"
    );
}

#[test]
fn driven_timers_are_served_at_their_deadlines_in_order() {
    fn check<K: Kind>(test: &TestClock, clock: &Clock<K>) {
        let served = Arc::new(Mutex::new(Vec::new()));
        let mut timers = Timers::new(clock);
        for (name, period) in [("a", 3), ("b", 2)] {
            let log = Arc::clone(&served);
            let start = clock.now();
            timers
                .add(ns(period), move |_, tick| {
                    assert_eq!((tick.expected, tick.missed), (tick.actual, 0));
                    log.lock()
                        .unwrap()
                        .push(format!("{name}{}", (tick.actual - start).as_nanos()));
                })
                .unwrap();
        }
        test.drive(&mut timers, ns(7));
        assert_eq!(*served.lock().unwrap(), ["b2", "a3", "b4", "a6", "b6"]);
    }
    let test = TestClock::new(at(1));
    check(&test, &test.ros());
    check(&test, &test.steady());
    check(&test, &test.system());
}

#[test]
fn canceled_and_removed_timers_are_not_called_and_the_others_are() {
    let test = TestClock::new(at(1));
    let clock = test.ros();
    let mut timers = Timers::new(&clock);
    assert_eq!((timers.time_until(), timers.run_due()), (None, 0));
    let calls: [Arc<AtomicUsize>; 3] = Default::default();
    let counts = || calls.each_ref().map(|calls| calls.load(Ordering::Relaxed));
    let count = |which: usize| {
        let calls = Arc::clone(&calls[which]);
        move || calls.fetch_add(1, Ordering::Relaxed)
    };
    let (first, second, third) = (count(0), count(1), count(2));
    timers
        .add(ns(10), move |timer, _| {
            if first() == 4 {
                timer.cancel();
            }
        })
        .unwrap();
    timers
        .add(ns(10), move |_, _| {
            second();
        })
        .unwrap();
    let removed = timers
        .add(ns(10), move |_, _| {
            third();
        })
        .unwrap();
    test.drive(&mut timers, ns(30));
    timers.remove(&removed);
    timers.remove(&removed);
    test.drive(&mut timers, ns(70));
    assert_eq!(counts(), [5, 10, 3]);
    test.advance(ns(35)); // not served for three periods
    timers.run_due();
    assert_eq!(counts(), [5, 11, 3]);
}

#[test]
fn run_wakes_only_at_deadlines_and_ends_by_cancellation() {
    let test = TestClock::new(at(1));
    let clock = test.ros();
    let (cancel, served) = (Cancel::new(), Arc::new(AtomicUsize::new(0)));
    let mut timers = Timers::new(&clock);
    let (count, done) = (Arc::clone(&served), cancel.clone());
    timers
        .add(ns(100), move |_, _| {
            if count.fetch_add(1, Ordering::Relaxed) == 1 {
                done.cancel();
            }
        })
        .unwrap();
    thread::scope(|scope| {
        let runner = scope.spawn(|| timers.run(OnJump::Continue.unless(&cancel)));
        test.wait_asleep(&clock, 1);
        for time in 2..=100 {
            test.set(at(time));
        }
        assert_eq!(
            test.wakeups(&clock),
            0,
            "no tick before the deadline wakes it"
        );
        test.set(at(101));
        while served.load(Ordering::Relaxed) == 0 {
            thread::yield_now();
        }
        test.set(at(50)); // before the last call: due at 150
        test.set(at(150));
        assert_eq!(runner.join().unwrap(), SleepError::Cancelled);
    });
    test.writer().shut_down();
    assert_eq!(timers.run(OnJump::Continue), SleepError::Shutdown);
}

#[test]
fn timers_run_on_the_machines_clock() {
    let clock = Clock::steady();
    let timer = Timer::new(&clock, Duration::from_millis(2)).unwrap();
    let first = timer.wait(OnJump::Continue).unwrap();
    let second = timer.wait(OnJump::Continue).unwrap();
    assert!(first.actual >= first.expected && second.actual >= second.expected);
    assert!(second.expected - first.expected >= timer.period());
}

/// Rates in Hz, invalid rates, cycles that were kept and missed, reset. The unit tests of `rate.rs` have more cycles.
#[test]
fn a_rate_keeps_its_cycles_and_begins_anew_after_reset_and_step_back() {
    let test = TestClock::new(at(SEC));
    let clock = test.ros();
    for (hz, millis) in [(1.0, 1_000), (2.0, 500), (0.5, 2_000), (4.0, 250)] {
        let rate = Rate::from_hz(&clock, hz).unwrap();
        assert_eq!(rate.period(), Duration::from_millis(millis));
    }
    for hz in [0.0, -1.0, f64::INFINITY, f64::NAN, 1e10] {
        assert!(Rate::from_hz(&clock, hz).is_err(), "{hz}");
    }
    for period in [ns(0), secs(-1)] {
        let error = Rate::new(&clock, period).unwrap_err();
        assert_eq!(error, InvalidPeriod::NotPositive(period));
    }
    let mut rate = Rate::new(&clock, ns(100)).unwrap();
    let mut cycle = |work: i64, wake: i64| {
        test.advance(ns(work));
        thread::scope(|scope| {
            let sleeper = scope.spawn(|| (rate.sleep(OnJump::ErrorOnBackward), rate.last_cycle()));
            if wake > 0 {
                test.wait_asleep(&clock, 1);
                test.advance(ns(wake - 1));
                assert!(!sleeper.is_finished());
                test.advance(ns(1));
            }
            sleeper.join().unwrap()
        })
    };
    assert_eq!(cycle(50, 50), (Ok(Cycle::Kept), ns(50)));
    assert_eq!(
        cycle(100, 0),
        (Ok(Cycle::Missed), ns(100)),
        "now is the end: late"
    );
    assert_eq!(cycle(150, 0), (Ok(Cycle::Missed), ns(150)));
    assert_eq!(cycle(10, 40), (Ok(Cycle::Kept), ns(60)), "the grid is kept");
    // Without the reset the first of these cycles would be missed.
    test.advance(ns(250));
    rate.reset();
    test.advance(ns(30));
    for (sleeps, back) in [(70, 0), (100, SEC)] {
        test.rewind(ns(back)); // to before the start of the cycle: a new one begins
        thread::scope(|scope| {
            let sleeper = scope.spawn(|| rate.sleep(OnJump::Continue));
            test.wait_asleep(&clock, 1);
            test.advance(ns(sleeps - 1));
            test.wait_asleep(&clock, 1);
            assert!(!sleeper.is_finished());
            test.advance(ns(1));
            assert_eq!(sleeper.join().unwrap(), Ok(Cycle::Kept));
        });
    }
    thread::scope(|scope| {
        let sleeper = scope.spawn(|| rate.sleep(OnJump::ErrorOnBackward));
        test.wait_asleep(&clock, 1);
        test.rewind(ns(1));
        assert!(matches!(
            sleeper.join().unwrap(),
            Err(SleepError::TimeJumped(_))
        ));
    });
}

/// On each kind of clock: a period, half a period of work, a reset, one and a half.
#[test]
fn rates_keep_time_on_every_kind_of_clock() {
    fn check<K: Kind>(test: &TestClock, clock: &Clock<K>) {
        let start = clock.now();
        let mut rate = Rate::new(clock, ns(100)).unwrap();
        // (work, whether `reset` follows, how the cycle ends, when)
        for (work, resets, cycle, end) in [
            (0, false, Cycle::Kept, 100),
            (50, false, Cycle::Kept, 200),
            (50, true, Cycle::Kept, 350),
            (150, false, Cycle::Missed, 500),
            (0, false, Cycle::Kept, 550),
        ] {
            test.advance(ns(work));
            if resets {
                rate.reset();
            }
            thread::scope(|scope| {
                let sleeper = scope.spawn(|| rate.sleep(OnJump::ErrorOnBackward));
                if cycle == Cycle::Kept {
                    test.wait_asleep(clock, 1);
                    test.advance(start + ns(end) - clock.now() - ns(1));
                    test.wait_asleep(clock, 1);
                    assert!(!sleeper.is_finished());
                    test.advance(ns(1));
                }
                assert_eq!(sleeper.join().unwrap(), Ok(cycle), "until {end}");
            });
            assert_eq!(clock.now() - start, ns(end));
        }
    }
    let test = TestClock::new(at(SEC));
    let (inactive, _writer) = test.another_ros(Fallback::Zero);
    check(&test, &test.ros());
    check(&test, &inactive);
    check(&test, &test.system());
    check(&test, &test.steady());
}

/// Ten cycles of 10 Hz with different work in each stay on the grid: jitter does not add up.
#[test]
fn ten_cycles_of_a_rate_are_on_its_grid() {
    let test = TestClock::new(at(SEC));
    let clock = test.ros();
    let mut rate = Rate::from_hz(&clock, 10.0).unwrap();
    for cycle in 1..=10 {
        test.advance(Duration::from_millis(cycle * 37 % 100));
        thread::scope(|scope| {
            let sleeper = scope.spawn(|| (rate.sleep(OnJump::Continue), clock.now()));
            test.wait_asleep(&clock, 1);
            test.set(at(SEC) + Duration::from_millis(cycle * 100));
            let end = at(SEC + cycle * SEC / 10);
            assert_eq!(sleeper.join().unwrap(), (Ok(Cycle::Kept), end));
        });
    }
}

/// A cycle of four months.
#[test]
fn a_slow_rate_ends_by_cancellation_and_with_the_clock() {
    let test = TestClock::new(at(SEC));
    let clock = test.ros();
    let (mut rate, cancel) = (Rate::from_hz(&clock, 1e-7).unwrap(), Cancel::new());
    let ends: [(&dyn Fn(), _); 2] = [
        (&|| cancel.cancel(), SleepError::Cancelled),
        (&|| test.writer().shut_down(), SleepError::Shutdown),
    ];
    for (end, error) in ends {
        let options = match error {
            SleepError::Cancelled => OnJump::Continue.unless(&cancel),
            _ => OnJump::Continue.into(),
        };
        thread::scope(|scope| {
            let sleeper = scope.spawn(|| rate.sleep(options));
            test.wait_asleep(&clock, 1);
            end();
            assert_eq!(sleeper.join().unwrap(), Err(error));
        });
    }
}

#[test]
fn a_wait_that_is_cancelled_takes_no_tick() {
    let test = TestClock::new(at(SEC));
    let clock = test.ros();
    let (timer, cancel) = (Timer::new(&clock, secs(1)).unwrap(), Cancel::new());
    thread::scope(|scope| {
        let waiting = scope.spawn(|| timer.wait(OnJump::Continue.unless(&cancel)));
        test.wait_asleep(&clock, 1);
        test.advance(Duration::from_millis(100));
        cancel.cancel();
        let error = waiting.join().unwrap().unwrap_err();
        assert_eq!(error, SleepError::Cancelled.into());
    });
    assert_eq!(
        (timer.is_ready(), timer.time_until(), timer.since_last()),
        (
            false,
            Some(Duration::from_millis(900)),
            Duration::from_millis(100)
        )
    );
}

/// The timer's methods in its own callback.
#[test]
fn in_a_callback_the_tick_has_been_taken() {
    // (period, how long it is until the next one, whether that is due)
    for (period, until, is_ready) in [
        (ns(0), ns(0), true),
        (Duration::from_millis(1), Duration::from_millis(1), false),
    ] {
        let test = TestClock::new(at(SEC));
        let mut timers = Timers::new(&test.ros());
        let (sender, receiver) = std::sync::mpsc::sync_channel(1);
        timers
            .add(period, move |timer, tick| {
                let seen = (timer.time_until(), timer.is_ready());
                sender.send((seen, tick.expected <= tick.actual)).unwrap();
            })
            .unwrap();
        test.advance(period);
        assert_eq!(timers.run_due(), 1);
        assert_eq!(receiver.recv(), Ok(((Some(until), is_ready), true)));
    }
}

/// Each callback takes longer than its period. A timer that is far from due is not called.
#[test]
fn long_callbacks_do_not_keep_run_from_ending() {
    let test = Arc::new(TestClock::new(at(SEC)));
    let clock = test.ros();
    let cancel = Cancel::new();
    let (sender, receiver) = std::sync::mpsc::sync_channel(0);
    let mut timers = Timers::new(&clock);
    let works = Arc::clone(&test);
    timers
        .add(Duration::from_millis(1), move |_, _| {
            works.advance(Duration::from_millis(5));
            let _ = sender.try_send(());
        })
        .unwrap();
    timers
        .add(secs(1_000_000), |_, _| panic!("it is not due"))
        .unwrap();
    test.advance(Duration::from_millis(1));
    thread::scope(|scope| {
        let runner = scope.spawn(|| timers.run(OnJump::Continue.unless(&cancel)));
        for _ in 0..3 {
            receiver.recv().unwrap();
        }
        cancel.cancel();
        assert_eq!(runner.join().unwrap(), SleepError::Cancelled);
    });
}

#[test]
fn a_timer_is_called_once_a_period_and_not_while_it_is_canceled() {
    for millis in [100, 10, 1] {
        let test = TestClock::new(at(SEC));
        let mut timers = Timers::new(&test.ros());
        let calls = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&calls);
        let half = Duration::from_millis(millis) / 2;
        let timer = timers
            .add(half * 2, move |_, _| {
                count.fetch_add(1, Ordering::Relaxed);
            })
            .unwrap();
        // (what happens, half periods that pass then, calls)
        let goes_on: fn(&Timer) = |_| {};
        let steps = [
            (goes_on, 1, 0),
            (goes_on, 8, 4),
            (Timer::cancel, 8, 0),
            (Timer::reset, 5, 2),
            (Timer::reset, 1, 0),
        ];
        for (happens, halves, expected) in steps {
            happens(&timer);
            test.drive(&mut timers, half * halves);
            let calls = calls.swap(0, Ordering::Relaxed);
            assert_eq!(calls, expected, "{halves} halves of {millis} ms");
        }
    }
}

#[test]
fn of_two_timers_only_the_one_that_is_due_is_ready() {
    for short in [50, 10] {
        let test = TestClock::new(at(1));
        let clock = test.ros();
        let periods = [short, 1_000].map(Duration::from_millis);
        let [short, long] = periods.map(|period| Timer::new(&clock, period).unwrap());
        test.advance(Duration::from_millis(100));
        assert!(short.is_ready() && !long.is_ready());
    }
}

#[test]
fn a_wait_for_a_timer_goes_on_after_a_change_of_source() {
    let test = TestClock::new(at(100 * SEC));
    let clock = test.ros();
    let timer = Timer::new(&clock, secs(5)).unwrap();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| timer.wait(OnJump::ErrorOnBackward));
        test.wait_asleep(&clock, 1);
        test.advance(secs(1));
        test.writer().deactivate();
        test.pass(secs(4) - ns(1));
        assert!(!waiting.is_finished());
        test.pass(ns(1));
        let tick = waiting.join().unwrap().unwrap();
        assert_eq!((tick.expected, tick.missed), (clock.now(), 0));
    });
}

/// Before a step back and after it.
#[test]
fn a_handler_sees_deadlines_that_fit_the_time_that_it_sees() {
    let test = TestClock::new(at(100));
    let clock = test.ros();
    let timer = Timer::new(&clock, ns(50)).unwrap();
    let (sender, receiver) = std::sync::mpsc::sync_channel(2);
    let seen = timer.clone();
    let _handle = clock
        .on_jump(backward(), move |_, _| {
            sender.send(seen.time_until()).unwrap();
        })
        .unwrap();
    test.set(at(120));
    test.set(at(10));
    assert_eq!(
        (receiver.recv().unwrap(), receiver.recv().unwrap()),
        (Some(ns(30)), Some(ns(50)))
    );
    assert_eq!(timer.time_until(), Some(ns(50)));
}
