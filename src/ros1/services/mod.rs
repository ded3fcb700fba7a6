//! The services of a player, as nodes of ROS 1 call them: start at `playback.rs`.

pub(super) mod call;
pub(super) mod playback;
pub(super) mod reconfigure;
mod refusal;
