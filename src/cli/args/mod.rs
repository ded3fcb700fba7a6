//! The arguments before they are interpreted, and their values.

pub(super) mod argv;
pub(super) mod ci_flags;
pub(super) mod flags;
pub(super) mod follow_flags;
pub(super) mod given;
pub(super) mod printable;
pub(super) mod ros_flags;
pub(super) mod topic_flags;
pub(super) mod values;
pub(super) mod verbs;
pub(super) mod wire_args;
