//! MCAP framing: the records in a slice of bytes, with every length checked against the enclosing length.
//!
//! Bodies are read with [`Fields`] and not with crate mcap. The parser of that crate refuses a whole file because of a
//! repeated metadata key or a string that is not UTF-8, and panics on short attachments. Bytes after the last known
//! field of a record are ignored, as the specification demands. Invalid UTF-8 is read with replacement characters.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::bag::open::options::MessageOrder;
use crate::time::{Ros, Time, TimeRange};

/// The opcode and length before the body of each record.
pub(crate) const FRAME: usize = 9;
/// The channel, sequence number and two timestamps before the payload of a message.
pub(crate) const MESSAGE_HEADER: usize = 22;

/// The opcodes that this program reads.
pub(crate) mod op {
    pub(crate) const HEADER: u8 = 0x01;
    pub(crate) const FOOTER: u8 = 0x02;
    pub(crate) const SCHEMA: u8 = 0x03;
    pub(crate) const CHANNEL: u8 = 0x04;
    pub(crate) const MESSAGE: u8 = 0x05;
    pub(crate) const CHUNK: u8 = 0x06;
    pub(crate) const MESSAGE_INDEX: u8 = 0x07;
    pub(crate) const CHUNK_INDEX: u8 = 0x08;
    pub(crate) const STATISTICS: u8 = 0x0B;
    pub(crate) const DATA_END: u8 = 0x0F;
}

/// A record that ends after its slice, or whose body is shorter than its fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Short;

/// A record inside a slice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'a> {
    pub(crate) opcode: u8,
    /// Offset of the record in the slice.
    pub(crate) at: usize,
    pub(crate) body: &'a [u8],
}

/// Iterates over the records of a slice; ends after the first record that does not fit.
#[derive(Clone, Debug)]
pub(crate) struct Records<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Records<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Offset of the next record, or of the record that does not fit.
    pub(crate) fn position(&self) -> usize {
        self.at
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, Short>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.bytes.get(self.at..).filter(|rest| !rest.is_empty())?;
        let Some((opcode, body)) = split_frame(rest) else {
            self.bytes = &[];
            return Some(Err(Short));
        };
        let at = self.at;
        self.at += FRAME + body.len();
        Some(Ok(Record { opcode, at, body }))
    }
}

/// The opcode and body of the record at the start of `bytes`.
fn split_frame(bytes: &[u8]) -> Option<(u8, &[u8])> {
    let (frame, rest) = bytes.split_first_chunk::<FRAME>()?;
    let (opcode, length) = frame.split_first()?;
    let length = u64::from_le_bytes(length.try_into().ok()?);
    let body = rest.get(..usize::try_from(length).ok()?)?;
    Some((*opcode, body))
}

/// Reads little-endian fields from the front of a record body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl<'a> Fields<'a> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Short> {
        let (head, rest) = self.0.split_first_chunk::<N>().ok_or(Short)?;
        self.0 = rest;
        Ok(*head)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Short> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Short> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Short> {
        self.array().map(u64::from_le_bytes)
    }

    /// A block: a 32-bit length and as many bytes.
    pub(crate) fn block(&mut self) -> Result<&'a [u8], Short> {
        let length = usize::try_from(self.u32()?).map_err(|_| Short)?;
        let (head, rest) = self.0.split_at_checked(length).ok_or(Short)?;
        self.0 = rest;
        Ok(head)
    }

    pub(crate) fn string(&mut self) -> Result<String, Short> {
        self.block()
            .map(|text| String::from_utf8_lossy(text).into_owned())
    }
}

/// The header record.
#[derive(Clone, Debug, Default)]
pub(crate) struct Header {
    pub(crate) profile: String,
    pub(crate) library: String,
}

impl Header {
    pub(crate) fn parse(body: &[u8]) -> Result<Self, Short> {
        let mut fields = Fields(body);
        Ok(Self {
            profile: fields.string()?,
            library: fields.string()?,
        })
    }
}

/// A schema record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SchemaRecord {
    pub(crate) id: u16,
    pub(crate) name: String,
    pub(crate) encoding: String,
    pub(crate) data: Bytes,
}

