//! [`latched`]: looks up what a late joiner of the latched topics would receive at a position.
//!
//! The state of a latched topic is the last messages of each lane. For transforms, and other messages about several
//! things, it is the last messages about each thing. The message indexes say where they are; the newest chunks are
//! searched first. A chunk that has to be opened for this is opened once per bag (see
//! [`Learned`](super::learned::Learned)). Payloads are copied, so chunks do not stay in memory. All bytes are counted
//! on the meter of the caller; when that is closed, the search stops.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;

use super::learned::{Asked, Learned, Place, Sighting};
use super::refill::Reader;
use super::search_progress::{SearchProgress, Tell};
use super::transforms::subject;
use crate::bag::damage::Damage;
use crate::bag::decompress::budget::Meter;
use crate::bag::decompress::uncompressed::UncompressedRecords;
use crate::bag::index::contents::Contents;
use crate::bag::index::merge_topics::{Depth, LaneId};
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
/// has the results of earlier calls for these contents; this call adds to it. `tell` is called after each chunk.
pub(crate) fn latched(
    contents: &Contents,
    learned: &Learned,
    selection: &Selection,
    at: Time<Ros>,
    (meter, tell): (&Arc<Meter>, Tell<'_>),
) -> (Vec<Message>, Vec<Damage>) {
    let (mut search, wanted) = Search::new((contents, learned), selection, at, meter);
    if wanted.is_empty() {
        return (Vec::new(), Vec::new());
    }
    // A search that shows an index to be wrong is repeated without trust in that index: at most once an input.
    while search.meet() {
        search.keys.clear();
        let lanes = wanted.iter().map(|(lane, _)| *lane);
        let lanes = lanes.filter(|lane| !search.is_whole(*lane));
        let progress = SearchProgress::new(learned, lanes, search.cut, tell);
        progress.update();
        for asked in &wanted {
            search.find(*asked, &progress);
        }
    }
    search.reader.read(&search.keys)
}

/// Looks into those chunks of up to `most` bytes that [`latched`] could only open, in forward order, until `meter` is
/// closed. `meter` counts the chunk that is open; `account` has the size of the largest of these chunks all the time.
pub(crate) fn learn(
    contents: &Contents,
    learned: &Learned,
    selection: &Selection,
    most: u64,
    (account, meter): (&Arc<Meter>, &Arc<Meter>),
) {
    let (mut search, mut wanted) = Search::new((contents, learned), selection, Time::MAX, meter);
    wanted.retain(|(lane, _)| !search.is_whole(*lane));
    if wanted.is_empty() {
        return;
    }
    search.meet();
    let cost = |position: u32| {
        let (id, _) = search.chunk_at(position)?;
        Some(contents.chunk(id).cost()).filter(|cost| *cost <= most)
    };
    let mut todo: Vec<(u32, Asked)> = Vec::new();
    for asked in &wanted {
        let unread = learned.all_unread(asked.0).into_iter();
        todo.extend(
            unread
                .filter(|it| cost(*it).is_some())
                .map(|it| (it, *asked)),
        );
    }
    todo.sort_unstable();
    let largest = todo
        .iter()
        .filter_map(|(position, _)| cost(*position))
        .max();
    let _permit = account.permit(largest.unwrap_or(0));
    for (position, asked) in todo {
        if search.reader.is_closed() || learned.is_full() {
            break;
        }
        // A chunk is known already if it was opened for another lane or by a jump.
        if let Some((id, _)) = search.chunk_at(position)
            && learned.unread(asked.0, position + 1) == Some(position)
        {
            search.look_into((position, id), asked);
            search.keys.clear();
        }
    }
}

struct Search<'a> {
    contents: &'a Contents,
    learned: &'a Learned,
    /// All lanes of latched topics.
    all: Vec<Asked>,
    at: Time<Ros>,
    /// How many chunks, in forward order, begin at or before `at`.
    cut: u32,
    /// The inputs whose indexes were doubted when the lanes were registered; `None` before that.
    doubted: Option<BTreeSet<u32>>,
    reader: Reader<'a>,
    /// The messages found, by lane and subject, each with the index of its chunk.
    keys: BTreeMap<(LaneId, u128), BTreeSet<Place>>,
}

