//! The bodies of MCAP records, parsed into the record types of crate mcap.
//!
//! That crate parses the records of fixed size that are read once in a file. It does not parse the others: it reserves
//! memory for a string by its declared length, refuses a record because of a string that is not UTF-8 or a repeated key
//! in a map, and reads past the end of a map (the table is in `docs/design.md`). Here invalid UTF-8 is read with
//! replacement characters. Bytes after the last known field are ignored, as the specification demands.

use std::borrow::Cow;
use std::collections::BTreeMap;

use bytes::Bytes;
use mcap::records::{
    Channel, ChunkHeader, DataEnd, Footer, Header, MessageHeader, MessageIndex, MessageIndexEntry,
    Record, SchemaHeader, Statistics, op,
};

use super::record::{Fields, Short};
use crate::bag::open::options::MessageOrder;
use crate::time::{Ros, Time, TimeRange};

/// The longest header of a chunk that is accepted.
pub(crate) const LONGEST_CHUNK_HEADER: usize = 8 + 8 + 8 + 4 + 4 + LONGEST_COMPRESSION + 8;
/// How many bytes of the name of a compression are kept.
const LONGEST_COMPRESSION: usize = 32;

pub(crate) fn header(body: &[u8]) -> Result<Header, Short> {
    let mut fields = Fields(body);
    Ok(Header {
        profile: fields.string()?,
        library: fields.string()?,
    })
}

pub(crate) fn footer(body: &[u8]) -> Result<Footer, Short> {
    match mcap::parse_record(op::FOOTER, body) {
        Ok(Record::Footer(footer)) => Ok(footer),
        _ => Err(Short),
    }
}

pub(crate) fn data_end(body: &[u8]) -> Result<DataEnd, Short> {
    match mcap::parse_record(op::DATA_END, body) {
        Ok(Record::DataEnd(end)) => Ok(end),
        _ => Err(Short),
    }
}

/// A schema record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SchemaRecord {
    /// Its id, name and encoding.
    pub header: SchemaHeader,
    /// The definition.
    pub data: Bytes,
}

pub(crate) fn schema(body: &[u8]) -> Result<SchemaRecord, Short> {
    let mut fields = Fields(body);
    let header = SchemaHeader {
        id: fields.u16()?,
        name: fields.string()?,
        encoding: fields.string()?,
    };
    let data = Bytes::copy_from_slice(fields.block()?);
    Ok(SchemaRecord { header, data })
}

/// If a metadata key is repeated, the first value counts.
pub(crate) fn channel(body: &[u8]) -> Result<Channel, Short> {
    let mut fields = Fields(body);
    let (id, schema_id) = (fields.u16()?, fields.u16()?);
    let (topic, message_encoding) = (fields.string()?, fields.string()?);
    let mut metadata = BTreeMap::new();
    let mut map = Fields(fields.block()?);
    while !map.0.is_empty() {
        let (key, value) = (map.string()?, map.string()?);
        metadata.entry(key).or_insert(value);
    }
    Ok(Channel {
        id,
        schema_id,
        topic,
        message_encoding,
        metadata,
    })
}

/// The fields before the payload of a message. Not parsed by crate mcap, which takes thirty times as long.
#[inline]
pub(crate) fn message_header(body: &[u8]) -> Result<MessageHeader, Short> {
    let mut fields = Fields(body);
    Ok(MessageHeader {
        channel_id: fields.u16()?,
        sequence: fields.u32()?,
        log_time: fields.u64()?,
        publish_time: fields.u64()?,
    })
}

/// The time by which a message is ordered.
#[inline]
pub(crate) fn message_time(header: &MessageHeader, order: MessageOrder) -> Time<Ros> {
    Time::from_mcap(match order {
        MessageOrder::Received => header.log_time,
        MessageOrder::Sent => header.publish_time,
    })
}

/// The fields before the records of a chunk, from the start of the body of a chunk record, which is `length` bytes
/// long. An error if the lengths do not fit.
pub(crate) fn chunk_header(head: &[u8], length: u64) -> Result<ChunkHeader, Short> {
    let mut fields = Fields(head);
    let (header, size) = chunk_fields(&mut fields)?;
    let end = size.checked_add(header.compressed_size);
    end.filter(|end| *end <= length)
        .map(|_| header)
        .ok_or(Short)
}

