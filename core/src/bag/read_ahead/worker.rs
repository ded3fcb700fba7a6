//! The thread behind a cue: [`Worker`] reads, [`Feed`] queues what was read.
//!
//! However a worker ends, its feed is dropped after it. So a cue never waits for a worker that has ended, and a panic
//! is reported as damage instead of looking like the end of the recording.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, TrySendError};

use super::priority::step_back;
use super::progress::{CueProgress, LookUp};
use super::request::{CueAt, Cued, Waker};
use crate::bag::damage::{Damage, DamageKind};
use crate::bag::decompress::budget::{Meter, Room};
use crate::bag::message::{Key, Message};
use crate::bag::recording::Bag;
use crate::bag::walk::cursor::Step;
use crate::bag::walk::selection::{Direction, Selection, StartAt};
use crate::time::{Ros, Time};

/// How many items are handed over at once while the receiver has enough. With batches the receiver need not wake the
/// worker for each item.
pub(crate) const BATCH: usize = 256;

/// With at most this many batches queued, the receiver has almost nothing left: about a millisecond of its work.
const FEW: usize = 8;

/// How long a worker that had to wait for room pauses before it reads on. The pause ends earlier if the receiver takes
/// a quarter of the queued batches. It is longer than the 1 to 3 ms that a message of a megabyte needs to reach its
/// subscriber.
pub(crate) const PAUSE: Duration = Duration::from_millis(12);

/// What the thread of a worker runs.
pub(crate) type Job = Box<dyn FnOnce() + Send>;

/// Damage that is not the fault of the recording, at the place that reading has reached.
pub(crate) fn internal(bag: &Bag, last: Option<Key>, detail: impl Into<String>) -> Damage {
    let (input, offset) = last.map_or((0, 0), |key| (key.input as usize, key.chunk));
    let file = bag.files().get(input).map(|file| file.name.clone());
    Damage {
        file: file.unwrap_or_default(),
        offset,
        kind: DamageKind::Internal,
        detail: detail.into(),
    }
}

/// What a worker reads.
pub(crate) struct Worker {
    pub(crate) bag: Bag,
    pub(crate) topics: Selection,
    pub(crate) meter: Arc<Meter>,
    pub(crate) most_held: u64,
    /// See [`PAUSE`].
    pub(crate) pause: Duration,
}

impl Worker {
    /// Reads until the end, or until the cue is dropped.
    pub(crate) fn run(&self, at: CueAt, feed: Feed) {
        let _busy = self.meter.begin();
        // Declared after `_busy`, so it is dropped first, with all that it holds.
        let mut feed = feed;
        step_back();
        if !at.refill || self.refill(at, &mut feed) {
            self.walk(at, &mut feed);
        }
    }

    /// Queues the refills; false if the cue was dropped.
    fn refill(&self, at: CueAt, feed: &mut Feed) -> bool {
        let on_progress = |done, of| {
            let look_up = LookUp { done, of };
            feed.progress.look_up(Some(look_up).filter(|_| done < of));
        };
        let meter_and_progress = (&self.meter, &on_progress as &dyn Fn(usize, usize));
        let found = self
            .bag
            .latched_metered(&self.topics, at.from.time(), meter_and_progress);
        feed.progress.look_up(None);
        let (messages, damage) = found;
        let damage = damage.into_iter().map(Cued::Damage);
        // Latched messages exactly at the start are read as ordinary messages.
        let is_ahead = |message: &Message| match (at.from, at.direction) {
            (StartAt::At(start), Direction::Forward) => message.key.time >= start,
            (StartAt::After(start), Direction::Forward) => message.key > start,
            (_, Direction::Reverse) => false,
        };
        let messages = messages.into_iter().filter(|message| !is_ahead(message));
        let mut refills = damage.chain(messages.map(Cued::Refill));
        !self.meter.is_closed() && refills.all(|item| feed.send(item))
    }

    /// Waits for room for a chunk; pauses if there was none at first, or if the queue was full. False if the cue was
    /// dropped.
    fn wait(&self, cost: u64, held: u64, was_full: bool, feed: &Feed) -> bool {
        if cost == 0 {
            return true;
        }
        match self.meter.wait_for_room(cost, held) {
            Room::Closed => false,
            Room::AtOnce if !was_full => true,
            Room::AtOnce | Room::AfterWait => self.pause(feed),
        }
    }

    /// Pauses before the next chunk is opened. Room for it appears when a message has just been sent, and reading would
    /// delay that message and those due right after it. False if the cue was dropped.
    fn pause(&self, feed: &Feed) -> bool {
        let resume_below = feed.queued() * 3 / 4 + 1;
        // This thread stores the number and then counts the queue; the receiver takes a batch and then reads the
        // number. So either the receiver wakes this thread, or this thread counts the queue without that batch.
        feed.resume_below.store(resume_below, Ordering::SeqCst);
        let is_needed = self
            .meter
            .pause(self.pause, || feed.queued() < resume_below);
        feed.resume_below.store(0, Ordering::SeqCst);
        is_needed
    }

