//! [`CutFile`]: an MCAP file that is written from its start to its end.
//!
//! Everything goes through [`CutFile::put_from`], which keeps the checksum of the data section. A chunk
//! that could not be read to its end is taken back ([`CutFile::undo`]).

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fs::File;
use std::io;

use mcap::MAGIC;
use mcap::records::{Channel, ChunkHeader};

use super::aligned::Aligned;
use crate::bag::{Message, OtherHead, SchemaRecord, SealedChunk, StoredMessage};
use crate::mcap_write::{
    CHUNK_BYTES, ChunkPlace, Compression, Compressor, Encoder, Indexes, LIBRARY, OpenChunk, Summary,
};
use crate::time::{Ros, Time, TimeRange};

/// A file that is being written.
#[derive(Debug)]
pub(crate) struct CutFile {
    out: Aligned,
    crc: crc32fast::Hasher,
    open: OpenChunk,
    compressor: Compressor,
    summary: Summary,
    copied_chunks: u64,
}

/// A place in the file to which it can be taken back.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    pub(crate) at: u64,
    crc: crc32fast::Hasher,
}

/// A file that is whole.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) bytes: u64,
    /// The first and last log time; `None` without messages.
    pub(crate) range: Option<TimeRange>,
    pub(crate) copied_chunks: u64,
    pub(crate) new_chunks: u64,
    pub(crate) attachments: u64,
    pub(crate) metadata: u64,
    /// How many messages each channel has.
    pub(crate) counts: BTreeMap<u16, u64>,
}

impl CutFile {
    /// Begins a file with its header and all definitions. It is written in pieces of so many bytes.
    pub(crate) fn begin(
        (file, piece): (File, usize),
        profile: &str,
        schemas: &BTreeMap<u16, SchemaRecord>,
        channels: &BTreeMap<u16, Channel>,
    ) -> io::Result<Self> {
        let mut begun = Self {
            out: Aligned::new(file, piece),
            crc: crc32fast::Hasher::new(),
            open: OpenChunk::default(),
            compressor: Compressor::default(),
            summary: Summary::default(),
            copied_chunks: 0,
        };
        let mut head = Encoder(MAGIC.to_vec());
        head.header(profile, LIBRARY);
        for schema in schemas.values() {
            head.schema(schema);
        }
        for channel in channels.values() {
            head.channel(channel);
        }
        begun.put(&head.0)?;
        Ok(begun)
    }

    /// Writes bytes.
    pub(crate) fn put(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let left = bytes.len() as u64;
            let copy = |room: &mut [u8]| {
                let (head, rest) = bytes.split_at(room.len());
                room.copy_from_slice(head);
                bytes = rest;
                Ok::<(), Infallible>(())
            };
            let Ok(_) = self.put_from(left, copy)?;
        }
        Ok(())
    }

    /// Writes some bytes, at most `most`, that `read` fills in. Returns how many, or the error of `read`.
    pub(crate) fn put_from<E>(
        &mut self,
        most: u64,
        read: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> io::Result<Result<u64, E>> {
        let added = self.out.add(most, read)?;
        Ok(added.map(|added| {
            self.crc.update(self.out.last(added));
            added as u64
        }))
    }

    fn at(&self) -> u64 {
        self.out.position()
    }

    /// Writes the chunk that is open. What follows is copied, and can be taken back up to here.
    pub(crate) fn mark(&mut self) -> io::Result<Mark> {
        self.close_chunk()?;
        Ok(Mark {
            at: self.at(),
            crc: self.crc.clone(),
        })
    }

    /// Takes the file back to a mark.
    pub(crate) fn undo(&mut self, mark: Mark) {
        self.out.back_to(mark.at);
        self.crc = mark.crc;
    }

    /// A chunk and its message indexes were put from a place on.
    pub(crate) fn copied(&mut self, at: u64, sealed: &SealedChunk) {
        self.copied_chunks += 1;
        let indexes = sealed.indexes.iter();
        self.summary.add_chunk(&ChunkPlace {
            header: &sealed.header,
            at,
            length: sealed.record_length,
            indexes: indexes.map(|(channel, it)| (*channel, it.at)).collect(),
            indexes_length: sealed.bytes.end - sealed.bytes.start - sealed.record_length,
        });
        for (channel, index) in &sealed.indexes {
            self.summary.count(*channel, index.count);
        }
        self.summary.cover(sealed.messages);
    }

    /// A chunk was put from `mark` on, and these are its message indexes.
    pub(crate) fn copied_without_indexes(
        &mut self,
        mark: &Mark,
        header: &ChunkHeader,
        indexes: &Indexes,
    ) -> io::Result<()> {
        self.copied_chunks += 1;
        self.put_indexes(mark.at, header, indexes)
    }

    /// Adds a message to the chunk that is open, under this channel.
    pub(crate) fn add(
        &mut self,
        message: StoredMessage<'_>,
        channel: u16,
        compression: Compression,
    ) -> io::Result<()> {
        self.make_room(message.rest.len(), compression)?;
        self.open.add(message, channel);
        Ok(())
    }

    /// The same with another log time.
    pub(crate) fn add_at(
        &mut self,
        log_time: Time<Ros>,
        message: &Message,
        channel: u16,
        compression: Compression,
    ) -> io::Result<()> {
        self.make_room(message.payload.len(), compression)?;
        self.open.add_at(log_time, message, channel);
        Ok(())
    }

    /// Writes the open chunk if it is full, or compressed in another way.
    fn make_room(&mut self, length: usize, compression: Compression) -> io::Result<()> {
        let is_full = self.open.size() + length > CHUNK_BYTES;
        if is_full || self.open.compression() != compression {
            self.close_chunk()?;
        }
        self.open.begin(compression);
        Ok(())
    }

    /// Begins an attachment or metadata record, which is then put; its length is that with its frame.
    pub(crate) fn other(&mut self, mark: &Mark, head: &OtherHead) {
        self.summary.add_other(head, mark.at, self.at() - mark.at);
    }

    fn close_chunk(&mut self) -> io::Result<()> {
        let Some(chunk) = self.open.close(&mut self.compressor)? else {
            return Ok(());
        };
        let at = self.at();
        self.put(&chunk.head())?;
        self.put(&chunk.data)?;
        self.put_indexes(at, &chunk.header, &chunk.indexes)
    }

    /// Writes the message indexes of the chunk that begins at a place and ends here.
    fn put_indexes(&mut self, at: u64, header: &ChunkHeader, indexes: &Indexes) -> io::Result<()> {
        let length = self.at() - at;
        let encoded = indexes.encode(length);
        self.put(&encoded.records)?;
        let place = (header, at, length);
        self.summary.add_indexed_chunk(place, indexes, encoded);
        Ok(())
    }

    /// Writes what is left, and the summary.
    pub(crate) fn finish(
        mut self,
        schemas: &BTreeMap<u16, SchemaRecord>,
        channels: &BTreeMap<u16, Channel>,
    ) -> io::Result<Finished> {
        self.close_chunk()?;
        let crc = self.crc.clone().finalize();
        let summary = std::mem::take(&mut self.summary);
        let finished = Finished {
            bytes: 0,
            range: summary.times,
            copied_chunks: self.copied_chunks,
            new_chunks: summary.chunks() - self.copied_chunks,
            attachments: summary.attachments(),
            metadata: summary.metadata(),
            counts: summary.counts.clone(),
        };
        let end = summary.end_of_file((self.at(), crc), schemas, channels);
        self.put(&end)?;
        let bytes = self.at();
        self.out.finish()?;
        Ok(Finished { bytes, ..finished })
    }
}
