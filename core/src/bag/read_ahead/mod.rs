//! Reads ahead of the player, on a thread of its own.
//!
//! `cue.rs` is the handle of its receiver and starts the thread; `worker.rs` is that thread.

pub(crate) mod cue;
mod half_of_memory;
pub(crate) mod learner;
pub(crate) mod priority;
pub(crate) mod progress;
pub(crate) mod request;
pub(crate) mod worker;
