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
    recordings: Vec<RecordingMarks>,
}

/// The marks of one of the recordings.
#[derive(Clone, Debug)]
struct RecordingMarks {
    sidecar: Sidecar,
    /// Its marks, including the changes.
    marks: Vec<Mark>,
    /// The changes that are not in the file yet, in order.
    changes: Vec<MarkChange>,
}

#[derive(Clone, Debug)]
enum MarkChange {
    Add(Mark),
    Remove(Time<Ros>),
}

impl MarkChange {
    fn apply(&self, marks: &mut Vec<Mark>) {
        match self {
            Self::Add(mark) => {
                marks.retain(|known| known.time != mark.time);
                marks.push(mark.clone());
            }
            Self::Remove(time) => marks.retain(|mark| mark.time != *time),
        }
        sort(marks);
    }
}

impl Marks {
    /// Reads the marks of these recordings, whose paths are those given to [`Bag::open`](crate::bag::Bag::open).
    /// `state_dir` is the state directory of the user (`$XDG_STATE_HOME`). If marks cannot be written beside a
    /// recording, they are kept below it, in `bagplay/marks`.
    pub fn read(paths: &[impl AsRef<Path>], state_dir: Option<&Path>) -> Result<Self, MarksError> {
        let mut all = Self::default();
        for path in paths {
            let sidecar = Sidecar::of(path.as_ref(), state_dir);
            if all
                .recordings
                .iter()
                .any(|recording| recording.sidecar == sidecar)
            {
                continue;
            }
            let mut marks = sidecar.read()?;
            sort(&mut marks);
            all.recordings.push(RecordingMarks {
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
        let has = |recording: &RecordingMarks| {
            recording.marks.iter().any(|known| known.time == mark.time)
        };
        let at = self.recordings.iter().position(has).unwrap_or(0);
        self.remove(mark.time);
        if let Some(recording) = self.recordings.get_mut(at) {
            recording.change(MarkChange::Add(mark));
        }
        self.merge();
    }

    /// Removes all marks at exactly this time, of any recording. Returns whether there was one.
    pub fn remove(&mut self, time: Time<Ros>) -> bool {
        let mut is_there = false;
        for recording in &mut self.recordings {
            if recording.marks.iter().any(|mark| mark.time == time) {
                recording.change(MarkChange::Remove(time));
                is_there = true;
            }
        }
        self.merge();
        is_there
    }

    /// Whether something has changed since it was read or saved.
    pub fn is_changed(&self) -> bool {
        self.recordings
            .iter()
            .any(|recording| !recording.changes.is_empty())
    }

    /// Applies the changes to the files as they are now, and returns the path of the first file written. Without
    /// changes nothing is written. Changes that cannot be written are kept.
    pub fn save(&mut self) -> Result<PathBuf, MarksError> {
        let mut written = None;
        let mut failed = None;
        for recording in &mut self.recordings {
            if !recording.changes.is_empty() {
                match recording.save() {
                    Ok(path) => written = written.or(Some(path)),
                    Err(error) => failed = failed.or(Some(error)),
                }
            }
        }
        self.merge();
        if let Some(error) = failed {
            return Err(error);
        }
        let first = || {
            self.recordings
                .first()
                .map(|recording| recording.sidecar.path().into())
        };
        written.or_else(first).ok_or(MarksError::NoRecording)
    }

    fn merge(&mut self) {
        let all = self
            .recordings
            .iter()
            .flat_map(|recording| &recording.marks);
        self.marks = all.cloned().collect();
        sort(&mut self.marks);
    }
}

impl RecordingMarks {
    fn change(&mut self, change: MarkChange) {
        change.apply(&mut self.marks);
        self.changes.push(change);
    }

    fn save(&mut self) -> Result<PathBuf, MarksError> {
        let mut marks = self.sidecar.read()?;
        sort(&mut marks);
        for change in &self.changes {
            change.apply(&mut marks);
        }
        let path = self.sidecar.write(&marks)?;
        self.marks = marks;
        self.changes.clear();
        Ok(path)
    }
}

fn sort(marks: &mut Vec<Mark>) {
    marks.sort_unstable();
    marks.dedup();
}
