//! [`Bag`]: one or more recordings, open: what is in them, and the ways to walk them.

use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

use super::damage::Damage;
use super::message::{Message, TopicId};
use crate::bag::decompress::budget::Meter;
use crate::bag::density::outline::{Outline, TopicOutline};
use crate::bag::density::passes;
use crate::bag::index::contents::{Contents, FileSummary};
use crate::bag::index::topic::Topic;
use crate::bag::index::{full_check, message_compression};
use crate::bag::latched::learned::Learned;
use crate::bag::latched::look_up;
use crate::bag::open::error::BagError;
use crate::bag::open::options::{MessageOrder, Opening};
use crate::bag::open::paths::{Inputs, Standing};
use crate::bag::open::read_at::Source;
use crate::bag::open::rosbag2::Note;
use crate::bag::walk::cursor::Cursor;
use crate::bag::walk::selection::{Bounds, Direction, Selection, StartAt};
use crate::time::{Ros, Time, TimeRange};

/// One or more recordings, merged in time order. Cheap to clone; all clones share the open files.
#[derive(Clone)]
pub struct Bag {
    contents: Arc<Contents>,
    /// What look-ups of latched messages found out; it is about these contents only.
    learned: Arc<Learned>,
}

impl Bag {
    /// Opens MCAP files, also those compressed as a whole, and rosbag2 directories: by their summaries, which takes milliseconds whatever their size, or by reading
    /// them through if they have none that can be used. Equal stamps keep the order of the inputs.
    pub fn open<P: AsRef<Path>>(paths: &[P]) -> Result<Self, BagError> {
        Self::open_with(paths, &Opening::default())
    }

    /// The same with another order, or with somebody who is told of progress.
    pub fn open_with<P: AsRef<Path>>(paths: &[P], opening: &Opening<'_>) -> Result<Self, BagError> {
        Ok(Self::of(Contents::open(paths, opening)?))
    }

    /// Opens an MCAP file that is in memory; `name` is what messages call it.
    pub fn from_bytes(name: impl AsRef<Path>, bytes: Bytes) -> Result<Self, BagError> {
        Self::from_bytes_with(name, bytes, &Opening::default())
    }

    /// The same with another order, or with somebody who is told of progress.
    pub fn from_bytes_with(
        name: impl AsRef<Path>,
        bytes: Bytes,
        opening: &Opening<'_>,
    ) -> Result<Self, BagError> {
        let source = Source::memory(name.as_ref(), bytes);
        let inputs = Inputs {
            sources: vec![(source, Standing::Named)],
            ..Inputs::default()
        };
        Ok(Self::of(Contents::of(inputs, opening)?))
    }

    fn of(contents: Contents) -> Self {
        Self {
            contents: Arc::new(contents),
            learned: Arc::default(),
        }
    }

    /// The topics of all files, by [`TopicId`].
    pub fn topics(&self) -> &[Topic] {
        &self.contents.topics
    }

    /// First and last stamp of the bag's order, both included; `None` if there are no messages.
    pub fn range(&self) -> Option<TimeRange> {
        let ranges = self.files().iter().filter_map(|file| file.range);
        ranges.reduce(TimeRange::union)
    }

    /// Which stamp orders the messages.
    pub fn order(&self) -> MessageOrder {
        self.contents.order
    }

    /// The files, in the order they were given.
    pub fn files(&self) -> &[FileSummary] {
        &self.contents.files
    }

    /// How many messages the files say they hold; `None` if one does not say.
    pub fn message_count(&self) -> Option<u64> {
        let mut counts = self.files().iter().map(|file| file.message_count);
        counts.try_fold(0_u64, |sum, count| Some(sum.saturating_add(count?)))
    }

    /// A file whose messages are each compressed by themselves with zstd (rosbag2's compression mode MESSAGE), which
    /// cannot be played; `None` if there is none among the first four, as far as their first chunks tell.
    pub fn compressed_by_message(&self) -> Option<&Path> {
        message_compression::by_message(&self.contents)
    }

    /// What was found wrong when the files were opened.
    pub fn damage(&self) -> &[Damage] {
        &self.contents.damage
    }

