//! [`Learned`]: where the messages of latched topics are, as far as chunks have been searched. All clones of a bag
//! share one, so a chunk is opened once for this and not at each seek.
//!
//! For each publisher group it has the chunks that may have messages of it but have not been searched, by their place
//! in the forward order, and the messages found in the others. It also keeps copies of small payloads. Memory is
//! bounded: if one chunk has too many messages, only the last of them are kept. Such a chunk is *coarse*: it is
//! searched again if a time within it is asked for. If there are too many messages in all, only the last of each chunk
//! are kept, and in the end no more: further chunks are searched each time. Nothing is ever forgotten but copies, so
//! what one search registered is there until it ends, whatever other searches do meanwhile.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::bag::damage::Fault;
use crate::bag::index::contents::Contents;
use crate::bag::index::merge_topics::PublisherGroupId;
use crate::bag::message::{Key, Message};
use crate::time::{Ros, Time};

/// The most messages whose places are kept before further chunks become coarse: about 20 MiB.
const MOST_PLACES: usize = 300_000;
/// The most messages whose places are kept before further chunks are not remembered at all: about 40 MiB.
const MOST_PLACES_EVER: usize = 2 * MOST_PLACES;
/// The most messages kept of one chunk with the same group and subject.
const MOST_OF_A_CHUNK: usize = 32;
/// The most bytes of payload copies, in all and of one message.
const MOST_COPIED: usize = 8 << 20;
const MOST_OF_A_COPY: usize = 1 << 20;

/// The key of a message of a latched topic, and its chunk.
pub(crate) type Place = (Key, u32);

/// A message of a latched topic, found in a chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FoundMessage {
    pub(crate) group: PublisherGroupId,
    /// Its subject: a later message of the same group and subject replaces it.
    pub(crate) subject: u128,
    pub(crate) key: Key,
}

/// A group, and how many of its messages with the same subject count.
pub(crate) type GroupDepth = (PublisherGroupId, usize);

#[derive(Debug, Default)]
pub(crate) struct Learned(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    groups: BTreeMap<PublisherGroupId, GroupState>,
    /// The inputs whose chunks were all made unread, because their indexes are wrong.
    wrong_indexes: BTreeSet<u32>,
    /// Chunks that cannot be read.
    broken: BTreeMap<u32, Fault>,
    places: usize,
    copies: Copies,
}

#[derive(Debug, Default)]
struct GroupState {
    /// Chunks that may have messages of the group but have not been searched, by their place in the forward order.
    unread: BTreeSet<u32>,
    /// Chunks of which only the last messages are kept.
    coarse: BTreeSet<u32>,
    known: HashMap<u128, BTreeSet<Place>>,
}

#[derive(Debug, Default)]
struct Copies {
    /// By the group whose message it is, too: where an index is wrong, a place was found for another group.
    by_place: HashMap<(PublisherGroupId, Key), Message>,
    oldest: VecDeque<(PublisherGroupId, Key)>,
    bytes: usize,
}

impl Learned {
    /// Registers those of these groups that are not registered yet, with the chunks that may have messages of them: in
    /// inputs whose index is wrong all chunks, which become unread for the other groups too.
    pub(crate) fn register(
        &self,
        contents: &Contents,
        groups: impl Iterator<Item = PublisherGroupId>,
        wrong_indexes: &BTreeSet<u32>,
    ) {
        let unregistered = self.unregistered(groups);
        let mut unread: BTreeMap<PublisherGroupId, BTreeSet<u32>> = BTreeMap::new();
        let mut wrong_chunks: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for (position, id) in (0..).zip(&contents.forward.chunks) {
            if unregistered.is_empty() && wrong_indexes.is_empty() {
                break;
            }
            let chunk = contents.chunk(*id);
            let has_wrong_index = wrong_indexes.contains(&chunk.input);
            if has_wrong_index {
                wrong_chunks
                    .entry(chunk.input)
                    .or_default()
                    .insert(position);
            }
            let mut add =
                |group: PublisherGroupId| unread.entry(group).or_default().insert(position);
            if let Some(channels) = chunk.channels().filter(|_| !has_wrong_index) {
                let groups = channels.filter_map(|it| contents.group_of(chunk.input, it));
                for group in groups.filter(|group| unregistered.contains(group)) {
                    add(group);
                }
            } else {
                let channels = &contents.input(chunk.input).channels;
                for group in channels
                    .groups()
                    .filter(|group| unregistered.contains(group))
                {
                    add(group);
                }
            }
        }
        for group in unregistered {
            self.insert_group(group, unread.remove(&group).unwrap_or_default());
        }
        for (input, chunks) in wrong_chunks {
            let groups = contents.input(input).channels.groups().collect();
            self.mark_index_wrong(input, &chunks, &groups);
        }
    }

    /// Those of these groups that are not registered yet.
    fn unregistered(
        &self,
        groups: impl Iterator<Item = PublisherGroupId>,
    ) -> BTreeSet<PublisherGroupId> {
        let state = self.lock();
        let is_new = |group: &PublisherGroupId| !state.groups.contains_key(group);
        groups.filter(is_new).collect()
    }

    /// Registers a group with the chunks that may have messages of it.
    fn insert_group(&self, group: PublisherGroupId, unread: BTreeSet<u32>) {
        let new = || GroupState {
            unread,
            ..GroupState::default()
        };
        self.lock().groups.entry(group).or_insert_with(new);
    }

    /// The last chunk before `below` that has not been searched.
    pub(crate) fn unread(&self, group: PublisherGroupId, below: u32) -> Option<u32> {
        let state = self.lock();
        let unread = &state.groups.get(&group)?.unread;
        unread.range(..below).next_back().copied()
    }

