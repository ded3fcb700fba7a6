//! What makes the session of a player a whole ROS node, besides the player's own services: parameters, the topics that
//! a node publishes about itself, and the descriptions of its types. `served.rs` declares all of it.

pub(crate) mod feed;
pub(crate) mod parameter_services;
pub(crate) mod parameters;
pub(crate) mod served;
pub(crate) mod topics;
pub(crate) mod types;
