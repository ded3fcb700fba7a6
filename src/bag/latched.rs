//! What a late joiner of the latched topics would be given at a position: found by index.
//!
//! For a latched topic the last message of each publisher is its state (transforms: all messages).
//! The message indexes say where they are, newest chunk first; only chunks that hold one are
//! decompressed, and the payloads are copied so that those chunks do not stay in memory. Both are on the
//! account of the walk that asks, which stops the search when it is closed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;

use super::budget::{Meter, Owned};
use super::chunk::Decoder;
use super::contents::{Chunk, Contents};
use super::entries::{Entry, channel, message, scan};
use super::error::{Damage, DamageKind, Fault};
use super::message::{Key, Message};
use super::message_index;
use super::opening::MessageOrder;
use super::selection::Selection;
use super::topics::{Depth, LaneId};
use crate::time::{Ros, Time};

/// The most messages that are looked up, and the most bytes of payload: what is older is left out.
const MOST_MESSAGES: usize = 100_000;
const MOST_BYTES: u64 = 64 << 20;

/// The messages at or before `at` that the selected latched topics still stand for, in order.
pub(super) fn latched(
    contents: &Contents,
    selection: &Selection,
    at: Time<Ros>,
    meter: &Arc<Meter>,
) -> (Vec<Message>, Vec<Damage>) {
    let mut search = Search {
        contents,
        at,
        meter,
        copied: 0,
        keys: BTreeMap::new(),
        decoder: Decoder::default(),
        broken: BTreeSet::new(),
        damage: Vec::new(),
    };
    for (lane, facts) in (0..).map(LaneId::new).zip(&contents.lanes) {
        let topic = contents.topics.get(facts.topic.index());
        if topic.is_some_and(|it| it.is_latched) && selection.contains(facts.topic) {
            search.keys.insert(lane, BTreeSet::new());
        }
    }
    if search.keys.is_empty() {
        return (Vec::new(), Vec::new());
    }
    search.find();
    let messages = search.fetch();
    (messages, search.damage)
}

/// Where a message is: the end of its chunk, by which the newest are known, and the chunk; which it is, of whom.
type Found = (Time<Ros>, u32, Key, LaneId);

struct Search<'a> {
    contents: &'a Contents,
    at: Time<Ros>,
    meter: &'a Arc<Meter>,
    /// How many bytes were copied.
    copied: u64,
    /// What was found of each publisher, with the chunk's place in the table.
    keys: BTreeMap<LaneId, BTreeSet<(Key, u32)>>,
    decoder: Decoder,
    /// Chunks that cannot be read.
    broken: BTreeSet<u32>,
    damage: Vec<Damage>,
}

