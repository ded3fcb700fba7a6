//! [`leave_out`]: topics of the plan that the wire cannot carry.

use std::collections::{BTreeMap, BTreeSet};

use bagplay::bag::{Bag, TopicId};
use bagplay::cli::{Hints, LeftOut, Plan, PlanError, PlayArgs};
use bagplay::ros1::Ros1Skipped;
use bagplay::wire::{SkipReason, Skipped};

/// A topic that the wire cannot carry.
pub(super) struct NotCarried {
    id: TopicId,
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
        Self {
            id: skipped.id,
            topic: skipped.name.clone(),
            reason_and_hint: reason.clone(),
            reason,
            is_loss: false,
        }
    }
}

/// Removes topics that the wire cannot carry from the plan, with one warning for each reason. If there are viewers, the
/// topics stay in the plan; returns those.
pub(super) fn leave_out(
    args: &PlayArgs,
    bag: &Bag,
    plan: &mut Plan,
    skipped: Vec<NotCarried>,
) -> Result<BTreeSet<TopicId>, PlanError> {
    const NAMED: usize = 5;
    let has_viewers = args.viewers.foxglove.is_some();
    let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for one in &skipped {
        // Who has viewers does not need another wire for this topic.
        let reason = if has_viewers {
            &one.reason
        } else {
            &one.reason_and_hint
        };
        let topics = by_reason.entry(reason).or_default();
        topics.push(&one.topic);
    }
    for (reason, topics) in by_reason {
        let more = topics.len().saturating_sub(NAMED);
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        let named: Vec<&str> = topics.into_iter().take(NAMED).collect();
        let named = named.join(", ");
        if has_viewers {
            tracing::info!("played for viewers alone: {named}{more}: {reason}");
        } else {
            tracing::warn!("not played: {named}{more}: {reason}");
        }
    }
    let mut viewers_only = BTreeSet::new();
    for one in skipped {
        let left_out = LeftOut {
            messages: bag.topics()[one.id.index()].message_count,
            reason: one.reason_and_hint,
            is_loss: one.is_loss,
            topic: one.topic,
        };
        if has_viewers {
            plan.stop_awaiting(args, one.id, &left_out)?;
            viewers_only.insert(one.id);
        } else {
            plan.leave_out(args, one.id, left_out)?;
        }
    }
    Ok(viewers_only)
}
