//! [`Cursor`]: the ordered walk over a bag, in either direction: a merge of its open chunks.
//!
//! A chunk is opened when its first possible key (its last in reverse) is not behind the next message
//! at hand, so the order is total although chunks and files overlap. Whole chunks are held up to half
//! of [`Cursor::holding`]'s bound, beyond it only shares of them, so memory stays bounded however
//! many overlap and each chunk is decompressed once a share, never once a message. Seeking is a new
//! cursor: it finds its first chunks by binary search and opens only those.

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

/// What a cursor holds open at most unless told otherwise: 64 MiB.
const HELD: u64 = 64 << 20;

/// Walks the messages of a bag in order. Damage is yielded in between, once, and passed over.
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
    crew: Option<Decompressors>,
    /// Whether it has opened a chunk yet: a seek that is followed by another one needs no crew.
    has_opened: bool,
    held: u64,
    most_held: u64,
}

#[derive(Debug)]
struct Slot {
    chunk: OpenChunk,
    /// The last message that was taken from it.
    last: Option<Key>,
}

impl Slot {
    /// Where the chunk stands among the others; `None` at its end. If it is used up but not at its
    /// end, what comes next is unknown, so it stands where it was and is fetched before all else.
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
            crew: None,
            has_opened: false,
            held: 0,
            most_held: HELD,
        }
    }

    /// The same walk holding at most so many decompressed bytes, plus one chunk in the making.
    #[must_use]
    pub fn holding(self, bytes: u64) -> Self {
        Self {
            most_held: bytes,
            ..self
        }
    }

    /// The same walk on another account.
    pub(crate) fn metered(self, meter: Arc<Meter>) -> Self {
        Self { meter, ..self }
    }

    /// The same walk with more cores for chunks, used while `is_wanted` says so.
    pub(crate) fn with_crew(self, is_wanted: Arc<AtomicBool>) -> Self {
        Self {
            crew: Some(Decompressors::new(is_wanted)),
            ..self
        }
    }

    /// The next message or damage, unless `goes_on` says no before that: it is asked before each chunk that is
    /// opened, and the walk can be gone on with.
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

    /// What this walk has decompressed, and how much of that is alive, payloads handed out included.
    pub fn usage(&self) -> Usage {
        self.meter.usage()
    }

    /// What the cursor itself holds open, in bytes.
    pub(crate) fn held(&self) -> u64 {
        self.held
    }

    /// What the next step is going to decompress, in bytes as declared: nothing if that was begun; `None`
    /// if it opens no chunk.
    pub(crate) fn cost_ahead(&mut self) -> Option<u64> {
        let id = match self.ahead() {
            // Its bytes are counted already.
            Ahead::Open(id) if self.has_begun(id) => return Some(0),
            Ahead::Open(id) => id,
            Ahead::Reload(slot) => {
                // Who has to fetch shares has no room to read ahead; what was begun would be in its way.
                self.crew = None;
                self.slot(slot)?.chunk.id
            }
            _ => return None,
        };
        Some(self.contents.chunk(id).cost())
    }

    /// Does one thing: opens a chunk, or yields an item.
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
        // The list of a chunk's messages is at most half as large again.
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

    /// A chunk that is larger than the bound is held whole all the same, if it is the only one: its shares
    /// would be fetched again and again.
    fn is_sole_giant(&self, size: u64) -> bool {
        let is_giant = |size: u64| size > self.most_held / 2;
        let mut open = self.open.iter().flatten();
        is_giant(size) && !open.any(|slot| is_giant(slot.chunk.cost()))
    }

    fn has_begun(&self, id: u32) -> bool {
        let crew = self.crew.as_ref();
        crew.is_some_and(|crew| crew.begun().any(|begun| begun == id))
    }

    /// Has the chunks behind `id` decompressed meanwhile, as far as there is room for them.
    fn read_ahead(&mut self, id: u32) {
        let is_first = !std::mem::replace(&mut self.has_opened, true);
        let Some(crew) = self.crew.as_mut().filter(|_| !is_first) else {
            return;
        };
        let vacancies = crew.vacancies();
        if vacancies == 0 {
            return;
        }
        let cost = |id: u32| self.contents.chunk(id).cost();
        let known: Vec<u32> = crew.begun().filter(|begun| *begun != id).collect();
        let mut sum = cost(id) + known.iter().map(|id| cost(*id)).sum::<u64>();
        let upcoming = self.waiting.upcoming(&self.contents, &self.selection);
        let next = upcoming.filter(|id| !known.contains(id));
        let next: Vec<u32> = next.take(vacancies).collect();
        for next in next {
            sum += cost(next);
            // The list of a chunk's messages is at most half as large again.
            let is_room = self.held + sum + sum / 2 <= self.most_held / 2;
            if !is_room || !self.meter.has_room(sum) {
                break;
            }
            crew.begin(next, &self.contents, &self.meter);
        }
    }

    /// Fetches the next share of a chunk that has nothing at hand, and at least its next message if
    /// that is the one that is due.
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
        // What was wrong with the chunk was said when it was opened first.
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
        let ready = self.crew.as_mut().and_then(|it| it.take(id));
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

    /// How much of the chunk is kept when all that overlap it have to share the other half.
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

    /// Puts a chunk where it waits for its turn, or drops it if it has nothing more to say.
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
