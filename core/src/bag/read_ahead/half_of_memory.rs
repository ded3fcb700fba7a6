//! [`HalfOfMemory`]: the part of a [`ChunkMemory`] that the read-ahead may take.
//!
//! What was sent stays in the memory until its receivers have dropped it. If the read-ahead took all of the memory,
//! chunks would find room by chance: only when a receiver has just dropped something.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::bag::decompress::memory::{ChunkBuffer, ChunkMemory};

/// A memory that has room while chunks that are read ahead take at most half of it. A chunk counts until this process
/// has dropped its messages.
pub(super) struct HalfOfMemory {
    memory: Arc<dyn ChunkMemory>,
    /// In bytes.
    taken: Arc<AtomicU64>,
    read_ahead: u64,
    /// Whether it was reported that half of the memory is less than the read-ahead.
    is_reported: AtomicBool,
}

impl HalfOfMemory {
    /// `read_ahead` is the bound of the read-ahead, in bytes.
    pub(super) fn of(memory: Arc<dyn ChunkMemory>, read_ahead: u64) -> Self {
        Self {
            memory,
            taken: Arc::default(),
            read_ahead,
            is_reported: AtomicBool::new(false),
        }
    }

    fn half(&self) -> u64 {
        self.memory.size() / 2
    }

    /// Counts `length` bytes as taken, if they fit. A chunk that is larger than half of the memory fits if there is no
    /// other.
    fn reserve(&self, length: u64) -> Option<Reserved> {
        let add = |taken: u64| {
            let after = taken.saturating_add(length);
            (taken == 0 || after <= self.half()).then_some(after)
        };
        let added = self
            .taken
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
        added.ok().map(|_| Reserved {
            taken: Arc::clone(&self.taken),
            length,
        })
    }

    fn report(&self) {
        // Otherwise a jump has begun to read while messages from before are still there, which does not last.
        let is_lasting = self.read_ahead > self.half();
        if is_lasting && !self.is_reported.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "the read-ahead ({} MiB) is larger than half of the shared memory ({} MiB): messages that are read \
                 further ahead are copied",
                self.read_ahead >> 20,
                self.half() >> 20
            );
        }
    }
}

impl ChunkMemory for HalfOfMemory {
    fn size(&self) -> u64 {
        self.half()
    }

    fn take(&self, length: usize) -> Option<Box<dyn ChunkBuffer>> {
        let Some(reserved) = self.reserve(length as u64) else {
            self.report();
            return None;
        };
        let buffer = self.memory.take(length)?;
        Some(Box::new(Counted {
            buffer,
            _reserved: reserved,
        }))
    }
}

/// Bytes that are counted as taken until it is dropped.
struct Reserved {
    taken: Arc<AtomicU64>,
    length: u64,
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.taken.fetch_sub(self.length, Ordering::Relaxed);
    }
}

/// A buffer of the memory.
struct Counted {
    // Dropped first, so that no other is taken in its place before it is freed.
    buffer: Box<dyn ChunkBuffer>,
    _reserved: Reserved,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        (*self.buffer).as_ref()
    }
}

impl AsMut<[u8]> for Counted {
    fn as_mut(&mut self) -> &mut [u8] {
        (*self.buffer).as_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Memory of 100 bytes of which something else holds `held`.
    struct Hundred {
        held: usize,
    }

    impl ChunkMemory for Hundred {
        fn size(&self) -> u64 {
            100
        }

        fn take(&self, length: usize) -> Option<Box<dyn ChunkBuffer>> {
            (length <= 100 - self.held)
                .then(|| Box::new(vec![0_u8; length]) as Box<dyn ChunkBuffer>)
        }
    }

    #[test]
    fn chunks_that_are_read_ahead_take_half_of_the_memory() {
        let half = HalfOfMemory::of(Arc::new(Hundred { held: 0 }), 1000);
        let first = half.take(30);
        let second = half.take(20);
        assert!(first.is_some() && second.is_some() && half.take(1).is_none());
        drop(first);
        assert!(half.take(31).is_none());
        let third = half.take(30).expect("room");
        assert_eq!((*third).as_ref().len(), 30);
        assert!(half.take(1).is_none());
        drop((second, third));
        assert_eq!(half.taken.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_chunk_that_is_larger_than_half_of_the_memory_is_the_only_one() {
        let half = HalfOfMemory::of(Arc::new(Hundred { held: 0 }), 1000);
        let small = half.take(10);
        assert!(half.take(60).is_none());
        drop(small);
        let large = half.take(60);
        assert!(large.is_some() && half.take(10).is_none());
        drop(large);
        assert!(half.take(60).is_some());
    }

    #[test]
    fn what_the_memory_has_no_room_for_is_not_counted() {
        let half = HalfOfMemory::of(Arc::new(Hundred { held: 90 }), 1000);
        assert!(half.take(11).is_none());
        assert_eq!(half.taken.load(Ordering::Relaxed), 0);
        assert!(half.take(10).is_some());
    }
}