impl<'a> Search<'a> {
    /// A search for messages at or before `at`, and the lanes of the selected topics.
    fn new(
        (contents, learned): (&'a Contents, &'a Learned),
        selection: &Selection,
        at: Time<Ros>,
        meter: &'a Arc<Meter>,
    ) -> (Self, Vec<Asked>) {
        let mut wanted = Vec::new();
        let mut all = Vec::new();
        for (lane, facts) in (0..).map(LaneId::new).zip(&contents.lanes) {
            let topic = contents.topics.get(facts.topic.index());
            if topic.is_some_and(|it| it.is_latched) {
                let keep = match facts.depth {
                    Depth::Last(depth) => depth.min(MOST_MESSAGES),
                    Depth::All => 1,
                };
                all.push((lane, keep));
                if selection.contains(facts.topic) {
                    wanted.push((lane, keep));
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
            doubted: None,
            reader: Reader::new(contents, learned, at, meter),
            keys: BTreeMap::new(),
        };
        (search, wanted)
    }

    /// Registers lanes that have not been asked about before, with the chunks that may have messages of them: all chunks
    /// of an input whose index is doubted. Returns whether this is the first call or another index has been doubted
    /// since the last one, which means that chunks were left out.
    fn meet(&mut self) -> bool {
        let (contents, learned) = (self.contents, self.learned);
        let inputs = (0..).zip(&contents.inputs);
        let doubted: BTreeSet<u32> = inputs
            .filter(|(_, input)| input.is_doubted())
            .map(|(id, _)| id)
            .collect();
        if self.doubted.as_ref() == Some(&doubted) {
            return false;
        }
        let lanes = self.all.iter().map(|(lane, _)| *lane);
        learned.register(contents, lanes, &doubted);
        self.doubted = Some(doubted);
        true
    }

    /// Searches the chunks that may have a newer message than those known, beginning with the chunk that begins last.
    fn find(&mut self, asked: Asked, progress: &SearchProgress<'_>) {
        let (lane, keep) = asked;
        let learned = self.learned;
        let mut count = 0;
        for (about, places) in learned.last(asked, self.at) {
            count += places.len();
            self.keys.entry((lane, about)).or_default().extend(places);
        }
        let mut below = self.cut;
        while let Some(position) = learned.unread(lane, below) {
            below = position;
            let Some((id, reach)) = self.chunk_at(position) else {
                break;
            };
            let found = self
                .keys
                .get(&(lane, WHOLE))
                .filter(|_| self.is_whole(lane));
            let found = found.filter(|found| found.len() >= keep);
            let oldest = found.and_then(|found| found.first()).map(|(key, _)| *key);
            let is_enough = oldest.is_some_and(|oldest| oldest > reach);
            if self.reader.is_closed() || count >= MOST_MESSAGES || is_enough {
                // All earlier chunks end before that message.
                break;
            }
            if oldest.is_none_or(|oldest| oldest <= self.contents.chunk(id).high()) {
                count += self.look_into((position, id), asked);
                progress.update();
            }
        }
        // Another search may have searched chunks since the first look at what is known.
        for (about, places) in learned.last(asked, self.at) {
            let found = self.keys.entry((lane, about)).or_default();
            found.extend(places);
            while found.len() > keep {
                found.pop_first();
            }
        }
        let mut below = self.cut;
        while let Some(position) = learned.coarse(lane, below) {
            below = position;
            let Some((id, _)) = self
                .chunk_at(position)
                .filter(|(_, reach)| reach.time > self.at)
            else {
                break;
            };
            if self.contents.chunk(id).place.latest() > self.at {
                self.look_into((position, id), asked);
            }
        }
    }

    /// The chunk at a place in the forward order, and the farthest key that it or any chunk before it reaches.
    fn chunk_at(&self, position: u32) -> Option<(u32, Key)> {
        let order = &self.contents.forward;
        let (id, reach) = (
            order.chunks.get(position as usize)?,
            order.reach.get(position as usize)?,
        );
        Some((*id, *reach))
    }

    /// Whether all messages of the lane have the same subject, so that only the last ones count.
    fn is_whole(&self, lane: LaneId) -> bool {
        let lane = self.contents.lanes.get(lane.index());
        lane.is_some_and(|lane| lane.depth != Depth::All)
    }

    /// Takes the messages of a lane from a chunk and remembers what was found. Returns the number of messages added.
    fn look_into(&mut self, (position, id): (u32, u32), asked: Asked) -> usize {
        let (lane, keep) = asked;
        let learned = self.learned;
        let mut sightings = Vec::new();
        if let Some((found, is_all)) = self.indexed(id, lane) {
            sightings = found;
            if is_all {
                learned.note((position, id), &[asked], &sightings);
            }
        } else if let Some(bytes) = self.reader.open(id) {
            let is_all = self.scan(id, &bytes, &mut sightings);
            if is_all {
                learned.note((position, id), &self.all, &sightings);
            }
        } else {
            if learned.is_broken(id) {
                learned.note((position, id), &self.all, &[]);
            }
            return 0;
        }
        let at = self.at;
        let mut count = 0;
        for sighting in sightings {
            if sighting.lane == lane && sighting.key.time <= at {
                let found = self.keys.entry((lane, sighting.about)).or_default();
                count += usize::from(found.insert((sighting.key, id)));
                if found.len() > keep {
                    found.pop_first();
                }
            }
        }
        count
    }

    /// The messages of a lane in a chunk from its message indexes, if these are sufficient, and whether they are
    /// complete. If the subject of the messages matters, the messages are read; this is possible only in an
    /// uncompressed chunk.
    fn indexed(&self, id: u32, lane: LaneId) -> Option<(Vec<Sighting>, bool)> {
        let chunk = self.contents.chunk(id);
        if self.is_whole(lane) {
            let mut entries = self.listed(id, lane)?;
            let is_all = self.bound(&mut entries);
            let sighting = |entry: Entry| Sighting {
                lane,
                about: WHOLE,
                key: entry.key(chunk),
            };
            return Some((entries.into_iter().map(sighting).collect(), is_all));
        }
        let source = &self.contents.input(chunk.input).source;
        let plain = UncompressedRecords::of(source, &chunk.place)?;
        let entries = self.listed(id, lane)?;
        if entries.len() > MOST_READ_ALONE {
            return None;
        }
        let sighting = |entry: Entry| {
            let bytes = Bytes::from(plain.record(entry.record)?);
            let there = Entry { at: 0, ..entry };
            let channel = channel(&bytes, there)?;
            let message = message(self.contents, chunk, &bytes, there)?;
            let is_it = self.contents.lane_of(chunk.input, channel) == Some(lane);
            is_it.then(|| Sighting {
                lane,
                about: self.about(&message),
                key: message.key,
            })
        };
        let sightings: Option<Vec<Sighting>> = entries.into_iter().map(sighting).collect();
        Some((sightings?, true))
    }

    /// The messages of a lane in a chunk, as its message indexes list them. `None` if they do not list them or are doubted, or if
    /// messages are not ordered by log time.
    fn listed(&self, id: u32, lane: LaneId) -> Option<Vec<Entry>> {
        let chunk = self.contents.chunk(id);
        let input = self.contents.input(chunk.input);
        let is_ordered = self.contents.order == MessageOrder::Received;
        if !is_ordered || input.is_doubted() || chunk.place.message_indexes.is_empty() {
            return None;
        }
        let mut found = Vec::new();
        for channel in chunk.channels()? {
            if self.contents.lane_of(chunk.input, channel) == Some(lane) {
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
    fn scan(&self, id: u32, bytes: &Bytes, sightings: &mut Vec<Sighting>) -> bool {
        let chunk = self.contents.chunk(id);
        let mut only = vec![false; self.contents.topics.len()];
        for (lane, _) in &self.all {
            let topic = self.contents.lanes.get(lane.index()).map(|lane| lane.topic);
            if let Some(slot) = topic.and_then(|topic| only.get_mut(topic.index())) {
                *slot = true;
            }
        }
        let mut found = scan(self.contents, chunk, &Selection(only.into()), bytes).entries;
        let is_all = self.bound(&mut found);
        for entry in found {
            let lane = channel(bytes, entry);
            let lane = lane.and_then(|channel| self.contents.lane_of(chunk.input, channel));
            let message = message(self.contents, chunk, bytes, entry);
            if let (Some(lane), Some(message)) = (lane, message) {
                let about = if self.is_whole(lane) {
                    WHOLE
                } else {
                    self.about(&message)
                };
                let key = message.key;
                sightings.push(Sighting { lane, about, key });
            }
        }
        is_all
    }

    fn about(&self, message: &Message) -> u128 {
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
