//! [`ChunksAhead`]: the chunks that a cursor has not opened yet, in the order in which it will need them.
//!
//! The chunk table is sorted by the key at which a chunk begins in the direction of play. For each place it also has
//! the farthest key that any chunk up to that place reaches. So the chunks that cover the start are found by a binary
//! search and a walk back from there. Chunks without a selected message are skipped unread.

use std::collections::VecDeque;
use std::ops::Bound;

use super::selection::{Bounds, Direction, Selection};
use crate::bag::index::contents::{Chunk, Contents, Order};
use crate::bag::message::Key;

/// The chunks ahead of a cursor.
#[derive(Debug)]
pub(crate) struct ChunksAhead {
    direction: Direction,
    bounds: Bounds,
    /// Chunks that begin before the start of the walk and reach it.
    first: VecDeque<u32>,
    /// After those: all chunks from this place on, in the order of the direction.
    rest: usize,
    next: Option<(u32, Key)>,
}

impl ChunksAhead {
    pub(crate) fn new(
        contents: &Contents,
        selection: &Selection,
        direction: Direction,
        bounds: Bounds,
    ) -> Self {
        let (first, rest) = covering(contents, direction, bounds);
        let mut ahead = Self {
            direction,
            bounds,
            first,
            rest,
            next: None,
        };
        ahead.next = ahead.find(contents, selection);
        ahead
    }

    /// The next chunk and the first key that it can have.
    pub(crate) fn next(&self) -> Option<(u32, Key)> {
        self.next
    }

    /// Moves past the next chunk, which is now being opened.
    pub(crate) fn pass(&mut self, contents: &Contents, selection: &Selection) {
        let next = self.next.map(|(id, _)| id);
        if self.first.front() == next.as_ref() {
            self.first.pop_front();
        } else {
            self.rest += 1;
        }
        self.next = self.find(contents, selection);
    }

    /// The selected chunks in the order in which they will be opened.
    pub(crate) fn selected<'a>(
        &'a self,
        contents: &'a Contents,
        selection: &'a Selection,
    ) -> impl Iterator<Item = u32> + use<'a> {
        let rest = order(contents, self.direction).chunks.get(self.rest..);
        let all = self.first.iter().chain(rest.unwrap_or_default());
        all.copied()
            .filter(|id| self.is_wanted(contents, selection, contents.chunk(*id)))
    }

    /// How many of them begin before the chunk `id` ends.
    pub(crate) fn overlapping(&self, contents: &Contents, id: u32) -> usize {
        let far = far(contents.chunk(id), self.direction);
        let rest = order(contents, self.direction).chunks.get(self.rest..);
        let is_near = |id: &u32| {
            let edge = edge(contents.chunk(*id), self.direction);
            !self.direction.is_before(far, edge)
        };
        self.first.len() + rest.unwrap_or_default().partition_point(is_near)
    }

    /// The first chunk that has a selected message; skips those before it.
    fn find(&mut self, contents: &Contents, selection: &Selection) -> Option<(u32, Key)> {
        let direction = self.direction;
        while let Some(id) = self.first.front().copied() {
            let chunk = contents.chunk(id);
            if self.is_wanted(contents, selection, chunk) {
                return Some((id, edge(chunk, direction)));
            }
            self.first.pop_front();
        }
        let chunks = &order(contents, direction).chunks;
        loop {
            let id = *chunks.get(self.rest)?;
            let chunk = contents.chunk(id);
            let edge = edge(chunk, direction);
            if self.is_wanted(contents, selection, chunk) {
                return Some((id, edge));
            }
            let is_beyond = match direction {
                Direction::Forward => self.bounds.ends_before(edge),
                Direction::Reverse => self.bounds.starts_after(edge),
            };
            // All later chunks begin even further away.
            self.rest = if is_beyond {
                chunks.len()
            } else {
                self.rest + 1
            };
        }
    }

    fn is_wanted(&self, contents: &Contents, selection: &Selection, chunk: &Chunk) -> bool {
        !self.bounds.is_empty()
            && !self.bounds.starts_after(chunk.high())
            && !self.bounds.ends_before(chunk.low())
            && contents.may_hold(chunk, |topic| selection.contains(topic))
    }
}

/// The first key that a message of the chunk can have in the direction of play.
fn edge(chunk: &Chunk, direction: Direction) -> Key {
    match direction {
        Direction::Forward => chunk.low(),
        Direction::Reverse => chunk.high(),
    }
}

/// The last key that a message of the chunk can have in the direction of play.
fn far(chunk: &Chunk, direction: Direction) -> Key {
    match direction {
        Direction::Forward => chunk.high(),
        Direction::Reverse => chunk.low(),
    }
}

fn order(contents: &Contents, direction: Direction) -> &Order {
    match direction {
        Direction::Forward => &contents.forward,
        Direction::Reverse => &contents.reverse,
    }
}

/// The chunks that begin before the start of the walk and reach it, and the place of the first chunk that begins after
/// it.
fn covering(contents: &Contents, direction: Direction, bounds: Bounds) -> (VecDeque<u32>, usize) {
    let start = match direction {
        Direction::Forward => bounds.low,
        Direction::Reverse => bounds.high,
    };
    let (Bound::Included(start) | Bound::Excluded(start)) = start else {
        return (VecDeque::new(), 0);
    };
    let Order {
        chunks,
        farthest_keys,
    } = order(contents, direction);
    let is_before_start =
        |id: &u32| !direction.is_before(start, edge(contents.chunk(*id), direction));
    let cut = chunks.partition_point(is_before_start);
    let before = chunks.iter().zip(farthest_keys).take(cut).rev();
    let reaching = before.take_while(|(_, farthest)| !direction.is_before(**farthest, start));
    let mut first = VecDeque::new();
    for (id, _) in reaching {
        if !direction.is_before(far(contents.chunk(*id), direction), start) {
            first.push_front(*id);
        }
    }
    (first, cut)
}
