//! Verifies what an index says about chunks, and opens the chunks where it cannot be believed.
//!
//! The message indexes that follow a chunk give its channels and times; these are compared with the chunk index. In
//! most files all chunks are compared; in a large file a sample ([`sample_step`]). All are compared as soon as one
//! differs, or if the lengths of the message indexes do not fit the number of messages in the statistics. A chunk
//! is always compared if that length does not fit the number of its channels. If two records about a chunk differ, the
//! chunk is opened and its contents count. A chunk whose channels no record gives is opened, too, as long as opening
//! the file stays fast. Of a remote file only those message indexes are compared that are at hand, as long as nothing
//! is found to be wrong.

use std::collections::{BTreeMap, BTreeSet};

use mcap::records::Statistics;

use super::file_index::{FileIndex, IndexOrigin};
use super::inspect::{self, Counts};
use super::unopened::Declared;
use crate::bag::damage::DamageKind;
use crate::bag::mcap::chunk_ref::{ChunkRef, Storage};
use crate::bag::mcap::message_index::{self, FollowingIndexes};
use crate::bag::mcap::parse::times;
use crate::bag::mcap::window::Window;
use crate::bag::open::options::Opening;
use crate::bag::open::read_at::Cost;
use crate::bag::open::source::Source;
use crate::time::{Time, TimeRange};

/// The most chunks of a file that are all compared with its index.
const ALL: usize = 1024;
/// Of how many chunks at least a sample consists, in a file with more than [`ALL`].
const SAMPLE: usize = 512;
/// If there are many channels, the sample is smaller, so that about this many message indexes are read. That takes some
/// milliseconds.
const MOST_READS: usize = 4096;
/// How many bytes are decompressed to check the times of chunks without message indexes: 4 MiB.
const MOST_OPENED: u64 = 4 << 20;

/// The distance between the chunks that are compared with the index: 1 in a file of up to [`ALL`] chunks; in a larger
/// one [`SAMPLE`] or a few more, evenly spread, are compared.
pub(crate) fn sample_step(chunks: usize) -> usize {
    match chunks {
        0..=ALL => 1,
        _ => chunks / SAMPLE,
    }
}

/// Corrects the index of a file wherever it is found to be wrong, and reports it.
pub(crate) fn verify(source: &Source, index: &mut FileIndex, opening: &Opening<'_>) {
    let listed: usize = index.chunks.iter().map(|it| it.message_indexes.len()).sum();
    let mut verify = Verify {
        source,
        opening,
        window: Window::new(source),
        left: (1 << 16) + 16 * (index.chunks.len() + listed),
        doubtful: std::mem::take(&mut index.lengths.doubtful),
        wrong: Vec::new(),
        is_all_asked: false,
    };
    let is_uncertain = index.origin == IndexOrigin::Scan
        || is_contradictory(index)
        || (verify.doubtful.is_empty() && has_other_room(index));
    verify.is_all_asked = is_uncertain;
    let step = if is_uncertain {
        1
    } else {
        sample_step(index.chunks.len()).max(listed.div_ceil(MOST_READS))
    };
    verify.ask(index, step);
    verify.count(index);
    let wrong: Vec<usize> = verify.wrong.iter().map(|(place, _)| *place).collect();
    let declared = Declared::of(index, &wrong);
    for place in &wrong {
        if let Some(chunk) = index.chunks.get_mut(*place) {
            chunk.times = None;
        }
    }
    inspect::these(source, index, opening, &wrong);
    // These have damage of their own, which says more than that their index is wrong.
    let unopened = declared.restore(index);
    verify.wrong.retain(|(place, _)| !unopened.contains(place));
    for place in wrong {
        let chunk = index.chunks.get_mut(place);
        for indexed in chunk.into_iter().flat_map(|it| &mut it.message_indexes) {
            indexed.offset = 0;
        }
    }
    verify.open_untold(index);
    verify.report(index);
}

