//! Writes an MCAP file record by record: crate mcap's writer can neither copy a chunk nor keep its ids.

pub(super) mod aligned;
mod behind;
pub(super) mod chunk;
pub(super) mod compression;
pub(super) mod encode;
pub(super) mod file;
pub(super) mod summary;
