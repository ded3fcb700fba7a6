//! [`SharedMemory`]: chunks in memory that zenoh shares with subscribers on this host.
//!
//! The read-ahead decompresses a chunk into a buffer of the pool. Each large message of the chunk becomes a buffer of
//! zenoh that begins inside that buffer, so nothing is copied on the way to the subscriber. A link whose other end does
//! not use shared memory gets the bytes as usual. A buffer of the pool is free again when this process and all
//! subscribers have dropped its messages. A subscriber that is killed does not drop them: what it held stays taken, and
//! when no room is left, chunks are on the heap and messages are copied into sockets.

pub(crate) mod lazy;
mod size;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use zenoh::Wait;
use zenoh::bytes::ZBytes;
use zenoh::shm::{
    AllocatedChunk, ChunkAllocResult, ChunkDescriptor, MemoryLayout, PosixShmProviderBackend,
    ProtocolID, PtrInSegment, ShmProvider, ShmProviderBackend, ShmProviderBuilder, WithProtocolID,
    ZLayoutError, ZShm, cleanup_orphaned_shm_segments,
};

use crate::bag::{ChunkBuffer, ChunkMemory};
use crate::wire::error::WireError;
use crate::wire::event::Events;
use size::{MOST, size_up_to};

/// Messages from this size on are shared: 8 KiB. Below it, a copy costs less.
const SHARED: usize = 8 << 10;

/// A pool of shared memory. Clones are handles to the same pool.
#[derive(Clone)]
pub(crate) struct SharedMemory(Arc<Shared>);

struct Shared {
    pool: Arc<Pool>,
    provider: ShmProvider<Backend>,
    size: u64,
    events: Events,
    /// Whether a chunk found no room.
    was_full: AtomicBool,
}

impl SharedMemory {
    /// Removes the shared memory that killed programs have left behind.
    pub(crate) fn clean_up() {
        cleanup_orphaned_shm_segments();
    }

    /// Makes the pool. An error says what the system lacks. `events` gets a warning when a chunk finds no room for
    /// the first time.
    pub(crate) fn open(events: &Events) -> Result<Self, WireError> {
        Self::up_to(MOST, events)
    }

    /// The same, with a pool of this size at most.
    fn up_to(most: u64, events: &Events) -> Result<Self, WireError> {
        let size = size_up_to(most)?;
        let unavailable = |source| WireError::SharedMemory {
            reason: format!("{} MiB cannot be allocated", size >> 20),
            source: Some(source),
        };
        let memory = PosixShmProviderBackend::builder(usize::try_from(size).unwrap_or(usize::MAX))
            .wait()
            // zenoh leaves the file behind if it cannot lock the memory.
            .inspect_err(|_| cleanup_orphaned_shm_segments())
            .map_err(unavailable)?;
        let pool = Arc::new(Pool {
            memory,
            taken: Mutex::default(),
        });
        let provider = ShmProviderBuilder::backend(Backend(Arc::clone(&pool))).wait();
        Ok(Self(Arc::new(Shared {
            pool,
            provider,
            size,
            events: events.clone(),
            was_full: AtomicBool::new(false),
        })))
    }

    /// How many bytes of messages there are that were sent and that subscribers, or zenoh on the way to them, still
    /// hold.
    pub(crate) fn held(&self) -> u64 {
        self.0.provider.garbage_collect();
        self.0.pool.taken().held
    }

    /// A payload as zenoh sends it: from shared memory, if it is large and lies there.
    pub(crate) fn payload(&self, bytes: Bytes) -> ZBytes {
        if bytes.len() < SHARED {
            return bytes.into();
        }
        let Some(part) = self.0.pool.part(&bytes) else {
            return bytes.into();
        };
        let descriptor = part.descriptor.clone();
        if let Ok(buffer) = self.0.provider.map(part, bytes.len()) {
            // This process does not write to it: `bytes` and other messages lie in the same chunk. zenoh cannot tell
            // subscribers that they must not, either.
            return ZShm::from(buffer).into();
        }
        self.0.pool.release(&descriptor);
        bytes.into()
    }
}

impl ChunkMemory for SharedMemory {
    fn size(&self) -> u64 {
        self.0.size
    }

