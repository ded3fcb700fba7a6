//! The list of the selected messages of a decompressed chunk, sorted by time.
//!
//! An entry takes 16 bytes, and its message at least 31 bytes of the chunk, so the list is at most about half as large
//! as the chunk. It is sorted only if the recorder did not write in order.

use std::collections::BTreeSet;

use bytes::Bytes;
use mcap::records::op;

use super::selection::Selection;
use crate::bag::damage::{DamageKind, Fault};
use crate::bag::index::contents::{Chunk, Contents};
use crate::bag::mcap::chunk_ref::Indexed;
use crate::bag::mcap::parse;
use crate::bag::mcap::record::{FRAME, MESSAGE_HEADER, Record, Records, Short};
use crate::bag::message::{Key, Message};
use crate::time::{Ros, Time};

/// A message in a chunk.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Entry {
    pub(crate) time: Time<Ros>,
    /// Offset of its record in the decompressed chunk.
    pub(crate) record: u32,
    /// Offset of its record in the bytes at hand. The same as `record`, unless the bytes are a copied share.
    pub(crate) at: u32,
}

impl Entry {
    #[inline]
    pub(crate) fn key(self, chunk: &Chunk) -> Key {
        Key {
            time: self.time,
            input: chunk.input,
            chunk: chunk.place.offset,
            record: self.record,
        }
    }
}

/// The selected messages of a chunk in order, and the faults found.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    pub(crate) entries: Vec<Entry>,
    pub(crate) faults: Vec<Fault>,
}

impl Scan {
    /// Keeps only the first fault of each kind: a chunk can have millions.
    fn report(&mut self, fault: Fault) {
        if self.faults.iter().all(|known| known.kind != fault.kind) {
            self.faults.push(fault);
        }
    }
}

/// Lists the messages of the selected topics. Messages before a broken record are sound and stay in the list.
pub(crate) fn scan(
    contents: &Contents,
    chunk: &Chunk,
    selection: &Selection,
    bytes: &[u8],
) -> Scan {
    let mut scan = Scan::default();
    let mut unknown = 0_u64;
    let mut tally = Tally::new(&chunk.place.message_indexes);
    let mut is_whole = true;
    let mut is_sorted = true;
    let mut last = Time::MIN;
    let mut channels = chunk.is_unknown().then(BTreeSet::new);
    let mut records = Records::new(bytes);
    while let Some(record) = records.next() {
        let at = records.position();
        let Ok(record) = record else {
            let detail = format!("record {at} bytes into the chunk runs past its end");
            scan.report(Fault::framing(detail));
            is_whole = false;
            break;
        };
        match record.opcode {
            op::MESSAGE => {
                let Ok(header) = parse::message_header(record.body) else {
                    let detail = format!("message {} bytes into the chunk is cut short", record.at);
                    scan.report(Fault::framing(detail));
                    is_whole = false;
                    break;
                };
                if let Some(channels) = &mut channels {
                    channels.insert(header.channel_id);
                }
                let Some(topic) = contents.topic_of(chunk.input, header.channel_id) else {
                    unknown += 1;
                    continue;
                };
                tally.count(header.channel_id);
                if selection.contains(topic) {
                    let time = parse::message_time(&header, contents.order);
                    is_sorted &= last <= time;
                    last = time;
                    let record = u32::try_from(record.at).expect("chunks are below 1 GiB");
                    let at = record;
                    scan.entries.push(Entry { time, record, at });
                }
            }
            op::CHANNEL | op::SCHEMA => {
                if let Err(fault) = check_definition(contents, chunk.input, record) {
                    scan.report(fault);
                }
            }
            0 => {
                let detail = format!("no record {} bytes into the chunk", record.at);
                scan.report(Fault::framing(detail));
                is_whole = false;
                break;
            }
            _ => {}
        }
    }
    if unknown > 0 {
        let detail = format!("messages of undefined channels are skipped: {unknown}");
        scan.report(Fault::new(DamageKind::UnknownChannel, detail));
    }
    if let Some(detail) = tally.unlisted() {
        contents.input(chunk.input).mark_index_wrong();
        scan.report(Fault::new(DamageKind::Index, detail));
    } else if let Some(detail) = tally.miscounted().filter(|_| is_whole && unknown == 0) {
        scan.report(Fault::new(DamageKind::Index, detail));
    }
    if !is_sorted {
        scan.entries.sort_unstable();
    }
    let outside = outside(chunk, &scan.entries);
    scan.faults.extend(outside);
    // The channels of a damaged chunk are not remembered, so it is opened whenever it may matter and its damage is
    // reported each time.
    if let Some(channels) = channels.filter(|_| scan.faults.is_empty()) {
        chunk.learn(channels);
    }
    scan
}

/// Counts the messages of each channel that the chunk's index lists.
struct Tally<'a> {
    listed: &'a [Indexed],
    counts: Box<[u32]>,
    /// The channel of the last message and its place in `listed`: the next message is often of the same channel.
    last: Option<(u16, usize)>,
    /// A channel that the index does not list.
    other: Option<u16>,
}

impl<'a> Tally<'a> {
    fn new(listed: &'a [Indexed]) -> Self {
        Self {
            listed,
            counts: vec![0; listed.len()].into_boxed_slice(),
            last: None,
            other: None,
        }
    }

