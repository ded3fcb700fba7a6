//! The contents of all files of a bag: one table of topics and one of chunks, made from the index of each file.

pub(crate) mod contents;
pub(crate) mod damaged_part;
pub(crate) mod file;
pub(crate) mod full_check;
pub(crate) mod known_damage;
pub(crate) mod lost;
pub(crate) mod merge_topics;
pub(crate) mod message_compression;
pub(crate) mod topic;
