//! Which recorded topics are published, and which of them share a publisher: the same in all dialects.

use std::collections::HashMap;

use super::adapt::{Adapted, Samples, adapt, latched_depth};
use super::names::{check_name, normal_name};
use crate::bag::TopicId;
use crate::ros::{Durability, History, Qos, Reliability, is_tf_static};
use crate::wire::error::WireError;
use crate::wire::event::{Events, WireEvent};
use crate::wire::options::{Played, SkipReason, Skipped};

/// The topic of the clock.
pub(crate) const CLOCK: &str = "/clock";

/// The QoS profile that ROS 2 uses for `/clock`.
pub(crate) fn clock_qos() -> Qos {
    Qos {
        reliability: Reliability::BestEffort,
        history: History::KeepLast(1),
        ..Qos::default()
    }
}

/// Whether this session serves a clock; if it does, a recorded `/clock` is skipped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OwnClock {
    Served,
    NotServed,
}

/// Recorded topics that get the same name and type, and so share a publisher.
#[derive(Debug)]
pub(crate) struct Group<'a> {
    pub(crate) name: String,
    /// The type, in the form of the dialect; empty if the dialect has no types.
    pub(crate) type_name: String,
    pub(crate) first: &'a Played,
    others: Vec<&'a Played>,
}

/// Groups the recorded topics that can be published: those with a type (`type_of`) and a name that is valid as a key.
pub(crate) fn group<'a>(
    played: &'a [Played],
    clock: OwnClock,
    type_of: impl Fn(&Played) -> Result<String, SkipReason>,
) -> (Vec<Group<'a>>, Vec<Skipped>) {
    let (mut groups, mut skipped) = (Vec::<Group<'a>>::new(), Vec::new());
    let mut indexes: HashMap<(String, String), usize> = HashMap::new();
    for one in played {
        // The type is checked first: a name does not matter if the topic cannot be played anyway.
        match type_of(one).and_then(|type_name| Ok((name_of(one, clock)?, type_name))) {
            Ok((name, type_name)) => {
                let known = indexes.entry((name.clone(), type_name.clone()));
                let index = *known.or_insert(groups.len());
                match groups.get_mut(index) {
                    Some(group) => group.others.push(one),
                    None => groups.push(Group {
                        name,
                        type_name,
                        first: one,
                        others: Vec::new(),
                    }),
                }
            }
            Err(reason) => skipped.push(Skipped {
                id: one.id,
                topic: one.topic.name.clone(),
                reason,
            }),
        }
    }
    (groups, skipped)
}

/// If invalid names leave nothing to publish, not even a clock, that is an error.
pub(crate) fn require_any(
    played: &[Played],
    (groups, skipped): &(Vec<Group<'_>>, Vec<Skipped>),
    clock: OwnClock,
) -> Result<(), WireError> {
    if !groups.is_empty() || clock == OwnClock::Served {
        return Ok(());
    }
    let has_wrong_name = |one: &&Played| {
        let is_one = |it: &Skipped| it.id == one.id && matches!(it.reason, SkipReason::Name(_));
        skipped.iter().any(is_one)
    };
    match played.iter().find(has_wrong_name) {
        Some(one) => check_name(&one.name).map(drop),
        None => Ok(()),
    }
}

/// The name on the wire, or the reason why the topic is skipped.
fn name_of(one: &Played, clock: OwnClock) -> Result<String, SkipReason> {
    let name = normal_name(&one.name).map_err(SkipReason::Name)?;
    // The command's plan already leaves out a recorded clock and reports it. The rule is repeated here because
    // it must always hold: callers of the library may have no such plan, and a name may be written another way
    // (`clock/`). A debug assertion would let a second clock through in release builds.
    if clock == OwnClock::Served && name == CLOCK {
        return Err(SkipReason::OwnClock);
    }
    Ok(name)
}

impl Group<'_> {
    fn all(&self) -> impl Iterator<Item = &Played> + Clone {
        std::iter::once(self.first).chain(self.others.iter().copied())
    }

    /// All of them as skipped.
    pub(crate) fn skipped(&self, reason: &SkipReason) -> impl Iterator<Item = Skipped> {
        self.all().map(|one| Skipped {
            id: one.id,
            topic: one.topic.name.clone(),
            reason: reason.clone(),
        })
    }

    /// The recorded topics.
    pub(crate) fn ids(&self) -> Vec<TopicId> {
        self.all().map(|one| one.id).collect()
    }

    /// The profile to publish with: the first override, otherwise one adapted from the recorded offers.
    pub(crate) fn qos(&self, events: &Events) -> Qos {
        let mut all = self.all();
        if let Some(qos) = all.clone().find_map(|one| one.qos) {
            return qos;
        }
        let offers = all.clone().flat_map(|one| one.topic.offered_qos.iter());
        let offers: Vec<Qos> = offers.copied().collect();
        let Adapted { mut qos, is_mixed } = adapt(&offers);
        if all.clone().any(|one| one.topic.is_latched) {
            qos.durability = Durability::TransientLocal;
        }
        if qos.durability == Durability::TransientLocal {
            let mut counts = all.clone().map(|one| one.topic.message_count);
            let count = counts.try_fold(0_u64, |sum, count| sum.checked_add(count?));
            // By the recorded names: all samples of `/tf_static` count even if it was renamed.
            let samples = if all.any(|one| is_tf_static(&one.topic.name)) {
                Samples::AllCount
            } else {
                Samples::LastCounts
            };
            qos.history = History::KeepLast(latched_depth(samples, &offers, count));
        }
        if is_mixed {
            let topic = self.name.clone();
            events.send(WireEvent::MixedProfiles { topic, qos });
        }
        qos
    }
}
