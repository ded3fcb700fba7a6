//! [`RunFolder`]: the folder in which the files of one run are.
//!
//! It is recognised by a marker file, which stays locked while the run goes on. So a run neither writes among files
//! that are not those of a run, nor into the folder of another run.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::untrusted::Foreign;

/// The marker file.
const MARKER: &str = ".bagplay-run";
const MARKER_TEXT: &str = "The files of one run of bagplay are in this folder.\n";
/// How many folders of the same name are counted up to.
const MOST_OF_A_NAME: u32 = 100_000;
/// How many folders up a file may be named relative to the folder.
const MOST_UP: usize = 5;
/// The most bytes of a name that becomes that of a folder.
const LONGEST_NAME: usize = 100;

/// What becomes of the files of an earlier run in the same folder.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Earlier {
    /// They stay, and the folder is refused.
    Refuse,
    /// They are removed, with everything in the folder.
    Remove,
}

/// The folder of a run. As long as this exists, no other run takes the folder.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    _lock: File,
}

/// Why a folder cannot be that of a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunFolderError {
    /// It has other files.
    #[error(
        "{} has files that are not those of a run; hint: name a folder that is empty or does not exist",
        Foreign::path(path)
    )]
    Foreign {
        /// The folder.
        path: PathBuf,
    },
    /// It has the files of an earlier run.
    #[error("{} has the files of an earlier run", Foreign::path(path))]
    Earlier {
        /// The folder.
        path: PathBuf,
    },
    /// A run that goes on has it.
    #[error("{} is the folder of a run that has not ended", Foreign::path(path))]
    Busy {
        /// The folder.
        path: PathBuf,
    },
    /// All numbers are taken.
    #[error("too many folders are named like {}", Foreign::path(path))]
    TooMany {
        /// The first of them.
        path: PathBuf,
    },
    /// The system refuses it.
    #[error("cannot use {} as the folder of a run", Foreign::path(path))]
    Io {
        /// The folder.
        path: PathBuf,
        /// The error from the system.
        source: io::Error,
    },
}

impl RunFolderError {
    /// Whether another name would not help: the disk is full.
    pub fn is_of_the_machine(&self) -> bool {
        use io::ErrorKind::{QuotaExceeded, StorageFull};
        matches!(self, Self::Io { source, .. } if matches!(source.kind(), StorageFull | QuotaExceeded))
    }
}

impl RunFolder {
    /// Makes the folder, also those above it; takes one that is empty.
    pub fn make(path: &Path, earlier: Earlier) -> Result<Self, RunFolderError> {
        let failed = |source| RunFolderError::Io {
            path: path.to_path_buf(),
            source,
        };
        fs::create_dir_all(path).map_err(failed)?;
        // Programs under test get it as it is, in another working directory.
        let path = &path.canonicalize().map_err(failed)?;
        let marker = path.join(MARKER);
        let entries = || -> io::Result<Vec<PathBuf>> {
            let entries = fs::read_dir(path)?.map(|entry| entry.map(|entry| entry.path()));
            entries.collect()
        };
        let before = entries().map_err(failed)?;
        let is_marked = before.contains(&marker);
        if !is_marked && !before.is_empty() {
            return Err(RunFolderError::Foreign { path: path.clone() });
        }
        let mut options = OpenOptions::new();
        let lock = options.read(true).write(true).create(true).truncate(false);
        let lock = lock.open(&marker).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(RunFolderError::Busy { path: path.clone() });
            }
            Err(TryLockError::Error(error)) if has_no_locks(&error) => {
                tracing::warn!(
                    "the folder cannot be locked, so another run may use it too: {error}"
                );
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        // Two runs may have found it empty, and the first of them may have ended since.
        let has_text = lock.metadata().map_err(failed)?.len() > 0;
        match (has_text, earlier) {
            (false, _) => fs::write(&marker, MARKER_TEXT).map_err(failed)?,
            (true, Earlier::Refuse) => return Err(RunFolderError::Earlier { path: path.clone() }),
            (true, Earlier::Remove) => {
                let others = entries().map_err(failed)?.into_iter();
                for entry in others.filter(|entry| *entry != marker) {
                    remove(&entry).map_err(failed)?;
                }
            }
        }
        Ok(Self {
            path: path.clone(),
            _lock: lock,
        })
    }

    /// Makes a folder `bagplay-run-NAME` in `parent`; if there is one, `bagplay-run-NAME-2`, and so on. What cannot
    /// stand in the name of a file becomes `_`.
    pub fn numbered(parent: &Path, name: &str) -> Result<Self, RunFolderError> {
        let first = parent.join(format!("bagplay-run-{}", file_name(name)));
        for number in 1..=MOST_OF_A_NAME {
            let mut path = first.clone().into_os_string();
            if number > 1 {
                path.push(format!("-{number}"));
            }
            match Self::make(Path::new(&path), Earlier::Refuse) {
                Err(
                    RunFolderError::Earlier { .. }
                    | RunFolderError::Busy { .. }
                    | RunFolderError::Foreign { .. },
                ) => {}
                made => return made,
            }
        }
        Err(RunFolderError::TooMany { path: first })
    }

    /// A folder in it, for one of several repetitions or cases.
    pub fn inner(&self, name: &str) -> Result<Self, RunFolderError> {
        Self::make(&self.path.join(file_name(name)), Earlier::Refuse)
    }

    /// Removes it with everything in it. What cannot be removed stays.
    pub fn discard(self) {
        if let Err(error) = fs::remove_dir_all(&self.path) {
            tracing::debug!("{} stays: {error}", Foreign::path(&self.path));
        }
    }

