//! XML-RPC over HTTP/1.1: how nodes of ROS 1 call their master and each other.

pub(super) mod client;
pub(super) mod error;
mod http;
pub(super) mod server;
pub(super) mod size;
pub(super) mod uri;
mod xml;
