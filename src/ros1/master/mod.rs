//! The master of ROS 1: as this node calls it, and one of its own.

pub(super) mod client;
mod clock_nodes;
pub(super) mod embedded;
pub(super) mod join;
pub(super) mod keeper;
pub(super) mod left;
mod notices;
mod params;
mod presence;
mod registry;
pub(super) mod sim_time;