/// The header of a chunk, and its length in bytes.
fn chunk_fields(fields: &mut Fields<'_>) -> Result<(ChunkHeader, u64), Short> {
    let (message_start_time, message_end_time) = (fields.u64()?, fields.u64()?);
    let (uncompressed_size, uncompressed_crc) = (fields.u64()?, fields.u32()?);
    let name = fields.block()?;
    let kept = name.get(..LONGEST_COMPRESSION).unwrap_or(name);
    let header = ChunkHeader {
        message_start_time,
        message_end_time,
        uncompressed_size,
        uncompressed_crc,
        compression: String::from_utf8_lossy(kept).into_owned(),
        compressed_size: fields.u64()?,
    };
    Ok((header, 8 + 8 + 8 + 4 + 4 + name.len() as u64 + 8))
}

/// The length of the header of a chunk in bytes, if the name of the compression is UTF-8.
pub(crate) fn chunk_header_length(header: &ChunkHeader) -> usize {
    8 + 8 + 8 + 4 + 4 + header.compression.len() + 8
}

/// How many bytes of the body of a chunk record, which is `length` bytes long, follow the data.
pub(crate) fn bytes_after_chunk_data(header: &ChunkHeader, length: u64) -> u64 {
    length
        .saturating_sub(chunk_header_length(header) as u64)
        .saturating_sub(header.compressed_size)
}

/// A chunk record: its header, and its records, still compressed.
#[derive(Clone, Debug)]
pub(crate) struct ChunkRecord<'a> {
    pub(crate) header: ChunkHeader,
    pub(crate) data: &'a [u8],
}

pub(crate) fn chunk(body: &[u8]) -> Result<ChunkRecord<'_>, Short> {
    let mut fields = Fields(body);
    let (header, _) = chunk_fields(&mut fields)?;
    let length = usize::try_from(header.compressed_size).map_err(|_| Short)?;
    let data = fields.0.get(..length).ok_or(Short)?;
    Ok(ChunkRecord { header, data })
}

/// A message index record: its channel, and its entries.
pub(crate) fn message_index(body: &[u8]) -> Result<MessageIndex, Short> {
    let mut fields = Fields(body);
    Ok(MessageIndex {
        channel_id: fields.u16()?,
        records: message_index_entries(fields.block()?)?,
    })
}

/// Some entries of a message index, without what precedes them in the record.
pub(crate) fn message_index_entries(block: &[u8]) -> Result<Vec<MessageIndexEntry>, Short> {
    let mut entries = Vec::with_capacity(block.len() / 16);
    let mut fields = Fields(block);
    while !fields.0.is_empty() {
        let (log_time, offset) = (fields.u64()?, fields.u64()?);
        entries.push(MessageIndexEntry { log_time, offset });
    }
    Ok(entries)
}

/// The body of a chunk index record. A summary has one for each chunk, so it is parsed with one allocation.
pub(crate) struct ChunkIndexRecord<'a> {
    pub(crate) times: (u64, u64),
    pub(crate) offset: u64,
    pub(crate) length: u64,
    /// The offset of the message index of each channel, by channel.
    pub(crate) message_indexes: Box<[(u16, u64)]>,
    /// The length of all message indexes, in bytes.
    pub(crate) message_index_length: u64,
    pub(crate) compression: Cow<'a, str>,
    pub(crate) compressed: u64,
    pub(crate) uncompressed: u64,
}

