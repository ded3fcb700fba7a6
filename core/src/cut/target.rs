//! [`Target`]: where a cut is written. It is made under a temporary name beside its place and renamed when it is whole.

use std::ffi::OsStr;
use std::fs::{self, DirEntry, File, Metadata, Permissions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempDir};

use super::error::CutError;
use super::options::{CutForm, Existing};
use crate::bag::{FileSummary, Metadata as Description, file_identity};
use crate::untrusted::{Foreign, open_file, read_start};

/// How temporary names begin.
const PREFIX: &str = ".cut-";
/// The name of the description in a rosbag2 directory.
const METADATA: &str = "metadata.yaml";

/// A place for a cut.
#[derive(Debug)]
pub(crate) struct Target {
    /// The name that was given.
    named: PathBuf,
    /// The place itself: links are followed.
    place: PathBuf,
    existing: Existing,
    made: Made,
}

/// What is made beside the place.
#[derive(Debug)]
enum Made {
    File(NamedTempFile),
    /// A directory, and the name of the recording in it.
    Directory(TempDir, String),
}

impl Target {
    /// Checks the place and makes the temporary file or directory.
    pub(crate) fn new(
        named: &Path,
        form: CutForm,
        existing: Existing,
        inputs: &[FileSummary],
    ) -> Result<Self, CutError> {
        let failed = |source| CutError::Write {
            path: named.to_owned(),
            source,
        };
        let place = check(named, form, existing, inputs)?;
        // A directory that appears while the cut is written was not checked.
        let is_new = form == CutForm::Rosbag2 && fs::symlink_metadata(&place).is_err();
        let existing = if is_new { Existing::Kept } else { existing };
        let folder = match place.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX);
        let made = match form {
            CutForm::File => {
                // The umask of the user decides who can read the file. By default nobody else could.
                let made = builder.make_in(folder, |path| File::create_new(path));
                Made::File(made.map_err(failed)?)
            }
            CutForm::Rosbag2 => {
                let made = builder.tempdir_in(folder).map_err(failed)?;
                let name = place.file_name().and_then(OsStr::to_str);
                Made::Directory(made, format!("{}_0.mcap", name.unwrap_or("cut")))
            }
        };
        Ok(Self {
            named: named.to_owned(),
            place,
            existing,
            made,
        })
    }

    /// The MCAP file that is written.
    pub(crate) fn file(&self) -> Result<File, CutError> {
        let opened = match &self.made {
            Made::File(file) => file.as_file().try_clone(),
            Made::Directory(dir, name) => File::create_new(dir.path().join(name)),
        };
        opened.map_err(|source| self.failed(source))
    }

    /// The name of the MCAP file in a rosbag2 directory.
    pub(crate) fn file_name(&self) -> &str {
        match &self.made {
            Made::File(_) => "",
            Made::Directory(_, name) => name,
        }
    }

    /// Writes the description of a rosbag2 directory.
    pub(crate) fn put_metadata(&self, text: &str) -> io::Result<()> {
        match &self.made {
            Made::File(_) => Ok(()),
            Made::Directory(dir, _) => {
                let mut file = File::create_new(dir.path().join(METADATA))?;
                file.write_all(text.as_bytes())
            }
        }
    }

    /// The error if the cut cannot be written.
    pub(crate) fn failed(&self, source: io::Error) -> CutError {
        CutError::Write {
            path: self.named.clone(),
            source,
        }
    }

    /// Gives the cut its name. What it replaces is checked once more: it may have changed while the cut was written.
    pub(crate) fn commit(self, inputs: &[FileSummary]) -> Result<(), CutError> {
        let Self {
            named,
            place,
            existing,
            made,
        } = self;
        if let (Made::Directory(..), Existing::Replaced) = (&made, existing)
            && let Ok(found) = fs::metadata(&place)
        {
            check_replaceable((&named, &place), CutForm::Rosbag2, &found, inputs)?;
        }
        let moved = match (made, existing) {
            (Made::File(file), Existing::Kept) => file
                .persist_noclobber(&place)
                .map(drop)
                .map_err(|it| it.error),
            (Made::File(file), Existing::Replaced) => replace_file(file, &place),
            (Made::Directory(dir, _), Existing::Kept) => move_to(dir.path(), &place).map(|()| {
                // It has another name now, so there is nothing to remove.
                let _ = dir.keep();
            }),
            (Made::Directory(dir, _), Existing::Replaced) => replace_directory(dir, &place),
        };
        moved.map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => CutError::Exists { path: named },
            _ => CutError::Write {
                path: named,
                source,
            },
        })
    }
}

/// The place to be written, if that is allowed.
fn check(
    named: &Path,
    form: CutForm,
    existing: Existing,
    inputs: &[FileSummary],
) -> Result<PathBuf, CutError> {
    if let Some(error) = input_at(named, inputs) {
        return Err(error);
    }
    let Ok(link) = fs::symlink_metadata(named) else {
        return Ok(named.to_owned());
    };
    // First what is never replaced: its refusal does not propose to replace it.
    let place = match fs::metadata(named) {
        Ok(found) => {
            let place = target_of(named, &link)?;
            check_replaceable((named, &place), form, &found, inputs)?;
            place
        }
        // A link that leads nowhere is itself replaced.
        Err(_) => named.to_owned(),
    };
    match existing {
        Existing::Kept => Err(CutError::Exists {
            path: named.to_owned(),
        }),
        Existing::Replaced => Ok(place),
    }
}

