//! The lifetime of a source: as long as any of its clocks exists; then it stops without a thread waiting for itself.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use bagplay::clock::{
    Clock, Fallback, Feed, JumpFilter, OnJump, Rate, SimTime, SourceError, TestClock, TimeSource,
    Timer, Timers,
};
use bagplay::time::{Duration, Ros, Time};
use crossbeam_channel::{Receiver, Sender, bounded};

use crate::support::patience::{PATIENCE, until};

fn at(nanos: i64) -> Time<Ros> {
    Time::from_nanos(nanos)
}

fn ns(nanos: i64) -> Duration {
    Duration::from_nanos(nanos)
}

/// Tells what becomes of it.
struct Told {
    told: Sender<&'static str>,
    feeds: Sender<Feed>,
}

impl TimeSource for Told {
    fn start(&mut self, feed: &Feed) -> Result<(), SourceError> {
        self.feeds.send(feed.clone()).unwrap();
        Ok(())
    }

    fn stop(&mut self) {
        self.told.send("stopped").unwrap();
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        self.told.send("dropped").unwrap();
    }
}

fn told() -> (Told, Receiver<&'static str>, Receiver<Feed>) {
    let ((told, fate), (feeds, feed)) = (bounded(10), bounded(10));
    (Told { told, feeds }, fate, feed)
}

/// A clock, as a function that sets up sim time gives it back: without the `SimTime`.
fn follow() -> (Clock, Receiver<&'static str>, Feed) {
    let (source, fate, feeds) = told();
    let sim = SimTime::new(source);
    let clock = sim.clock();
    sim.enable().unwrap();
    (clock, fate, feeds.recv().unwrap())
}

