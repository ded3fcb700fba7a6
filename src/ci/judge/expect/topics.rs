//! [`Bags`]: the recordings that are judged, and [`TopicKey`], a topic of either.

use crate::bag::{Bag, TopicId};

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
}

impl<'a> Bags<'a> {
    pub(crate) fn get(&self, side: Side) -> Option<&'a Bag> {
        match side {
            Side::Inputs => self.inputs,
            Side::Outputs => Some(self.outputs),
        }
    }

    /// The topics of this name in one recording: several, if they have several types. A leading slash does not count.
    pub(crate) fn named(&self, side: Side, name: &str) -> Vec<TopicKey> {
        let plain = |name: &str| name.trim_start_matches('/').to_owned();
        let topics = self.get(side).map(Bag::topics).unwrap_or_default();
        let topics = (0..).zip(topics);
        let found = topics.filter(|(_, topic)| plain(&topic.name) == plain(name));
        found
            .map(|(id, _)| TopicKey {
                side,
                id: TopicId(id),
            })
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
}
