//! Payloads of other formats than those of ROS: protobuf by its recorded definition, JSON as it is, anything else as
//! bytes.

pub(super) mod base64;
pub(super) mod hex;
pub(super) mod json;
pub(super) mod protobuf;
