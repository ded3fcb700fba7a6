//! What keeps runs on one machine apart: a [`RunFolder`] for the files of each, and [`Isolation`] on the network.

mod environment;
mod run_folder;

pub use environment::{Isolation, sending_at_once};
pub use run_folder::{Earlier, RunFolder, RunFolderError};
