//! Where decompressed chunks are: on the heap, or in memory from which an output sends messages without a copy.

use std::io;
use std::ops::{Deref, Range};

use zstd::bulk::Decompressor;
use zstd::zstd_safe::{DCtx, InBuffer, OutBuffer, SafeResult};

/// Memory for decompressed chunks that another part of the program provides, such as memory shared with other processes.
pub trait ChunkMemory: Send + Sync {
    /// How many bytes it has in all.
    fn size(&self) -> u64;

    /// A buffer of exactly `length` bytes with any content; `None` if there is no room for it now. Never waits.
    fn take(&self, length: usize) -> Option<Box<dyn ChunkBuffer>>;
}

/// A buffer of a [`ChunkMemory`]. Dropping it gives the memory back.
pub trait ChunkBuffer: AsRef<[u8]> + AsMut<[u8]> + Send + Sync {}

impl<T: AsRef<[u8]> + AsMut<[u8]> + Send + Sync> ChunkBuffer for T {}

/// The bytes of a chunk.
pub(crate) struct ChunkBytes {
    place: Whole,
    /// The part of the place that is of the chunk.
    part: Range<usize>,
}

enum Whole {
    Heap(Vec<u8>),
    Provided(Box<dyn ChunkBuffer>),
}

impl ChunkBytes {
    fn of(place: Whole) -> Self {
        let part = 0..match &place {
            Whole::Heap(bytes) => bytes.len(),
            Whole::Provided(buffer) => (**buffer).as_ref().len(),
        };
        Self { place, part }
    }

    /// Leaves a part of the bytes, as places in them.
    pub(crate) fn keep(&mut self, part: Range<usize>) {
        self.part = self.part.start + part.start..self.part.start + part.end;
    }
}

impl Deref for ChunkBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        let whole = match &self.place {
            Whole::Heap(bytes) => bytes,
            Whole::Provided(buffer) => (**buffer).as_ref(),
        };
        whole.get(self.part.clone()).unwrap_or_default()
    }
}

impl From<Vec<u8>> for ChunkBytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self::of(Whole::Heap(bytes))
    }
}

impl std::fmt::Debug for ChunkBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let place = match self.place {
            Whole::Heap(_) => "Heap",
            Whole::Provided(_) => "Provided",
        };
        f.debug_tuple(place).field(&self.part).finish()
    }
}

/// A chunk of a known size while it is decompressed.
pub(crate) struct Filling {
    place: Place,
    size: usize,
}

/// The bytes so far.
enum Place {
    /// The capacity is the size.
    Heap(Vec<u8>),
    /// As long as the size; the first `filled` bytes are of the chunk.
    Provided {
        buffer: Box<dyn ChunkBuffer>,
        filled: usize,
    },
}

impl Filling {
    /// Room for `size` bytes, from `memory` if that has room. An error means that there is not so much memory.
    pub(crate) fn new(size: usize, memory: Option<&dyn ChunkMemory>) -> io::Result<Self> {
        // A buffer of another length would be a defect of the memory.
        let taken = memory.and_then(|memory| memory.take(size));
        let taken = taken.filter(|buffer| (**buffer).as_ref().len() == size);
        let place = if let Some(buffer) = taken {
            Place::Provided { buffer, filled: 0 }
        } else {
            let mut bytes = Vec::new();
            bytes.try_reserve_exact(size).map_err(io::Error::other)?;
            Place::Heap(bytes)
        };
        Ok(Self { place, size })
    }

    /// The declared size.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// How many bytes there are so far.
    pub(crate) fn len(&self) -> usize {
        match &self.place {
            Place::Heap(bytes) => bytes.len(),
            Place::Provided { filled, .. } => *filled,
        }
    }

    /// Appends bytes; `false`, and nothing is appended, if they are more than there is room for.
    pub(crate) fn append(&mut self, more: &[u8]) -> bool {
        if more.len() > self.size - self.len() {
            return false;
        }
        match &mut self.place {
            Place::Heap(bytes) => bytes.extend_from_slice(more),
            Place::Provided { buffer, filled } => {
                let end = *filled + more.len();
                let room = (**buffer).as_mut().get_mut(*filled..end);
                room.unwrap_or_default().copy_from_slice(more);
                *filled = end;
            }
        }
        true
    }

    /// Has `read` fill the whole buffer, which has no bytes yet.
    pub(crate) fn fill(
        &mut self,
        read: impl FnOnce(&mut [u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        match &mut self.place {
            Place::Heap(bytes) => {
                bytes.resize(self.size, 0);
                read(bytes)
            }
            Place::Provided { buffer, filled } => {
                *filled = self.size;
                read((**buffer).as_mut())
            }
        }
    }

    /// Decompresses all frames of zstd at once into the buffer, which has no bytes yet.
    pub(crate) fn unzstd(
        &mut self,
        decompressor: &mut Decompressor<'_>,
        compressed: &[u8],
    ) -> io::Result<()> {
        match &mut self.place {
            Place::Heap(bytes) => decompressor
                .decompress_to_buffer(compressed, bytes)
                .map(drop),
            Place::Provided { buffer, filled } => {
                let room = (**buffer).as_mut();
                *filled = decompressor.decompress_to_buffer(compressed, room)?;
                Ok(())
            }
        }
    }

    /// Appends what a decoder of zstd makes of some input. The bytes so far are not moved.
    pub(crate) fn unzstd_piece(
        &mut self,
        decoder: &mut DCtx<'_>,
        input: &mut InBuffer<'_>,
    ) -> SafeResult {
        match &mut self.place {
            Place::Heap(bytes) => {
                let at = bytes.len();
                decoder.decompress_stream(&mut OutBuffer::around_pos(bytes, at), input)
            }
            Place::Provided { buffer, filled } => {
                let mut output = OutBuffer::around_pos((**buffer).as_mut(), *filled);
                let result = decoder.decompress_stream(&mut output, input);
                *filled = output.pos();
                result
            }
        }
    }

    /// The bytes, if they are as many as was declared; otherwise how many there are.
    pub(crate) fn finish(self) -> Result<ChunkBytes, usize> {
        if self.len() != self.size {
            return Err(self.len());
        }
        Ok(ChunkBytes::of(match self.place {
            Place::Heap(bytes) => Whole::Heap(bytes),
            Place::Provided { buffer, .. } => Whole::Provided(buffer),
        }))
    }
}