    /// How many chunks of a group at `from` or later have not been searched. Counting all of them takes no time.
    pub(crate) fn count_unread_from(&self, group: PublisherGroupId, from: u32) -> usize {
        let state = self.lock();
        let unread = state.groups.get(&group).map(|group| &group.unread);
        unread.map_or(0, |unread| match from {
            0 => unread.len(),
            from => unread.range(from..).count(),
        })
    }

    /// The chunks of a group that have not been searched, in forward order.
    pub(crate) fn all_unread(&self, group: PublisherGroupId) -> Vec<u32> {
        let state = self.lock();
        let group = state.groups.get(&group);
        group.map_or_else(Vec::new, |group| group.unread.iter().copied().collect())
    }

    /// Makes the chunks of an input whose index is wrong unread for the registered groups: the lists by which they were
    /// skipped or searched may be wrong. Does nothing if that was done before.
    fn mark_index_wrong(
        &self,
        input: u32,
        chunks: &BTreeSet<u32>,
        groups: &BTreeSet<PublisherGroupId>,
    ) {
        let mut state = self.lock();
        if state.wrong_indexes.insert(input) {
            for group in groups {
                if let Some(group) = state.groups.get_mut(group) {
                    group.unread.extend(chunks);
                }
            }
        }
    }

    /// Whether so much is kept that further chunks might soon be coarse.
    pub(crate) fn is_full(&self) -> bool {
        self.lock().places > MOST_PLACES / 2
    }

    /// The last coarse chunk before `below`.
    pub(crate) fn coarse(&self, group: PublisherGroupId, below: u32) -> Option<u32> {
        let state = self.lock();
        let coarse = &state.groups.get(&group)?.coarse;
        coarse.range(..below).next_back().copied()
    }

    /// The last `keep` messages of each subject at or before `at`, grouped by subject.
    pub(crate) fn last(&self, (group, keep): GroupDepth, at: Time<Ros>) -> Vec<(u128, Vec<Place>)> {
        let end = Key {
            time: at,
            input: u32::MAX,
            chunk: u64::MAX,
            record: u32::MAX,
        };
        let state = self.lock();
        let Some(group) = state.groups.get(&group) else {
            return Vec::new();
        };
        let last = group.known.iter().map(|(subject, places)| {
            let before = places.range(..=(end, u32::MAX)).rev();
            (*subject, before.take(keep).copied().collect())
        });
        last.collect()
    }

    /// Remembers that the chunk at `position` has been searched for these groups, unless too much is kept already.
    /// `found_messages` are all their messages in it.
    pub(crate) fn mark_searched(
        &self,
        (position, id): (u32, u32),
        groups: &[GroupDepth],
        found_messages: &[FoundMessage],
    ) {
        let mut by_subject: BTreeMap<(PublisherGroupId, u128), BTreeSet<Key>> = BTreeMap::new();
        for found_message in found_messages {
            let subject = (found_message.group, found_message.subject);
            by_subject
                .entry(subject)
                .or_default()
                .insert(found_message.key);
        }
        let mut state = self.lock();
        let state = &mut *state;
        for (group, keep) in groups {
            let Some(known) = state.groups.get_mut(group) else {
                continue;
            };
            let mut found = by_subject
                .range((*group, 0)..=(*group, u128::MAX))
                .peekable();
            if state.places > MOST_PLACES_EVER && found.peek().is_some() {
                continue;
            }
            known.unread.remove(&position);
            let most = if state.places > MOST_PLACES {
                *keep
            } else {
                MOST_OF_A_CHUNK.max(*keep)
            };
            for ((_, subject), keys) in found {
                let mut kept = keys.len();
                if kept > most {
                    kept = *keep;
                    known.coarse.insert(position);
                }
                let places = known.known.entry(*subject).or_default();
                let before = places.len();
                places.extend(keys.iter().rev().take(kept).map(|key| (*key, id)));
                state.places += places.len() - before;
            }
        }
    }

    /// Remembers that a chunk cannot be read.
    pub(crate) fn mark_broken(&self, chunk: u32, fault: Fault) {
        self.lock().broken.insert(chunk, fault);
    }

    /// The chunks that cannot be read, and why.
    pub(crate) fn broken(&self) -> Vec<(u32, Fault)> {
        let state = self.lock();
        let broken = state.broken.iter();
        broken.map(|(id, fault)| (*id, fault.clone())).collect()
    }

    pub(crate) fn is_broken(&self, chunk: u32) -> bool {
        self.lock().broken.contains_key(&chunk)
    }

    /// The copy of a message of this group, if there is one.
    pub(crate) fn copy(&self, place: (PublisherGroupId, Key)) -> Option<Message> {
        let state = self.lock();
        state.copies.by_place.get(&place).cloned()
    }

    /// Keeps a message of this group, unless it is large. Its payload must be a copy that does not keep a chunk in
    /// memory.
    pub(crate) fn keep(&self, group: PublisherGroupId, message: Message) {
        let length = message.payload.len();
        if length > MOST_OF_A_COPY {
            return;
        }
        let place = (group, message.key);
        let mut state = self.lock();
        let copies = &mut state.copies;
        if copies.by_place.insert(place, message).is_some() {
            return;
        }
        copies.oldest.push_back(place);
        copies.bytes += length + size_of::<Message>();
        while copies.bytes > MOST_COPIED
            && let Some(oldest) = copies.oldest.pop_front()
            && let Some(gone) = copies.by_place.remove(&oldest)
        {
            copies.bytes -= gone.payload.len() + size_of::<Message>();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Each change leaves the state consistent.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
