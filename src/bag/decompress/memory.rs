//! Where decompressed chunks are: on the heap, or in memory from which an output sends messages without a copy.

use std::io;
use std::ops::{Deref, Range};

use zstd::bulk::Decompressor;
use zstd::zstd_safe::{DCtx, InBuffer, OutBuffer, SafeResult};

/// Memory for decompressed chunks that another part of the program provides, such as memory shared with other
/// processes.
pub trait ChunkMemory: Send + Sync {
    /// How many bytes it has in all.
    fn size(&self) -> u64;

    /// A buffer of exactly `length` bytes with any content; `None` if there is no room for it now. Never waits.
    fn take(&self, length: usize) -> Option<Box<dyn ChunkBuffer>>;
}

/// A buffer of a [`ChunkMemory`]. Dropping it gives the memory back.
pub trait ChunkBuffer: AsRef<[u8]> + AsMut<[u8]> + Send + Sync {}

impl<T: AsRef<[u8]> + AsMut<[u8]> + Send + Sync> ChunkBuffer for T {}

/// Where bytes are.
enum Buffer {
    Heap(Vec<u8>),
    Provided(Box<dyn ChunkBuffer>),
}

impl Buffer {
    fn as_slice(&self) -> &[u8] {
        match self {
            Self::Heap(bytes) => bytes,
            Self::Provided(buffer) => (**buffer).as_ref(),
        }
    }

    fn as_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Heap(bytes) => bytes,
            Self::Provided(buffer) => (**buffer).as_mut(),
        }
    }
}

/// The bytes of a chunk.
pub(crate) struct ChunkBytes {
    buffer: Buffer,
    /// Which bytes of the buffer are the records of the chunk.
    part: Range<usize>,
}

impl ChunkBytes {
    fn of(buffer: Buffer) -> Self {
        let part = 0..buffer.as_slice().len();
        Self { buffer, part }
    }

    /// Keeps only `part`, a range of the present bytes.
    pub(crate) fn keep(&mut self, part: Range<usize>) {
        self.part = self.part.start + part.start..self.part.start + part.end;
    }
}

impl Deref for ChunkBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        let all = self.buffer.as_slice();
        all.get(self.part.clone()).unwrap_or_default()
    }
}

impl From<Vec<u8>> for ChunkBytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self::of(Buffer::Heap(bytes))
    }
}

impl std::fmt::Debug for ChunkBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = match self.buffer {
            Buffer::Heap(_) => "Heap",
            Buffer::Provided(_) => "Provided",
        };
        f.debug_tuple(name).field(&self.part).finish()
    }
}

/// A chunk of a known size while it is decompressed.
pub(crate) struct Filling {
    /// On the heap it has the capacity of the size and as many bytes as are filled, so that it is not filled with zeros
    /// first. A provided buffer is as long as the size.
    buffer: Buffer,
    /// How many bytes there are so far.
    filled: usize,
    size: usize,
}

impl Filling {
    /// Room for `size` bytes, from `memory` if that has room. An error means that there is not so much memory.
    pub(crate) fn new(size: usize, memory: Option<&dyn ChunkMemory>) -> io::Result<Self> {
        // A buffer of another length would be a defect of the memory.
        let taken = memory.and_then(|memory| memory.take(size));
        let taken = taken.filter(|buffer| (**buffer).as_ref().len() == size);
        let buffer = if let Some(buffer) = taken {
            Buffer::Provided(buffer)
        } else {
            let mut bytes = Vec::new();
            bytes.try_reserve_exact(size).map_err(io::Error::other)?;
            Buffer::Heap(bytes)
        };
        Ok(Self {
            buffer,
            filled: 0,
            size,
        })
    }

    /// The declared size.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// How many bytes there are so far.
    pub(crate) fn len(&self) -> usize {
        self.filled
    }

    /// Appends bytes; `false`, and nothing is appended, if they are more than there is room for.
    pub(crate) fn append(&mut self, more: &[u8]) -> bool {
        if more.len() > self.size - self.filled {
            return false;
        }
        let end = self.filled + more.len();
        match &mut self.buffer {
            Buffer::Heap(bytes) => bytes.extend_from_slice(more),
            Buffer::Provided(buffer) => {
                let room = (**buffer).as_mut().get_mut(self.filled..end);
                room.unwrap_or_default().copy_from_slice(more);
            }
        }
        self.filled = end;
        true
    }

    /// Has `read` fill the whole buffer, which has no bytes yet.
    pub(crate) fn fill(
        &mut self,
        read: impl FnOnce(&mut [u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        if let Buffer::Heap(bytes) = &mut self.buffer {
            bytes.resize(self.size, 0);
        }
        read(self.buffer.as_mut())?;
        self.filled = self.size;
        Ok(())
    }

    /// Decompresses all frames of zstd at once into the buffer, which has no bytes yet.
    pub(crate) fn unzstd(
        &mut self,
        decompressor: &mut Decompressor<'_>,
        compressed: &[u8],
    ) -> io::Result<()> {
        self.filled = match &mut self.buffer {
            Buffer::Heap(bytes) => decompressor.decompress_to_buffer(compressed, bytes),
            Buffer::Provided(buffer) => {
                decompressor.decompress_to_buffer(compressed, (**buffer).as_mut())
            }
        }?;
        Ok(())
    }

    /// Appends what a decoder of zstd makes of some input. The bytes so far are not moved.
    pub(crate) fn unzstd_piece(
        &mut self,
        decoder: &mut DCtx<'_>,
        input: &mut InBuffer<'_>,
    ) -> SafeResult {
        match &mut self.buffer {
            Buffer::Heap(bytes) => {
                let mut output = OutBuffer::around_pos(bytes, self.filled);
                let result = decoder.decompress_stream(&mut output, input);
                self.filled = output.pos();
                result
            }
            Buffer::Provided(buffer) => {
                let mut output = OutBuffer::around_pos((**buffer).as_mut(), self.filled);
                let result = decoder.decompress_stream(&mut output, input);
                self.filled = output.pos();
                result
            }
        }
    }

    /// The bytes, if they are as many as was declared; otherwise how many there are.
    pub(crate) fn finish(self) -> Result<ChunkBytes, usize> {
        if self.filled != self.size {
            return Err(self.filled);
        }
        Ok(ChunkBytes::of(self.buffer))
    }
}
