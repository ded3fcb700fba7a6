//! The protocol of `rmw_zenoh`: keys, tokens, QoS, attachments, and the ROS graph that is read from tokens.

pub(super) mod advertise;
pub(super) mod attachment;
pub(super) mod gid;
pub(super) mod graph;
pub(super) mod names;
pub(super) mod node;
pub(super) mod ours;
pub(super) mod qos_chunk;
pub(super) mod token;
pub(super) mod type_hash;
pub(super) mod watch;
