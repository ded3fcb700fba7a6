//! [`latched`]: looks up what a late joiner of the latched topics would receive at a position.
//!
//! The state of a latched topic is the last messages of each group. For transforms, and other messages about several
//! things, it is the last messages about each thing. The message indexes say where they are; the newest chunks are
//! searched first. A chunk that has to be opened for this is opened once per bag (see
//! [`Learned`](super::learned::Learned)). Payloads are copied, so chunks do not stay in memory. All bytes are counted
//! on the meter of the caller; when that is closed, the search stops.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;

use super::learned::{FoundMessage, GroupDepth, Learned, Place};
use super::refill::Reader;
use super::search_progress::{OnProgress, SearchProgress};
use super::transforms::subject;
use crate::bag::damage::Damage;
use crate::bag::decompress::budget::Meter;
use crate::bag::decompress::uncompressed::UncompressedRecords;
use crate::bag::index::contents::Contents;
use crate::bag::index::merge_topics::{Depth, PublisherGroupId};
use crate::bag::mcap::message_index;
use crate::bag::message::{Key, Message};
use crate::bag::open::options::MessageOrder;
use crate::bag::walk::entries::{Entry, channel, message, scan};
use crate::bag::walk::selection::Selection;
use crate::time::{Ros, Time};

/// The most messages that are looked up; older ones are left out.
const MOST_MESSAGES: usize = 100_000;
/// The most messages of a chunk that are read one by one.
const MOST_READ_ALONE: usize = 64;
/// The subject of messages that all replace each other.
const WHOLE: u128 = 0;

/// The messages at or before `at` that a late joiner of the selected latched topics would receive, in order. `learned`
/// has the results of earlier calls for these contents; this call adds to it. `on_progress` is called after each chunk.
pub(crate) fn latched(
    contents: &Contents,
    learned: &Learned,
    selection: &Selection,
    at: Time<Ros>,
    (meter, on_progress): (&Arc<Meter>, OnProgress<'_>),
) -> (Vec<Message>, Vec<Damage>) {
    let (mut search, wanted) = Search::new((contents, learned), selection, at, meter);
    if wanted.is_empty() {
        return (Vec::new(), Vec::new());
    }
    // A search that shows an index to be wrong is repeated without that index: at most once for each input.
    while search.register_groups() {
        search.keys.clear();
        let groups = wanted.iter().map(|(group, _)| *group);
        let groups = groups.filter(|group| !search.is_whole(*group));
        let progress = SearchProgress::new(learned, groups, search.cut, on_progress);
        progress.update();
        for group_depth in &wanted {
            search.find(*group_depth, &progress);
        }
    }
    search.reader.read(&search.keys)
}

/// Searches those chunks of up to `most` bytes that [`latched`] could only open, in forward order, until `meter` is
/// closed. `meter` counts the chunk that is open; `shared_meter` has the size of the largest of these chunks all the
/// time.
pub(crate) fn learn(
    contents: &Contents,
    learned: &Learned,
    selection: &Selection,
    most: u64,
    (shared_meter, meter): (&Arc<Meter>, &Arc<Meter>),
) {
    let (mut search, mut wanted) = Search::new((contents, learned), selection, Time::MAX, meter);
    wanted.retain(|(group, _)| !search.is_whole(*group));
    if wanted.is_empty() {
        return;
    }
    search.register_groups();
    let cost = |position: u32| {
        let (id, _) = search.chunk_at(position)?;
        Some(contents.chunk(id).cost()).filter(|cost| *cost <= most)
    };
    let mut todo: Vec<(u32, GroupDepth)> = Vec::new();
    for group_depth in &wanted {
        let unread = learned.all_unread(group_depth.0).into_iter();
        todo.extend(
            unread
                .filter(|it| cost(*it).is_some())
                .map(|it| (it, *group_depth)),
        );
    }
    todo.sort_unstable();
    let largest = todo
        .iter()
        .filter_map(|(position, _)| cost(*position))
        .max();
    let _permit = shared_meter.permit(largest.unwrap_or(0));
    for (position, group_depth) in todo {
        if search.reader.is_closed() || learned.is_full() {
            break;
        }
        // A chunk is known already if it was opened for another group or by a jump.
        if let Some((id, _)) = search.chunk_at(position)
            && learned.unread(group_depth.0, position + 1) == Some(position)
        {
            search.search_chunk((position, id), group_depth);
            search.keys.clear();
        }
    }
}

struct Search<'a> {
    contents: &'a Contents,
    learned: &'a Learned,
    /// All groups of latched topics.
    all: Vec<GroupDepth>,
    at: Time<Ros>,
    /// How many chunks, in forward order, begin at or before `at`.
    cut: u32,
    /// The inputs whose indexes were known to be wrong when the groups were registered; `None` before that.
    wrong_indexes: Option<BTreeSet<u32>>,
    reader: Reader<'a>,
    /// The messages found, by group and subject, each with the index of its chunk.
    keys: BTreeMap<(PublisherGroupId, u128), BTreeSet<Place>>,
}

