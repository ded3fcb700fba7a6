//! [`Cursor`]: reads the messages of a bag in order, in either direction, by merging the open chunks.
//!
//! A chunk is opened as soon as its first possible key (in reverse: its last) is not behind the next known message. So
//! the order is total although chunks and files overlap. Whole chunks are kept up to half of the bound of
//! [`Cursor::holding`]; beyond that only a share of each chunk is kept. Memory is therefore bounded, and a chunk is
//! decompressed once per share, not once per message. To seek, make a new cursor: it finds its first chunks by binary
//! search and opens only those.

use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::decompressors::Decompressors;
use super::head::Head;
use super::open_chunk::{Keep, OpenChunk, View};
use super::selection::{Bounds, Direction, Selection};
use super::upcoming::Waiting;
use crate::bag::damage::Damage;
use crate::bag::decompress::budget::{Meter, Usage};
use crate::bag::decompress::chunk::Decoder;
use crate::bag::index::contents::Contents;
use crate::bag::message::{Key, Message};

/// The default bound of what a cursor holds open: 64 MiB.
const HELD: u64 = 64 << 20;

/// Reads the messages of a bag in order. Damage is yielded once, where it lies among the messages, and skipped.
pub struct Cursor {
    contents: Arc<Contents>,
    selection: Selection,
    direction: Direction,
    bounds: Bounds,
    waiting: Waiting,
    open: Vec<Option<Slot>>,
    /// Empty places in `open`.
    free: Vec<usize>,
    heads: BinaryHeap<Head>,
    damage: VecDeque<Damage>,
    decoder: Decoder,
    meter: Arc<Meter>,
    decompressors: Option<Decompressors>,
    /// Whether a chunk has been opened. The first chunk starts no threads: another seek may follow at once.
    has_opened: bool,
    held: u64,
    most_held: u64,
}

#[derive(Debug)]
struct Slot {
    chunk: OpenChunk,
    /// The last message that was taken from the chunk.
    last: Option<Key>,
}

