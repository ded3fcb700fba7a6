//! Regression tests of race conditions.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex};

use bagplay::bag::{Bag, Cues, Selection};
use bagplay::clock::{
    ClockState, Extrapolation, Fallback, Feed, JumpFilter, NoSource, OnJump, Phase, SimTime,
    SourceError, TestClock, TimeSource, Timer,
};
use bagplay::output::Null;
use bagplay::player::{Options, Pace, Player, Source};
use bagplay::time::{Duration, Speed, Time};
use crossbeam_channel::{Receiver, Sender, bounded};

const fn ns(nanos: i64) -> Duration {
    Duration::from_nanos(nanos)
}

fn state(time: i64, factor: f64, generation: u64) -> ClockState {
    ClockState {
        generation,
        ..ClockState::new(Time::from_nanos(time), Speed::from_f64(factor).ok())
    }
}

#[test]
fn a_timer_that_was_due_before_time_turned_back_is_woken_when_it_is_due_again() {
    let how = Extrapolation::for_at_most(Duration::from_secs(3600));
    let test = TestClock::new(Time::from_nanos(1));
    let (clock, writer) = (test.ros(), test.writer());
    let timer = Timer::new(&clock, ns(99)).unwrap();
    writer.set_state(state(100, 0.0, 0), how);
    writer.set_state(state(100, -1.0, 0), how);
    test.pass(ns(5));
    writer.set_state(state(95, 0.0, 0), how);
    assert_eq!(clock.now(), Time::from_nanos(95));
    let waiting = timer.clone();
    let woken = std::thread::spawn(move || waiting.wait(OnJump::Continue));
    test.wait_asleep(&clock, 1);
    writer.set_state(state(150, 0.0, 1), how);
    assert!(woken.join().unwrap().is_ok());
}

