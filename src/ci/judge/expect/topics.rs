//! [`Bags`]: the recordings that are judged, and [`TopicKey`], a topic of either.

use super::judged::Judged;
use crate::bag::{Bag, Selection, TopicId};
use crate::ros::{is_same_topic, nearest_topic};
use crate::untrusted::Foreign;

/// At most so many topics are listed.
const LISTED: usize = 8;

/// Which recording.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Side {
    /// What was played; sorts before the outputs.
    Inputs,
    /// What the system under test published.
    Outputs,
}

/// A topic of either recording.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct TopicKey {
    pub(crate) side: Side,
    pub(crate) id: TopicId,
}

/// The recordings that are judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bags<'a> {
    pub(crate) outputs: &'a Bag,
    pub(crate) inputs: Option<&'a Bag>,
    /// The topics of the inputs that were played; `None`: all.
    pub(crate) played: Option<&'a Selection>,
    /// The names under which they were played.
    pub(crate) played_as: &'a [String],
}

impl<'a> Bags<'a> {
    /// Those of a run.
    pub(crate) fn of(run: &Judged<'a>) -> Self {
        Self {
            outputs: run.outputs,
            inputs: run.inputs,
            played: run.topics,
            played_as: run.played_as,
        }
    }

    pub(crate) fn get(&self, side: Side) -> Option<&'a Bag> {
        match side {
            Side::Inputs => self.inputs,
            Side::Outputs => Some(self.outputs),
        }
    }

    /// The topics of this name in one recording, as far as they were played: several, if they have several types. A
    /// leading slash does not count.
    pub(crate) fn named(&self, side: Side, name: &str) -> Vec<TopicKey> {
        let topics = self.get(side).map(Bag::topics).unwrap_or_default();
        let topics = (0..).zip(topics);
        let is_played = |id: &TopicId| match (side, self.played) {
            (Side::Inputs, Some(played)) => played.contains(*id),
            _ => true,
        };
        topics
            .filter(|(_, topic)| is_same_topic(&topic.name, name))
            .map(|(id, _)| TopicId(id))
            .filter(is_played)
            .map(|id| TopicKey { side, id })
            .collect()
    }

    /// The topics of this name in the outputs, else in the inputs.
    pub(crate) fn either(&self, name: &str) -> Vec<TopicKey> {
        let outputs = self.named(Side::Outputs, name);
        if outputs.is_empty() {
            return self.named(Side::Inputs, name);
        }
        outputs
    }

    /// Whether a topic was played under this name.
    pub(crate) fn is_played(&self, name: &str) -> bool {
        self.played_as
            .iter()
            .any(|played| is_same_topic(played, name))
    }

    /// Whether a topic of this name was published, played or recorded.
    fn is_known(&self, name: &str) -> bool {
        let bags = self.inputs.into_iter().chain([self.outputs]);
        let mut topics = bags.flat_map(Bag::topics);
        self.is_played(name) || topics.any(|topic| is_same_topic(&topic.name, name))
    }

    /// That there is no such topic, and which one may be meant; `None` if there is one.
    pub(crate) fn missing(&self, name: &str) -> Option<String> {
        if self.is_known(name) {
            return None;
        }
        let said = "there is no such topic";
        if let Some(nearest) = self.nearest(name) {
            return Some(format!("{said}; did you mean {}?", Foreign::text(nearest)));
        }
        let mut names: Vec<String> = self
            .outputs
            .topics()
            .iter()
            .map(|topic| Foreign::text(&topic.name).to_string())
            .collect();
        names.sort_unstable();
        names.dedup();
        let more = match names.len().saturating_sub(LISTED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        names.truncate(LISTED);
        Some(match names.as_slice() {
            [] => format!("{said}; the outputs have no topics"),
            _ => format!("{said}; the outputs have {}{more}", names.join(", ")),
        })
    }

    /// Of a topic that is not there: the name of the one that is most like it, if one is like it.
    pub(crate) fn nearest(&self, name: &str) -> Option<&'a str> {
        if self.is_known(name) {
            return None;
        }
        let names = [Side::Outputs, Side::Inputs].into_iter().flat_map(|side| {
            let topics = self.get(side).map(Bag::topics).unwrap_or_default();
            topics.iter().map(|topic| topic.name.as_str())
        });
        let names = names.filter(|name| !self.either(name).is_empty());
        nearest_topic(name, names)
    }
}
