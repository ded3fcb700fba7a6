//! Limits for what a record may declare, for all that read records.

use super::record::{FRAME, MESSAGE_HEADER};

/// The largest chunk that is opened: 1 GiB decompressed.
pub(crate) const MAX_CHUNK: u64 = 1 << 30;
/// How many bytes a chunk record may have after its data. Readers ignore them.
pub(crate) const SLACK: u64 = 64;

/// The most bytes of message indexes that can follow a chunk with this many channels, whatever is declared.
pub(crate) fn most_indexes(uncompressed: u64, channels: usize) -> u64 {
    let messages = uncompressed / (FRAME + MESSAGE_HEADER) as u64;
    let frames = channels as u64 * (FRAME as u64 + 6 + SLACK);
    messages.saturating_mul(16).saturating_add(frames)
}
