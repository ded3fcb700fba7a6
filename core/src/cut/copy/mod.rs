//! Copies what belongs to a cut from the files of a recording.

pub(super) mod chunks;
mod messages;
mod order;
mod sealed_run;
