//! ROS 2 messages as ROS 1 messages: types, definitions and payloads.

mod counterpart;
mod known;
mod plan;
mod ros1_text;
pub(super) mod transcoder;
mod walk;