impl<'a> Search<'a> {
    /// A search for messages at or before `at`, and the groups of the selected topics.
    fn new(
        (contents, learned): (&'a Contents, &'a Learned),
        selection: &Selection,
        at: Time<Ros>,
        meter: &'a Arc<Meter>,
    ) -> (Self, Vec<GroupDepth>) {
        let mut wanted = Vec::new();
        let mut all = Vec::new();
        for (group, facts) in (0..).map(PublisherGroupId::new).zip(&contents.groups) {
            let topic = contents.topics.get(facts.topic.index());
            if topic.is_some_and(|it| it.is_latched) {
                let keep = match facts.depth {
                    Depth::Last(depth) => depth.min(MOST_MESSAGES),
                    Depth::All => 1,
                };
                all.push((group, keep));
                if selection.contains(facts.topic) {
                    wanted.push((group, keep));
                }
            }
        }
        let chunks = &contents.forward.chunks;
        let cut = chunks.partition_point(|id| contents.chunk(*id).place.earliest() <= at);
        let search = Self {
            contents,
            learned,
            all,
            at,
            cut: u32::try_from(cut).expect("chunks are counted in 32 bits"),
            wrong_indexes: None,
            reader: Reader::new(contents, learned, at, meter),
            keys: BTreeMap::new(),
        };
        (search, wanted)
    }

    /// Registers groups that are not registered yet, with the chunks that may have messages of them: all chunks of an
    /// input whose index is wrong. Returns whether this is the first call or another index has been found wrong
    /// since the last one, which means that chunks were left out.
    fn register_groups(&mut self) -> bool {
        let (contents, learned) = (self.contents, self.learned);
        let inputs = (0..).zip(&contents.inputs);
        let wrong_indexes: BTreeSet<u32> = inputs
            .filter(|(_, input)| input.has_wrong_index())
            .map(|(id, _)| id)
            .collect();
        if self.wrong_indexes.as_ref() == Some(&wrong_indexes) {
            return false;
        }
        let groups = self.all.iter().map(|(group, _)| *group);
        learned.register(contents, groups, &wrong_indexes);
        self.wrong_indexes = Some(wrong_indexes);
        true
    }

    /// Searches the chunks that may have a newer message than those known, beginning with the chunk that begins last.
    fn find(&mut self, group_depth: GroupDepth, progress: &SearchProgress<'_>) {
        let (group, keep) = group_depth;
        let learned = self.learned;
        let mut count = 0;
        for (subject, places) in learned.last(group_depth, self.at) {
            count += places.len();
            let found = self.keys.entry((group, subject)).or_default();
            found.extend(places);
        }
        let mut below = self.cut;
        while let Some(position) = learned.unread(group, below) {
            below = position;
            let Some((id, reach)) = self.chunk_at(position) else {
                break;
            };
            let found = self
                .keys
                .get(&(group, WHOLE))
                .filter(|_| self.is_whole(group));
            let found = found.filter(|found| found.len() >= keep);
            let oldest = found.and_then(|found| found.first()).map(|(key, _)| *key);
            let is_enough = oldest.is_some_and(|oldest| oldest > reach);
            if self.reader.is_closed() || count >= MOST_MESSAGES || is_enough {
                // All earlier chunks end before that message.
                break;
            }
            if oldest.is_none_or(|oldest| oldest <= self.contents.chunk(id).high()) {
                count += self.search_chunk((position, id), group_depth);
                progress.update();
            }
        }
        // Another search may have searched chunks since the first look at what is known.
        for (subject, places) in learned.last(group_depth, self.at) {
            let found = self.keys.entry((group, subject)).or_default();
            found.extend(places);
            while found.len() > keep {
                found.pop_first();
            }
        }
        let mut below = self.cut;
        while let Some(position) = learned.coarse(group, below) {
            below = position;
            let Some((id, _)) = self
                .chunk_at(position)
                .filter(|(_, reach)| reach.time > self.at)
            else {
                break;
            };
            if self.contents.chunk(id).place.latest() > self.at {
                self.search_chunk((position, id), group_depth);
            }
        }
    }

    /// The chunk at a place in the forward order, and the farthest key that it or any chunk before it reaches.
    fn chunk_at(&self, position: u32) -> Option<(u32, Key)> {
        let order = &self.contents.forward;
        let (id, reach) = (
            order.chunks.get(position as usize)?,
            order.farthest_keys.get(position as usize)?,
        );
        Some((*id, *reach))
    }

    /// Whether all messages of the group have the same subject, so that only the last ones count.
    fn is_whole(&self, group: PublisherGroupId) -> bool {
        let group = self.contents.groups.get(group.index());
        group.is_some_and(|group| group.depth != Depth::All)
    }

