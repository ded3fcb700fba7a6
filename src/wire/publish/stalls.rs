//! [`Stalls`]: puts that waited for the whole stall timeout, and the messages that stuck subscribers miss.
//!
//! zenoh does not report what it drops. After a put has waited for the whole stall timeout at a link, zenoh
//! drops at once everything of the same priority put for that link until the link takes something again. So while
//! a put takes long, a thread samples the buffers of the links. A link is away for a [`Lane`] if its buffer has not
//! moved for the stall timeout and a put of the lane stalled meanwhile: messages of the lane that are put from then
//! until the buffer moves are counted as lost to it.
//! A link that takes little at a time is waited for, loses nothing and is never away. For links that close, the
//! same thread runs [`ClosedLinks`].

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

use super::buffers::sockets::unread_by_session;
use super::closed_links::ClosedLinks;
use super::monitor::{Lane, LanePuts, TopicCounts};
use crate::player::Count;
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

/// Counts and reports puts that stalled: they waited for the whole stall timeout, then their messages were dropped.
/// Clones share one state.
#[derive(Clone, Debug)]
pub(crate) struct Stalls {
    shared: Arc<Shared>,
    /// The source of the puts that are counted.
    putter: Putter,
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
    totals: [PutTotals; Putter::ALL.len()],
}

/// A source of puts. It makes one put at a time, so its counts have one writer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Putter {
    /// The player's thread, which puts messages.
    Player,
    /// The threads that put the clock in line with messages, under one lock.
    Clock,
    /// The thread that puts large messages.
    Bulk,
}

impl Putter {
    const ALL: [Self; 3] = [Self::Player, Self::Clock, Self::Bulk];

    const fn lane(self) -> Lane {
        match self {
            Self::Player | Self::Clock => Lane::Ordinary,
            Self::Bulk => Lane::Bulk,
        }
    }
}

/// Puts that have begun, have ended, and have stalled.
#[derive(Debug, Default)]
struct PutTotals {
    begun: Count,
    ended: Count,
    stalled: Count,
}

impl Stalls {
    /// For the player's thread. `blocking` is the session whose puts wait and are then dropped; `None` if zenoh closes
    /// the link instead.
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
            totals: Default::default(),
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
            putter: Putter::Player,
            _alive: alive,
        }
    }

    /// The same for another source of puts.
    pub(crate) fn of(&self, putter: Putter) -> Self {
        Self {
            putter,
            ..self.clone()
        }
    }

    /// Sets the topics whose puts wait. Called once, before the first put.
    pub(crate) fn watch(&self, topics: Vec<Arc<TopicCounts>>) {
        // An error means that they were set before.
        let _ = self.shared.topics.set(topics);
    }

    /// Makes a put; returns its result and how long it took.
    #[inline]
    pub(crate) fn while_putting<T>(&self, put: impl FnOnce() -> T) -> (T, Duration) {
        let before = self.shared.clock.read();
        let totals = self.totals();
        totals.begun.add(1);
        let done = put();
        totals.ended.add(1);
        (done, self.shared.clock.read().saturating_sub(before))
    }

    /// Records that a put on `topic` took `waited`.
    #[inline]
    pub(crate) fn put_took(&self, topic: &TopicCounts, waited: Duration) {
        let shared = &self.shared;
        let puts = topic.puts_in(self.putter.lane());
        if waited < shared.stalls_after {
            puts.prompt.add(1);
            return;
        }
        puts.stalled.fetch_add(1, Ordering::Relaxed);
        topic.lost.fetch_add(1, Ordering::Relaxed);
        self.totals().stalled.add(1);
        shared.events.send(WireEvent::Stalled {
            topic: topic.name.clone(),
            waited,
            nodes: shared.nodes.subscribers(&topic.name),
        });
    }

    #[inline]
    fn totals(&self) -> &PutTotals {
        &self.shared.totals[self.putter as usize]
    }
}

/// Counts of puts in one lane, as read in one sample.
#[derive(Clone, Default, Debug)]
struct PutCounts {
    /// By topic: puts that did not wait for the whole stall timeout.
    prompt: Vec<u64>,
    /// By topic: puts that stalled.
    stalled: Vec<u64>,
    /// All puts that stalled, including those of the clock.
    all_stalled: u64,
}

/// One lane in the last two samples, and the links that are or may be away for it.
#[derive(Debug)]
struct LaneSamples {
    lane: Lane,
    links: BTreeMap<String, StuckLink>,
    from: PutCounts,
    to: PutCounts,
    /// How many puts had ended, if one had begun and not ended.
    ended: Option<u64>,
    /// Whether that put was already running in the sample before.
    takes_long: bool,
}

