//! The simplest reader, record after record: what it finds, a bag must not lose silently.

use std::collections::BTreeSet;

const FRAME: usize = 9;
const MAGIC: usize = 8;
const CHUNK_HEADER: usize = 8 + 8 + 8 + 4 + 4;

/// What a file holds, whatever its index says.
pub(crate) enum Content {
    /// It is finished, all records are whole and no chunk is compressed: so many messages of channels that
    /// something defines.
    Sound(usize),
    /// The same, but for a record in a chunk.
    Broken,
    /// Neither.
    Unknown,
}

/// Reads a whole file.
pub(crate) fn content(file: &[u8]) -> Content {
    let mut found = Found::default();
    match read(file, &mut found) {
        None => Content::Unknown,
        Some(()) if found.is_broken => Content::Broken,
        Some(()) => Content::Sound(found.count()),
    }
}

fn read(file: &[u8], found: &mut Found) -> Option<()> {
    let end = file.len().checked_sub(MAGIC)?;
    let mut rest = file.get(MAGIC..end)?;
    loop {
        let (opcode, body, after) = record(rest)?;
        match opcode {
            0x02 => {
                let is_end = after.is_empty() && body.len() == 20 && file[end..] == file[..MAGIC];
                return is_end.then_some(());
            }
            0x06 => {
                let size = body.get(16..24)?;
                let data = body.get(CHUNK_HEADER + 8..)?;
                // No checksum, no name of a compression, and as many bytes as both sizes say.
                let is_plain = body[24..32] == [0; 8]
                    && body[CHUNK_HEADER..CHUNK_HEADER + 8] == *size
                    && *size == (data.len() as u64).to_le_bytes();
                found.is_broken |= read_chunk(is_plain.then_some(data)?, found).is_none();
            }
            _ => found.take(opcode, body)?,
        }
        rest = after;
    }
}

fn read_chunk(mut rest: &[u8], found: &mut Found) -> Option<()> {
    while !rest.is_empty() {
        let (opcode, body, after) = record(rest)?;
        found.take(opcode, body)?;
        rest = after;
    }
    Some(())
}

fn record(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (frame, rest) = bytes.split_first_chunk::<FRAME>()?;
    let length = u64::from_le_bytes(frame[1..].try_into().ok()?);
    let (body, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    (frame[0] != 0).then_some((frame[0], body, rest))
}

#[derive(Default)]
struct Found {
    channels: BTreeSet<[u8; 2]>,
    /// The channel of each message.
    messages: Vec<[u8; 2]>,
    is_broken: bool,
}

impl Found {
    fn take(&mut self, opcode: u8, body: &[u8]) -> Option<()> {
        let id = || body.first_chunk().copied();
        match opcode {
            0x04 => drop(self.channels.insert(id()?)),
            0x05 => self.messages.push(id().filter(|_| body.len() >= 22)?),
            _ => {}
        }
        Some(())
    }

    fn count(&self) -> usize {
        let is_defined = |id: &&[u8; 2]| self.channels.contains(*id);
        self.messages.iter().filter(is_defined).count()
    }
}
