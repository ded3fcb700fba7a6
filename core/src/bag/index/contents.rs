//! [`Contents`]: everything that is known about the files of a bag when they are open.
//!
//! The chunks of all files are in one table with two orders: by first key and by last key. A cursor finds its first
//! chunks by binary search in the order of its direction, so seeking is equally fast in any file.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use mcap::records::Channel;

use super::known_damage::KnownDamage;
use super::merge_topics::{ChannelTable, PublisherGroup, PublisherGroupId, Topics};
use super::topic::Topic;
use crate::bag::damage::{Damage, Fault};
use crate::bag::index::file::build;
use crate::bag::index::file::file_index::{FileIndex, IndexOrigin, OtherRecords};
use crate::bag::mcap::chunk_ref::{ChunkRef, Storage};
use crate::bag::mcap::parse::SchemaRecord;
use crate::bag::message::{Key, PublisherId, TopicId};
use crate::bag::open::error::BagError;
use crate::bag::open::file_pool::{Pool, most_open};
use crate::bag::open::options::{MessageOrder, Opening};
use crate::bag::open::paths::{DirectoryCount, Inputs, SourceOrigin};
use crate::bag::open::rosbag2::Note;
use crate::bag::open::source::Source;
use crate::time::{Ros, Time, TimeRange};
use crate::untrusted::FileName;

/// The contents of one file of a bag.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileSummary {
    /// The name by which it is shown.
    pub name: FileName,
    /// See [`ReadAt::identity`](crate::bag::ReadAt::identity).
    pub identity: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// The profile it was written with: `ros2`, `ros1` or empty.
    pub profile: String,
    /// The library that wrote it.
    pub library: String,
    /// The first and last time in the order of the bag, both included; `None` if the file has no messages.
    pub range: Option<TimeRange>,
    /// The number of messages that the file declares.
    pub message_count: Option<u64>,
    /// The number of chunks.
    pub chunks: usize,
    /// The size of all chunks in the file, in bytes.
    pub compressed_bytes: u64,
    /// The declared size of all chunks after decompression, in bytes.
    pub uncompressed_bytes: u64,
    /// The compressions in use, sorted; `none` for uncompressed chunks.
    pub compressions: Vec<String>,
    /// Where the index comes from.
    pub origin: IndexOrigin,
}

/// An open file.
#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) source: Source,
    pub(crate) channels: ChannelTable,
    /// The schemas and channels of the file, by id.
    pub(crate) schemas: BTreeMap<u16, SchemaRecord>,
    pub(crate) definitions: BTreeMap<u16, Channel>,
    /// Its attachments and metadata records.
    pub(crate) others: OtherRecords,
    /// Where the data end, and the checksum over all of them; the checksum is 0 if there is none.
    pub(crate) data_end: Option<(u64, u32)>,
    /// Whether a chunk was found to hold messages that its index does not list.
    has_wrong_index: AtomicBool,
}

impl Input {
    /// Marks the index as incomplete: from now on no chunk is skipped because of what its index lists.
    pub(crate) fn mark_index_wrong(&self) {
        self.has_wrong_index.store(true, Ordering::Relaxed);
    }

    /// Whether its chunks may hold messages that its index does not list.
    pub(crate) fn has_wrong_index(&self) -> bool {
        self.has_wrong_index.load(Ordering::Relaxed)
    }
}

/// A chunk of one of the files.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub(crate) input: u32,
    pub(crate) place: ChunkRef,
    /// The channels that have messages in it, for a chunk without message indexes. Set when the chunk has been read.
    holds: OnceLock<Box<[u16]>>,
}

impl Chunk {
    /// The smallest key that a message in it can have.
    #[inline]
    pub(crate) fn low(&self) -> Key {
        Key {
            time: self.place.earliest(),
            input: self.input,
            chunk: self.place.offset,
            record: 0,
        }
    }

    /// The largest key that a message in it can have.
    #[inline]
    pub(crate) fn high(&self) -> Key {
        Key {
            time: self.place.latest(),
            input: self.input,
            chunk: self.place.offset,
            record: u32::MAX,
        }
    }

    /// How many bytes opening it takes: the declared size, within limits.
    #[inline]
    pub(crate) fn cost(&self) -> u64 {
        self.place.cost()
    }

    /// The channels that have messages in it; `None` if the index does not list them and the chunk has not been read.
    pub(crate) fn channels(&self) -> Option<impl Iterator<Item = u16>> {
        let indexes = &self.place.message_indexes;
        let held = self.holds.get().filter(|_| indexes.is_empty());
        let held = held.into_iter().flatten().copied();
        let is_known = !indexes.is_empty() || self.holds.get().is_some();
        is_known.then(|| indexes.iter().map(|it| it.channel).chain(held))
    }

    /// Whether its channels are unknown until it is read.
    pub(crate) fn is_unknown(&self) -> bool {
        self.place.message_indexes.is_empty() && self.holds.get().is_none()
    }

