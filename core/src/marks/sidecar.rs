//! [`Sidecar`]: the file in which the marks of one recording are kept: its path and its text.
//!
//! Used by [`Marks`](super::list::Marks). The file is beside the recording: `<file>.marks.yaml`, or `marks.yaml` in a
//! directory. If it cannot be written there, the differences from it are kept in the state directory of the user, under
//! a name made from the real path of the recording. A file is replaced as a whole or not at all. A file that cannot be
//! parsed is never replaced.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_saphyr::SerializeError;
use xxhash_rust::xxh3::xxh3_64;

use super::mark::{Mark, MarksError};
use crate::time::Time;
use crate::untrusted::yaml::{self, Node};
use crate::untrusted::{YamlError, open_file, read_start};

/// The longest part of a recording's name that is used in the name of a file.
const MAX_NAME_CHARACTERS: usize = 80;
const HEADER: &str =
    "# Marks of a recording: `time_ns` counts from 1970, on the recording's clock.\n";
const REMOVED: &str = "# In the file beside the recording, which could not be written:\n";

/// The paths of the marks of one recording.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Sidecar {
    beside: PathBuf,
    /// `None` without a state directory.
    fallback: Option<PathBuf>,
}

#[derive(Serialize)]
struct YamlFile {
    #[serde(skip_serializing_if = "Option::is_none")]
    marks: Option<Vec<YamlMark>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    removed: Option<Vec<YamlMark>>,
}

#[derive(Serialize)]
struct YamlMark {
    time_ns: i64,
    #[serde(serialize_with = "yaml::quoted")]
    name: String,
}

/// The contents of a file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct MarksFile {
    marks: Vec<Mark>,
    /// Marks in the file beside the recording that have been removed; only in the state directory.
    removed: Vec<Mark>,
}

impl Sidecar {
    /// The sidecar of the recording at `path`.
    pub(super) fn of(path: &Path, state_dir: Option<&Path>) -> Self {
        let beside = if path.is_dir() {
            path.join("marks.yaml")
        } else {
            let mut name = path.as_os_str().to_owned();
            name.push(".marks.yaml");
            name.into()
        };
        let fallback =
            state_dir.map(|dir| dir.join("bagplay").join("marks").join(fallback_name(path)));
        Self { beside, fallback }
    }

    /// The path of the marks, or the path that would be written first.
    pub(super) fn path(&self) -> &Path {
        let fallback = self.fallback.as_deref().filter(|path| path.exists());
        fallback
            .filter(|_| !self.beside.exists())
            .unwrap_or(&self.beside)
    }

    /// The marks beside the recording, with the changes that are kept in the state directory.
    pub(super) fn read(&self) -> Result<Vec<Mark>, MarksError> {
        let mut marks = read(&self.beside)?.marks;
        if let Some(fallback) = &self.fallback {
            let fallback = read(fallback)?;
            let removed: BTreeSet<Mark> = fallback.removed.into_iter().collect();
            marks.retain(|mark| !removed.contains(mark));
            marks.extend(fallback.marks);
        }
        Ok(marks)
    }

    /// Replaces the marks. Without marks there is no file. Returns the path that was written or removed.
    pub(super) fn write(&self, marks: &[Mark]) -> Result<PathBuf, MarksError> {
        let contents = MarksFile {
            marks: marks.to_vec(),
            removed: Vec::new(),
        };
        let text = checked_text(&contents, &self.beside)?;
        let done = if marks.is_empty() {
            remove(&self.beside)
        } else {
            replace(&self.beside, &text)
        };
        let refused = match done {
            Ok(()) => {
                // That file would still be applied to what has just been written.
                if let Some(fallback) = &self.fallback {
                    remove(fallback).map_err(|error| unwritable(fallback, error))?;
                }
                return Ok(self.beside.clone());
            }
            Err(error) => error,
        };
        let Some(fallback) = &self.fallback else {
            return Err(unwritable(&self.beside, refused));
        };
        let difference = self.difference(marks)?;
        let text = checked_text(&difference, fallback)?;
        let dir = fallback.parent().unwrap_or(fallback);
        let written = if difference == MarksFile::default() {
            remove(fallback)
        } else {
            fs::create_dir_all(dir).and_then(|()| replace(fallback, &text))
        };
        written.map_err(|error| unwritable(fallback, error))?;
        Ok(fallback.clone())
    }

    /// The difference between `marks` and the marks beside the recording, which others may change later.
    fn difference(&self, marks: &[Mark]) -> Result<MarksFile, MarksError> {
        let beside: BTreeSet<Mark> = read(&self.beside)?.marks.into_iter().collect();
        let wanted: BTreeSet<Mark> = marks.iter().cloned().collect();
        Ok(MarksFile {
            marks: wanted.difference(&beside).cloned().collect(),
            removed: beside.difference(&wanted).cloned().collect(),
        })
    }
}

