//! [`Cue`]: the read-ahead in the direction of play, and [`Cues`], which starts a cue after each jump.
//!
//! A worker thread moves a cursor and queues what it reads, within a byte budget that all cues of a player share. To
//! discard what was read, drop the cue: the worker's sends fail and the queue is freed, so nothing stale can arrive.
//! Workers are joined when they have finished, at the latest when [`Cues`] is dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use std::{fmt, io};

use crossbeam_channel::{Receiver, Sender, TryRecvError, bounded};

use super::half_of_memory::HalfOfMemory;
use super::learner::Learner;
use super::progress::{CueProgress, Reach};
use super::request::{CueAt, Cued, Waker};
use super::worker::{BATCH, Feed, Job, PAUSE, Worker, internal};
use crate::bag::decompress::budget::{Budget, Meter, Usage};
use crate::bag::decompress::memory::ChunkMemory;
use crate::bag::message::{Message, TopicId};
use crate::bag::recording::Bag;
use crate::bag::walk::selection::Selection;

/// The most batches that are queued. The byte budget is reached first, unless messages are tiny.
const QUEUE: usize = 64;

/// The answer to [`Cue::poll`].
#[derive(Clone, Debug)]
pub enum CuePoll {
    /// The next item.
    Item(Cued),
    /// Nothing yet; the waker will be called.
    Pending,
    /// There are no more items.
    End,
}

/// Starts cues over some topics of a bag; all share one byte budget.
pub struct Cues {
    bag: Bag,
    topics: Selection,
    budget: Arc<Budget>,
    memory: Option<Arc<dyn ChunkMemory>>,
    wake: Waker,
    reach: Reach,
    /// See [`PAUSE`]; only a test sets another span.
    pause: Duration,
    workers: Vec<(JoinHandle<()>, Arc<Meter>)>,
    /// Started with the first cue that has refills of all topics.
    learner: Option<Learner>,
    /// Dropped to stop workers that wait for space in their queue.
    alive: Option<Sender<()>>,
    stop: Receiver<()>,
}

impl Cues {
    /// `read_ahead_bytes` bounds the decompressed data that is open, queued or still held by the receiver. It can be
    /// exceeded by at most two chunks, however fast cues follow each other. Refills take up to half of it, but the
    /// newest one is always delivered. Messages that the receiver keeps count as well: a receiver that keeps too many
    /// gets no more. Within the bound, memory that is no longer needed is kept for the next chunks.
    pub fn new(bag: Bag, topics: Selection, read_ahead_bytes: u64, wake: Waker) -> Self {
        let (alive, stop) = bounded(0);
        Self {
            bag,
            topics,
            budget: Budget::new(read_ahead_bytes),
            memory: None,
            wake,
            reach: Reach::default(),
            pause: PAUSE,
            workers: Vec::new(),
            learner: None,
            alive: Some(alive),
            stop,
        }
    }

    /// Decompresses the chunks of cues that are started from now on into this memory while it has room, and onto the
    /// heap otherwise. The payload of a message is a part of its chunk, so an output that knows the memory can send the
    /// message from there. The read-ahead takes half of the memory at most, or one chunk that is larger; the rest is
    /// for what was sent and is still held by receivers. Its own bound is the same as without the memory: if that is
    /// more than half of the memory, the chunks that are read further ahead lie on the heap, and a warning says so,
    /// once.
    #[must_use]
    pub fn with_memory(mut self, memory: Option<Arc<dyn ChunkMemory>>) -> Self {
        let limit = self.budget.limit;
        self.memory = memory.map(|all| Arc::new(HalfOfMemory::of(all, limit)) as _);
        self
    }

    /// The bag that is read.
    pub fn bag(&self) -> &Bag {
        &self.bag
    }

    /// Starts reading ahead. To give the new cue the whole budget, drop the previous cue first. If the system cannot
    /// start a thread, the cue yields damage that reports this, and ends. The first cue with refills of all topics also
    /// starts a thread of the lowest priority, which looks up where latched messages are, for later jumps.
    pub fn start(&mut self, at: CueAt) -> Cue {
        let named = || std::thread::Builder::new().name("bag-cue".to_owned());
        self.start_on(at, |job| named().spawn(job))
    }

