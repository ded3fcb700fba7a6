//! [`Monitor`]: counts and readiness of the published topics, for other threads while the player's thread
//! publishes.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::bag::TopicId;
use crate::player::Count;
use crate::ros::Qos;

use crate::wire::dialect::interface::{Nodes, TopicSpec};
use crate::wire::net::now::steady;

/// The interval between two checks that all routes are up.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// The present state of one topic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TopicState {
    /// The recorded topics that are published here.
    pub ids: Vec<TopicId>,
    /// The name on the wire.
    pub name: String,
    /// The profile that subscribers see; `None` on plain keys.
    pub qos: Option<Qos>,
    /// Messages handed to zenoh, refills included.
    pub sent: u64,
    /// Payload bytes of those messages.
    pub bytes: u64,
    /// Messages not handed to zenoh: not CDR, or the session is closed. Messages dropped by congestion are not
    /// included, because zenoh does not report them.
    pub dropped: u64,
    /// Why the first of those was not handed to zenoh.
    pub first_problem: Option<String>,
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
    /// Puts that waited for the whole stall timeout, after which the message was dropped.
    pub stalled: u64,
    /// Messages that at least one subscriber is known to have missed, including those in `stalled`. It may have
    /// missed more: zenoh does not report it.
    pub lost: u64,
    /// Messages that a subscriber may have missed because its link closed after it had taken nothing for a
    /// second: those put after the last one that it is known to have taken, until the link closed. An upper
    /// bound; it may include messages counted in `lost`.
    pub possibly_lost: u64,
}

impl Missed {
    /// The counts of both together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            stalled: self.stalled + other.stalled,
            lost: self.lost + other.lost,
            possibly_lost: self.possibly_lost + other.possibly_lost,
        }
    }
}

/// The messages that share a queue at each link: those of one priority. While the queue of one lane has no room, zenoh
/// drops messages of that lane only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lane {
    /// The messages that the player's thread puts, and the clock in line with them.
    Ordinary,
    /// Large messages that a thread of their own puts.
    Bulk,
}

impl Lane {
    pub(crate) const ALL: [Self; 2] = [Self::Ordinary, Self::Bulk];

    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}

/// How the puts of a topic in one lane have ended; one writer at a time.
#[derive(Debug, Default)]
pub(crate) struct LanePuts {
    /// Puts that did not wait for the whole stall timeout.
    pub(crate) prompt: Count,
    /// Puts that did.
    pub(crate) stalled: AtomicU64,
}

impl LanePuts {
    pub(crate) fn stalled(&self) -> u64 {
        self.stalled.load(Ordering::Relaxed)
    }
}

/// The counts of one topic: one writer at a time, many readers; different counts may be from different moments.
#[derive(Debug, Default)]
pub(crate) struct TopicCounts {
    /// The profile that subscribers see; `None` if they see none.
    pub(crate) qos: Option<Qos>,
    pub(crate) ids: Vec<TopicId>,
    pub(crate) name: String,
    pub(crate) sent: Count,
    pub(crate) bytes: Count,
    pub(crate) dropped: AtomicU64,
    /// Why the first of those was not put.
    pub(crate) first_problem: OnceLock<String>,
    /// By lane.
    pub(crate) puts: [LanePuts; Lane::ALL.len()],
    pub(crate) lost: AtomicU64,
    pub(crate) possibly_lost: AtomicU64,
    pub(crate) has_match: AtomicBool,
}

impl TopicCounts {
    /// The counts of a topic on which nothing has been put.
    pub(crate) fn of(topic: &TopicSpec) -> Self {
        Self {
            qos: topic.offered,
            ids: topic.ids.clone(),
            ..Self::named(&topic.name)
        }
    }

    /// Counts that belong to no recorded topic.
    pub(crate) fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
        }
    }

    fn missed(&self) -> Missed {
        Missed {
            stalled: self.puts.iter().map(LanePuts::stalled).sum(),
            lost: self.lost.load(Ordering::Relaxed),
            possibly_lost: self.possibly_lost.load(Ordering::Relaxed),
        }
    }

    /// Its puts in one lane.
    #[inline]
    pub(crate) fn puts_in(&self, lane: Lane) -> &LanePuts {
        &self.puts[lane.index()]
    }

    #[inline]
    pub(crate) fn count_sent(&self, bytes: usize) {
        self.sent.add(1);
        self.bytes.add(bytes as u64);
    }
}

