//! The master of ROS 1: as this node calls it, and one of its own.

pub(super) mod client;
pub(super) mod embedded;
pub(super) mod keeper;
mod notices;
mod params;
mod registry;
pub(super) mod sim_time;
