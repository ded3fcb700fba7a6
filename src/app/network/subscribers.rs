//! [`SubscriberCounts`]: how many subscribers there are, readable from any thread.

use std::collections::BTreeSet;

use bagplay::bag::TopicId;
use bagplay::cli::Plan;
use bagplay::wire::{EntityKind, Graph, Monitor};

use super::Network;
use super::ros1::{Ros1Counts, Ros1Network};

const CLOCK_TYPE: &str = "rosgraph_msgs/msg/Clock";

/// The numbers of subscribers of the topics of a recording, and of `/clock`.
#[derive(Clone, Debug, Default)]
pub(crate) struct SubscriberCounts {
    topics: usize,
    monitor: Option<Monitor>,
    /// `None` without zenoh.
    graph: Option<Graph>,
    /// On the wire of ROS 1.
    ros1: Option<Ros1Counts>,
}

impl SubscriberCounts {
    /// By topic id, and of `/clock`; `None` where it is not known.
    pub(crate) fn get(&self) -> (Vec<Option<usize>>, Option<usize>) {
        let mut counts = vec![None; self.topics];
        let of_ros1 = self.ros1.iter().flat_map(Ros1Counts::topics);
        for topic in self.monitor.iter().flat_map(Monitor::topics).chain(of_ros1) {
            // Plain subscribers cannot be counted: there are some or none.
            let count = if topic.qos.is_some() {
                topic.subscribers
            } else {
                usize::from(topic.has_match)
            };
            for id in topic.ids {
                if let Some(slot) = counts.get_mut(id.index()) {
                    *slot = Some(count);
                }
            }
        }
        let has_clock = self.monitor.as_ref().is_some_and(Monitor::has_clock);
        let clock = self.graph.as_ref().filter(|_| has_clock);
        let clock = clock.map(|graph| graph.subscribers("/clock", CLOCK_TYPE));
        let of_ros1 = self.ros1.as_ref().and_then(Ros1Counts::clock);
        (counts, clock.or(of_ros1))
    }
}

impl Network {
    /// Whether another node subscribes to `/clock`.
    pub(crate) fn has_clock_subscriber(&self) -> bool {
        if let Some(ros1) = &self.ros1 {
            return ros1.has_clock_subscriber();
        }
        let session = self.session.as_ref();
        session.is_some_and(|it| it.graph().subscribers("/clock", CLOCK_TYPE) > 0)
    }

    /// The other nodes, and how much they have declared: it changes when one joins, leaves or declares anything.
    pub(crate) fn joined(&self) -> (Vec<String>, usize) {
        let session = self.session.as_ref();
        session.map_or_else(Default::default, |session| {
            let graph = session.graph();
            (graph.nodes(), graph.tokens().len())
        })
    }

    /// The topics that other nodes publish, sorted, without those that every node has.
    pub(crate) fn published(&self) -> Vec<String> {
        const OF_EVERY_NODE: [&str; 3] = ["/clock", "/parameter_events", "/rosout"];
        let tokens = self
            .session
            .as_ref()
            .map(|session| session.graph().tokens());
        let tokens = tokens.into_iter().flatten();
        let publishers = tokens.filter(|token| token.kind == EntityKind::Publisher);
        let topics = publishers.filter_map(|token| Some(token.endpoint?.name));
        let topics: BTreeSet<String> = topics
            .filter(|topic| !OF_EVERY_NODE.contains(&topic.as_str()))
            .collect();
        topics.into_iter().collect()
    }

    /// A node of another session that publishes a topic.
    pub(crate) fn publisher(&self, topic: &str) -> Option<String> {
        self.session.as_ref()?.graph().publisher(topic)
    }

    /// Whether a topic has as many subscribers as the plan asks for.
    pub(crate) fn has_subscribers(&self, plan: &Plan, topic: TopicId) -> bool {
        self.has_subscriber(topic) && self.short_of(plan, topic).is_none()
    }

    /// Of a topic that needs several subscribers and has fewer: how many there are, and how many are needed.
    pub(crate) fn short_of(&self, plan: &Plan, topic: TopicId) -> Option<(usize, u32)> {
        let least = *plan.least_subscribers.get(&topic)?;
        let chosen = plan.chosen.iter().find(|chosen| chosen.id == topic)?;
        let there = match &self.ros1 {
            Some(ros1) => ros1.subscriber_count(topic),
            None => self.session.as_ref()?.graph().reached(&chosen.name),
        };
        let is_short = u32::try_from(there).is_ok_and(|there| there < least);
        is_short.then_some((there, least))
    }

    /// The nodes that receive what this session publishes on a topic, sorted.
    pub(crate) fn subscriber_nodes(&self, topic: &str) -> Vec<String> {
        if let Some(ros1) = &self.ros1 {
            return ros1.subscriber_nodes(topic);
        }
        let session = self.session.as_ref();
        session.map_or_else(Vec::new, |it| it.graph().subscriber_nodes(topic))
    }

    /// The numbers for a recording with this many topics.
    pub(crate) fn subscriber_counts(&self, topics: usize) -> SubscriberCounts {
        let session = self.session.as_ref();
        SubscriberCounts {
            topics,
            monitor: self.monitor.clone(),
            graph: session.map(bagplay::wire::Session::graph),
            ros1: self.ros1.as_ref().map(Ros1Network::counts),
        }
    }
}
