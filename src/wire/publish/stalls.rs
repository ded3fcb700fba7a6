//! [`Stalls`]: puts that waited for the whole stall timeout, and the messages that stuck subscribers miss.
//!
//! zenoh does not report what it drops. After a put has waited for the whole stall timeout at a link, zenoh
//! drops at once everything put for that link until the link takes something again. So while a put takes long,
//! a thread samples the buffers of the links. A link is away if its buffer has not moved for the stall timeout
//! and a put stalled meanwhile: messages put from then until the buffer moves are counted as lost to it.
//! A link that takes little at a time is waited for, loses nothing and is never away. For links that close, the
//! same thread runs [`ClosedLinks`].

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

use super::buffers::sockets::unread_by_session;
use super::closed_links::ClosedLinks;
use super::monitor::TopicCounts;
use crate::wire::dialect::interface::Nodes;
use crate::wire::event::{Events, WireEvent};
use crate::wire::net::now::{SpanClock, steady};

/// How often the thread samples the counts of puts.
const SAMPLE_EVERY: Duration = Duration::from_millis(50);
/// If nothing is stuck, the buffers are read at every fifth sample, for links that close.
const BUFFERS_EVERY: u64 = 5;
/// The part of the stall timeout for which samples find a link unmoved at which a put has waited for all of it, at
/// least: the first sample after it stopped comes up to a quarter of a second late.
const STALLED_AT_LEAST: f64 = 0.7;
/// A buffer that does not move but holds less than this may have room.
const FULL: u64 = 4096;

/// Counts and reports puts that stalled: they waited for the whole stall timeout, then their messages were dropped. Clones share one state.
#[derive(Clone, Debug)]
pub(crate) struct Stalls {
    shared: Arc<Shared>,
    /// The thread ends when the last of these is dropped.
    _alive: Sender<()>,
}

#[derive(Debug)]
struct Shared {
    nodes: Nodes,
    events: Events,
    timeout: Duration,
    /// Measures how long puts take.
    clock: SpanClock,
    /// A put that took this long has waited for the whole timeout.
    stalls_after: Duration,
    /// The topics sent by the session for blocking puts.
    topics: OnceLock<Vec<Arc<TopicCounts>>>,
    /// Puts that have begun, have ended, and have stalled, including those of the clock.
    begun: AtomicU64,
    ended: AtomicU64,
    stalled: AtomicU64,
}

impl Stalls {
    /// `blocking` is the session whose puts wait and are then dropped; `None` if zenoh closes the link instead.
    pub(crate) fn new(
        nodes: Nodes,
        events: Events,
        timeout: Duration,
        blocking: Option<zenoh::Session>,
    ) -> Self {
        let clock = SpanClock::for_spans_of(timeout);
        let shared = Arc::new(Shared {
            nodes,
            events,
            timeout,
            clock,
            // zenoh gives up slightly before or after the full time.
            stalls_after: timeout.mul_f64(0.9).saturating_sub(clock.error()),
            topics: OnceLock::new(),
            begun: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            stalled: AtomicU64::new(0),
        });
        let (alive, over) = bounded(0);
        if let Some(blocking) = blocking {
            let counted = Arc::clone(&shared);
            let named = thread::Builder::new().name("stalls".to_owned());
            let count = move || counted.run(&over, || unread_by_session(&blocking));
            if let Err(error) = named.spawn(count) {
                tracing::debug!(
                    "lost messages are not counted: the thread cannot be started: {error}"
                );
            }
        }
        Self {
            shared,
            _alive: alive,
        }
    }

    /// Sets the topics whose puts wait. Called once, before the first put.
    pub(crate) fn watch(&self, topics: Vec<Arc<TopicCounts>>) {
        // An error means that they were set before.
        let _ = self.shared.topics.set(topics);
    }

    /// Makes a put; returns its result and how long it took.
    pub(crate) fn while_putting<T>(&self, put: impl FnOnce() -> T) -> (T, Duration) {
        let before = self.shared.clock.read();
        self.shared.begun.fetch_add(1, Ordering::Relaxed);
        let done = put();
        self.shared.ended.fetch_add(1, Ordering::Relaxed);
        (done, self.shared.clock.read().saturating_sub(before))
    }

