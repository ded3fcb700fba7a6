//! Regression tests of race conditions, each with the interleaving that failed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Mutex};

use bagplay::clock::{
    ClockState, Extrapolation, Fallback, Feed, JumpFilter, NoSource, OnJump, Phase, SimTime,
    SourceError, TestClock, TimeSource, Timer,
};
use bagplay::time::{Duration, Speed};
use crossbeam_channel::{Receiver, Sender, bounded};

use super::support::{OpenSource, at, backward, fed, ns};

fn state(time: i64, factor: f64, generation: u64) -> ClockState {
    ClockState {
        generation,
        ..ClockState::new(at(time), Speed::from_f64(factor).ok())
    }
}

#[test]
fn a_wait_for_a_timer_ends_when_the_timer_is_due_again_after_time_ran_backwards() {
    let how = Extrapolation::for_at_most(Duration::from_secs(3600));
    let test = TestClock::new(at(1));
    let (clock, writer) = (test.ros(), test.writer());
    let timer = Timer::new(&clock, ns(99)).unwrap();
    writer.set_state(state(100, 0.0, 0), how);
    writer.set_state(state(100, -1.0, 0), how);
    test.pass(ns(5));
    writer.set_state(state(95, 0.0, 0), how);
    assert_eq!(clock.now(), at(95));
    let waiting = timer.clone();
    let woken = std::thread::spawn(move || waiting.wait(OnJump::Continue));
    test.wait_asleep(&clock, 1);
    writer.set_state(state(150, 0.0, 1), how);
    assert!(woken.join().unwrap().is_ok());
}

