//! Named moments of a recording, kept in a file beside it.

mod list;
mod mark;
mod sidecar;

pub use list::Marks;
pub use mark::{Mark, MarksError};
