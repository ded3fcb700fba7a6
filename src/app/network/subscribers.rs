//! [`SubscriberCounts`]: how many subscribers there are, readable from any thread.

use std::collections::BTreeSet;

use bagplay::bag::TopicId;
use bagplay::cli::Plan;
use bagplay::wire::EntityKind;

use super::Network;
use super::wires::{OneWire, WireCounts};

/// The numbers of subscribers of the topics of a recording, and of `/clock`.
#[derive(Clone, Debug, Default)]
pub(crate) struct SubscriberCounts {
    topics: usize,
    wires: Vec<WireCounts>,
}

impl SubscriberCounts {
    /// By topic id, and of `/clock`, on all wires together; `None` where it is not known.
    pub(crate) fn get(&self) -> (Vec<Option<usize>>, Option<usize>) {
        let mut counts: Vec<Option<usize>> = vec![None; self.topics];
        for topic in self.wires.iter().flat_map(WireCounts::topics) {
            // Plain subscribers cannot be counted: there are some or none.
            let count = if topic.qos.is_some() {
                topic.subscribers
            } else {
                usize::from(topic.has_match)
            };
            for id in topic.ids {
                if let Some(slot) = counts.get_mut(id.index()) {
                    *slot = Some(slot.unwrap_or(0) + count);
                }
            }
        }
        let clocks: Vec<usize> = self.wires.iter().filter_map(WireCounts::clock).collect();
        let clock = (!clocks.is_empty()).then(|| clocks.into_iter().sum());
        (counts, clock)
    }
}

impl Network {
    /// Whether another node subscribes to `/clock`.
    pub(crate) fn has_clock_subscriber(&self) -> bool {
        self.wires.iter().any(OneWire::has_clock_subscriber)
    }

    /// The other nodes, and how much they have declared: it changes when one joins, leaves or declares anything.
    pub(crate) fn joined(&self) -> (Vec<String>, usize) {
        let session = self.session();
        session.map_or_else(Default::default, |session| {
            let graph = session.graph();
            (graph.nodes(), graph.tokens().len())
        })
    }

    /// The topics that other nodes publish, sorted, without those that every node has.
    pub(crate) fn published(&self) -> Vec<String> {
        const OF_EVERY_NODE: [&str; 3] = ["/clock", "/parameter_events", "/rosout"];
        let tokens = self.session().map(|session| session.graph().tokens());
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
        self.session()?.graph().publisher(topic)
    }

    /// Whether a topic has as many subscribers as the plan asks for.
    pub(crate) fn has_subscribers(&self, plan: &Plan, topic: TopicId) -> bool {
        self.has_subscriber(topic) && self.short_of(plan, topic).is_none()
    }

    /// Of a topic that needs several subscribers and has fewer: how many there are, and how many are needed.
    pub(crate) fn short_of(&self, plan: &Plan, topic: TopicId) -> Option<(usize, u32)> {
        let least = *plan.least_subscribers.get(&topic)?;
        let chosen = plan.chosen.iter().find(|chosen| chosen.id == topic)?;
        if self.wires.is_empty() {
            return None;
        }
        let there = self.wires.iter();
        let there = there.map(|wire| wire.subscriber_count(topic, &chosen.name));
        let there: usize = there.sum();
        let is_short = u32::try_from(there).is_ok_and(|there| there < least);
        is_short.then_some((there, least))
    }

    /// Says how many subscribers topics have that have fewer than the plan asks for:
    /// `no subscriber of /a, /b; 1 of 2 subscribers of /c`.
    pub(crate) fn missing_subscribers<'a>(
        &self,
        plan: &Plan,
        topics: impl IntoIterator<Item = (TopicId, &'a str)>,
    ) -> String {
        let (mut without, mut missing) = (Vec::new(), Vec::new());
        for (topic, name) in topics {
            match self.short_of(plan, topic) {
                Some((there, least)) if there > 0 => {
                    missing.push(format!("{there} of {least} subscribers of {name}"));
                }
                _ => without.push(name),
            }
        }
        if !without.is_empty() {
            missing.insert(0, format!("no subscriber of {}", without.join(", ")));
        }
        missing.join("; ")
    }

    /// The nodes that receive what this session publishes on a topic, sorted.
    pub(crate) fn subscriber_nodes(&self, topic: &str) -> Vec<String> {
        let nodes = self.wires.iter();
        let mut nodes: Vec<String> = nodes.flat_map(|it| it.subscriber_nodes(topic)).collect();
        nodes.sort_unstable();
        nodes
    }

    /// The numbers for a recording with this many topics.
    pub(crate) fn subscriber_counts(&self, topics: usize) -> SubscriberCounts {
        SubscriberCounts {
            topics,
            wires: self.wires.iter().map(OneWire::counts).collect(),
        }
    }
}
