//! The program around the library: what `main` calls.

pub(crate) mod awaited;
#[cfg(feature = "tui")]
pub(crate) mod bar;
pub(crate) mod failure;
pub(crate) mod folders;
pub(crate) mod followers;
pub(crate) mod headless;
#[cfg(feature = "tui")]
pub(crate) mod keeper;
pub(crate) mod keys;
pub(crate) mod leave;
pub(crate) mod log_file;
pub(crate) mod logging;
pub(crate) mod network;
pub(crate) mod opening;
pub(crate) mod outlet;
pub(crate) mod play;
pub(crate) mod progress;
pub(crate) mod rivals;
#[cfg(feature = "tui")]
pub(crate) mod scene;
#[cfg(feature = "tui")]
pub(crate) mod settings;
pub(crate) mod show;
pub(crate) mod signals;
pub(crate) mod warden;
