//! The verbs other than playing.

pub(crate) mod ctl;
pub(crate) mod print;
