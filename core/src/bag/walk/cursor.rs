//! [`Cursor`]: reads the messages of a bag in order, in either direction, by merging the open chunks.
//!
//! A chunk is opened as soon as its first possible key (in reverse: its last) is not behind the next known message. So
//! the order is total although chunks and files overlap. Whole chunks are kept up to half of the bound of
//! [`Cursor::holding`]; beyond that only a share of each chunk is kept, and further shares come from a temporary file
//! ([`Spill`](super::spill::Spill)). Memory is therefore bounded, and a chunk is decompressed at most twice; without
//! the file once per share. To seek, make a new cursor: it finds its first chunks by binary search and opens only
//! those.

use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::chunks_ahead::ChunksAhead;
use super::decompressors::Decompressors;
use super::head::{Head, Slot};
use super::loader::Loader;
use super::open_chunk::{KeptPart, OpenChunk, ShareSize};
use super::selection::{Bounds, Direction, Selection};
use crate::bag::damage::Damage;
use crate::bag::decompress::budget::{Meter, Usage};
use crate::bag::index::contents::Contents;
use crate::bag::message::Message;

/// The default bound of what a cursor holds open: 64 MiB.
const HELD: u64 = 64 << 20;

/// Reads the messages of a bag in order. Damage is yielded once, where it lies among the messages, and skipped.
pub struct Cursor {
    loader: Loader,
    direction: Direction,
    bounds: Bounds,
    ahead: ChunksAhead,
    open: Vec<Option<Slot>>,
    /// Empty places in `open`.
    free: Vec<usize>,
    heads: BinaryHeap<Head>,
    damage: VecDeque<Damage>,
    /// Whether a chunk has been opened. The first chunk starts no threads: another seek may follow at once.
    has_opened: bool,
    held: u64,
    most_held: u64,
}

/// One step of a walk.
#[derive(Debug)]
pub(crate) enum Step {
    /// A chunk was opened; the next message is closer.
    Opened,
    /// The next message, or damage.
    Item(Result<Message, Damage>),
    /// The walk is over.
    End,
}

/// What the next step has to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum NextStep {
    Damage,
    Open(u32),
    Reload(usize),
    Message(usize),
    End,
}

impl Cursor {
    pub(crate) fn new(
        contents: Arc<Contents>,
        selection: Selection,
        direction: Direction,
        bounds: Bounds,
    ) -> Self {
        let ahead = ChunksAhead::new(&contents, &selection, direction, bounds);
        Self {
            loader: Loader::new(contents, selection, direction),
            direction,
            bounds,
            ahead,
            open: Vec::new(),
            free: Vec::new(),
            heads: BinaryHeap::new(),
            damage: VecDeque::new(),
            has_opened: false,
            held: 0,
            most_held: HELD,
        }
    }

    /// The same cursor with another bound on decompressed bytes; one chunk may be in decompression beyond it.
    #[must_use]
    pub fn holding(self, bytes: u64) -> Self {
        Self {
            most_held: bytes,
            ..self
        }
    }

    /// The same cursor on another meter.
    pub(crate) fn metered(mut self, meter: Arc<Meter>) -> Self {
        self.loader.meter = meter;
        self
    }

    /// The same cursor with threads that decompress ahead while `is_wanted` is true.
    pub(crate) fn with_decompressors(mut self, is_wanted: Arc<AtomicBool>) -> Self {
        self.loader.decompressors = Some(Decompressors::new(is_wanted));
        self
    }

    /// The next message or damage. Before each chunk that has to be opened, `goes_on` is asked; if it returns false,
    /// this returns `None`, and a later call continues from the same place.
    pub fn next_while(
        &mut self,
        mut goes_on: impl FnMut() -> bool,
    ) -> Option<Result<Message, Damage>> {
        loop {
            if self.cost_ahead().is_some() && !goes_on() {
                return None;
            }
            match self.step() {
                Step::Opened => {}
                Step::Item(item) => return Some(item),
                Step::End => return None,
            }
        }
    }

    /// What this cursor has decompressed, and how much of that is in memory, including payloads handed out.
    pub fn usage(&self) -> Usage {
        self.loader.meter.usage()
    }

