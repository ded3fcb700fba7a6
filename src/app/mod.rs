//! The binary's own code around the library: what `main` calls.

#[cfg(feature = "tui")]
pub(crate) mod bar;
pub(crate) mod dirs;
pub(crate) mod failure;
pub(crate) mod headless;
pub(crate) mod log;
pub(crate) mod network;
pub(crate) mod reports;
pub(crate) mod run;
pub(crate) mod signals;
pub(crate) mod supervise;
pub(crate) mod verbs;
