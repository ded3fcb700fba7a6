//! [`Directory`]: a rosbag2 directory and the files in it that make up the recording.
//!
//! `metadata.yaml` gives the files and their order, but it is not trusted. A path that leads out of the directory is
//! refused, a missing split is reported, and a split that the recorder did not list because it was killed is still
//! found. Without a usable `metadata.yaml`, the recordings in the directory are sorted by the numbers in their names.
//! Of all files only `metadata.yaml` is opened here.

use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};
use std::{fmt, fs, io};

use super::metadata::{CompressionMode, Metadata};
use super::natural_order::{Known, Listing, Missing, name, unpacked};
use crate::untrusted::open_file;
use crate::untrusted::{Foreign, read_start};

const METADATA: &str = "metadata.yaml";
const CONVERT: &str = "`ros2 bag convert` writes it as MCAP without that";

/// What a user should know about how a directory was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Note {
    /// `metadata.yaml` cannot be used; the files were found by their names.
    NoMetadata {
        /// The `metadata.yaml`.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The number of messages in `metadata.yaml` differs from the actual number: some are missing, or some were added.
    Counts {
        /// The directory.
        dir: PathBuf,
        /// The number in `metadata.yaml`.
        told: u64,
        /// The actual number.
        there: u64,
    },
    /// Files that `metadata.yaml` does not list; they come after the listed files.
    Unlisted {
        /// The directory.
        dir: PathBuf,
        /// Their names.
        names: Vec<String>,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMED: usize = 5;
        match self {
            Self::NoMetadata { path, reason } => write!(
                f,
                "{}: {reason}; the recordings in its directory are played in the order of their names",
                Foreign::path(path)
            ),
            Self::Counts { dir, told, there } => write!(
                f,
                "{}: {METADATA} gives a message count of {told}, but the files have {there}",
                Foreign::path(dir)
            ),
            Self::Unlisted { dir, names } => {
                let named = names[..names.len().min(NAMED)].join(", ");
                let named = Foreign::text(&named);
                write!(
                    f,
                    "{}: not in {METADATA}, but played: {named}",
                    Foreign::path(dir)
                )?;
                match names.len().saturating_sub(NAMED) {
                    0 => Ok(()),
                    more => write!(f, " and {more} more"),
                }
            }
        }
    }
}

/// Why a directory cannot be played.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DirectoryError {
    /// The directory cannot be listed.
    #[error("{}: cannot be read", Foreign::path(path))]
    Unreadable {
        /// The directory.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// It contains nothing that can be played.
    #[error("{}: no recording in it; hint: {hint}", Foreign::path(path))]
    Empty {
        /// The directory.
        path: PathBuf,
        /// What to do.
        hint: &'static str,
    },
    /// Its messages are stored in another format than MCAP.
    #[error(
        "{}: the storage is `{}`, but only mcap can be played; hint: {hint}",
        Foreign::path(path),
        Foreign::text(storage)
    )]
    Storage {
        /// The `metadata.yaml`.
        path: PathBuf,
        /// The storage plugin.
        storage: String,
        /// What to do.
        hint: &'static str,
    },
    /// It was compressed in a way that is not supported.
    #[error(
        "{}: {}, which is not supported; hint: {hint}",
        Foreign::path(path),
        Foreign::text(what)
    )]
    Compression {
        /// The `metadata.yaml`.
        path: PathBuf,
        /// What was compressed, and how.
        what: String,
        /// What to do.
        hint: &'static str,
    },
    /// A listed path leads out of the directory.
    #[error(
        "{}: `{}` is outside the directory; hint: give the .mcap files instead",
        Foreign::path(path),
        Foreign::text(listed)
    )]
    Outside {
        /// The `metadata.yaml`.
        path: PathBuf,
        /// The path as written in `metadata.yaml`.
        listed: String,
    },
}

/// A rosbag2 directory: which files to open, in which order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Directory {
    /// The recordings, `.mcap` or `.mcap.zstd`: no recording twice, each a regular file or a link to one.
    pub files: Vec<PathBuf>,
    /// Recordings that are listed but not found. If nothing is listed: entries that have the name of a recording but
    /// are not files. The rest can be played.
    pub missing: Vec<Missing>,
    /// The contents of `metadata.yaml`; `None` without a usable one.
    pub metadata: Option<Metadata>,
    /// What else the user should know.
    pub notes: Vec<Note>,
}

