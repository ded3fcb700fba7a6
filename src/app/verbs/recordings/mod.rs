//! The verbs that read recordings to their ends.

pub(crate) mod convert;
pub(crate) mod cut;
pub(crate) mod find;
mod write;
