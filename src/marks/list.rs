//! [`Marks`]: named moments of a recording, kept in a file beside it.
//!
//! People set them while they watch and edit the file by hand, so both at once is the normal case: what is
//! kept is a list of changes, and saving applies them to what the file says by then. A file that cannot
//! be understood is an error that names file and line, and is left as it is.

use std::path::{Path, PathBuf};

use super::mark::{Mark, MarksError};
use super::sidecar::Sidecar;
use crate::time::{Ros, Time};

/// The marks of one or more recordings that are played together, in order of time.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    marks: Vec<Mark>,
    /// One a recording; new marks go to the first.
    keeps: Vec<Keep>,
}

/// The marks of one of the recordings.
#[derive(Clone, Debug)]
struct Keep {
    sidecar: Sidecar,
    /// Those that are there, changes included.
    marks: Vec<Mark>,
    /// What the file does not say yet, in order.
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
    /// Reads the marks of these recordings, as they were named to [`Bag::open`](crate::bag::Bag::open).
    /// `state_dir` is where the user's programs keep their state (`$XDG_STATE_HOME`): marks of recordings
    /// beside which nothing can be written are kept below it, in `bagplay/marks`.
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

    /// All of them, by time and name, none twice.
    pub fn list(&self) -> &[Mark] {
        &self.marks
    }

    /// Adds one, in the place of any at exactly this time; [`Marks::save`] keeps it, with the recording
    /// that had one.
    pub fn add(&mut self, mark: Mark) {
        let has = |keep: &Keep| keep.marks.iter().any(|known| known.time == mark.time);
        let at = self.keeps.iter().position(has).unwrap_or(0);
        self.remove(mark.time);
        if let Some(keep) = self.keeps.get_mut(at) {
            keep.change(Change::Add(mark));
        }
        self.merge();
    }

    /// Removes all at exactly this time, whichever recording they belong to; whether there was one.
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

    /// Whether something was changed since it was read or saved.
    pub fn is_changed(&self) -> bool {
        self.keeps.iter().any(|keep| !keep.changes.is_empty())
    }

    /// Writes what was changed into the files as they are by now, and tells which, of several the first.
    /// Without a change nothing is written. What cannot be written stays a change.
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