/// The counts of all clocks that an output serves, one after the other.
#[derive(Debug)]
pub(crate) struct ClockCounts {
    pub(crate) counts: Arc<TopicCounts>,
    pub(crate) is_served: AtomicBool,
}

/// A view of the published topics. Cheap to clone; valid after the output is dropped.
#[derive(Clone, Debug)]
pub struct Monitor {
    topics: Arc<[Arc<TopicCounts>]>,
    clock: Arc<ClockCounts>,
    nodes: Nodes,
}

impl Monitor {
    pub(crate) fn new(
        topics: Vec<Arc<TopicCounts>>,
        clock: Arc<ClockCounts>,
        nodes: Nodes,
    ) -> Self {
        Self {
            topics: topics.into(),
            clock,
            nodes,
        }
    }

    /// All topics on the wire, in the order in which they were requested, without `/clock`.
    pub fn topics(&self) -> Vec<TopicState> {
        self.topics.iter().map(|topic| self.state(topic)).collect()
    }

    /// The topic on the wire that publishes a recorded topic; `None` if it is skipped.
    pub fn topic(&self, id: TopicId) -> Option<TopicState> {
        self.counts(id).map(|topic| self.state(topic))
    }

    /// What subscribers of the clock missed; `None` if none was served.
    pub fn clock(&self) -> Option<Missed> {
        let missed = self.clock.counts.missed();
        (self.has_clock() || missed != Missed::default()).then_some(missed)
    }

    /// Whether a clock is published now.
    pub fn has_clock(&self) -> bool {
        self.clock.is_served.load(Ordering::Relaxed)
    }

    /// The recorded topics with a route to a subscriber.
    pub fn matched(&self) -> Vec<TopicId> {
        let has_match = |topic: &&Arc<TopicCounts>| topic.has_match.load(Ordering::Relaxed);
        let matched = self.topics.iter().filter(has_match);
        matched
            .flat_map(|topic| topic.ids.iter().copied())
            .collect()
    }

    /// Whether messages of a recorded topic can reach a subscriber: there is a route, and if subscribers announce
    /// themselves, one has done so.
    pub fn is_ready(&self, id: TopicId) -> bool {
        self.counts(id).is_some_and(|topic| {
            let subscriptions = self.nodes.subscriptions(&topic.name);
            topic.has_match.load(Ordering::Relaxed) && subscriptions != Some(0)
        })
    }

    /// Waits until there is a route to all subscriptions that are known, for `longest` at most. Links to nodes that
    /// were there before this session are made one after the other; messages that are put earlier do not reach them.
    pub fn wait_for_routes(&self, longest: Duration) {
        let began = steady();
        let is_routed = |topic: &Arc<TopicCounts>| {
            let has_match = topic.has_match.load(Ordering::Relaxed);
            let are_reached = self.nodes.are_all_reached(&topic.name);
            are_reached && (has_match || self.nodes.subscriptions(&topic.name).unwrap_or(0) == 0)
        };
        while !self.topics.iter().all(is_routed) {
            if steady().duration_since(began) >= longest {
                tracing::debug!("some subscriptions are not reached yet");
                return;
            }
            #[expect(
                clippy::disallowed_methods,
                reason = "subscriptions and routes change in several places, and each may be the last"
            )]
            std::thread::sleep(LOOK_EVERY);
        }
    }

    fn counts(&self, id: TopicId) -> Option<&TopicCounts> {
        let mut topics = self.topics.iter();
        topics
            .find(|topic| topic.ids.contains(&id))
            .map(Arc::as_ref)
    }

    fn state(&self, topic: &TopicCounts) -> TopicState {
        TopicState {
            ids: topic.ids.clone(),
            name: topic.name.clone(),
            qos: topic.qos,
            sent: topic.sent.get(),
            bytes: topic.bytes.get(),
            dropped: topic.dropped.load(Ordering::Relaxed),
            first_problem: topic.first_problem.get().cloned(),
            missed: topic.missed(),
            has_match: topic.has_match.load(Ordering::Relaxed),
            subscribers: self.nodes.subscriptions(&topic.name).unwrap_or(0),
        }
    }
}
