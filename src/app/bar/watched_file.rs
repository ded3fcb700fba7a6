//! The watched fields between two runs: `watched.json` in the user's directory for state.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use bagplay::tui::{Model, SavedPin};
use bagplay::untrusted::{Foreign, read_text};
use tempfile::NamedTempFile;

use crate::app::dirs;

/// The most fields that are saved; the oldest are left out.
const MOST: usize = 200;

fn path() -> Option<PathBuf> {
    dirs::state().map(|folder| folder.join("bagplay/watched.json"))
}

/// The saved fields; none if there is no file or it cannot be read, which is logged.
pub(crate) fn load() -> Vec<SavedPin> {
    path().map_or_else(Vec::new, |path| {
        read(&path).unwrap_or_else(|error| {
            warn(&path, &error);
            Vec::new()
        })
    })
}

/// Saves what the model watches, and keeps what was saved for other recordings.
pub(crate) fn save(model: &Model) {
    let Some(path) = path() else { return };
    if let Err(error) = update(&path, model) {
        warn(&path, &error);
    }
}

fn warn(path: &Path, error: &io::Error) {
    tracing::warn!("watched fields: {}: {error}", Foreign::path(path));
}

fn update(path: &Path, model: &Model) -> io::Result<()> {
    let before = read(path)?;
    let others = before.iter().filter(|saved| !model.has_topic_of(saved));
    let mut after: Vec<SavedPin> = others.cloned().chain(model.pins_to_save()).collect();
    after.drain(..after.len().saturating_sub(MOST));
    if after == before {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut file = NamedTempFile::new_in(folder)?;
    serde_json::to_writer_pretty(&mut file, &after)?;
    file.write_all(b"\n")?;
    file.persist(path)?;
    Ok(())
}

fn read(path: &Path) -> io::Result<Vec<SavedPin>> {
    match read_text(path) {
        Ok(text) => Ok(serde_json::from_str(&text)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}
