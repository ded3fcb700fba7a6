//! [`ChildError`]: why a program under test cannot be started.

use std::io;
use std::path::PathBuf;

use crate::untrusted::Foreign;

/// Why a program under test cannot be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChildError {
    /// There is no command.
    #[error("no program is given to be started")]
    Empty,
    /// No such program.
    #[error("the program `{}` is not found{reason}", Foreign::text(program))]
    NotFound {
        /// The program, as it was given.
        program: String,
        /// Where it was looked for, if there is something to say.
        reason: &'static str,
    },
    /// The file is there and is no program.
    #[error("`{}` cannot be executed: {reason}", Foreign::text(program))]
    NotExecutable {
        /// The program, as it was given.
        program: String,
        /// The reason.
        reason: &'static str,
    },
    /// The working directory is not there.
    #[error(
        "the working directory {} of the program is no directory",
        Foreign::path(path)
    )]
    Directory {
        /// The directory.
        path: PathBuf,
    },
    /// A file for what the program writes cannot be made.
    #[error("cannot write {}", Foreign::path(path))]
    Log {
        /// The file.
        path: PathBuf,
        /// The error from the system.
        source: io::Error,
    },
    /// The disk for the files of the run is nearly full already.
    #[error(
        "the disk with {} has only {} MiB free: too little to start a program",
        Foreign::path(folder),
        free / (1 << 20)
    )]
    Disk {
        /// The folder of the run.
        folder: PathBuf,
        /// The free bytes.
        free: u64,
    },
    /// The system cannot start it.
    #[error("cannot start `{}`", Foreign::text(program))]
    Start {
        /// The program, as it was given.
        program: String,
        /// The error from the system.
        source: io::Error,
    },
}

impl ChildError {
    /// Whether the command line is wrong, not the machine.
    pub const fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::Empty
                | Self::NotFound { .. }
                | Self::NotExecutable { .. }
                | Self::Directory { .. }
        )
    }
}
