//! [`Spares`]: buffers of chunks that are no longer needed, kept for the next chunks.
//!
//! A new buffer of a megabyte comes from the system page by page, each filled with zeros, which takes a tenth of the
//! time of decompression. A used one also lies in the cache of the processor.

use std::fmt;

/// Smaller buffers come from memory that the allocator keeps itself.
const LEAST: usize = 128 << 10;
const MOST_BUFFERS: usize = 8;
const MOST_BYTES: u64 = 16 << 20;

/// Buffers of which all bytes are initialized, the last used one at the end. What is dropped is returned, because that
/// takes time and the caller holds a lock.
#[derive(Default)]
pub(super) struct Spares {
    buffers: Vec<Vec<u8>>,
    bytes: u64,
}

impl Spares {
    /// The smallest buffer of at least `size` bytes, and of at most an eighth more.
    pub(super) fn take(&mut self, size: usize) -> Option<Vec<u8>> {
        if size < LEAST {
            return None;
        }
        let buffers = self.buffers.iter().map(Vec::len).enumerate();
        let fitting = buffers.filter(|(_, length)| (size..=size + size / 8).contains(length));
        let (at, _) = fitting.min_by_key(|(_, length)| *length)?;
        Some(self.remove(at))
    }

    /// Keeps a buffer. Returns it if it is too small or too large, or the oldest ones as far as all together have more
    /// than `most` bytes.
    pub(super) fn keep(&mut self, buffer: Vec<u8>, most: u64) -> Vec<Vec<u8>> {
        let most = most.min(MOST_BYTES);
        if buffer.len() < LEAST || buffer.len() as u64 > most {
            return vec![buffer];
        }
        self.bytes += buffer.len() as u64;
        self.buffers.push(buffer);
        let mut dropped = self.shrink(most);
        if self.buffers.len() > MOST_BUFFERS {
            dropped.push(self.remove(0));
        }
        dropped
    }

    /// Removes the oldest buffers as far as all together have more than `most` bytes.
    pub(super) fn shrink(&mut self, most: u64) -> Vec<Vec<u8>> {
        let mut dropped = Vec::new();
        while self.bytes > most {
            dropped.push(self.remove(0));
        }
        dropped
    }

    fn remove(&mut self, at: usize) -> Vec<u8> {
        let buffer = self.buffers.remove(at);
        self.bytes -= buffer.len() as u64;
        buffer
    }
}

impl fmt::Debug for Spares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spares")
            .field("buffers", &self.buffers.len())
            .field("bytes", &self.bytes)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    fn lengths(buffers: &[Vec<u8>]) -> Vec<usize> {
        buffers.iter().map(Vec::len).collect()
    }

    #[test]
    fn the_smallest_buffer_that_fits_is_taken() {
        let mut spares = Spares::default();
        for size in [LEAST - 1, LEAST + 9, 4 * LEAST, LEAST + 1] {
            spares.keep(vec![1; size], u64::MAX);
        }
        assert_eq!(lengths(&spares.buffers), [LEAST + 9, 4 * LEAST, LEAST + 1]);
        for size in [LEAST - 1, 2 * LEAST, 4 * LEAST + 1] {
            assert_eq!(spares.take(size), None);
        }
        assert_eq!(spares.take(LEAST).map(|it| it.len()), Some(LEAST + 1));
        assert_eq!(spares.take(LEAST).map(|it| it.len()), Some(LEAST + 9));
        assert_eq!(spares.take(LEAST), None);
        assert_eq!(lengths(&spares.buffers), [4 * LEAST]);
        assert_eq!(spares.bytes, 4 * LEAST as u64);
    }

    #[test]
    fn the_oldest_buffers_beyond_the_bounds_are_dropped() {
        let mut spares = Spares::default();
        for size in (0..MOST_BUFFERS).map(|more| LEAST + more) {
            assert!(spares.keep(vec![1; size], u64::MAX).is_empty());
        }
        let dropped = spares.keep(vec![1; LEAST + MOST_BUFFERS], u64::MAX);
        assert_eq!(lengths(&dropped), [LEAST]);
        // What cannot be kept removes nothing.
        for (size, most) in [((16 << 20) + 1, u64::MAX), (LEAST + 1, LEAST as u64)] {
            let dropped = spares.keep(vec![1; size], most);
            assert_eq!(lengths(&dropped), [size]);
            assert_eq!(spares.buffers.len(), MOST_BUFFERS);
        }
        assert_eq!(spares.shrink(2 * LEAST as u64 + 20).len(), MOST_BUFFERS - 2);
        assert_eq!(lengths(&spares.buffers), [LEAST + 7, LEAST + 8]);
        let dropped = spares.keep(vec![1; LEAST], LEAST as u64);
        assert_eq!(lengths(&dropped), [LEAST + 7, LEAST + 8]);
        assert_eq!(lengths(&spares.buffers), [LEAST]);
        assert_eq!(spares.bytes, LEAST as u64);
    }

    #[test]
    fn chunks_that_differ_by_a_message_take_used_buffers() {
        // As a recorder ends a chunk with the first message that exceeds its size: a megabyte, and up to 100 kB more.
        // Two chunks are in memory at a time.
        let mut state = 1_u64;
        let mut spares = Spares::default();
        let mut in_use = VecDeque::new();
        let mut taken = 0;
        for _ in 0..1_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let size = (1 << 20) + (state >> 33) as usize % 100_000;
            let used = spares.take(size);
            taken += usize::from(used.is_some());
            in_use.push_back(used.unwrap_or_else(|| vec![0; size]));
            if in_use.len() > 2
                && let Some(oldest) = in_use.pop_front()
            {
                spares.keep(oldest, u64::MAX);
            }
        }
        assert!(taken > 980, "{taken} of 1,000");
    }
}
