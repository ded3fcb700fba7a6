//! [`Scan`]: reads through a part of a file, header by header, and collects what an index would contain.
//!
//! Chunks are skipped, not opened: one small read each. Entries of message indexes are counted by length. Messages
//! outside chunks are collected into runs, which are later read like chunks. Where the bytes are not a record, the next
//! place with a record is searched for (`mcap/resync.rs`), and what lies between is damage.

use std::collections::BTreeMap;

use mcap::MAGIC;
use mcap::records::op;

use super::file_index::FileIndex;
use super::inspect::Counts;
use crate::bag::damage::DamageKind;
use crate::bag::mcap::chunk_ref::{ChunkRef, Indexed, Storage};
use crate::bag::mcap::frame::Frame;
use crate::bag::mcap::limits::{MAX_CHUNK, SLACK};
use crate::bag::mcap::parse::{self, LONGEST_CHUNK_HEADER, times};
use crate::bag::mcap::record::{Fields, MESSAGE_HEADER};
use crate::bag::mcap::resync::{CandidateWindows, next_record};
use crate::bag::mcap::window::Window;
use crate::bag::open::options::Opening;
use crate::bag::open::source::Source;
use crate::time::{Ros, Time, TimeRange};

/// A run of records outside chunks ends after this many bytes: 1 MiB, about the size of a chunk.
const RUN: u64 = 1 << 20;
/// The largest record of an unused kind that may be in a run.
const MAX_OTHER: u64 = 4 << 10;
/// How often progress is reported: every 16 MiB.
const TELL: u64 = 16 << 20;

/// How the scan of a part ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// At the end of the part, between two records.
    Edge,
    /// At a footer, which ends here, including its magic.
    Footer(u64),
    /// In the middle of a record that begins here, with no further record after it.
    Cut(u64),
}

/// The scan of one file.
pub(crate) struct Scan<'a> {
    source: &'a Source,
    index: &'a mut FileIndex,
    opening: &'a Opening<'a>,
    window: Window<'a>,
    windows: CandidateWindows<'a>,
    run: Option<Run>,
    chunk: Option<Indexes>,
    counts: Counts,
    told: u64,
}

/// A run of messages outside chunks, so far.
#[derive(Debug)]
struct Run {
    start: u64,
    end: u64,
    first: Time<Ros>,
    last: Time<Ros>,
    channels: BTreeMap<u16, u64>,
}

/// The message indexes that follow a chunk, so far: offset and count by channel.
#[derive(Debug, Default)]
struct Indexes(BTreeMap<u16, (u64, u64)>);

impl<'a> Scan<'a> {
    pub(crate) fn new(
        source: &'a Source,
        index: &'a mut FileIndex,
        opening: &'a Opening<'a>,
    ) -> Self {
        Self {
            source,
            index,
            opening,
            window: Window::new(source),
            windows: [(); 4].map(|()| Window::new(source)),
            run: None,
            chunk: None,
            counts: Counts::new(),
            told: 0,
        }
    }

    /// Scans the records between two places.
    pub(crate) fn walk(&mut self, from: u64, to: u64) -> End {
        let mut at = from;
        let end = loop {
            if at >= to {
                break End::Edge;
            }
            self.tell(at);
            let frame = Frame::read(&mut self.window, at);
            let fitting = frame.and_then(|frame| Some((frame, frame.end(to)?)));
            let taken = fitting.and_then(|(frame, end)| Some((frame, self.take(frame, end)?)));
            match taken {
                Some((frame, end)) if frame.opcode == op::FOOTER => {
                    self.close_chunk(Behind::All);
                    let magic = self.window.get(end, MAGIC.len()).unwrap_or_default();
                    let is_whole = magic == MAGIC;
                    break End::Footer(if is_whole { end + 8 } else { end });
                }
                Some((_, end)) => at = end,
                None => {
                    // Message indexes that break off may not include all channels.
                    let is_other = |frame: Frame| {
                        frame.opcode != op::MESSAGE_INDEX && matches!(frame.opcode, 1..=0x0F)
                    };
                    self.close_chunk(if frame.is_some_and(is_other) {
                        Behind::All
                    } else {
                        Behind::Partly
                    });
                    self.close_run();
                    let windows = (&mut self.window, &mut self.windows);
                    let Some(next) = next_record(windows, &self.index.channels, at + 1, to) else {
                        break End::Cut(at);
                    };
                    let detail = format!("{} bytes that are no records are skipped", next - at);
                    self.index
                        .report(self.source, at, (DamageKind::Framing, detail));
                    at = next;
                }
            }
        };
        // A file without a footer may have been truncated between two message indexes.
        let is_whole = to < self.source.len && end == End::Edge;
        self.close_chunk(if is_whole {
            Behind::All
        } else {
            Behind::Partly
        });
        self.close_run();
        end
    }

