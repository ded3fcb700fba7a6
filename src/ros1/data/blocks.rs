//! [`read_block`]: a block of bytes with its length before it, as peers send headers and requests.

use std::io::{self, Read};
use std::net::TcpStream;
use std::time::Instant;

use crate::ros1::system::{Waited, Waits};

/// How many bytes of a block are expected at a time: only what has arrived takes memory.
const PIECE: usize = 8192;

/// Why there is no block.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoBlock {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("{0} bytes are announced, more than are accepted")]
    TooLarge(usize),
    #[error("nothing more in time")]
    TimedOut,
}

/// Reads a block of at most `most` bytes, until `until` at the latest; without it, waits for any time.
pub(crate) fn read_block(
    stream: &TcpStream,
    (waits, until): (&Waits, Option<Instant>),
    most: usize,
) -> Result<Vec<u8>, NoBlock> {
    let mut length = [0; 4];
    read_exact(stream, (waits, until), &mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > most {
        return Err(NoBlock::TooLarge(length));
    }
    let mut bytes = Vec::new();
    while bytes.len() < length {
        let begin = bytes.len();
        bytes.resize(length.min(begin + PIECE), 0);
        read_exact(stream, (waits, until), &mut bytes[begin..])?;
    }
    Ok(bytes)
}

/// Reads the rest of a block that is too large, and keeps nothing of it.
pub(crate) fn skip(
    stream: &TcpStream,
    until: (&Waits, Option<Instant>),
    mut length: usize,
) -> Result<(), NoBlock> {
    let mut piece = [0; PIECE];
    while length > 0 {
        let count = length.min(PIECE);
        read_exact(stream, until, &mut piece[..count])?;
        length -= count;
    }
    Ok(())
}

fn read_exact(
    mut stream: &TcpStream,
    (waits, until): (&Waits, Option<Instant>),
    mut bytes: &mut [u8],
) -> Result<(), NoBlock> {
    while !bytes.is_empty() {
        if waits.readable(stream, until)? != Waited::Ready {
            return Err(NoBlock::TimedOut);
        }
        let count = stream.read(bytes)?;
        if count == 0 {
            return Err(NoBlock::Io(io::ErrorKind::UnexpectedEof.into()));
        }
        bytes = &mut bytes[count..];
    }
    Ok(())
}
