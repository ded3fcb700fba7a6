//! [`Cue`]: the read-ahead in the direction of play, and [`Cues`], which starts one after each jump.
//!
//! A named worker thread walks a cursor and queues what it finds, within a byte budget that all cues
//! of a player share. Flushing is dropping the cue: the worker's sends fail, and what was queued is
//! gone, so nothing stale can arrive. Workers are joined when they have finished, and at the latest
//! when [`Cues`] is dropped.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, TryRecvError, TrySendError, bounded};

use super::budget::{Budget, Meter, Usage};
use super::cursor::Step;
use super::error::{Damage, DamageKind};
use super::message::Message;
use super::recording::Bag;
use super::selection::{Direction, Selection, StartAt};
use crate::time::TimeRange;

/// How many items are handed over at once while the receiver has enough: so that it need not wake the
/// worker for each.
const BATCH: usize = 64;
/// How many batches are queued at most; bytes are the tighter bound unless messages are tiny.
const QUEUE: usize = 64;

/// Called when a cue that was found empty has an item, or ends. It must not block.
pub type Waker = Arc<dyn Fn() + Send + Sync>;

/// Where a cue starts, which way it goes and what it covers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CueAt {
    /// The first message.
    pub from: StartAt,
    /// The direction of play.
    pub direction: Direction,
    /// Only messages in this closed range.
    pub range: TimeRange,
    /// Whether the latched messages at or before `from` come first, whichever the direction.
    pub refill: bool,
}

/// What a cue yields.
#[derive(Clone, Debug)]
pub enum Cued {
    /// A latched message from before the start.
    Refill(Message),
    /// The next message.
    Message(Message),
    /// A damaged place that is passed over.
    Damage(Damage),
}

/// The answer to [`Cue::poll`].
#[derive(Clone, Debug)]
pub enum CuePoll {
    /// The next item.
    Item(Cued),
    /// Nothing yet; the waker will be called.
    Pending,
    /// There is nothing more.
    End,
}

/// Starts cues over some topics of a bag, all within one byte budget.
pub struct Cues {
    bag: Bag,
    topics: Selection,
    budget: Arc<Budget>,
    wake: Waker,
    workers: Vec<(JoinHandle<()>, Arc<Meter>)>,
    /// Dropped to stop workers that wait for a place in their queue.
    alive: Option<Sender<()>>,
    stop: Receiver<()>,
}

impl Cues {
    /// `read_ahead_bytes` bounds the decompressed data that is open, queued, or still in use by the
    /// receiver, up to two chunks more. A receiver that keeps messages keeps their bytes out of it, so
    /// one that hoards them starves itself.
    pub fn new(bag: Bag, topics: Selection, read_ahead_bytes: u64, wake: Waker) -> Self {
        let (alive, stop) = bounded(0);
        Self {
            bag,
            topics,
            budget: Budget::new(read_ahead_bytes),
            wake,
            workers: Vec::new(),
            alive: Some(alive),
            stop,
        }
    }

    /// Starts reading ahead. Drop the cue before to have the budget for the new one.
    pub fn start(&mut self, at: CueAt) -> Cue {
        self.reap();
        let meter = Meter::new(&self.budget);
        let (send, batches) = bounded(QUEUE);
        let is_hungry = Arc::new(AtomicBool::new(true));
        let file = self
            .bag
            .files()
            .first()
            .map(|file| file.path.clone())
            .unwrap_or_default();
        let mut feed = Feed {
            file: file.clone(),
            batch: Vec::with_capacity(BATCH),
            batches: Some(send),
            is_hungry: Arc::clone(&is_hungry),
            wake: Arc::clone(&self.wake),
            stop: self.stop.clone(),
        };
        let work = Work {
            bag: self.bag.clone(),
            topics: self.topics.clone(),
            meter: Arc::clone(&meter),
            most_held: self.budget.limit / 2,
        };
        let is_stale = |(_, meter): &mut (JoinHandle<()>, Arc<Meter>)| meter.is_closed();
        let stale: Vec<_> = self
            .workers
            .extract_if(.., is_stale)
            .map(|(worker, _)| worker)
            .collect();
        let worker = std::thread::Builder::new()
            .name("bag-cue".to_owned())
            .spawn(move || {
                // Their chunks are gone before this one opens its first: scrubbing does not pile them up.
                for worker in stale {
                    let _ = worker.join();
                }
                work.run(at, &mut feed);
            });
        match worker {
            Ok(worker) => self.workers.push((worker, Arc::clone(&meter))),
            Err(error) => {
                let detail = format!("the system does not start a thread to read ahead: {error}");
                return Cue::hand_fed([Cued::Damage(Damage {
                    file,
                    offset: 0,
                    kind: DamageKind::Internal,
                    detail,
                })]);
            }
        }
        Cue {
            batch: Vec::new().into_iter(),
            batches,
            is_hungry,
            meter: Some(meter),
        }
    }

