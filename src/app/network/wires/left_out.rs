//! [`leave_out`]: topics of the plan that wires cannot carry.

use std::collections::BTreeMap;

use bagplay::bag::{Bag, TopicId};
use bagplay::cli::{Hints, LeftOut, Plan, PlanError, PlayArgs, Wire};
use bagplay::ros1::{Ros1SkipReason, Ros1Skipped};
use bagplay::wire::{SkipReason, Skipped};

/// A topic that a wire cannot carry.
#[derive(Clone, Debug)]
pub(in crate::app::network) struct NotCarried {
    pub(in crate::app::network) id: TopicId,
    topic: String,
    reason: String,
    /// The same, with what can be done about it.
    reason_and_hint: String,
    is_loss: bool,
}

impl NotCarried {
    /// On a wire over zenoh.
    pub(super) fn of(skipped: &Skipped, hints: &Hints) -> Self {
        Self {
            id: skipped.id,
            topic: skipped.topic.clone(),
            reason: skipped.reason.to_string(),
            reason_and_hint: hints.skipped(skipped),
            is_loss: matches!(skipped.reason, SkipReason::NoRos2Form(_)),
        }
    }

    /// On the wire of ROS 1.
    pub(super) fn of_ros1(skipped: &Ros1Skipped) -> Self {
        let reason = skipped.reason.to_string();
        let hint = match &skipped.reason {
            Ros1SkipReason::Encoding(encoding) if encoding == "cdr" => {
                "; hint: without --transcode off they are sent as ROS 1 messages"
            }
            _ => "",
        };
        Self {
            id: skipped.id,
            topic: skipped.name.clone(),
            reason_and_hint: format!("{reason}{hint}"),
            reason,
            is_loss: matches!(skipped.reason, Ros1SkipReason::NoRos1Form(_)),
        }
    }

    /// As the plan and the summary have it.
    pub(in crate::app::network) fn left_out(&self, bag: &Bag) -> LeftOut {
        LeftOut {
            topic: self.topic.clone(),
            messages: bag.topics()[self.id.index()].message_count,
            reason: self.reason_and_hint.clone(),
            is_loss: self.is_loss,
        }
    }
}

/// Removes topics that no wire can carry from the plan, with one warning for each reason. If there are viewers, the
/// topics stay in the plan, and are returned. Topics that some wires carry stay there, too, with a warning for each
/// other wire.
pub(in crate::app::network) fn leave_out(
    args: &PlayArgs,
    bag: &Bag,
    plan: &mut Plan,
    by_wire: &[(Wire, Vec<NotCarried>)],
) -> Result<Vec<TopicId>, PlanError> {
    let has_viewers = args.viewers.foxglove.is_some();
    let everywhere = by_no_wire(by_wire);
    // A topic that viewers or another wire receive needs no hint.
    let without_hint = |one: &&NotCarried| (one.reason.clone(), one.topic.clone());
    let with_hint = |one: &&NotCarried| (one.reason_and_hint.clone(), one.topic.clone());
    if has_viewers {
        for topics in grouped(everywhere.iter().map(|one| without_hint(&one))) {
            tracing::info!("played for viewers alone: {topics}");
        }
    } else {
        for topics in grouped(everywhere.iter().map(|one| with_hint(&one))) {
            tracing::warn!("not played: {topics}");
        }
    }
    for (wire, skipped) in by_wire {
        let is_elsewhere = |one: &&NotCarried| everywhere.iter().all(|other| other.id != one.id);
        let here = skipped.iter().filter(is_elsewhere);
        for topics in grouped(here.map(|one| without_hint(&one))) {
            tracing::warn!("not sent on {wire}: {topics}");
        }
    }
    let mut for_viewers = Vec::new();
    for one in everywhere {
        let left_out = one.left_out(bag);
        if has_viewers {
            plan.stop_awaiting(args, one.id, &left_out)?;
            for_viewers.push(one.id);
        } else {
            plan.leave_out(args, one.id, left_out)?;
        }
    }
    Ok(for_viewers)
}

/// The topics that no wire carries. If there are several wires, the reasons of all.
fn by_no_wire(by_wire: &[(Wire, Vec<NotCarried>)]) -> Vec<NotCarried> {
    let [(first_wire, first), others @ ..] = by_wire else {
        return Vec::new();
    };
    let is_several = !others.is_empty();
    let on = |wire: &Wire, reason: &str| {
        if is_several {
            format!("{wire}: {reason}")
        } else {
            reason.to_owned()
        }
    };
    let of_all = first.iter().filter_map(|one| {
        let mut all = NotCarried {
            reason: on(first_wire, &one.reason),
            reason_and_hint: on(first_wire, &one.reason_and_hint),
            ..one.clone()
        };
        for (wire, skipped) in others {
            let other = skipped.iter().find(|other| other.id == one.id)?;
            let (reason, hint) = (&other.reason, &other.reason_and_hint);
            all.reason = format!("{}; {}", all.reason, on(wire, reason));
            all.reason_and_hint = format!("{}; {}", all.reason_and_hint, on(wire, hint));
            all.is_loss |= other.is_loss;
        }
        Some(all)
    });
    of_all.collect()
}

/// Topics by reason, as text: the first ones of each reason and how many more there are, then the reason.
fn grouped(topics: impl Iterator<Item = (String, String)>) -> Vec<String> {
    const NAMED: usize = 5;
    let mut by_reason: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (reason, topic) in topics {
        by_reason.entry(reason).or_default().push(topic);
    }
    let text = |(reason, topics): (String, Vec<String>)| {
        let more = match topics.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let named: Vec<String> = topics.into_iter().take(NAMED).collect();
        format!("{}{more}: {reason}", named.join(", "))
    };
    by_reason.into_iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn not_carried(id: u32, reason: &str) -> NotCarried {
        NotCarried {
            id: TopicId(id),
            topic: format!("/{id}"),
            reason: reason.to_owned(),
            reason_and_hint: format!("{reason}; hint: another wire"),
            is_loss: id == 2,
        }
    }

    #[test]
    fn a_topic_is_left_out_if_no_wire_carries_it() {
        let zenoh = (
            Wire::RmwZenoh,
            vec![not_carried(1, "a"), not_carried(2, "b")],
        );
        let ros1 = (Wire::Ros1, vec![not_carried(2, "c"), not_carried(3, "d")]);
        let shown = |by_wire: &[(Wire, Vec<NotCarried>)]| {
            let left_out = by_no_wire(by_wire).into_iter();
            let shown = left_out.map(|one| (one.id.0, one.reason, one.is_loss));
            shown.collect::<Vec<_>>()
        };
        assert!(shown(&[]).is_empty());
        assert_eq!(
            shown(std::slice::from_ref(&zenoh)),
            [(1, "a".to_owned(), false), (2, "b".to_owned(), true)]
        );
        assert_eq!(
            shown(&[zenoh, ros1]),
            [(2, "rmw_zenoh: b; ros1: c".to_owned(), true)]
        );
    }

    #[test]
    fn five_topics_are_named_for_each_reason() {
        let topics = (0..7).map(|n| ("b".to_owned(), format!("/{n}")));
        let more = std::iter::once(("a".to_owned(), "/x".to_owned()));
        assert_eq!(
            grouped(topics.chain(more)),
            ["/x: a", "/0, /1, /2, /3, /4 and 2 more: b"]
        );
    }
}
