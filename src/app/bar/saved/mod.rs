//! What the bar saves between two runs: the position of a recording, and the fields that are watched.

pub(crate) mod resume;
mod state_file;
pub(crate) mod watched_file;