    /// The number of messages found, without those in chunks that have no message indexes.
    pub(crate) fn counts(self) -> Counts {
        self.counts
    }

    /// Adds a record that declares its end at `end`. Returns where the next one begins; `None` if it cannot be a
    /// record.
    fn take(&mut self, frame: Frame, end: u64) -> Option<u64> {
        if frame.opcode == op::MESSAGE_INDEX {
            return self.take_message_index(frame).then_some(end);
        }
        self.close_chunk(Behind::All);
        let is_taken = match frame.opcode {
            0 => false,
            op::CHUNK => return self.take_chunk(frame, end),
            op::MESSAGE => self.take_message(frame),
            op::SCHEMA | op::CHANNEL => self.take_definition(frame),
            op::FOOTER => frame.length == 20,
            op::DATA_END => self.take_data_end(frame),
            op::ATTACHMENT | op::METADATA => {
                self.index.note_other(frame.opcode, frame.at..end);
                self.take_other(frame);
                true
            }
            _ => {
                self.take_other(frame);
                true
            }
        };
        is_taken.then_some(end)
    }

    /// A small record of an unused kind may be between messages of a run.
    fn take_other(&mut self, frame: Frame) {
        if frame.length > MAX_OTHER {
            self.close_run();
        } else if self.run.is_some() {
            self.extend(frame);
        }
    }

    fn take_chunk(&mut self, frame: Frame, end: u64) -> Option<u64> {
        self.close_run();
        let head = self.window.get(frame.body(), LONGEST_CHUNK_HEADER);
        let header = parse::chunk_header(head.unwrap_or_default(), frame.length).ok()?;
        // A length that reaches beyond the data could hide what follows the chunk.
        let rest = parse::bytes_after_chunk_data(&header, frame.length);
        let length = if rest > SLACK {
            let detail = format!("a chunk record is {rest} bytes longer than its chunk");
            self.index
                .report(self.source, frame.at, (DamageKind::Framing, detail));
            frame.length - rest
        } else {
            frame.length
        };
        self.index
            .count_compression(&header.compression, header.compressed_size);
        self.index.chunks.push(ChunkRef {
            storage: Storage::Chunk,
            offset: frame.at,
            length: end - frame.at - (frame.length - length),
            times: times(header.message_start_time, header.message_end_time),
            uncompressed: header.uncompressed_size,
            message_indexes: Box::default(),
        });
        self.chunk = Some(Indexes::default());
        Some(end - (frame.length - length))
    }

    fn take_message_index(&mut self, frame: Frame) -> bool {
        let head = self.window.get(frame.body(), 6).unwrap_or_default();
        let mut fields = Fields(head);
        let (Ok(channel), Ok(bytes)) = (fields.u16(), fields.u32()) else {
            return false;
        };
        if u64::from(bytes) + 6 > frame.length || bytes % 16 != 0 {
            return false;
        }
        if let Some(Indexes(found)) = &mut self.chunk
            && bytes > 0
        {
            found.insert(channel, (frame.at, u64::from(bytes) / 16));
        }
        true
    }

