//! [`FileIndex`]: what one file holds and where.
//!
//! The same type whether the file's summary told it (`summary.rs`) or reading the file through found it
//! (`scan.rs`). A summary is used only if it checks out against the file, and what lies between the
//! chunks that it lists is looked at all the same, so that nothing goes missing that only the index
//! does not know of. Memory grows with the number of chunks, never with a declared size.

use std::collections::{BTreeMap, BTreeSet};

use super::scan::{End, Scan};
use super::summary::{Summary, Usable, Why};
use super::{definitions, inspect, summary, verify_chunks, verify_summary};
use crate::bag::damage::{Damage, DamageKind, Fault};
use crate::bag::mcap::chunk_ref::{ChunkRef, Form};
use crate::bag::mcap::record::{
    ChannelRecord, FRAME, Fields, Header, SchemaRecord, Statistics, op,
};
use crate::bag::open::error::BagError;
use crate::bag::open::file_kind;
use crate::bag::open::options::{MessageOrder, Opening};
use crate::bag::open::source::Source;

/// The largest header record that is read.
const MAX_HEADER: u64 = 1 << 20;
/// The most bytes of schemas and channels that are kept: 32 MiB, fifty times a large robot's.
const MAX_DEFINITIONS: u64 = 32 << 20;
/// How many faults of one index are reported.
pub(crate) const MOST_REPORTS: usize = 100;

/// Who told what is in a file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum IndexOrigin {
    /// The summary at its end.
    #[default]
    Summary,
    /// The file itself, read through when it was opened.
    Scan,
}

/// What a file holds and where.
#[derive(Debug, Default)]
pub(crate) struct FileIndex {
    pub(crate) origin: IndexOrigin,
    pub(crate) header: Header,
    pub(crate) schemas: BTreeMap<u16, SchemaRecord>,
    pub(crate) channels: BTreeMap<u16, ChannelRecord>,
    /// By offset, without duplicates.
    pub(crate) chunks: Vec<ChunkRef>,
    pub(crate) statistics: Option<Statistics>,
    pub(crate) compressions: BTreeSet<String>,
    pub(crate) compressed: u64,
    /// What was not as it should be.
    pub(crate) damage: Vec<Damage>,
    /// Where the data end, and the checksum over all of them, 0 if there is none.
    pub(crate) data_end: Option<(u64, u32)>,
    definition_bytes: u64,
    /// Chunks that could not be opened to learn what is in them, and why.
    pub(crate) unread: Vec<(u64, Fault)>,
    /// Whether there are more definitions than are kept.
    has_left_out: bool,
}

impl FileIndex {
    /// Reads the summary of a finished file, or else the file itself.
    pub(crate) fn read(source: &Source, opening: &Opening<'_>) -> Result<Self, BagError> {
        check_start(source)?;
        let mut index = match summary::read(source)? {
            Summary::Usable(mut usable) => match verify_summary::contradiction(source, &mut usable)
            {
                None => Self::checked(*usable, source, opening),
                Some(detail) => {
                    let why = Why {
                        offset: usable.data_end,
                        kind: DamageKind::Index,
                        detail: format!("{detail}, so the file was read through"),
                    };
                    Self::scanned(source, opening, Some(why))
                }
            },
            Summary::Absent => Self::scanned(source, opening, None),
            Summary::Unusable(why) => Self::scanned(source, opening, Some(why)),
        };
        match read_header(source)? {
            Some(header) => index.header = header,
            None if source.len < 8 + FRAME as u64 => {}
            None => index.report(source, 8, (DamageKind::Framing, "there is no header")),
        }
        index.chunks.sort_by_key(|chunk| chunk.offset);
        index.check_end(source);
        match opening.order {
            MessageOrder::Received => verify_chunks::settle(source, &mut index, opening),
            MessageOrder::Sent => inspect::all(source, &mut index, opening),
        }
        if index.statistics.is_none() {
            index.statistics = verify_chunks::counted(&index);
        }
        definitions::complete(source, &mut index, opening);
        if index.channels.is_empty() {
            // Without a topic nothing is going to be played, so nobody else would say what is wrong.
            for (at, fault) in std::mem::take(&mut index.unread) {
                index.report(source, at, (fault.kind, fault.detail));
            }
        }
        if index.has_left_out {
            let detail = "schemas and channels beyond 32 MiB are not kept";
            index.report(source, 0, (DamageKind::TooLarge, detail));
        }
        Ok(index)
    }

