//! Makes the [`FileIndex`] of one file: from its summary, or by reading through the file.
//!
//! All other steps are called from here, in this order: summary, comparison with the file, scan, opening of chunks,
//! definitions. A summary is used only if the file does not contradict it. The bytes between the chunks that it lists
//! are scanned in any case, so nothing is lost that the summary leaves out.

use mcap::records::{Header, Statistics, op};

use super::file_index::{FileIndex, IndexOrigin};
use super::scan::{End, Scan};
use super::summary_section::{Summary, Usable, Why};
use super::{inspect, missing_definitions, summary_section, verify_chunks, verify_summary};
use crate::bag::damage::DamageKind;
use crate::bag::mcap::chunk_ref::{ChunkRef, Storage};
use crate::bag::mcap::parse;
use crate::bag::mcap::record::{FRAME, Fields};
use crate::bag::open::error::BagError;
use crate::bag::open::file_kind;
use crate::bag::open::options::{MessageOrder, Opening};
use crate::bag::open::source::Source;

/// The largest header record that is read.
const MAX_HEADER: u64 = 1 << 20;

/// Reads the summary of a finished file, or otherwise reads through the file.
pub(crate) fn read(source: &Source, opening: &Opening<'_>) -> Result<FileIndex, BagError> {
    check_start(source)?;
    let mut index = match summary_section::read(source)? {
        Summary::Usable(mut usable) => match verify_summary::contradiction(source, &mut usable) {
            None => checked(*usable, source, opening),
            Some(detail) => {
                let why = Why {
                    offset: usable.data_end,
                    kind: DamageKind::Index,
                    detail: format!("{detail}, so the file was scanned"),
                };
                scanned(source, opening, Some(why))
            }
        },
        Summary::Absent => scanned(source, opening, None),
        Summary::Unusable(why) => scanned(source, opening, Some(why)),
    };
    match read_header(source)? {
        Some(header) => index.header = Some(header),
        None if source.len < 8 + FRAME as u64 => {}
        None => index.report(source, 8, (DamageKind::Framing, "there is no header")),
    }
    index.chunks.sort_unstable_by_key(|chunk| chunk.offset);
    check_end(source, &mut index);
    match opening.order {
        MessageOrder::Received => verify_chunks::verify(source, &mut index, opening),
        MessageOrder::Sent => inspect::all(source, &mut index, opening),
    }
    verify_summary::compare_statistics(source, &mut index);
    missing_definitions::complete(source, &mut index, opening);
    if index.channels.is_empty() {
        // Without a topic nothing is played, so these faults would not be reported later.
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

/// The index from the summary, with what is between the chunks that it lists.
fn checked(usable: Usable, source: &Source, opening: &Opening<'_>) -> FileIndex {
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
    let is_chunk = |chunk: &ChunkRef| chunk.storage == Storage::Chunk;
    if listed > 0 && index.chunks.iter().skip(listed).any(is_chunk) {
        let detail = format!("the index lacks {found} of the chunks; they were found by a scan");
        index.report(source, data_end, (DamageKind::Index, detail));
    }
    index
}

/// The index of a file that is read through. `why` is the reason why its summary is not used; `None` if it has none.
fn scanned(source: &Source, opening: &Opening<'_>, why: Option<Why>) -> FileIndex {
    let mut index = FileIndex::new(IndexOrigin::Scan);
    let mut scan = Scan::new(source, &mut index, opening);
    let end = scan.walk(8, source.len);
    let mut counts = scan.counts();
    let loss_at = |offset, kind, detail| Why {
        offset,
        kind,
        detail,
    };
    let truncated = |offset, detail| loss_at(offset, DamageKind::Truncated, detail);
    let rest = |from| source.len - from;
    let loss = match end {
        End::Footer(at) if at < source.len => {
            let detail = format!("{} bytes follow the end of the recording", rest(at));
            Some(loss_at(at, DamageKind::Framing, detail))
        }
        End::Footer(_) => None,
        End::Edge => {
            let detail = "there is no footer (the recorder may have been killed)".to_owned();
            Some(truncated(source.len, detail))
        }
        End::Cut(at) => {
            let detail = format!(
                "the file ends in the middle of a record (its last {} bytes)",
                rest(at)
            );
            Some(truncated(at, detail))
        }
    };
    // The missing end is the reason for the missing summary, so one report is enough.
    let why = why.filter(|why| why.kind != DamageKind::Truncated || loss.is_none());
    for Why {
        offset,
        kind,
        detail,
    } in why.into_iter().chain(loss)
    {
        index.report(source, offset, (kind, detail));
    }
    if let Some(more) = inspect::unknown_channels(source, &mut index, opening) {
        for (channel, count) in more {
            *counts.entry(channel).or_default() += count;
        }
        index.statistics = Some(Statistics {
            message_count: counts.values().sum(),
            chunk_count: u32::try_from(index.chunks.len()).unwrap_or(u32::MAX),
            channel_message_counts: counts,
            ..Statistics::default()
        });
    }
    index
}

/// Reports messages after the end of the data: they do not belong there, but are played like the others.
fn check_end(source: &Source, index: &mut FileIndex) {
    let Some((end, _)) = index.data_end else {
        return;
    };
    let mut behind = index.chunks.iter().filter(|chunk| chunk.offset > end);
    if let Some(at) = behind.next().map(|chunk| chunk.offset) {
        let detail = "messages follow the end of the data section; they are played, but other readers may skip them";
        index.report(source, at, (DamageKind::Framing, detail));
    }
}

/// Refuses a file that does not begin like an MCAP file; the error says what it is.
fn check_start(source: &Source) -> Result<(), BagError> {
    let head = source.read_to_open(0, source.len.min(file_kind::HEAD))?;
    match file_kind::foreign(&head) {
        None => Ok(()),
        Some((found, hint)) => Err(BagError::NotMcap {
            file: source.name.clone(),
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
    Ok(parse::header(&source.read_to_open(17, length)?).ok())
}