    /// How much decompressed data the cues have alive.
    pub fn usage(&self) -> Usage {
        self.budget.usage()
    }

    fn reap(&mut self) {
        let finished = self
            .workers
            .extract_if(.., |(worker, _)| worker.is_finished());
        for (worker, _) in finished {
            // A worker that panicked has said so on stderr; its cue has ended.
            let _ = worker.join();
        }
    }
}

impl Drop for Cues {
    fn drop(&mut self) {
        self.alive = None;
        for (worker, meter) in self.workers.drain(..) {
            meter.close();
            let _ = worker.join();
        }
    }
}

impl fmt::Debug for Cues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cues")
            .field("bag", &self.bag)
            .field("usage", &self.usage())
            .finish_non_exhaustive()
    }
}

struct Work {
    bag: Bag,
    topics: Selection,
    meter: Arc<Meter>,
    most_held: u64,
}

/// Reading ahead is never urgent: on a busy machine it leaves the core to who sends.
fn step_back() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(Some(rustix::thread::gettid()), 5) {
        tracing::debug!("the read-ahead keeps its priority: {error}");
    }
}

impl Work {
    fn run(&self, at: CueAt, feed: &mut Feed) {
        step_back();
        if at.refill {
            let (messages, damage) = self.bag.latched(&self.topics, at.from.time());
            let damage = damage.into_iter().map(Cued::Damage);
            // Those that stand right at the start come in their turn.
            let is_ahead = |message: &Message| match (at.from, at.direction) {
                (StartAt::At(start), Direction::Forward) => message.key.time >= start,
                (StartAt::At(_) | StartAt::After(_), _) => false,
            };
            let messages = messages.into_iter().filter(|message| !is_ahead(message));
            let mut refills = damage.chain(messages.map(Cued::Refill));
            if self.meter.is_closed() || !refills.all(|item| feed.send(item)) {
                return;
            }
        }
        let cursor = self
            .bag
            .cursor_within(&self.topics, at.from, at.direction, at.range);
        let mut cursor = cursor
            .holding(self.most_held)
            .metered(Arc::clone(&self.meter));
        loop {
            if let Some(cost) = cursor.cost_ahead() {
                // Opening a chunk takes its time: what is read goes ahead.
                if !feed.flush() || !self.meter.wait_for_room(cost, cursor.held()) {
                    return;
                }
            }
            let item = match cursor.step() {
                Step::Opened => continue,
                Step::Item(Ok(message)) => Cued::Message(message),
                Step::Item(Err(damage)) => Cued::Damage(damage),
                Step::End => return,
            };
            if !feed.send(item) {
                return;
            }
        }
    }
}

/// The worker's end of a cue.
struct Feed {
    /// The first file, to be named if the worker fails.
    file: PathBuf,
    batch: Vec<Cued>,
    /// `None` only while it is dropped.
    batches: Option<Sender<Vec<Cued>>>,
    is_hungry: Arc<AtomicBool>,
    wake: Waker,
    stop: Receiver<()>,
}