fn all(fate: &Receiver<&'static str>) -> Vec<&'static str> {
    fate.try_iter().collect()
}

#[test]
fn a_clock_goes_on_without_its_sim_time_and_the_source_goes_with_the_last_clock() {
    let (clock, fate, feed) = follow();
    feed.time(at(5));
    let other = clock.clone();
    assert_eq!((clock.now(), clock.is_active()), (at(5), true));
    drop(clock);
    feed.time(at(6));
    assert_eq!(other.now(), at(6));
    assert_eq!(all(&fate), [""; 0]);
    drop(other);
    assert_eq!(all(&fate), ["stopped", "dropped"]);
    feed.time(at(7)); // to nobody
}

/// Whatever tells the time of a clock, or waits for it.
#[test]
fn timers_rates_and_handlers_keep_the_source_too() {
    type Keeps = fn(Clock, Sender<i64>) -> Box<dyn Send>;
    let keeps: [Keeps; 5] = [
        |clock, _| Box::new(Timer::new(&clock, ns(5)).unwrap()),
        |clock, _| Box::new(Rate::new(&clock, ns(5)).unwrap()),
        |clock, _| Box::new(Timers::new(&clock)),
        |clock, tell| {
            let tick = move |time: Time<Ros>| tell.send(time.as_nanos()).unwrap();
            Box::new(clock.on_tick(tick))
        },
        |clock, tell| {
            let own = clock.clone();
            let jumped = move |_, _| tell.send(own.try_now().unwrap().as_nanos()).unwrap();
            let backward = JumpFilter::new().min_backward(ns(1));
            Box::new(clock.on_jump(backward, jumped).unwrap())
        },
    ];
    for (which, keep) in keeps.into_iter().enumerate() {
        let (clock, fate, feed) = follow();
        let (tell, told) = bounded(10);
        let kept = keep(clock, tell);
        feed.time(at(6));
        feed.time(at(5));
        let expected: &[i64] = match which {
            // Each tick; before and after the jump.
            3 | 4 => &[6, 5],
            _ => &[],
        };
        assert_eq!(told.try_iter().collect::<Vec<_>>(), expected, "{which}");
        assert_eq!(all(&fate), [""; 0], "{which}");
        drop(kept);
        assert_eq!(all(&fate), ["stopped", "dropped"], "{which}");
    }
}

#[test]
fn a_source_that_was_never_wanted_is_dropped_without_a_stop() {
    let (source, fate, _feeds) = told();
    let sim = SimTime::new(source);
    let (clock, same) = (sim.clock(), sim.clone());
    drop((sim, same));
    assert_eq!(all(&fate), [""; 0]);
    drop(clock);
    assert_eq!(all(&fate), ["dropped"]);
}

/// It is the source that a clock has now that it keeps.
#[test]
fn a_clock_in_other_hands_keeps_the_source_that_it_has_now() {
    let ((one, fate_of_one, _feeds), (two, fate_of_two, feeds)) = (told(), told());
    let (from, to) = (SimTime::new(one), SimTime::new(two));
    let (clock, released) = (from.clock(), from.clock());
    from.enable().unwrap();
    to.enable().unwrap();
    let feed = feeds.recv().unwrap();
    from.hand_over(&clock, &to);
    from.release(&released);
    drop(from);
    assert_eq!(all(&fate_of_one), ["stopped", "dropped"]);
    drop(to);
    feed.time(at(9));
    assert_eq!((clock.now(), released.is_active()), (at(9), false));
    drop(clock);
    assert_eq!(all(&fate_of_two), ["stopped", "dropped"]);
}

/// A clock that was made before it was given to a source, too.
#[test]
fn a_clock_that_was_attached_keeps_its_source() {
    let (source, fate, feeds) = told();
    let (clock, writer) = Clock::ros(Fallback::Zero);
    let sim = SimTime::new(source);
    sim.attach(writer);
    sim.enable().unwrap();
    drop(sim);
    feeds.recv().unwrap().time(at(4));
    assert_eq!((clock.now(), all(&fate)), (at(4), vec![]));
    drop(clock);
    assert_eq!(all(&fate), ["stopped", "dropped"]);
}

/// Feeds from a thread of its own as fast as it can, and waits for that thread when it is stopped.
struct Joins {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    told: Option<Sender<()>>,
}

impl TimeSource for Joins {
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

impl Drop for Joins {
    fn drop(&mut self) {
        let is_joined = self.thread.is_none();
        if let (true, Some(told)) = (is_joined, &self.told) {
            told.send(()).unwrap();
        }
    }
}

fn joins() -> (SimTime, Receiver<()>) {
    let (told, gone) = bounded(1);
    let source = Joins {
        told: Some(told),
        is_over: Arc::default(),
        thread: None,
    };
    let sim = SimTime::new(source);
    sim.enable().unwrap();
    (sim, gone)
}

/// The feeding thread has the clocks in its hands when it tells them the time, also when nobody else has them any more.
#[test]
fn the_last_clock_may_go_at_any_moment_of_a_feed() {
    for round in 0..200 {
        let (sim, gone) = joins();
        let clocks: Vec<Clock> = (0..3).map(|_| sim.clock()).collect();
        drop(sim);
        until("a time", || clocks[round % 3].started());
        for clock in clocks {
            thread::spawn(move || drop(clock));
        }
        gone.recv_timeout(PATIENCE).unwrap();
    }
}

/// The thread that runs the handler is the source's own, which the source waits for.
#[test]
fn a_handler_may_drop_the_last_clock() {
    let (sim, gone) = joins();
    let clock = sim.clock();
    let last = Arc::new(Mutex::new(None));
    let theirs = Arc::clone(&last);
    let handle = clock.on_tick(move |_| drop(theirs.lock().unwrap().take()));
    *last.lock().unwrap() = Some((sim, clock, handle));
    gone.recv_timeout(PATIENCE).unwrap();
}

/// The source waits for its thread when it is stopped, and that thread waits for the handler of another clock.
#[test]
fn a_handler_may_drop_the_last_clock_of_another_source() {
    /// Its thread asks another clock for the time once it is told to.
    struct Asks {
        other: Clock,
        begin: Receiver<()>,
        thread: Option<JoinHandle<Time<Ros>>>,
        read: Sender<Time<Ros>>,
    }
    impl TimeSource for Asks {
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
    let sim = SimTime::new(Asks {
        other: test.ros(),
        begin,
        thread: None,
        read,
    });
    sim.enable().unwrap();
    let mut last = Some(sim);
    let backward = JumpFilter::new().min_backward(ns(1));
    let handle = test.ros().on_jump(backward, move |_, _| {
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
    let _test = is_done.recv_timeout(PATIENCE).expect("the handler hangs");
    assert_eq!(what_it_read.recv_timeout(PATIENCE), Ok(at(10)));
}

/// Its own thread-local values go before it, or after.
#[test]
fn a_thread_that_ends_may_drop_the_last_clock() {
    thread_local! {
        static LAST: Mutex<Option<Clock>> = const { Mutex::new(None) };
    }
    let (sim, gone) = joins();
    let clock = sim.clock();
    drop(sim);
    thread::spawn(move || {
        LAST.with(|last| {
            // Uses what the library keeps for each thread after `LAST`, so that it is gone before.
            let _handle = clock.on_tick(|_| ());
            let (test, writer) = Clock::ros(Fallback::Zero);
            let _other = test.on_jump(JumpFilter::any(), |_, _| ());
            writer.activate();
            *last.lock().unwrap() = Some(clock);
        });
    });
    gone.recv_timeout(PATIENCE).unwrap();
}

/// Nobody who drops a clock hears of it.
#[test]
fn a_source_that_panics_as_it_is_stopped_is_dropped_all_the_same() {
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
    let (tell, fate) = bounded(10);
    let sim = SimTime::new(Panics(tell));
    sim.enable().unwrap();
    drop(sim);
    assert_eq!(all(&fate), ["dropped"]);
}

/// Who sleeps has a clock.
#[test]
fn a_sleeper_is_fed_to_its_end() {
    let test = TestClock::new(at(1));
    let (source, fate, feeds) = told();
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
    assert_eq!(all(&fate), ["stopped", "dropped"]);
}

/// Also beside a thread that runs handlers, which is the one that tells the clocks then.
#[test]
fn sim_time_is_off_and_on_when_the_call_comes_back() {
    for _ in 0..50 {
        let (source, _fate, feeds) = told();
        let sim = SimTime::new(source);
        let clock = sim.clock();
        sim.enable().unwrap();
        let feed = feeds.recv().unwrap();
        let ((tell, is_held), (go, goes)) = (bounded(1), bounded::<()>(1));
        let _handle = clock.on_tick(move |_| {
            tell.send(()).unwrap();
            goes.recv_timeout(PATIENCE).unwrap();
        });
        thread::scope(|scope| {
            scope.spawn(|| feed.time(at(5)));
            is_held.recv_timeout(PATIENCE).unwrap();
            let switch = scope.spawn(|| {
                sim.disable();
                let is_off = !clock.is_active();
                sim.enable().unwrap();
                (is_off, clock.is_active())
            });
            until("off", || !sim.is_enabled() || switch.is_finished());
            go.send(()).unwrap();
            assert_eq!(switch.join().unwrap(), (true, true));
        });
    }
}

/// A handler cannot wait for itself: then it is off right after it.
#[test]
fn a_handler_may_switch_sim_time_off() {
    let (source, _fate, feeds) = told();
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

/// What a source asks of its own `SimTime` while it starts and stops.
#[test]
fn a_source_may_ask_whether_it_is_wanted() {
    type Slot = Arc<Mutex<Option<SimTime>>>;
    struct Asks(Slot, Sender<bool>);
    impl Asks {
        fn ask(&self) {
            let sim = self.0.lock().unwrap().clone();
            if let Some(sim) = sim {
                let answer = sim.is_enabled();
                self.1.send(answer).unwrap();
            }
        }
    }
    impl TimeSource for Asks {
        fn start(&mut self, _: &Feed) -> Result<(), SourceError> {
            self.ask();
            Ok(())
        }

        fn stop(&mut self) {
            self.ask();
        }
    }
    let (slot, (tell, told)) = (Slot::default(), bounded(10));
    let sim = SimTime::new(Asks(Arc::clone(&slot), tell));
    *slot.lock().unwrap() = Some(sim.clone());
    let (switch, (done, is_done)) = (sim.clone(), bounded(1));
    thread::spawn(move || {
        switch.enable().unwrap();
        switch.disable();
        done.send(()).unwrap();
    });
    is_done.recv_timeout(PATIENCE).expect("it does not end");
    slot.lock().unwrap().take();
    assert_eq!(told.try_iter().collect::<Vec<_>>(), [false, false]);
}
