//! [`FileIndex`]: what one file holds and where, read from its summary.
//!
//! The summary is used only if it checks out against the file: magic at both ends, footer, checksum,
//! every offset inside the data section. Files without a usable one are refused here; a header-only
//! scan that yields the same type is to take over at [`BagError::Unindexed`] and
//! [`BagError::Damaged`]. Memory is bounded by [`MAX_SUMMARY`] and by the bytes that are there.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use super::error::{BagError, Damage, DamageKind, RECOVER};
use super::record::{
    ChannelRecord, ChunkIndexRecord, FRAME, Fields, Header, MAGIC, Records, SchemaRecord, Short,
    Statistics, op,
};
use super::source::Source;
use crate::time::{Ros, Time};

/// The largest summary that is read: 256 MiB, a thousand times a usual one.
const MAX_SUMMARY: u64 = 256 << 20;
/// The largest header record that is read.
const MAX_HEADER: u64 = 1 << 20;
/// Footer record and magic at the end of every finished file.
const TAIL: u64 = 9 + 20 + 8;
/// How many records are looked at to tell an empty recording from one without an index.
const LOOK_AHEAD: usize = 1000;

/// How many faults of one index are reported.
const MOST_REPORTS: usize = 100;

/// Where a chunk is and which times it covers.
#[derive(Clone, Debug)]
pub(super) struct ChunkRef {
    /// Offset of the chunk record in the file, and its length with the frame.
    pub(super) offset: u64,
    pub(super) length: u64,
    /// First and last log time, as far as the index knows.
    pub(super) start: Time<Ros>,
    pub(super) end: Time<Ros>,
    /// Decompressed size, as declared by the index.
    pub(super) uncompressed: u64,
    /// Channel and message index offset, by channel; empty if the writer left no message indexes.
    pub(super) message_indexes: Box<[(u16, u64)]>,
}

impl ChunkRef {
    /// Whether its index says that there is nothing in it.
    pub(super) fn is_empty(&self) -> bool {
        self.uncompressed == 0 && self.message_indexes.is_empty()
    }

    /// Whether its index does not tell its times.
    pub(super) fn is_any_time(&self) -> bool {
        (self.start, self.end) == (Time::MIN, Time::MAX)
    }
}

/// What a file holds and where.
#[derive(Debug, Default)]
pub(super) struct FileIndex {
    pub(super) header: Header,
    pub(super) schemas: BTreeMap<u16, SchemaRecord>,
    pub(super) channels: BTreeMap<u16, ChannelRecord>,
    /// By offset, without duplicates.
    pub(super) chunks: Vec<ChunkRef>,
    pub(super) statistics: Option<Statistics>,
    pub(super) compressions: BTreeSet<String>,
    pub(super) compressed: u64,
    pub(super) uncompressed: u64,
    /// What the index is wrong about without being useless.
    pub(super) damage: Vec<Damage>,
}

impl FileIndex {
    /// Reads the summary of a finished file.
    pub(super) fn read(source: &Source) -> Result<Self, BagError> {
        let unindexed = |offset, detail: &str| unindexed(source, offset, detail);
        check_start(source)?;
        if source.len < 8 + TAIL {
            return Err(unindexed(source.len, "the file ends before its footer"));
        }
        let tail_at = source.len - TAIL;
        let tail = read(source, tail_at, TAIL)?;
        if tail.get(29..) != Some(&MAGIC) {
            return Err(unindexed(
                source.len,
                "the file does not end with a footer, its recorder may have been killed",
            ));
        }
        let footer = Records::new(&tail).next().and_then(Result::ok);
        let Some(footer) = footer.filter(|r| r.opcode == op::FOOTER && r.body.len() == 20) else {
            return Err(unindexed(tail_at, "there is no footer"));
        };
        let mut fields = Fields(footer.body);
        let (Ok(start), Ok(_), Ok(crc)) = (fields.u64(), fields.u64(), fields.u32()) else {
            return Err(unindexed(tail_at, "the footer is cut short"));
        };
        let mut index = Self {
            header: read_header(source)?,
            ..Self::default()
        };
        if start != 0 {
            if start < 8 || start > tail_at || tail_at - start > MAX_SUMMARY {
                let detail = format!("the footer puts the summary at {start}");
                return Err(damaged(source, tail_at, detail));
            }
            let mut summary = read(source, start, tail_at - start)?;
            // The checksum covers the footer up to itself.
            summary.extend_from_slice(tail.get(..FRAME + 16).unwrap_or_default());
            if crc != 0 && crc32fast::hash(&summary) != crc {
                let detail = "the summary fails its checksum".to_owned();
                return Err(damaged(source, start, detail));
            }
            summary.truncate(summary.len() - FRAME - 16);
            index.take_summary(source, start, &summary)?;
        }
        if index.chunks.is_empty() && !is_empty(source)? {
            return Err(unindexed(start, "the summary lists no chunks"));
        }
        Ok(index)
    }