    fn take(&self, length: usize) -> Option<Box<dyn ChunkBuffer>> {
        let Shared {
            provider,
            size,
            events,
            was_full,
            ..
        } = &*self.0;
        // This frees only buffers that no process holds: a stopped subscriber may still read its own.
        provider.garbage_collect();
        if let Ok(buffer) = provider.alloc(length).wait() {
            return Some(Box::new(buffer));
        }
        // An empty chunk needs no room.
        if length > 0 && !was_full.swap(true, Ordering::Relaxed) {
            events.warn(format!(
                "the shared memory has no room for a chunk of {length} bytes: subscribers hold most of its {} MiB, or the \
                 chunk is larger; messages of this chunk, and of later chunks that do not fit, are sent through \
                 sockets",
                size >> 20
            ));
        }
        None
    }
}

impl fmt::Debug for SharedMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedMemory")
            .field("chunks", &self.0.pool.taken().chunks.len())
            .finish_non_exhaustive()
    }
}

/// The memory of the pool and what is taken of it.
struct Pool {
    memory: PosixShmProviderBackend,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    /// The address of the first byte of the memory in this process; known from the first buffer on.
    base: usize,
    /// By place in the memory.
    chunks: BTreeMap<u32, Chunk>,
    /// The bytes of all parts.
    held: u64,
}

/// A buffer that was taken.
struct Chunk {
    descriptor: ChunkDescriptor,
    /// Keeps the memory mapped.
    segment: Arc<PtrInSegment>,
    /// The buffers of zenoh inside it, and itself.
    uses: usize,
    /// Whether it is still there itself.
    is_whole_there: bool,
}

impl Pool {
    fn taken(&self) -> MutexGuard<'_, Taken> {
        // Each change is made whole before the lock is released.
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A part of a taken buffer as a buffer of its own, which [`Self::release`] takes back. `None` if the bytes lie
    /// elsewhere.
    fn part(&self, bytes: &[u8]) -> Option<AllocatedChunk> {
        let length = bytes.len().try_into().ok()?;
        let mut taken = self.taken();
        let place = (bytes.as_ptr() as usize).checked_sub(taken.base)?;
        let place = u32::try_from(place).ok()?;
        let (start, chunk) = taken.chunks.range_mut(..=place).next_back()?;
        let inside = (place - start) as usize;
        if inside + bytes.len() > chunk.descriptor.len.get() {
            return None;
        }
        chunk.uses += 1;
        let part = AllocatedChunk {
            descriptor: ChunkDescriptor::new(chunk.descriptor.segment, place, length),
            data: PtrInSegment::new(bytes.as_ptr().cast_mut(), Arc::clone(&chunk.segment) as _),
        };
        taken.held += bytes.len() as u64;
        Some(part)
    }

    /// Takes back one use of the buffer in which `part` begins.
    fn release(&self, part: &ChunkDescriptor) {
        let mut taken = self.taken();
        let Some((start, chunk)) = taken.chunks.range_mut(..=part.chunk).next_back() else {
            return;
        };
        let start = *start;
        // The description comes from memory in which other processes can write.
        let Some(uses) = chunk.uses.checked_sub(1) else {
            return;
        };
        chunk.uses = uses;
        let is_unused = uses == 0;
        // A part that is as long as its chunk looks like the chunk. The bytes are the same, whichever goes first.
        let is_whole = *part == chunk.descriptor && std::mem::take(&mut chunk.is_whole_there);
        if !is_whole {
            taken.held = taken.held.saturating_sub(part.len.get() as u64);
        }
        if is_unused && let Some(chunk) = taken.chunks.remove(&start) {
            self.memory.free(&chunk.descriptor);
        }
    }
}

/// The pool as zenoh's provider sees it.
struct Backend(Arc<Pool>);

impl WithProtocolID for Backend {
    fn id(&self) -> ProtocolID {
        self.0.memory.id()
    }
}

impl ShmProviderBackend for Backend {
    fn alloc(&self, layout: &MemoryLayout) -> ChunkAllocResult {
        let chunk = self.0.memory.alloc(layout)?;
        let mut taken = self.0.taken();
        let place = chunk.descriptor.chunk;
        taken.base = (chunk.data.ptr() as usize).wrapping_sub(place as usize);
        taken.chunks.insert(
            place,
            Chunk {
                descriptor: chunk.descriptor.clone(),
                segment: Arc::new(chunk.data.clone()),
                uses: 1,
                is_whole_there: true,
            },
        );
        Ok(chunk)
    }

