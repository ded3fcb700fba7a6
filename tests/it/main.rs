//! The integration tests, one crate.

mod bag_cursor;
mod mcaps;
