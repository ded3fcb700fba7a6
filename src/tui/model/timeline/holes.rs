//! [`Holes`]: the times in which topics with a steady rate have no messages, as far as they are known.

use std::collections::HashMap;

use crate::bag::{DamagedPart, Hole, Silent, TopicId, holes_beside};
use crate::time::TimeRange;

/// The holes of the recording.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) enum Holes {
    /// They are being looked for, or the recording is read elsewhere.
    #[default]
    Unknown,
    /// They were not looked for; see [`Bag::holes`](crate::bag::Bag::holes).
    NotLookedFor,
    /// They are known.
    Known(KnownHoles),
}

/// Holes. Those of one topic, and those of the recording, do not overlap.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct KnownHoles {
    /// As they were found, with what is silent because of damage.
    found: Vec<Hole>,
    /// Without that, in the order of their starts.
    pub(crate) all: Vec<Hole>,
    of_recording: Vec<TimeRange>,
    of_topics: HashMap<TopicId, Vec<TimeRange>>,
}

impl Holes {
    /// What was found of a recording that has lost these parts.
    pub(crate) fn new(found: Option<Vec<Hole>>, parts: &[DamagedPart]) -> Self {
        let Some(found) = found else {
            return Self::NotLookedFor;
        };
        let all = holes_beside(&found, parts);
        let mut of_recording = Vec::new();
        let mut of_topics: HashMap<TopicId, Vec<TimeRange>> = HashMap::new();
        for hole in &all {
            match hole.silent {
                Silent::Recording => of_recording.push(hole.range),
                Silent::Topic { id, .. } => of_topics.entry(id).or_default().push(hole.range),
            }
        }
        Self::Known(KnownHoles {
            found,
            all,
            of_recording,
            of_topics,
        })
    }

    /// The parts that are known to be lost are these now.
    pub(crate) fn set_lost(&mut self, parts: &[DamagedPart]) {
        if let Self::Known(known) = self {
            *self = Self::new(Some(std::mem::take(&mut known.found)), parts);
        }
    }

    /// The holes that touch `shown` in which a topic has no messages, those of the recording first.
    pub(crate) fn touching(
        &self,
        shown: TimeRange,
        topic: TopicId,
    ) -> impl Iterator<Item = TimeRange> {
        let of_topic = match self {
            Self::Known(known) => known.of_topics.get(&topic),
            Self::Unknown | Self::NotLookedFor => None,
        };
        let of_topic = of_topic.map_or(&[][..], |holes| touching(holes, shown));
        self.of_recording(shown).chain(of_topic.iter().copied())
    }

    /// The holes that touch `shown` in which no topic has messages.
    pub(crate) fn of_recording(&self, shown: TimeRange) -> impl Iterator<Item = TimeRange> {
        let holes = match self {
            Self::Known(known) => touching(&known.of_recording, shown),
            Self::Unknown | Self::NotLookedFor => &[],
        };
        holes.iter().copied()
    }
}

/// Those that touch `shown`, of holes in the order of time.
fn touching(holes: &[TimeRange], shown: TimeRange) -> &[TimeRange] {
    let from = holes.partition_point(|hole| hole.stop() < shown.start());
    let to = holes.partition_point(|hole| hole.start() <= shown.stop());
    &holes[from..to.max(from)]
}