    /// Where it is, from the root of the file system.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The standard output of the program under test.
    pub fn stdout(&self) -> PathBuf {
        self.path.join("stdout.log")
    }

    /// The standard error of the program under test.
    pub fn stderr(&self) -> PathBuf {
        self.path.join("stderr.log")
    }

    /// The folder for the logs of ROS nodes. They make it themselves.
    pub fn ros_log(&self) -> PathBuf {
        self.path.join("ros-log")
    }

    /// A file of the run.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// How a file is named in reports: relative to the folder if it is in it, or in a folder near it (`../../x`).
    pub fn relative(&self, file: &Path) -> String {
        let up = self.path.ancestors().take(1 + MOST_UP).enumerate();
        let mut found = up.filter_map(|(steps, folder)| {
            // From the root the name is as good.
            let rest = file.strip_prefix(folder).ok()?;
            folder.parent()?;
            let mut path: PathBuf = std::iter::repeat_n("..", steps).collect();
            path.push(rest);
            Some(path)
        });
        let file = found.next().unwrap_or_else(|| file.to_owned());
        file.to_string_lossy().into_owned()
    }
}

/// Some network file systems.
fn has_no_locks(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Unsupported
        || error.raw_os_error() == Some(rustix::io::Errno::NOLCK.raw_os_error())
}

fn remove(entry: &Path) -> io::Result<()> {
    if entry.symlink_metadata()?.is_dir() {
        fs::remove_dir_all(entry)
    } else {
        fs::remove_file(entry)
    }
}

/// A name that any file system takes, not hidden.
fn file_name(name: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || "-_.".contains(c) {
            c
        } else {
            '_'
        }
    };
    let mut name: String = name.chars().take(LONGEST_NAME).map(plain).collect();
    if name.is_empty() || name.starts_with('.') {
        name.insert(0, '_');
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(made: Result<RunFolder, RunFolderError>) -> String {
        made.unwrap_err().to_string()
    }

    #[test]
    fn a_folder_is_made_and_belongs_to_one_run() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a/b");
        let run = RunFolder::make(&path, Earlier::Refuse).unwrap();
        assert_eq!(run.relative(&run.stdout()), "stdout.log");
        assert_eq!(run.relative(Path::new("/x/y")), "/x/y");
        assert_eq!(run.relative(&run.path().join("../../x")), "../../x");
        let near = run.path().ancestors().nth(2).unwrap().join("x");
        assert_eq!(run.relative(&near), "../../x");
        fs::write(run.stdout(), "text").unwrap();
        for earlier in [Earlier::Refuse, Earlier::Remove] {
            let error = RunFolder::make(&path, earlier).unwrap_err();
            assert!(matches!(error, RunFolderError::Busy { .. }), "{error}");
        }
        drop(run);
        let error = RunFolder::make(&path, Earlier::Refuse).unwrap_err();
        assert!(matches!(error, RunFolderError::Earlier { .. }), "{error}");
        assert!(path.join("stdout.log").exists());
    }

    #[test]
    fn an_earlier_run_is_removed_if_that_is_asked_for_and_what_a_link_leads_to_is_not() {
        let root = tempfile::tempdir().unwrap();
        let (path, kept) = (root.path().join("run"), root.path().join("kept"));
        fs::create_dir(&kept).unwrap();
        fs::write(kept.join("file"), "text").unwrap();
        let run = RunFolder::make(&path, Earlier::Refuse).unwrap();
        fs::create_dir_all(run.ros_log().join("x")).unwrap();
        fs::write(run.stdout(), "text").unwrap();
        std::os::unix::fs::symlink(&kept, run.file("link")).unwrap();
        drop(run);
        let run = RunFolder::make(&path, Earlier::Remove).unwrap();
        assert_eq!(fs::read_dir(run.path()).unwrap().count(), 1);
        assert!(kept.join("file").exists());
    }

    #[test]
    fn files_of_others_are_never_touched() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("thesis.tex"), "text").unwrap();
        for earlier in [Earlier::Refuse, Earlier::Remove] {
            assert!(refused(RunFolder::make(root.path(), earlier)).contains("not those of a run"));
        }
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
        let file = root.path().join("thesis.tex");
        assert!(refused(RunFolder::make(&file, Earlier::Remove)).contains("cannot use"));
        assert!(file.exists());
    }

    #[test]
    fn folders_of_a_name_are_counted() {
        let root = tempfile::tempdir().unwrap();
        let made = [(); 3].map(|()| RunFolder::numbered(root.path(), "a/b c").unwrap());
        let names = made
            .each_ref()
            .map(|run| run.path().file_name().unwrap().to_owned());
        assert_eq!(
            names,
            [
                "bagplay-run-a_b_c",
                "bagplay-run-a_b_c-2",
                "bagplay-run-a_b_c-3"
            ]
        );
        let inner = made[0].inner("../x").unwrap();
        assert_eq!(inner.path(), made[0].path().join("_.._x"));
        drop(made);
        let next = RunFolder::numbered(root.path(), "a/b c").unwrap();
        assert!(next.path().ends_with("bagplay-run-a_b_c-4"));
    }

    #[test]
    fn any_text_makes_a_name_of_a_file() {
        assert_eq!(file_name(""), "_");
        assert_eq!(file_name(".."), "_..");
        assert_eq!(file_name("fuß\n"), "fu__");
        assert_eq!(file_name(&"x".repeat(1000)).len(), LONGEST_NAME);
    }
}