    #[inline]
    fn count(&mut self, channel: u16) {
        if self.last.is_none_or(|(last, _)| last != channel) {
            let found = self.listed.binary_search_by_key(&channel, |it| it.channel);
            let Ok(place) = found else {
                self.other = Some(channel);
                return;
            };
            self.last = Some((channel, place));
        }
        let count = self.last.and_then(|(_, place)| self.counts.get_mut(place));
        if let Some(count) = count {
            *count = count.saturating_add(1);
        }
    }

    /// Reports messages of a channel that the index leaves out. Without an index, no channel counts as left out.
    fn unlisted(&self) -> Option<String> {
        let channel = self.other.filter(|_| !self.listed.is_empty())?;
        Some(format!(
            "chunk has messages of channel {channel}, which its index does not list; all later chunks of the file \
             are read whatever their index says, but earlier ones may have been skipped"
        ))
    }

    /// Reports a channel whose number of messages differs from that in the index.
    fn miscounted(&self) -> Option<String> {
        let mut all = self.listed.iter().zip(&self.counts);
        let (indexed, count) = all.find(|(it, count)| it.count != 0 && it.count != **count)?;
        let (channel, told) = (indexed.channel, indexed.count);
        Some(format!(
            "the message index of channel {channel} lists {told} messages, the chunk holds {count}"
        ))
    }
}

/// Reports messages outside the times that the chunk index gives.
fn outside(chunk: &Chunk, entries: &[Entry]) -> Option<Fault> {
    let (first, last) = (entries.first()?.time, entries.last()?.time);
    let said = chunk.place.times?;
    let detail = format!(
        "chunk holds times {first} to {last}, its index says {} to {}",
        said.start(),
        said.stop()
    );
    let is_outside = first < said.start() || said.stop() < last;
    is_outside.then(|| Fault::new(DamageKind::Times, detail))
}

/// Two definitions with the same id must be equal; a channel whose topic changes is damage.
fn check_definition(contents: &Contents, input: u32, record: Record<'_>) -> Result<(), Fault> {
    let short = |Short| Fault::framing(format!("definition {} bytes into the chunk", record.at));
    let conflict = |detail| Err(Fault::new(DamageKind::ChannelConflict, detail));
    let schemas = &contents.input(input).schemas;
    if record.opcode == op::SCHEMA {
        let schema = parse::schema(record.body).map_err(short)?;
        let known = schemas.get(&schema.header.id);
        return match known.filter(|known| **known != schema) {
            Some(known) => conflict(format!(
                "schema {} is {:?} and is defined again, differently, as {:?}; the first definition is used",
                schema.header.id, known.header.name, schema.header.name
            )),
            None => Ok(()),
        };
    }
    let channel = parse::channel(record.body).map_err(short)?;
    let topic = contents.topic_of(input, channel.id);
    let Some(topic) = topic.and_then(|id| contents.topics.get(id.index())) else {
        return Ok(());
    };
    let type_name = schemas.get(&channel.schema_id).map(|it| &it.header.name);
    let is_other_type = type_name.is_some_and(|name| name != topic.type_name());
    if topic.name != channel.topic || topic.encoding != channel.message_encoding || is_other_type {
        return conflict(format!(
            "channel {} is {:?} and is defined again, differently, as {:?}; the first definition is used",
            channel.id, topic.name, channel.topic
        ));
    }
    Ok(())
}

/// The length of the record at `at`, including its opcode and length field.
#[inline]
pub(crate) fn record_length(bytes: &[u8], at: u32) -> usize {
    let record = bytes
        .get(at as usize..)
        .and_then(|rest| Records::new(rest).next());
    let length = record.and_then(Result::ok).map(|r| r.body.len() + FRAME);
    length.expect("entries point at records that were walked before")
}

/// The channel of the message at `entry`.
#[inline]
pub(crate) fn channel(bytes: &[u8], entry: Entry) -> Option<u16> {
    let rest = bytes.get(entry.at as usize..)?;
    let record = Records::new(rest).next()?.ok()?;
    parse::message_header(record.body)
        .ok()
        .map(|it| it.channel_id)
}

/// The message at `entry`. `None` if there is none: a message index can be wrong about this, a scan cannot.
#[inline]
pub(crate) fn message(
    contents: &Contents,
    chunk: &Chunk,
    bytes: &Bytes,
    entry: Entry,
) -> Option<Message> {
    let at = entry.at as usize;
    let record = Records::new(bytes.get(at..)?).next()?.ok()?;
    if record.opcode != op::MESSAGE {
        return None;
    }
    let header = parse::message_header(record.body).ok()?;
    let (topic, publisher) = contents.publisher_of(chunk.input, header.channel_id)?;
    let payload = at + FRAME + MESSAGE_HEADER..at + FRAME + record.body.len();
    let log_time = Time::from_mcap(header.log_time);
    (parse::message_time(&header, contents.order) == entry.time).then(|| Message {
        key: entry.key(chunk),
        topic,
        publisher,
        log_time,
        publish_time: Time::from_mcap(header.publish_time),
        sequence: header.sequence,
        payload: bytes.slice(payload),
    })
}
