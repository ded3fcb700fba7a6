//! [`DamagedPart`]: the part of a recording that is lost because of damage.

use std::collections::HashSet;

use super::contents::{Chunk, Contents};
use crate::bag::damage::{Damage, DamageKind};
use crate::bag::index::file::file_index::IndexOrigin;
use crate::bag::message::TopicId;
use crate::time::TimeRange;

/// The part of a recording that is lost because of damage: messages of these topics, within these times.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct DamagedPart {
    /// What is wrong, and in which file.
    pub damage: Damage,
    /// Offset in the file in bytes: of the chunk that has the damage, or of the damage if it is in no chunk.
    pub at: u64,
    /// The times in which messages are lost, as far as `extent` says; both ends are included.
    pub range: TimeRange,
    /// What is known of the times.
    pub extent: DamageExtent,
    /// The topics that have messages in the chunk, in the order of their ids; empty if they are not known.
    pub topics: Vec<TopicId>,
    /// How many messages the chunk has. Some of them may have been read. `None` if that is not known.
    pub messages: Option<u64>,
}

/// What is known of the times of a damaged part.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DamageExtent {
    /// They are those of the damaged chunk.
    Chunk,
    /// The damage is between two chunks: the times from the last one before it to the first one after it in the file.
    Between,
    /// The end of the file is missing: both ends of the range are the last time in it, and nothing tells how much
    /// later times it had.
    OpenEnd,
}

impl DamagedPart {
    /// Whether messages of a topic are lost, or may be.
    pub fn concerns(&self, topic: TopicId) -> bool {
        self.topics.is_empty() || self.topics.contains(&topic)
    }
}

/// The parts that are lost because of all damage that is known, in the order of their starts; one for each chunk.
pub(crate) fn parts(contents: &Contents) -> Vec<DamagedPart> {
    let met = contents.known.list();
    let all = contents.damage.iter().chain(&met);
    let mut known = HashSet::new();
    let mut parts: Vec<DamagedPart> = all
        .filter_map(|damage| part(contents, damage))
        .filter(|part| known.insert((part.damage.file.clone(), part.at)))
        .collect();
    parts.sort_by_key(|part| (part.range.start(), part.range.stop()));
    parts
}

/// The part that is lost because of `damage`; `None` if no messages are lost, or if nothing tells at what times.
pub(crate) fn part(contents: &Contents, damage: &Damage) -> Option<DamagedPart> {
    let inputs = (0..).zip(contents.inputs.iter().zip(&contents.files));
    let mut inputs = inputs.filter(|(_, (input, _))| input.source.name == damage.file);
    let (index, (_, file)) = inputs.next()?;
    if damage.kind == DamageKind::Truncated {
        let end = file.range?.stop();
        return Some(DamagedPart {
            damage: damage.clone(),
            at: damage.offset,
            range: TimeRange::between(end, end),
            extent: DamageExtent::OpenEnd,
            topics: Vec::new(),
            messages: None,
        });
    }
    let is_from_opening = contents.damage.contains(damage);
    // The chunks of each file are in the order of their offsets.
    let is_before = |chunk: &Chunk| (chunk.input, chunk.place.offset) <= (index, damage.offset);
    let next = contents.chunks.partition_point(is_before);
    let of_input = |chunk: &&Chunk| chunk.input == index;
    let after = contents.chunks.get(next).filter(of_input);
    let before = next.checked_sub(1).and_then(|at| contents.chunks.get(at));
    let before = before.filter(of_input);
    if let Some(chunk) =
        before.filter(|chunk| damage.offset - chunk.place.offset < chunk.place.length)
    {
        // Opening also reports framing around contents that can be read, and offsets in the compressed form of a whole
        // file. Damage of a chunk has the offset of the chunk.
        let is_of_chunk = damage.offset == chunk.place.offset && damage.kind != DamageKind::Framing;
        let loses = loses_messages(damage.kind) && (is_of_chunk || !is_from_opening);
        return of_chunk(contents, chunk, damage).filter(|_| loses);
    }
    // With a summary, the messages outside of the chunks that it lists are known to be none.
    let loses = matches!(damage.kind, DamageKind::Framing | DamageKind::TooLarge)
        && is_from_opening
        && file.origin == IndexOrigin::Scan;
    let (before, after) = before.zip(after).filter(|_| loses)?;
    let (before, after) = (before.place.times?, after.place.times?);
    Some(DamagedPart {
        damage: damage.clone(),
        at: damage.offset,
        range: TimeRange::between(before.stop(), after.start()),
        extent: DamageExtent::Between,
        topics: Vec::new(),
        messages: None,
    })
}

fn of_chunk(contents: &Contents, chunk: &Chunk, damage: &Damage) -> Option<DamagedPart> {
    let channels = chunk.channels().into_iter().flatten();
    let topic = |channel| contents.topic_of(chunk.input, channel);
    let mut topics: Vec<TopicId> = channels.filter_map(topic).collect();
    topics.sort_unstable();
    topics.dedup();
    let mut counts = chunk.place.message_indexes.iter().map(|it| it.count);
    let messages = counts.try_fold(0_u64, |sum, count| {
        (count > 0).then(|| sum + u64::from(count))
    });
    Some(DamagedPart {
        damage: damage.clone(),
        at: chunk.place.offset,
        range: chunk.place.times?,
        extent: DamageExtent::Chunk,
        topics,
        messages: messages.filter(|messages| *messages > 0),
    })
}

fn loses_messages(kind: DamageKind) -> bool {
    match kind {
        DamageKind::Unreadable
        | DamageKind::Checksum
        | DamageKind::Compression
        | DamageKind::TooLarge
        | DamageKind::Framing
        | DamageKind::UnknownChannel
        | DamageKind::Truncated => true,
        DamageKind::DataSection
        | DamageKind::Missing
        | DamageKind::ChannelConflict
        | DamageKind::Times
        | DamageKind::Index
        | DamageKind::Internal => false,
    }
}
