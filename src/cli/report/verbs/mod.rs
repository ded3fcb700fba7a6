//! What commands other than playing and `info` print.

pub(in crate::cli) mod cut;
pub(in crate::cli) mod find;