impl Directory {
    /// Finds the files of the recording in `dir`, without opening them.
    pub fn resolve(dir: &Path) -> Result<Self, DirectoryError> {
        let path = dir.join(METADATA);
        let (metadata, mut notes) = match metadata(&path) {
            Ok(metadata) => (metadata, Vec::new()),
            Err(reason) => {
                let path = path.clone();
                (None, vec![Note::NoMetadata { path, reason }])
            }
        };
        if let Some(metadata) = &metadata {
            check(metadata, &path)?;
        }
        let listed = metadata.as_ref().map_or(&[][..], |it| &it.files);
        let mut known = Known::default();
        let (mut files, mut missing) = locate(listed, &path, &mut known)?;
        let listing = Listing::of(dir).map_err(|source| DirectoryError::Unreadable {
            path: dir.to_owned(),
            source,
        })?;
        let unlisted = listing.others(&mut known);
        if !listed.is_empty() && !unlisted.is_empty() {
            let names = unlisted.iter().map(|path| name(path)).collect();
            let dir = dir.to_owned();
            notes.push(Note::Unlisted { dir, names });
        }
        files.extend(unlisted);
        if files.is_empty() {
            return Err(DirectoryError::Empty {
                path: dir.to_owned(),
                hint: hint(&missing, &listing),
            });
        }
        // A list names the files that there should be. Without a list, only the names in the directory show that a file
        // is missing.
        if listed.is_empty() {
            missing.extend(listing.new_missing(&mut known));
        }
        Ok(Self {
            files,
            missing,
            metadata,
            notes,
        })
    }
}

/// The contents of `metadata.yaml`: `None` if there is none, the error as text if it cannot be used.
fn metadata(path: &Path) -> Result<Option<Metadata>, String> {
    let says = |error: &dyn fmt::Display| error.to_string();
    let text = match open_file(path).and_then(read_start) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read.map_err(|error| says(&error))?,
    };
    Metadata::parse(&text)
        .map(Some)
        .map_err(|error| says(&error))
}

/// Refuses a recording that could only be played wrongly.
fn check(metadata: &Metadata, path: &Path) -> Result<(), DirectoryError> {
    let storage = metadata.storage.as_str();
    if !matches!(storage, "" | "mcap") {
        return Err(DirectoryError::Storage {
            path: path.to_owned(),
            storage: storage.to_owned(),
            hint: "`ros2 bag convert` writes it as MCAP",
        });
    }
    let format = metadata.compression_format.as_str();
    let what = match metadata.compression_mode {
        CompressionMode::None => return Ok(()),
        CompressionMode::File if matches!(format, "" | "zstd") => return Ok(()),
        CompressionMode::File => format!("its files are compressed with `{format}`"),
        CompressionMode::Message => "each message is compressed by itself".into(),
        CompressionMode::Other => "it has a compression_mode that rosbag2 does not know".into(),
    };
    Err(DirectoryError::Compression {
        path: path.to_owned(),
        what,
        hint: CONVERT,
    })
}

type Located = (Vec<PathBuf>, Vec<Missing>);

/// The listed files that are found, each once, and those that are not.
fn locate(
    listed: &[String],
    metadata: &Path,
    known: &mut Known,
) -> Result<Located, DirectoryError> {
    let dir = metadata.parent().unwrap_or(metadata);
    let (mut files, mut missing) = (Vec::new(), Vec::new());
    let mut told = HashSet::new();
    for path in listed {
        // A path that is joined to the directory must stay below it.
        let stays = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        if !Path::new(path).components().all(stays) {
            return Err(DirectoryError::Outside {
                path: metadata.to_owned(),
                listed: path.clone(),
            });
        }
        match find(dir, Path::new(path)) {
            Ok(found) if known.is_new(&found) => files.push(found),
            Err(gone) if told.insert(path) => missing.push(gone),
            Ok(_) | Err(_) => {}
        }
    }
    Ok((files, missing))
}

/// Finds a listed file. Old recorders put the name of the directory before it. With compression, `.zstd` may be missing
/// in the list, or the user may have unpacked the file since. Some recorders leave out `.mcap`.
fn find(dir: &Path, listed: &Path) -> Result<PathBuf, Missing> {
    let plain = dir.join(listed);
    let bare = listed.file_name().map(|name| dir.join(name));
    let mut detail = "no such file".to_owned();
    for base in [Some(&plain), bare.as_ref()].into_iter().flatten() {
        let with = |suffix: &str| {
            let mut name = base.clone().into_os_string();
            name.push(suffix);
            PathBuf::from(name)
        };
        for candidate in [
            base.clone(),
            with(".zstd"),
            with(".mcap"),
            with(".mcap.zstd"),
            unpacked(base),
        ] {
            match fs::metadata(&candidate) {
                Ok(kind) if kind.is_file() => return Ok(candidate),
                Ok(_) => detail = "not a file".into(),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => detail = error.to_string(),
            }
        }
    }
    Err(Missing {
        path: plain,
        detail,
    })
}

fn hint(missing: &[Missing], listing: &Listing) -> &'static str {
    if !missing.is_empty() {
        "none of the files that its metadata.yaml lists is there; copy them beside it"
    } else if listing.has_sqlite {
        "it is a recording in sqlite3: `ros2 bag convert` writes it as MCAP"
    } else if listing.has_no_files() {
        "the entries named like recordings are not regular files"
    } else {
        "a rosbag2 directory holds .mcap or .mcap.zstd files"
    }
}
