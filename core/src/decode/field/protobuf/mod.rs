//! The values of a path in protobuf messages.

pub(super) mod path;
pub(super) mod read;
