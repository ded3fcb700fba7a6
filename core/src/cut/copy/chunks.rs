//! [`Copy`]: walks over the chunks of all files once, and copies what belongs to the cut.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::ops::{ControlFlow, Range};

use mcap::records::ChunkHeader;

use super::order::in_order;
use super::sealed_run::SealedRun;
use crate::bag::{Bag, Damage, DamageKind, OpenedChunk, SealedChunk, Stored, StoredChunk, TopicId};
use crate::cut::definitions::Definitions;
use crate::cut::error::CutError;
use crate::cut::options::{CopiedChunks, Cut, LatchedState};
use crate::cut::outcome::{CutProgress, TopicShare};
use crate::cut::target::Target;
use crate::cut::translation::Translation;
use crate::cut::write::file::{CutFile, Mark};
use crate::mcap_write::Indexes;
use crate::time::TimeRange;

/// While a chunk is copied, progress is reported after so many bytes: 16 MiB.
const TELL: u64 = 16 << 20;

/// Why a copy ends early.
pub(crate) enum Stop {
    Cancelled,
    Failed(CutError),
}

/// A cut while it is written.
pub(crate) struct Copy<'a> {
    pub(super) cut: &'a Cut,
    pub(super) stored: Stored,
    pub(super) definitions: &'a Definitions,
    pub(super) translation: &'a Translation,
    /// Room for a message that is transcoded.
    pub(super) room: Vec<u8>,
    target: &'a Target,
    pub(super) file: CutFile,
    pub(super) damage: Vec<Damage>,
    /// Sealed chunks that are copied when the next one does not continue them.
    run: SealedRun,
    pub(super) progress: CutProgress,
    /// What will be done after the present chunk.
    until: u64,
    pub(super) tell: Tell<'a>,
    shares: BTreeMap<TopicId, TopicShare>,
    unchecked_chunks: u64,
}

/// What was copied.
pub(crate) struct Copied {
    pub(crate) file: CutFile,
    pub(crate) damage: Vec<Damage>,
    pub(crate) shares: BTreeMap<TopicId, TopicShare>,
    /// How many chunks were copied as they are, and not checked.
    pub(crate) unchecked_chunks: u64,
}

/// Is told how far the copy has come, and may end it.
type Tell<'a> = &'a mut dyn FnMut(CutProgress) -> ControlFlow<()>;