    /// What a user should know of how directories were understood.
    pub fn notes(&self) -> &[Note] {
        &self.contents.notes
    }

    /// What the recording looks like in so many equal parts of its time, told by its indexes.
    pub fn outline(&self, parts: usize) -> Outline {
        let mut last = Outline {
            topics: vec![TopicOutline::default(); self.topics().len()],
        };
        let range = self.range().unwrap_or(TimeRange::ALL);
        self.outline_within(range, parts, &mut |outline| {
            last.clone_from(outline);
            ControlFlow::Continue(())
        });
        last
    }

    /// What a range of it looks like in so many equal parts, told while it grows: every time as the whole
    /// is expected to be, the last time as far as it is known. Messages outside do not count, chunks that
    /// lie outside are not looked at. It ends early when it is told to break.
    pub fn outline_within(
        &self,
        range: TimeRange,
        parts: usize,
        tell: &mut dyn FnMut(&Outline) -> ControlFlow<()>,
    ) {
        passes::outline(&self.contents, (range, parts.max(1)), tell);
    }

    /// Compares the data section of each file with its checksum, where it has one, which reads the whole
    /// file. Chunks compare theirs whenever they are opened.
    pub fn check_data_sections(&self) -> Vec<Damage> {
        full_check::data_sections(&self.contents)
    }

    /// Opens every chunk and compares it with what its indexes say: damage that a walk meets, and what it
    /// does not come to.
    pub fn check_chunks(&self) -> Vec<Damage> {
        full_check::chunks(&self.contents)
    }

    /// Walks the selected topics in order. Seeking is a new cursor. Forward from a time covers that
    /// time and later, in reverse that time and earlier.
    pub fn cursor(&self, topics: &Selection, from: StartAt, direction: Direction) -> Cursor {
        self.cursor_within(topics, from, direction, TimeRange::ALL)
    }

    /// The same, over the messages of a closed range only.
    pub fn cursor_within(
        &self,
        topics: &Selection,
        from: StartAt,
        direction: Direction,
        range: TimeRange,
    ) -> Cursor {
        let bounds = Bounds::new(from, direction).within(range);
        let contents = Arc::clone(&self.contents);
        Cursor::new(contents, topics.clone(), direction, bounds)
    }

    /// What a late joiner of the selected latched topics would be given at `at`: of each the last
    /// message at or before it, as many as it had publishers; of static transforms all. In order.
    pub fn latched(&self, topics: &Selection, at: Time<Ros>) -> (Vec<Message>, Vec<Damage>) {
        self.latched_metered(topics, at, &Meter::unbounded())
    }

    /// The same on another account: the newest that fit half of its budget, one at least. Once the
    /// account is closed it stops, with what it has.
    pub(crate) fn latched_metered(
        &self,
        topics: &Selection,
        at: Time<Ros>,
        meter: &Arc<Meter>,
    ) -> (Vec<Message>, Vec<Damage>) {
        look_up::latched(&self.contents, &self.learned, topics, at, meter)
    }

    /// Looks into the chunks of up to `most` bytes that [`Self::latched`] could only open, until the second account is
    /// closed. The largest of them is on the first account meanwhile.
    pub(crate) fn learn_latched(
        &self,
        topics: &Selection,
        most: u64,
        accounts: (&Arc<Meter>, &Arc<Meter>),
    ) {
        look_up::learn(&self.contents, &self.learned, topics, most, accounts);
    }
}

impl fmt::Debug for Bag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let paths = self.files().iter().map(|file| &file.path);
        f.debug_list().entries(paths).finish()
    }
}

impl Selection {
    /// All topics of the bag.
    pub fn all(bag: &Bag) -> Self {
        Self(vec![true; bag.topics().len()].into())
    }

    /// These topics of the bag; ids that it does not have are ignored.
    pub fn of(topics: impl IntoIterator<Item = TopicId>, bag: &Bag) -> Self {
        let mut selected = vec![false; bag.topics().len()];
        for topic in topics {
            if let Some(slot) = selected.get_mut(topic.index()) {
                *slot = true;
            }
        }
        Self(selected.into())
    }
}
