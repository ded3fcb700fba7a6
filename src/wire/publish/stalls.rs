//! [`Stalls`]: puts that waited for the whole stall timeout, and the messages that stuck subscribers miss.
//!
//! zenoh does not report what it drops. After a put has waited for the whole stall timeout at a link, zenoh
//! drops at once everything put for that link until the link takes something again. So while a put takes long,
//! a thread looks at the buffers of the links. A link is away if its buffer has not moved for the stall timeout
//! and a put waited in vain meanwhile: messages put from then until the buffer moves are counted as lost to it.
//! A link that takes little at a time is waited for, loses nothing and is never away. For links that close, the
//! same thread runs [`Departures`].

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

use super::closed_links::Departures;
use super::monitor::Row;
use super::sockets::untaken;
use crate::wire::event::{Events, WireEvent};
use crate::wire::net::now::steady;
use crate::wire::rmw_zenoh::graph::Graph;

/// How often the thread looks at the buffers.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// If nothing is stuck, the buffers are read at every fifth of these looks, for links that close.
const DEPARTURES_EVERY: u64 = 5;
/// A buffer that does not move but holds less than this may have room.
const FULL: u64 = 4096;

/// Counts and reports puts that waited in vain. Clones share one state.
#[derive(Clone, Debug)]
pub(crate) struct Stalls {
    shared: Arc<Shared>,
    /// The thread ends when the last of these is dropped.
    _alive: Sender<()>,
}

#[derive(Debug)]
struct Shared {
    graph: Graph,
    events: Events,
    timeout: Duration,
    /// The rows of the topics sent by the session for blocking puts.
    rows: OnceLock<Vec<Arc<Row>>>,
    /// Puts that have begun, have ended, and have waited in vain, including those of the clock.
    begun: AtomicU64,
    ended: AtomicU64,
    stalled: AtomicU64,
}

impl Stalls {
    /// `patient` is the session whose puts wait and are then dropped; `None` if zenoh closes the link instead.
    pub(crate) fn new(
        graph: Graph,
        events: Events,
        timeout: Duration,
        patient: Option<zenoh::Session>,
    ) -> Self {
        let shared = Arc::new(Shared {
            graph,
            events,
            timeout,
            rows: OnceLock::new(),
            begun: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            stalled: AtomicU64::new(0),
        });
        let (alive, over) = bounded(0);
        if let Some(patient) = patient {
            let looked_at = Arc::clone(&shared);
            let named = thread::Builder::new().name("stalls".to_owned());
            let look = move || looked_at.look(&over, || untaken(&patient));
            if let Err(error) = named.spawn(look) {
                tracing::debug!("what is lost is not counted: no thread: {error}");
            }
        }
        Self {
            shared,
            _alive: alive,
        }
    }

    /// Sets the rows of the topics whose puts wait. Called once, before the first put.
    pub(crate) fn watch(&self, rows: Vec<Arc<Row>>) {
        // An error means that they were set before.
        let _ = self.shared.rows.set(rows);
    }

    /// Makes a put; returns its result and how long it took.
    pub(crate) fn while_putting<T>(&self, put: impl FnOnce() -> T) -> (T, Duration) {
        let before = steady();
        self.shared.begun.fetch_add(1, Ordering::Relaxed);
        let done = put();
        self.shared.ended.fetch_add(1, Ordering::Relaxed);
        (done, steady().saturating_duration_since(before))
    }

    /// Records that a put on the topic of `row` took `waited`.
    pub(crate) fn put_took(&self, row: &Row, waited: Duration) {
        let shared = &self.shared;
        // zenoh gives up slightly before or after the full time.
        if waited < shared.timeout.mul_f64(0.9) {
            row.prompt.fetch_add(1, Ordering::Relaxed);
            return;
        }
        row.stalled.fetch_add(1, Ordering::Relaxed);
        row.lost.fetch_add(1, Ordering::Relaxed);
        shared.stalled.fetch_add(1, Ordering::Relaxed);
        shared.events.tell(WireEvent::Stalled {
            topic: row.name.clone(),
            waited,
            nodes: shared.graph.subscriber_nodes(&row.name),
        });
    }
}

/// Counts of puts, as read at one look.
#[derive(Clone, Default, Debug)]
struct Counts {
    /// By row: puts that did not wait for the whole stall timeout.
    prompt: Vec<u64>,
    /// By row: puts that waited for it in vain.
    stalled: Vec<u64>,
    /// All puts that waited for it in vain, including those of the clock.
    all_stalled: u64,
}

/// The buffer of the link to one session, since it last moved.
#[derive(Debug)]
struct Standing {
    bytes: u64,
    since: Instant,
    /// The counts at the look before it stopped moving.
    before: Counts,
    /// How many messages the link has lost, if it is away.
    lost: Option<u64>,
}

impl Shared {
    fn counts(&self) -> Counts {
        let rows = self.rows.get().map_or(&[][..], Vec::as_slice);
        let all = |count: fn(&Row) -> &AtomicU64| {
            let count = |row: &Arc<Row>| count(row).load(Ordering::Relaxed);
            rows.iter().map(count).collect()
        };
        Counts {
            all_stalled: self.stalled.load(Ordering::Relaxed),
            stalled: all(|row| &row.stalled),
            prompt: all(|row| &row.prompt),
        }
    }