    fn free(&self, chunk: &ChunkDescriptor) {
        self.0.release(chunk);
    }

    fn defragment(&self) -> usize {
        self.0.memory.defragment()
    }

    fn available(&self) -> usize {
        self.0.memory.available()
    }

    fn layout_for(&self, layout: MemoryLayout) -> Result<MemoryLayout, ZLayoutError> {
        self.0.memory.layout_for(layout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: u64 = 32 << 20;

    /// `None` where this process may not lock so much memory; see docs/testing.md.
    fn memory(events: &Events) -> Option<SharedMemory> {
        match size_up_to(SIZE) {
            Ok(_) => Some(SharedMemory::up_to(SIZE, events).expect("shared memory")),
            Err(reason) => {
                eprintln!("not tested: {reason}");
                None
            }
        }
    }

    fn is_shared(payload: &ZBytes) -> bool {
        payload.as_shm().is_some()
    }

    /// A chunk with this content, as the read-ahead makes it.
    fn chunk(memory: &SharedMemory, content: &[u8]) -> Bytes {
        struct Owner(Box<dyn ChunkBuffer>);
        impl AsRef<[u8]> for Owner {
            fn as_ref(&self) -> &[u8] {
                (*self.0).as_ref()
            }
        }
        let mut buffer = memory.take(content.len()).expect("room");
        (*buffer).as_mut().copy_from_slice(content);
        Bytes::from_owner(Owner(buffer))
    }

    #[test]
    fn parts_of_a_chunk_are_shared_and_keep_it_taken() {
        let Some(memory) = memory(&Events::new(|_| ())) else {
            return;
        };
        let taken = || {
            memory.0.provider.garbage_collect();
            memory.0.pool.taken().chunks.len()
        };
        let content: Vec<u8> = (0..100_000_u32).map(|n| n.to_le_bytes()[0]).collect();
        let bytes = chunk(&memory, &content);
        let other = chunk(&memory, &content);
        // At its begin, inside, at its end; all of it.
        let places = [0..SHARED, 5..50_000, 100_000 - SHARED..100_000, 0..100_000];
        let parts: Vec<ZBytes> = places
            .iter()
            .map(|place| memory.payload(bytes.slice(place.clone())))
            .collect();
        for (part, place) in parts.iter().zip(&places) {
            assert!(is_shared(part), "{place:?}");
            assert!(*part.to_bytes() == content[place.clone()], "{place:?}");
        }
        drop(bytes);
        assert_eq!(taken(), 2);
        let lengths: usize = places.iter().map(ExactSizeIterator::len).sum();
        assert_eq!(memory.held(), lengths as u64);
        for (n, part) in parts.into_iter().enumerate() {
            assert_eq!(taken(), 2, "{n}");
            drop(part);
        }
        assert_eq!((taken(), memory.held()), (1, 0));
        drop(other);
        assert_eq!(taken(), 0);
    }

    #[test]
    fn what_is_small_or_elsewhere_is_not_shared() {
        let Some(memory) = memory(&Events::new(|_| ())) else {
            return;
        };
        let elsewhere = Bytes::from(vec![1; SHARED]);
        // Also before the first buffer is taken.
        assert!(!is_shared(&memory.payload(elsewhere.clone())));
        let bytes = chunk(&memory, &vec![2; 2 * SHARED]);
        for payload in [elsewhere, bytes.slice(..SHARED - 1), Bytes::new()] {
            let sent = memory.payload(payload.clone());
            assert!(!is_shared(&sent), "{}", payload.len());
            assert_eq!(*sent.to_bytes(), payload[..]);
        }
    }

    #[test]
    fn a_full_pool_says_so_once_and_has_room_again() {
        let (tell, told) = crossbeam_channel::bounded(9);
        let events = Events::new(move |event| drop(tell.send(event.to_string())));
        let Some(memory) = memory(&events) else {
            return;
        };
        let half = usize::try_from(memory.size() / 2).expect("a size");
        assert!(memory.take(0).is_none());
        let first = memory.take(half);
        assert!(first.is_some() && memory.take(half).is_none() && memory.take(half).is_none());
        drop(first);
        assert!(memory.take(half).is_some());
        let said: Vec<String> = told.try_iter().collect();
        assert_eq!(said.len(), 1, "{said:?}");
        let expected = format!("no room for a chunk of {half} bytes");
        assert!(said[0].contains(&expected), "{said:?}");
    }
}
