//! What the command prints: the summary of a run, the page of `info`, the result of `--check`, what other commands
//! print, hints.

pub(super) mod clock_summary;
pub(super) mod followed;
pub(super) mod hints;
pub(super) mod missing;
pub(super) mod recording;
pub(super) mod remote;
pub(super) mod summary;
pub(super) mod units;
pub(super) mod verbs;
pub(super) mod wire_summary;
