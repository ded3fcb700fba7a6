//! Small JSON files in the user's directory for state. Programs that change one at the same time do so one after the
//! other: a file beside it is locked meanwhile. There is no file where there is nothing to save.

use std::fs::{File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bagplay::untrusted::{Foreign, read_text};
use crossbeam_channel::after;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tempfile::NamedTempFile;

use crate::app::dirs;

/// How often a lock is tried, and the time between two attempts: a second in all.
const PATIENCE: u32 = 100;
const LOOK_AGAIN: Duration = Duration::from_millis(10);

fn path(name: &str) -> Option<PathBuf> {
    dirs::state().map(|folder| folder.join("bagplay").join(name))
}

/// What the file has; the default if there is none, or if it cannot be read, which is logged.
pub(crate) fn load<T: DeserializeOwned + Default>(name: &str) -> T {
    let Some(path) = path(name) else {
        return T::default();
    };
    read(&path).unwrap_or_else(|error| {
        warn(&path, &error);
        T::default()
    })
}

/// Changes what the file has. A failure is logged; a file that cannot be read is left as it is.
pub(crate) fn update<T>(name: &str, change: impl FnOnce(&mut T))
where
    T: DeserializeOwned + Serialize + Default + PartialEq + Clone,
{
    let Some(path) = path(name) else {
        tracing::debug!("{name} is not saved: there is no home directory");
        return;
    };
    if let Err(error) = update_at(&path, PATIENCE, change) {
        warn(&path, &error);
    }
}

fn update_at<T>(path: &Path, patience: u32, change: impl FnOnce(&mut T)) -> io::Result<()>
where
    T: DeserializeOwned + Serialize + Default + PartialEq + Clone,
{
    // It is locked until the end of this function.
    let _lock = lock(path, patience);
    let before = read::<T>(path)?;
    let mut after = before.clone();
    change(&mut after);
    if after == before {
        Ok(())
    } else if after == T::default() {
        std::fs::remove_file(path)
    } else {
        write(path, &after)
    }
}

/// Waits until no other program changes a file, for so many attempts: a suspended program would hold up this one.
/// `None` if the lock was not acquired; a file system may have no locks.
fn lock(path: &Path, attempts: u32) -> Option<File> {
    std::fs::create_dir_all(path.parent()?).ok()?;
    let file = File::create(path.with_extension("lock")).ok()?;
    for _ in 0..attempts {
        match file.try_lock() {
            Ok(()) => return Some(file),
            Err(TryLockError::WouldBlock) => {
                let _ = after(LOOK_AGAIN).recv();
            }
            Err(TryLockError::Error(_)) => return None,
        }
    }
    None
}

fn warn(path: &Path, error: &io::Error) {
    tracing::warn!("{}: {error}; hint: delete this file", Foreign::path(path));
}

fn read<T: DeserializeOwned + Default>(path: &Path) -> io::Result<T> {
    match read_text(path) {
        Ok(text) => Ok(serde_json::from_str(&text)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(T::default()),
        Err(error) => Err(error),
    }
}

fn write(path: &Path, contents: &impl Serialize) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut file = NamedTempFile::new_in(folder)?;
    serde_json::to_writer_pretty(&mut file, contents)?;
    file.write_all(b"\n")?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_at_the_same_time_are_all_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state/numbers.json");
        std::thread::scope(|scope| {
            for thread in 0..8_u32 {
                let path = &path;
                scope.spawn(move || {
                    for n in 0..10 {
                        let add = |all: &mut Vec<u32>| all.push(thread * 10 + n);
                        update_at(path, u32::MAX, add).unwrap();
                    }
                });
            }
        });
        let mut all: Vec<u32> = read(&path).unwrap();
        all.sort_unstable();
        assert_eq!(all, (0..80).collect::<Vec<u32>>());
        update_at(&path, u32::MAX, Vec::<u32>::clear).unwrap();
        assert!(!path.exists(), "nothing is left to save");
        update_at(&path, u32::MAX, |all: &mut Vec<u32>| all.push(7)).unwrap();
        assert_eq!(read::<Vec<u32>>(&path).unwrap(), [7]);
    }
}
