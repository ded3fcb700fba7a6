//! Cuts: what is in them, compared with the recordings that were cut.

use std::ops::ControlFlow;
use std::path::PathBuf;

use bagplay::bag::{Bag, Direction, Message, Selection, StartAt};
use bagplay::cut::{Cut, CutError, CutOutcome, LatchedState, Written};
use bagplay::time::{Time, TimeRange};

use crate::support::mcaps::at;

mod convert;
mod damaged;
mod format;
mod latched;
mod merge;
mod mutated;
mod property;
mod reads;
mod real;
mod rosbag2;
mod target;

/// A folder for cuts, removed when it is dropped.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Everything in it, also under temporary names.
    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let name = |entry: std::io::Result<std::fs::DirEntry>| {
            entry.unwrap().file_name().into_string().unwrap()
        };
        let mut names: Vec<String> = entries.map(name).collect();
        names.sort();
        names
    }

    /// Writes a cut that succeeds.
    fn cut(&self, bag: &Bag, cut: &Cut) -> (Written, Bag) {
        let path = self.path("cut.mcap");
        let written = self.try_cut(bag, cut).unwrap();
        (written, Bag::open(&[path]).unwrap())
    }

    fn try_cut(&self, bag: &Bag, cut: &Cut) -> Result<Written, CutError> {
        match cut.write(bag, &self.path("cut.mcap"), &mut |_| {
            ControlFlow::Continue(())
        })? {
            CutOutcome::Written(written) => Ok(written),
            CutOutcome::Cancelled => panic!("cancelled"),
        }
    }
}

fn range(start: u64, stop: u64) -> TimeRange {
    TimeRange::between(at(start), at(stop))
}

/// A cut without the latched state.
fn plain(bag: &Bag, range: TimeRange) -> Cut {
    Cut {
        latched: LatchedState::LeftOut,
        ..Cut::new(bag, range)
    }
}

/// What counts of a message: its topic by name, and all that was recorded.
type Content = (String, i64, i64, u32, Vec<u8>);

fn content(bag: &Bag, message: &Message) -> Content {
    (
        bag.topics()[message.topic.index()].name.clone(),
        message.log_time.as_nanos(),
        message.publish_time.as_nanos(),
        message.sequence,
        message.payload.to_vec(),
    )
}

/// The sound messages of these topics in the range, in order.
fn contents(bag: &Bag, topics: &Selection, range: TimeRange) -> Vec<Content> {
    let start = StartAt::At(Time::MIN);
    let cursor = bag.cursor_within(topics, start, Direction::Forward, range);
    let sound = cursor.filter_map(Result::ok);
    sound.map(|message| content(bag, &message)).collect()
}

/// All messages of a cut, which must be without any fault.
#[track_caller]
fn whole(cut: &Bag) -> Vec<Content> {
    assert_eq!(cut.damage(), []);
    assert_eq!(cut.check_chunks(), []);
    assert_eq!(cut.check_data_sections(), []);
    let all = Selection::all(cut);
    let cursor = cut.cursor(&all, StartAt::At(Time::MIN), Direction::Forward);
    let messages: Vec<Message> = cursor.map(Result::unwrap).collect();
    assert_eq!(cut.message_count(), Some(messages.len() as u64));
    for (id, topic) in cut.topics().iter().enumerate() {
        let of_topic = messages.iter().filter(|it| it.topic.index() == id);
        assert_eq!(topic.message_count, Some(of_topic.count() as u64));
    }
    let times = messages.iter().map(|message| message.log_time);
    let times = times.map(|time| TimeRange::between(time, time));
    assert_eq!(cut.range(), times.reduce(TimeRange::union));
    messages
        .iter()
        .map(|message| content(cut, message))
        .collect()
}
