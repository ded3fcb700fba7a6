//! [`OpenChunk`]: what a cursor keeps of one chunk: the whole chunk, a share, or only its next key.
//!
//! A *share* is a compact copy of the next few messages. It is taken when the whole chunk would not fit into the bound
//! of the cursor; when it is used up, the next one is read from the [`Spill`] of the cursor. If not even one message
//! fits, the chunk is *parked*: its next key is known, and the message is loaded when it is due.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::entries::{Entry, Scan, message, record_length, scan};
use super::selection::{Bounds, Direction, Selection};
use super::spill::{Spill, SpillError, Spilled, Window};
use crate::bag::damage::Fault;
use crate::bag::decompress::budget::{CountedBytes, Meter, Permit};
use crate::bag::index::contents::{Chunk, Contents};
use crate::bag::message::{Key, Message};

/// How much of a chunk is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum KeptPart {
    /// The whole chunk.
    Whole,
    /// A copy of the next messages.
    Share(ShareSize),
}

/// How many messages a share has: at most what fits into `most` bytes, but at least `least`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ShareSize {
    pub(crate) most: u64,
    pub(crate) least: usize,
}

/// What is needed to list the messages of a chunk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    pub(crate) contents: &'a Contents,
    pub(crate) selection: &'a Selection,
    pub(crate) direction: Direction,
    pub(crate) meter: &'a Arc<Meter>,
}

/// What a cursor keeps of a chunk.
#[derive(Debug)]
pub(crate) struct OpenChunk {
    /// Its place in the chunk table.
    pub(crate) id: u32,
    /// `None` if the chunk is parked.
    bytes: Option<Payloads>,
    entries: Vec<Entry>,
    /// The entries that have not been taken yet.
    remaining: Range<usize>,
    /// Whether the chunk has messages beyond `remaining`.
    has_more: bool,
    /// Where these messages are, unless the chunk has to be decompressed again for them.
    spilled: Option<Spilled>,
    /// The size of bytes and entries. The permit is for the entries.
    cost: u64,
    _permit: Permit,
}

impl OpenChunk {
    /// Lists the messages of a decompressed chunk within `bounds` and keeps as much of the chunk as `keep` says.
    pub(crate) fn new(
        view: View<'_>,
        id: u32,
        owned: CountedBytes,
        bounds: Bounds,
        keep: KeptPart,
    ) -> (Self, Vec<Fault>) {
        let (found, remaining) = list(view, id, &owned, bounds);
        let Scan { entries, faults } = found;
        let open = match keep {
            KeptPart::Whole => Self::whole(view.meter, id, owned, (entries, remaining)),
            KeptPart::Share(share) => Self::share(view, id, &owned, (&entries, remaining), share),
        };
        (open, faults)
    }

    /// Writes the messages of a decompressed chunk within `bounds` to the file. `None` if the meter was closed
    /// meanwhile.
    pub(crate) fn spill(
        view: View<'_>,
        id: u32,
        owned: &CountedBytes,
        bounds: Bounds,
        spill: &mut Spill,
    ) -> Result<Option<Spilled>, SpillError> {
        let (found, remaining) = list(view, id, owned, bounds);
        let entries = found.entries.get(remaining).unwrap_or_default().iter();
        match view.direction {
            Direction::Forward => spill.write(&owned.bytes, &entries, view.meter),
            Direction::Reverse => spill.write(&owned.bytes, &entries.rev(), view.meter),
        }
    }

    /// Reads the next share from the file.
    pub(crate) fn spilled(
        view: View<'_>,
        id: u32,
        mut spilled: Spilled,
        share: ShareSize,
    ) -> io::Result<Self> {
        let window = spilled.read((share.most, share.least), view.meter)?;
        let Window { bytes, mut entries } = window;
        if view.direction == Direction::Reverse {
            entries.reverse();
        }
        let permit = view.meter.permit(size_of_entries(&entries));
        let of_bytes = bytes.as_ref().map_or(0, |bytes| bytes.permit.bytes());
        Ok(Self {
            id,
            cost: permit.bytes() + of_bytes,
            has_more: bytes.is_none() || !spilled.is_empty(),
            bytes: bytes.map(Payloads::new),
            remaining: 0..entries.len(),
            entries,
            spilled: Some(spilled),
            _permit: permit,
        })
    }

    fn whole(
        meter: &Arc<Meter>,
        id: u32,
        owned: CountedBytes,
        (entries, remaining): (Vec<Entry>, Range<usize>),
    ) -> Self {
        let permit = meter.permit(size_of_entries(&entries));
        Self {
            id,
            cost: owned.permit.bytes() + permit.bytes(),
            bytes: Some(Payloads::new(owned)),
            entries,
            remaining,
            has_more: false,
            spilled: None,
            _permit: permit,
        }
    }

