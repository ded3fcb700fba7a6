//! The index of one file: from its summary, or from the file itself if the summary is missing or wrong.

pub(crate) mod build;
pub(crate) mod file_index;
pub(crate) mod inspect;
pub(crate) mod missing_definitions;
pub(crate) mod scan;
pub(crate) mod summary_section;
mod unopened;
pub(crate) mod verify_chunks;
pub(crate) mod verify_summary;