    fn take_summary(
        &mut self,
        source: &Source,
        start: u64,
        summary: &[u8],
    ) -> Result<(), BagError> {
        let mut records = Records::new(summary);
        while let Some(record) = records.next() {
            let at = start + records.position() as u64;
            let record = record
                .map_err(|_| damaged(source, at, "a record runs past the summary".to_owned()))?;
            let at = start + record.at as u64;
            let taken = self.take(source, start, at, (record.opcode, record.body));
            taken.map_err(|Short| {
                let detail = format!("summary record {:#04x} is cut short", record.opcode);
                damaged(source, at, detail)
            })?;
        }
        self.chunks.sort_by_key(|chunk| chunk.offset);
        self.chunks.dedup_by_key(|chunk| chunk.offset);
        for chunk in &self.chunks {
            self.uncompressed = self.uncompressed.saturating_add(chunk.uncompressed);
        }
        let listed = self.chunks.len();
        if let Some(statistics) = self.statistics.as_ref()
            && statistics.chunks as usize != listed
        {
            let detail = format!("index lists {listed} of {} chunks", statistics.chunks);
            self.report(source, start, detail);
        }
        Ok(())
    }

    fn take(
        &mut self,
        source: &Source,
        data_end: u64,
        at: u64,
        (opcode, body): (u8, &[u8]),
    ) -> Result<(), Short> {
        match opcode {
            op::SCHEMA => {
                let schema = SchemaRecord::parse(body)?;
                self.schemas.entry(schema.id).or_insert(schema);
            }
            op::CHANNEL => {
                let channel = ChannelRecord::parse(body)?;
                self.channels.entry(channel.id).or_insert(channel);
            }
            op::STATISTICS => self.statistics = Some(Statistics::parse(body)?),
            op::CHUNK_INDEX => self.take_chunk(source, data_end, at, body)?,
            _ => {}
        }
        Ok(())
    }

    fn take_chunk(
        &mut self,
        source: &Source,
        data_end: u64,
        at: u64,
        body: &[u8],
    ) -> Result<(), Short> {
        let record = ChunkIndexRecord::parse(body)?;
        let (offset, length) = (record.offset, record.length);
        let end = offset.checked_add(length);
        if offset < 8 || length < FRAME as u64 || end.is_none_or(|end| end > data_end) {
            let detail = format!("index puts a chunk of {length} bytes at {offset}: skipped");
            self.report(source, at, detail);
            return Ok(());
        }
        let (start, end) = times(record.start, record.end);
        let mut message_indexes = record.message_indexes;
        message_indexes.sort_unstable();
        message_indexes.dedup_by_key(|(channel, _)| *channel);
        self.compressed = self.compressed.saturating_add(record.compressed);
        self.compressions.insert(match record.compression.as_str() {
            "" => "none".to_owned(),
            name => name.to_owned(),
        });
        self.chunks.push(ChunkRef {
            offset,
            length,
            start,
            end,
            uncompressed: record.uncompressed,
            message_indexes: message_indexes.into_boxed_slice(),
        });
        Ok(())
    }

