//! [`Stalls`]: puts that nobody took for as long as the stall timeout, and what is missed by whoever took nothing.
//!
//! zenoh does not tell what it drops. But while a link stands still, its buffers full and nobody taking any of them,
//! all that is put for it is dropped. So from a stall on a thread looks at the buffers of our links, and counts what
//! was put between two looks at which a link stood still, until none does any more.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use super::monitor::Row;
use super::sockets::untaken;
use crate::wire::event::{Events, WireEvent};
use crate::wire::net::now::steady;
use crate::wire::rmw_zenoh::graph::Graph;

/// How often the buffers are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// A buffer that stands and holds less may be one that has room.
const FULL: u64 = 4096;

/// Counts and tells of puts that waited in vain. Clones are the same.
#[derive(Clone, Debug)]
pub(crate) struct Stalls(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    graph: Graph,
    events: Events,
    timeout: Duration,
    /// The session whose puts wait and are then dropped. `None` where zenoh closes the link instead.
    patient: Option<zenoh::Session>,
    /// What goes out by it.
    rows: OnceLock<Vec<Arc<Row>>>,
    is_looking: AtomicBool,
}

/// A session that takes nothing.
#[derive(Debug)]
struct Away {
    since: Instant,
    lost: u64,
}

impl Stalls {
    pub(crate) fn new(
        graph: Graph,
        events: Events,
        timeout: Duration,
        patient: Option<zenoh::Session>,
    ) -> Self {
        Self(Arc::new(Shared {
            graph,
            events,
            timeout,
            patient,
            rows: OnceLock::new(),
            is_looking: AtomicBool::new(false),
        }))
    }

    /// Which rows count the messages whose puts wait; said once, before the first of them.
    pub(crate) fn watch(&self, rows: Vec<Arc<Row>>) {
        // An error means that it was said before.
        let _ = self.0.rows.set(rows);
    }

    /// A put on the topic of `row`, which has counted it, took so long.
    pub(crate) fn put_took(&self, row: &Row, waited: Duration) {
        let shared = &self.0;
        // zenoh gives up a moment before or after the full time.
        if waited < shared.timeout.mul_f64(0.9) {
            return;
        }
        row.stalled.fetch_add(1, Ordering::Relaxed);
        row.lost.fetch_add(1, Ordering::Relaxed);
        shared.events.tell(WireEvent::Stalled {
            topic: row.name.clone(),
            waited,
            nodes: shared.graph.subscriber_nodes(&row.name),
        });
        if let Some(patient) = &shared.patient
            && !shared.is_looking.swap(true, Ordering::AcqRel)
        {
            let since = steady().checked_sub(waited).unwrap_or_else(steady);
            let (looks, session, sent) = (Arc::clone(shared), patient.clone(), shared.sent());
            let named = thread::Builder::new().name("stalls".to_owned());
            if let Err(error) = named.spawn(move || looks.look(&session, since, sent)) {
                shared.is_looking.store(false, Ordering::Release);
                tracing::debug!("what is lost is not counted: no thread: {error}");
            }
        }
    }
}

impl Shared {
    fn rows(&self) -> &[Arc<Row>] {
        self.rows.get().map_or(&[], Vec::as_slice)
    }

    fn sent(&self) -> Vec<u64> {
        let sent = |row: &Arc<Row>| row.sent.load(Ordering::Relaxed);
        self.rows().iter().map(sent).collect()
    }

    /// Looks until no link stands still. Nobody has taken anything `since` then, and so much had been `sent` when that
    /// was known.
    fn look(&self, session: &zenoh::Session, since: Instant, mut sent: Vec<u64>) {
        let mut before = untaken(session);
        let mut away: BTreeMap<String, Away> = BTreeMap::new();
        let mut is_first = true;
        loop {
            #[expect(
                clippy::disallowed_methods,
                reason = "the system tells of a full buffer only when asked"
            )]
            thread::sleep(LOOK_EVERY);
            let counted = self.sent();
            let now = untaken(session);
            let stands = |zid: &String| {
                let bytes = now.get(zid).filter(|bytes| **bytes >= FULL);
                bytes.is_some() && bytes == before.get(zid)
            };
            for zid in now.keys().filter(|zid| stands(zid)) {
                // The put that waited was lost before anybody looked.
                let (since, lost) = if is_first { (since, 1) } else { (steady(), 0) };
                away.entry(zid.clone()).or_insert(Away { since, lost });
            }
            away.retain(|zid, one| {
                if !stands(zid) && now.contains_key(zid) {
                    self.events.tell(WireEvent::Back {
                        nodes: self.graph.nodes_of(zid),
                        away: steady().saturating_duration_since(one.since),
                        lost: one.lost,
                    });
                }
                stands(zid)
            });
            self.count(&mut away, &sent, &counted);
            if away.is_empty() {
                self.is_looking.store(false, Ordering::Release);
                return;
            }
            (before, sent, is_first) = (now, counted, false);
        }
    }

    /// What was sent from one count to the next has not reached those who are away.
    fn count(&self, away: &mut BTreeMap<String, Away>, from: &[u64], to: &[u64]) {
        for ((row, from), to) in self.rows().iter().zip(from).zip(to) {
            let (more, mut is_lost) = (to.saturating_sub(*from), false);
            for (zid, one) in away.iter_mut() {
                if self.graph.subscribes(zid, &row.name) {
                    one.lost += more;
                    is_lost = true;
                }
            }
            if is_lost {
                row.lost.fetch_add(more, Ordering::Relaxed);
            }
        }
    }
}