/// A link whose buffer has not moved since a sample.
#[derive(Debug)]
struct StuckLink {
    bytes: u64,
    since: Instant,
    /// The counts in the sample before it stopped moving.
    before: PutCounts,
    /// How many messages of the lane the link has lost, if it is away.
    lost: Option<u64>,
}

/// The links that are no longer away: for how long they were, and how many messages they have lost, by session.
type LinksBack = BTreeMap<String, (Duration, u64)>;

impl Shared {
    fn topics(&self) -> &[Arc<TopicCounts>] {
        self.topics.get().map_or(&[][..], Vec::as_slice)
    }

    /// A count, summed over all sources of puts in a lane.
    fn total(&self, lane: Lane, count: fn(&PutTotals) -> &Count) -> u64 {
        let putters = Putter::ALL.into_iter().zip(&self.totals);
        let of_lane = putters.filter(|(putter, _)| putter.lane() == lane);
        of_lane.map(|(_, totals)| count(totals).get()).sum()
    }

    fn counts(&self, lane: Lane) -> PutCounts {
        let puts = || self.topics().iter().map(|topic| topic.puts_in(lane));
        PutCounts {
            all_stalled: self.total(lane, |totals| &totals.stalled),
            stalled: puts().map(LanePuts::stalled).collect(),
            prompt: puts().map(|puts| puts.prompt.get()).collect(),
        }
    }

    /// Runs until the output is dropped. Reads the buffers (`unread`) at every sample while a put takes long or a
    /// link is away, otherwise four times per second.
    fn run(&self, over: &Receiver<()>, unread: impl Fn() -> BTreeMap<String, u64>) {
        let mut lanes = Lane::ALL.map(|lane| LaneSamples::new(lane, self.counts(lane)));
        let mut closed_links = ClosedLinks::new(self.nodes.clone(), self.events.clone());
        let mut samples: u64 = 0;
        while over.recv_timeout(SAMPLE_EVERY) == Err(RecvTimeoutError::Timeout) {
            for lane in &mut lanes {
                lane.sample(self);
            }
            let is_stalled = lanes.iter().any(LaneSamples::is_stalled);
            samples += 1;
            let is_turn = samples.is_multiple_of(BUFFERS_EVERY) || closed_links.has_pending();
            if !is_stalled && !is_turn {
                continue;
            }
            let (bytes, at) = (unread(), steady());
            let mut back = LinksBack::new();
            for lane in lanes.iter_mut().filter(|lane| lane.is_stalled()) {
                lane.update(self, &bytes, at, &mut back);
            }
            for (zid, (away, lost)) in back {
                let nodes = self.nodes.of_session(&zid);
                self.events.send(WireEvent::Back { nodes, away, lost });
            }
            if let (Some(topics), true) = (self.topics.get(), is_turn) {
                closed_links.update(topics, &bytes, at);
            }
        }
    }

    /// How many puts of a lane stalled on topics to which a session subscribes.
    fn stalled_for(&self, zid: &str, from: &PutCounts, to: &PutCounts) -> u64 {
        let of_session = self.topics().iter().enumerate();
        let of_session = of_session.filter(|(_, topic)| self.nodes.subscribes(zid, &topic.name));
        let stalled = of_session.map(|(at, _)| increase(&from.stalled, &to.stalled, at));
        stalled.sum()
    }
}

impl LaneSamples {
    fn new(lane: Lane, counts: PutCounts) -> Self {
        Self {
            lane,
            links: BTreeMap::new(),
            from: counts.clone(),
            to: counts,
            ended: None,
            takes_long: false,
        }
    }

    /// Takes in the counts of the lane in a new sample.
    fn sample(&mut self, shared: &Shared) {
        let ended = shared.total(self.lane, |totals| &totals.ended);
        let begun = shared.total(self.lane, |totals| &totals.begun);
        self.take(begun > ended, ended, shared.counts(self.lane));
    }

    fn take(&mut self, is_putting: bool, ended: u64, counts: PutCounts) {
        self.takes_long = is_putting && self.ended == Some(ended);
        self.ended = is_putting.then_some(ended);
        self.from = std::mem::replace(&mut self.to, counts);
    }

    /// Whether a put takes long or has stalled, or a link is or may be away.
    fn is_stalled(&self) -> bool {
        self.takes_long || self.to.all_stalled > self.from.all_stalled || !self.links.is_empty()
    }

