//! Schemas and channels that a summary does not repeat: fetched from the chunks that define them.
//!
//! Which ones there are is known from the message indexes and the statistics; chunks that tell neither have
//! been opened before (`verify_chunks.rs`). A definition stands anywhere before its first use, so the chunks that use it
//! are asked first, which is where writers put it, then all others from the first on.

use std::collections::BTreeSet;

use super::file_index::FileIndex;
use crate::bag::damage::{DamageKind, Fault};
use crate::bag::decompress::budget::Meter;
use crate::bag::decompress::chunk::Decoder;
use crate::bag::mcap::chunk_ref::ChunkRef;
use crate::bag::mcap::record::{ChannelRecord, Records, SchemaRecord, op};
use crate::bag::open::options::Opening;
use crate::bag::open::read_at::Source;

/// How many times its size a file may be decompressed to in all for definitions, and what any may.
const MOST_TIMES: u64 = 64;
const MOST_ALWAYS: u64 = 4 << 30;

/// Adds what the summary uses but does not define.
pub(crate) fn complete(source: &Source, index: &mut FileIndex, opening: &Opening<'_>) {
    let chunks = index.chunks.iter();
    let listed = chunks.flat_map(|chunk| chunk.message_indexes.iter());
    let mut used: BTreeSet<u16> = listed.map(|it| it.channel).collect();
    if let Some(statistics) = index.statistics.as_ref() {
        let counts = statistics.per_channel.iter();
        used.extend(counts.filter(|(_, count)| **count > 0).map(|(id, _)| *id));
    }
    used.extend(index.channels.keys().copied());
    let mut search = Search {
        source,
        opening,
        decoder: Decoder::default(),
        missing: used.clone(),
        opened: BTreeSet::new(),
        left: source.len.saturating_mul(MOST_TIMES).max(MOST_ALWAYS),
        broken: Vec::new(),
    };
    search.missing.retain(|id| is_missing(index, *id));
    // A channel whose first chunk is broken may be defined again in a later one.
    search.ask(index, |missing, chunk| {
        let mut channels = chunk.message_indexes.iter().map(|it| it.channel);
        channels.any(|channel| missing.contains(&channel))
    });
    search.ask(index, |_, _| true);
    // Nothing of these channels is going to be opened, so nobody else would say what was wrong.
    let is_lost = !search.missing.is_empty();
    for (at, fault) in search.broken.into_iter().filter(|_| is_lost) {
        index.report(source, at, (fault.kind, fault.detail));
    }
    used.retain(|id| is_missing(index, *id));
    for channel in used {
        let detail = match index.channels.get(&channel) {
            None => format!("channel {channel} is not defined, its messages are skipped"),
            Some(found) => format!(
                "schema {} of channel {:?} is not defined",
                found.schema, found.topic
            ),
        };
        index.report(source, 0, (DamageKind::Index, detail));
    }
}

struct Search<'a> {
    source: &'a Source,
    opening: &'a Opening<'a>,
    decoder: Decoder,
    /// Channels that are not defined, or whose schema is not.
    missing: BTreeSet<u16>,
    /// Places of chunks that need not be opened again.
    opened: BTreeSet<usize>,
    /// How much may still be decompressed.
    left: u64,
    broken: Vec<(u64, Fault)>,
}

impl Search<'_> {
    /// Opens chunks from the first on until nothing is missing.
    fn ask(&mut self, index: &mut FileIndex, is_asked: fn(&BTreeSet<u16>, &ChunkRef) -> bool) {
        for place in 0..index.chunks.len() {
            let Some(chunk) = index.chunks.get(place) else {
                return;
            };
            if self.missing.is_empty() {
                return;
            }
            if self.opened.contains(&place) || !is_asked(&self.missing, chunk) {
                continue;
            }
            let Some(left) = self.left.checked_sub(chunk.cost()) else {
                continue;
            };
            self.left = left;
            self.opened.insert(place);
            let (path, at) = (&self.source.path, chunk.offset);
            self.opening.tell(path, at, self.source.len);
            match self.decoder.read(self.source, chunk, &Meter::unbounded()) {
                Ok(records) => {
                    take(index, &records.bytes);
                    self.missing.retain(|id| is_missing(index, *id));
                }
                Err(fault) => self.broken.push((at, fault)),
            }
        }
    }
}

/// Whether the channel is not defined, or its schema is not.
fn is_missing(index: &FileIndex, channel: u16) -> bool {
    let channel = index.channels.get(&channel);
    channel.is_none_or(|it| it.schema != 0 && !index.schemas.contains_key(&it.schema))
}

fn take(index: &mut FileIndex, records: &[u8]) {
    for record in Records::new(records).map_while(Result::ok) {
        match record.opcode {
            op::SCHEMA => {
                if let Ok(schema) = SchemaRecord::parse(record.body) {
                    index.define_schema(schema);
                }
            }
            op::CHANNEL => {
                if let Ok(channel) = ChannelRecord::parse(record.body) {
                    index.define_channel(channel);
                }
            }
            _ => {}
        }
    }
}
