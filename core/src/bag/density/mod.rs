//! How many messages are where in a recording, for display: counted from message indexes, estimated where there are
//! none; and where messages are missing.
//!
//! `passes.rs` does the counting; `outline.rs` is the result. `hole_finder.rs` has the rule for holes, `timing.rs` the
//! usual times between messages; `indexed_holes.rs` applies both to message indexes.

pub(crate) mod estimate;
pub(crate) mod hole;
pub(crate) mod hole_finder;
pub(crate) mod indexed_holes;
pub(crate) mod outline;
pub(crate) mod passes;
pub(crate) mod timing;