impl Slot {
    /// The key that places the chunk among the others; `None` at its end. If the share is used up but the chunk is not,
    /// the next key is unknown. The chunk then keeps its last key, so it is reloaded before anything else.
    fn next_key(&self, contents: &Contents, direction: Direction) -> Option<Key> {
        let chunk = contents.chunk(self.chunk.id);
        let next = self.chunk.next_key(chunk, direction);
        next.or(self.last.filter(|_| self.chunk.has_more()))
    }
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
enum Ahead {
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
        let waiting = Waiting::new(&contents, &selection, direction, bounds);
        Self {
            contents,
            selection,
            direction,
            bounds,
            waiting,
            open: Vec::new(),
            free: Vec::new(),
            heads: BinaryHeap::new(),
            damage: VecDeque::new(),
            decoder: Decoder::default(),
            meter: Meter::unbounded(),
            decompressors: None,
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
    pub(crate) fn metered(self, meter: Arc<Meter>) -> Self {
        Self { meter, ..self }
    }

    /// The same cursor with threads that decompress ahead while `is_wanted` is true.
    pub(crate) fn with_crew(self, is_wanted: Arc<AtomicBool>) -> Self {
        Self {
            decompressors: Some(Decompressors::new(is_wanted)),
            ..self
        }
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
        self.meter.usage()
    }

    /// How many bytes the cursor itself holds open.
    pub(crate) fn held(&self) -> u64 {
        self.held
    }

    /// How many bytes, as declared, the next step will decompress: 0 if decompression has begun already; `None` if the
    /// step opens no chunk.
    pub(crate) fn cost_ahead(&mut self) -> Option<u64> {
        let id = match self.ahead() {
            // Its bytes are counted already.
            Ahead::Open(id) if self.has_begun(id) => return Some(0),
            Ahead::Open(id) => id,
            Ahead::Reload(slot) => {
                // A cursor that reloads shares has no room to decompress ahead; chunks begun would only use up memory.
                self.decompressors = None;
                self.slot(slot)?.chunk.id
            }
            _ => return None,
        };
        Some(self.contents.chunk(id).cost())
    }

    /// Does one thing: opens a chunk or yields an item.
    pub(crate) fn step(&mut self) -> Step {
        match self.ahead() {
            Ahead::Damage => match self.damage.pop_front() {
                Some(damage) => Step::Item(Err(damage)),
                None => Step::Opened,
            },
            Ahead::Open(id) => {
                self.waiting.pass(&self.contents, &self.selection);
                self.open(id);
                Step::Opened
            }
            Ahead::Reload(slot) => {
                self.reload(slot);
                Step::Opened
            }
            Ahead::Message(slot) => match self.take(slot) {
                Some(message) => Step::Item(Ok(message)),
                None => Step::Opened,
            },
            Ahead::End => Step::End,
        }
    }

    fn ahead(&self) -> Ahead {
        if !self.damage.is_empty() {
            return Ahead::Damage;
        }
        let head = self.heads.peek();
        if let Some((id, edge)) = self.waiting.next()
            && head.is_none_or(|head| !self.direction.is_before(head.key, edge))
        {
            return Ahead::Open(id);
        }
        let Some(head) = head else { return Ahead::End };
        let slot = head.slot;
        match self.slot(slot).map(|slot| &slot.chunk) {
            Some(chunk) if chunk.is_ready() => Ahead::Message(slot),
            _ => Ahead::Reload(slot),
        }
    }

    fn open(&mut self, id: u32) {
        let size = self.contents.chunk(id).cost();
        self.read_ahead(id);
        // The list of a chunk's messages takes at most half the size of the chunk.
        let is_room = self.held + size + size / 2 <= self.most_held / 2;
        let keep = if self.held == 0 || is_room || self.is_sole_giant(size) {
            Keep::Whole
        } else {
            Keep::Share(self.share(id))
        };
        let Some((chunk, faults)) = self.load(id, self.bounds, keep) else {
            return;
        };
        self.damage.extend(faults);
        let slot = Slot { chunk, last: None };
        let at = self.free.pop().unwrap_or_else(|| {
            self.open.push(None);
            self.open.len() - 1
        });
        self.settle(at, slot);
    }

    /// Whether the chunk is larger than half of the bound, and no other open chunk is. It is then kept whole: otherwise
    /// its shares would be reloaded again and again.
    fn is_sole_giant(&self, size: u64) -> bool {
        let is_giant = |size: u64| size > self.most_held / 2;
        let mut open = self.open.iter().flatten();
        is_giant(size) && !open.any(|slot| is_giant(slot.chunk.cost()))
    }

    fn has_begun(&self, id: u32) -> bool {
        let decompressors = self.decompressors.as_ref();
        decompressors.is_some_and(|decompressors| decompressors.begun().any(|begun| begun == id))
    }

    /// Starts decompressing the chunks after `id`, as far as there is room for them.
    fn read_ahead(&mut self, id: u32) {
        let is_first = !std::mem::replace(&mut self.has_opened, true);
        let Some(decompressors) = self.decompressors.as_mut().filter(|_| !is_first) else {
            return;
        };
        let vacancies = decompressors.vacancies();
        if vacancies == 0 {
            return;
        }
        let cost = |id: u32| self.contents.chunk(id).cost();
        let known: Vec<u32> = decompressors.begun().filter(|begun| *begun != id).collect();
        let mut sum = cost(id) + known.iter().map(|id| cost(*id)).sum::<u64>();
        let upcoming = self.waiting.upcoming(&self.contents, &self.selection);
        let next = upcoming.filter(|id| !known.contains(id));
        let next: Vec<u32> = next.take(vacancies).collect();
        for next in next {
            sum += cost(next);
            // The list of a chunk's messages takes at most half the size of the chunk.
            let is_room = self.held + sum + sum / 2 <= self.most_held / 2;
            if !is_room || !self.meter.has_room(sum) {
                break;
            }
            decompressors.begin(next, &self.contents, &self.meter);
        }
    }

    /// Loads the next share of a chunk that has no message at hand. If the chunk is parked, its next message is due:
    /// the share then has at least that message.
    fn reload(&mut self, at: usize) {
        self.heads.pop();
        let Some(slot) = self.open.get_mut(at).and_then(Option::take) else {
            return;
        };
        self.held -= slot.chunk.cost();
        let (id, is_due, last) = (slot.chunk.id, slot.chunk.is_parked(), slot.last);
        drop(slot);
        let bounds = last.map_or(self.bounds, |key| self.bounds.after(key, self.direction));
        let share = self.share(id);
        let keep = match self.is_sole_giant(self.contents.chunk(id).cost()) {
            true => Keep::Whole,
            false if is_due => Keep::ShareOfOne(share),
            false => Keep::Share(share),
        };
        // Faults of the chunk were reported when it was first opened.
        match self.load(id, bounds, keep) {
            Some((chunk, _)) => self.settle(at, Slot { chunk, last }),
            None => self.free.push(at),
        }
    }

    fn load(&mut self, id: u32, bounds: Bounds, keep: Keep) -> Option<(OpenChunk, Vec<Damage>)> {
        if self.meter.is_closed() {
            return None;
        }
        let chunk = self.contents.chunk(id);
        let source = &self.contents.input(chunk.input).source;
        let ready = self.decompressors.as_mut().and_then(|it| it.take(id));
        let read = ready.unwrap_or_else(|| self.decoder.read(source, &chunk.place, &self.meter));
        match read {
            Ok(owned) => {
                let view = View {
                    contents: &self.contents,
                    selection: &self.selection,
                    direction: self.direction,
                    meter: &self.meter,
                };
                let (open, found) = OpenChunk::new(view, id, owned, bounds, keep);
                let faults = found.faults.into_iter();
                let damage = faults.map(|fault| self.contents.damage(chunk, fault));
                Some((open, damage.collect()))
            }
            Err(fault) => {
                let damage = self.contents.damage(chunk, fault);
                self.damage.push_back(damage);
                None
            }
        }
    }

    /// How many bytes of the chunk are kept when it shares the other half of the bound with all chunks that overlap it.
    fn share(&self, id: u32) -> u64 {
        let coming = self.waiting.overlapping(&self.contents, id);
        let count = self.heads.len() + coming;
        self.most_held / 2 / (count as u64 + 1)
    }

    fn take(&mut self, at: usize) -> Option<Message> {
        let slot = self.open.get_mut(at)?.as_mut()?;
        let message = slot.chunk.take(&self.contents, self.direction);
        slot.last = message.as_ref().map(|message| message.key).or(slot.last);
        let next = slot.next_key(&self.contents, self.direction);
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
    fn settle(&mut self, at: usize, slot: Slot) {
        if let Some(key) = slot.next_key(&self.contents, self.direction) {
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
