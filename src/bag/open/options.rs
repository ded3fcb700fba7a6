//! [`Opening`]: how recordings are opened, and who is told how far it has come.

use std::fmt;
use std::path::Path;

/// Which stamp orders the messages of a bag.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum MessageOrder {
    /// When the recorder received them: log time, by which recordings are indexed.
    #[default]
    Received,
    /// When they were sent: publish time. Opening reads every chunk once to learn where these lie.
    Sent,
}

/// How far the reading of one file has come, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress<'a> {
    /// The file.
    pub file: &'a Path,
    /// How much of it was looked at.
    pub done: u64,
    /// Its size.
    pub of: u64,
}

/// How recordings are opened.
#[derive(Clone, Copy, Default)]
pub struct Opening<'a> {
    /// What orders the messages.
    pub order: MessageOrder,
    /// Told now and then while a file has to be read through, from any thread.
    pub progress: Option<&'a (dyn Fn(Progress<'_>) + Sync)>,
}

impl Opening<'_> {
    pub(crate) fn tell(&self, file: &Path, done: u64, of: u64) {
        if let Some(progress) = self.progress {
            progress(Progress { file, done, of });
        }
    }
}

impl fmt::Debug for Opening<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opening")
            .field("order", &self.order)
            .finish_non_exhaustive()
    }
}