impl SchemaRecord {
    pub(crate) fn parse(body: &[u8]) -> Result<Self, Short> {
        let mut fields = Fields(body);
        Ok(Self {
            id: fields.u16()?,
            name: fields.string()?,
            encoding: fields.string()?,
            data: Bytes::copy_from_slice(fields.block()?),
        })
    }
}

/// A channel record. If a metadata key is repeated, the first value counts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ChannelRecord {
    pub(crate) id: u16,
    pub(crate) schema: u16,
    pub(crate) topic: String,
    pub(crate) encoding: String,
    pub(crate) metadata: BTreeMap<String, String>,
}

impl ChannelRecord {
    pub(crate) fn parse(body: &[u8]) -> Result<Self, Short> {
        let mut fields = Fields(body);
        let (id, schema) = (fields.u16()?, fields.u16()?);
        let (topic, encoding) = (fields.string()?, fields.string()?);
        let mut metadata = BTreeMap::new();
        let mut map = Fields(fields.block()?);
        while !map.0.is_empty() {
            let (key, value) = (map.string()?, map.string()?);
            metadata.entry(key).or_insert(value);
        }
        Ok(Self {
            id,
            schema,
            topic,
            encoding,
            metadata,
        })
    }
}

/// The fields before the records of a chunk: all that can be known without decompressing them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ChunkHeader {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) uncompressed: u64,
    pub(crate) crc: u32,
    pub(crate) compression: String,
    /// Length of the compressed records.
    pub(crate) compressed: u64,
}

impl ChunkHeader {
    /// The longest header that is accepted: the name of a compression is at most 32 bytes.
    pub(crate) const LONGEST: usize = 8 + 8 + 8 + 4 + 4 + 32 + 8;

    /// Parses the start of the body of a chunk record, which is `length` bytes long. An error if the lengths do not
    /// fit.
    pub(crate) fn parse(head: &[u8], length: u64) -> Result<Self, Short> {
        let mut fields = Fields(head);
        let (start, end) = (fields.u64()?, fields.u64()?);
        let (uncompressed, crc) = (fields.u64()?, fields.u32()?);
        let name = fields.block()?;
        let compression = String::from_utf8_lossy(name).into_owned();
        let compressed = fields.u64()?;
        let header = 8 + 8 + 8 + 4 + 4 + name.len() as u64 + 8;
        if header
            .checked_add(compressed)
            .is_none_or(|end| end > length)
        {
            return Err(Short);
        }
        Ok(Self {
            start,
            end,
            uncompressed,
            crc,
            compression,
            compressed,
        })
    }

    /// The length of the header in bytes, if the name of the compression is UTF-8.
    pub(crate) fn length(&self) -> u64 {
        8 + 8 + 8 + 4 + 4 + self.compression.len() as u64 + 8
    }

    /// How many bytes of a body of `length` bytes follow the data.
    pub(crate) fn rest(&self, length: u64) -> u64 {
        length
            .saturating_sub(self.length())
            .saturating_sub(self.compressed)
    }
}

/// A chunk record: its header, and its records, still compressed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChunkRecord<'a> {
    pub(crate) uncompressed: u64,
    pub(crate) crc: u32,
    pub(crate) compression: &'a [u8],
    pub(crate) data: &'a [u8],
}

impl<'a> ChunkRecord<'a> {
    pub(crate) fn parse(body: &'a [u8]) -> Result<Self, Short> {
        let mut fields = Fields(body);
        let (_start, _end) = (fields.u64()?, fields.u64()?);
        let (uncompressed, crc) = (fields.u64()?, fields.u32()?);
        let compression = fields.block()?;
        let length = usize::try_from(fields.u64()?).map_err(|_| Short)?;
        let data = fields.0.get(..length).ok_or(Short)?;
        Ok(Self {
            uncompressed,
            crc,
            compression,
            data,
        })
    }
}

/// A chunk index record of the summary.
#[derive(Clone, Debug)]
pub(crate) struct ChunkIndexRecord {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) offset: u64,
    pub(crate) length: u64,
    /// The channel and offset of each message index, as recorded.
    pub(crate) message_indexes: Vec<(u16, u64)>,
    /// How many bytes of message indexes follow the chunk.
    pub(crate) message_index_length: u64,
    pub(crate) compression: String,
    pub(crate) compressed: u64,
    pub(crate) uncompressed: u64,
}

