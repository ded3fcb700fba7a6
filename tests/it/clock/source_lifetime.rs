//! The lifetime of a source: it is stopped and dropped with the last handle of its clocks, and no thread waits for
//! itself.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use bagplay::clock::{
    Clock, Fallback, Feed, JumpFilter, JumpKind, NoSource, OnJump, Phase, Rate, SimTime,
    SourceError, TestClock, TimeSource, Timer, Timers,
};
use bagplay::time::{Ros, Time};
use crossbeam_channel::{Receiver, Sender, bounded};

use super::support::{at, backward, block_next_tick, fed, ns};
use crate::support::patience::{PATIENCE, until};

/// Sends the feed with which it is started, and reports when it is stopped and dropped.
struct ReportsEnd {
    report: Sender<&'static str>,
    feeds: Sender<Feed>,
}

impl TimeSource for ReportsEnd {
    fn start(&mut self, feed: &Feed) -> Result<(), SourceError> {
        self.feeds.send(feed.clone()).unwrap();
        Ok(())
    }

    fn stop(&mut self) {
        self.report.send("stopped").unwrap();
    }
}

impl Drop for ReportsEnd {
    fn drop(&mut self) {
        self.report.send("dropped").unwrap();
    }
}

/// A source, its reports and its feeds.
fn source() -> (ReportsEnd, Receiver<&'static str>, Receiver<Feed>) {
    let ((report, reports), (feeds, feed)) = (bounded(10), bounded(10));
    (ReportsEnd { report, feeds }, reports, feed)
}

/// A clock whose `SimTime` was dropped, the reports of its source and its feed.
fn clock_without_sim_time() -> (Clock, Receiver<&'static str>, Feed) {
    let (source, reports, feeds) = source();
    let sim = SimTime::new(source);
    let clock = sim.clock();
    sim.enable().unwrap();
    (clock, reports, feeds.recv().unwrap())
}