    /// A summary's index, completed by what it leaves out.
    fn checked(usable: Usable, source: &Source, opening: &Opening<'_>) -> Self {
        let Usable {
            mut index,
            covered,
            data_end,
        } = usable;
        let listed = index.chunks.len();
        let mut at = 8;
        let mut scan = Scan::new(source, &mut index, opening);
        let mut rests = Vec::new();
        for (start, end) in covered.into_iter().chain([(data_end, data_end)]) {
            if start > at
                && let End::Cut(cut) = scan.walk(at, start)
            {
                rests.push((cut, start - cut));
            }
            at = at.max(end);
        }
        for (at, length) in rests {
            let detail = format!("{length} bytes that are no records are skipped");
            index.report(source, at, (DamageKind::Framing, detail));
        }
        let found = index.chunks.len() - listed;
        let is_chunk = |chunk: &ChunkRef| chunk.form == Form::Chunk;
        if listed > 0 && index.chunks.iter().skip(listed).any(is_chunk) {
            let detail =
                format!("index lacks {found} of the chunks, which were found all the same");
            index.report(source, data_end, (DamageKind::Index, detail));
        }
        index
    }

    /// The index of a file that has none, or none that can be used and `why`.
    fn scanned(source: &Source, opening: &Opening<'_>, why: Option<Why>) -> Self {
        let mut index = Self {
            origin: IndexOrigin::Scan,
            ..Self::default()
        };
        let mut scan = Scan::new(source, &mut index, opening);
        let end = scan.walk(8, source.len);
        let mut counts = scan.counts();
        let truncated = |offset, detail| Why {
            offset,
            kind: DamageKind::Truncated,
            detail,
        };
        let rest = |from| source.len - from;
        let loss = match end {
            End::Footer(at) if at < source.len => {
                let detail = format!("{} bytes follow the end of the recording", rest(at));
                Some(truncated(at, detail))
            }
            End::Footer(_) => None,
            End::Edge => {
                let detail = "there is no footer (the recorder may have been killed)".to_owned();
                Some(truncated(source.len, detail))
            }
            End::Cut(at) => {
                let detail = format!("its last {} bytes are no whole record", rest(at));
                Some(truncated(at, detail))
            }
        };
        // One thing is said once: that the end is missing is why there is no index.
        let why = why.filter(|why| why.kind != DamageKind::Truncated || loss.is_none());
        for Why {
            offset,
            kind,
            detail,
        } in why.into_iter().chain(loss)
        {
            index.report(source, offset, (kind, detail));
        }
        if let Some(more) = inspect::untold(source, &mut index, opening) {
            for (channel, count) in more {
                *counts.entry(channel).or_default() += count;
            }
            index.statistics = Some(Statistics {
                messages: counts.values().sum(),
                chunks: u32::try_from(index.chunks.len()).unwrap_or(u32::MAX),
                times: None,
                per_channel: counts,
            });
        }
        index
    }

    /// Keeps the first definition of a schema. Whether `schema` is as it, or is it.
    pub(crate) fn define_schema(&mut self, schema: SchemaRecord) -> bool {
        if let Some(known) = self.schemas.get(&schema.id) {
            return *known == schema;
        }
        if self.is_room(schema.name.len() + schema.encoding.len() + schema.data.len()) {
            self.schemas.insert(schema.id, schema);
        }
        true
    }

