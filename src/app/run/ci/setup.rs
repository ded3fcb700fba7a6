//! [`Setup`]: what all repetitions of a run have in common.

use bagplay::bag::Bag;
use bagplay::cli::{Exit, Plan, PlayArgs};
use crossbeam_channel::Receiver;

use super::limit::TimeLimit;
use crate::app::log::LogTarget;

/// What all repetitions of a run have in common.
pub(super) struct Setup<'a> {
    pub(super) args: &'a PlayArgs,
    pub(super) bag: &'a Bag,
    pub(super) plan: &'a Plan,
    pub(super) signals: &'a Receiver<Exit>,
    pub(super) log_target: &'a LogTarget,
    pub(super) time_limit: TimeLimit,
}
