//! ROS 2 messages as ROS 1 messages: types, definitions and payloads.

pub(super) mod by_type;
mod counterpart;
mod known;
mod plan;
mod ros1_text;
pub(super) mod transcoder;
mod walk;
