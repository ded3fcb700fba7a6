//! Named moments of a recording, kept in a file beside it.

mod list;
mod sidecar;

pub use list::{Mark, Marks, MarksError};