    /// Notes that the index is wrong about something. Only so many: one bad summary can list millions.
    pub(super) fn report(&mut self, source: &Source, offset: u64, detail: String) {
        if self.damage.len() >= MOST_REPORTS {
            return;
        }
        self.damage.push(Damage {
            file: source.path.clone(),
            offset,
            kind: DamageKind::Index,
            detail,
        });
    }
}

/// The times of a chunk. A negative stamp is recorded as a huge one, so a chunk with stamps on both
/// sides of zero has its ends the wrong way round, as has a damaged one: either may hold any time.
fn times(start: u64, end: u64) -> (Time<Ros>, Time<Ros>) {
    let (start, end) = (Time::from_mcap(start), Time::from_mcap(end));
    if start <= end {
        (start, end)
    } else {
        (Time::MIN, Time::MAX)
    }
}

/// Whether the first bytes are those of an MCAP file; if not, what they are.
fn check_start(source: &Source) -> Result<(), BagError> {
    let head = read(source, 0, source.len.min(24))?;
    if head.starts_with(&MAGIC) {
        return Ok(());
    }
    let (found, hint) = match &head[..] {
        [] => ("an empty file", "the recording was never written"),
        h if h.starts_with(&MAGIC[..5]) => (
            "an MCAP file of an unknown version",
            "a newer version of this program may read it",
        ),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => (
            "a zstd-compressed file",
            "decompress it with `zstd -d` first",
        ),
        h if h.starts_with(b"#ROSBAG") => {
            ("a ROS 1 bag", "`mcap convert in.bag out.mcap` converts it")
        }
        h if h.starts_with(b"SQLite format 3") => (
            "a rosbag2 sqlite3 database",
            "`ros2 bag convert` converts it to the mcap storage",
        ),
        h if h.starts_with(b"version https://git-lfs") => (
            "a git-lfs pointer",
            "`git lfs pull` fetches the recording itself",
        ),
        _ => ("unknown bytes", "name an .mcap file"),
    };
    Err(BagError::NotMcap {
        path: source.path.clone(),
        found,
        hint,
    })
}

fn read_header(source: &Source) -> Result<Header, BagError> {
    let bad = |detail: &str| damaged(source, 8, detail.to_owned());
    let frame = read(source, 8, FRAME as u64)?;
    let length = Fields(frame.get(1..).unwrap_or_default()).u64();
    let length = length.map_err(|Short| bad("there is no header"))?;
    if frame.first() != Some(&op::HEADER) || length > MAX_HEADER || !source.holds(17, length) {
        return Err(bad("there is no header"));
    }
    Header::parse(&read(source, 17, length)?).map_err(|Short| bad("the header is cut short"))
}

/// Whether the data section ends before any message: tells an empty recording from an unindexed one.
fn is_empty(source: &Source) -> Result<bool, BagError> {
    let mut at = 8_u64;
    for _ in 0..LOOK_AHEAD {
        if !source.holds(at, FRAME as u64) {
            return Ok(false);
        }
        let frame = read(source, at, FRAME as u64)?;
        match frame.first() {
            Some(&op::DATA_END | &op::FOOTER) => return Ok(true),
            None | Some(&op::MESSAGE | &op::CHUNK) => return Ok(false),
            Some(_) => {}
        }
        let length = Fields(frame.get(1..).unwrap_or_default()).u64();
        let next = length
            .ok()
            .and_then(|n| at.checked_add(n)?.checked_add(FRAME as u64));
        let Some(next) = next else { return Ok(false) };
        at = next;
    }
    Ok(false)
}

fn read(source: &Source, offset: u64, length: u64) -> Result<Vec<u8>, BagError> {
    let bytes: io::Result<_> = source.read(offset, length);
    bytes.map_err(|error| source.error(offset, error))
}

fn unindexed(source: &Source, offset: u64, detail: &str) -> BagError {
    BagError::Unindexed {
        path: source.path.clone(),
        offset,
        detail: detail.to_owned(),
        hint: RECOVER,
    }
}

fn damaged(source: &Source, offset: u64, detail: String) -> BagError {
    BagError::Damaged {
        path: source.path.clone(),
        offset,
        detail,
        hint: RECOVER,
    }
}
