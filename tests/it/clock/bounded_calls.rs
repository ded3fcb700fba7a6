//! Calls that change something while a source ticks faster than handlers can run: each call returns, and no tick that
//! was fed is lost.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle, ThreadId};

use bagplay::clock::{
    Clock, ClockWriter, Fallback, Feed, JumpFilter, JumpHandle, JumpKind, NoSource, OnJump, Phase,
    SimTime, SourceError, TestClock, TimeSource,
};
use bagplay::time::{Ros, Time};

use crate::support::patience::{PATIENCE, until};

fn at(nanos: i64) -> Time<Ros> {
    Time::from_nanos(nanos)
}

/// What `call` gives, in a thread of its own; a panic if it does not come back.
fn ends<T: Send + 'static>(what: &str, call: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, is_done) = sync_channel(1);
    let calling = thread::spawn(move || {
        let found = call();
        done.send(()).unwrap();
        found
    });
    // A hang-up is a panic in there.
    let waited = is_done.recv_timeout(PATIENCE);
    assert_ne!(
        waited,
        Err(RecvTimeoutError::Timeout),
        "{what} does not return"
    );
    calling.join().unwrap()
}

/// Keeps the feed that it was given last.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Option<Feed>>>);

impl Kept {
    fn feed(&self) -> Feed {
        self.0.lock().unwrap().clone().unwrap()
    }
}

impl TimeSource for Kept {
    fn start(&mut self, feed: &Feed) -> Result<(), SourceError> {
        *self.0.lock().unwrap() = Some(feed.clone());
        Ok(())
    }

    fn stop(&mut self) {}
}

/// A thread that says a later time again and again, from when it is told to until this is dropped.
struct Ticker {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    go: SyncSender<()>,
    said: AtomicI64,
    is_over: AtomicBool,
    source: Kept,
}

impl Ticker {
    fn new(source: &Kept) -> Self {
        let (go, begin) = sync_channel(1);
        let shared = Arc::new(Shared {
            go,
            said: AtomicI64::new(100),
            is_over: AtomicBool::new(false),
            source: source.clone(),
        });
        let own = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            begin.recv().unwrap();
            let feed = own.source.feed();
            while !own.is_over.load(Ordering::SeqCst) {
                let time = own.said.load(Ordering::SeqCst) + 1;
                feed.time(at(time));
                own.said.store(time, Ordering::SeqCst);
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

    /// The time that it said last.
    fn stop(&mut self) -> Time<Ros> {
        self.shared.is_over.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            ends("a tick", move || thread.join().unwrap());
        }
        at(self.shared.said.load(Ordering::SeqCst))
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
    }
}

/// A handler that is slower than ticks: it lasts until two more have come, unless it runs in the thread that ticks. The
/// ticks begin when a source takes over.
fn slow(clock: &Clock<Ros>, ticker: &Ticker) -> JumpHandle {
    let (shared, id) = (Arc::clone(&ticker.shared), ticker.id());
    let handler = move |_: Phase, jump: bagplay::clock::JumpEvent| {
        if jump.kind == JumpKind::Deactivated || thread::current().id() == id {
            return;
        }
        let before = shared.said.load(Ordering::SeqCst);
        let _begun_already = shared.go.try_send(());
        until("two more ticks", || {
            shared.is_over.load(Ordering::SeqCst)
                || shared.said.load(Ordering::SeqCst) >= before + 2
        });
    };
    clock.on_jump(JumpFilter::any(), handler).unwrap()
}

/// `call` makes a source take over the clock, which then shows what this source says last.
fn comes_back(
    what: &str,
    source: &Kept,
    (sim, clock): (SimTime, Clock<Ros>),
    call: impl FnOnce() + Send + 'static,
) {
    let mut ticker = Ticker::new(source);
    let handle = slow(&clock, &ticker);
    ends(what, call);
    assert!(clock.is_active(), "{what} came back too early");
    let last = ticker.stop();
    let sleeping = clock.clone();
    let shown = ends("a sleep until the last tick", move || {
        sleeping.sleep_until(last, OnJump::Continue)
    });
    assert_eq!((shown, clock.now()), (Ok(()), last), "after {what}");
    assert_eq!(handle.panics(), 0);
    ends("disable", move || sim.disable());
    assert!(!clock.is_active());
}

fn alone(test: &TestClock) -> (Clock<Ros>, ClockWriter) {
    test.another_ros(Fallback::Zero)
}

#[test]
fn who_switches_sim_time_on_comes_back_however_fast_its_source_ticks() {
    let (test, source) = (TestClock::new(at(1)), Kept::default());
    let sim = SimTime::on_test_clock(&test, source.clone());
    let of = (sim.clone(), sim.clock());
    comes_back("enable", &source, of, move || sim.enable().unwrap());
}

#[test]
fn who_replaces_a_source_comes_back_however_fast_the_new_one_ticks() {
    let (test, source) = (TestClock::new(at(1)), Kept::default());
    let sim = SimTime::on_test_clock(&test, NoSource);
    sim.enable().unwrap();
    let (of, new) = ((sim.clone(), sim.clock()), source.clone());
    comes_back("replace_source", &source, of, move || {
        sim.replace_source(new).unwrap();
    });
}

#[test]
fn who_attaches_a_clock_comes_back_however_fast_its_source_ticks() {
    let (test, source) = (TestClock::new(at(1)), Kept::default());
    let sim = SimTime::on_test_clock(&test, source.clone());
    sim.enable().unwrap();
    let (clock, writer) = alone(&test);
    comes_back("attach", &source, (sim.clone(), clock), move || {
        sim.attach(writer);
    });
}

#[test]
fn who_hands_a_clock_over_comes_back_however_fast_its_source_ticks() {
    let (test, source) = (TestClock::new(at(1)), Kept::default());
    let (from, to) = (
        SimTime::on_test_clock(&test, NoSource),
        SimTime::on_test_clock(&test, source.clone()),
    );
    from.enable().unwrap();
    to.enable().unwrap();
    let clock = from.clock();
    let of = (to.clone(), clock.clone());
    comes_back("hand_over", &source, of, move || {
        from.hand_over(&clock, &to);
    });
}

/// One time is fed beside the handler of the switch, by a thread that then goes away.
#[test]
fn a_time_whose_feeder_has_gone_is_handed_on() {
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
    ends("enable", move || sim.enable().unwrap());
    assert_eq!((clock.now(), handle.panics()), (at(100), 0));
}