/// Whether the statistics contradict the chunks: in their times, or by a channel that no chunk lists.
fn is_contradictory(index: &FileIndex) -> bool {
    let Some(statistics) = index.statistics.as_ref().filter(|it| it.message_count > 0) else {
        return false;
    };
    let used = || index.chunks.iter().filter(|chunk| !chunk.is_empty());
    let found = used().filter_map(|chunk| chunk.times);
    let told = times(statistics.message_start_time, statistics.message_end_time);
    let is_timed = used().all(|chunk| chunk.times.is_some());
    let differs = found.reduce(TimeRange::union) != told && is_timed;
    if used().any(ChunkRef::has_unknown_channels) {
        return differs;
    }
    let mut told: Vec<u16> = used()
        .flat_map(|chunk| chunk.message_indexes.iter())
        .map(|it| it.channel)
        .collect();
    told.sort_unstable();
    let mut counts = statistics.channel_message_counts.iter();
    differs || counts.any(|(id, count)| *count > 0 && told.binary_search(id).is_err())
}

/// Whether the declared lengths of the message indexes mean another number of messages than the statistics.
fn has_other_room(index: &FileIndex) -> bool {
    let Some(statistics) = &index.statistics else {
        return false;
    };
    let has_unknown_channels = index.chunks.iter().any(ChunkRef::has_unknown_channels);
    let indexed = index.chunks.iter().flat_map(|it| &it.message_indexes);
    // At this point only chunks that a scan found, and the summary does not list, have counts.
    let found: u64 = indexed.map(|it| u64::from(it.count)).sum();
    !has_unknown_channels
        && index.lengths.messages.saturating_add(found) != statistics.message_count
}

/// How many messages each channel has, if that is known for all chunks.
fn counts(index: &FileIndex) -> Option<Counts> {
    let mut counts = Counts::new();
    for chunk in index.chunks.iter().filter(|chunk| !chunk.is_empty()) {
        if chunk.has_unknown_channels() {
            return None;
        }
        for indexed in &chunk.message_indexes {
            if indexed.count == 0 {
                return None;
            }
            *counts.entry(indexed.channel).or_default() += u64::from(indexed.count);
        }
    }
    Some(counts)
}

/// Statistics from the chunks, without times, if the number of messages in every chunk is known.
pub(crate) fn counted(index: &FileIndex) -> Option<Statistics> {
    let channel_message_counts = counts(index)?;
    let is_chunk = |chunk: &&ChunkRef| chunk.storage == Storage::Chunk;
    let chunks = index.chunks.iter().filter(is_chunk).count();
    Some(Statistics {
        message_count: channel_message_counts.values().sum(),
        chunk_count: u32::try_from(chunks).unwrap_or(u32::MAX),
        channel_message_counts,
        ..Statistics::default()
    })
}

/// Whether it takes no request over a network to read what follows a chunk.
fn is_at_hand(source: &Source, chunk: &ChunkRef) -> bool {
    let end = chunk.offset.saturating_add(chunk.length);
    source.is_at_hand(end, source.len.saturating_sub(end))
}

/// Whether the counts per channel add up to the number of messages.
fn is_whole(statistics: &Statistics) -> bool {
    let counts = statistics.channel_message_counts.values().copied();
    counts.fold(0, u64::saturating_add) == statistics.message_count
}

struct Verify<'a> {
    source: &'a Source,
    opening: &'a Opening<'a>,
    window: Window<'a>,
    /// How many message indexes may still be read. In a hostile file many chunks can have the same ones.
    left: usize,
    /// The offsets of chunks whose declared length of message indexes does not fit the number of their channels.
    doubtful: BTreeSet<u64>,
    /// Chunks for which two records differ, and the difference.
    wrong: Vec<(usize, String)>,
    /// Whether all chunks are compared, whatever reads cost.
    is_all_asked: bool,
}