    /// Remembers the channels of all its messages.
    pub(crate) fn learn(&self, channels: impl IntoIterator<Item = u16>) {
        self.holds.get_or_init(|| channels.into_iter().collect());
    }
}

/// The chunks in the order in which a cursor of one direction needs them.
#[derive(Debug, Default)]
pub(crate) struct Order {
    /// Indexes into the chunk table, sorted by the first key of each chunk in the direction of play.
    pub(crate) chunks: Vec<u32>,
    /// For each place: the farthest key that any chunk up to it reaches, in the direction of play.
    pub(crate) farthest_keys: Vec<Key>,
}

/// Everything that is known about the files of a bag.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    /// Which time orders the messages.
    pub(crate) order: MessageOrder,
    pub(crate) inputs: Vec<Input>,
    pub(crate) files: Vec<FileSummary>,
    pub(crate) topics: Vec<Topic>,
    pub(crate) groups: Vec<PublisherGroup>,
    pub(crate) chunks: Vec<Chunk>,
    pub(crate) forward: Order,
    pub(crate) reverse: Order,
    /// The damage that was found when the files were opened.
    pub(crate) damage: Vec<Damage>,
    /// This damage, and what was met in chunks, then and since.
    pub(crate) known: KnownDamage,
    pub(crate) notes: Vec<Note>,
    /// Whether a user has been told that no temporary file can be used.
    pub(crate) is_spill_error_reported: AtomicBool,
}

impl Contents {
    /// Opens the files. The first file that cannot be played is the error.
    pub(crate) fn open(
        paths: &[impl AsRef<Path>],
        opening: &Opening<'_>,
    ) -> Result<Self, BagError> {
        let inputs = Inputs::open(paths, opening, &Pool::new(most_open()))?;
        Self::of(inputs, opening)
    }

    /// Collects what is known about open files.
    pub(crate) fn of(mut inputs: Inputs, opening: &Opening<'_>) -> Result<Self, BagError> {
        let mut contents = Self {
            order: opening.order,
            ..Self::default()
        };
        let (mut indexes, mut met) = (Vec::new(), Vec::new());
        for (source, origin) in std::mem::take(&mut inputs.sources) {
            let mut index = match build::read(&source, opening) {
                Ok(index) => index,
                Err(error) if origin == SourceOrigin::Directory => {
                    inputs.refuse(&source.name, error);
                    continue;
                }
                Err(error) => return Err(error),
            };
            contents.damage.append(&mut index.damage);
            for (offset, Fault { kind, detail }) in std::mem::take(&mut index.unread) {
                met.push(Damage {
                    file: source.name.clone(),
                    offset,
                    kind,
                    detail,
                });
            }
            contents.files.push(summarise(&source, &index));
            contents.inputs.push(Input {
                source,
                channels: ChannelTable::default(),
                schemas: BTreeMap::new(),
                definitions: BTreeMap::new(),
                others: OtherRecords::default(),
                data_end: index.data_end,
                has_wrong_index: AtomicBool::new(false),
            });
            indexes.push(index);
        }
        if indexes.is_empty()
            && let Some(error) = inputs.refused.into_iter().next()
        {
            return Err(error);
        }
        let counted = inputs.counted.iter();
        let wrong = counted.filter_map(|counted| other_count(counted, &contents.files));
        inputs.notes.extend(wrong);
        inputs.damage.append(&mut contents.damage);
        (contents.damage, contents.notes) = (inputs.damage, inputs.notes);
        for damage in contents.damage.iter().chain(&met) {
            contents.known.add(damage);
        }
        let topics = Topics::of(&indexes, &inputs.topics);
        contents.topics = topics.merged;
        contents.groups = topics.groups;
        for (input, channels) in contents.inputs.iter_mut().zip(topics.channels) {
            input.channels = channels;
        }
        for (input, index) in (0..).zip(indexes) {
            if let Some(open) = contents.inputs.get_mut(input as usize) {
                open.schemas = index.schemas;
                open.definitions = index.channels;
                open.others = index.others;
            }
            let used = index.chunks.into_iter().filter(|it| !it.is_empty());
            let used = used.map(|place| Chunk {
                input,
                place,
                holds: OnceLock::new(),
            });
            contents.chunks.reserve(used.size_hint().1.unwrap_or(0));
            contents.chunks.extend(used);
        }
        contents.sort();
        Ok(contents)
    }