impl Search<'_> {
    /// Looks through the chunks, from those that reach furthest on to the oldest.
    fn find(&mut self) {
        for id in &self.contents.reverse.chunks {
            if self.meter.is_closed() {
                break;
            }
            let chunk = self.contents.chunk(*id);
            if chunk.place.start > self.at {
                continue;
            }
            let mut wanted = Vec::new();
            for (lane, found) in &self.keys {
                if !self.is_settled(*lane, found, chunk) {
                    wanted.push(*lane);
                }
            }
            if wanted.is_empty() && chunk.place.end <= self.at {
                // All others end even earlier.
                break;
            }
            if !wanted.is_empty() {
                self.search(*id, chunk, &wanted);
            }
        }
    }

    /// Whether nothing in the chunk can be newer than what was found.
    fn is_settled(&self, lane: LaneId, found: &BTreeSet<(Key, u32)>, chunk: &Chunk) -> bool {
        let most = self.most(lane);
        let oldest = found.first();
        found.len() >= most && oldest.is_some_and(|(key, _)| *key > chunk.high())
    }

    fn most(&self, lane: LaneId) -> usize {
        let lane = self.contents.lanes.get(lane.index());
        match lane.map(|lane| lane.depth) {
            Some(Depth::Last(depth)) => depth.min(MOST_MESSAGES),
            _ => MOST_MESSAGES,
        }
    }

    fn search(&mut self, id: u32, chunk: &Chunk, wanted: &[LaneId]) {
        let source = &self.contents.input(chunk.input).source;
        let is_wanted = |channel: u16| {
            let lane = self.contents.lane_of(chunk.input, channel);
            lane.filter(|lane| wanted.contains(lane))
        };
        let Some(channels) = chunk.channels() else {
            return self.scan(id, chunk, wanted);
        };
        let mut channels = channels
            .filter_map(|id| Some((id, is_wanted(id)?)))
            .peekable();
        if channels.peek().is_some() && self.contents.order == MessageOrder::Sent {
            // Message indexes know only when messages were received.
            return self.scan(id, chunk, wanted);
        }
        let mut found = Vec::new();
        for (channel, lane) in channels {
            let Some(entries) = message_index::read(source, &chunk.place, channel) else {
                return self.scan(id, chunk, wanted);
            };
            found.extend(entries.into_iter().map(|(time, record)| {
                let at = record;
                (lane, Entry { time, record, at })
            }));
        }
        for (lane, entry) in found {
            self.keep(id, chunk, lane, entry);
        }
    }

    /// Without message indexes the chunk itself has to tell.
    fn scan(&mut self, id: u32, chunk: &Chunk, wanted: &[LaneId]) {
        let Some(bytes) = self.open(id) else { return };
        let mut only = vec![false; self.contents.topics.len()];
        for lane in wanted {
            let topic = self.contents.lanes.get(lane.index()).map(|lane| lane.topic);
            if let Some(slot) = topic.and_then(|topic| only.get_mut(topic.index())) {
                *slot = true;
            }
        }
        let found = scan(self.contents, chunk, &Selection(only.into()), &bytes);
        for entry in found.entries {
            let lane = channel(&bytes, entry);
            let lane = lane.and_then(|channel| self.contents.lane_of(chunk.input, channel));
            if let Some(lane) = lane.filter(|lane| wanted.contains(lane)) {
                self.keep(id, chunk, lane, entry);
            }
        }
    }

    fn keep(&mut self, id: u32, chunk: &Chunk, lane: LaneId, entry: Entry) {
        let most = self.most(lane);
        let Some(found) = self.keys.get_mut(&lane) else {
            return;
        };
        if entry.time <= self.at {
            found.insert((entry.key(chunk), id));
            if found.len() > most {
                found.pop_first();
            }
        }
    }

    /// Reads what was found, each chunk once, newest first, as long as the bound allows; but a large message
    /// only when all small ones are there: transforms matter more than an old map.
    fn fetch(&mut self) -> Vec<Message> {
        let mut found: Vec<Found> = Vec::new();
        for (lane, keys) in &self.keys {
            for (key, id) in keys {
                let end = self.contents.chunk(*id).place.end;
                found.push((end, *id, *key, *lane));
            }
        }
        found.sort_unstable();
        let most = MOST_BYTES.min(self.meter.limit() / 2);
        let mut messages = Vec::new();
        let small = most / 8;
        let large = if small > 0 {
            self.fetch_up_to(&found, (small, most), &mut messages)
        } else {
            found
        };
        let left = self.fetch_up_to(&large, (u64::MAX, most), &mut messages);
        if !left.is_empty() {
            let lanes = left
                .iter()
                .filter_map(|(.., lane)| self.contents.lanes.get(lane.index()));
            let topics = lanes.filter_map(|lane| self.contents.topics.get(lane.topic.index()));
            let names: BTreeSet<&str> = topics.map(|topic| topic.name.as_str()).collect();
            let names = Vec::from_iter(names).join(", ");
            tracing::warn!(
                "{} latched messages of {names} are not sent again, as all together have over {most} bytes{}",
                left.len(),
                // Which a larger read-ahead would change.
                if most < MOST_BYTES {
                    ", half of the read-ahead"
                } else {
                    ""
                }
            );
        }
        messages.sort_unstable_by_key(|message| message.key);
        messages
    }

    /// Copies those of up to `size` bytes, the last of the list first, until there are `most` bytes, but one
    /// at least. Those that are left.
    fn fetch_up_to(
        &mut self,
        found: &[Found],
        (size, most): (u64, u64),
        messages: &mut Vec<Message>,
    ) -> Vec<Found> {
        let mut left = Vec::new();
        let mut open: Option<(u32, Bytes)> = None;
        for one in found.iter().rev() {
            let (_, id, key, lane) = *one;
            if self.copied >= most && !messages.is_empty() {
                left.push(*one);
                continue;
            }
            if open.as_ref().is_none_or(|(known, _)| *known != id) {
                // Before the next one is opened, so that two are never held.
                drop(open.take());
                open = self.open(id).map(|bytes| (id, bytes));
            }
            let Some((_, bytes)) = &open else { continue };
            let chunk = self.contents.chunk(id);
            let entry = Entry {
                time: key.time,
                record: key.record,
                at: key.record,
            };
            let is_it = |channel| self.contents.lane_of(chunk.input, channel) == Some(lane);
            let message = message(self.contents, chunk, bytes, entry);
            let Some(message) = message.filter(|_| channel(bytes, entry).is_some_and(is_it)) else {
                let detail = "message index points at no such message";
                self.report(chunk, Fault::new(DamageKind::Index, detail));
                continue;
            };
            let length = message.payload.len() as u64;
            let is_last_chance = size == u64::MAX && messages.is_empty();
            if length > size || (self.copied + length > most && !is_last_chance) {
                left.push(*one);
                continue;
            }
            let permit = self.meter.permit(length);
            self.copied += length;
            let bytes = message.payload.to_vec();
            let payload = Bytes::from_owner(Owned { bytes, permit });
            messages.push(Message { payload, ..message });
        }
        left.reverse();
        left
    }

    fn open(&mut self, id: u32) -> Option<Bytes> {
        let chunk = self.contents.chunk(id);
        let source = &self.contents.input(chunk.input).source;
        if self.broken.contains(&id) {
            return None;
        }
        if !self.meter.wait_for_room(chunk.cost(), self.copied) {
            return None;
        }
        match self.decoder.read(source, &chunk.place, self.meter) {
            Ok(owned) => Some(Bytes::from_owner(owned)),
            Err(fault) => {
                self.broken.insert(id);
                self.report(chunk, fault);
                None
            }
        }
    }

    fn report(&mut self, chunk: &Chunk, fault: Fault) {
        if self.damage.len() < MOST_MESSAGES {
            self.damage.push(self.contents.damage(chunk, fault));
        }
    }
}
