//! Sending messages: publishers, puts that wait, what was lost, and what has not left yet.

pub(super) mod arrival;
mod buffers;
mod bulk;
pub(super) mod closed_links;
pub(super) mod declare;
pub(super) mod drain;
pub(super) mod monitor;
pub(super) mod publisher;
pub(super) mod shared_memory;
pub(super) mod stalls;
pub(super) mod wire_output;