    fn start_on(
        &mut self,
        at: CueAt,
        spawn: impl FnOnce(Job) -> io::Result<JoinHandle<()>>,
    ) -> Cue {
        self.join_finished();
        if at.refill && at.only.is_none() && self.learner.is_none() {
            self.learner = Some(Learner::start(&self.bag, &self.topics, &self.budget));
        }
        let meter = Meter::with_memory(&self.budget, self.memory.clone());
        let (send, batches) = bounded(QUEUE);
        let is_hungry = Arc::new(AtomicBool::new(true));
        let resume_below = Arc::new(AtomicUsize::new(0));
        let progress = CueProgress::new();
        let feed = Feed {
            bag: self.bag.clone(),
            last: None,
            last_time: None,
            has_begun: false,
            progress: Arc::clone(&progress),
            batch: Vec::with_capacity(BATCH),
            batches: Some(send),
            is_hungry: Arc::clone(&is_hungry),
            is_short: Arc::new(AtomicBool::new(true)),
            resume_below: Arc::clone(&resume_below),
            wake: Arc::clone(&self.wake),
            stop: self.stop.clone(),
        };
        let worker = Worker {
            bag: self.bag.clone(),
            topics: self.selected(at.only),
            meter: Arc::clone(&meter),
            most_held: self.budget.limit / 2,
            pause: self.pause,
        };
        match spawn(Box::new(move || worker.run(at, feed))) {
            Ok(worker) => self.workers.push((worker, Arc::clone(&meter))),
            Err(error) => {
                let detail = format!("nothing is read: no thread can be started: {error}");
                let damage = internal(&self.bag, None, detail);
                return Cue::from_items([Cued::Damage(damage)]);
            }
        }
        Cue {
            batch: Vec::new().into_iter(),
            batches,
            is_hungry,
            resume_below,
            meter: Some(meter),
            lead: Some((self.reach.clone(), progress)),
        }
    }

    fn selected(&self, only: Option<TopicId>) -> Selection {
        match only {
            None => self.topics.clone(),
            Some(topic) => {
                let topic = Some(topic).filter(|topic| self.topics.contains(*topic));
                Selection::of(topic, &self.bag)
            }
        }
    }

    /// How far the cue that is played has read ahead; see [`Cue::lead`].
    pub fn reach(&self) -> Reach {
        self.reach.clone()
    }

    /// How much decompressed data of these cues is in memory.
    pub fn usage(&self) -> Usage {
        self.budget.usage()
    }

    /// Whether the background look-up of latched messages is still running. Until it has finished, a jump over many
    /// chunks may take longer.
    pub fn is_learning(&self) -> bool {
        self.learner.as_ref().is_some_and(Learner::is_busy)
    }

    fn join_finished(&mut self) {
        let finished = self
            .workers
            .extract_if(.., |(worker, _)| worker.is_finished());
        for (worker, _) in finished {
            // A worker that panicked has reported it, as damage and on stderr.
            let _ = worker.join();
        }
    }
}

impl Drop for Cues {
    fn drop(&mut self) {
        self.alive = None;
        self.learner = None;
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

/// Items that were read ahead, in order. Dropping it ends its worker.
pub struct Cue {
    batch: std::vec::IntoIter<Cued>,
    batches: Receiver<Vec<Cued>>,
    is_hungry: Arc<AtomicBool>,
    resume_below: Arc<AtomicUsize>,
    meter: Option<Arc<Meter>>,
    lead: Option<(Reach, Arc<CueProgress>)>,
}

impl Cue {
    /// Marks this cue as the one that is played: [`Cues::reach`] reports how far it has read, until it is dropped or
    /// another cue leads.
    pub fn lead(&self) {
        if let Some((reach, progress)) = &self.lead {
            reach.follow(progress);
        }
    }

    /// The next item, if there is one. Never blocks.
    #[inline]
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
                if self.batches.len() < self.resume_below.load(Ordering::SeqCst)
                    && let Some(meter) = &self.meter
                {
                    meter.look_again();
                }
                self.batch = batch.into_iter();
                self.batch.next().map_or(CuePoll::Pending, CuePoll::Item)
            }
            Err(TryRecvError::Disconnected) => CuePoll::End,
            Err(TryRecvError::Empty) => CuePoll::Pending,
        }
    }

    /// The next item, if it is a message in the same batch as the previous one; does not look into the queue.
    #[inline]
    pub(crate) fn at_hand(&self) -> Option<&Message> {
        match self.batch.as_slice().first() {
            Some(Cued::Message(message)) => Some(message),
            _ => None,
        }
    }

    /// Goes on to the item after the one at hand.
    #[inline]
    pub(crate) fn pass(&mut self) {
        self.batch.next();
    }

    /// A cue of these items followed by the end, without a bag: for tests.
    pub fn from_items(items: impl IntoIterator<Item = Cued>) -> Self {
        let (_, nothing) = bounded(0);
        let batch = items.into_iter().collect::<Vec<_>>().into_iter();
        let mut cue = Self::of(nothing);
        cue.batch = batch;
        cue
    }

    /// A cue and the sender that feeds it, without a bag: for tests.
    pub fn channel() -> (CueFeed, Self) {
        let (send, receive) = bounded(QUEUE);
        (CueFeed { items: send }, Self::of(receive))
    }

    fn of(batches: Receiver<Vec<Cued>>) -> Self {
        Self {
            batch: Vec::new().into_iter(),
            batches,
            is_hungry: Arc::default(),
            resume_below: Arc::default(),
            meter: None,
            lead: None,
        }
    }
}

