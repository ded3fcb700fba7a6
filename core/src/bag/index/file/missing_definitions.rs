//! Finds schemas and channels that a summary does not repeat, in the chunks that define them.
//!
//! Message indexes and statistics show which ones are missing; chunks with neither have been opened before
//! (`verify_chunks.rs`). A definition is somewhere before its first use. Chunks that use a missing channel are searched
//! first, because writers put definitions there; then all others, from the first on.

use std::collections::BTreeSet;

use mcap::records::op;

use super::file_index::FileIndex;
use crate::bag::damage::{DamageKind, Fault};
use crate::bag::decompress::budget::Meter;
use crate::bag::decompress::chunk::Decoder;
use crate::bag::mcap::chunk_ref::ChunkRef;
use crate::bag::mcap::parse;
use crate::bag::mcap::record::Records;
use crate::bag::open::options::Opening;
use crate::bag::open::source::Source;

/// How many bytes may be decompressed in all for definitions: this many times the size of the file, or this many for
/// any file.
const MOST_TIMES: u64 = 64;
const MOST_ALWAYS: u64 = 4 << 30;

/// Adds what the summary uses but does not define.
pub(crate) fn complete(source: &Source, index: &mut FileIndex, opening: &Opening<'_>) {
    let chunks = index.chunks.iter();
    let listed = chunks.flat_map(|chunk| chunk.message_indexes.iter());
    let mut used: BTreeSet<u16> = listed.map(|it| it.channel).collect();
    if let Some(statistics) = index.statistics.as_ref() {
        let counts = statistics.channel_message_counts.iter();
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
    // If the first chunk of a channel is broken, a later chunk may define the channel again.
    search.ask(index, |missing, chunk| {
        let mut channels = chunk.message_indexes.iter().map(|it| it.channel);
        channels.any(|channel| missing.contains(&channel))
    });
    search.ask(index, |_, _| true);
    // No chunk of these channels will be played, so the faults would not be reported later.
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
                found.schema_id, found.topic
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
    /// How many bytes may still be decompressed.
    left: u64,
    broken: Vec<(u64, Fault)>,
}

impl Search<'_> {
    /// Opens chunks from the first on, until nothing is missing.
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
            let (name, at) = (&self.source.name, chunk.offset);
            self.opening.tell(name, at, self.source.len);
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

/// Whether the channel or its schema is not defined.
fn is_missing(index: &FileIndex, channel: u16) -> bool {
    let channel = index.channels.get(&channel);
    channel.is_none_or(|it| it.schema_id != 0 && !index.schemas.contains_key(&it.schema_id))
}

fn take(index: &mut FileIndex, records: &[u8]) {
    for record in Records::new(records).map_while(Result::ok) {
        match record.opcode {
            op::SCHEMA => {
                if let Ok(schema) = parse::schema(record.body) {
                    index.define_schema(schema);
                }
            }
            op::CHANNEL => {
                if let Ok(channel) = parse::channel(record.body) {
                    index.define_channel(channel);
                }
            }
            _ => {}
        }
    }
}
