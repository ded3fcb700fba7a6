//! [`SubscriberCounts`]: how many subscribers there are, readable from any thread.

use bagplay::wire::{Graph, Monitor};

use super::Network;

/// The numbers of subscribers of the topics of a recording, and of `/clock`.
#[derive(Clone, Debug, Default)]
pub(crate) struct SubscriberCounts {
    topics: usize,
    monitor: Option<Monitor>,
    /// `None` if this run serves no clock, or without a network.
    graph: Option<Graph>,
}

impl SubscriberCounts {
    /// By topic id, and of `/clock`; `None` where it is not known.
    pub(crate) fn get(&self) -> (Vec<Option<usize>>, Option<usize>) {
        let mut counts = vec![None; self.topics];
        for topic in self.monitor.iter().flat_map(Monitor::topics) {
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
        let clock = self.graph.as_ref();
        let clock = clock.map(|graph| graph.subscribers("/clock", "rosgraph_msgs/msg/Clock"));
        (counts, clock)
    }
}

impl Network {
    /// The numbers for a recording with this many topics.
    pub(crate) fn subscriber_counts(&self, topics: usize) -> SubscriberCounts {
        let has_clock = self.monitor.as_ref().is_some_and(Monitor::has_clock);
        let session = self.session.as_ref().filter(|_| has_clock);
        SubscriberCounts {
            topics,
            monitor: self.monitor.clone(),
            graph: session.map(bagplay::wire::Session::graph),
        }
    }
}
