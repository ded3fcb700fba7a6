//! The values of time.

pub(crate) mod values;
