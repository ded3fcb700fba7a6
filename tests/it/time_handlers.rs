//! What handlers, sleepers and those who watch them may expect of each other.
//!
//! Who waits in vain shows as a deadline that passes.

use std::panic::panic_any;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;

use bagplay::time::{
    Clock, ClockState, Cycle, Duration, Extrapolation, Fallback, JumpEvent, JumpFilter, JumpHandle,
    JumpKind, OnJump, Phase, Rate, Ros, Speed, TestClock, Time, Timer,
};

const PATIENCE: std::time::Duration = std::time::Duration::from_secs(30);

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
