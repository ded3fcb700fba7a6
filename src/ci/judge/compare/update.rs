//! [`update`]: makes the recording of a run the new reference.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::comparison::Comparison;
use super::recordings::{CompareError, compare};
use super::rules::Rules;
use crate::bag::{Bag, BagError};
use crate::untrusted::Foreign;

/// What became of a reference.
#[derive(Clone, PartialEq, Debug)]
pub enum Updated {
    /// There was none.
    Created,
    /// It was equal to the run under the rules, and was left as it is.
    Unchanged(Comparison),
    /// It was replaced; this is in what the run differs from the former reference.
    Replaced(Comparison),
    /// It could not be read, for this reason, and was replaced.
    Unreadable(String),
}

/// Why a reference was not updated. The former one is still there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UpdateError {
    /// The recording of the run cannot be read.
    #[error("the recording of the run: {0}")]
    Run(#[from] BagError),
    /// The recording of the run is damaged.
    #[error("a damaged recording is no reference: {0}")]
    Damaged(String),
    /// The recording of the run has no messages.
    #[error("{} has no messages, and is no reference", Foreign::path(.0))]
    Empty(PathBuf),
    /// The two recordings cannot be compared.
    #[error(transparent)]
    Compare(#[from] CompareError),
    /// The new reference cannot be written.
    #[error("{}: {reason}", Foreign::path(path))]
    Write {
        /// The reference.
        path: PathBuf,
        /// Why.
        reason: io::Error,
    },
}

/// Replaces the reference by a copy of the recording of the run, unless they are equal under the rules. The copy is
/// written beside it and then renamed, so there is always a whole reference. A link stays a link: what it leads to is
/// replaced.
pub fn update(run: &Path, reference: &Path, rules: &Rules) -> Result<Updated, UpdateError> {
    let run_bag = Bag::open(&[run])?;
    if run_bag.range().is_none() {
        return Err(UpdateError::Empty(run.to_owned()));
    }
    let damage = run_bag.damage().iter().cloned();
    if let Some(damage) = damage.chain(run_bag.check_chunks()).next() {
        return Err(UpdateError::Damaged(damage.to_string()));
    }
    let exists = reference
        .try_exists()
        .map_err(|reason| wrong(reference, reason))?;
    let updated = match exists.then(|| Bag::open(&[reference])) {
        None => Updated::Created,
        Some(Err(error)) => Updated::Unreadable(error.to_string()),
        Some(Ok(former)) => {
            let comparison = compare(&former, &run_bag, rules)?;
            if comparison.is_equal() && !comparison.topics.is_empty() {
                return Ok(Updated::Unchanged(comparison));
            }
            Updated::Replaced(comparison)
        }
    };
    replace(run, reference).map_err(|reason| wrong(reference, reason))?;
    Ok(updated)
}

fn wrong(path: &Path, reason: io::Error) -> UpdateError {
    let path = path.to_owned();
    UpdateError::Write { path, reason }
}

fn replace(run: &Path, reference: &Path) -> io::Result<()> {
    let target = match reference.canonicalize() {
        Ok(target) => target,
        Err(_) => reference.to_owned(),
    };
    let folder = match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    fs::create_dir_all(folder)?;
    let mut copy = tempfile::Builder::new()
        .prefix(".golden-")
        .tempfile_in(folder)?;
    let mut source = File::open(run)?;
    io::copy(&mut source, copy.as_file_mut())?;
    // A temporary file is readable by its owner alone.
    let permissions = target
        .metadata()
        .or_else(|_| source.metadata())?
        .permissions();
    copy.as_file().set_permissions(permissions)?;
    copy.as_file().sync_all()?;
    copy.persist(&target).map_err(|error| error.error)?;
    // The new name is in the folder.
    File::open(folder)?.sync_all()
}