    /// Runs until the output is dropped. Reads the buffers at every look while a put takes long or a link is
    /// away, otherwise four times per second.
    fn look(&self, over: &Receiver<()>, untaken: impl Fn() -> BTreeMap<String, u64>) {
        let mut links: BTreeMap<String, Standing> = BTreeMap::new();
        let mut counts = self.counts();
        let mut ended_before = None;
        let mut departures = Departures::new(self.graph.clone(), self.events.clone());
        let mut looks: u64 = 0;
        while over.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
            let ended = self.ended.load(Ordering::Relaxed);
            let is_putting = self.begun.load(Ordering::Relaxed) > ended;
            let takes_long = is_putting && ended_before == Some(ended);
            ended_before = is_putting.then_some(ended);
            let now = self.counts();
            let is_stalled =
                takes_long || now.all_stalled > counts.all_stalled || !links.is_empty();
            looks += 1;
            let is_turn = looks.is_multiple_of(DEPARTURES_EVERY) || departures.has_closed();
            let seen = (is_stalled || is_turn).then(|| (untaken(), steady()));
            if let (Some((bytes, at)), true) = (&seen, is_stalled) {
                self.update(&mut links, bytes, &counts, &now, *at);
                let is_stuck = |link: &Standing| link.waits_in_vain(&now);
                if !takes_long && !links.values().any(is_stuck) {
                    links.clear();
                }
            }
            if let (Some((bytes, at)), Some(rows), true) = (&seen, self.rows.get(), is_turn) {
                departures.look(rows, bytes, *at);
            }
            counts = now;
        }
    }

    /// Takes in `bytes`, the buffers `at` a look; `from` and `to` are the counts at the previous look and at
    /// this one.
    fn update(
        &self,
        links: &mut BTreeMap<String, Standing>,
        bytes: &BTreeMap<String, u64>,
        from: &Counts,
        to: &Counts,
        at: Instant,
    ) {
        links.retain(|zid, link| {
            let now = bytes.get(zid).copied();
            let stands = now == Some(link.bytes);
            if let (false, Some(lost), Some(_)) = (stands, link.lost, now) {
                self.events.tell(WireEvent::Back {
                    nodes: self.graph.nodes_of(zid),
                    away: at.saturating_duration_since(link.since),
                    lost,
                });
            }
            stands
        });
        self.count(links, from, to);
        for (zid, link) in links.iter_mut().filter(|(_, link)| link.lost.is_none()) {
            let stood = at.saturating_duration_since(link.since);
            if stood >= self.timeout && link.waits_in_vain(to) {
                // Includes the puts that waited in vain before it was known that the link is away.
                link.lost = Some(self.stalled_for(zid, &link.before, to));
            }
        }
        for (zid, &bytes) in bytes.iter().filter(|(_, bytes)| **bytes >= FULL) {
            links.entry(zid.clone()).or_insert_with(|| Standing {
                bytes,
                since: at,
                before: from.clone(),
                lost: None,
            });
        }
    }

    /// Counts what was put between two looks as lost to the links that are away.
    fn count(&self, links: &mut BTreeMap<String, Standing>, from: &Counts, to: &Counts) {
        let rows = self.rows.get().map_or(&[][..], Vec::as_slice);
        for (at, row) in rows.iter().enumerate() {
            let (prompt, stalled) = (
                increase(&from.prompt, &to.prompt, at),
                increase(&from.stalled, &to.stalled, at),
            );
            let mut is_lost = false;
            for (zid, link) in links.iter_mut() {
                if let Some(lost) = &mut link.lost
                    && self.graph.subscribes(zid, &row.name)
                {
                    *lost += prompt + stalled;
                    is_lost = true;
                }
            }
            if is_lost {
                // Puts that waited in vain are counted already.
                row.lost.fetch_add(prompt, Ordering::Relaxed);
            }
        }
    }

    /// How many puts waited in vain on topics to which a session subscribes.
    fn stalled_for(&self, zid: &str, from: &Counts, to: &Counts) -> u64 {
        let rows = self.rows.get().map_or(&[][..], Vec::as_slice);
        let of_session = rows.iter().enumerate();
        let of_session = of_session.filter(|(_, row)| self.graph.subscribes(zid, &row.name));
        let stalled = of_session.map(|(at, _)| increase(&from.stalled, &to.stalled, at));
        stalled.sum()
    }
}

impl Standing {
    /// Whether a put has waited in vain since the buffer last moved.
    fn waits_in_vain(&self, now: &Counts) -> bool {
        now.all_stalled > self.before.all_stalled
    }
}

/// The rows may have been set between the two looks.
fn increase(from: &[u64], to: &[u64], at: usize) -> u64 {
    let count = |counts: &[u64]| counts.get(at).copied().unwrap_or(0);
    count(to).saturating_sub(count(from))
}