    fn walk(&self, at: CueAt, feed: &mut Feed) {
        let cursor = self
            .bag
            .cursor_within(&self.topics, at.from, at.direction, at.range);
        let mut cursor = cursor
            .holding(self.most_held)
            .metered(Arc::clone(&self.meter))
            .with_decompressors(Arc::clone(&feed.is_short));
        loop {
            if let Some(cost) = cursor.cost_ahead() {
                let was_full = feed.is_full();
                // Opening a chunk takes time, so what has been read is handed over first.
                if !feed.flush() || !self.wait(cost, cursor.held(), was_full, feed) {
                    return;
                }
            }
            let item = match cursor.step() {
                Step::Opened => continue,
                Step::Item(Ok(message)) => Cued::Message(message),
                Step::Item(Err(damage)) => Cued::Damage(damage),
                Step::End => {
                    let exit = match at.direction {
                        Direction::Forward => at.range.stop(),
                        Direction::Reverse => at.range.start(),
                    };
                    return feed.finish(exit);
                }
            };
            if !feed.send(item) {
                return;
            }
        }
    }
}

/// The worker's end of a cue.
pub(crate) struct Feed {
    pub(crate) bag: Bag,
    /// The key of the last message or refill read.
    pub(crate) last: Option<Key>,
    /// The time of the last message read, refills not counted.
    pub(crate) last_time: Option<Time<Ros>>,
    /// Whether messages have been handed over.
    pub(crate) has_begun: bool,
    pub(crate) progress: Arc<CueProgress>,
    pub(crate) batch: Vec<Cued>,
    /// `None` only during the drop.
    pub(crate) batches: Option<Sender<Vec<Cued>>>,
    pub(crate) is_hungry: Arc<AtomicBool>,
    /// Whether the receiver has almost nothing left to take.
    pub(crate) is_short: Arc<AtomicBool>,
    /// During a pause, the receiver wakes the worker once fewer batches than this are queued. 0 while the worker does
    /// not pause.
    pub(crate) resume_below: Arc<AtomicUsize>,
    pub(crate) wake: Waker,
    pub(crate) stop: Receiver<()>,
}

impl Feed {
    /// Queues an item; hands it over at once if the receiver has none, but the first messages together. False if the
    /// cue was dropped.
    #[inline]
    fn send(&mut self, item: Cued) -> bool {
        if let Cued::Message(message) | Cued::Refill(message) = &item {
            self.last = Some(message.key);
        }
        if let Cued::Message(message) = &item {
            self.last_time = Some(message.key.time);
        }
        // A receiver that starts with one message would have to wait for the second. The rest of the chunk is in memory
        // already.
        let may_go_alone = self.has_begun || !matches!(item, Cued::Message(_));
        self.batch.push(item);
        let is_wanted =
            self.batch.len() >= BATCH || (may_go_alone && self.is_hungry.load(Ordering::SeqCst));
        !is_wanted || self.flush()
    }

    /// How many batches the receiver has not taken yet.
    fn queued(&self) -> usize {
        self.batches.as_ref().map_or(0, Sender::len)
    }

    fn is_full(&self) -> bool {
        self.batches.as_ref().is_some_and(Sender::is_full)
    }

    /// Hands over the rest: there are no more messages up to `exit`.
    fn finish(&mut self, exit: Time<Ros>) {
        if self.flush() {
            self.progress.set(exit);
        }
    }

    /// Hands over the batch, waiting for space in the queue; false if the cue was dropped.
    fn flush(&mut self) -> bool {
        let Some(batches) = self.batches.as_ref() else {
            return false;
        };
        if self.batch.is_empty() {
            return true;
        }
        self.has_begun |= self.last_time.is_some();
        let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(BATCH));
        // Before the receiver can take what has been read.
        if let Some(time) = self.last_time {
            self.progress.set(time);
        }
        let is_sent = match batches.try_send(batch) {
            Ok(()) => true,
            Err(TrySendError::Disconnected(_)) => false,
            Err(TrySendError::Full(batch)) => crossbeam_channel::select! {
                send(batches, batch) -> sent => sent.is_ok(),
                recv(self.stop) -> _ => false,
            },
        };
        // A receiver that finds the queue empty sets `is_hungry` and looks once more, so one of the two sides sees the
        // other.
        let was_hungry = is_sent && self.is_hungry.swap(false, Ordering::SeqCst);
        if was_hungry {
            (self.wake)();
        }
        let is_short = was_hungry || batches.len() <= FEW;
        self.is_short.store(is_short, Ordering::Relaxed);
        is_sent
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let detail =
                "reading ahead failed because of a defect in the player: what follows is missing";
            let damage = internal(&self.bag, self.last, detail);
            self.batch.push(Cued::Damage(damage));
        }
        self.flush();
        self.batches = None;
        (self.wake)();
    }
}