impl Drop for Cue {
    fn drop(&mut self) {
        if let Some(meter) = &self.meter {
            meter.close();
        }
        if let Some((reach, progress)) = &self.lead {
            reach.leave(progress);
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
    /// Queues an item. False if the cue was dropped or is full (64 items).
    pub fn push(&self, item: Cued) -> bool {
        self.items.try_send(vec![item]).is_ok()
    }

    /// Ends the cue after the items pushed so far.
    pub fn end(self) {}
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Instant;

    use super::*;
    use crate::bag::damage::DamageKind;
    use crate::bag::walk::selection::{Direction, StartAt};
    use crate::time::{Time, TimeRange};

    const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/demo.mcap");
    /// The bytes of a message that is alone in its chunk.
    const ALONE: u64 = 100_000;
    const AT: CueAt = CueAt {
        from: StartAt::At(Time::MIN),
        direction: Direction::Forward,
        range: TimeRange::ALL,
        refill: false,
        only: None,
    };

    fn cues_over(bag: Bag, read_ahead_bytes: u64) -> Cues {
        let topics = Selection::all(&bag);
        Cues::new(bag, topics, read_ahead_bytes, Arc::new(|| {}))
    }

    /// Eight compressed chunks with one message each.
    fn one_message_a_chunk() -> Bag {
        let file = tempfile::NamedTempFile::new().expect("a place for a file");
        let options = mcap::WriteOptions::new()
            .compression(Some(mcap::Compression::Lz4))
            .chunk_size(Some(ALONE));
        let mut writer = options.create(file.reopen().unwrap()).unwrap();
        let channel_id = writer.add_channel(0, "/image", "cdr", &BTreeMap::new());
        for time in 0..8 {
            let header = mcap::records::MessageHeader {
                channel_id: channel_id.as_ref().copied().unwrap(),
                sequence: 0,
                log_time: time,
                publish_time: time,
            };
            let payload = vec![7; usize::try_from(ALONE).unwrap()];
            writer.write_to_known_channel(&header, &payload).unwrap();
        }
        writer.finish().unwrap();
        Bag::open(&[file.path()]).expect("the file is sound")
    }

    #[expect(clippy::disallowed_methods, reason = "a test that fails must end")]
    fn wait_until(what: &str, is_so: impl Fn() -> bool) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !is_so() {
            assert!(Instant::now() < deadline, "not within a minute: {what}");
            std::thread::yield_now();
        }
    }

    /// The items of the next batch, which is in the queue.
    fn next_batch(cue: &mut Cue) -> Vec<Cued> {
        assert!(cue.at_hand().is_none(), "the batch before is not used up");
        let CuePoll::Item(first) = cue.poll() else {
            panic!("no batch in the queue");
        };
        std::iter::once(first).chain(cue.batch.by_ref()).collect()
    }

    /// Four chunks fill the budget. A pause of an hour ends within the test only because the receiver ends it.
    #[test]
    fn a_worker_that_had_to_wait_for_room_pauses_until_the_receiver_takes_a_quarter() {
        let mut cues = cues_over(one_message_a_chunk(), 4 * ALONE + ALONE / 2);
        cues.pause = Duration::from_secs(3600);
        let mut cue = cues.start(AT);
        // No pause where there is room at once.
        wait_until("four chunks are queued", || cue.batches.len() == 4);
        assert_eq!(cues.usage().decompressions, 4);

        drop(next_batch(&mut cue));
        let resume_below = || cue.resume_below.load(Ordering::SeqCst);
        wait_until("it pauses after room was made", || resume_below() == 3);
        assert_eq!(cues.usage().decompressions, 4);

        // What it holds is kept, so only the place in the queue is freed.
        let kept = next_batch(&mut cue);
        wait_until("it reads on", || cues.usage().decompressions == 5);
        drop(kept);
    }

    #[test]
    fn a_cue_whose_thread_cannot_start_reports_damage_and_ends() {
        let bag = Bag::open(&[DEMO]).expect("the demo is sound");
        let mut cues = cues_over(bag, 1 << 20);
        let at = CueAt { refill: true, ..AT };
        let mut cue = cues.start_on(at, |_| Err(io::ErrorKind::WouldBlock.into()));
        let CuePoll::Item(Cued::Damage(damage)) = cue.poll() else {
            panic!("no damage");
        };
        assert_eq!(damage.kind, DamageKind::Internal);
        assert!(damage.to_string().starts_with(DEMO), "{damage}");
        assert!(matches!(cue.poll(), CuePoll::End));
        let mut cue = cues.start(at);
        while !matches!(cue.poll(), CuePoll::Item(Cued::Message(_))) {
            std::thread::yield_now();
        }
    }
}