impl Verify<'_> {
    /// Compares chunks with the message indexes that follow them: every `step`th chunk, and the most important ones.
    fn ask(&mut self, index: &mut FileIndex, step: usize) {
        let doubtful = std::mem::take(&mut self.doubtful);
        let edges = edges(index, |chunk| !chunk.message_indexes.is_empty());
        let last = index.chunks.len().saturating_sub(1);
        let is_asked = |place: usize, chunk: &ChunkRef| {
            let is_edge = edges.contains(&Some(place)) || place == last;
            let is_uncertain = lacks_times(chunk) || doubtful.contains(&chunk.offset);
            let is_sampled = (place.is_multiple_of(step) || is_edge)
                && (self.is_all_asked || is_at_hand(self.source, chunk));
            is_sampled || is_uncertain
        };
        let chunk = |place: usize| index.chunks.get(place);
        let is_asked = |place: &usize| chunk(*place).is_some_and(|it| is_asked(*place, it));
        let (asked, rest): (Vec<usize>, Vec<usize>) = (0..index.chunks.len()).partition(is_asked);
        self.compare_all(index, &asked);
        if self.wrong.is_empty() {
            return;
        }
        self.compare_all(index, &rest);
        self.wrong.sort_unstable_by_key(|(place, _)| *place);
    }

    fn compare_all(&mut self, index: &mut FileIndex, places: &[usize]) {
        for place in places {
            if let Some(chunk) = index.chunks.get_mut(*place) {
                self.compare(*place, chunk);
            }
        }
    }

    fn compare(&mut self, place: usize, chunk: &mut ChunkRef) {
        // A chunk that has been opened is known.
        let is_indexed = chunk.message_indexes.iter().any(|it| it.offset != 0);
        if chunk.storage != Storage::Chunk || !is_indexed || self.left == 0 {
            return;
        }
        let found = message_index::following_indexes(&mut self.window, chunk, &mut self.left);
        match found.and_then(|found| self.set_listed(chunk, &found)) {
            Ok(()) => {}
            Err(_) if self.left == 0 => {}
            Err(detail) => self.wrong.push((place, detail)),
        }
    }

    /// Takes over what the message indexes say about a chunk, unless they contradict what is already known.
    fn set_listed(&self, chunk: &mut ChunkRef, found: &FollowingIndexes) -> Result<(), String> {
        for indexed in &mut chunk.message_indexes {
            let channel = indexed.channel;
            match found.listed.get(&channel) {
                Some((offset, count)) if *offset == indexed.offset => {
                    indexed.count = u32::try_from(*count).unwrap_or(u32::MAX);
                }
                _ => {
                    return Err(format!(
                        "the message index of channel {channel} is not where the chunk index says"
                    ));
                }
            }
        }
        let is_listed = |channel: &u16| {
            let listed = &chunk.message_indexes;
            listed
                .binary_search_by_key(channel, |it| it.channel)
                .is_ok()
        };
        let used = found.listed.iter().filter(|(_, (_, count))| *count > 0);
        if let Some((channel, _)) = used.clone().find(|(channel, _)| !is_listed(channel)) {
            return Err(format!(
                "the chunk index leaves out the message index of channel {channel}"
            ));
        }
        if used.count() == 0 {
            // All its message indexes are empty, and the chunk may be, too.
            chunk.message_indexes = Box::default();
            return Ok(());
        }
        let ends = found.times;
        if ends.is_some() && ends == chunk.times {
            return Ok(());
        }
        // If a message index is not sorted by time, its first and last entries are not its limits.
        let all = message_index::times(self.source, chunk);
        let Some(all) = all else {
            return Err("a message index points outside its chunk".to_owned());
        };
        match chunk.times {
            Some(said) if said != all => Err(format!(
                "the message indexes of a chunk give the times {} to {}, the chunk index {} to {}",
                all.start(),
                all.stop(),
                said.start(),
                said.stop()
            )),
            _ => {
                chunk.times = Some(all);
                Ok(())
            }
        }
    }

    /// Compares the message indexes of all chunks with the statistics. If messages are missing, any chunk may have
    /// them.
    fn count(&mut self, index: &FileIndex) {
        let told = index.statistics.as_ref().zip(counts(index));
        let Some((statistics, counts)) = told.filter(|_| self.wrong.is_empty()) else {
            return;
        };
        let mut all = statistics.channel_message_counts.iter();
        let told = |id: &u16| counts.get(id).copied().unwrap_or(0);
        let Some((id, count)) = all.find(|(id, count)| told(id) < **count) else {
            return;
        };
        let detail = format!(
            "the message indexes list {} of {count} messages of channel {id}",
            told(id)
        );
        let chunks = index.chunks.iter().enumerate();
        let chunks = chunks.filter(|(_, chunk)| chunk.storage == Storage::Chunk);
        self.wrong = chunks.map(|(place, _)| (place, detail.clone())).collect();
    }

    /// Opens chunks whose channels no record gives, within a limit. Those that are needed are opened in any case: all
    /// if the statistics do not give the counts of all channels. If a chunk has other times than declared, all are
    /// opened.
    fn open_untold(&mut self, index: &mut FileIndex) {
        let unknown: Vec<usize> = index.chunks_of_unknown_channels();
        let is_counted = index.statistics.as_ref().is_some_and(is_whole);
        let (mut asked, mut rest) = (Vec::new(), Vec::new());
        let edges = edges(index, ChunkRef::has_unknown_channels);
        let mut left = match self.source.cost() {
            Cost::Remote => 0,
            _ => MOST_OPENED,
        };
        for place in unknown {
            let Some(chunk) = index.chunks.get(place) else {
                continue;
            };
            let after = left.checked_sub(chunk.cost());
            let is_needed = !is_counted || lacks_times(chunk) || edges.contains(&Some(place));
            if is_needed || after.is_some() {
                left = after.unwrap_or(left);
                asked.push(place);
            } else {
                rest.push(place);
            }
        }
        if self.open(index, &asked) {
            self.open(index, &rest);
        }
    }

    /// Opens chunks. Returns whether one has other times than declared.
    fn open(&mut self, index: &mut FileIndex, places: &[usize]) -> bool {
        let said: BTreeMap<usize, Option<TimeRange>> = places
            .iter()
            .filter_map(|place| Some((*place, index.chunks.get(*place)?.times)))
            .collect();
        for place in places {
            if let Some(chunk) = index.chunks.get_mut(*place)
                && lacks_times(chunk)
            {
                chunk.times = None;
            }
        }
        inspect::these(self.source, index, self.opening, places);
        let before = self.wrong.len();
        for (place, said) in said {
            let Some(chunk) = index.chunks.get(place).filter(|chunk| !chunk.is_empty()) else {
                continue;
            };
            if let Some((there, said)) = chunk.times.zip(said)
                && there != said
            {
                let detail = format!(
                    "a chunk says that it holds the times {} to {}, its messages have {} to {}",
                    said.start(),
                    said.stop(),
                    there.start(),
                    there.stop()
                );
                self.wrong.push((place, detail));
            }
        }
        self.wrong.len() > before
    }

    /// Reports it once, for any number of chunks.
    fn report(&self, index: &mut FileIndex) {
        let Some((place, detail)) = self.wrong.first() else {
            return;
        };
        let at = index.chunks.get(*place).map_or(0, |chunk| chunk.offset);
        let detail = match self.wrong.len() {
            1 => format!("{detail}; the chunk was opened and read"),
            count => format!("{detail}; {count} chunks were opened and read"),
        };
        index.report(self.source, at, (DamageKind::Index, detail));
    }
}

/// Whether the times of a chunk are not declared. Writers put zeros into a chunk without messages.
fn lacks_times(chunk: &ChunkRef) -> bool {
    let zero = TimeRange::between(Time::ZERO, Time::ZERO);
    chunk.times.is_none_or(|times| times == zero)
}

/// The chunks with the earliest and the latest declared time.
fn edges(index: &FileIndex, is_one: impl Fn(&ChunkRef) -> bool) -> [Option<usize>; 2] {
    let timed = || {
        let chunks = index.chunks.iter().enumerate();
        chunks.filter(|(_, chunk)| chunk.times.is_some() && is_one(chunk))
    };
    let first = timed().min_by_key(|(_, chunk)| chunk.earliest());
    let last = timed().max_by_key(|(_, chunk)| chunk.latest());
    [first, last].map(|found| found.map(|(place, _)| place))
}
