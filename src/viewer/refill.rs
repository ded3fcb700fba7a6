//! [`Refills`]: the last messages of topics, for viewers that have none: after a jump, and for one that has just
//! subscribed. A thread reads them, so that panels are not empty while playback is paused or a topic is slow.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use foxglove::SinkId;

use super::channels::{Channels, Refill};
use super::worker::Worker;
use crate::bag::{Bag, Direction, Key, Message, Selection, StartAt, TopicId, step_back};
use crate::player::Transport;
use crate::time::{Ros, Time};

/// How many bytes a search may hold open, besides the chunk that it opens.
const MAX_OPEN_BYTES: u64 = 16 << 20;
/// How many requests of viewers may wait. The oldest are dropped first.
const MAX_WAITING: usize = 10_000;

/// The messages that are to be read.
#[derive(Debug)]
pub(super) struct Refills {
    channels: Arc<Channels>,
    worker: Worker,
    waiting: Mutex<Waiting>,
    woken: Condvar,
    /// Counts the jumps: a search before the last one is not wanted any more.
    jumps: AtomicU64,
}

#[derive(Debug, Default)]
struct Waiting {
    requests: VecDeque<Request>,
    /// The state of a jump is in the queues of viewers. Messages are in other queues, and would come before it.
    is_held: bool,
    is_over: bool,
}

#[derive(Clone, Copy, Debug)]
struct Request {
    topic: TopicId,
    refill: Refill,
    jumps: u64,
}

impl Refills {
    pub(super) fn new(channels: Arc<Channels>, worker: Worker) -> Self {
        Self {
            channels,
            worker,
            waiting: Mutex::default(),
            woken: Condvar::new(),
            jumps: AtomicU64::new(0),
        }
    }

    /// Playback has jumped to `from`. If `tell` tells viewers, they need the last message of each topic that they
    /// subscribe to; otherwise they need it later, because they will clear what they show.
    pub(super) fn jump(self: &Arc<Self>, from: Time<Ros>, tell: impl FnOnce() -> bool) {
        // Locked meanwhile, so that no request finds its message at the new position and comes before the jump, and so
        // that a jump which another thread tells from here on is this one.
        let mut waiting = self.lock();
        let is_told = tell();
        self.channels.jump(from);
        self.restart(&mut waiting, is_told);
    }

    /// Viewers have been told of a jump now.
    pub(super) fn told_jump(self: &Arc<Self>) {
        self.restart(&mut self.lock(), true);
    }

    fn restart(self: &Arc<Self>, waiting: &mut Waiting, is_told: bool) {
        let jumps = self.jumps.fetch_add(1, Ordering::Relaxed) + 1;
        waiting.requests.clear();
        let topics = self.channels.with_subscribers().filter(|_| is_told);
        let requests = topics.map(|topic| Request {
            topic,
            refill: Refill::new(None, self.channels.count(topic)),
            jumps,
        });
        waiting.requests.extend(requests);
        waiting.is_held = is_told;
        if is_told {
            let refills = Arc::clone(self);
            self.worker.after_queued(move || refills.release(jumps));
        }
    }

    /// The state of a jump has been sent, unless there was another jump meanwhile.
    fn release(&self, jumps: u64) {
        let mut waiting = self.lock();
        if self.jumps.load(Ordering::Relaxed) == jumps {
            waiting.is_held = false;
            self.woken.notify_one();
        }
    }

    /// A viewer has subscribed to a topic.
    pub(super) fn subscribed(&self, topic: TopicId, viewer: Option<SinkId>) {
        let mut waiting = self.lock();
        let is_for_all = |it: &Request| it.topic == topic && it.refill.viewer.is_none();
        if waiting.requests.iter().any(is_for_all) {
            return;
        }
        if waiting.requests.len() >= MAX_WAITING {
            waiting.requests.pop_front();
        }
        waiting.requests.push_back(Request {
            topic,
            refill: Refill::new(viewer, self.channels.subscribed(topic, viewer)),
            jumps: self.jumps.load(Ordering::Relaxed),
        });
        self.woken.notify_one();
    }

    /// No more requests are carried out.
    pub(super) fn end(&self) {
        let mut waiting = self.lock();
        waiting.is_over = true;
        waiting.requests.clear();
        self.jumps.fetch_add(1, Ordering::Relaxed);
        self.woken.notify_all();
    }

    /// Carries out requests until [`Refills::end`].
    pub(super) fn run(&self, bag: &Bag, transport: &Transport) {
        step_back();
        while let Some(request) = self.next() {
            let topic = request.topic;
            let is_wanted = || self.jumps.load(Ordering::Relaxed) == request.jumps;
            if !self.channels.is_subscribed(topic) {
                continue;
            }
            if transport.is_muted(topic) {
                self.channels.mute(topic);
                continue;
            }
            let messages = self.find(bag, topic, &is_wanted);
            // Locked, so that no jump comes in between.
            let mut waiting = self.lock();
            if !is_wanted() {
                continue;
            }
            if request.refill.viewer.is_none() {
                // It is also for those that have subscribed meanwhile.
                waiting.requests.retain(|it| it.topic != topic);
            }
            let is_done = self.channels.refill(topic, &request.refill, &messages);
            // A newer message takes the place of the last one; of latched topics, that of one of several.
            if !is_done && self.channels.is_latched(topic) {
                let count = self.channels.count(topic);
                let refill = Refill {
                    count,
                    ..request.refill
                };
                waiting.requests.push_back(Request { refill, ..request });
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self) -> Option<Request> {
        let mut waiting = self.lock();
        loop {
            if waiting.is_over {
                return None;
            }
            let next = (!waiting.is_held).then(|| waiting.requests.pop_front());
            if let Some(request) = next.flatten() {
                return Some(request);
            }
            let woken = self.woken.wait(waiting);
            waiting = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// What a viewer of the topic would show: of latched topics all that a late joiner receives, otherwise the last
    /// message.
    fn find(&self, bag: &Bag, topic: TopicId, is_wanted: &dyn Fn() -> bool) -> Vec<Message> {
        let only = Selection::of([topic], bag);
        let until = Until::of(&self.channels);
        if self.channels.is_latched(topic) {
            let latched = bag.latched_while(&only, until.time(), &mut |_| is_wanted());
            let (mut messages, _) = latched.unwrap_or_default();
            messages.retain(|message| until.has(message.key));
            return messages;
        }
        let from = StartAt::At(until.time());
        let cursor = bag.cursor(&only, from, Direction::Reverse);
        let mut cursor = cursor.holding(MAX_OPEN_BYTES);
        // The player reports damage when it comes to it.
        while let Some(next) = cursor.next_while(is_wanted) {
            match next {
                Ok(message) if until.has(message.key) => return vec![message],
                _ => {}
            }
        }
        Vec::new()
    }
}

/// Up to where messages count as played. If none was, those at the position itself count, too.
#[derive(Clone, Copy, Debug)]
enum Until {
    Message(Key),
    Position(Time<Ros>),
}

impl Until {
    fn of(channels: &Channels) -> Self {
        let played = channels.played();
        played
            .last
            .map_or(Self::Position(played.from), Self::Message)
    }

    const fn time(self) -> Time<Ros> {
        match self {
            Self::Message(key) => key.time,
            Self::Position(time) => time,
        }
    }

    fn has(self, key: Key) -> bool {
        match self {
            Self::Message(last) => key <= last,
            Self::Position(time) => key.time <= time,
        }
    }
}
