//! How programs end, and single processes of them while the program goes on: a launcher, a shell.

pub(super) mod exit;
#[cfg(target_os = "linux")]
mod handle;
mod process_end;
mod watch;
#[cfg(target_os = "linux")]
mod watcher;
mod whose;

pub use exit::{ChildExit, How, signal_name};
pub use process_end::{Meaning, ProcessEnd};
pub use watch::ProcessEnds;
pub use whose::Whose;
