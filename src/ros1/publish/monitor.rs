//! [`Ros1Monitor`]: counts and subscribers of the published topics, for other threads while the player's thread
//! publishes.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::bag::TopicId;
use crate::ros1::data::publication::{Latching, Publication};
use crate::ros1::data::publications::CLOCK;
use crate::ros1::master::keeper::Keeper;

/// The present state of one topic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ros1TopicState {
    /// The recorded topics that are published here.
    pub ids: Vec<TopicId>,
    /// The name under which it is published.
    pub name: String,
    /// Whether late subscribers get its last messages.
    pub is_latched: bool,
    /// Messages that were sent, refills included.
    pub sent: u64,
    /// Payload bytes of those messages.
    pub bytes: u64,
    /// Messages that waited for the whole stall timeout, after which they were dropped.
    pub stalled: u64,
    /// Messages that subscribers have lost, including those in `stalled`; each counts for each subscriber.
    pub lost: u64,
    /// Messages that could not be made into ROS 1 messages.
    pub dropped: u64,
    /// Why the first of those could not.
    pub first_problem: Option<String>,
    /// The nodes that are connected, in the order in which they came.
    pub subscribers: Vec<String>,
    /// The nodes that are registered with the master as subscribers, as of about a second ago.
    pub registered: Vec<String>,
}

/// A view of the published topics. Cheap to clone; valid after the node has ended.
#[derive(Clone, Debug)]
pub struct Ros1Monitor {
    pub(in crate::ros1) topics: Arc<[Arc<Publication>]>,
    pub(in crate::ros1) keeper: Arc<Keeper>,
}

impl Ros1Monitor {
    /// All topics, in the order in which they were requested, without `/clock`.
    pub fn topics(&self) -> Vec<Ros1TopicState> {
        self.topics.iter().map(|topic| self.state(topic)).collect()
    }

    /// The recorded topics with a subscriber that is connected.
    pub fn matched(&self) -> Vec<TopicId> {
        let topics = self.topics.iter();
        let connected = topics.filter(|topic| !topic.connections().is_empty());
        connected.flat_map(|topic| topic.ids.clone()).collect()
    }

    /// The nodes that subscribe to `/clock`, sorted: those that are connected, and those that are registered, as of
    /// about a second ago. `None` if it is not published.
    pub fn clock_subscribers(&self) -> Option<Vec<String>> {
        let clock = self.keeper.publications.get(CLOCK)?;
        // A master that was started again does not know those that are connected.
        let mut nodes: BTreeSet<String> = self.keeper.subscribers(CLOCK).into_iter().collect();
        let connected = clock.connections();
        nodes.extend(connected.iter().map(|it| it.node().to_owned()));
        Some(nodes.into_iter().collect())
    }

    /// Whether all nodes that are registered as subscribers are connected.
    pub fn are_all_connected(&self) -> bool {
        let is_connected = |topic: &Arc<Publication>| {
            let connected = topic.connections();
            let registered = self.keeper.subscribers(&topic.advertised.name);
            let has = |node: &String| connected.iter().any(|it| it.node() == node);
            registered.iter().all(has)
        };
        self.topics.iter().all(is_connected)
    }

    fn state(&self, topic: &Publication) -> Ros1TopicState {
        let (name, counts) = (&topic.advertised.name, &topic.counts);
        let connections = topic.connections();
        let subscribers = connections.iter().map(|it| it.node().to_owned());
        Ros1TopicState {
            ids: topic.ids.clone(),
            name: name.clone(),
            is_latched: topic.advertised.latching != Latching::No,
            sent: counts.sent.get(),
            bytes: counts.bytes.get(),
            stalled: counts.stalled.load(Ordering::Relaxed),
            lost: counts.lost.load(Ordering::Relaxed),
            dropped: counts.dropped.load(Ordering::Relaxed),
            first_problem: counts.first_problem.get().cloned(),
            subscribers: subscribers.collect(),
            registered: self.keeper.subscribers(name),
        }
    }
}