fn all(reports: &Receiver<&'static str>) -> Vec<&'static str> {
    reports.try_iter().collect()
}

#[test]
fn a_clock_keeps_its_source_until_the_last_clock_is_dropped() {
    let (clock, reports, feed) = clock_without_sim_time();
    feed.time(at(5));
    let other = clock.clone();
    assert_eq!((clock.now(), clock.is_active()), (at(5), true));
    drop(clock);
    feed.time(at(6));
    assert_eq!(other.now(), at(6));
    assert_eq!(all(&reports), [""; 0]);
    drop(other);
    assert_eq!(all(&reports), ["stopped", "dropped"]);
    feed.time(at(7)); // no clock is left
}

#[test]
fn timers_rates_and_handlers_keep_the_source() {
    type Keeps = fn(Clock, Sender<i64>) -> Box<dyn Send>;
    let keeps: [Keeps; 5] = [
        |clock, _| Box::new(Timer::new(&clock, ns(5)).unwrap()),
        |clock, _| Box::new(Rate::new(&clock, ns(5)).unwrap()),
        |clock, _| Box::new(Timers::new(&clock)),
        |clock, sender| {
            let tick = move |time: Time<Ros>| sender.send(time.as_nanos()).unwrap();
            Box::new(clock.on_tick(tick))
        },
        |clock, sender| {
            let own = clock.clone();
            let jumped = move |_, _| sender.send(own.try_now().unwrap().as_nanos()).unwrap();
            Box::new(clock.on_jump(backward(), jumped).unwrap())
        },
    ];
    for (which, keep) in keeps.into_iter().enumerate() {
        let (clock, reports, feed) = clock_without_sim_time();
        let (sender, receiver) = bounded(10);
        let kept = keep(clock, sender);
        feed.time(at(6));
        feed.time(at(5));
        let expected: &[i64] = match which {
            // Each tick; before and after the jump.
            3 | 4 => &[6, 5],
            _ => &[],
        };
        assert_eq!(receiver.try_iter().collect::<Vec<_>>(), expected, "{which}");
        assert_eq!(all(&reports), [""; 0], "{which}");
        drop(kept);
        assert_eq!(all(&reports), ["stopped", "dropped"], "{which}");
    }
}

#[test]
fn a_source_that_was_never_started_is_dropped_without_a_stop() {
    let (source, reports, _feeds) = source();
    let sim = SimTime::new(source);
    let (clock, same) = (sim.clock(), sim.clone());
    drop((sim, same));
    assert_eq!(all(&reports), [""; 0]);
    drop(clock);
    assert_eq!(all(&reports), ["dropped"]);
}

#[test]
fn a_clock_that_was_handed_over_keeps_its_new_source_alone() {
    let ((one, reports_of_one, _feeds), (two, reports_of_two, feeds)) = (source(), source());
    let (from, to) = (SimTime::new(one), SimTime::new(two));
    let (clock, released) = (from.clock(), from.clock());
    from.enable().unwrap();
    to.enable().unwrap();
    let feed = feeds.recv().unwrap();
    from.hand_over(&clock, &to);
    from.release(&released);
    drop(from);
    assert_eq!(all(&reports_of_one), ["stopped", "dropped"]);
    drop(to);
    feed.time(at(9));
    assert_eq!((clock.now(), released.is_active()), (at(9), false));
    drop(clock);
    assert_eq!(all(&reports_of_two), ["stopped", "dropped"]);
}

/// The clock was made before the source.
#[test]
fn a_clock_that_was_attached_keeps_its_source() {
    let (source, reports, feeds) = source();
    let (clock, writer) = Clock::ros(Fallback::Zero);
    let sim = SimTime::new(source);
    sim.attach(writer);
    sim.enable().unwrap();
    drop(sim);
    feeds.recv().unwrap().time(at(4));
    assert_eq!((clock.now(), all(&reports)), (at(4), vec![]));
    drop(clock);
    assert_eq!(all(&reports), ["stopped", "dropped"]);
}

/// Feeds from a thread of its own as fast as it can, and waits for that thread when it is stopped.
struct JoinsItsThread {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    dropped: Sender<()>,
}

impl TimeSource for JoinsItsThread {
    fn start(&mut self, feed: &Feed) -> Result<(), SourceError> {
        let (feed, is_over) = (feed.clone(), Arc::clone(&self.is_over));
        self.thread = Some(thread::spawn(move || {
            for time in 1.. {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                feed.time(at(time));
            }
        }));
        Ok(())
    }

    fn stop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            assert_ne!(thread.thread().id(), thread::current().id());
            thread.join().unwrap();
        }
    }
}

impl Drop for JoinsItsThread {
    fn drop(&mut self) {
        if self.thread.is_none() {
            self.dropped.send(()).unwrap();
        }
    }
}

/// A `SimTime` with a source that feeds from its own thread. The receiver tells when the source was dropped.
fn self_feeding() -> (SimTime, Receiver<()>) {
    let (dropped, is_dropped) = bounded(1);
    let source = JoinsItsThread {
        dropped,
        is_over: Arc::default(),
        thread: None,
    };
    let sim = SimTime::new(source);
    sim.enable().unwrap();
    (sim, is_dropped)
}

/// While the thread that feeds delivers a time to the clocks, it has handles of them.
#[test]
fn the_last_clock_may_be_dropped_at_any_moment_of_a_delivery() {
    for round in 0..200 {
        let (sim, is_dropped) = self_feeding();
        let clocks: Vec<Clock> = (0..3).map(|_| sim.clock()).collect();
        drop(sim);
        until("a time", || clocks[round % 3].started());
        for clock in clocks {
            thread::spawn(move || drop(clock));
        }
        is_dropped.recv_timeout(PATIENCE).unwrap();
    }
}

/// The thread that runs the handler is the source's own, and the source waits for that thread.
#[test]
fn a_handler_may_drop_the_last_clock() {
    let (sim, is_dropped) = self_feeding();
    let clock = sim.clock();
    let last = Arc::new(Mutex::new(None));
    let slot = Arc::clone(&last);
    let handle = clock.on_tick(move |_| drop(slot.lock().unwrap().take()));
    *last.lock().unwrap() = Some((sim, clock, handle));
    is_dropped.recv_timeout(PATIENCE).unwrap();
}

