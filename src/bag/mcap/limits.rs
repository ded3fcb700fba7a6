//! How much a record may declare before it is not believed, whoever reads it.

use super::record::{FRAME, MESSAGE_HEADER};

/// The largest chunk that is opened, decompressed: 1 GiB.
pub(crate) const MAX_CHUNK: u64 = 1 << 30;
/// How many bytes a chunk record may hold behind its data, which readers ignore.
pub(crate) const SLACK: u64 = 64;

/// The most bytes of message indexes that can stand behind a chunk with so many channels, whatever is declared.
pub(crate) fn most_indexes(uncompressed: u64, channels: usize) -> u64 {
    let messages = uncompressed / (FRAME + MESSAGE_HEADER) as u64;
    let frames = channels as u64 * (FRAME as u64 + 6 + SLACK);
    messages.saturating_mul(16).saturating_add(frames)
}
