//! [`OtherPublishers`]: other nodes that publish topics of ours. Each node is reported once, with all its topics: their
//! tokens arrive one by one.

use std::collections::{BTreeMap, BTreeSet};

use bagplay::cli::Wire;
use bagplay::time::{Duration, Steady, Time};
use bagplay::wire::WireEvent;

use crate::app::network::NetworkEvent;

/// How long to wait for further tokens after the first one.
const GATHERING: Duration = Duration::from_millis(300);

/// Nodes and their topics that have not been reported.
#[derive(Debug, Default)]
pub(crate) struct OtherPublishers {
    /// By node, and the wire, if there are several.
    nodes: BTreeMap<(String, Option<Wire>), BTreeSet<String>>,
    deadline: Option<Time<Steady>>,
}

impl OtherPublishers {
    /// A node publishes topics that are played; the wire, if there are several.
    pub(crate) fn add(
        &mut self,
        (node, wire): (&str, Option<Wire>),
        topics: &[String],
        now: Time<Steady>,
    ) {
        let known = self.nodes.entry((node.to_owned(), wire)).or_default();
        known.extend(topics.iter().cloned());
        self.deadline
            .get_or_insert_with(|| now.saturating_add(GATHERING));
    }

    /// When [`OtherPublishers::due`] has something to report.
    #[cfg(any(feature = "tui", test))]
    pub(crate) const fn deadline(&self) -> Option<Time<Steady>> {
        self.deadline
    }

    /// The nodes that are to be reported now.
    pub(crate) fn due(&mut self, now: Time<Steady>) -> Vec<NetworkEvent> {
        match self.deadline {
            Some(deadline) if deadline <= now => self.all(),
            _ => Vec::new(),
        }
    }

    /// All nodes that have not been reported.
    pub(crate) fn all(&mut self) -> Vec<NetworkEvent> {
        self.deadline = None;
        let nodes = std::mem::take(&mut self.nodes).into_iter();
        nodes
            .map(|((node, wire), topics)| {
                let topics = topics.into_iter().collect();
                NetworkEvent::new(wire, WireEvent::ForeignPublisher { topics, node })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Time<Steady> {
        Time::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn a_node_is_told_of_once_with_all_its_topics() {
        let mut other_publishers = OtherPublishers::default();
        assert!(other_publishers.due(at(0)).is_empty());
        for n in (0..7).rev() {
            let now = at(140 - n * 20);
            other_publishers.add(("/other", None), &[format!("/topic{n}")], now);
            assert!(other_publishers.due(now).is_empty());
        }
        assert_eq!(other_publishers.deadline(), Some(at(320)));
        let reports = other_publishers.due(at(320));
        let [reports] = &reports[..] else {
            panic!("{reports:?}")
        };
        assert_eq!(
            reports.text(None),
            "/other publishes /topic0, /topic1, /topic2, /topic3, /topic4 and 2 more too: subscribers get both"
        );
        assert!(other_publishers.due(at(2000)).is_empty() && other_publishers.deadline().is_none());
        // Topics that it publishes later are reported, too.
        other_publishers.add(("/other", None), &["/late".to_owned()], at(3000));
        assert_eq!(other_publishers.all().len(), 1);
    }

    #[test]
    fn a_publisher_that_comes_and_goes_all_the_time_is_told_of_and_kept_once() {
        let mut other_publishers = OtherPublishers::default();
        for n in 0..100 {
            other_publishers.add(("/other", None), &["/topic".to_owned()], at(n * 10));
        }
        let reports = other_publishers.due(at(1000));
        assert_eq!(reports.len(), 1);
        assert_eq!(
            reports[0].text(None),
            "/other publishes /topic too: subscribers get both"
        );
    }
}
