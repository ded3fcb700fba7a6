//! [`Opening`]: how recordings are opened, and the callback for progress.

use std::fmt;

use crate::untrusted::FileName;

/// Which time orders the messages of a bag.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum MessageOrder {
    /// Log time: when the recorder received them. Recordings are indexed by it.
    #[default]
    Received,
    /// Publish time: when they were sent. Opening reads every chunk once, because the indexes do not give publish
    /// times.
    Sent,
}

/// How far the reading of one file has come, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress<'a> {
    /// The file.
    pub file: &'a FileName,
    /// How far reading has come in it.
    pub done: u64,
    /// Its size.
    pub of: u64,
}

/// How recordings are opened.
#[derive(Clone, Copy, Default)]
pub struct Opening<'a> {
    /// What orders the messages.
    pub order: MessageOrder,
    /// Called from time to time while a file is read through, from any thread.
    pub progress: Option<&'a (dyn Fn(Progress<'_>) + Sync)>,
}

impl Opening<'_> {
    pub(crate) fn tell(&self, file: &FileName, done: u64, of: u64) {
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
