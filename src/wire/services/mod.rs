//! ROS 2 services: their messages, and the services that a player offers.

pub mod messages;
pub(crate) mod server;
