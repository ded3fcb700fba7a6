//! The definitions of the types that are received.

mod ament;
mod definitions;
#[cfg(feature = "wire")]
mod look_up;

pub use ament::{AmentError, AmentIndex};
pub use definitions::{Definition, Definitions, Known};
#[cfg(feature = "wire")]
pub(super) use look_up::LookUp;
