//! Reads the summary at the end of a finished file into a [`FileIndex`].
//!
//! It is used only if the file ends with the magic and a footer, the checksum of the summary matches, and every offset
//! is inside the data section. `verify_summary.rs` compares it with the file. Memory is bounded by [`MAX_SUMMARY`] and
//! by the length of the file.

use mcap::MAGIC;
use mcap::records::op;

use super::file_index::FileIndex;
use crate::bag::damage::DamageKind;
use crate::bag::mcap::chunk_ref::{ChunkRef, Indexed, Storage};
use crate::bag::mcap::limits::most_indexes;
use crate::bag::mcap::parse::{self, times};
use crate::bag::mcap::record::{FRAME, Records, Short};
use crate::bag::open::error::BagError;
use crate::bag::open::source::Source;

/// The largest summary that is read: 256 MiB, a thousand times a usual one.
const MAX_SUMMARY: u64 = 256 << 20;
/// The footer record and the magic at the end of every finished file, in bytes.
const TAIL: u64 = 9 + 20 + 8;

/// The length of a chunk index record that lists no message index and names no compression, in bytes.
const SHORTEST_CHUNK_INDEX: usize = FRAME + 8 * 4 + 4 + 8 + 4 + 8 * 2;

/// The result of reading the end of a file.
pub(crate) enum Summary {
    Usable(Box<Usable>),
    /// The file is finished but has no summary.
    Absent,
    Unusable(Why),
}

/// A summary that passed the checks.
pub(crate) struct Usable {
    pub(crate) index: FileIndex,
    /// The ranges of the chunks that it lists, with their message indexes, in order.
    pub(crate) covered: Vec<(u64, u64)>,
    /// Where the data section ends.
    pub(crate) data_end: u64,
}

/// Why a summary is not used.
pub(crate) struct Why {
    pub(crate) offset: u64,
    pub(crate) kind: DamageKind,
    pub(crate) detail: String,
}

/// Reads the summary of a file that begins with the magic.
pub(crate) fn read(source: &Source) -> Result<Summary, BagError> {
    let cut = |offset, detail: &str| {
        Ok(Summary::Unusable(Why {
            offset,
            kind: DamageKind::Truncated,
            detail: detail.to_owned(),
        }))
    };
    if source.len < 8 + TAIL {
        return cut(source.len, "the file ends before its footer");
    }
    let tail_at = source.len - TAIL;
    let tail = source.read_to_open(tail_at, TAIL)?;
    if tail.get(29..) != Some(MAGIC) {
        return cut(
            source.len,
            "the file does not end with the MCAP magic bytes, so it was scanned",
        );
    }
    let footer = Records::new(&tail).next().and_then(Result::ok);
    let Some(footer) = footer.filter(|r| r.opcode == op::FOOTER && r.body.len() == 20) else {
        return cut(tail_at, "there is no footer, so the file was scanned");
    };
    let Ok(footer) = parse::footer(footer.body) else {
        return cut(tail_at, "the footer is cut short");
    };
    let (start, crc) = (footer.summary_start, footer.summary_crc);
    if start == 0 {
        return Ok(Summary::Absent);
    }
    if start < 8 || start > tail_at || tail_at - start > MAX_SUMMARY {
        let detail = format!("the footer puts the summary at {start}, so the file was scanned");
        return Ok(unusable(tail_at, detail));
    }
    // The checksum covers the footer up to the checksum itself.
    let to_checksum = FRAME + 16;
    let mut summary = source.read_to_open(start, tail_at - start + to_checksum as u64)?;
    if crc != 0 && crc32fast::hash(&summary) != crc {
        let detail = "the summary fails its checksum, so the file was scanned".to_owned();
        return Ok(unusable(start, detail));
    }
    summary.truncate(summary.len() - to_checksum);
    let mut reading = Reading {
        source,
        start,
        index: FileIndex::default(),
        covered: Vec::new(),
    };
    Ok(match reading.take_all(&summary) {
        Ok(()) => Summary::Usable(Box::new(Usable {
            index: reading.index,
            covered: reading.covered,
            data_end: start,
        })),
        Err((at, detail)) => unusable(at, format!("{detail}, so the file was scanned")),
    })
}