    /// Takes in `bytes`, the buffers in the last sample, made `at`. Adds links that are no longer away to `back`.
    fn update(
        &mut self,
        shared: &Shared,
        bytes: &BTreeMap<String, u64>,
        at: Instant,
        back: &mut LinksBack,
    ) {
        let (from, to) = (&self.from, &self.to);
        self.links.retain(|zid, link| {
            let now = bytes.get(zid).copied();
            let is_unmoved = now == Some(link.bytes);
            let away = at.saturating_duration_since(link.since);
            // A put stalled at it, but it moved before a sample found it away.
            let was_stuck =
                away >= shared.timeout.mul_f64(STALLED_AT_LEAST) && link.has_stalled(to);
            let lost = link
                .lost
                .or_else(|| was_stuck.then(|| shared.stalled_for(zid, &link.before, to)));
            if let (false, Some(lost), Some(_)) = (is_unmoved, lost, now) {
                let (longest, all) = back.entry(zid.clone()).or_default();
                (*longest, *all) = (away.max(*longest), *all + lost);
            }
            is_unmoved
        });
        count_lost(shared, &mut self.links, from, to);
        for (zid, link) in self
            .links
            .iter_mut()
            .filter(|(_, link)| link.lost.is_none())
        {
            let unmoved_for = at.saturating_duration_since(link.since);
            if unmoved_for >= shared.timeout && link.has_stalled(to) {
                // Includes the puts that stalled before it was known that the link is away.
                link.lost = Some(shared.stalled_for(zid, &link.before, to));
            }
        }
        for (zid, &bytes) in bytes.iter().filter(|(_, bytes)| **bytes >= FULL) {
            self.links.entry(zid.clone()).or_insert_with(|| StuckLink {
                bytes,
                since: at,
                before: from.clone(),
                lost: None,
            });
        }
        let is_stuck = |link: &StuckLink| link.has_stalled(to);
        if !self.takes_long && !self.links.values().any(is_stuck) {
            self.links.clear();
        }
    }
}

/// Counts what was put in a lane between two samples as lost to the links that are away for it.
fn count_lost(
    shared: &Shared,
    links: &mut BTreeMap<String, StuckLink>,
    from: &PutCounts,
    to: &PutCounts,
) {
    for (at, topic) in shared.topics().iter().enumerate() {
        let (prompt, stalled) = (
            increase(&from.prompt, &to.prompt, at),
            increase(&from.stalled, &to.stalled, at),
        );
        let mut is_lost = false;
        for (zid, link) in links.iter_mut() {
            if let Some(lost) = &mut link.lost
                && shared.nodes.subscribes(zid, &topic.name)
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
    use super::*;

    /// How long the link was away when its buffer moves after `unmoved`; `None` if it was not.
    fn back_after(unmoved: Duration, has_stalled: bool) -> Option<Duration> {
        let events = Events::new(drop);
        let timeout = Duration::from_secs(5);
        let stalls = Stalls::new(Nodes::Unannounced, events, timeout, None);
        let begin = steady();
        let mut lane = LaneSamples::new(Lane::Ordinary, PutCounts::default());
        // A put that does not end.
        lane.take(true, 0, PutCounts::default());
        let mut back = LinksBack::new();
        let samples = [
            (Duration::ZERO, 100_000, false),
            (unmoved / 2, 100_000, false),
            (unmoved, 50_000, has_stalled),
        ];
        for (after, unread, has_stalled) in samples {
            let counts = PutCounts {
                all_stalled: u64::from(has_stalled),
                ..PutCounts::default()
            };
            lane.take(true, 0, counts);
            let bytes = BTreeMap::from([("peer".to_owned(), unread)]);
            lane.update(&stalls.shared, &bytes, begin + after, &mut back);
        }
        back.get("peer").map(|(away, _)| *away)
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

    #[test]
    fn a_put_that_takes_long_is_noticed_while_puts_in_another_lane_end() {
        let timeout = Duration::from_secs(5);
        let ordinary = Stalls::new(Nodes::Unannounced, Events::new(drop), timeout, None);
        let bulk = ordinary.of(Putter::Bulk);
        let shared = &ordinary.shared;
        let mut lanes = Lane::ALL.map(|lane| LaneSamples::new(lane, shared.counts(lane)));
        bulk.while_putting(|| {
            for _ in 0..2 {
                ordinary.while_putting(|| {
                    for lane in &mut lanes {
                        lane.sample(shared);
                    }
                });
            }
        });
        let [of_ordinary, of_bulk] = lanes.map(|lane| lane.takes_long);
        assert!(!of_ordinary && of_bulk);
    }
}