    /// Records that a put on `topic` took `waited`.
    pub(crate) fn put_took(&self, topic: &TopicCounts, waited: Duration) {
        let shared = &self.shared;
        if waited < shared.stalls_after {
            topic.prompt.add(1);
            return;
        }
        topic.stalled.fetch_add(1, Ordering::Relaxed);
        topic.lost.fetch_add(1, Ordering::Relaxed);
        shared.stalled.fetch_add(1, Ordering::Relaxed);
        shared.events.send(WireEvent::Stalled {
            topic: topic.name.clone(),
            waited,
            nodes: shared.nodes.subscribers(&topic.name),
        });
    }
}

/// Counts of puts, as read in one sample.
#[derive(Clone, Default, Debug)]
struct PutCounts {
    /// By topic: puts that did not wait for the whole stall timeout.
    prompt: Vec<u64>,
    /// By topic: puts that stalled.
    stalled: Vec<u64>,
    /// All puts that stalled, including those of the clock.
    all_stalled: u64,
}

/// A link whose buffer has not moved since a sample.
#[derive(Debug)]
struct StuckLink {
    bytes: u64,
    since: Instant,
    /// The counts in the sample before it stopped moving.
    before: PutCounts,
    /// How many messages the link has lost, if it is away.
    lost: Option<u64>,
}

impl Shared {
    fn topics(&self) -> &[Arc<TopicCounts>] {
        self.topics.get().map_or(&[][..], Vec::as_slice)
    }

    fn counts(&self) -> PutCounts {
        let all = |count: fn(&TopicCounts) -> u64| {
            self.topics().iter().map(|topic| count(topic)).collect()
        };
        PutCounts {
            all_stalled: self.stalled.load(Ordering::Relaxed),
            stalled: all(|topic| topic.stalled.load(Ordering::Relaxed)),
            prompt: all(|topic| topic.prompt.get()),
        }
    }

    /// Runs until the output is dropped. Reads the buffers (`unread`) at every sample while a put takes long or a
    /// link is away, otherwise four times per second.
    fn run(&self, over: &Receiver<()>, unread: impl Fn() -> BTreeMap<String, u64>) {
        let mut links: BTreeMap<String, StuckLink> = BTreeMap::new();
        let mut counts = self.counts();
        let mut ended_before = None;
        let mut closed_links = ClosedLinks::new(self.nodes.clone(), self.events.clone());
        let mut samples: u64 = 0;
        while over.recv_timeout(SAMPLE_EVERY) == Err(RecvTimeoutError::Timeout) {
            let ended = self.ended.load(Ordering::Relaxed);
            let is_putting = self.begun.load(Ordering::Relaxed) > ended;
            let takes_long = is_putting && ended_before == Some(ended);
            ended_before = is_putting.then_some(ended);
            let now = self.counts();
            let is_stalled =
                takes_long || now.all_stalled > counts.all_stalled || !links.is_empty();
            samples += 1;
            let is_turn = samples.is_multiple_of(BUFFERS_EVERY) || closed_links.has_pending();
            let seen = (is_stalled || is_turn).then(|| (unread(), steady()));
            if let (Some((bytes, at)), true) = (&seen, is_stalled) {
                self.update(&mut links, bytes, &counts, &now, *at);
                let is_stuck = |link: &StuckLink| link.has_stalled(&now);
                if !takes_long && !links.values().any(is_stuck) {
                    links.clear();
                }
            }
            if let (Some((bytes, at)), Some(topics), true) = (&seen, self.topics.get(), is_turn) {
                closed_links.update(topics, bytes, *at);
            }
            counts = now;
        }
    }

    /// Takes in `bytes`, the buffers in the sample made `at`; `from` and `to` are the counts in the previous sample
    /// and in this one.
    fn update(
        &self,
        links: &mut BTreeMap<String, StuckLink>,
        bytes: &BTreeMap<String, u64>,
        from: &PutCounts,
        to: &PutCounts,
        at: Instant,
    ) {
        links.retain(|zid, link| {
            let now = bytes.get(zid).copied();
            let is_unmoved = now == Some(link.bytes);
            let away = at.saturating_duration_since(link.since);
            // A put stalled at it, but it moved before a sample found it away.
            let was_stuck = away >= self.timeout.mul_f64(STALLED_AT_LEAST) && link.has_stalled(to);
            let lost = link
                .lost
                .or_else(|| was_stuck.then(|| self.stalled_for(zid, &link.before, to)));
            if let (false, Some(lost), Some(_)) = (is_unmoved, lost, now) {
                self.events.send(WireEvent::Back {
                    nodes: self.nodes.of_session(zid),
                    away,
                    lost,
                });
            }
            is_unmoved
        });
        self.count(links, from, to);
        for (zid, link) in links.iter_mut().filter(|(_, link)| link.lost.is_none()) {
            let unmoved_for = at.saturating_duration_since(link.since);
            if unmoved_for >= self.timeout && link.has_stalled(to) {
                // Includes the puts that stalled before it was known that the link is away.
                link.lost = Some(self.stalled_for(zid, &link.before, to));
            }
        }
        for (zid, &bytes) in bytes.iter().filter(|(_, bytes)| **bytes >= FULL) {
            links.entry(zid.clone()).or_insert_with(|| StuckLink {
                bytes,
                since: at,
                before: from.clone(),
                lost: None,
            });
        }
    }

