//! Requests and responses, one file for each family of services: each layout is written once, for servers and clients.

pub mod bagplay;
pub mod cdr;
pub mod parameters;
pub mod rosbag2;
pub mod service;
pub mod type_description;
