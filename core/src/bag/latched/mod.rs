//! The state of latched topics at a position: what a subscriber that joins there would receive.
//!
//! `look_up.rs` searches; `learned.rs` is what earlier searches found.

pub(crate) mod learned;
pub(crate) mod look_up;
pub(crate) mod refill;
pub(crate) mod search_progress;
pub(crate) mod transforms;