    /// Copies the next messages out of the chunk.
    fn share(
        view: View<'_>,
        id: u32,
        owned: &CountedBytes,
        (all, remaining): (&[Entry], Range<usize>),
        ShareSize { most, least }: ShareSize,
    ) -> Self {
        let window = all.get(remaining).unwrap_or_default();
        let in_order: &mut dyn Iterator<Item = &Entry> = match view.direction {
            Direction::Forward => &mut window.iter(),
            Direction::Reverse => &mut window.iter().rev(),
        };
        let mut copy = Vec::new();
        let mut entries = Vec::new();
        let mut is_parked = false;
        for entry in in_order {
            let length = record_length(&owned.bytes, entry.at);
            let after = (copy.len() + length + (entries.len() + 1) * size_of::<Entry>()) as u64;
            if after > most && entries.len() >= least {
                if entries.is_empty() {
                    entries.push(*entry);
                    is_parked = true;
                }
                break;
            }
            let from = entry.at as usize;
            let at = u32::try_from(copy.len()).expect("no longer than the chunk");
            copy.extend_from_slice(owned.bytes.get(from..from + length).unwrap_or_default());
            entries.push(Entry { at, ..*entry });
        }
        if view.direction == Direction::Reverse {
            entries.reverse();
        }
        copy.shrink_to_fit();
        let permit = view.meter.permit(size_of_entries(&entries));
        let copied = view.meter.permit(copy.len() as u64);
        Self {
            id,
            cost: permit.bytes() + copied.bytes(),
            bytes: (!is_parked).then(|| Payloads::new(CountedBytes::new(copy, copied))),
            remaining: 0..entries.len(),
            has_more: entries.len() < window.len() || is_parked,
            spilled: None,
            entries,
            _permit: permit,
        }
    }

    /// How many bytes it keeps in memory.
    #[inline]
    pub(crate) fn cost(&self) -> u64 {
        self.cost
    }

    /// Whether its next message is at hand.
    #[inline]
    pub(crate) fn is_ready(&self) -> bool {
        self.bytes.is_some() && !self.remaining.is_empty()
    }

    /// Whether its next message is known but must be loaded first.
    #[inline]
    pub(crate) fn is_parked(&self) -> bool {
        self.bytes.is_none() && !self.remaining.is_empty()
    }

    /// How many bytes the next share takes; `None` if the chunk has to be decompressed for it.
    pub(crate) fn cost_of_next(&self, share: ShareSize) -> Option<u64> {
        let spilled = self.spilled.as_ref()?;
        Some(spilled.cost((share.most, share.least)))
    }

    /// Whether the messages beyond the share are in the file.
    pub(crate) fn is_spilled(&self) -> bool {
        self.spilled.is_some()
    }

    /// The messages beyond the share, if they are in the file. What is in memory is dropped.
    pub(crate) fn into_spilled(self) -> Option<Spilled> {
        self.spilled
    }

    /// Whether the chunk has messages beyond those at hand.
    #[inline]
    pub(crate) fn has_more(&self) -> bool {
        self.has_more
    }

    /// The key of its next message, if that is known.
    #[inline]
    pub(crate) fn next_key(&self, chunk: &Chunk, direction: Direction) -> Option<Key> {
        let remaining = self.entries.get(self.remaining.clone())?;
        let next = match direction {
            Direction::Forward => remaining.first(),
            Direction::Reverse => remaining.last(),
        };
        next.map(|entry| entry.key(chunk))
    }

    /// Takes its next message.
    #[inline]
    pub(crate) fn take(&mut self, contents: &Contents, direction: Direction) -> Option<Message> {
        let at = match direction {
            Direction::Forward => self.remaining.next(),
            Direction::Reverse => self.remaining.next_back(),
        };
        let entry = *self.entries.get(at?)?;
        message(
            contents,
            contents.chunk(self.id),
            self.bytes.as_mut()?.next_lot(),
            entry,
        )
    }
}

/// The bytes of a chunk, which messages share. They are counted: each message is one reference. While one thread takes
/// messages from the chunk, another drops those that it has sent. If both changed one count, its cache line would move
/// between their processors each time. So every 256 messages (a lot) have a count of their own.
#[derive(Debug)]
struct Payloads {
    chunk: Bytes,
    lot: Bytes,
    left: u8,
}

impl Payloads {
    fn new(chunk: CountedBytes) -> Self {
        let chunk = Bytes::from_owner(chunk);
        Self {
            lot: chunk.clone(),
            chunk,
            left: u8::MAX,
        }
    }

    /// The bytes for the next message.
    #[inline]
    fn next_lot(&mut self) -> &Bytes {
        self.left = self.left.checked_sub(1).unwrap_or_else(|| {
            self.lot = Bytes::from_owner(self.chunk.clone());
            u8::MAX
        });
        &self.lot
    }
}

/// The messages of a decompressed chunk, and which of them lie within `bounds`.
fn list(view: View<'_>, id: u32, owned: &CountedBytes, bounds: Bounds) -> (Scan, Range<usize>) {
    let chunk = view.contents.chunk(id);
    let found = scan(view.contents, chunk, view.selection, owned.as_ref());
    let entries = &found.entries;
    let low = entries.partition_point(|entry| bounds.starts_after(entry.key(chunk)));
    let high = entries.partition_point(|entry| !bounds.ends_before(entry.key(chunk)));
    (found, low..high.max(low))
}

fn size_of_entries(entries: &Vec<Entry>) -> u64 {
    (entries.capacity() * size_of::<Entry>()) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bag::decompress::budget::Budget;

    #[test]
    fn a_chunk_stays_in_memory_until_the_last_message_of_all_lots_is_dropped() {
        let budget = Budget::new(u64::MAX);
        let meter = Meter::new(&budget);
        let bytes: Vec<u8> = (0..=u8::MAX).collect();
        let permit = meter.permit(bytes.len() as u64);
        let mut payloads = Payloads::new(CountedBytes::new(bytes, permit));
        let mut messages: Vec<Bytes> = (0..1000)
            .map(|at| payloads.next_lot().slice(at % 256..=at % 256))
            .collect();
        drop(payloads);
        assert!((0..1000).all(|at| messages[at] == [u8::try_from(at % 256).unwrap()][..]));
        for last in [999, 300, 0] {
            messages.truncate(last + 1);
            assert_eq!(budget.usage().live_bytes, 256, "{last}");
        }
        drop(messages);
        assert_eq!(budget.usage().live_bytes, 0);
    }
}
