//! [`Bag`]: one or more open recordings: their contents, and the ways to read their messages.

use std::cell::RefCell;
use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

use super::damage::Damage;
use super::message::{Message, TopicId};
use crate::bag::decompress::budget::Meter;
use crate::bag::density::hole::Hole;
use crate::bag::density::indexed_holes;
use crate::bag::density::outline::{Outline, TopicOutline};
use crate::bag::density::passes;
use crate::bag::density::timing::Timing;
use crate::bag::index::contents::{Contents, FileSummary};
use crate::bag::index::damaged_part::DamagedPart;
use crate::bag::index::full_check::FullCheck;
use crate::bag::index::known_damage::KnownDamage;
use crate::bag::index::topic::Topic;
use crate::bag::index::{damaged_part, full_check, message_compression};
use crate::bag::latched::learned::Learned;
use crate::bag::latched::look_up;
use crate::bag::open::error::BagError;
use crate::bag::open::options::{MessageOrder, Opening};
use crate::bag::open::paths::{Inputs, SourceOrigin};
use crate::bag::open::read_at::ReadAt;
use crate::bag::open::rosbag2::Note;
use crate::bag::open::source::Source;
use crate::bag::read_ahead::progress::LookUp;
use crate::bag::walk::cursor::Cursor;
use crate::bag::walk::selection::{Bounds, Direction, Selection, StartAt};
use crate::bag::walk::stored::Stored;
use crate::time::{Ros, Time, TimeRange};
use crate::untrusted::FileName;

/// One or more recordings, merged in time order. Cheap to clone; all clones share the open files.
#[derive(Clone)]
pub struct Bag {
    contents: Arc<Contents>,
    /// What look-ups of latched messages have found; valid for these contents only.
    learned: Arc<Learned>,
}

impl Bag {
    /// Opens MCAP files, MCAP files compressed as a whole, and rosbag2 directories. A file is opened by its summary,
    /// which takes milliseconds whatever its size, or read through if it has no usable summary. Messages with equal
    /// times keep the order of the inputs.
    pub fn open<P: AsRef<Path>>(paths: &[P]) -> Result<Self, BagError> {
        Self::open_with(paths, &Opening::default())
    }

    /// The same with another order, or with a callback for progress.
    pub fn open_with<P: AsRef<Path>>(paths: &[P], opening: &Opening<'_>) -> Result<Self, BagError> {
        Ok(Self::of(Contents::open(paths, opening)?))
    }

    /// Opens an MCAP file in memory; messages call it `name`.
    pub fn from_bytes(name: impl Into<FileName>, bytes: Bytes) -> Result<Self, BagError> {
        Self::from_bytes_with(name, bytes, &Opening::default())
    }

    /// The same with another order, or with a callback for progress.
    pub fn from_bytes_with(
        name: impl Into<FileName>,
        bytes: Bytes,
        opening: &Opening<'_>,
    ) -> Result<Self, BagError> {
        Self::open_sources([(name.into(), Arc::new(bytes) as Arc<dyn ReadAt>)], opening)
    }