    /// Takes the messages of a group from a chunk and remembers what was found. Returns the number of messages added.
    fn search_chunk(&mut self, (position, id): (u32, u32), group_depth: GroupDepth) -> usize {
        let (group, keep) = group_depth;
        let learned = self.learned;
        let mut messages = Vec::new();
        if let Some((found, is_all)) = self.indexed(id, group) {
            messages = found;
            if is_all {
                learned.mark_searched((position, id), &[group_depth], &messages);
            }
        } else if let Some(bytes) = self.reader.open(id) {
            let is_all = self.scan(id, &bytes, &mut messages);
            if is_all {
                learned.mark_searched((position, id), &self.all, &messages);
            }
        } else {
            if learned.is_broken(id) {
                learned.mark_searched((position, id), &self.all, &[]);
            }
            return 0;
        }
        let at = self.at;
        let mut count = 0;
        for found_message in messages {
            if found_message.group == group && found_message.key.time <= at {
                let found = self.keys.entry((group, found_message.subject)).or_default();
                count += usize::from(found.insert((found_message.key, id)));
                if found.len() > keep {
                    found.pop_first();
                }
            }
        }
        count
    }

    /// The messages of a group in a chunk from its message indexes, if these are sufficient, and whether they are
    /// complete. If the subject of the messages matters, the messages are read; this is possible only in an
    /// uncompressed chunk.
    fn indexed(&self, id: u32, group: PublisherGroupId) -> Option<(Vec<FoundMessage>, bool)> {
        let chunk = self.contents.chunk(id);
        if self.is_whole(group) {
            let mut entries = self.listed(id, group)?;
            let is_all = self.bound(&mut entries);
            let found_message = |entry: Entry| FoundMessage {
                group,
                subject: WHOLE,
                key: entry.key(chunk),
            };
            return Some((entries.into_iter().map(found_message).collect(), is_all));
        }
        let source = &self.contents.input(chunk.input).source;
        let plain = UncompressedRecords::of(source, &chunk.place)?;
        let entries = self.listed(id, group)?;
        if entries.len() > MOST_READ_ALONE {
            return None;
        }
        let found_message = |entry: Entry| {
            let bytes = Bytes::from(plain.record(entry.record)?);
            let there = Entry { at: 0, ..entry };
            let channel = channel(&bytes, there)?;
            let message = message(self.contents, chunk, &bytes, there)?;
            let is_it = self.contents.group_of(chunk.input, channel) == Some(group);
            is_it.then(|| FoundMessage {
                group,
                subject: self.subject(&message),
                key: message.key,
            })
        };
        let messages: Option<Vec<FoundMessage>> = entries.into_iter().map(found_message).collect();
        Some((messages?, true))
    }

    /// The messages of a group in a chunk, as its message indexes list them. `None` if they do not list them, if they
    /// are wrong, or if messages are not ordered by log time.
    fn listed(&self, id: u32, group: PublisherGroupId) -> Option<Vec<Entry>> {
        let chunk = self.contents.chunk(id);
        let input = self.contents.input(chunk.input);
        let is_ordered = self.contents.order == MessageOrder::Received;
        if !is_ordered || input.has_wrong_index() || chunk.place.message_indexes.is_empty() {
            return None;
        }
        let mut found = Vec::new();
        for channel in chunk.channels()? {
            if self.contents.group_of(chunk.input, channel) == Some(group) {
                let entries = message_index::read(&input.source, &chunk.place, channel)?;
                found.extend(entries.into_iter().map(|(time, record)| {
                    let at = record;
                    Entry { time, record, at }
                }));
            }
        }
        Some(found)
    }

    /// Collects all messages of latched topics in a chunk. Returns whether they are complete.
    fn scan(&self, id: u32, bytes: &Bytes, messages: &mut Vec<FoundMessage>) -> bool {
        let chunk = self.contents.chunk(id);
        let mut only = vec![false; self.contents.topics.len()];
        for (group, _) in &self.all {
            let facts = self.contents.groups.get(group.index());
            let topic = facts.map(|facts| facts.topic);
            if let Some(slot) = topic.and_then(|topic| only.get_mut(topic.index())) {
                *slot = true;
            }
        }
        let mut found = scan(self.contents, chunk, &Selection(only.into()), bytes).entries;
        let is_all = self.bound(&mut found);
        for entry in found {
            let group = channel(bytes, entry);
            let group = group.and_then(|channel| self.contents.group_of(chunk.input, channel));
            let message = message(self.contents, chunk, bytes, entry);
            if let (Some(group), Some(message)) = (group, message) {
                let subject = if self.is_whole(group) {
                    WHOLE
                } else {
                    self.subject(&message)
                };
                let key = message.key;
                messages.push(FoundMessage {
                    group,
                    subject,
                    key,
                });
            }
        }
        is_all
    }

    fn subject(&self, message: &Message) -> u128 {
        let topic = self.contents.topics.get(message.topic.index());
        subject(topic, &message.payload)
    }

    /// If there are too many entries, keeps only the newest at or before `at`. Returns whether all were kept.
    fn bound(&self, entries: &mut Vec<Entry>) -> bool {
        let is_bounded = entries.len() <= MOST_MESSAGES;
        if !is_bounded {
            entries.retain(|entry| entry.time <= self.at);
            entries.sort_unstable();
            entries.drain(..entries.len().saturating_sub(MOST_MESSAGES));
        }
        is_bounded
    }
}
