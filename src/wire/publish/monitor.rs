//! [`Monitor`]: counts and readiness of our topics, for whoever watches while the player's thread publishes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::bag::TopicId;
use crate::ros::Qos;

use crate::wire::rmw_zenoh::graph::Graph;

/// One topic, as it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TopicState {
    /// The recorded topics that go out here.
    pub ids: Vec<TopicId>,
    /// The name on the wire.
    pub name: String,
    /// The profile it is offered with; `None` outside ROS.
    pub qos: Option<Qos>,
    /// Messages handed to zenoh, refills included.
    pub sent: u64,
    /// Their payload bytes.
    pub bytes: u64,
    /// Messages not handed on: not CDR, or the session is closed. Not those that congestion drops, which
    /// zenoh does not tell.
    pub dropped: u64,
    /// What subscribers that took nothing have missed, or may have.
    pub missed: Missed,
    /// Whether a subscriber's route is up.
    pub has_match: bool,
    /// Subscriptions with our type and hash, by their tokens.
    pub subscribers: usize,
}

/// What subscribers have missed, or may have, because they took nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Missed {
    /// Puts that waited for the whole stall timeout, and in vain.
    pub stalled: u64,
    /// Messages that at least one subscriber is known not to have got, those of `stalled` included. What it missed
    /// besides that is not known: zenoh does not tell.
    pub lost: u64,
    /// Messages that a subscriber may not have got: those put after the last that it is known to have taken, until its
    /// link closed, if it had taken nothing for a second. An upper bound; messages of `lost` may be among them.
    pub possibly_lost: u64,
}

/// Counts of one topic: one writer, many readers, no order between them.
#[derive(Debug, Default)]
pub(crate) struct Row {
    /// The profile of a ROS topic, whose subscribers have tokens; plain ones are only routes.
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

/// A view of our topics. Cheap to clone, stays valid after the output is gone.
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

    /// All topics on the wire, in the order they were asked for; `/clock` is not among them.
    pub fn topics(&self) -> Vec<TopicState> {
        self.rows.iter().map(|row| self.state(row)).collect()
    }

    /// The topic on the wire that a recorded topic goes to; `None` if it is skipped.
    pub fn topic(&self, id: TopicId) -> Option<TopicState> {
        let row = self.rows.iter().find(|row| row.ids.contains(&id))?;
        Some(self.state(row))
    }

    /// What followers of the clock missed; `None` if none is served.
    pub fn clock(&self) -> Option<Missed> {
        self.clock.as_ref().map(|row| row.missed())
    }

    /// The recorded topics to whose messages a route is up.
    pub fn matched(&self) -> Vec<TopicId> {
        let has_match = |row: &&Arc<Row>| row.has_match.load(Ordering::Relaxed);
        let rows = self.rows.iter().filter(has_match);
        rows.flat_map(|row| row.ids.iter().copied()).collect()
    }

    /// Whether messages of a recorded topic have somebody to go to: the route is up, and among ROS 2 nodes a
    /// token says so too.
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
