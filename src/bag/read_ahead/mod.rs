//! Reads ahead of the player, on a thread of its own.

pub(crate) mod cue;
pub(crate) mod learner;
pub(crate) mod priority;
pub(crate) mod progress;
pub(crate) mod request;
pub(crate) mod worker;
