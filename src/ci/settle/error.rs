//! Why threads cannot be looked at, and why they have not settled.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

use super::look::{MOST_THREADS, Named, Why};
use crate::untrusted::Foreign;

/// Why threads cannot be looked at.
#[derive(Error, Debug)]
#[non_exhaustive]
pub enum LookError {
    /// This system does not tell what the threads of other processes do.
    #[error("only Linux tells what the threads of other processes do")]
    Unsupported,
    /// A process does not exist, or `/proc` does not show it.
    #[error("there is no process {0}")]
    NoProcess(u32),
    /// A process group has no process.
    #[error("there is no process in process group {0}")]
    NoGroup(u32),
    /// The process that looks runs while it looks, so it never settles.
    #[error("a process cannot watch its own threads settle")]
    Own,
    /// There are more threads than are looked at.
    #[error("there are more than {MOST_THREADS} threads")]
    TooManyThreads,
    /// The kernel was built without what is needed.
    #[error("this kernel has no {file} in /proc ({option})")]
    Kernel {
        /// The file that is missing.
        file: &'static str,
        /// The option of the kernel that brings it.
        option: &'static str,
    },
    /// A file could not be read.
    #[error("{}: {error}", Foreign::path(.path))]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        error: io::Error,
    },
    /// A file of `/proc` does not have the form that Linux gives it.
    #[error("{} cannot be understood", Foreign::path(.path))]
    Form {
        /// The file.
        path: PathBuf,
    },
}

/// Why threads have not settled.
#[derive(Error, Debug)]
#[non_exhaustive]
pub enum Unsettled {
    /// The limit has passed. This names the thread that was most often in the way.
    #[error("not settled after {took:.1?}: {}{why}", named(.thread.as_ref()))]
    Limit {
        /// The thread and its process; `None` if threads come and go and none of them is left.
        thread: Option<Named>,
        /// What it did when it was last looked at.
        why: Why,
        /// How many looks there were.
        looks: u32,
        /// The time since settling began.
        took: Duration,
    },
    /// The threads cannot be looked at.
    #[error(transparent)]
    Look(#[from] LookError),
}

fn named(thread: Option<&Named>) -> String {
    thread.map_or_else(String::new, |thread| format!("{thread}: "))
}
