//! ROS 2 services: their messages, the services that a player offers, and clients.

pub(crate) mod client;
pub mod messages;
pub(crate) mod node;
pub(crate) mod server;
