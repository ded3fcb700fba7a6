//! The zenoh sessions of this process that carry messages: their configurations, and the timestamps of messages.

pub(in crate::wire) mod blocking;
pub(in crate::wire) mod config;
pub(in crate::wire) mod put;
pub(in crate::wire) mod timestamps;