/// A file name with the name of the recording, for people, and a hash that makes it unique.
fn fallback_name(path: &Path) -> OsString {
    let whole = fs::canonicalize(path).or_else(|_| std::path::absolute(path));
    let whole = whole.unwrap_or_else(|_| path.to_owned());
    let name = whole.file_name().unwrap_or_default().to_string_lossy();
    let plain = |c: char| match c {
        '.' | '-' => c,
        c if c.is_alphanumeric() => c,
        _ => '_',
    };
    let name: String = name.chars().map(plain).take(MAX_NAME_CHARACTERS).collect();
    let hash = xxh3_64(whole.as_os_str().as_encoded_bytes());
    format!("{name}-{hash:016x}.yaml").into()
}

fn read(path: &Path) -> Result<MarksFile, MarksError> {
    let unreadable = |source: io::Error| MarksError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let text = match open_file(path).and_then(read_start) {
        Err(error) if is_missing(&error) => return Ok(MarksFile::default()),
        read => read.map_err(unreadable)?,
    };
    parse(&text).map_err(|source| MarksError::Malformed {
        path: path.to_owned(),
        source,
    })
}

fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound
            | io::ErrorKind::NotADirectory
            // The name of a recording may be so long that nothing can be appended.
            | io::ErrorKind::InvalidFilename
    )
}

fn parse(text: &str) -> Result<MarksFile, YamlError> {
    let Some(root) = yaml::read(text)? else {
        return Ok(MarksFile::default());
    };
    known_keys(&root, &["marks", "removed"])?;
    let marks = |key| {
        let entries = root.list_of(key)?.iter();
        entries.map(|entry| mark(entry)).collect::<Result<_, _>>()
    };
    Ok(MarksFile {
        marks: marks("marks")?,
        removed: marks("removed")?,
    })
}

fn mark(entry: &Node) -> Result<Mark, YamlError> {
    known_keys(entry, &["time_ns", "name"])?;
    let time = entry.integer_of("time_ns")?;
    let time = time.ok_or_else(|| entry.error("a mark has no `time_ns`"))?;
    Ok(Mark {
        time: Time::from_nanos(time),
        name: entry.text_of("name")?.unwrap_or_default(),
    })
}

/// An error if it is not a mapping of these keys: the file is written again without what is not understood.
fn known_keys(node: &Node, keys: &[&str]) -> Result<(), YamlError> {
    let keys_are = || format!("the keys are {}", keys.join(" and "));
    let Some(entries) = node.entries() else {
        return Err(node.error(&format!("it is not a mapping; {}", keys_are())));
    };
    let unknown = entries.iter().find(|it| !keys.contains(&it.key.as_str()));
    let Some(entry) = unknown else {
        return Ok(());
    };
    let reason = format!("unknown key `{}`; {}", yaml::shown(&entry.key), keys_are());
    Err(YamlError::at(entry.line, &reason))
}

/// The text for a file, if it can be read back, whatever the names are.
fn checked_text(contents: &MarksFile, path: &Path) -> Result<String, MarksError> {
    let text = yaml_text(contents).map_err(|error| unwritable(path, io::Error::other(error)))?;
    if parse(&text).is_ok_and(|known| known == *contents) {
        Ok(text)
    } else {
        let source = io::Error::other("too many marks, or names that are too long");
        Err(unwritable(path, source))
    }
}

fn yaml_text(contents: &MarksFile) -> Result<String, SerializeError> {
    let list = |marks: &[Mark]| {
        let yaml_mark = |mark: &Mark| YamlMark {
            time_ns: mark.time.as_nanos(),
            name: mark.name.clone(),
        };
        Some(marks.iter().map(yaml_mark).collect())
    };
    let mut text = HEADER.to_owned();
    text += &yaml::write(&YamlFile {
        marks: list(&contents.marks),
        removed: None,
    })?;
    if !contents.removed.is_empty() {
        text += REMOVED;
        text += &yaml::write(&YamlFile {
            marks: None,
            removed: list(&contents.removed),
        })?;
    }
    Ok(text)
}

/// Replaces `path` by a file with this text. It gets the permissions of the old file, or those of any new file.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
    let mut builder = tempfile::Builder::new();
    builder.prefix(".marks-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // The umask of the user is applied to this. By default nobody else could read the file.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(dir.unwrap_or(Path::new(".")))?;
    if let Ok(known) = fs::metadata(path) {
        file.as_file().set_permissions(known.permissions())?;
    }
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Removes a file, if there is one.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if is_missing(&error) => Ok(()),
        done => done,
    }
}

fn unwritable(path: &Path, source: io::Error) -> MarksError {
    MarksError::Unwritable {
        path: path.to_owned(),
        source,
    }
}
