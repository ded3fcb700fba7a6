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
use super::entries::{Entry, message, scan};
use super::error::{Damage, DamageKind, Fault};
use super::message::{Key, Message, TopicId};
use super::message_index;
use super::opening::MessageOrder;
use super::selection::Selection;
use super::topics::Depth;
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
    for (topic, facts) in (0..).map(TopicId).zip(&contents.topics) {
        if facts.is_latched && selection.contains(topic) {
            search.keys.insert(topic, BTreeSet::new());
        }
    }
    if search.keys.is_empty() {
        return (Vec::new(), Vec::new());
    }
    search.find();
    let messages = search.fetch();
    (messages, search.damage)
}

struct Search<'a> {
    contents: &'a Contents,
    at: Time<Ros>,
    meter: &'a Arc<Meter>,
    /// How many bytes were copied.
    copied: u64,
    /// What was found for each topic, with the chunk's place in the table.
    keys: BTreeMap<TopicId, BTreeSet<(Key, u32)>>,
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
            for (topic, found) in &self.keys {
                if !self.is_settled(*topic, found, chunk) {
                    wanted.push(*topic);
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
    fn is_settled(&self, topic: TopicId, found: &BTreeSet<(Key, u32)>, chunk: &Chunk) -> bool {
        let most = self.most(topic);
        let oldest = found.first();
        found.len() >= most && oldest.is_some_and(|(key, _)| *key > chunk.high())
    }

    fn most(&self, topic: TopicId) -> usize {
        match self.contents.depths.get(topic.index()) {
            Some(Depth::Last(depth)) => *depth,
            _ => MOST_MESSAGES,
        }
    }

    fn search(&mut self, id: u32, chunk: &Chunk, wanted: &[TopicId]) {
        let source = &self.contents.input(chunk.input).source;
        let is_wanted = |channel: u16| {
            let topic = self.contents.topic_of(chunk.input, channel);
            topic.filter(|topic| wanted.contains(topic))
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
        for (channel, topic) in channels {
            let Some(entries) = message_index::read(source, &chunk.place, channel) else {
                return self.scan(id, chunk, wanted);
            };
            found.extend(entries.into_iter().map(|(time, record)| {
                let at = record;
                (topic, Entry { time, record, at })
            }));
        }
        for (topic, entry) in found {
            self.keep(id, chunk, topic, entry);
        }
    }

    /// Without message indexes the chunk itself has to tell.
    fn scan(&mut self, id: u32, chunk: &Chunk, wanted: &[TopicId]) {
        let Some(bytes) = self.open(id) else { return };
        let mut only = vec![false; self.contents.topics.len()];
        for topic in wanted {
            if let Some(slot) = only.get_mut(topic.index()) {
                *slot = true;
            }
        }
        let found = scan(self.contents, chunk, &Selection(only.into()), &bytes);
        for entry in found.entries {
            if let Some(message) = message(self.contents, chunk, &bytes, entry) {
                self.keep(id, chunk, message.topic, entry);
            }
        }
    }

    fn keep(&mut self, id: u32, chunk: &Chunk, topic: TopicId, entry: Entry) {
        let most = self.most(topic);
        let Some(found) = self.keys.get_mut(&topic) else {
            return;
        };
        if entry.time <= self.at {
            found.insert((entry.key(chunk), id));
            if found.len() > most {
                found.pop_first();
            }
        }
    }

    /// Reads what was found, each chunk once, newest first as long as the bound allows.
    fn fetch(&mut self) -> Vec<Message> {
        let mut by_chunk = BTreeMap::<_, BTreeSet<_>>::new();
        for (topic, found) in &self.keys {
            for (key, id) in found {
                let end = self.contents.chunk(*id).place.end;
                by_chunk
                    .entry((end, *id))
                    .or_default()
                    .insert((*key, *topic));
            }
        }
        let mut messages = Vec::new();
        let mut left_out = 0;
        let most = MOST_BYTES.min(self.meter.limit() / 2);
        for ((_, id), keys) in by_chunk.into_iter().rev() {
            if self.copied >= most && !messages.is_empty() {
                left_out += keys.len();
                continue;
            }
            let chunk = self.contents.chunk(id);
            let Some(bytes) = self.open(id) else { continue };
            for (key, topic) in keys.into_iter().rev() {
                let entry = Entry {
                    time: key.time,
                    record: key.record,
                    at: key.record,
                };
                let found = message(self.contents, chunk, &bytes, entry);
                let Some(found) = found.filter(|found| found.topic == topic) else {
                    let detail = "message index points at no such message";
                    self.report(chunk, Fault::new(DamageKind::Index, detail));
                    continue;
                };
                let size = found.payload.len() as u64;
                if self.copied + size > most && !messages.is_empty() {
                    left_out += 1;
                    continue;
                }
                let permit = self.meter.permit(size);
                self.copied += size;
                let bytes = found.payload.to_vec();
                let payload = Bytes::from_owner(Owned { bytes, permit });
                messages.push(Message { payload, ..found });
            }
        }
        if left_out > 0 {
            tracing::warn!("{left_out} latched messages are left out: more than {most} bytes");
        }
        messages.sort_unstable_by_key(|message| message.key);
        messages
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
