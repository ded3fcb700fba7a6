//! Opens the paths that a user names, as files that are read at positions.
//!
//! `paths.rs` begins with what the user named; `source.rs` is the result.

pub(crate) mod error;
pub(crate) mod file_kind;
pub(crate) mod file_pool;
pub(crate) mod metadata;
pub(crate) mod natural_order;
pub(crate) mod options;
pub(crate) mod paths;
pub(crate) mod read_at;
pub(crate) mod rosbag2;
pub(crate) mod source;
pub(crate) mod spool;
