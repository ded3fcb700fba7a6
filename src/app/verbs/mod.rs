//! The verbs other than playing.

pub(crate) mod print;