/// The source waits for its thread when it is stopped, and that thread waits for the handler of another clock.
#[test]
fn a_handler_may_drop_the_last_clock_of_another_source() {
    /// Its thread reads another clock, after `begin`.
    struct ReadsAnotherClock {
        other: Clock,
        begin: Receiver<()>,
        thread: Option<JoinHandle<Time<Ros>>>,
        read: Sender<Time<Ros>>,
    }
    impl TimeSource for ReadsAnotherClock {
        fn start(&mut self, _: &Feed) -> Result<(), SourceError> {
            let (other, begin) = (self.other.clone(), self.begin.clone());
            self.thread = Some(thread::spawn(move || {
                begin.recv().unwrap();
                other.now()
            }));
            Ok(())
        }

        fn stop(&mut self) {
            if let Some(thread) = self.thread.take() {
                self.read.send(thread.join().unwrap()).unwrap();
            }
        }
    }
    let test = TestClock::new(at(100));
    let ((begins, begin), (read, what_it_read)) = (bounded(1), bounded(1));
    let sim = SimTime::new(ReadsAnotherClock {
        other: test.ros(),
        begin,
        thread: None,
        read,
    });
    sim.enable().unwrap();
    let mut last = Some(sim);
    let handle = test.ros().on_jump(backward(), move |_, _| {
        if let Some(last) = last.take() {
            begins.send(()).unwrap();
            drop(last);
        }
    });
    let (done, is_done) = bounded(1);
    thread::spawn(move || {
        test.set(at(10));
        done.send((test, handle)).unwrap();
    });
    let _test = is_done.recv_timeout(PATIENCE).expect("the handler returns");
    assert_eq!(what_it_read.recv_timeout(PATIENCE), Ok(at(10)));
}

/// Thread-local values of the library are dropped before that clock.
#[test]
fn a_thread_that_ends_may_drop_the_last_clock() {
    thread_local! {
        static LAST: Mutex<Option<Clock>> = const { Mutex::new(None) };
    }
    let (sim, is_dropped) = self_feeding();
    let clock = sim.clock();
    drop(sim);
    thread::spawn(move || {
        LAST.with(|last| {
            // The library's thread-local values are used after `LAST`, so they are dropped before it.
            let _handle = clock.on_tick(|_| ());
            let (test, writer) = Clock::ros(Fallback::Zero);
            let _other = test.on_jump(JumpFilter::any(), |_, _| ());
            writer.activate();
            *last.lock().unwrap() = Some(clock);
        });
    });
    is_dropped.recv_timeout(PATIENCE).unwrap();
}

