//! Schemas and channels that a summary does not repeat: fetched from the chunks that use them.
//!
//! The specification wants them repeated in an indexed file, but writers leave them out. Which ones
//! there are is known from the message indexes and the statistics; each costs at most one chunk.

use std::collections::BTreeSet;

use super::budget::Meter;
use super::chunk::Decoder;
use super::error::DamageKind;
use super::index::{FileIndex, IndexOrigin};
use super::record::{ChannelRecord, Records, SchemaRecord, op};
use super::source::Source;

/// How many chunks are opened for definitions at most, so that opening a file stays quick.
const MOST_CHUNKS: usize = 256;
/// The same for a file that was read through anyway.
const MOST_SCANNED: usize = 4096;

/// Adds what the summary uses but does not define.
pub(super) fn complete(source: &Source, index: &mut FileIndex) {
    let chunks = index.chunks.iter();
    let listed = chunks.flat_map(|chunk| chunk.message_indexes.iter());
    let mut used: BTreeSet<u16> = listed.map(|it| it.channel).collect();
    if let Some(statistics) = index.statistics.as_ref() {
        used.extend(statistics.per_channel.keys().copied());
    }
    used.extend(index.channels.keys().copied());
    let most = match index.origin {
        IndexOrigin::Summary => MOST_CHUNKS,
        IndexOrigin::Scan => MOST_SCANNED,
    };
    let mut missing = used.clone();
    missing.retain(|id| is_missing(index, *id));
    let mut decoder = Decoder::default();
    let (mut opened, mut broken) = (0, Vec::new());
    // A channel whose first chunk is broken may be defined again in a later one.
    for place in 0..index.chunks.len() {
        if missing.is_empty() || opened >= most {
            break;
        }
        let Some(chunk) = index.chunks.get(place) else {
            break;
        };
        let mut channels = chunk.message_indexes.iter().map(|it| it.channel);
        if !channels.any(|channel| missing.contains(&channel)) {
            continue;
        }
        opened += 1;
        match decoder.read(source, chunk, &Meter::unbounded()) {
            Ok(records) => {
                take(index, &records.bytes);
                missing.retain(|id| is_missing(index, *id));
            }
            Err(fault) => broken.push((chunk.offset, fault)),
        }
    }
    // Nothing of these channels is going to be opened, so nobody else would say what was wrong.
    for (at, fault) in broken.into_iter().filter(|_| !missing.is_empty()) {
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
