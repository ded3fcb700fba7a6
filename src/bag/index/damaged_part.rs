//! [`DamagedPart`]: the part of a recording that is lost because of damage.

use super::contents::{Contents, Input};
use crate::bag::damage::{Damage, DamageKind};
use crate::bag::message::TopicId;
use crate::time::TimeRange;

/// The part of a recording that is lost because of damage: messages of these topics, within these times.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct DamagedPart {
    /// Offset of the damaged chunk in its file in bytes.
    pub chunk: u64,
    /// The times of the chunk that is damaged, both ends included. Some of its messages may have been read.
    pub range: TimeRange,
    /// The topics that have messages in the chunk, in the order of their ids; empty if the index does not list them.
    pub topics: Vec<TopicId>,
}

/// The part that is lost because of `damage`; `None` if no messages are lost, or if it is not in a chunk whose times
/// are known.
pub(crate) fn part(contents: &Contents, damage: &Damage) -> Option<DamagedPart> {
    if !loses_messages(damage.kind) {
        return None;
    }
    let is_input = |input: &Input| input.source.name == damage.file;
    let (index, input) = (0..).zip(&contents.inputs).find(|(_, it)| is_input(it))?;
    let chunk = contents.chunks.iter().find(|chunk| {
        let place = &chunk.place;
        let bytes = place.offset..place.offset.saturating_add(place.length);
        chunk.input == index && bytes.contains(&damage.offset)
    })?;
    let channels = chunk.channels().into_iter().flatten();
    let mut topics: Vec<TopicId> = channels
        .filter_map(|channel| input.channels.topic(channel))
        .collect();
    topics.sort_unstable();
    topics.dedup();
    Some(DamagedPart {
        chunk: chunk.place.offset,
        range: chunk.place.times?,
        topics,
    })
}

fn loses_messages(kind: DamageKind) -> bool {
    match kind {
        DamageKind::Unreadable
        | DamageKind::Checksum
        | DamageKind::Compression
        | DamageKind::TooLarge
        | DamageKind::Framing
        | DamageKind::UnknownChannel => true,
        DamageKind::Truncated
        | DamageKind::Missing
        | DamageKind::ChannelConflict
        | DamageKind::Times
        | DamageKind::Index
        | DamageKind::Internal => false,
    }
}