/// The panic does not reach the thread that drops the clock.
#[test]
fn a_source_that_panics_when_it_is_stopped_is_dropped_all_the_same() {
    struct Panics(Sender<&'static str>);
    impl TimeSource for Panics {
        fn start(&mut self, _: &Feed) -> Result<(), SourceError> {
            Ok(())
        }

        fn stop(&mut self) {
            panic!("in its stop");
        }
    }
    impl Drop for Panics {
        fn drop(&mut self) {
            self.0.send("dropped").unwrap();
        }
    }
    let (report, reports) = bounded(10);
    let sim = SimTime::new(Panics(report));
    sim.enable().unwrap();
    drop(sim);
    assert_eq!(all(&reports), ["dropped"]);
}

/// A call that sleeps has a handle of its clock.
#[test]
fn a_sleep_keeps_its_source_until_it_ends() {
    let test = TestClock::new(at(1));
    let (source, reports, feeds) = source();
    let sim = SimTime::on_test_clock(&test, source);
    let clock = sim.clock();
    sim.enable().unwrap();
    let feed = feeds.recv().unwrap();
    feed.time(at(10));
    drop(sim);
    let view = clock.clone();
    let sleeper = thread::spawn(move || view.sleep_for(ns(5), OnJump::Continue));
    test.wait_asleep(&clock, 1);
    drop(clock);
    feed.time(at(15));
    assert_eq!(sleeper.join().unwrap(), Ok(()));
    assert_eq!(all(&reports), ["stopped", "dropped"]);
}

/// Also while another thread runs handlers; that thread then delivers.
#[test]
fn clocks_have_changed_when_enable_and_disable_return() {
    for _ in 0..50 {
        let (source, _reports, feeds) = source();
        let sim = SimTime::new(source);
        let clock = sim.clock();
        sim.enable().unwrap();
        let feed = feeds.recv().unwrap();
        let (_handle, is_blocked, release) = block_next_tick(&clock);
        thread::scope(|scope| {
            scope.spawn(|| feed.time(at(5)));
            is_blocked.recv_timeout(PATIENCE).unwrap();
            let switch = scope.spawn(|| {
                sim.disable();
                let is_off = !clock.is_active();
                sim.enable().unwrap();
                (is_off, clock.is_active())
            });
            until("off", || !sim.is_enabled() || switch.is_finished());
            release.send(()).unwrap();
            assert_eq!(switch.join().unwrap(), (true, true));
        });
    }
}

/// Also while a clock that is being attached runs its handlers: no source feeds that thread.
#[test]
fn a_clock_that_is_being_attached_has_changed_when_disable_returns() {
    for _ in 0..50 {
        let test = TestClock::new(at(1));
        let from = SimTime::on_test_clock(&test, NoSource);
        let (to, _feed) = fed(&test, 5);
        let clock = from.clock();
        let (entered, has_entered) = bounded(1);
        let (release, is_released) = bounded(1);
        let is_off = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&is_off);
        let _handle = clock
            .on_jump(JumpFilter::any(), move |phase, jump| {
                if phase == Phase::After && jump.kind == JumpKind::Activated {
                    entered.send(()).unwrap();
                    is_released.recv_timeout(PATIENCE).unwrap();
                }
                let is_last = phase == Phase::After && jump.kind == JumpKind::Deactivated;
                seen.fetch_or(is_last, Ordering::SeqCst);
            })
            .unwrap();
        thread::scope(|scope| {
            scope.spawn(|| from.hand_over(&clock, &to));
            has_entered.recv_timeout(PATIENCE).unwrap();
            let switch = scope.spawn(|| {
                is_off.store(false, Ordering::SeqCst);
                to.disable();
                is_off.load(Ordering::SeqCst)
            });
            until("off", || !to.is_enabled() || switch.is_finished());
            // Room for a call that does not wait.
            let _ = (0..1_000).any(|_| {
                thread::yield_now();
                switch.is_finished()
            });
            release.send(()).unwrap();
            assert!(switch.join().unwrap(), "disable returned too early");
        });
    }
}

/// The clocks are inactive right after the handler, which cannot wait for itself.
#[test]
fn a_handler_may_switch_sim_time_off() {
    let (source, _reports, feeds) = source();
    let sim = SimTime::new(source);
    let clock = sim.clock();
    sim.enable().unwrap();
    let (switch, view) = (sim.clone(), clock.clone());
    let _handle = clock.on_tick(move |_| {
        switch.disable();
        assert!(view.is_active() && !switch.is_enabled());
    });
    feeds.recv().unwrap().time(at(5));
    assert!(!clock.is_active());
}

#[test]
fn a_source_may_call_is_enabled_while_it_starts_and_stops() {
    type Slot = Arc<Mutex<Option<SimTime>>>;
    struct AsksWhetherEnabled(Slot, Sender<bool>);
    impl AsksWhetherEnabled {
        fn ask(&self) {
            let sim = self.0.lock().unwrap().clone();
            if let Some(sim) = sim {
                let answer = sim.is_enabled();
                self.1.send(answer).unwrap();
            }
        }
    }
    impl TimeSource for AsksWhetherEnabled {
        fn start(&mut self, _: &Feed) -> Result<(), SourceError> {
            self.ask();
            Ok(())
        }

        fn stop(&mut self) {
            self.ask();
        }
    }
    let (slot, (sender, answers)) = (Slot::default(), bounded(10));
    let sim = SimTime::new(AsksWhetherEnabled(Arc::clone(&slot), sender));
    *slot.lock().unwrap() = Some(sim.clone());
    let (switch, (done, is_done)) = (sim.clone(), bounded(1));
    thread::spawn(move || {
        switch.enable().unwrap();
        switch.disable();
        done.send(()).unwrap();
    });
    is_done.recv_timeout(PATIENCE).expect("the calls return");
    slot.lock().unwrap().take();
    assert_eq!(answers.try_iter().collect::<Vec<_>>(), [false, false]);
}