    /// How many bytes the cursor itself holds open.
    pub(crate) fn held(&self) -> u64 {
        self.held
    }

    /// How many bytes, as declared, the next step will decompress: 0 if decompression has begun already; `None` if the
    /// step opens no chunk.
    #[inline]
    pub(crate) fn cost_ahead(&mut self) -> Option<u64> {
        let id = match self.next_step() {
            // Its bytes are counted already.
            NextStep::Open(id) if self.has_begun(id) => return Some(0),
            NextStep::Open(id) => id,
            NextStep::Reload(slot) => {
                // A cursor that reloads shares has no room to decompress ahead; chunks begun would only use up memory.
                self.loader.decompressors = None;
                let chunk = &self.slot(slot)?.chunk;
                if let Some(cost) = chunk.cost_of_next(self.next_share(chunk)) {
                    return Some(cost);
                }
                chunk.id
            }
            _ => return None,
        };
        Some(self.loader.contents.chunk(id).cost())
    }

    /// Does one thing: opens a chunk or yields an item.
    pub(crate) fn step(&mut self) -> Step {
        match self.next_step() {
            NextStep::Damage => match self.damage.pop_front() {
                Some(damage) => Step::Item(Err(damage)),
                None => Step::Opened,
            },
            NextStep::Open(id) => {
                self.ahead
                    .pass(&self.loader.contents, &self.loader.selection);
                self.open(id);
                Step::Opened
            }
            NextStep::Reload(slot) => {
                self.reload(slot);
                Step::Opened
            }
            NextStep::Message(slot) => match self.take(slot) {
                Some(message) => Step::Item(Ok(message)),
                None => Step::Opened,
            },
            NextStep::End => Step::End,
        }
    }

    #[inline]
    fn next_step(&self) -> NextStep {
        if !self.damage.is_empty() {
            return NextStep::Damage;
        }
        let head = self.heads.peek();
        if let Some((id, edge)) = self.ahead.next()
            && head.is_none_or(|head| !self.direction.is_before(head.key, edge))
        {
            return NextStep::Open(id);
        }
        let Some(head) = head else {
            return NextStep::End;
        };
        let slot = head.slot;
        match self.slot(slot).map(|slot| &slot.chunk) {
            Some(chunk) if chunk.is_ready() => NextStep::Message(slot),
            _ => NextStep::Reload(slot),
        }
    }

    fn open(&mut self, id: u32) {
        let size = self.loader.contents.chunk(id).cost();
        self.read_ahead(id);
        // The list of a chunk's messages takes at most half the size of the chunk.
        let is_room = self.held + size + size / 2 <= self.most_held / 2;
        let keep = if self.held == 0 || is_room || self.is_sole_giant(size) {
            KeptPart::Whole
        } else {
            let most = self.share(id);
            KeptPart::Share(ShareSize { most, least: 0 })
        };
        let chunk = match self.loader.load(id, self.bounds, keep) {
            Some(Ok((chunk, faults))) => {
                self.damage.extend(faults);
                chunk
            }
            Some(Err(damage)) => return self.damage.push_back(damage),
            None => return,
        };
        let slot = Slot { chunk, last: None };
        let at = self.free.pop().unwrap_or_else(|| {
            self.open.push(None);
            self.open.len() - 1
        });
        self.put_back(at, slot);
    }

    /// Whether the chunk is larger than half of the bound, and no other open chunk is. It is then kept whole: otherwise
    /// its shares would be reloaded again and again.
    fn is_sole_giant(&self, size: u64) -> bool {
        let is_giant = |size: u64| size > self.most_held / 2;
        let mut open = self.open.iter().flatten();
        is_giant(size) && !open.any(|slot| is_giant(slot.chunk.cost()))
    }

    fn has_begun(&self, id: u32) -> bool {
        let decompressors = self.loader.decompressors.as_ref();
        decompressors.is_some_and(|decompressors| decompressors.begun().any(|begun| begun == id))
    }