/// If a channel is repeated, the smallest offset counts.
pub(crate) fn chunk_index(body: &[u8]) -> Result<ChunkIndexRecord<'_>, Short> {
    let mut fields = Fields(body);
    let times = (fields.u64()?, fields.u64()?);
    let (offset, length) = (fields.u64()?, fields.u64()?);
    let mut map = Fields(fields.block()?);
    let mut message_indexes = Vec::with_capacity(map.0.len() / 10);
    while !map.0.is_empty() {
        message_indexes.push((map.u16()?, map.u64()?));
    }
    message_indexes.sort_unstable();
    message_indexes.dedup_by_key(|(channel, _)| *channel);
    Ok(ChunkIndexRecord {
        times,
        offset,
        length,
        message_indexes: message_indexes.into_boxed_slice(),
        message_index_length: fields.u64()?,
        compression: String::from_utf8_lossy(fields.block()?),
        compressed: fields.u64()?,
        uncompressed: fields.u64()?,
    })
}

/// If a channel is repeated, the last count counts.
pub(crate) fn statistics(body: &[u8]) -> Result<Statistics, Short> {
    let mut fields = Fields(body);
    Ok(Statistics {
        message_count: fields.u64()?,
        schema_count: fields.u16()?,
        channel_count: fields.u32()?,
        attachment_count: fields.u32()?,
        metadata_count: fields.u32()?,
        chunk_count: fields.u32()?,
        message_start_time: fields.u64()?,
        message_end_time: fields.u64()?,
        channel_message_counts: {
            let mut counts = BTreeMap::new();
            let mut map = Fields(fields.block()?);
            while !map.0.is_empty() {
                counts.insert(map.u16()?, map.u64()?);
            }
            counts
        },
    })
}

/// The first and last time of something. A negative time is recorded as a huge unsigned number. So if the times are on
/// both sides of zero, the first appears to be after the last, as in damaged data: then the result is `None`.
pub(crate) fn times(start: u64, end: u64) -> Option<TimeRange> {
    let (start, end) = (Time::from_mcap(start), Time::from_mcap(end));
    (start <= end).then(|| TimeRange::between(start, end))
}

#[cfg(test)]
mod tests {
    use mcap::parse_record;
    use mcap::records::ChunkIndex;

    use super::*;
    use crate::bag::mcap::record::Records;

    /// A file with a record of every kind that is parsed here.
    fn file() -> Vec<u8> {
        let options = mcap::WriteOptions::new().compression(None);
        let mut writer = options.create(std::io::Cursor::new(Vec::new())).unwrap();
        let schema_id = writer.add_schema("a/msg/B", "ros2msg", b"int8 x").unwrap();
        let metadata = BTreeMap::from([("key".to_owned(), "value".to_owned())]);
        let channel_id = writer.add_channel(schema_id, "/t", "cdr", &metadata);
        for (sequence, time) in [(0, 7), (1, 5)] {
            let header = MessageHeader {
                channel_id: channel_id.as_ref().copied().unwrap(),
                sequence,
                log_time: time,
                publish_time: time + 1,
            };
            writer.write_to_known_channel(&header, b"{}").unwrap();
        }
        writer.finish().unwrap();
        writer.into_inner().into_inner()
    }

