//! Small JSON files in the user's directory for state. Two programs that change one at the same time: the later change
//! counts.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use bagplay::untrusted::{Foreign, read_text};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tempfile::NamedTempFile;

use crate::app::dirs;

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
    let done = read::<T>(&path).and_then(|before| {
        let mut after = before.clone();
        change(&mut after);
        if after == before {
            Ok(())
        } else {
            write(&path, &after)
        }
    });
    if let Err(error) = done {
        warn(&path, &error);
    }
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