impl Feed {
    /// Queues an item, at once if the receiver has nothing; false once nobody wants it.
    fn send(&mut self, item: Cued) -> bool {
        self.batch.push(item);
        let is_wanted = self.batch.len() >= BATCH || self.is_hungry.load(Ordering::SeqCst);
        !is_wanted || self.flush()
    }

    /// Hands over what is queued here, waiting for a place; false once nobody wants it.
    fn flush(&mut self) -> bool {
        let Some(batches) = self.batches.as_ref() else {
            return false;
        };
        if self.batch.is_empty() {
            return true;
        }
        let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(BATCH));
        let is_sent = match batches.try_send(batch) {
            Ok(()) => true,
            Err(TrySendError::Disconnected(_)) => false,
            Err(TrySendError::Full(batch)) => crossbeam_channel::select! {
                send(batches, batch) -> sent => sent.is_ok(),
                recv(self.stop) -> _ => false,
            },
        };
        // Whoever saw the queue empty said so before looking again, so one of both looks finds it.
        if is_sent && self.is_hungry.swap(false, Ordering::SeqCst) {
            (self.wake)();
        }
        is_sent
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // Else it would look like the end of the recording.
            let detail = "reading ahead failed: a defect of this program".to_owned();
            self.batch.push(Cued::Damage(Damage {
                file: self.file.clone(),
                offset: 0,
                kind: DamageKind::Internal,
                detail,
            }));
        }
        self.flush();
        self.batches = None;
        (self.wake)();
    }
}

/// What was read ahead, in order. Dropping it ends its worker.
pub struct Cue {
    batch: std::vec::IntoIter<Cued>,
    batches: Receiver<Vec<Cued>>,
    is_hungry: Arc<AtomicBool>,
    meter: Option<Arc<Meter>>,
}

impl Cue {
    /// The next item if there is one. Never blocks.
    pub fn poll(&mut self) -> CuePoll {
        if let Some(item) = self.batch.next() {
            return CuePoll::Item(item);
        }
        let received = self.batches.try_recv().or_else(|error| match error {
            TryRecvError::Disconnected => Err(error),
            TryRecvError::Empty => {
                self.is_hungry.store(true, Ordering::SeqCst);
                self.batches.try_recv()
            }
        });
        match received {
            Ok(batch) => {
                self.batch = batch.into_iter();
                self.batch.next().map_or(CuePoll::Pending, CuePoll::Item)
            }
            Err(TryRecvError::Disconnected) => CuePoll::End,
            Err(TryRecvError::Empty) => CuePoll::Pending,
        }
    }

    /// A cue of these items and then the end, without a bag: for tests.
    pub fn hand_fed(items: impl IntoIterator<Item = Cued>) -> Self {
        let (_, nothing) = bounded(0);
        let batch = items.into_iter().collect::<Vec<_>>().into_iter();
        let mut cue = Self::of(nothing);
        cue.batch = batch;
        cue
    }

    /// A cue and the end that feeds it, without a bag: for tests.
    pub fn channel() -> (CueFeed, Self) {
        let (send, receive) = bounded(QUEUE);
        (CueFeed { items: send }, Self::of(receive))
    }

    fn of(batches: Receiver<Vec<Cued>>) -> Self {
        Self {
            batch: Vec::new().into_iter(),
            batches,
            is_hungry: Arc::default(),
            meter: None,
        }
    }
}

impl Drop for Cue {
    fn drop(&mut self) {
        if let Some(meter) = &self.meter {
            meter.close();
        }
    }
}

impl fmt::Debug for Cue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cue")
            .field("queued", &(self.batch.len() + BATCH * self.batches.len()))
            .finish_non_exhaustive()
    }
}

/// Feeds a [`Cue::channel`]; dropping it ends the cue.
#[derive(Clone, Debug)]
pub struct CueFeed {
    items: Sender<Vec<Cued>>,
}

impl CueFeed {
    /// Queues an item. False if the cue is gone or full (64 items).
    pub fn push(&self, item: Cued) -> bool {
        self.items.try_send(vec![item]).is_ok()
    }

    /// Ends the cue once what was pushed has been taken.
    pub fn end(self) {}
}
