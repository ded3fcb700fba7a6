//! [`Inputs`]: the recordings that a user names, opened: files, rosbag2 directories, and files compressed as a whole.
//!
//! The parts of a directory are independent: a part that is missing or not a recording is damage, and the rest is
//! played.

use std::collections::HashSet;
use std::error::Error as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::BagError;
use super::file_kind::ZSTD;
use super::file_pool::Pool;
use super::metadata::MetadataTopic;
use super::options::Opening;
use super::rosbag2::{Directory, Note};
use super::source::Source;
use super::spool::spool;
use crate::bag::damage::{Damage, DamageKind};
use crate::untrusted::FileName;

/// Whether a recording was named by the user, or found in a directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SourceOrigin {
    Named,
    Directory,
}

/// The recordings that the user named, opened.
#[derive(Debug, Default)]
pub(crate) struct Inputs {
    pub(crate) sources: Vec<(Source, SourceOrigin)>,
    /// The errors of parts of directories that cannot be played.
    pub(crate) refused: Vec<BagError>,
    pub(crate) damage: Vec<Damage>,
    pub(crate) notes: Vec<Note>,
    /// The message counts of directories.
    pub(crate) counted: Vec<DirectoryCount>,
    /// The topics in `metadata.yaml`, for what the recordings leave out.
    pub(crate) topics: Vec<MetadataTopic>,
}

/// The number of messages that a `metadata.yaml` gives for the files of its directory.
#[derive(Debug)]
pub(crate) struct DirectoryCount {
    pub(crate) dir: PathBuf,
    pub(crate) told: u64,
    pub(crate) files: HashSet<FileName>,
}

impl Inputs {
    /// Opens all paths. A path that cannot be opened as a recording is an error.
    pub(crate) fn open(
        paths: &[impl AsRef<Path>],
        opening: &Opening<'_>,
        pool: &Arc<Pool>,
    ) -> Result<Self, BagError> {
        let mut inputs = Self::default();
        for path in paths {
            let path = path.as_ref();
            if path.is_dir() {
                inputs.take_directory(path, opening, pool)?;
            } else {
                let source = inputs.take_file(path, opening, pool)?;
                inputs.sources.push((source, SourceOrigin::Named));
            }
        }
        Ok(inputs)
    }

    fn take_directory(
        &mut self,
        path: &Path,
        opening: &Opening<'_>,
        pool: &Arc<Pool>,
    ) -> Result<(), BagError> {
        let directory = Directory::resolve(path)?;
        self.notes.extend(directory.notes);
        let told = directory.metadata.as_ref().and_then(|it| it.message_count);
        // If a part is missing, that is reported anyway.
        self.counted
            .extend(
                told.filter(|_| directory.missing.is_empty())
                    .map(|told| DirectoryCount {
                        dir: path.to_owned(),
                        told,
                        files: directory.files.iter().map(FileName::from).collect(),
                    }),
            );
        self.topics
            .extend(directory.metadata.into_iter().flat_map(|it| it.topics));
        self.damage
            .extend(directory.missing.into_iter().map(|gone| Damage {
                file: gone.path.into(),
                offset: 0,
                kind: DamageKind::Missing,
                detail: format!("a part of the recording is missing: {}", gone.detail),
            }));
        for path in directory.files {
            match self.take_file(&path, opening, pool) {
                Ok(source) => self.sources.push((source, SourceOrigin::Directory)),
                Err(error) => self.refuse(&path.into(), error),
            }
        }
        Ok(())
    }

    /// Records a part that cannot be played as damage; the other parts can be played.
    pub(crate) fn refuse(&mut self, file: &FileName, error: BagError) {
        let name = format!("{file}: ");
        let text = error.to_string();
        let mut why = text.strip_prefix(&name).unwrap_or(&text).to_owned();
        let mut cause = error.source();
        while let Some(error) = cause {
            why = format!("{why}: {error}");
            cause = error.source();
        }
        self.damage.push(Damage {
            file: file.clone(),
            offset: 0,
            kind: DamageKind::Missing,
            detail: format!("a part of the recording cannot be played: {why}"),
        });
        self.refused.push(error);
    }

    fn take_file(
        &mut self,
        path: &Path,
        opening: &Opening<'_>,
        pool: &Arc<Pool>,
    ) -> Result<Source, BagError> {
        let source = Source::open(path, pool)?;
        let mut head = [0; ZSTD.len()];
        if !source.holds(0, ZSTD.len() as u64) {
            return Ok(source);
        }
        source
            .read_into(0, &mut head)
            .map_err(|error| source.error(0, error))?;
        if head != ZSTD {
            return Ok(source);
        }
        let mut told = |read, of| {
            opening.tell(&source.name, read, of);
            ControlFlow::Continue(())
        };
        let spooled = spool(path, &mut told)?;
        self.damage.extend(spooled.damage);
        source.unpacked(spooled.file)
    }
}
