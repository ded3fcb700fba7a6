//! [`NodeFeed`]: what a program tells the node's own topics. It can be used before the node is served.

use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender, bounded};

use crate::bag::Key;
use crate::time::Segment;

/// How many messages may wait; further ones are dropped.
const WAITING: usize = 1024;

/// How severe a line of the log is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Severity {
    /// A warning.
    Warning,
    /// An error.
    Error,
}

impl Severity {
    /// The number in `rcl_interfaces/msg/Log`.
    pub const fn level(self) -> u8 {
        match self {
            Self::Warning => 30,
            Self::Error => 40,
        }
    }
}

/// A line of the log, for `/rosout`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogLine {
    /// When it was logged, in nanoseconds since the Unix epoch.
    pub unix_nanos: i64,
    /// How severe it is.
    pub severity: Severity,
    /// The text.
    pub text: String,
}

/// What the node's own topics publish.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Told {
    Log(LogLine),
    /// Playback has come from one file to the next.
    Split {
        closed: Arc<str>,
        opened: Arc<str>,
    },
}

/// Takes what the node's own topics are to publish, also before there is a node. Never blocks; if a thousand messages
/// wait, further ones are dropped.
#[derive(Clone, Debug)]
pub struct NodeFeed {
    told: Sender<Told>,
    pub(crate) received: Receiver<Told>,
}

impl Default for NodeFeed {
    fn default() -> Self {
        let (told, received) = bounded(WAITING);
        Self { told, received }
    }
}

impl NodeFeed {
    /// Publishes a line on `/rosout`.
    pub fn log(&self, line: LogLine) {
        let _ = self.told.try_send(Told::Log(line));
    }

    /// Watches from which of these files messages come; see [`SplitWatch`].
    pub fn watch(&self, files: Vec<PlayedFile>) -> SplitWatch {
        SplitWatch {
            told: self.told.clone(),
            places: vec![Place::default(); files.len()],
            files,
            generation: 0,
            is_reverse: false,
        }
    }
}

/// A file of the recordings that are played.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlayedFile {
    /// Its name.
    pub name: Arc<str>,
    /// The recording of which it is a part: the number of its first file. `None` if it is a recording by itself.
    pub recording: Option<usize>,
}

/// Tells when forward playback comes from one file of a recording to the next.
///
/// Messages of two files may overlap in time; each crossing is told once. Playing on crosses all files in between, also
/// if they have no message to play. A jump goes from the file before to the one where it lands, if that comes later; a
/// jump back is not told.
#[derive(Debug)]
pub struct SplitWatch {
    told: Sender<Told>,
    files: Vec<PlayedFile>,
    /// Where playback is in each recording, by the number of its first file.
    places: Vec<Place>,
    generation: u64,
    is_reverse: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Place {
    /// The last file.
    file: Option<usize>,
    /// The generation in which a message of it was played.
    generation: u64,
}

impl SplitWatch {
    /// Playback moves in this way from now on.
    pub fn segment(&mut self, segment: &Segment) {
        self.generation = segment.generation();
        self.is_reverse = segment.speed().is_reverse();
    }

    /// A message from this place in the recordings is played.
    pub fn message(&mut self, key: Key) {
        let file = key.input as usize;
        let Some(recording) = self.files.get(file).and_then(|file| file.recording) else {
            return;
        };
        let Some(place) = self.places.get_mut(recording) else {
            return;
        };
        let now = Place {
            file: Some(file),
            generation: self.generation,
        };
        let before = std::mem::replace(place, now);
        let has_jumped = before.generation != self.generation;
        match before.file {
            Some(last) if last < file && !self.is_reverse => {
                if has_jumped {
                    self.tell(last, file);
                } else {
                    (last..file).for_each(|file| self.tell(file, file + 1));
                }
            }
            // A message of the file before, which overlaps.
            Some(last) if last > file && !has_jumped && !self.is_reverse => *place = before,
            _ => {}
        }
    }

    fn tell(&self, closed: usize, opened: usize) {
        let name = |file: usize| Arc::clone(&self.files[file].name);
        let (closed, opened) = (name(closed), name(opened));
        let _ = self.told.try_send(Told::Split { closed, opened });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::{AtEnd, Speed, Time, TimeRange};

    fn key(input: u32) -> Key {
        Key {
            time: Time::ZERO,
            input,
            chunk: 0,
            record: 0,
        }
    }

    fn watch(recordings: &[Option<usize>]) -> (NodeFeed, SplitWatch) {
        let feed = NodeFeed::default();
        let file = |(number, recording): (usize, &Option<usize>)| PlayedFile {
            name: number.to_string().into(),
            recording: *recording,
        };
        let watch = feed.watch(recordings.iter().enumerate().map(file).collect());
        (feed, watch)
    }

    #[track_caller]
    fn tells(feed: &NodeFeed, watch: &mut SplitWatch, inputs: &[u32], crossings: &[(u32, u32)]) {
        for input in inputs {
            watch.message(key(*input));
        }
        let told: Vec<Told> = feed.received.try_iter().collect();
        let name = |file: &u32| -> Arc<str> { file.to_string().into() };
        let expected = crossings.iter().map(|(closed, opened)| Told::Split {
            closed: name(closed),
            opened: name(opened),
        });
        assert_eq!(told, expected.collect::<Vec<_>>());
    }

    fn segment(speed: f64) -> Segment {
        let range = TimeRange::between(Time::from_nanos(0), Time::from_nanos(100));
        Segment::new(range, Speed::from_f64(speed).unwrap(), AtEnd::Hold)
    }

    #[test]
    fn each_crossing_is_told_once() {
        let (feed, mut watch) = watch(&[Some(0), Some(0), Some(0), Some(0)]);
        let said = [(0, 1), (1, 2), (2, 3)];
        tells(&feed, &mut watch, &[0, 0, 1, 0, 1, 1, 3, 3], &said);
    }

    #[test]
    fn recordings_are_crossed_on_their_own() {
        let (feed, mut watch) = watch(&[Some(0), Some(0), None, Some(3), Some(3), None]);
        let inputs = [0, 3, 2, 0, 5, 3, 1, 3, 2, 4, 1, 9];
        tells(&feed, &mut watch, &inputs, &[(0, 1), (3, 4)]);
    }

    #[test]
    fn a_jump_is_one_crossing_forwards_and_none_backwards() {
        let (feed, mut watch) = watch(&[Some(0), Some(0), Some(0)]);
        let mut at = segment(1.0);
        watch.segment(&at);
        tells(&feed, &mut watch, &[0], &[]);
        at = at.seek(Time::from_nanos(90));
        watch.segment(&at);
        tells(&feed, &mut watch, &[2, 2], &[(0, 2)]);
        at = at.wrap();
        watch.segment(&at);
        tells(&feed, &mut watch, &[0, 1], &[(0, 1)]);
    }

    #[test]
    fn nothing_is_told_backwards() {
        let (feed, mut watch) = watch(&[Some(0), Some(0), Some(0)]);
        watch.segment(&segment(-1.0));
        tells(&feed, &mut watch, &[2, 1, 2, 0], &[]);
    }
}