#[test]
fn switching_off_and_on_at_once_leaves_it_on_or_off() {
    let test = TestClock::new(Time::from_nanos(1));
    let sim = SimTime::on_test_clock(&test, NoSource);
    let clock = sim.clock();
    let (is_over, barrier) = (AtomicBool::new(false), Barrier::new(2));
    std::thread::scope(|scope| {
        // Others that take the same locks make the races.
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

/// Fails to start at first, and waits in it.
struct Late {
    is_starting: Sender<()>,
    go_on: Receiver<()>,
    has_failed: bool,
}

impl TimeSource for Late {
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
fn a_clock_that_is_made_while_a_source_fails_to_start_is_driven_later() {
    let ((is_starting, starting), (go, go_on)) = (bounded(0), bounded(0));
    let test = TestClock::new(Time::from_nanos(1));
    let late = Late {
        is_starting,
        go_on,
        has_failed: false,
    };
    let sim = SimTime::on_test_clock(&test, late);
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

/// Gives its feed away.
struct Open(Arc<Mutex<Option<Feed>>>);

impl TimeSource for Open {
    fn start(&mut self, feed: &Feed) -> Result<(), SourceError> {
        *self.0.lock().unwrap() = Some(feed.clone());
        Ok(())
    }

    fn stop(&mut self) {}
}

#[test]
fn a_clock_that_is_made_and_handed_over_in_a_jump_handler_is_gone_from_here() {
    let (test, feed) = (TestClock::new(Time::from_nanos(1)), Arc::default());
    let sim = SimTime::on_test_clock(&test, Open(Arc::clone(&feed)));
    let clock = sim.clock();
    sim.enable().unwrap();
    let other = SimTime::on_test_clock(&test, NoSource);
    let made = Arc::new(Mutex::new(None));
    let (tell, from, to) = (Arc::clone(&made), sim.clone(), other.clone());
    let filter = JumpFilter::new().min_backward(ns(1));
    let _handle = clock.on_jump(filter, move |phase, _| {
        if phase == Phase::After {
            let clock = from.clock();
            from.hand_over(&clock, &to);
            *tell.lock().unwrap() = Some(clock);
        }
    });
    let feed = feed.lock().unwrap().clone().unwrap();
    feed.time(Time::from_nanos(100));
    feed.time(Time::from_nanos(50));
    let made = made.lock().unwrap().take().unwrap();
    assert!(!made.is_active(), "the other source is off");
    other.enable().unwrap();
    assert!(made.is_active());
}

/// A source that is on and has said `time`, and its feed.
fn said(test: &TestClock, time: i64) -> (SimTime, Feed) {
    let feed = Arc::default();
    let sim = SimTime::on_test_clock(test, Open(Arc::clone(&feed)));
    sim.enable().unwrap();
    let feed = feed.lock().unwrap().clone().unwrap();
    feed.time(Time::from_nanos(time));
    (sim, feed)
}

#[test]
fn a_tick_that_is_on_its_way_does_not_reach_a_clock_that_was_handed_over() {
    let test = TestClock::new(Time::from_nanos(1));
    let ((from, feed), (to, _)) = (said(&test, 10), said(&test, 1_000));
    let (first, second) = (from.clock(), from.clock());
    let (sim, moved) = (from.clone(), second.clone());
    // The first clock is told before the second one, which is gone when its turn has come.
    let _handle = first.on_tick(move |_| sim.hand_over(&moved, &to));
    feed.time(Time::from_nanos(50));
    assert_eq!(first.now(), Time::from_nanos(50));
    assert_eq!(second.now(), Time::from_nanos(1_000));
}

#[test]
fn a_clock_that_was_released_shows_system_time_at_once_and_for_good() {
    let test = TestClock::new(Time::from_nanos(1));
    let (sim, feed) = said(&test, 10);
    let (first, second) = (sim.clock(), sim.clock());
    let (from, released, system) = (sim.clone(), second.clone(), test.system());
    let was_active = Arc::new(AtomicBool::new(true));
    let tell = Arc::clone(&was_active);
    let _handle = first.on_tick(move |_| {
        from.release(&released);
        tell.store(released.is_active(), Ordering::SeqCst);
    });
    feed.time(Time::from_nanos(50));
    assert!(!was_active.load(Ordering::SeqCst), "when it was released");
    assert_eq!(second.now().as_nanos(), system.now().as_nanos());
}

#[test]
fn a_clock_is_handed_over_by_a_handler_of_its_own_start() {
    let test = TestClock::new(Time::from_nanos(1));
    let ((from, feed), (to, _)) = (said(&test, 10), said(&test, 1_000));
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
    feed.time(Time::from_nanos(50));
    assert_eq!(clock.now(), Time::from_nanos(1_000));
}

#[test]
fn a_clock_that_is_active_when_it_is_attached_follows_its_new_source() {
    let test = TestClock::new(Time::from_nanos(1));
    let sim = SimTime::on_test_clock(&test, NoSource);
    let attach_active = || {
        let (clock, writer) = test.another_ros(Fallback::Zero);
        writer.activate();
        writer.set(Time::from_nanos(5));
        sim.attach(writer);
        clock
    };
    assert!(!attach_active().is_active(), "sim time is off");
    sim.enable().unwrap();
    let clock = attach_active();
    assert!(clock.is_active());
    assert!(!clock.started(), "the new source has said nothing");
}

/// Panics when it is started.
struct Broken;

impl TimeSource for Broken {
    fn start(&mut self, feed: &Feed) -> Result<(), SourceError> {
        feed.time(Time::from_nanos(13));
        panic!("broken");
    }

    fn stop(&mut self) {}
}

#[test]
fn a_source_that_panics_as_it_starts_holds_nothing_up() {
    let test = TestClock::new(Time::from_nanos(1));
    let sim = SimTime::on_test_clock(&test, Broken);
    let clock = sim.clock();
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| sim.enable())).unwrap_err();
    assert!(!sim.is_enabled() && !clock.is_active());
    let feed = Arc::default();
    sim.replace_source(Open(Arc::clone(&feed))).unwrap();
    sim.enable().unwrap();
    assert!(clock.is_active() && !clock.started());
    let feed = feed.lock().unwrap().clone().unwrap();
    feed.time(Time::from_nanos(7));
    assert_eq!(clock.now(), Time::from_nanos(7));
}

#[test]
fn a_message_is_no_other_motion_when_playing_as_fast_as_possible() {
    let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/demo.mcap");
    let bag = Bag::open(&[demo]).unwrap();
    let player = Player::new();
    let changes = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&changes);
    player.transport().on_change(Arc::new(move || {
        counted.fetch_add(1, Ordering::Relaxed);
    }));
    let cues = Cues::new(bag.clone(), Selection::all(&bag), 8 << 20, player.waker());
    let options = Options {
        pace: Pace::Max,
        ..Options::new(bag.range().unwrap())
    };
    let running = player.start(options, Source::of(cues), Null);
    let (report, _) = running.unwrap().join().unwrap();
    let changes = changes.load(Ordering::Relaxed);
    assert!((1..100).contains(&changes), "{changes} of {}", report.sent);
}
