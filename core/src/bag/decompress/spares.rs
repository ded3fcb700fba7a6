//! [`Spares`]: buffers of chunks that are no longer needed, kept for the next chunks.
//!
//! A new buffer of a megabyte comes from the system page by page, each filled with zeros, which takes a tenth of the
//! time of decompression. A used one may still lie in the cache of the processor that filled it. A processor without
//! access to that cache fills it more slowly. A thread mostly stays on one processor, so it takes only buffers that it
//! has filled itself.

use std::fmt;
use std::thread::ThreadId;

/// Smaller buffers come from memory that the allocator keeps itself.
const LEAST: usize = 128 << 10;
const MOST_BUFFERS: usize = 8;
const MOST_BYTES: u64 = 16 << 20;

/// A buffer that is no longer needed. All of its bytes are initialized.
#[derive(Debug)]
pub(super) struct Spare {
    pub(super) bytes: Vec<u8>,
    pub(super) filled_by: ThreadId,
}

/// Buffers, the one that was kept last at the end. What is dropped is returned, because that takes time and the caller
/// holds a lock.
#[derive(Default)]
pub(super) struct Spares {
    buffers: Vec<Spare>,
    bytes: u64,
}

impl Spares {
    /// The smallest buffer of at least `size` bytes, and of at most an eighth more, that `thread` has filled.
    pub(super) fn take(&mut self, size: usize, thread: ThreadId) -> Option<Vec<u8>> {
        if size < LEAST {
            return None;
        }
        let fitting = size..=size + size / 8;
        let buffers = self.buffers.iter().enumerate();
        let (at, _) = buffers
            .filter(|(_, it)| it.filled_by == thread && fitting.contains(&it.bytes.len()))
            .min_by_key(|(_, it)| it.bytes.len())?;
        Some(self.remove(at).bytes)
    }

    /// Keeps a buffer. Returns it if it is too small or too large, or the oldest ones as far as all together have more
    /// than `most` bytes.
    pub(super) fn keep(&mut self, buffer: Spare, most: u64) -> Vec<Spare> {
        let (most, length) = (most.min(MOST_BYTES), buffer.bytes.len());
        if length < LEAST || length as u64 > most {
            return vec![buffer];
        }
        self.bytes += length as u64;
        self.buffers.push(buffer);
        let mut dropped = self.shrink(most);
        if self.buffers.len() > MOST_BUFFERS {
            dropped.push(self.remove(0));
        }
        dropped
    }

    /// Removes the oldest buffers as far as all together have more than `most` bytes.
    pub(super) fn shrink(&mut self, most: u64) -> Vec<Spare> {
        let mut dropped = Vec::new();
        while self.bytes > most {
            dropped.push(self.remove(0));
        }
        dropped
    }

