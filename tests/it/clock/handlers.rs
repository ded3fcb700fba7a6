//! What handlers, sleepers and observers may expect of each other.
//!
//! A thread that waits in vain shows as an expired deadline.

use std::panic::panic_any;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use bagplay::clock::{
    Cancel, Clock, ClockState, Cycle, Extrapolation, Fallback, JumpEvent, JumpFilter, JumpHandle,
    JumpKind, OnJump, Phase, Rate, SleepError, SleepOptions, TestClock, Timer, TimerError, Timers,
};
use bagplay::time::{Duration, Ros, Speed, Time};

use crate::support::patience::PATIENCE;

const SEC: i64 = 1_000_000_000;

fn at(nanos: i64) -> Time<Ros> {
    Time::from_nanos(nanos)
}

fn ns(nanos: i64) -> Duration {
    Duration::from_nanos(nanos)
}

fn back() -> JumpFilter {
    JumpFilter::new().min_backward(ns(1))
}

/// What `call` gives, in a thread of its own; a panic if it does not come back.
fn ends<T: Send + 'static>(call: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, is_done) = sync_channel(1);
    let calling = thread::spawn(move || {
        let found = call();
        done.send(()).unwrap();
        found
    });
    // A hang-up is a panic in there.
    let waited = is_done.recv_timeout(PATIENCE);
    assert_ne!(waited, Err(RecvTimeoutError::Timeout), "it hangs");
    calling.join().unwrap()
}

/// Puts the time before each line, as programs do.
struct Stamps(Clock);

impl tracing::Subscriber for Stamps {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, _: &tracing::Event<'_>) {
        self.0.now();
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

#[test]
fn a_panic_of_a_handler_is_logged_with_the_time() {
    let test = TestClock::new(at(100));
    let clock = test.ros();
    let handle = clock.on_jump(back(), |_, _| panic!("its own fault"));
    let stamps = Stamps(clock.clone());
    let _test = ends(move || {
        tracing::subscriber::with_default(stamps, || test.set(at(10)));
        test
    });
    assert_eq!((handle.unwrap().panics(), clock.now()), (2, at(10)));
}

/// Does it when it is dropped.
struct Last<F: FnMut()>(F);

impl<F: FnMut()> Drop for Last<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// A handler that drops its own handle and with that what it owns, which then does `last`.
fn owns(clock: &Clock, last: impl FnMut() + Send + 'static) {
    let slot = Arc::new(Mutex::new(None::<JumpHandle>));
    let (own, last) = (Arc::clone(&slot), Last(last));
    let handle = clock.on_jump(back(), move |_, _| {
        let _owned = &last;
        own.lock().unwrap().take();
    });
    *slot.lock().unwrap() = Some(handle.unwrap());
}

#[test]
fn what_a_handler_owns_may_read_the_clock_when_it_goes() {
    let test = TestClock::new(at(100));
    let clock = test.ros();
    let timer = Timer::new(&clock, ns(5)).unwrap();
    let (tell, told) = sync_channel(1);
    let (own, canceled) = (clock.clone(), timer.clone());
    owns(&clock, move || {
        canceled.cancel();
        tell.send(own.now()).unwrap();
    });
    let _test = ends(move || {
        test.set(at(10));
        test
    });
    assert_eq!(told.recv().unwrap(), at(10), "it is after the jump");
    assert!(timer.is_canceled());
}

#[test]
fn what_a_handler_owns_may_panic_when_it_goes() {
    let test = TestClock::new(at(100));
    let clock = test.ros();
    owns(&clock, || panic!("its own fault"));
    let other = clock.on_jump(back(), |_, _| {
        panic_any(Last(|| panic!("the payload's own fault")))
    });
    test.set(at(10));
    test.set(at(5));
    let now = ends(move || clock.now());
    assert_eq!((now, other.unwrap().panics()), (at(5), 4));
}

/// Sleeps until `target` in another thread; once it is asleep, `events` happen. How the sleep ended.
fn asleep(
    test: &TestClock,
    target: Time<Ros>,
    options: impl Into<SleepOptions>,
    events: impl FnOnce(&TestClock),
) -> Result<(), SleepError> {
    let (clock, options) = (test.ros(), options.into());
    let sleeper = thread::spawn(move || clock.sleep_until(target, options));
    test.wait_asleep(&test.ros(), 1);
    events(test);
    ends(move || sleeper.join().unwrap())
}

/// Both moves are made at once after the handler of another, so that no sleeper runs between them.
#[test]
fn a_sleeper_whose_time_was_shown_is_done_whatever_is_shown_next() {
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
            let ended = asleep(&test, at(200), policy, |test| test.set(at(160)));
            assert_eq!(ended, Ok(()), "{policy:?}");
        }
    }
}

