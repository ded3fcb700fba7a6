//! [`Losses`]: what did not reach the subscribers.

use std::collections::HashMap;

use crate::bag::TopicId;
use crate::wire::{Missed, Monitor, TopicState};

/// What did not reach the subscribers, as far as that is known.
#[derive(Clone, Debug, Default)]
pub struct Losses {
    /// By wire: a topic may be here several times.
    topics: Vec<(TopicId, Missed)>,
    /// Why the first message of topics was not sent.
    problems: HashMap<TopicId, String>,
    clock: Missed,
    bytes: u64,
}

impl Losses {
    /// The losses that are known so far.
    pub fn of(monitor: &Monitor) -> Self {
        Self::of_topics(&monitor.topics(), monitor.clock().unwrap_or_default())
    }

    /// The losses of these topics and of the clock.
    pub fn of_topics(on_the_wire: &[TopicState], clock: Missed) -> Self {
        let mut problems = HashMap::new();
        for topic in on_the_wire {
            let ids = topic.ids.iter();
            let problem = topic.first_problem.iter();
            problems.extend(problem.flat_map(|it| ids.clone().map(|id| (*id, it.clone()))));
        }
        // Recorded topics that share a name on the wire share a count; the first of them has it.
        let topics = on_the_wire.iter();
        let topics = topics.filter_map(|topic| Some((*topic.ids.first()?, topic.missed)));
        Self {
            problems,
            topics: topics.collect(),
            clock,
            bytes: 0,
        }
    }

    /// The losses on all wires together.
    pub fn of_all(wires: impl Iterator<Item = Self>) -> Self {
        let mut all = Self::default();
        for one in wires {
            all.topics.extend(one.topics);
            for (id, problem) in one.problems {
                all.problems.entry(id).or_insert(problem);
            }
            all.clock = all.clock.and(one.clock);
            all.bytes += one.bytes;
        }
        all
    }

    /// Adds these bytes, which were still in transit at the end and which no subscriber had taken.
    #[must_use]
    pub fn with_unsent_bytes(self, bytes: u64) -> Self {
        Self { bytes, ..self }
    }

    /// The bytes that no subscriber had taken at the end.
    pub(in crate::cli) const fn unsent_bytes(&self) -> u64 {
        self.bytes
    }

    /// Why the first message of a topic was not sent.
    pub(in crate::cli) fn problem(&self, id: TopicId) -> Option<&String> {
        self.problems.get(&id)
    }

    pub(in crate::cli) fn topic(&self, id: TopicId) -> Missed {
        let of_topic = self.topics.iter().filter(|(one, _)| *one == id);
        of_topic.fold(Missed::default(), |all, (_, missed)| all.and(*missed))
    }

    pub(in crate::cli) fn total(&self, count: impl Fn(&Missed) -> u64) -> u64 {
        let topics = self.topics.iter().map(|(_, missed)| missed);
        topics.chain([&self.clock]).map(count).sum()
    }
}