    /// Keeps the first definition of a channel. Whether `channel` is as it, or is it.
    pub(crate) fn define_channel(&mut self, channel: ChannelRecord) -> bool {
        if let Some(known) = self.channels.get(&channel.id) {
            return (&known.topic, &known.encoding, known.schema)
                == (&channel.topic, &channel.encoding, channel.schema);
        }
        let pairs = channel.metadata.iter();
        let metadata: usize = pairs.map(|(key, value)| key.len() + value.len()).sum();
        if self.is_room(channel.topic.len() + channel.encoding.len() + metadata) {
            self.channels.insert(channel.id, channel);
        }
        true
    }

    /// Notes what stands behind the end of the data: nothing should, but it is played as what stands before.
    fn check_end(&mut self, source: &Source) {
        let Some((end, _)) = self.data_end else {
            return;
        };
        let mut behind = self.chunks.iter().filter(|chunk| chunk.offset > end);
        if let Some(at) = behind.next().map(|chunk| chunk.offset) {
            let detail = "messages stand behind the end of the data; they are played, other readers may leave them out";
            self.report(source, at, (DamageKind::Framing, detail));
        }
    }

    fn is_room(&mut self, size: usize) -> bool {
        let after = self.definition_bytes + size as u64;
        let is_room = after <= MAX_DEFINITIONS;
        if is_room {
            self.definition_bytes = after;
        } else {
            self.has_left_out = true;
        }
        is_room
    }

    /// Takes note of how a chunk is compressed.
    pub(crate) fn count_compression(&mut self, name: &str, compressed: u64) {
        self.compressed = self.compressed.saturating_add(compressed);
        let name = if name.is_empty() { "none" } else { name };
        if self.compressions.len() < MOST_REPORTS {
            self.compressions.insert(name.to_owned());
        }
    }

    /// The size of all chunks decompressed, as declared.
    pub(crate) fn uncompressed(&self) -> u64 {
        let packed = self.chunks.iter().filter(|it| it.form == Form::Chunk);
        let sizes = packed.map(|chunk| chunk.uncompressed);
        sizes.fold(0, u64::saturating_add)
    }

    /// Notes that a schema or channel was defined before, and otherwise.
    pub(crate) fn report_conflict(&mut self, source: &Source, at: u64, (what, id): (&str, u16)) {
        let detail = format!("{what} {id} is defined again, differently; the first one holds");
        self.report(source, at, (DamageKind::ChannelConflict, detail));
    }

    /// Notes what is wrong. Only so much: one bad file can be wrong about millions of things.
    pub(crate) fn report(
        &mut self,
        source: &Source,
        offset: u64,
        (kind, detail): (DamageKind, impl Into<String>),
    ) {
        if self.damage.len() < MOST_REPORTS {
            self.damage.push(Damage {
                file: source.path.clone(),
                offset,
                kind,
                detail: detail.into(),
            });
        }
    }
}

/// Refuses a file that does not begin as an MCAP file does, with what it is instead.
fn check_start(source: &Source) -> Result<(), BagError> {
    let head = source.read_to_open(0, source.len.min(file_kind::HEAD))?;
    match file_kind::foreign(&head) {
        None => Ok(()),
        Some((found, hint)) => Err(BagError::NotMcap {
            path: source.path.clone(),
            found,
            hint,
        }),
    }
}

fn read_header(source: &Source) -> Result<Option<Header>, BagError> {
    if !source.holds(8, FRAME as u64) {
        return Ok(None);
    }
    let frame = source.read_to_open(8, FRAME as u64)?;
    let length = Fields(frame.get(1..).unwrap_or_default()).u64();
    let length = length.unwrap_or(u64::MAX);
    if frame.first() != Some(&op::HEADER) || length > MAX_HEADER || !source.holds(17, length) {
        return Ok(None);
    }
    Ok(Header::parse(&source.read_to_open(17, length)?).ok())
}