    fn sort(&mut self) {
        let chunks = &self.chunks;
        let count = u32::try_from(chunks.len()).expect("an index entry takes 60 bytes of summary");
        let at = |id: &u32| chunks.get(*id as usize).expect("ids below the length");
        let mut forward: Vec<u32> = (0..count).collect();
        forward.sort_unstable_by_key(|id| at(id).low());
        let mut reverse: Vec<u32> = (0..count).collect();
        reverse.sort_unstable_by_key(|id| std::cmp::Reverse(at(id).high()));
        let running = |order: &[u32], edge: fn(&Chunk) -> Key, pick: fn(Key, Key) -> Key| {
            let mut farthest: Vec<Key> = order.iter().map(|id| edge(at(id))).collect();
            for i in 1..farthest.len() {
                farthest[i] = pick(farthest[i], farthest[i - 1]);
            }
            farthest
        };
        self.forward.farthest_keys = running(&forward, Chunk::high, Key::max);
        self.reverse.farthest_keys = running(&reverse, Chunk::low, Key::min);
        self.forward.chunks = forward;
        self.reverse.chunks = reverse;
    }

    #[inline]
    pub(crate) fn chunk(&self, id: u32) -> &Chunk {
        let chunk = self.chunks.get(id as usize);
        chunk.expect("ids come from this table")
    }

    #[inline]
    pub(crate) fn input(&self, id: u32) -> &Input {
        let input = self.inputs.get(id as usize);
        input.expect("chunks name inputs of this table")
    }

    #[inline]
    pub(crate) fn topic_of(&self, input: u32, channel: u16) -> Option<TopicId> {
        self.input(input).channels.topic(channel)
    }

    /// The topic and the publisher of the messages of a channel.
    #[inline]
    pub(crate) fn publisher_of(&self, input: u32, channel: u16) -> Option<(TopicId, PublisherId)> {
        let (topic, group) = self.input(input).channels.group(channel)?;
        let index = u32::try_from(group.index()).ok()?;
        Some((topic, PublisherId(index)))
    }

    /// Whether the chunk may hold a message of these topics: if its index lists one or does not list channels, or if
    /// the index is known to be incomplete. A channel without a definition may be of any topic.
    pub(crate) fn may_hold(&self, chunk: &Chunk, is_one: impl Fn(TopicId) -> bool) -> bool {
        if self.input(chunk.input).has_wrong_index() {
            return true;
        }
        let is_one = |channel| self.topic_of(chunk.input, channel).is_none_or(&is_one);
        chunk.channels().is_none_or(|mut ids| ids.any(is_one))
    }

    #[inline]
    pub(crate) fn group_of(&self, input: u32, channel: u16) -> Option<PublisherGroupId> {
        let group = self.input(input).channels.group(channel);
        group.map(|(_, group)| group)
    }

    /// Damage for a fault in this chunk. It is added to the known damage of the bag.
    pub(crate) fn damage(&self, chunk: &Chunk, fault: Fault) -> Damage {
        let damage = Damage {
            file: self.input(chunk.input).source.name.clone(),
            offset: chunk.place.offset,
            kind: fault.kind,
            detail: fault.detail,
        };
        self.known.add(&damage);
        damage
    }
}

fn summarise(source: &Source, index: &FileIndex) -> FileSummary {
    let header = index.header.as_ref();
    let messages = index.statistics.as_ref().map(|counts| counts.message_count);
    let is_chunk = |chunk: &&ChunkRef| chunk.storage == Storage::Chunk;
    FileSummary {
        name: source.name.clone(),
        identity: source.identity(),
        bytes: source.len,
        profile: header.map_or_else(String::new, |it| it.profile.clone()),
        library: header.map_or_else(String::new, |it| it.library.clone()),
        range: range(index),
        message_count: messages.or_else(|| index.chunks.is_empty().then_some(0)),
        chunks: index.chunks.iter().filter(is_chunk).count(),
        compressed_bytes: index.compressed,
        uncompressed_bytes: index.uncompressed(),
        compressions: index.compressions.iter().cloned().collect(),
        origin: index.origin,
    }
}

/// A note, if a `metadata.yaml` gives another number of messages than its files.
fn other_count(counted: &DirectoryCount, files: &[FileSummary]) -> Option<Note> {
    let mine = files
        .iter()
        .filter(|file| counted.files.contains(&file.name));
    let counts: Option<Vec<u64>> = mine.map(|file| file.message_count).collect();
    let there = counts?.into_iter().fold(0, u64::saturating_add);
    (there != counted.told).then(|| Note::Counts {
        dir: counted.dir.clone(),
        told: counted.told,
        there,
    })
}

/// The range of all chunks with messages, as far as their times are known.
fn range(index: &FileIndex) -> Option<TimeRange> {
    let used = index.chunks.iter().filter(|chunk| !chunk.is_empty());
    let times = used.filter_map(|chunk| chunk.times);
    times.reduce(TimeRange::union)
}

/// The key before all keys of that time.
pub(crate) fn first_at(time: Time<Ros>) -> Key {
    Key {
        time,
        input: 0,
        chunk: 0,
        record: 0,
    }
}

/// The key after all keys of that time.
pub(crate) fn last_at(time: Time<Ros>) -> Key {
    Key {
        time,
        input: u32::MAX,
        chunk: u64::MAX,
        record: u32::MAX,
    }
}
