//! What the files of a bag hold together: one table of topics and one of chunks, made of the index of each file.

pub(crate) mod check;
pub(crate) mod contents;
pub(crate) mod file;
pub(crate) mod message_compression;
pub(crate) mod topic;
pub(crate) mod topics;
