//! Helpers for the tests of clocks.

use std::fmt::Debug;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;

use bagplay::clock::{
    Clock, Feed, JumpEvent, JumpFilter, JumpHandle, Phase, SimTime, SleepError, SleepOptions,
    SourceError, TestClock, TimeSource,
};
use bagplay::time::{Duration, Ros, Time};
use crossbeam_channel::{Receiver, Sender, bounded};

use crate::support::patience::PATIENCE;

pub(crate) const SEC: i64 = 1_000_000_000;
/// What the system clock of a [`TestClock`] shows at first.
pub(crate) const SYSTEM: i64 = 1_000_000 * SEC;

pub(crate) const fn at(nanos: i64) -> Time<Ros> {
    Time::from_nanos(nanos)
}

pub(crate) const fn ns(nanos: i64) -> Duration {
    Duration::from_nanos(nanos)
}

/// Every step back.
pub(crate) const fn backward() -> JumpFilter {
    JumpFilter::new().min_backward(ns(1))
}

/// The result of `call`, which runs in a thread of its own. Fails the test if it does not return, or panics.
#[track_caller]
pub(crate) fn returns<T: Send + 'static>(call: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, is_done) = sync_channel(1);
    let calling = thread::spawn(move || {
        let result = call();
        done.send(()).unwrap();
        result
    });
    // If the call panics, the channel is disconnected, and `join` reports the panic.
    let waited = is_done.recv_timeout(PATIENCE);
    assert_ne!(
        waited,
        Err(RecvTimeoutError::Timeout),
        "the call does not return"
    );
    calling.join().unwrap()
}

/// How a sleep until `target` ends if `events` happen once its thread sleeps.
#[track_caller]
pub(crate) fn sleep_during(
    test: &TestClock,
    target: Time<Ros>,
    options: impl Into<SleepOptions>,
    events: impl FnOnce(&TestClock),
) -> Result<(), SleepError> {
    let (clock, options) = (test.ros(), options.into());
    let sleeper = thread::spawn(move || clock.sleep_until(target, options));
    test.wait_asleep(&test.ros(), 1);
    events(test);
    returns(move || sleeper.join().unwrap())
}

/// A [`SimTime`] that is on and whose source has fed `time`.
pub(crate) fn fed(test: &TestClock, time: i64) -> (SimTime, Feed) {
    let (sim, feed) = SimTime::fed_on_test_clock(test);
    sim.enable().unwrap();
    feed.time(at(time));
    (sim, feed)
}

/// A source that hands out the feed with which it was started last. Clones are the same source.
#[derive(Clone, Default)]
pub(crate) struct OpenSource(Arc<Mutex<Option<Feed>>>);

impl OpenSource {
    /// The feed, once the source was started.
    pub(crate) fn try_feed(&self) -> Option<Feed> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn feed(&self) -> Feed {
        self.try_feed().expect("the source was started")
    }
}

impl TimeSource for OpenSource {
    fn start(&mut self, feed: &Feed) -> Result<(), SourceError> {
        *self.0.lock().unwrap() = Some(feed.clone());
        Ok(())
    }

    fn stop(&mut self) {}
}

/// All jumps of the clock, as lines with the kind and this number. The function returns those since its last call.
pub(crate) fn log_jumps(
    clock: &Clock,
    number: fn(JumpEvent) -> i64,
) -> (JumpHandle, impl Fn() -> Vec<String> + use<>) {
    let log = Arc::new(Mutex::new(Vec::new()));
    let written = Arc::clone(&log);
    let handle = clock.on_jump(JumpFilter::any(), move |phase, jump| {
        if phase == Phase::After {
            let line = format!("{:?} {}", jump.kind, number(jump));
            written.lock().unwrap().push(line);
        }
    });
    let take = move || std::mem::take(&mut *log.lock().unwrap());
    (handle.unwrap(), take)
}

/// As [`log_jumps`], with the time after each jump in nanoseconds.
pub(crate) fn log_times_after(clock: &Clock) -> (JumpHandle, impl Fn() -> Vec<String> + use<>) {
    log_jumps(clock, |jump| jump.after.as_nanos())
}

/// The next tick of the clock blocks its thread in a handler. The receiver tells when it does, the sender ends it.
pub(crate) fn block_next_tick(clock: &Clock) -> (JumpHandle, Receiver<()>, Sender<()>) {
    let ((blocks, is_blocked), (release, released)) = (bounded(1), bounded(1));
    let mut is_first = true;
    let handle = clock.on_tick(move |_| {
        if std::mem::take(&mut is_first) {
            blocks.send(()).unwrap();
            released.recv_timeout(PATIENCE).unwrap();
        }
    });
    (handle, is_blocked, release)
}

/// A `tracing` subscriber that calls a function with the text of each log line.
pub(crate) struct LogLines<F>(pub(crate) F);

impl<F: Fn(String) + Send + Sync + 'static> tracing::Subscriber for LogLines<F> {
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
            fn record_debug(&mut self, _: &tracing::field::Field, value: &dyn Debug) {
                self.0 = format!("{}{value:?}", self.0);
            }
        }
        let mut text = Text(String::new());
        event.record(&mut text);
        (self.0)(text.0);
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}
