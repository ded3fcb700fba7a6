//! The program around the library: what `main` calls.

pub(crate) mod failure;
pub(crate) mod headless;
pub(crate) mod keys;
pub(crate) mod logging;
pub(crate) mod network;
pub(crate) mod opening;
pub(crate) mod play;
pub(crate) mod progress;
pub(crate) mod show;
pub(crate) mod signals;
