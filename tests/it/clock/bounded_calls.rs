//! Calls such as `enable` while a source feeds faster than handlers run: each call returns, and the last time that was
//! fed is shown.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle, ThreadId};

use bagplay::clock::{
    Clock, ClockWriter, Fallback, JumpFilter, JumpHandle, JumpKind, NoSource, OnJump, Phase,
    SimTime, TestClock,
};
use bagplay::time::{Ros, Time};

use super::support::{OpenSource, at, returns};
use crate::support::patience::until;

/// A thread that feeds ever later times, from the first [`Shared::begin`] until this is dropped.
struct Ticker {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    begin: SyncSender<()>,
    last_fed: AtomicI64,
    is_over: AtomicBool,
    source: OpenSource,
}

impl Ticker {
    fn new(source: &OpenSource) -> Self {
        let (begin, has_begun) = sync_channel(1);
        let shared = Arc::new(Shared {
            begin,
            last_fed: AtomicI64::new(100),
            is_over: AtomicBool::new(false),
            source: source.clone(),
        });
        let own = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            has_begun.recv().unwrap();
            let feed = own.source.feed();
            while !own.is_over.load(Ordering::SeqCst) {
                let time = own.last_fed.load(Ordering::SeqCst) + 1;
                feed.time(at(time));
                own.last_fed.store(time, Ordering::SeqCst);
                thread::yield_now();
            }
        });
        Self {
            shared,
            thread: Some(thread),
        }
    }

    fn id(&self) -> ThreadId {
        self.thread.as_ref().unwrap().thread().id()
    }

    /// Ends the thread. Returns the time that it fed last.
    fn stop(&mut self) -> Time<Ros> {
        self.shared.is_over.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            returns(move || thread.join().unwrap());
        }
        at(self.shared.last_fed.load(Ordering::SeqCst))
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
    }
}

/// Registers a handler that is slower than ticks: it runs until two more were fed, unless it runs in the thread that
/// feeds. Its first call lets the ticks begin.
fn register_slow_handler(clock: &Clock<Ros>, ticker: &Ticker) -> JumpHandle {
    let (shared, id) = (Arc::clone(&ticker.shared), ticker.id());
    let handler = move |_: Phase, jump: bagplay::clock::JumpEvent| {
        if jump.kind == JumpKind::Deactivated || thread::current().id() == id {
            return;
        }
        let before = shared.last_fed.load(Ordering::SeqCst);
        let _begun_already = shared.begin.try_send(());
        until("two more ticks", || {
            shared.is_over.load(Ordering::SeqCst)
                || shared.last_fed.load(Ordering::SeqCst) >= before + 2
        });
    };
    clock.on_jump(JumpFilter::any(), handler).unwrap()
}

/// Checks that `call` returns, which attaches the clock to `source` or starts it, and that the clock then shows what
/// the source feeds.
#[track_caller]
fn check_returns(
    source: &OpenSource,
    (sim, clock): (SimTime, Clock<Ros>),
    call: impl FnOnce() + Send + 'static,
) {
    let mut ticker = Ticker::new(source);
    let handle = register_slow_handler(&clock, &ticker);
    returns(call);
    assert!(clock.is_active(), "the call returned too early");
    let last = ticker.stop();
    let sleeping = clock.clone();
    let slept = returns(move || sleeping.sleep_until(last, OnJump::Continue));
    assert_eq!((slept, clock.now()), (Ok(()), last));
    assert_eq!(handle.panics(), 0);
    returns(move || sim.disable());
    assert!(!clock.is_active());
}

fn unattached(test: &TestClock) -> (Clock<Ros>, ClockWriter) {
    test.another_ros(Fallback::Zero)
}

#[test]
fn enable_returns_however_fast_the_source_feeds() {
    let (test, source) = (TestClock::new(at(1)), OpenSource::default());
    let sim = SimTime::on_test_clock(&test, source.clone());
    let of = (sim.clone(), sim.clock());
    check_returns(&source, of, move || sim.enable().unwrap());
}

#[test]
fn replace_source_returns_however_fast_the_new_source_feeds() {
    let (test, source) = (TestClock::new(at(1)), OpenSource::default());
    let sim = SimTime::on_test_clock(&test, NoSource);
    sim.enable().unwrap();
    let (of, new) = ((sim.clone(), sim.clock()), source.clone());
    check_returns(&source, of, move || {
        sim.replace_source(new).unwrap();
    });
}

#[test]
fn attach_returns_however_fast_the_source_feeds() {
    let (test, source) = (TestClock::new(at(1)), OpenSource::default());
    let sim = SimTime::on_test_clock(&test, source.clone());
    sim.enable().unwrap();
    let (clock, writer) = unattached(&test);
    check_returns(&source, (sim.clone(), clock), move || {
        sim.attach(writer);
    });
}

#[test]
fn hand_over_returns_however_fast_the_new_source_feeds() {
    let (test, source) = (TestClock::new(at(1)), OpenSource::default());
    let (from, to) = (
        SimTime::on_test_clock(&test, NoSource),
        SimTime::on_test_clock(&test, source.clone()),
    );
    from.enable().unwrap();
    to.enable().unwrap();
    let clock = from.clock();
    let of = (to.clone(), clock.clone());
    check_returns(&source, of, move || {
        from.hand_over(&clock, &to);
    });
}

/// The time is fed while a handler of `enable` runs, by a thread that then ends.
#[test]
fn a_time_is_delivered_after_the_thread_that_fed_it_has_ended() {
    let test = TestClock::new(at(1));
    let (sim, feed) = SimTime::fed_on_test_clock(&test);
    let clock = sim.clock();
    let handle = clock.on_jump(JumpFilter::new().clock_changes(), move |phase, jump| {
        if (phase, jump.kind) == (Phase::After, JumpKind::Activated) {
            let feed = feed.clone();
            thread::spawn(move || feed.time(at(100))).join().unwrap();
        }
    });
    let handle = handle.unwrap();
    returns(move || sim.enable().unwrap());
    assert_eq!((clock.now(), handle.panics()), (at(100), 0));
}
