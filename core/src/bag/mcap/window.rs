//! [`Window`]: many small reads of a file with few system calls.
//!
//! Sequential reads fetch growing pieces. After a jump the pieces are small again, so skipping over chunks does not
//! read them.

use std::io;

use crate::bag::open::source::Source;

/// How many bytes are read at most, in a long sequence. After a jump it is what the source gives.
const LARGEST: usize = 1 << 20;

/// A piece of a file in memory.
#[derive(Debug)]
pub(crate) struct Window<'a> {
    source: &'a Source,
    held: Held,
    step: usize,
    /// No read goes beyond this unless what is asked for does.
    end: u64,
}

/// What a window has in memory, for a later window of the same file.
#[derive(Debug, Default)]
pub(crate) struct Held {
    start: u64,
    bytes: Vec<u8>,
}

impl<'a> Window<'a> {
    pub(crate) fn new(source: &'a Source) -> Self {
        Self::with(source, Held::default())
    }

    /// A window that has in memory what an earlier one of this file had.
    pub(crate) fn with(source: &'a Source, held: Held) -> Self {
        Self {
            source,
            held,
            step: source.cost().piece(),
            end: u64::MAX,
        }
    }

    /// Reads nothing from `end` on that is not asked for.
    pub(crate) fn end_at(&mut self, end: u64) {
        self.end = end;
    }

    /// What it has in memory.
    pub(crate) fn into_held(self) -> Held {
        self.held
    }

    /// The `length` bytes from `offset` on; fewer at the end of the file.
    pub(crate) fn get(&mut self, offset: u64, length: usize) -> io::Result<&[u8]> {
        let there = self.source.len.saturating_sub(offset);
        let length = length.min(usize::try_from(there).unwrap_or(usize::MAX));
        if length == 0 {
            return Ok(&[]);
        }
        let inside = |window: &Self| {
            let from = usize::try_from(offset.checked_sub(window.held.start)?).ok()?;
            let to = from.checked_add(length)?;
            (to <= window.held.bytes.len()).then_some(from..to)
        };
        if inside(self).is_none() {
            self.fill(offset, length)?;
        }
        let range = inside(self).unwrap_or(0..0);
        Ok(self.held.bytes.get(range).unwrap_or_default())
    }

    fn fill(&mut self, offset: u64, length: usize) -> io::Result<()> {
        let Held { start, bytes } = &mut self.held;
        let end = *start + bytes.len() as u64;
        let is_next = (*start..=end).contains(&offset) && !bytes.is_empty();
        self.step = if is_next {
            (self.step * 2).min(LARGEST)
        } else {
            self.source.cost().piece()
        };
        let there = self.source.len.saturating_sub(offset);
        let needed = self.end.saturating_sub(offset);
        let wanted = (self.step as u64).min(needed).max(length as u64);
        // No request over a network for bytes that were not asked for.
        let wanted = match self.source.kept_from(offset) {
            kept if kept >= length as u64 => wanted.min(kept),
            _ => wanted,
        };
        let size = usize::try_from(wanted.min(there)).map_err(io::Error::other)?;
        bytes.resize(size, 0);
        *start = offset;
        let read = self.source.read_into(offset, bytes);
        if read.is_err() {
            bytes.clear();
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;

    use super::*;

    #[test]
    fn from_the_end_on_nothing_is_read_that_is_not_asked_for() {
        let source = Source::of("x".into(), Arc::new(Bytes::from(vec![7; 100_000]))).unwrap();
        let mut window = Window::new(&source);
        window.end_at(300);
        assert_eq!(window.get(100, 15).unwrap().len(), 15);
        assert_eq!(window.held.bytes.len(), 200);
        assert_eq!(window.get(290, 20).unwrap().len(), 20);
        assert_eq!(window.held.bytes.len(), 20);
    }

    #[test]
    fn a_window_returns_the_bytes_at_any_offset() {
        let bytes: Vec<u8> = (0..100_000_u32).map(|i| (i % 251) as u8).collect();
        let source = Source::of("x".into(), Arc::new(Bytes::from(bytes.clone()))).unwrap();
        let mut window = Window::new(&source);
        for (offset, length) in [
            (0, 9),
            (9, 9),
            (4090, 20),
            (50_000, 60_000),
            (10, 3),
            (99_995, 10),
            (100_000, 1),
            (u64::MAX, 5),
        ] {
            let from = usize::try_from(offset).unwrap().min(bytes.len());
            let to = (from + length).min(bytes.len());
            assert_eq!(window.get(offset, length).unwrap(), &bytes[from..to]);
        }
    }
}
