//! Requests and responses, one file for each family of services, and the messages of a node's own topics: each layout
//! is written once, for both directions.

pub mod bagplay;
pub mod cdr;
pub mod node_topics;
pub mod parameters;
pub mod rosbag2;
pub mod service;
pub mod timeline;
pub mod type_description;
