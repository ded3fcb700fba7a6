//! What was not read, sent, received or written: the damage of recordings, messages that were left out, losses.

pub(in crate::cli) mod findings;
pub(in crate::cli) mod left_out;
pub(in crate::cli) mod losses;
pub(super) mod skipped;
