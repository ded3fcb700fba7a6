//! Writes the file of a cut.

pub(super) mod aligned;
mod behind;
pub(super) mod file;