impl<'a> Copy<'a> {
    /// A copy into a file that has its definitions.
    pub(crate) fn new(
        cut: &'a Cut,
        bag: &Bag,
        (definitions, translation): (&'a Definitions, &'a Translation),
        target: &'a Target,
        (file, tell): (CutFile, Tell<'a>),
    ) -> Self {
        let stored = bag.stored();
        Self {
            cut,
            run: SealedRun::new(stored.piece()),
            stored,
            definitions,
            translation,
            room: Vec::new(),
            target,
            file,
            damage: bag.damage().to_vec(),
            until: 0,
            progress: CutProgress {
                done: 0,
                of: 0,
                look_up: None,
            },
            tell,
            shares: BTreeMap::new(),
            unchecked_chunks: 0,
        }
    }

    /// The file, and what is known of its content.
    pub(crate) fn finish(mut self) -> Copied {
        let mut places = HashSet::new();
        self.damage.retain(|damage| places.insert(damage.place()));
        Copied {
            file: self.file,
            damage: self.damage,
            shares: self.shares,
            unchecked_chunks: self.unchecked_chunks,
        }
    }

    /// Copies everything that belongs to the cut.
    pub(crate) fn all(&mut self, bag: &Bag) -> Result<(), Stop> {
        let chunks = in_order(self.stored.chunks(self.cut.range));
        let lengths = chunks.iter().map(|chunk| chunk.length);
        self.progress.of = lengths.fold(0, u64::saturating_add);
        if self.cut.latched == LatchedState::Added {
            self.add_latched(bag)?;
        }
        for chunk in chunks {
            self.tell()?;
            self.until = self.until.saturating_add(chunk.length);
            if self.stored.may_hold(chunk, &self.cut.topics) {
                self.take(chunk)?;
            }
            self.progress.done = self.until;
        }
        self.copy_run()?;
        self.tell()?;
        self.copy_others()
    }

    fn tell(&mut self) -> Result<(), Stop> {
        match (self.tell)(self.progress) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Stop::Cancelled),
        }
    }

    pub(super) fn failed(&self, source: io::Error) -> Stop {
        Stop::Failed(self.target.failed(source))
    }

    /// Copies a chunk as it is, or the messages of it that belong to the cut.
    fn take(&mut self, chunk: StoredChunk) -> Result<(), Stop> {
        let sealed = self.sealed(chunk);
        if self.cut.chunks == CopiedChunks::Unchecked
            && let Some(sealed) = sealed
        {
            return self.copy_sealed(chunk, sealed);
        }
        let opened = self.stored.open(chunk, &self.cut.topics, self.cut.range);
        let (opened, damage) = match opened {
            Ok(opened) => opened,
            Err(damage) => {
                self.damage.push(damage);
                return Ok(());
            }
        };
        if let Some(sealed) = sealed.filter(|sealed| opened.is_as_listed(sealed)) {
            return self.copy_sealed(chunk, sealed);
        }
        self.copy_run()?;
        self.damage.extend(damage);
        match self.unchanged(chunk.input, &opened) {
            Some((header, bytes)) => self.copy_opened(chunk, (&header, bytes), &opened),
            None => self.copy_messages(chunk.input, &opened),
        }
    }

    /// What is needed to copy a chunk as it is; `None` if not all of it belongs to the cut, or if it cannot be copied
    /// so.
    fn sealed(&mut self, chunk: StoredChunk) -> Option<SealedChunk> {
        let range = self.cut.range;
        let is_within = |times: TimeRange| range.intersection(times) == Some(times);
        if !chunk.times.is_some_and(is_within) || !self.definitions.fit_all_of(chunk.input) {
            return None;
        }
        let sealed = self.stored.sealed(chunk)?;
        let is_defined = self.shares_of(chunk.input, &sealed).is_some();
        is_defined.then_some(sealed)
    }

    /// Copies a chunk as it is: with those after it, if they continue it.
    fn copy_sealed(&mut self, chunk: StoredChunk, sealed: SealedChunk) -> Result<(), Stop> {
        if !self.run.is_continued_by(chunk, &sealed) {
            self.copy_run()?;
        }
        self.run.chunks.push((chunk, sealed));
        if self.run.is_long() {
            self.copy_run()?;
        }
        Ok(())
    }

    /// The number of messages of each topic; `None` if a channel is not defined.
    fn shares_of(&self, input: u32, sealed: &SealedChunk) -> Option<Vec<(TopicId, u64)>> {
        let topic = |channel: &u16| {
            self.definitions.channel(input, *channel)?;
            self.stored.topic_of(input, *channel)
        };
        let indexes = sealed.indexes.iter();
        indexes
            .map(|(channel, index)| Some((topic(channel)?, index.count)))
            .collect()
    }

    /// Copies the chunks that stay as they are, with their message indexes: together, or if not all of them can be
    /// read, each by itself.
    fn copy_run(&mut self) -> Result<(), Stop> {
        let run = self.run.take();
        let Some((input, bytes)) = run.bytes() else {
            return Ok(());
        };
        let start = bytes.start;
        if run.chunks.len() > 1
            && let Ok(mark) = self.copy_bytes(input, bytes)?
        {
            for (_, sealed) in &run.chunks {
                self.copied(input, mark.at + sealed.bytes.start - start, sealed);
            }
            return Ok(());
        }
        for (chunk, sealed) in &run.chunks {
            if let Some(mark) = self.copy_chunk(*chunk, sealed.bytes.clone())? {
                self.copied(input, mark.at, sealed);
            }
        }
        Ok(())
    }

    /// A sealed chunk has been copied to a place.
    fn copied(&mut self, input: u32, at: u64, sealed: &SealedChunk) {
        self.file.copied(at, sealed);
        self.unchecked_chunks += u64::from(self.cut.chunks == CopiedChunks::Unchecked);
        for (topic, count) in self.shares_of(input, sealed).unwrap_or_default() {
            self.share(topic).messages += count;
        }
    }

    /// The header and place of a chunk that needs no change but in its message indexes.
    fn unchanged(&self, input: u32, opened: &OpenedChunk) -> Option<(ChunkHeader, Range<u64>)> {
        let (header, bytes) = opened.record.as_ref()?;
        let is_same = |channel| {
            self.definitions.channel(input, channel) == Some(channel)
                && self.transcoder(input, channel).is_none()
        };
        let is_unchanged = opened.is_sound
            && opened.messages().next().is_some()
            && opened.messages().all(|message| is_same(message.channel))
            && opened.has_nothing_else(|definition| self.definitions.has(definition));
        is_unchanged.then(|| (header.clone(), bytes.clone()))
    }

    /// Copies a chunk that had to be opened, and needs no change; its message indexes are made again.
    fn copy_opened(
        &mut self,
        chunk: StoredChunk,
        (header, bytes): (&ChunkHeader, Range<u64>),
        opened: &OpenedChunk,
    ) -> Result<(), Stop> {
        let mut indexes = Indexes::default();
        for message in opened.messages() {
            indexes.add(message.channel, message.log_time, message.at.into());
        }
        let told = (header.message_start_time, header.message_end_time);
        let times = indexes.times.map(|it| (it.start(), it.stop()));
        if times.map(|(start, stop)| (start.to_mcap(), stop.to_mcap())) != Some(told) {
            return self.copy_messages(chunk.input, opened);
        }
        let Some(mark) = self.copy_chunk(chunk, bytes)? else {
            return Ok(());
        };
        let put = self.file.copied_without_indexes(&mark, header, &indexes);
        put.map_err(|error| self.failed(error))?;
        self.count(chunk.input, opened);
        Ok(())
    }

    /// Copies bytes of a file. The inner error: they cannot be read, and nothing is written.
    fn copy_bytes(
        &mut self,
        input: u32,
        bytes: Range<u64>,
    ) -> Result<Result<Mark, io::Error>, Stop> {
        let mark = self.file.mark().map_err(|error| self.failed(error))?;
        let (mut at, mut told) = (bytes.start, 0);
        while at < bytes.end {
            let read = |room: &mut [u8]| self.stored.read_into(input, at, room);
            let added = self.file.put_from(bytes.end - at, read);
            match added.map_err(|error| self.failed(error))? {
                Ok(length) => {
                    at += length;
                    told += length;
                }
                Err(error) => {
                    self.file.undo(mark);
                    return Ok(Err(error));
                }
            }
            if told >= TELL {
                let done = self.progress.done.saturating_add(told);
                self.progress.done = done.min(self.until);
                told = 0;
                self.tell()?;
            }
        }
        Ok(Ok(mark))
    }

    /// The same with the bytes of a chunk. `None` if they cannot be read, which is damage.
    fn copy_chunk(&mut self, chunk: StoredChunk, bytes: Range<u64>) -> Result<Option<Mark>, Stop> {
        let copied = self.copy_bytes(chunk.input, bytes)?;
        let copied = copied.map_err(|error| self.stored.unreadable(chunk, &error));
        Ok(copied.map_err(|damage| self.damage.push(damage)).ok())
    }

    fn count(&mut self, input: u32, opened: &OpenedChunk) {
        for message in opened.messages() {
            if let Some(topic) = self.stored.topic_of(input, message.channel) {
                self.share(topic).messages += 1;
            }
        }
    }

    pub(super) fn share(&mut self, topic: TopicId) -> &mut TopicShare {
        let share = self.shares.entry(topic);
        share.or_insert(TopicShare::none(topic))
    }

    /// Copies the attachments and metadata records of all files.
    fn copy_others(&mut self) -> Result<(), Stop> {
        for input in 0..self.stored.inputs() {
            let others = self.stored.others(input).clone();
            for record in &others.list {
                let offset = record.bytes.start;
                let Some(head) = self.stored.head(input, record) else {
                    let detail = "an attachment or metadata record is broken and is left out";
                    self.leave_out(input, offset, (DamageKind::Framing, detail));
                    continue;
                };
                match self.copy_bytes(input, record.bytes.clone())? {
                    Ok(mark) => self.file.other(&mark, &head),
                    Err(error) => {
                        let detail = format!("a record cannot be read: {error}");
                        self.leave_out(input, offset, (DamageKind::Unreadable, &detail));
                    }
                }
                self.tell()?;
            }
            if others.left_out > 0 {
                let count = others.left_out;
                let detail = format!("attachments and metadata records are left out: {count}");
                self.leave_out(input, 0, (DamageKind::TooLarge, &detail));
            }
        }
        Ok(())
    }

    pub(super) fn leave_out(
        &mut self,
        input: u32,
        offset: u64,
        (kind, detail): (DamageKind, &str),
    ) {
        let damage = self.stored.left_out(input, offset, kind, detail);
        self.damage.push(damage);
    }
}
