//! [`Marks`]: named moments of a recording, kept in a file beside it.
//!
//! People set marks while they watch and also edit the file by hand. So what is kept is a list of changes, and saving
//! applies them to what the file contains at that time. A file that cannot be parsed is an error that gives file and
//! line, and is not changed.

use std::path::{Path, PathBuf};

use super::mark::{Mark, MarksError};
use super::sidecar::Sidecar;
use crate::time::{Ros, Time};

/// The marks of one or more recordings that are played together, in order of time.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    marks: Vec<Mark>,
    /// One for each recording; new marks go to the first.
    keeps: Vec<Keep>,
}

/// The marks of one of the recordings.
#[derive(Clone, Debug)]
struct Keep {
    sidecar: Sidecar,
    /// Its marks, including the changes.
    marks: Vec<Mark>,
    /// The changes that are not in the file yet, in order.
    changes: Vec<Change>,
}

#[derive(Clone, Debug)]
enum Change {
    Add(Mark),
    Remove(Time<Ros>),
}

impl Change {
    fn apply(&self, marks: &mut Vec<Mark>) {
        match self {
            Self::Add(mark) => {
                marks.retain(|known| known.time != mark.time);
                marks.push(mark.clone());
            }
            Self::Remove(time) => marks.retain(|mark| mark.time != *time),
        }
        order(marks);
    }
}

impl Marks {
    /// Reads the marks of these recordings, whose paths are those given to [`Bag::open`](crate::bag::Bag::open).
    /// `state_dir` is the state directory of the user (`$XDG_STATE_HOME`). If marks cannot be written beside a
    /// recording, they are kept below it, in `bagplay/marks`.
    pub fn of(paths: &[impl AsRef<Path>], state_dir: Option<&Path>) -> Result<Self, MarksError> {
        let mut all = Self::default();
        for path in paths {
            let sidecar = Sidecar::of(path.as_ref(), state_dir);
            if all.keeps.iter().any(|keep| keep.sidecar == sidecar) {
                continue;
            }
            let mut marks = sidecar.read()?;
            order(&mut marks);
            all.keeps.push(Keep {
                sidecar,
                marks,
                changes: Vec::new(),
            });
        }
        all.merge();
        Ok(all)
    }

    /// All marks, by time and name, without duplicates.
    pub fn list(&self) -> &[Mark] {
        &self.marks
    }

    /// Adds a mark and replaces any mark at exactly this time. [`Marks::save`] writes it for the recording that had the
    /// replaced mark.
    pub fn add(&mut self, mark: Mark) {
        let has = |keep: &Keep| keep.marks.iter().any(|known| known.time == mark.time);
        let at = self.keeps.iter().position(has).unwrap_or(0);
        self.remove(mark.time);
        if let Some(keep) = self.keeps.get_mut(at) {
            keep.change(Change::Add(mark));
        }
        self.merge();
    }

    /// Removes all marks at exactly this time, of any recording. Returns whether there was one.
    pub fn remove(&mut self, time: Time<Ros>) -> bool {
        let mut is_there = false;
        for keep in &mut self.keeps {
            if keep.marks.iter().any(|mark| mark.time == time) {
                keep.change(Change::Remove(time));
                is_there = true;
            }
        }
        self.merge();
        is_there
    }

    /// Whether something has changed since it was read or saved.
    pub fn is_changed(&self) -> bool {
        self.keeps.iter().any(|keep| !keep.changes.is_empty())
    }

    /// Applies the changes to the files as they are now, and returns the path of the first file written. Without
    /// changes nothing is written. Changes that cannot be written are kept.
    pub fn save(&mut self) -> Result<PathBuf, MarksError> {
        let mut written = None;
        let mut failed = None;
        for keep in &mut self.keeps {
            if !keep.changes.is_empty() {
                match keep.save() {
                    Ok(path) => written = written.or(Some(path)),
                    Err(error) => failed = failed.or(Some(error)),
                }
            }
        }
        self.merge();
        if let Some(error) = failed {
            return Err(error);
        }
        let first = || self.keeps.first().map(|keep| keep.sidecar.place().into());
        written.or_else(first).ok_or(MarksError::Nowhere)
    }

    fn merge(&mut self) {
        let all = self.keeps.iter().flat_map(|keep| &keep.marks);
        self.marks = all.cloned().collect();
        order(&mut self.marks);
    }
}

impl Keep {
    fn change(&mut self, change: Change) {
        change.apply(&mut self.marks);
        self.changes.push(change);
    }

    fn save(&mut self) -> Result<PathBuf, MarksError> {
        let mut marks = self.sidecar.read()?;
        order(&mut marks);
        for change in &self.changes {
            change.apply(&mut marks);
        }
        let path = self.sidecar.write(&marks)?;
        self.marks = marks;
        self.changes.clear();
        Ok(path)
    }
}

fn order(marks: &mut Vec<Mark>) {
    marks.sort_unstable();
    marks.dedup();
}
