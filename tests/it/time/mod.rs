//! The values of time.

#[cfg(feature = "serde")]
pub(crate) mod serde_form;
pub(crate) mod spans;
pub(crate) mod values;