#[test]
fn clocks_agree_with_the_switch_after_enable_and_disable_at_once() {
    let test = TestClock::new(at(1));
    let sim = SimTime::on_test_clock(&test, NoSource);
    let clock = sim.clock();
    let (is_over, barrier) = (AtomicBool::new(false), Barrier::new(2));
    std::thread::scope(|scope| {
        // Threads that take the same locks make the race likely.
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    sim.complaints();
                }
            });
        }
        scope.spawn(|| {
            for _ in 0..2000 {
                barrier.wait();
                for _ in 0..3 {
                    sim.enable().unwrap();
                }
                barrier.wait();
            }
        });
        for round in 0..2000 {
            sim.enable().unwrap();
            barrier.wait();
            sim.disable();
            barrier.wait();
            assert_eq!(sim.is_enabled(), clock.is_active(), "round {round}");
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

/// Its first start fails, and waits for `go_on` before that.
struct FailsOnce {
    is_starting: Sender<()>,
    go_on: Receiver<()>,
    has_failed: bool,
}

impl TimeSource for FailsOnce {
    fn start(&mut self, _: &Feed) -> Result<(), SourceError> {
        if std::mem::replace(&mut self.has_failed, true) {
            return Ok(());
        }
        self.is_starting.send(()).unwrap();
        self.go_on.recv().unwrap();
        Err(SourceError::NoSystemClock)
    }

    fn stop(&mut self) {}
}

#[test]
fn a_clock_that_is_made_while_a_source_fails_to_start_is_driven_after_enable() {
    let ((is_starting, starting), (go, go_on)) = (bounded(0), bounded(0));
    let test = TestClock::new(at(1));
    let source = FailsOnce {
        is_starting,
        go_on,
        has_failed: false,
    };
    let sim = SimTime::on_test_clock(&test, source);
    let starter = sim.clone();
    let enabling = std::thread::spawn(move || starter.enable());
    starting.recv().unwrap();
    let clock = sim.clock();
    go.send(()).unwrap();
    enabling.join().unwrap().unwrap_err();
    assert!(!clock.is_active());
    sim.enable().unwrap();
    assert!(clock.is_active());
}

#[test]
fn a_clock_that_a_handler_makes_and_hands_over_follows_its_new_source() {
    let test = TestClock::new(at(1));
    let (sim, feed) = SimTime::fed_on_test_clock(&test);
    let clock = sim.clock();
    sim.enable().unwrap();
    let other = SimTime::on_test_clock(&test, NoSource);
    let made = Arc::new(Mutex::new(None));
    let (slot, from, to) = (Arc::clone(&made), sim.clone(), other.clone());
    let _handle = clock.on_jump(backward(), move |phase, _| {
        if phase == Phase::After {
            let clock = from.clock();
            from.hand_over(&clock, &to);
            *slot.lock().unwrap() = Some(clock);
        }
    });
    feed.time(at(100));
    feed.time(at(50));
    let made = made.lock().unwrap().take().unwrap();
    assert!(!made.is_active(), "the other source is off");
    other.enable().unwrap();
    assert!(made.is_active());
}

#[test]
fn a_tick_of_the_former_source_does_not_reach_a_clock_that_was_handed_over() {
    let test = TestClock::new(at(1));
    let ((from, feed), (to, _)) = (fed(&test, 10), fed(&test, 1_000));
    let (first, second) = (from.clock(), from.clock());
    let (sim, moved) = (from.clone(), second.clone());
    // The tick is delivered to the first clock, whose handler hands the second one over.
    let _handle = first.on_tick(move |_| sim.hand_over(&moved, &to));
    feed.time(at(50));
    assert_eq!(first.now(), at(50));
    assert_eq!(second.now(), at(1_000));
}

#[test]
fn a_clock_that_was_released_shows_system_time_at_once_and_for_good() {
    let test = TestClock::new(at(1));
    let (sim, feed) = fed(&test, 10);
    let (first, second) = (sim.clock(), sim.clock());
    let (from, released, system) = (sim.clone(), second.clone(), test.system());
    let was_active = Arc::new(AtomicBool::new(true));
    let is_active = Arc::clone(&was_active);
    let _handle = first.on_tick(move |_| {
        from.release(&released);
        is_active.store(released.is_active(), Ordering::SeqCst);
    });
    feed.time(at(50));
    assert!(!was_active.load(Ordering::SeqCst), "when it was released");
    assert_eq!(second.now().as_nanos(), system.now().as_nanos());
}

#[test]
fn a_clock_is_handed_over_by_a_handler_of_its_own_start() {
    let test = TestClock::new(at(1));
    let ((from, feed), (to, _)) = (fed(&test, 10), fed(&test, 1_000));
    let (clock, writer) = test.another_ros(Fallback::Zero);
    let (sim, own) = (from.clone(), clock.clone());
    let is_new = AtomicBool::new(true);
    let filter = JumpFilter::new().clock_changes();
    let _handle = clock.on_jump(filter, move |phase, _| {
        if phase == Phase::After && is_new.swap(false, Ordering::SeqCst) {
            sim.hand_over(&own, &to);
        }
    });
    from.attach(writer);
    feed.time(at(50));
    assert_eq!(clock.now(), at(1_000));
}

#[test]
fn a_clock_that_is_active_when_it_is_attached_follows_its_new_source() {
    let test = TestClock::new(at(1));
    let sim = SimTime::on_test_clock(&test, NoSource);
    let attach_active = || {
        let (clock, writer) = test.another_ros(Fallback::Zero);
        writer.activate();
        writer.set(at(5));
        sim.attach(writer);
        clock
    };
    assert!(!attach_active().is_active(), "sim time is off");
    sim.enable().unwrap();
    let clock = attach_active();
    assert!(clock.is_active());
    assert!(!clock.started(), "the new source has fed nothing");
}

/// Panics when it is started.
struct PanicsInStart;

impl TimeSource for PanicsInStart {
    fn start(&mut self, feed: &Feed) -> Result<(), SourceError> {
        feed.time(at(13));
        panic!("broken");
    }

    fn stop(&mut self) {}
}

#[test]
fn a_source_that_panics_in_its_start_can_be_replaced() {
    let test = TestClock::new(at(1));
    let sim = SimTime::on_test_clock(&test, PanicsInStart);
    let clock = sim.clock();
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| sim.enable())).unwrap_err();
    assert!(!sim.is_enabled() && !clock.is_active());
    let source = OpenSource::default();
    sim.replace_source(source.clone()).unwrap();
    sim.enable().unwrap();
    assert!(clock.is_active() && !clock.started());
    source.feed().time(at(7));
    assert_eq!(clock.now(), at(7));
}
