//! The integration tests, one crate.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod bag_cursor;
#[cfg(feature = "wire")]
mod cli;
mod house;
mod machine;
mod mcaps;