#[test]
fn a_sleeper_whose_time_was_passed_on_a_line_is_done() {
    let how = Extrapolation::for_at_most(ns(SEC));
    let state = |time, factor, generation| ClockState {
        generation,
        ..ClockState::new(at(time), Speed::from_f64(factor).ok())
    };
    for (factor, generation) in [(0.0, 1), (-1.0, 0)] {
        for _ in 0..20 {
            let test = TestClock::new(at(1));
            test.writer().set_state(state(100, 1.0, 0), how);
            let ended = asleep(&test, at(200), OnJump::ErrorOnBackward, |test| {
                test.pass(ns(120));
                let next = state(if generation == 0 { 220 } else { 50 }, factor, generation);
                test.writer().set_state(next, how);
                test.pass(ns(100));
            });
            assert_eq!(ended, Ok(()));
        }
    }
}

/// A date that is set past the target and back again.
#[test]
fn a_sleeper_whose_date_was_shown_is_done() {
    let test = TestClock::new(at(1));
    let system = test.system();
    for _ in 0..20 {
        let (now, sleeping) = (system.now(), system.clone());
        let sleeper = thread::spawn(move || sleeping.sleep_until(now + ns(100), OnJump::Continue));
        test.wait_asleep(&system, 1);
        test.set_system(Some(now + ns(100)));
        test.set_system(Some(now));
        assert_eq!(ends(move || sleeper.join().unwrap()), Ok(()));
    }
}

/// In place of a while: who was woken counts as asleep when it has looked and waits again.
#[test]
fn who_was_woken_and_has_not_run_yet_is_not_asleep() {
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
    assert_eq!(ends(move || serving.join().unwrap()), 0);
    let mut rate = Rate::new(&clock, ns(10)).unwrap();
    let cycling = thread::spawn(move || {
        let cycles = (0..TICKS).map(|_| rate.sleep(OnJump::Continue).unwrap());
        cycles.filter(|cycle| *cycle == Cycle::Missed).count()
    });
    for _ in 0..TICKS {
        test.wait_asleep(&clock, 1);
        test.advance(ns(10));
    }
    assert_eq!(ends(move || cycling.join().unwrap()), 0);
}

