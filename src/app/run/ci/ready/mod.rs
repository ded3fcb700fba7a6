//! Before a run: what it needs is waited for, closed loops are opened, and bursts that subscribers cannot keep are
//! found.

mod awaited;
mod bursts;
mod get_ready;
mod loops;

pub(super) use bursts::depths;
pub(super) use get_ready::{Ready, get_ready, needs_ros};