    /// Counts what was put between two samples as lost to the links that are away.
    fn count(&self, links: &mut BTreeMap<String, StuckLink>, from: &PutCounts, to: &PutCounts) {
        for (at, topic) in self.topics().iter().enumerate() {
            let (prompt, stalled) = (
                increase(&from.prompt, &to.prompt, at),
                increase(&from.stalled, &to.stalled, at),
            );
            let mut is_lost = false;
            for (zid, link) in links.iter_mut() {
                if let Some(lost) = &mut link.lost
                    && self.nodes.subscribes(zid, &topic.name)
                {
                    *lost += prompt + stalled;
                    is_lost = true;
                }
            }
            if is_lost {
                // Puts that stalled are counted already.
                topic.lost.fetch_add(prompt, Ordering::Relaxed);
            }
        }
    }

    /// How many puts stalled on topics to which a session subscribes.
    fn stalled_for(&self, zid: &str, from: &PutCounts, to: &PutCounts) -> u64 {
        let of_session = self.topics().iter().enumerate();
        let of_session = of_session.filter(|(_, topic)| self.nodes.subscribes(zid, &topic.name));
        let stalled = of_session.map(|(at, _)| increase(&from.stalled, &to.stalled, at));
        stalled.sum()
    }
}

impl StuckLink {
    /// Whether a put has stalled since the buffer last moved.
    fn has_stalled(&self, now: &PutCounts) -> bool {
        now.all_stalled > self.before.all_stalled
    }
}

/// The topics may have been set between the two samples.
fn increase(from: &[u64], to: &[u64], at: usize) -> u64 {
    let count = |counts: &[u64]| counts.get(at).copied().unwrap_or(0);
    count(to).saturating_sub(count(from))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// How long the link was away when its buffer moves after `unmoved`, by the event; `None` without one.
    fn back_after(unmoved: Duration, has_stalled: bool) -> Option<Duration> {
        let seen = Arc::new(Mutex::new(None));
        let away = Arc::clone(&seen);
        let events = Events::new(move |event| {
            if let WireEvent::Back { away: span, .. } = event {
                *away.lock().unwrap() = Some(span);
            }
        });
        let timeout = Duration::from_secs(5);
        let stalls = Stalls::new(Nodes::Unannounced, events, timeout, None);
        let begin = steady();
        let (none, some) = (
            PutCounts::default(),
            PutCounts {
                all_stalled: u64::from(has_stalled),
                ..PutCounts::default()
            },
        );
        let bytes = |bytes: u64| BTreeMap::from([("peer".to_owned(), bytes)]);
        let mut links = BTreeMap::new();
        let shared = &stalls.shared;
        shared.update(&mut links, &bytes(100_000), &none, &none, begin);
        shared.update(
            &mut links,
            &bytes(100_000),
            &none,
            &none,
            begin + unmoved / 2,
        );
        shared.update(&mut links, &bytes(50_000), &none, &some, begin + unmoved);
        *seen.lock().unwrap()
    }

    #[test]
    fn a_link_that_moves_right_after_a_put_stalled_at_it_was_away() {
        let ms = Duration::from_millis;
        for (unmoved, has_stalled, expected) in [
            (ms(4_800), true, Some(ms(4_800))),
            // No put waited for it all the time.
            (ms(4_800), false, None),
            // The put stalled at another link.
            (ms(2_000), true, None),
        ] {
            assert_eq!(
                back_after(unmoved, has_stalled),
                expected,
                "{unmoved:?} {has_stalled}"
            );
        }
    }
}
