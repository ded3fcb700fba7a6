//! The arguments of commands other than playing.

pub(in crate::cli) mod attach;
pub(in crate::cli) mod clock_server;
pub(in crate::cli) mod convert;
pub(in crate::cli) mod ctl;
pub(in crate::cli) mod cut;
pub(in crate::cli) mod find;
pub(in crate::cli) mod info;
pub(in crate::cli) mod suite;
pub(in crate::cli) mod verb;
