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
    /// The memory, if it is on the heap. No bytes are left.
    pub(crate) fn take_heap(&mut self) -> Vec<u8> {
        self.part = 0..0;
        match &mut self.buffer {
            Buffer::Heap(bytes) => std::mem::take(bytes),
            Buffer::Provided(_) => Vec::new(),
        }
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
        let part = 0..bytes.len();
        let buffer = Buffer::Heap(bytes);
        Self { buffer, part }
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
    /// At least as long as the size, unless it is new.
    buffer: Buffer,
    /// Whether the buffer is new memory of the heap: it has the capacity of the size, and as many bytes as are
    /// initialized, so that it is not filled with zeros first.
    is_new: bool,
    /// How many bytes there are so far.
    filled: usize,
    size: usize,
}

impl Filling {
    /// Room for `size` bytes in `memory`; `None` if that has none.
    pub(crate) fn provided(size: usize, memory: Option<&dyn ChunkMemory>) -> Option<Self> {
        let taken = memory?.take(size);
        // A buffer of another length would be a defect of the memory.
        let taken = taken.filter(|buffer| (**buffer).as_ref().len() == size)?;
        Some(Self {
            buffer: Buffer::Provided(taken),
            is_new: false,
            filled: 0,
            size,
        })
    }

    /// Room for `size` bytes on the heap: `spare`, if that is long enough, or new memory. An error means that there is
    /// not so much memory.
    pub(crate) fn on_heap(size: usize, spare: Option<Vec<u8>>) -> io::Result<Self> {
        let spare = spare.filter(|spare| spare.len() >= size);
        let is_new = spare.is_none();
        let mut bytes = spare.unwrap_or_default();
        if is_new {
            bytes.try_reserve_exact(size).map_err(io::Error::other)?;
        }
        Ok(Self {
            buffer: Buffer::Heap(bytes),
            is_new,
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

    /// The bytes so far, from `start` on.
    pub(crate) fn from(&self, start: usize) -> &[u8] {
        let bytes = self.buffer.as_slice().get(start..self.filled);
        bytes.unwrap_or_default()
    }

    /// Appends bytes; `false`, and nothing is appended, if they are more than there is room for.
    pub(crate) fn append(&mut self, more: &[u8]) -> bool {
        let copied = self.append_with(more.len(), |_, room| {
            let is_room = room.len() == more.len();
            if is_room {
                room.copy_from_slice(more);
            }
            is_room.then_some(more.len()).ok_or(())
        });
        copied.is_ok()
    }

    /// Appends what `decode` writes to the front of the room that it is given: as many bytes as it returns. It also
    /// gets the bytes so far. The room has `most` bytes, or fewer if the declared size is reached.
    pub(crate) fn append_with<E>(
        &mut self,
        most: usize,
        decode: impl FnOnce(&[u8], &mut [u8]) -> Result<usize, E>,
    ) -> Result<(), E> {
        let filled = self.filled;
        let most = most.min(self.size - filled);
        let (before, room) = self.initialized(filled + most).split_at_mut(filled);
        let added = decode(before, room)?;
        self.filled += added.min(most);
        Ok(())
    }

    /// Has `read` fill the whole buffer, which has no bytes yet.
    pub(crate) fn fill(
        &mut self,
        read: impl FnOnce(&mut [u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        read(self.initialized(self.size))?;
        self.filled = self.size;
        Ok(())
    }

    /// Decompresses all frames of zstd at once into the buffer, which has no bytes yet.
    pub(crate) fn unzstd(
        &mut self,
        decompressor: &mut Decompressor<'_>,
        compressed: &[u8],
    ) -> io::Result<()> {
        self.filled = match self.room() {
            Room::New(bytes) => decompressor.decompress_to_buffer(compressed, bytes),
            Room::Initialized(bytes) => decompressor.decompress_to_buffer(compressed, bytes),
        }?;
        Ok(())
    }

    /// Appends what a decoder of zstd makes of some input. The bytes so far are not moved.
    pub(crate) fn unzstd_piece(
        &mut self,
        decoder: &mut DCtx<'_>,
        input: &mut InBuffer<'_>,
    ) -> SafeResult {
        let filled = self.filled;
        let (result, filled) = match self.room() {
            Room::New(bytes) => {
                let mut output = OutBuffer::around_pos(bytes, filled);
                let result = decoder.decompress_stream(&mut output, input);
                (result, output.pos())
            }
            Room::Initialized(bytes) => {
                let mut output = OutBuffer::around_pos(bytes, filled);
                let result = decoder.decompress_stream(&mut output, input);
                (result, output.pos())
            }
        };
        self.filled = filled;
        result
    }

    /// The bytes, if they are as many as was declared; otherwise how many there are.
    pub(crate) fn finish(self) -> Result<ChunkBytes, usize> {
        if self.filled != self.size {
            return Err(self.filled);
        }
        Ok(ChunkBytes {
            buffer: self.buffer,
            part: 0..self.size,
        })
    }

    /// The whole buffer, for a decoder that can write to memory that is not initialized.
    fn room(&mut self) -> Room<'_> {
        let bytes = match &mut self.buffer {
            Buffer::Heap(bytes) => {
                if self.is_new {
                    return Room::New(bytes);
                }
                bytes
            }
            Buffer::Provided(buffer) => (**buffer).as_mut(),
        };
        Room::Initialized(bytes.get_mut(..self.size).unwrap_or_default())
    }

    /// The first `length` bytes of the buffer.
    fn initialized(&mut self, length: usize) -> &mut [u8] {
        if let Buffer::Heap(bytes) = &mut self.buffer
            && bytes.len() < length
        {
            bytes.resize(length, 0);
        }
        let bytes = self.buffer.as_mut().get_mut(..length);
        bytes.unwrap_or_default()
    }
}

/// Where a decoder writes to.
enum Room<'a> {
    /// Its length grows with what is written, up to its capacity.
    New(&'a mut Vec<u8>),
    Initialized(&'a mut [u8]),
}