    fn remove(&mut self, at: usize) -> Spare {
        let buffer = self.buffers.remove(at);
        self.bytes -= buffer.bytes.len() as u64;
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

    fn lengths(buffers: &[Spare]) -> Vec<usize> {
        buffers.iter().map(|it| it.bytes.len()).collect()
    }

    fn this_thread() -> ThreadId {
        std::thread::current().id()
    }

    fn another_thread() -> ThreadId {
        std::thread::spawn(this_thread).join().expect("no panic")
    }

    fn spare(bytes: Vec<u8>) -> Spare {
        let filled_by = this_thread();
        Spare { bytes, filled_by }
    }

    #[test]
    fn a_buffer_goes_to_the_thread_that_filled_it() {
        let (this, another) = (this_thread(), another_thread());
        let mut spares = Spares::default();
        spares.keep(spare(vec![1; LEAST]), u64::MAX);
        let of_another = Spare {
            bytes: vec![2; LEAST],
            filled_by: another,
        };
        spares.keep(of_another, u64::MAX);
        assert_eq!(spares.take(LEAST, another), Some(vec![2; LEAST]));
        assert_eq!(spares.take(LEAST, another), None);
        assert_eq!(spares.take(LEAST, this), Some(vec![1; LEAST]));
    }

    #[test]
    fn the_smallest_buffer_that_fits_is_taken() {
        let mut spares = Spares::default();
        for size in [LEAST - 1, LEAST + 9, 4 * LEAST, LEAST + 1] {
            spares.keep(spare(vec![1; size]), u64::MAX);
        }
        assert_eq!(lengths(&spares.buffers), [LEAST + 9, 4 * LEAST, LEAST + 1]);
        for size in [LEAST - 1, 2 * LEAST, 4 * LEAST + 1] {
            assert_eq!(spares.take(size, this_thread()), None);
        }
        assert_eq!(
            spares.take(LEAST, this_thread()).map(|it| it.len()),
            Some(LEAST + 1)
        );
        assert_eq!(
            spares.take(LEAST, this_thread()).map(|it| it.len()),
            Some(LEAST + 9)
        );
        assert_eq!(spares.take(LEAST, this_thread()), None);
        assert_eq!(lengths(&spares.buffers), [4 * LEAST]);
        assert_eq!(spares.bytes, 4 * LEAST as u64);
    }

    #[test]
    fn the_oldest_buffers_beyond_the_bounds_are_dropped() {
        let mut spares = Spares::default();
        for size in (0..MOST_BUFFERS).map(|more| LEAST + more) {
            assert!(spares.keep(spare(vec![1; size]), u64::MAX).is_empty());
        }
        let dropped = spares.keep(spare(vec![1; LEAST + MOST_BUFFERS]), u64::MAX);
        assert_eq!(lengths(&dropped), [LEAST]);
        // What cannot be kept removes nothing.
        for (size, most) in [((16 << 20) + 1, u64::MAX), (LEAST + 1, LEAST as u64)] {
            let dropped = spares.keep(spare(vec![1; size]), most);
            assert_eq!(lengths(&dropped), [size]);
            assert_eq!(spares.buffers.len(), MOST_BUFFERS);
        }
        assert_eq!(spares.shrink(2 * LEAST as u64 + 20).len(), MOST_BUFFERS - 2);
        assert_eq!(lengths(&spares.buffers), [LEAST + 7, LEAST + 8]);
        let dropped = spares.keep(spare(vec![1; LEAST]), LEAST as u64);
        assert_eq!(lengths(&dropped), [LEAST + 7, LEAST + 8]);
        assert_eq!(lengths(&spares.buffers), [LEAST]);
        assert_eq!(spares.bytes, LEAST as u64);
    }

    #[test]
    fn chunks_that_differ_by_a_message_take_used_buffers() {
        let (this, another) = (this_thread(), another_thread());
        let one = share_of_used_buffers(&[this]);
        let two = share_of_used_buffers(&[this, another]);
        assert!(one > 0.98 && two > 0.95, "{one}, {two}");
    }

    /// The share of a thousand chunks that were decompressed into used buffers, when these threads took turns. As a
    /// recorder ends a chunk with the first message that exceeds its size: a megabyte, and up to 100 kB more. Two
    /// chunks are in memory at a time.
    fn share_of_used_buffers(threads: &[ThreadId]) -> f64 {
        let mut state = 1_u64;
        let mut spares = Spares::default();
        let mut in_use = VecDeque::new();
        let mut taken = 0;
        for &filled_by in threads.iter().cycle().take(1_000) {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let size = (1 << 20) + (state >> 33) as usize % 100_000;
            let used = spares.take(size, filled_by);
            taken += i32::from(used.is_some());
            let bytes = used.unwrap_or_else(|| vec![0; size]);
            in_use.push_back(Spare { bytes, filled_by });
            if in_use.len() > 2
                && let Some(oldest) = in_use.pop_front()
            {
                spares.keep(oldest, u64::MAX);
            }
        }
        f64::from(taken) / 1_000.0
    }
}