/// The error if a path is a file of a recording that is cut.
fn input_at(path: &Path, inputs: &[FileSummary]) -> Option<CutError> {
    let identity = file_identity(path).ok()?;
    let input = inputs.iter().find(|input| input.identity == identity)?;
    Some(CutError::IsInput {
        path: path.to_owned(),
        file: input.name.clone(),
    })
}

/// What is found at a name. A link stays a link.
fn target_of(named: &Path, found: &Metadata) -> Result<PathBuf, CutError> {
    if !found.is_symlink() {
        return Ok(named.to_owned());
    }
    fs::canonicalize(named).map_err(|source| CutError::Write {
        path: named.to_owned(),
        source,
    })
}

/// Refuses what is never replaced by a cut of this form.
fn check_replaceable(
    (named, place): (&Path, &Path),
    form: CutForm,
    found: &Metadata,
    inputs: &[FileSummary],
) -> Result<(), CutError> {
    let refused = |why: String| {
        Err(CutError::NotReplaceable {
            path: named.to_owned(),
            why,
        })
    };
    match form {
        CutForm::File if found.is_dir() => refused("it is a directory".to_owned()),
        CutForm::File if !found.is_file() => refused("it is no file".to_owned()),
        CutForm::File => Ok(()),
        CutForm::Rosbag2 if !found.is_dir() => refused("it is no directory".to_owned()),
        CutForm::Rosbag2 => {
            let failed = |source| CutError::Write {
                path: named.to_owned(),
                source,
            };
            let listed = fs::read_dir(place).and_then(Iterator::collect::<io::Result<Vec<_>>>);
            let mut entries: Vec<PathBuf> =
                listed.map_err(failed)?.iter().map(DirEntry::path).collect();
            entries.sort_unstable();
            let described = files_described_in(place).map_err(failed)?;
            for path in entries {
                if let Some(error) = input_at(&path, inputs) {
                    return Err(error);
                }
                let name = path.file_name().unwrap_or_default();
                let is_file = fs::symlink_metadata(&path).is_ok_and(|it| it.is_file());
                let is_described = described.as_ref().is_some_and(|described| {
                    name == METADATA || described.iter().any(|it| it.as_str() == name)
                });
                if !is_file || !is_described {
                    let name = Foreign::path(Path::new(name));
                    return refused(format!("it has {name}, which no {METADATA} in it lists"));
                }
            }
            Ok(())
        }
    }
}

/// The names of the files that make up the recording in a directory, as its description says; `None` if it has no
/// description of a recording.
fn files_described_in(dir: &Path) -> io::Result<Option<Vec<String>>> {
    match open_file(&dir.join(METADATA)).and_then(read_start) {
        Ok(text) => Ok(Description::parse(&text).ok().map(|it| it.files)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Renames a file over another one, whose permissions it gets.
fn replace_file(file: NamedTempFile, place: &Path) -> io::Result<()> {
    let permissions: Option<Permissions> = fs::metadata(place).ok().map(|it| it.permissions());
    if let Some(permissions) = permissions {
        file.as_file().set_permissions(permissions)?;
    }
    file.persist(place).map(drop).map_err(|it| it.error)
}

/// Renames a directory over another one. If there is a moment without either, the earlier one is put back on failure.
fn replace_directory(dir: TempDir, place: &Path) -> io::Result<()> {
    if fs::symlink_metadata(place).is_err() {
        move_to(dir.path(), place)?;
        let _ = dir.keep();
        return Ok(());
    }
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        if renameat_with(CWD, dir.path(), CWD, place, RenameFlags::EXCHANGE).is_ok() {
            // The temporary directory is now the earlier one. If it cannot be removed, the cut is there all the same.
            let _ = dir.close();
            return Ok(());
        }
    }
    let folder = dir.path().parent().unwrap_or_else(|| Path::new("."));
    let earlier = tempfile::Builder::new().prefix(PREFIX).tempdir_in(folder)?;
    let moved = earlier.path().join("earlier");
    fs::rename(place, &moved)?;
    if let Err(error) = fs::rename(dir.path(), place) {
        if fs::rename(&moved, place).is_ok() {
            return Err(error);
        }
        let kept = earlier.keep().join("earlier");
        let kept = Foreign::path(&kept).to_string();
        return Err(io::Error::other(format!(
            "{error}; the earlier recording was moved to {kept}"
        )));
    }
    let _ = dir.keep();
    Ok(())
}

/// Renames a directory to a name that nothing has.
fn move_to(dir: &Path, place: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(CWD, dir, CWD, place, RenameFlags::NOREPLACE) {
            // Not every file system can do this.
            Err(Errno::INVAL | Errno::NOSYS) => {}
            moved => return Ok(moved?),
        }
    }
    if fs::symlink_metadata(place).is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    fs::rename(dir, place)
}
