//! The core of `bagplay`: all of it that knows neither a network nor a terminal.
//!
//! A program takes it through the crate `bagplay`, whose documentation says how its parts work together. It is a crate
//! of its own so that it is compiled at the same time as zenoh, not after it, and as one unit (`docs/design.md`). What
//! its documentation hides is for the crates of this repository, and may change.

pub mod bag;
pub mod clock;
pub mod cut;
pub mod decode;
#[cfg(feature = "find")]
pub mod find;
pub mod marks;
#[doc(hidden)]
pub mod mcap_write;
pub mod output;
pub mod picture;
pub mod player;
pub mod ros;
pub mod time;
mod time_slice;
pub mod transcode;
pub mod untrusted;
