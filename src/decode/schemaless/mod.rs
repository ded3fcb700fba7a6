//! Payloads that are shown without a definition: JSON as it is, anything else as bytes.

pub(super) mod hex;
pub(super) mod json;