    impl From<ChunkIndexRecord<'_>> for ChunkIndex {
        fn from(record: ChunkIndexRecord<'_>) -> Self {
            Self {
                message_start_time: record.times.0,
                message_end_time: record.times.1,
                chunk_start_offset: record.offset,
                chunk_length: record.length,
                message_index_offsets: record.message_indexes.into_iter().collect(),
                message_index_length: record.message_index_length,
                compression: record.compression.into_owned(),
                compressed_size: record.compressed,
                uncompressed_size: record.uncompressed,
            }
        }
    }

    /// Parses a record here and by crate mcap; returns whether the results are equal.
    fn is_same(opcode: u8, body: &[u8]) -> bool {
        match parse_record(opcode, body).unwrap() {
            Record::Header(it) => header(body) == Ok(it),
            Record::Footer(it) => footer(body) == Ok(it),
            Record::DataEnd(it) => data_end(body) == Ok(it),
            Record::Schema { header, data } => {
                schema(body).is_ok_and(|it| it.header == header && it.data[..] == data[..])
            }
            Record::Channel(it) => channel(body) == Ok(it),
            Record::Message { header, .. } => message_header(body) == Ok(header),
            Record::Chunk { header, data } => {
                let length = body.len() as u64;
                let after = bytes_after_chunk_data(&header, length);
                let size = (chunk_header_length(&header) + data.len()) as u64 + after;
                size == length
                    && chunk_header(body, length).is_ok_and(|it| it == header)
                    && chunk(body).is_ok_and(|it| it.header == header && it.data == &data[..])
            }
            Record::MessageIndex(it) => message_index(body) == Ok(it),
            Record::ChunkIndex(it) => {
                chunk_index(body).is_ok_and(|found| ChunkIndex::from(found) == it)
            }
            Record::Statistics(it) => statistics(body) == Ok(it),
            _ => true,
        }
    }

    #[test]
    fn sound_records_are_parsed_as_by_crate_mcap() {
        let file = file();
        let records = |bytes| Records::new(bytes).map(Result::unwrap);
        let mut seen = std::collections::BTreeSet::new();
        let whole = &file[mcap::MAGIC.len()..file.len() - mcap::MAGIC.len()];
        for record in records(whole) {
            let inner = chunk(record.body)
                .ok()
                .filter(|_| record.opcode == op::CHUNK);
            let inner = inner.into_iter().flat_map(|it| records(it.data));
            for record in inner.chain([record]) {
                seen.insert(record.opcode);
                for trailing in [&[][..], &[0xff, 0xff]] {
                    let body = [record.body, trailing].concat();
                    assert!(is_same(record.opcode, &body), "opcode {}", record.opcode);
                }
            }
        }
        let kinds = (op::HEADER..=op::CHUNK_INDEX).chain([op::STATISTICS, op::DATA_END]);
        assert!(
            kinds.into_iter().all(|kind| seen.contains(&kind)),
            "{seen:?}"
        );
    }

    #[test]
    fn what_crate_mcap_refuses_or_reads_otherwise_is_read_leniently() {
        let text = |bytes: &[u8]| {
            let length = u32::try_from(bytes.len()).unwrap();
            [&length.to_le_bytes()[..], bytes].concat()
        };
        let body = [text(b"\xff"), text(b"x")].concat();
        assert!(parse_record(op::HEADER, &body).is_err());
        assert_eq!(header(&body).unwrap().profile, "\u{fffd}");

        let pair = [text(b"k"), text(b"1"), text(b"k"), text(b"2")].concat();
        let body = [vec![0; 4], text(b"/t"), text(b"cdr"), text(&pair)].concat();
        assert!(parse_record(op::CHANNEL, &body).is_err());
        assert_eq!(channel(&body).unwrap().metadata["k"], "1");

        let entry = |channel: u8, count: u8| [channel, 0, count, 0, 0, 0, 0, 0, 0, 0];
        let body = [vec![0; 42], text(&[entry(1, 2), entry(1, 3)].concat())].concat();
        assert!(parse_record(op::STATISTICS, &body).is_err());
        assert_eq!(statistics(&body).unwrap().channel_message_counts[&1], 3);

        let map = text(&[entry(1, 9), entry(1, 8)].concat());
        let body = [vec![0; 32], map, vec![0; 8 + 4 + 8 + 8]].concat();
        assert!(parse_record(op::CHUNK_INDEX, &body).is_err());
        assert_eq!(*chunk_index(&body).unwrap().message_indexes, [(1, 8)]);

        // 17 bytes of entries: crate mcap takes a second entry from the bytes after them.
        let body = [vec![0; 2], text(&[0; 17]), vec![0; 15]].concat();
        let read = parse_record(op::MESSAGE_INDEX, &body).unwrap();
        assert!(matches!(read, Record::MessageIndex(it) if it.records.len() == 2));
        assert!(message_index(&body).is_err());
    }

    #[test]
    fn missing_bytes_are_an_error() {
        let body = [0, 0, 0, 0, 1, 0, 0, 0, b'x', 1];
        assert_eq!(header(&body).map(|it| it.library), Ok("x".to_owned()));
        assert!(header(&body[..8]).is_err());
        assert!(footer(&[0; 20]).is_ok() && footer(&[0; 19]).is_err());
        assert!(data_end(&[0; 4]).is_ok() && data_end(&[0; 3]).is_err());
    }
}
