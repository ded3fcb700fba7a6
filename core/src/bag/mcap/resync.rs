//! Finds the next record in a file, from a place where no record begins.
//!
//! Used by the scan of a damaged file. A place counts as a record only if its body has the structure of its kind and
//! another record, or the end, follows it. The chance that random bytes pass is less than 1 in 10^15.

use std::collections::BTreeMap;

use mcap::MAGIC;
use mcap::records::{Channel, op};

use super::frame::Frame;
use super::parse::{self, LONGEST_CHUNK_HEADER};
use super::record::{FRAME, Fields, MESSAGE_HEADER};
use super::window::Window;

type Channels = BTreeMap<u16, Channel>;

/// How many bytes are searched at first and how many at most at once. Most gaps are small.
const FIRST: usize = 1 << 10;
const STRIDE: usize = 256 << 10;

/// The first place at or after `from` where a record begins that ends by `to`. A message counts only if its channel is
/// in `channels`; if `channels` is empty, any channel counts.
pub(crate) fn next_record(
    (window, windows): (&mut Window<'_>, &mut CandidateWindows<'_>),
    channels: &Channels,
    from: u64,
    to: u64,
) -> Option<u64> {
    let mut at = from;
    let mut stride = FIRST;
    while at + (FRAME as u64) <= to {
        let left = usize::try_from(to - at).unwrap_or(usize::MAX);
        let block = window.get(at, stride.min(left)).ok()?.to_vec();
        stride = (stride * 4).min(STRIDE);
        let last = block.len().checked_sub(FRAME)?;
        for i in 0..=last {
            let is_maybe = block
                .get(i..i + FRAME)
                .is_some_and(|frame| matches!(frame[0], 1..=0x0F) && frame[5..] == [0; 4]);
            if is_maybe && is_record(windows, channels, at + i as u64, to) {
                return Some(at + i as u64);
            }
        }
        at += last as u64 + 1;
    }
    None
}

/// The windows through which a candidate is read: for its head, its second block, its third block and what follows it.
/// They are kept for the next candidate, which is only a few bytes further on.
pub(crate) type CandidateWindows<'a> = [Window<'a>; 4];

fn is_record(windows: &mut CandidateWindows<'_>, channels: &Channels, at: u64, to: u64) -> bool {
    let Some(frame) = Frame::read(&mut windows[0], at) else {
        return false;
    };
    let Some(end) = frame.end(to) else {
        return false;
    };
    has_valid_body(windows, channels, frame)
        && (end == to || Frame::read(&mut windows[3], end).is_some_and(|next| is_likely(next, to)))
}

/// Whether the body has the structure of its kind.
fn has_valid_body(windows: &mut CandidateWindows<'_>, channels: &Channels, frame: Frame) -> bool {
    let head = windows[0].get(frame.body(), LONGEST_CHUNK_HEADER);
    let head = head.unwrap_or_default().to_vec();
    let mut fields = Fields(&head);
    match frame.opcode {
        op::CHUNK => {
            let header = parse::chunk_header(&head, frame.length);
            let is_known = |name: &str| matches!(name, "" | "none" | "lz4" | "zstd");
            header.is_ok_and(|header| is_known(&header.compression))
        }
        op::MESSAGE => {
            let channel = fields.u16().ok();
            let is_known = |id| channels.is_empty() || channels.contains_key(&id);
            frame.length >= MESSAGE_HEADER as u64 && channel.is_some_and(is_known)
        }
        op::MESSAGE_INDEX => {
            let entries = fields.u16().and_then(|_| fields.u32());
            entries.is_ok_and(|bytes| u64::from(bytes) + 6 == frame.length && bytes % 16 == 0)
        }
        op::SCHEMA => fields.u16().is_ok() && has_three_blocks(windows, frame, 2),
        op::CHANNEL => {
            let ids = fields.u16().and_then(|_| fields.u16());
            ids.is_ok() && has_three_blocks(windows, frame, 4)
        }
        op::DATA_END => frame.length == 4,
        op::FOOTER => {
            let magic = windows[3].get(frame.body() + 20, MAGIC.len());
            frame.length == 20 && magic.unwrap_or_default() == MAGIC
        }
        _ => false,
    }
}

/// Whether three blocks, each with its length in front, fill the body from an offset on.
fn has_three_blocks(windows: &mut CandidateWindows<'_>, frame: Frame, from: u64) -> bool {
    let mut at = frame.body() + from;
    let end = frame.body() + frame.length;
    for window in windows.iter_mut().take(3) {
        let length = window.get(at, 4).unwrap_or_default();
        let Ok(length) = Fields(length).u32() else {
            return false;
        };
        at += 4 + u64::from(length);
        if at > end {
            return false;
        }
    }
    at == end
}

fn is_likely(frame: Frame, to: u64) -> bool {
    matches!(frame.opcode, 1..=0x0F | 0x80..) && frame.end(to).is_some()
}