    /// Starts decompressing the chunks after `id`, as far as there is room for them.
    fn read_ahead(&mut self, id: u32) {
        let is_first = !std::mem::replace(&mut self.has_opened, true);
        let Some(decompressors) = self.loader.decompressors.as_mut().filter(|_| !is_first) else {
            return;
        };
        let vacancies = decompressors.vacancies();
        if vacancies == 0 {
            return;
        }
        let cost = |id: u32| self.loader.contents.chunk(id).cost();
        let known: Vec<u32> = decompressors.begun().filter(|begun| *begun != id).collect();
        let mut sum = cost(id) + known.iter().map(|id| cost(*id)).sum::<u64>();
        let selected = self
            .ahead
            .selected(&self.loader.contents, &self.loader.selection);
        let next = selected.filter(|id| !known.contains(id));
        let next: Vec<u32> = next.take(vacancies).collect();
        for next in next {
            sum += cost(next);
            // The list of a chunk's messages takes at most half the size of the chunk.
            let is_room = self.held + sum + sum / 2 <= self.most_held / 2;
            if !is_room || !self.loader.meter.has_room(sum) {
                break;
            }
            decompressors.begin(next, &self.loader.contents, &self.loader.meter);
        }
    }

    /// Loads the next share of a chunk that has no message at hand.
    fn reload(&mut self, at: usize) {
        self.heads.pop();
        let Some(slot) = self.open.get_mut(at).and_then(Option::take) else {
            return;
        };
        self.held -= slot.chunk.cost();
        let Slot { chunk, last } = slot;
        let (id, share) = (chunk.id, self.next_share(&chunk));
        let bounds = last.map_or(self.bounds, |key| self.bounds.after(key, self.direction));
        let size = self.loader.contents.chunk(id).cost();
        let loaded = if self.is_sole_giant(size) && !chunk.is_spilled() {
            self.loader.load(id, bounds, KeptPart::Whole)
        } else {
            self.loader.load_share(chunk, bounds, share)
        };
        match loaded {
            // Faults of the chunk were reported when it was first opened.
            Some(Ok((chunk, _))) => self.put_back(at, Slot { chunk, last }),
            Some(Err(damage)) => {
                self.damage.push_back(damage);
                self.free.push(at);
            }
            None => self.free.push(at),
        }
    }

    /// The next share of a chunk that is open. If the chunk is parked, its next message is due: the share then has at
    /// least that message.
    #[inline]
    fn next_share(&self, chunk: &OpenChunk) -> ShareSize {
        ShareSize {
            most: self.share(chunk.id),
            least: usize::from(chunk.is_parked()),
        }
    }

    /// How many bytes of the chunk are kept when it shares the other half of the bound with all chunks that overlap it.
    fn share(&self, id: u32) -> u64 {
        let coming = self.ahead.overlapping(&self.loader.contents, id);
        let count = self.heads.len() + coming;
        self.most_held / 2 / (count as u64 + 1)
    }

    #[inline]
    fn take(&mut self, at: usize) -> Option<Message> {
        let slot = self.open.get_mut(at)?.as_mut()?;
        let message = slot.chunk.take(&self.loader.contents, self.direction);
        slot.last = message.as_ref().map(|message| message.key).or(slot.last);
        let next = slot.next_key(&self.loader.contents, self.direction);
        if let Some(mut head) = self.heads.peek_mut() {
            if let Some(key) = next {
                head.key = key;
                return message;
            }
            PeekMut::pop(head);
        }
        self.held -= slot.chunk.cost();
        self.open[at] = None;
        self.free.push(at);
        message
    }

    /// Puts a chunk back among the open ones, or drops it if it has no more messages.
    #[inline]
    fn put_back(&mut self, at: usize, slot: Slot) {
        if let Some(key) = slot.next_key(&self.loader.contents, self.direction) {
            self.held += slot.chunk.cost();
            self.heads.push(Head {
                key,
                slot: at,
                direction: self.direction,
            });
            self.open[at] = Some(slot);
        } else {
            self.free.push(at);
        }
    }

    #[inline]
    fn slot(&self, at: usize) -> Option<&Slot> {
        self.open.get(at)?.as_ref()
    }
}

impl Iterator for Cursor {
    type Item = Result<Message, Damage>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_while(|| true)
    }
}

impl std::fmt::Debug for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cursor")
            .field("direction", &self.direction)
            .field("bounds", &self.bounds)
            .field("held", &self.held)
            .finish_non_exhaustive()
    }
}
