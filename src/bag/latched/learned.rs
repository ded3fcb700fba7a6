//! [`Learned`]: where the messages of latched topics are, as far as chunks were looked into. All clones of a bag
//! share one, so that a chunk is opened for it once and not at each seek.
//!
//! Of each publisher it knows which chunks may have a message of it and were not looked into, by their place
//! in the forward order, and the messages of the others. Small payloads that were asked for are kept too.
//! Memory is bounded: of many messages in one chunk only the last are kept, which makes the chunk *coarse*, to be
//! looked into again by whoever asks for a time within it; with too many messages in all it starts anew.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::bag::damage::Fault;
use crate::bag::index::merge_topics::LaneId;
use crate::bag::message::{Key, Message};
use crate::time::{Ros, Time};

/// The most messages whose places are kept: some 20 MiB.
const MOST_PLACES: usize = 300_000;
/// How many messages of one chunk that replace each other are kept.
const MOST_OF_A_CHUNK: usize = 32;
/// The most bytes of payloads that are kept, and of one payload.
const MOST_COPIED: usize = 8 << 20;
const MOST_OF_A_COPY: usize = 1 << 20;

/// A message of a latched topic, and its chunk.
pub(crate) type Place = (Key, u32);

/// A message of a latched topic that was found in a chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sighting {
    pub(crate) lane: LaneId,
    /// What it is about: a later message of the lane about the same replaces it.
    pub(crate) about: u128,
    pub(crate) key: Key,
}

/// A publisher that is asked about, and how many of its messages about the same count.
pub(crate) type Asked = (LaneId, usize);

#[derive(Debug, Default)]
pub(crate) struct Learned(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    lanes: BTreeMap<LaneId, LaneState>,
    /// Chunks that cannot be read.
    broken: BTreeMap<u32, Fault>,
    places: usize,
    copies: Copies,
}

#[derive(Debug, Default)]
struct LaneState {
    /// Chunks that may have a message of it, by their place in the forward order.
    unread: BTreeSet<u32>,
    /// Chunks of which only the last messages are known.
    coarse: BTreeSet<u32>,
    known: HashMap<u128, BTreeSet<Place>>,
}

#[derive(Debug, Default)]
struct Copies {
    by_key: HashMap<Key, Message>,
    oldest: VecDeque<Key>,
    bytes: usize,
}

impl Learned {
    /// The lanes among these of which nothing is known yet, not even which chunks may have them.
    pub(crate) fn strangers(&self, lanes: impl Iterator<Item = LaneId>) -> BTreeSet<LaneId> {
        let state = self.lock();
        let is_new = |lane: &LaneId| !state.lanes.contains_key(lane);
        lanes.filter(is_new).collect()
    }

    /// Takes note of the chunks that may have a message of a lane.
    pub(crate) fn meet(&self, lane: LaneId, unread: BTreeSet<u32>) {
        let new = || LaneState {
            unread,
            ..LaneState::default()
        };
        self.lock().lanes.entry(lane).or_insert_with(new);
    }

    /// The last chunk before `below` that was not looked into.
    pub(crate) fn unread(&self, lane: LaneId, below: u32) -> Option<u32> {
        let state = self.lock();
        let unread = &state.lanes.get(&lane)?.unread;
        unread.range(..below).next_back().copied()
    }

    /// The chunks of a lane that were not looked into, in the forward order.
    pub(crate) fn all_unread(&self, lane: LaneId) -> Vec<u32> {
        let state = self.lock();
        let lane = state.lanes.get(&lane);
        lane.map_or_else(Vec::new, |lane| lane.unread.iter().copied().collect())
    }

    /// Whether so much is known that more would soon make it start anew.
    pub(crate) fn is_full(&self) -> bool {
        self.lock().places > MOST_PLACES / 2
    }

    /// The last chunk before `below` of which only the last messages are known.
    pub(crate) fn coarse(&self, lane: LaneId, below: u32) -> Option<u32> {
        let state = self.lock();
        let coarse = &state.lanes.get(&lane)?.coarse;
        coarse.range(..below).next_back().copied()
    }

    /// The last `keep` messages at or before `at` about each thing, those about the same together.
    pub(crate) fn last(&self, (lane, keep): Asked, at: Time<Ros>) -> Vec<(u128, Vec<Place>)> {
        let end = Key {
            time: at,
            input: u32::MAX,
            chunk: u64::MAX,
            record: u32::MAX,
        };
        let state = self.lock();
        let Some(lane) = state.lanes.get(&lane) else {
            return Vec::new();
        };
        let last = lane.known.iter().map(|(about, places)| {
            let before = places.range(..=(end, u32::MAX)).rev();
            (*about, before.take(keep).copied().collect())
        });
        last.collect()
    }

    /// The chunk at `position` was looked into for these lanes, and these are all their messages in it.
    pub(crate) fn note(&self, (position, id): (u32, u32), lanes: &[Asked], sightings: &[Sighting]) {
        let mut by_kind: BTreeMap<(LaneId, u128), BTreeSet<Key>> = BTreeMap::new();
        for sighting in sightings {
            let kind = (sighting.lane, sighting.about);
            by_kind.entry(kind).or_default().insert(sighting.key);
        }
        let mut state = self.lock();
        let state = &mut *state;
        for (lane, keep) in lanes {
            let Some(known) = state.lanes.get_mut(lane) else {
                continue;
            };
            known.unread.remove(&position);
            for ((_, about), keys) in by_kind.range((*lane, 0)..=(*lane, u128::MAX)) {
                let mut kept = keys.len();
                if kept > MOST_OF_A_CHUNK.max(*keep) {
                    kept = *keep;
                    known.coarse.insert(position);
                }
                let places = known.known.entry(*about).or_default();
                let before = places.len();
                places.extend(keys.iter().rev().take(kept).map(|key| (*key, id)));
                state.places += places.len() - before;
            }
        }
    }

    /// A chunk cannot be read.
    pub(crate) fn give_up(&self, chunk: u32, fault: Fault) {
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

    /// A copy of a message.
    pub(crate) fn copy(&self, key: Key) -> Option<Message> {
        let state = self.lock();
        state.copies.by_key.get(&key).cloned()
    }

    /// Keeps a message whose payload is nobody else's, unless it is large.
    pub(crate) fn keep(&self, message: Message) {
        let length = message.payload.len();
        if length > MOST_OF_A_COPY {
            return;
        }
        let key = message.key;
        let mut state = self.lock();
        let copies = &mut state.copies;
        if copies.by_key.insert(key, message).is_some() {
            return;
        }
        copies.oldest.push_back(key);
        copies.bytes += length + size_of::<Message>();
        while copies.bytes > MOST_COPIED
            && let Some(oldest) = copies.oldest.pop_front()
            && let Some(gone) = copies.by_key.remove(&oldest)
        {
            copies.bytes -= gone.payload.len() + size_of::<Message>();
        }
    }

    /// Forgets all if it is too much.
    pub(crate) fn tidy(&self) {
        let mut state = self.lock();
        if state.places > MOST_PLACES {
            *state = State::default();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Each change leaves it whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