#[test]
fn handlers_of_two_clocks_that_sleep_until_what_was_do_not_wait_in_a_circle() {
    for held_in in [Phase::Before, Phase::After] {
        let tests = [(); 2].map(|()| Arc::new(TestClock::new(at(100))));
        let [one, other] = tests.each_ref().map(|test| test.ros());
        let both = Arc::new(Barrier::new(2));
        let handles = [(&one, &other), (&other, &one)].map(|(clock, slept_on)| {
            let (slept_on, both) = (slept_on.clone(), Arc::clone(&both));
            let handle = clock.on_jump(back(), move |phase, _| {
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
            ends(move || moving.join().unwrap());
        }
        assert!(handles.iter().all(|handle| handle.panics() == 0));
    }
}

fn slept(rate: &Arc<Mutex<Rate>>, test: &TestClock, way: &[i64], waking: i64) -> Cycle {
    let sleeping = Arc::clone(rate);
    let sleeper = thread::spawn(move || sleeping.lock().unwrap().sleep(OnJump::Continue).unwrap());
    test.wait_asleep(&test.ros(), 1);
    for time in way {
        test.set(at(*time));
        test.wait_asleep(&test.ros(), 1);
    }
    test.set(at(waking));
    ends(move || sleeper.join().unwrap())
}

/// As in roscpp, after a step back during the sleep the cycle begins again at the new time.
#[test]
fn a_rate_that_sleeps_over_a_step_back_begins_anew() {
    let test = TestClock::new(at(1_300));
    let rate = Arc::new(Mutex::new(Rate::new(&test.ros(), ns(100)).unwrap()));
    test.set(at(1_350));
    assert_eq!(slept(&rate, &test, &[1_310, 1_399], 1_400), Cycle::Kept);
    assert_eq!(slept(&rate, &test, &[1_450, 500, 599], 600), Cycle::Kept);
    let way = [650, 200, 250, 100, 150, 199];
    assert_eq!(slept(&rate, &test, &way, 200), Cycle::Kept);
    assert_eq!(slept(&rate, &test, &[299], 300), Cycle::Kept, "in the grid");
}

/// The new cycle's end is shown and gone before the sleeper has run.
#[test]
fn a_rate_that_was_set_back_misses_no_end_that_was_shown() {
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
    assert_eq!(slept(&rate, &test, &[], 160), Cycle::Kept);
}

/// The first cycle begins with the first time of the clock.
#[test]
fn a_rate_without_a_time_begins_with_the_first() {
    for starts_asleep in [true, false] {
        let test = TestClock::new(Time::ZERO);
        let rate = Rate::new(&test.ros(), ns(100)).unwrap();
        let rate = Arc::new(Mutex::new(rate));
        let start = 1_700_000_000 * SEC;
        let way = [start, start + 99];
        if starts_asleep {
            assert_eq!(slept(&rate, &test, &way, start + 100), Cycle::Kept);
            assert_eq!(rate.lock().unwrap().last_cycle(), ns(0));
        } else {
            test.set(at(start));
            test.set(at(start + 30));
            assert_eq!(slept(&rate, &test, &way[1..], start + 100), Cycle::Kept);
            assert_eq!(rate.lock().unwrap().last_cycle(), ns(30));
        }
        test.set(at(start + 150));
        assert_eq!(
            slept(&rate, &test, &[start + 199], start + 200),
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

/// The machine's clock was shown until then: another clock takes over.
#[test]
fn a_source_that_starts_after_a_fallback_is_a_change_of_clock() {
    let test = Arc::new(TestClock::with_fallback(Time::ZERO, Fallback::Machine));
    let clock = test.ros();
    let (told, tell) = sync_channel(4);
    let (reached, is_reached) = sync_channel(1);
    let (release, released) = sync_channel::<()>(1);
    let _handle = clock.on_jump(back().clock_changes(), move |phase, jump| {
        told.send((phase, jump)).unwrap();
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
    assert_eq!(tell.recv_timeout(PATIENCE), Ok((Phase::Before, jump)));
    assert_eq!(tell.recv_timeout(PATIENCE), Ok((Phase::After, jump)));
    is_reached.recv().unwrap();
    let reading = clock.clone();
    let reader = thread::spawn(move || reading.now());
    test.wait_asleep(&clock, 1);
    release.send(()).unwrap();
    ends(move || moving.join().unwrap());
    assert_eq!(ends(move || reader.join().unwrap()), at(5));

    let test = TestClock::new(Time::ZERO);
    let (told, tell) = sync_channel(4);
    let _handle = test
        .ros()
        .on_jump(JumpFilter::new().clock_changes(), move |_, jump| {
            told.send(jump).unwrap();
        });
    test.set(at(5));
    assert!(tell.try_recv().is_err(), "no time before is no other clock");
}

/// Waits of any kind end while a handler of a backward jump holds up the time.
#[test]
fn waits_can_be_cancelled_while_a_jump_is_handled() {
    let test = Arc::new(TestClock::new(at(100)));
    let clock = test.ros();
    let timer = Timer::new(&clock, ns(1_000)).unwrap();
    let mover = Arc::clone(&test);
    let (own, outcome) = (clock.clone(), Arc::new(Mutex::new(Vec::new())));
    let log = Arc::clone(&outcome);
    let handle = clock.on_jump(back(), move |_, _| {
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
    ends(move || moving.set(at(10)));
    assert_eq!(*outcome.lock().unwrap(), [SleepError::Cancelled; 8]);
    assert_eq!(handle.unwrap().panics(), 0);
}

#[test]
fn a_sleep_that_begins_while_a_jump_is_handled_counts_from_after_it() {
    let test = Arc::new(TestClock::new(at(100)));
    let clock = test.ros();
    let (own, mover) = (clock.clone(), Arc::clone(&test));
    let sleeper = Arc::new(Mutex::new(None));
    let sleeping = Arc::clone(&sleeper);
    let _handle = clock.on_jump(back(), move |phase, _| {
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
    assert_eq!(ends(move || sleeper.join().unwrap()), Ok(()));
}

#[test]
fn a_clock_that_goes_on_by_itself_is_advanced_once() {
    let test = TestClock::new(at(1));
    let how = Extrapolation::for_at_most(ns(100));
    let state = ClockState::new(at(1_000), Some(Speed::NORMAL));
    test.writer().set_state(state, how);
    test.advance(ns(10));
    assert_eq!(test.ros().now(), at(1_010));
    test.pass(ns(5));
    assert_eq!(test.ros().now(), at(1_015), "it still goes on");
}

#[test]
fn time_on_the_machines_clocks_does_not_pass_backwards() {
    let test = TestClock::new(at(100));
    let shown = || (test.ros().now(), test.system().now(), test.steady().now());
    let before = shown();
    test.advance(ns(-5));
    test.pass(ns(-5));
    assert_eq!(shown(), before);
}

#[test]
fn who_waits_for_a_timer_hears_of_jumps_if_asked_to() {
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
    for (policy, way, ended) in [
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
        for time in way {
            test.set(at(*time));
        }
        let error = ended.map_or(Ok(()), |error| Err(TimerError::Wait(error)));
        let row = format!("{policy:?} by {way:?}");
        assert_eq!(ends(move || waiting.join().unwrap()), error, "{row}");
        let ended = ended.unwrap_or(SleepError::Cancelled);
        assert_eq!(ends(move || running.join().unwrap()), ended, "{row}");
    }
}

/// Also of one that comes while its callbacks run; they are all called first.
#[test]
fn a_set_of_timers_hears_of_a_jump_while_it_calls_back() {
    let test = Arc::new(TestClock::new(at(100)));
    let mut timers = Timers::new(&test.ros());
    let mover = Arc::clone(&test);
    timers.add(ns(0), move |_, _| mover.set(at(50))).unwrap();
    let ended = ends(move || timers.run(OnJump::ErrorOnBackward));
    assert!(matches!(ended, SleepError::TimeJumped(_)), "{ended}");
}

/// However fast jumps back follow each other: here each of them is the cause of the next.
#[test]
fn who_asks_for_the_time_waits_for_one_round_of_handlers() {
    let test = Arc::new(TestClock::new(at(10_000)));
    let (clock, mover) = (test.ros(), Arc::downgrade(&test));
    let (own, asking, mut rounds) = (clock.clone(), clock.clone(), 0);
    let _handle = clock.on_jump(back(), move |phase, jump| {
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
    let now = ends(move || {
        // Before the first jump it is the old time; then it waits, which the first handler waits for.
        std::iter::repeat_with(|| asking.now())
            .find(|now| *now != at(10_000))
            .unwrap()
    });
    moving.join().unwrap();
    assert_eq!((now, clock.now()), (at(9_000), at(8_000)));
}

/// What the log says.
struct Log(SyncSender<String>);

impl tracing::Subscriber for Log {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        struct Text(String);
        impl tracing::field::Visit for Text {
            fn record_debug(&mut self, _: &tracing::field::Field, value: &dyn std::fmt::Debug) {
                self.0 = format!("{}{value:?}", self.0);
            }
        }
        let mut text = Text(String::new());
        event.record(&mut text);
        self.0.try_send(text.0).unwrap();
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

/// Two threads that wait for each other: one has the lock and asks for the time, the other's handler wants the lock.
#[test]
fn a_handler_that_others_wait_for_in_vain_is_named_once() {
    let test = TestClock::new(at(100));
    let clock = test.ros();
    let history = Arc::new(Mutex::new(()));
    let (locked, kept) = (Arc::clone(&history), history.lock().unwrap());
    let (enter, is_inside) = sync_channel(1);
    let line = line!() + 1;
    let _handle = clock.on_jump(back(), move |phase, _| {
        if phase == Phase::Before {
            enter.send(()).unwrap();
            drop(locked.lock().unwrap());
        }
    });
    let (said, told) = sync_channel(10);
    thread::scope(|scope| {
        let asking = |said| {
            let clock = clock.clone();
            move || tracing::subscriber::with_default(Log(said), || clock.now())
        };
        let moving = scope.spawn(|| test.set(at(50)));
        is_inside.recv_timeout(PATIENCE).unwrap();
        let asking = [said.clone(), said].map(|said| scope.spawn(asking(said)));
        let warning = told.recv_timeout(PATIENCE).unwrap();
        let place = format!("{}:{line}", file!());
        assert!(warning.contains(&place), "{warning} does not name {place}");
        drop(kept);
        moving.join().unwrap();
        for asking in asking {
            assert_eq!(asking.join().unwrap(), at(50));
        }
        assert_eq!(told.try_iter().count(), 0, "it was told twice");
    });
}
