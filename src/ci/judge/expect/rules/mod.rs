//! What can be expected: a specification, which is read from a file, and a rule, which judges the messages that pass.

pub(crate) mod compare;
pub(crate) mod count;
pub(crate) mod field;
mod frames;
pub(crate) mod gap;
pub(crate) mod gate;
pub(crate) mod latency;
pub(crate) mod limits;
pub(crate) mod rate;
pub(crate) mod stamps;
pub(crate) mod transform;
