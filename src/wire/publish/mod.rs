//! Messages on their way out: publishers, puts that wait, what was lost, what has not left yet.

pub(super) mod drain;
pub(super) mod monitor;
pub(super) mod output;
pub(super) mod outputs;
pub(super) mod patient;
pub(super) mod publisher;
pub(super) mod sockets;
pub(super) mod stalls;
