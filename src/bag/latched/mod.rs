//! The state of latched topics at a position: what a subscriber that joins there would receive.

pub(crate) mod learned;
pub(crate) mod look_up;
pub(crate) mod refill;
pub(crate) mod search_progress;
pub(crate) mod transforms;
