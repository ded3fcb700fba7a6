//! Clocks on the network: `/clock` and `~/clock_state` as they are published, and as they are followed.

pub(super) mod clock_topic;
pub(super) mod follow;
pub(super) mod payload;
pub(super) mod session_clocks;
pub(super) mod state_message;
pub(super) mod state_topic;
