//! [`Reader`]: copies the messages that a late joiner would receive out of their chunks, within a bound.
//!
//! Small messages that were copied before are still in memory. A damaged chunk is not opened again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;

use super::learned::{Learned, Place};
use crate::bag::damage::{Damage, DamageKind, Fault};
use crate::bag::decompress::budget::{CountedBytes, Meter, Room};
use crate::bag::decompress::chunk::Decoder;
use crate::bag::index::contents::{Chunk, Contents};
use crate::bag::index::merge_topics::PublisherGroupId;
use crate::bag::message::{Key, Message};
use crate::bag::walk::entries::{Entry, channel, message};
use crate::time::{Ros, Time};

/// The most bytes of payload; older messages are left out.
const MOST_BYTES: u64 = 64 << 20;
/// The most damaged places that are reported.
const MOST_REPORTS: usize = 100_000;

/// Where a message is, sorted by age: the last time in its chunk, the chunk, its key and its group.
type Found = (Time<Ros>, u32, Key, PublisherGroupId);

/// Opens chunks for one look-up.
pub(crate) struct Reader<'a> {
    contents: &'a Contents,
    learned: &'a Learned,
    meter: &'a Arc<Meter>,
    /// How many bytes have been copied.
    copied: u64,
    decoder: Decoder,
    /// Chunks that cannot be read.
    broken: BTreeSet<u32>,
    damage: Vec<Damage>,
}

impl<'a> Reader<'a> {
    /// A reader for messages at or before `at`.
    pub(crate) fn new(
        contents: &'a Contents,
        learned: &'a Learned,
        at: Time<Ros>,
        meter: &'a Arc<Meter>,
    ) -> Self {
        let mut reader = Self {
            contents,
            learned,
            meter,
            copied: 0,
            decoder: Decoder::default(),
            broken: BTreeSet::new(),
            damage: Vec::new(),
        };
        for (id, fault) in learned.broken() {
            let chunk = contents.chunk(id);
            reader.broken.insert(id);
            if chunk.place.earliest() <= at {
                reader.report(chunk, fault);
            }
        }
        reader
    }

    /// Whether the meter is closed: the result is no longer needed.
    pub(crate) fn is_closed(&self) -> bool {
        self.meter.is_closed()
    }

    /// Reads the messages found, newest first, each chunk once, as long as the bound allows. Large messages come after
    /// all small ones, because transforms matter more than an old map.
    pub(crate) fn read(
        mut self,
        places: &BTreeMap<(PublisherGroupId, u128), BTreeSet<Place>>,
    ) -> (Vec<Message>, Vec<Damage>) {
        let mut found: Vec<Found> = Vec::new();
        for ((group, _), keys) in places {
            for (key, id) in keys {
                let end = self.contents.chunk(*id).place.latest();
                found.push((end, *id, *key, *group));
            }
        }
        found.sort_unstable();
        let most = MOST_BYTES.min(self.meter.limit() / 2);
        let mut messages = Vec::new();
        let small = most / 8;
        let large = if small > 0 {
            self.read_up_to(&found, (small, most), &mut messages)
        } else {
            found
        };
        let left = self.read_up_to(&large, (u64::MAX, most), &mut messages);
        if !left.is_empty() {
            let groups = left
                .iter()
                .filter_map(|(.., group)| self.contents.groups.get(group.index()));
            let topics = groups.filter_map(|group| self.contents.topics.get(group.topic.index()));
            let names: BTreeSet<&str> = topics.map(|topic| topic.name.as_str()).collect();
            let names = Vec::from_iter(names).join(", ");
            tracing::warn!(
                "latched messages of {names} are not sent again: {}, as all together have over {most} bytes{}",
                left.len(),
                // A larger read-ahead would help here.
                if most < MOST_BYTES {
                    ", half of the read-ahead"
                } else {
                    ""
                }
            );
        }
        messages.sort_unstable_by_key(|message| message.key);
        (messages, self.damage)
    }

    /// Copies messages of up to `size` bytes, beginning with the last in the list, until `most` bytes are copied; in
    /// any case at least one message in all. Returns those that are left.
    fn read_up_to(
        &mut self,
        found: &[Found],
        (size, most): (u64, u64),
        messages: &mut Vec<Message>,
    ) -> Vec<Found> {
        let mut left = Vec::new();
        let mut open: Option<(u32, Bytes)> = None;
        for one in found.iter().rev() {
            let (_, id, key, group) = *one;
            if self.copied >= most && !messages.is_empty() {
                left.push(*one);
                continue;
            }
            let known = self.learned.copy((group, key));
            let is_known = known.is_some();
            let message = known.or_else(|| self.find(id, (key, group), &mut open));
            let Some(message) = message else { continue };
            let length = message.payload.len() as u64;
            let is_last_chance = size == u64::MAX && messages.is_empty();
            if length > size || (self.copied + length > most && !is_last_chance) {
                left.push(*one);
                continue;
            }
            let permit = self.meter.permit(length);
            self.copied += length;
            let bytes = message.payload.to_vec();
            if !is_known {
                let payload = Bytes::copy_from_slice(&bytes);
                let copy = Message { payload, ..message };
                self.learned.keep(group, copy);
            }
            let payload = Bytes::from_owner(CountedBytes::new(bytes, permit));
            messages.push(Message { payload, ..message });
        }
        left.reverse();
        left
    }

    /// The message with this key from its chunk, which stays open.
    fn find(
        &mut self,
        id: u32,
        (key, group): (Key, PublisherGroupId),
        open: &mut Option<(u32, Bytes)>,
    ) -> Option<Message> {
        if open.as_ref().is_none_or(|(known, _)| *known != id) {
            // Dropped before the next one is opened, so two are never held at once.
            drop(open.take());
            *open = self.open(id).map(|bytes| (id, bytes));
        }
        let (_, bytes) = open.as_ref()?;
        let chunk = self.contents.chunk(id);
        let entry = Entry {
            time: key.time,
            record: key.record,
            at: key.record,
        };
        let is_it = |channel| self.contents.group_of(chunk.input, channel) == Some(group);
        let message = message(self.contents, chunk, bytes, entry);
        let message = message.filter(|_| channel(bytes, entry).is_some_and(is_it));
        if message.is_none() {
            let detail = "message index points at no such message";
            self.report(chunk, Fault::new(DamageKind::Index, detail));
        }
        message
    }

    /// The decompressed records of a chunk, once there is room for them.
    pub(crate) fn open(&mut self, id: u32) -> Option<Bytes> {
        let chunk = self.contents.chunk(id);
        let source = &self.contents.input(chunk.input).source;
        if self.broken.contains(&id) {
            return None;
        }
        if self.meter.wait_for_room(chunk.cost(), self.copied) == Room::Closed {
            return None;
        }
        match self.decoder.read(source, &chunk.place, self.meter) {
            Ok(owned) => Some(Bytes::from_owner(owned)),
            Err(fault) => {
                self.broken.insert(id);
                // What the system could not read now it may be able to read later.
                if fault.kind != DamageKind::Unreadable {
                    self.learned.mark_broken(id, fault.clone());
                }
                self.report(chunk, fault);
                None
            }
        }
    }

    fn report(&mut self, chunk: &Chunk, fault: Fault) {
        if self.damage.len() < MOST_REPORTS {
            self.damage.push(self.contents.damage(chunk, fault));
        }
    }
}