fn unusable(offset: u64, detail: String) -> Summary {
    Summary::Unusable(Why {
        offset,
        kind: DamageKind::Index,
        detail,
    })
}

struct Reading<'a> {
    source: &'a Source,
    /// Where the summary begins.
    start: u64,
    index: FileIndex,
    covered: Vec<(u64, u64)>,
}

impl Reading<'_> {
    fn take_all(&mut self, summary: &[u8]) -> Result<(), (u64, String)> {
        // Growing would copy the table several times.
        self.index
            .chunks
            .reserve(summary.len() / SHORTEST_CHUNK_INDEX);
        let mut records = Records::new(summary);
        while let Some(record) = records.next() {
            let at = self.start + records.position() as u64;
            let record = record.map_err(|_| (at, "a record runs past the summary".to_owned()))?;
            let at = self.start + record.at as u64;
            if matches!(
                record.opcode,
                op::MESSAGE | op::CHUNK | op::MESSAGE_INDEX | op::DATA_END
            ) {
                return Err((at, "the summary begins among the data".to_owned()));
            }
            let taken = self.take(at, (record.opcode, record.body));
            taken.map_err(|Short| {
                let detail = format!("summary record {:#04x} is cut short", record.opcode);
                (at, detail)
            })?;
        }
        self.covered.sort_unstable();
        let chunks = &mut self.index.chunks;
        chunks.sort_by_key(|chunk| chunk.offset);
        chunks.dedup_by_key(|chunk| chunk.offset);
        Ok(())
    }

    fn take(&mut self, at: u64, (opcode, body): (u8, &[u8])) -> Result<(), Short> {
        match opcode {
            op::SCHEMA => {
                let schema = parse::schema(body)?;
                let id = schema.header.id;
                if !self.index.define_schema(schema) {
                    self.index.report_conflict(self.source, at, ("schema", id));
                }
            }
            op::CHANNEL => {
                let channel = parse::channel(body)?;
                let id = channel.id;
                if !self.index.define_channel(channel) {
                    self.index.report_conflict(self.source, at, ("channel", id));
                }
            }
            op::STATISTICS => self.index.statistics = Some(parse::statistics(body)?),
            op::CHUNK_INDEX => self.take_chunk(at, body)?,
            _ => {}
        }
        Ok(())
    }

    fn take_chunk(&mut self, at: u64, body: &[u8]) -> Result<(), Short> {
        let record = parse::chunk_index(body)?;
        let (offset, length) = (record.offset, record.length);
        let end = offset.checked_add(length).filter(|end| *end <= self.start);
        let Some(end) = end.filter(|_| offset >= 8 && length >= FRAME as u64) else {
            let detail = format!("index puts a chunk of {length} bytes at {offset}: skipped");
            self.index
                .report(self.source, at, (DamageKind::Index, detail));
            return Ok(());
        };
        let listed = record.message_indexes;
        let most = most_indexes(record.uncompressed, listed.len());
        let told = Some(record.message_index_length).filter(|length| *length <= most);
        let indexed = told.and_then(|length| end.checked_add(length));
        let indexed = indexed.filter(|indexed| *indexed <= self.start);
        self.covered.push((offset, indexed.unwrap_or(end)));
        if !listed.is_empty() {
            let length = record.message_index_length;
            self.index.lengths.add(offset, listed.len(), length);
        }
        let message_indexes = listed.iter().map(|(channel, offset)| Indexed {
            channel: *channel,
            count: 0,
            offset: *offset,
        });
        self.index
            .count_compression(&record.compression, record.compressed);
        self.index.chunks.push(ChunkRef {
            storage: Storage::Chunk,
            offset,
            length,
            times: times(record.times.0, record.times.1),
            uncompressed: record.uncompressed,
            message_indexes: message_indexes.collect(),
        });
        Ok(())
    }
}