    /// Opens MCAP files, wherever their bytes are; messages call each by its name. Files that are compressed as a whole
    /// are not unpacked. Of a remote file ([`Cost::Remote`](super::open::read_at::Cost)) the first 64 KiB and the last
    /// 256 KiB are read at once and kept. If it has a complete summary section and nothing but the header and
    /// definitions before the first chunk, it is opened with at most four requests; checks that would take a request
    /// for each chunk are left out. A file whose summary section cannot be used is read through.
    pub fn open_sources(
        sources: impl IntoIterator<Item = (FileName, Arc<dyn ReadAt>)>,
        opening: &Opening<'_>,
    ) -> Result<Self, BagError> {
        let mut inputs = Inputs::default();
        for (name, bytes) in sources {
            let source = Source::of(name, bytes)?;
            inputs.sources.push((source, SourceOrigin::Named));
        }
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

    /// The first and last time in the order of the bag, both included; `None` if there are no messages.
    pub fn range(&self) -> Option<TimeRange> {
        let ranges = self.files().iter().filter_map(|file| file.range);
        ranges.reduce(TimeRange::union)
    }

    /// Which time orders the messages.
    pub fn order(&self) -> MessageOrder {
        self.contents.order
    }

    /// The files, in the order they were given.
    pub fn files(&self) -> &[FileSummary] {
        &self.contents.files
    }

    /// The number of messages that the files declare; `None` if a file does not declare it.
    pub fn message_count(&self) -> Option<u64> {
        let mut counts = self.files().iter().map(|file| file.message_count);
        counts.try_fold(0_u64, |sum, count| Some(sum.saturating_add(count?)))
    }

    /// A file whose messages are each compressed with zstd (rosbag2's compression mode MESSAGE); such files cannot be
    /// played. Only the first four files are checked, by their first chunks. `None` if none of them is such a file.
    pub fn compressed_by_message(&self) -> Option<&FileName> {
        message_compression::by_message(&self.contents)
    }

    /// The damage found when the files were opened.
    pub fn damage(&self) -> &[Damage] {
        &self.contents.damage
    }

    /// The number of damaged places that are known: found when the files were opened, or met in chunks since, by any
    /// reader of the bag or of a clone of it. Each place counts once for each kind of damage there, at most a million
    /// count.
    pub fn damage_count(&self) -> u64 {
        self.contents.known.count()
    }

    /// The damaged places that are known, now and later.
    pub fn known_damage(&self) -> KnownDamage {
        self.contents.known.clone()
    }

    /// The parts of the recording that are lost because of the damage that [`Bag::damage_count`] counts, in the order
    /// of their starts. One for each damaged chunk; none where nothing tells at what times messages are lost.
    pub fn damaged_parts(&self) -> Vec<DamagedPart> {
        damaged_part::parts(&self.contents)
    }

    /// The part of the recording that is lost because of damage that a cursor or [`Bag::damage`] reported. `None` if no
    /// messages are lost, or if nothing tells at what times.
    pub fn damaged_part(&self, damage: &Damage) -> Option<DamagedPart> {
        damaged_part::part(&self.contents, damage)
    }

    /// What a user should know about how directories were read.
    pub fn notes(&self) -> &[Note] {
        &self.contents.notes
    }

    /// The density of messages in this many equal parts of the recording, computed from its indexes.
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

    /// The density of messages in this many equal parts of a range. `tell` is called several times: each time with an
    /// estimate of the whole, and at the end with all that is known. Messages outside the range do not count, and
    /// chunks outside are not looked at. If `tell` breaks, this ends early.
    pub fn outline_within(
        &self,
        range: TimeRange,
        parts: usize,
        tell: &mut dyn FnMut(&Outline) -> ControlFlow<()>,
    ) {
        passes::outline(&self.contents, (range, parts.max(1)), tell);
    }

    /// The times in which topics with a steady rate have no messages, in the order of their starts. Reads all message
    /// indexes, which can take seconds. `None` if they do not list all messages, as far as that is known, if messages
    /// are ordered by publish time, or if there are more than two million; a [`HoleFinder`](super::HoleFinder) finds
    /// holes while everything is read.
    pub fn holes(&self) -> Option<Vec<Hole>> {
        self.holes_while(&mut || true)
    }

    /// The same; also `None` as soon as `is_wanted`, which is called at each chunk, returns `false`.
    pub fn holes_while(&self, is_wanted: &mut dyn FnMut() -> bool) -> Option<Vec<Hole>> {
        self.timing_while(is_wanted)?.holes
    }

    /// Holes, and the usual times between messages. `None` under the same conditions, but for holes alone if there are
    /// too many long times between messages.
    pub fn timing_while(&self, is_wanted: &mut dyn FnMut() -> bool) -> Option<Timing> {
        indexed_holes::find(&self.contents, is_wanted)
    }

    /// Compares the data section of each file with its checksum, if it has one; this reads the whole file. Checksums of
    /// chunks are compared whenever a chunk is opened.
    pub fn check_data_sections(&self) -> Vec<Damage> {
        full_check::data_sections(&self.contents).damage
    }

    /// Opens every chunk and compares it with its indexes: finds all damage, including damage that a cursor would not
    /// meet.
    pub fn check_chunks(&self) -> Vec<Damage> {
        full_check::chunks(&self.contents, &[]).damage
    }

    /// Both of these checks, and what no checksum covers.
    pub fn check(&self) -> FullCheck {
        let sections = full_check::data_sections(&self.contents);
        let chunks = full_check::chunks(&self.contents, &sections.verified);
        let damage = sections.damage.into_iter().chain(chunks.damage);
        FullCheck {
            damage: damage.collect(),
            ..chunks
        }
    }

    /// Reads the selected topics in order. To seek, make a new cursor. In forward direction the cursor covers `from`
    /// and later times, in reverse `from` and earlier times.
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

    /// The bag as it is stored in its files, for copying.
    pub(crate) fn stored(&self) -> Stored {
        Stored::new(Arc::clone(&self.contents))
    }

    /// What a late joiner of the selected latched topics would receive at `at`: of each topic the last messages at or
    /// before `at`, as many as its publishers kept; of static transforms all. In order.
    pub fn latched(&self, topics: &Selection, at: Time<Ros>) -> (Vec<Message>, Vec<Damage>) {
        self.latched_metered(topics, at, (&Meter::unbounded(), &|_, _| ()))
    }

    /// The same, until `goes_on`, which is told how far the search has come, returns `false`: then `None`.
    pub fn latched_while(
        &self,
        topics: &Selection,
        at: Time<Ros>,
        goes_on: &mut dyn FnMut(LookUp) -> bool,
    ) -> Option<(Vec<Message>, Vec<Damage>)> {
        let meter = Meter::unbounded();
        let goes_on = RefCell::new(goes_on);
        let on_progress = |done, of| {
            if !(goes_on.borrow_mut())(LookUp { done, of }) {
                meter.close();
            }
        };
        let found = self.latched_metered(topics, at, (&meter, &on_progress));
        (!meter.is_closed()).then_some(found)
    }

    /// The same on another meter. Returns the newest messages that fit into half of its budget, at least one. If the
    /// meter is closed, it stops and returns what it has. After each chunk that it has searched, the function is called
    /// with the number of chunks done and the number of all.
    pub(crate) fn latched_metered(
        &self,
        topics: &Selection,
        at: Time<Ros>,
        meter_and_progress: (&Arc<Meter>, &dyn Fn(usize, usize)),
    ) -> (Vec<Message>, Vec<Damage>) {
        look_up::latched(
            &self.contents,
            &self.learned,
            topics,
            at,
            meter_and_progress,
        )
    }

    /// Searches those chunks of up to `most` bytes that [`Self::latched`] could only open, until the second meter is
    /// closed. The size of the largest of them is counted on the first meter meanwhile.
    pub(crate) fn learn_latched(
        &self,
        topics: &Selection,
        most: u64,
        meters: (&Arc<Meter>, &Arc<Meter>),
    ) {
        look_up::learn(&self.contents, &self.learned, topics, most, meters);
    }
}

impl fmt::Debug for Bag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.files().iter().map(|file| &file.name);
        f.debug_list().entries(names).finish()
    }
}

impl Selection {
    /// All topics of the bag.
    pub fn all(bag: &Bag) -> Self {
        Self(vec![true; bag.topics().len()].into())
    }

    /// These topics of the bag; ids that the bag does not have are ignored.
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