impl ChunkIndexRecord {
    pub(crate) fn parse(body: &[u8]) -> Result<Self, Short> {
        let mut fields = Fields(body);
        let (start, end) = (fields.u64()?, fields.u64()?);
        let (offset, length) = (fields.u64()?, fields.u64()?);
        let message_indexes = pairs(fields.block()?)?;
        let message_index_length = fields.u64()?;
        Ok(Self {
            start,
            end,
            offset,
            length,
            message_indexes,
            message_index_length,
            compression: fields.string()?,
            compressed: fields.u64()?,
            uncompressed: fields.u64()?,
        })
    }
}

/// A map from channel to a 64-bit value.
fn pairs(block: &[u8]) -> Result<Vec<(u16, u64)>, Short> {
    let mut fields = Fields(block);
    let mut pairs = Vec::with_capacity(block.len() / 10);
    while !fields.0.is_empty() {
        pairs.push((fields.u16()?, fields.u64()?));
    }
    Ok(pairs)
}

/// The statistics record of the summary.
#[derive(Clone, Debug)]
pub(crate) struct Statistics {
    pub(crate) messages: u64,
    pub(crate) chunks: u32,
    /// The first and last log time; `None` if the first is after the last.
    pub(crate) times: Option<TimeRange>,
    pub(crate) per_channel: BTreeMap<u16, u64>,
}

impl Statistics {
    pub(crate) fn parse(body: &[u8]) -> Result<Self, Short> {
        let mut fields = Fields(body);
        let messages = fields.u64()?;
        let (_schemas, _channels) = (fields.u16()?, fields.u32()?);
        let (_attachments, _metadata) = (fields.u32()?, fields.u32()?);
        let chunks = fields.u32()?;
        let times = times(fields.u64()?, fields.u64()?);
        Ok(Self {
            messages,
            chunks,
            times,
            per_channel: pairs(fields.block()?)?.into_iter().collect(),
        })
    }

    /// Whether the counts per channel add up to the number of messages.
    pub(crate) fn is_whole(&self) -> bool {
        let counts = self.per_channel.values().copied();
        counts.fold(0, u64::saturating_add) == self.messages
    }
}

/// The first and last time of something. A negative time is recorded as a huge unsigned number. So if the times are on
/// both sides of zero, the first appears to be after the last, as in damaged data: then the result is `None`.
pub(crate) fn times(start: u64, end: u64) -> Option<TimeRange> {
    let (start, end) = (Time::from_mcap(start), Time::from_mcap(end));
    (start <= end).then(|| TimeRange::between(start, end))
}

/// The fields before the payload of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MessageHeader {
    pub(crate) channel: u16,
    pub(crate) sequence: u32,
    pub(crate) log_time: u64,
    pub(crate) publish_time: u64,
}

impl MessageHeader {
    pub(crate) fn parse(body: &[u8]) -> Result<Self, Short> {
        let mut fields = Fields(body);
        Ok(Self {
            channel: fields.u16()?,
            sequence: fields.u32()?,
            log_time: fields.u64()?,
            publish_time: fields.u64()?,
        })
    }

    /// The time by which the message is ordered.
    pub(crate) fn time(&self, order: MessageOrder) -> Time<Ros> {
        Time::from_mcap(match order {
            MessageOrder::Received => self.log_time,
            MessageOrder::Sent => self.publish_time,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_beyond_the_slice_ends_the_walk() {
        for length in [1, 1 << 40, u64::MAX - 8, u64::MAX] {
            let mut bytes = vec![op::MESSAGE];
            bytes.extend(u64::to_le_bytes(length));
            let mut records = Records::new(&bytes);
            assert!(records.next().is_some_and(|record| record.is_err()));
            assert!(records.next().is_none());
            assert_eq!(records.position(), 0);
        }
    }

    #[test]
    fn trailing_bytes_are_ignored_and_missing_bytes_are_an_error() {
        let body = [0, 0, 0, 0, 1, 0, 0, 0, b'x', 1, 0xff, 0xff];
        assert_eq!(Header::parse(&body).map(|h| h.library), Ok("x".to_owned()));
        assert!(Header::parse(&body[..8]).is_err());
    }
}
