//! How ROS topics are put on zenoh: the dialects, what they share, and what the rest of the wire knows of them.

pub(super) mod adapt;
pub(super) mod bridge_token;
pub(super) mod check_cdr;
pub(super) mod dialects;
pub(super) mod interface;
pub(super) mod names;
pub(super) mod notation;
pub(super) mod own_clock;
pub(super) mod plain;
pub(super) mod plan;
pub(super) mod ros1_topics;
