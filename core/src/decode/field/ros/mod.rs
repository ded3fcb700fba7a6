//! Paths in definitions of ROS ([`resolve`]), and the [`elements`] of payloads.

pub(super) mod elements;
pub(super) mod resolve;