    /// Ends the message indexes of the last chunk.
    fn close_chunk(&mut self, behind: Behind) {
        let Some(Indexes(found)) = self.chunk.take() else {
            return;
        };
        let Some(chunk) = self.index.chunks.last_mut() else {
            return;
        };
        if behind == Behind::Partly {
            return;
        }
        let indexed = found.iter().map(|(channel, (offset, count))| Indexed {
            channel: *channel,
            count: u32::try_from(*count).unwrap_or(u32::MAX),
            offset: *offset,
        });
        chunk.message_indexes = indexed.collect();
        for (channel, (_, count)) in found {
            *self.counts.entry(channel).or_default() += count;
        }
    }

    fn take_message(&mut self, frame: Frame) -> bool {
        let head = self.window.get(frame.body(), MESSAGE_HEADER);
        let Ok(header) = parse::message_header(head.unwrap_or_default()) else {
            return false;
        };
        if frame.length < MESSAGE_HEADER as u64 {
            return false;
        }
        if frame.length > MAX_CHUNK / 2 {
            self.close_run();
            let detail = format!("a message of {} bytes is skipped", frame.length);
            self.index
                .report(self.source, frame.at, (DamageKind::TooLarge, detail));
            return true;
        }
        let time = parse::message_time(&header, self.opening.order);
        let run = self.extend(frame);
        run.first = run.first.min(time);
        run.last = run.last.max(time);
        *run.channels.entry(header.channel_id).or_default() += 1;
        *self.counts.entry(header.channel_id).or_default() += 1;
        true
    }

    fn take_data_end(&mut self, frame: Frame) -> bool {
        self.close_run();
        let body = self.window.get(frame.body(), 4).unwrap_or_default();
        let Ok(end) = parse::data_end(body) else {
            return false;
        };
        self.index
            .data_end
            .get_or_insert((frame.at, end.data_section_crc));
        frame.length >= 4
    }

    fn take_definition(&mut self, frame: Frame) -> bool {
        let length = usize::try_from(frame.length).unwrap_or(usize::MAX);
        if frame.length > MAX_CHUNK / 2 {
            return false;
        }
        let body = self.window.get(frame.body(), length).unwrap_or_default();
        let mut fields = Fields(body);
        let id = fields.u16().unwrap_or(0);
        let (what, taken) = if frame.opcode == op::SCHEMA {
            let schema = parse::schema(body);
            ("schema", schema.map(|it| self.index.define_schema(it)))
        } else {
            let channel = parse::channel(body);
            ("channel", channel.map(|it| self.index.define_channel(it)))
        };
        let Ok(is_first) = taken else {
            return false;
        };
        if !is_first {
            self.index
                .report_conflict(self.source, frame.at, (what, id));
        }
        if self.run.is_some() {
            self.extend(frame);
        }
        true
    }

    /// Adds a record to the run, or begins a new run with it.
    fn extend(&mut self, frame: Frame) -> &mut Run {
        let end = frame.body() + frame.length;
        let is_full = |run: &Run| end - run.start > RUN && run.end > run.start;
        if self.run.as_ref().is_some_and(is_full) {
            self.close_run();
        }
        let run = self.run.get_or_insert_with(|| Run {
            start: frame.at,
            end,
            first: Time::MAX,
            last: Time::MIN,
            channels: BTreeMap::new(),
        });
        run.end = end;
        run
    }

    fn close_run(&mut self) {
        let Some(run) = self.run.take().filter(|run| !run.channels.is_empty()) else {
            return;
        };
        let indexed = run.channels.into_iter().map(|(channel, count)| Indexed {
            channel,
            count: u32::try_from(count).unwrap_or(u32::MAX),
            offset: 0,
        });
        self.index.chunks.push(ChunkRef {
            storage: Storage::OutsideChunks,
            offset: run.start,
            length: run.end - run.start,
            times: Some(TimeRange::between(run.first, run.last)),
            uncompressed: run.end - run.start,
            message_indexes: indexed.collect(),
        });
    }

    fn tell(&mut self, at: u64) {
        if at >= self.told {
            self.told = at + TELL;
            self.opening.tell(&self.source.name, at, self.source.len);
        }
    }
}

/// Whether all message indexes that follow a chunk were found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Behind {
    All,
    Partly,
}
