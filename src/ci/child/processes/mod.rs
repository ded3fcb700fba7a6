//! Which processes a program has started, also those that left its group.

pub(super) mod list;
pub(super) mod members;
