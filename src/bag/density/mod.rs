//! How many messages are where in a recording, for display: counted from message indexes, estimated where there are
//! none.
//!
//! `passes.rs` does the counting; `outline.rs` is the result.

pub(crate) mod estimate;
pub(crate) mod outline;
pub(crate) mod passes;
