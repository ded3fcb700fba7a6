//! [`Monitor`]: counts and readiness of the published topics, for other threads while the player's thread
//! publishes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::bag::TopicId;
use crate::ros::Qos;

use crate::wire::rmw_zenoh::graph::Graph;

/// The present state of one topic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TopicState {
    /// The recorded topics that are published here.
    pub ids: Vec<TopicId>,
    /// The name on the wire.
    pub name: String,
    /// The profile with which it is offered; `None` on plain keys.
    pub qos: Option<Qos>,
    /// Messages handed to zenoh, refills included.
    pub sent: u64,
    /// Payload bytes of those messages.
    pub bytes: u64,
    /// Messages not handed to zenoh: not CDR, or the session is closed. Messages dropped by congestion are not
    /// included, because zenoh does not report them.
    pub dropped: u64,
    /// What stuck subscribers have missed or may have missed.
    pub missed: Missed,
    /// Whether a subscriber's route is up.
    pub has_match: bool,
    /// Subscriptions with the same type and hash, by their tokens.
    pub subscribers: usize,
}

/// What subscribers have missed or may have missed because they were stuck.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Missed {
    /// Puts that waited for the whole stall timeout in vain.
    pub stalled: u64,
    /// Messages that at least one subscriber is known to have missed, including those in `stalled`. It may have
    /// missed more: zenoh does not report it.
    pub lost: u64,
    /// Messages that a subscriber may have missed because its link closed after it had taken nothing for a
    /// second: those put after the last one that it is known to have taken, until the link closed. An upper
    /// bound; it may include messages counted in `lost`.
    pub possibly_lost: u64,
}

/// The counts of one topic: one writer, many readers; different counts may be from different moments.
#[derive(Debug, Default)]
pub(crate) struct Row {
    /// The profile of a ROS topic, whose subscribers have tokens; `None` on plain keys, where only routes are
    /// known.
    pub(crate) qos: Option<Qos>,
    pub(crate) ids: Vec<TopicId>,
    pub(crate) name: String,
    pub(crate) sent: AtomicU64,
    pub(crate) bytes: AtomicU64,
    pub(crate) dropped: AtomicU64,
    /// Puts that did not wait for the whole stall timeout.
    pub(crate) prompt: AtomicU64,
    pub(crate) stalled: AtomicU64,
    pub(crate) lost: AtomicU64,
    pub(crate) possibly_lost: AtomicU64,
    pub(crate) has_match: AtomicBool,
}

impl Row {
    /// A row of a ROS topic.
    pub(crate) fn ros(ids: Vec<TopicId>, name: String, qos: Qos) -> Self {
        Self {
            qos: Some(qos),
            ..Self::plain(ids, name)
        }
    }

    /// A row of a plain key.
    pub(crate) fn plain(ids: Vec<TopicId>, name: String) -> Self {
        Self {
            ids,
            name,
            ..Self::default()
        }
    }

    fn missed(&self) -> Missed {
        Missed {
            stalled: self.stalled.load(Ordering::Relaxed),
            lost: self.lost.load(Ordering::Relaxed),
            possibly_lost: self.possibly_lost.load(Ordering::Relaxed),
        }
    }

    pub(crate) fn count_sent(&self, bytes: usize) {
        self.sent.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

/// A view of the published topics. Cheap to clone; valid after the output is dropped.
#[derive(Clone, Debug)]
pub struct Monitor {
    rows: Arc<[Arc<Row>]>,
    clock: Option<Arc<Row>>,
    graph: Graph,
}

impl Monitor {
    pub(crate) fn new(rows: Vec<Arc<Row>>, clock: Option<Arc<Row>>, graph: Graph) -> Self {
        Self {
            rows: rows.into(),
            clock,
            graph,
        }
    }

    /// All topics on the wire, in the order in which they were requested, without `/clock`.
    pub fn topics(&self) -> Vec<TopicState> {
        self.rows.iter().map(|row| self.state(row)).collect()
    }

    /// The topic on the wire that publishes a recorded topic; `None` if it is skipped.
    pub fn topic(&self, id: TopicId) -> Option<TopicState> {
        let row = self.rows.iter().find(|row| row.ids.contains(&id))?;
        Some(self.state(row))
    }

    /// What subscribers of the clock missed; `None` if no clock is served.
    pub fn clock(&self) -> Option<Missed> {
        self.clock.as_ref().map(|row| row.missed())
    }

    /// The recorded topics with a route to a subscriber.
    pub fn matched(&self) -> Vec<TopicId> {
        let has_match = |row: &&Arc<Row>| row.has_match.load(Ordering::Relaxed);
        let rows = self.rows.iter().filter(has_match);
        rows.flat_map(|row| row.ids.iter().copied()).collect()
    }

    /// Whether messages of a recorded topic can reach a subscriber: there is a route, and on ROS topics also a
    /// subscriber's token.
    pub fn is_ready(&self, id: TopicId) -> bool {
        let row = self.rows.iter().find(|row| row.ids.contains(&id));
        row.is_some_and(|row| {
            let state = self.state(row);
            state.has_match && (state.subscribers > 0 || row.qos.is_none())
        })
    }

    fn state(&self, row: &Row) -> TopicState {
        TopicState {
            ids: row.ids.clone(),
            name: row.name.clone(),
            qos: row.qos,
            sent: row.sent.load(Ordering::Relaxed),
            bytes: row.bytes.load(Ordering::Relaxed),
            dropped: row.dropped.load(Ordering::Relaxed),
            missed: row.missed(),
            has_match: row.has_match.load(Ordering::Relaxed),
            subscribers: self.graph.reached(&row.name),
        }
    }
}
