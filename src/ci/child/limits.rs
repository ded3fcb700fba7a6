//! [`Limits`]: how much a program may write before it is ended. A flood must not fill the disk.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::untrusted::{FileName, Foreign};

/// When a program is ended because it writes too much. Looked at ten times a second, so it may have written more.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Limits {
    /// The most bytes of its standard output, and of its standard error.
    pub output_bytes: u64,
    /// The least free bytes of the disk that has the files of the run.
    pub free_bytes: u64,
}

impl Default for Limits {
    /// 1 GiB for each file, and 64 MiB that stay free.
    fn default() -> Self {
        Self {
            output_bytes: 1 << 30,
            free_bytes: 64 << 20,
        }
    }
}

/// A limit that a program reached. Displayed as a clause that follows "because".
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reached {
    /// It wrote too much.
    Output {
        /// The name of the file.
        file: String,
        /// The size of the file in bytes.
        bytes: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// The disk is nearly full.
    Disk {
        /// The folder of the run.
        folder: PathBuf,
        /// The free bytes of the disk.
        free: u64,
        /// The limit in bytes.
        limit: u64,
        /// The bytes that the program wrote to its standard output and standard error.
        written: u64,
    },
}

impl fmt::Display for Reached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Output { file, bytes, limit } => write!(
                f,
                "it wrote {} to {}, more than the limit of {}",
                Mebibytes(*bytes),
                Foreign::text(file),
                Mebibytes(*limit)
            ),
            Self::Disk {
                folder,
                free,
                limit,
                written,
            } => write!(
                f,
                "only {} of the disk with {} are free, less than the limit of {} (its output has {})",
                Mebibytes(*free),
                Foreign::path(folder),
                Mebibytes(*limit),
                Mebibytes(*written)
            ),
        }
    }
}

struct Mebibytes(u64);

impl fmt::Display for Mebibytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Tenths in integers: exact for every size.
        let tenths = u128::from(self.0) * 10 / (1 << 20);
        write!(f, "{}.{} MiB", tenths / 10, tenths % 10)
    }
}

/// Whether a program that writes to these files has reached a limit. What cannot be looked at has not.
pub(super) fn reached(limits: Limits, stdout: &Path, stderr: &Path) -> Option<Reached> {
    let Limits {
        output_bytes,
        free_bytes,
    } = limits;
    let size = |path: &Path| path.metadata().map_or(0, |file| file.len());
    let sizes = [stdout, stderr].map(|path| (path, size(path)));
    for (path, bytes) in sizes {
        if bytes > output_bytes {
            return Some(Reached::Output {
                file: FileName::from(path).last_part().to_owned(),
                bytes,
                limit: output_bytes,
            });
        }
    }
    let folder = stdout.parent().filter(|path| *path != Path::new(""));
    let folder = folder.unwrap_or(Path::new("."));
    let free = rustix::fs::statvfs(folder).ok()?;
    let free = free.f_bavail.saturating_mul(free.f_frsize);
    (free < free_bytes).then(|| Reached::Disk {
        folder: folder.to_path_buf(),
        free,
        limit: free_bytes,
        written: sizes.iter().map(|(_, bytes)| bytes).sum(),
    })
}
