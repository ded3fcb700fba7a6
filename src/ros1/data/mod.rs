//! The messages of topics on their way to subscribers, and the headers with which connections begin.

pub(super) mod blocks;
pub(super) mod connection;
pub(super) mod header;
pub(super) mod listener;
pub(super) mod md5;
pub(super) mod patience;
pub(super) mod publication;
pub(super) mod publications;
pub(super) mod queue;
