//! [`Scan`]: reads through a stretch of a file, header by header, and notes what an index would know.
//!
//! Chunks are skipped over, not opened: one small read each, their message indexes counted by length.
//! Loose messages are gathered into runs, which are read like chunks later. Where bytes make no
//! record, the next place that does is searched for (`mcap/resync.rs`), and what lies between is damage.

use std::collections::BTreeMap;

use super::file_index::FileIndex;
use super::inspect::Counts;
use crate::bag::damage::DamageKind;
use crate::bag::mcap::chunk_ref::{ChunkRef, Form, Indexed};
use crate::bag::mcap::frame::Frame;
use crate::bag::mcap::limits::{MAX_CHUNK, SLACK};
use crate::bag::mcap::record::{
    ChannelRecord, ChunkHeader, Fields, MESSAGE_HEADER, MessageHeader, SchemaRecord, op, times,
};
use crate::bag::mcap::resync::{Looks, next_record};
use crate::bag::mcap::window::Window;
use crate::bag::open::file_kind::MAGIC;
use crate::bag::open::options::Opening;
use crate::bag::open::read_at::Source;
use crate::time::{Ros, Time, TimeRange};

/// A run of loose records ends after so many bytes: 1 MiB, about a chunk.
const RUN: u64 = 1 << 20;
/// The largest record of no meaning to us that may be in a run.
const MAX_OTHER: u64 = 4 << 10;
/// How often progress is told: every 16 MiB.
const TELL: u64 = 16 << 20;

/// Where a stretch ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// At its edge, between two records.
    Edge,
    /// At a footer, which ends here, its magic included.
    Footer(u64),
    /// In the middle of a record that begins here, and nothing but rests follows.
    Cut(u64),
}

/// A reading through.
pub(crate) struct Scan<'a> {
    source: &'a Source,
    index: &'a mut FileIndex,
    opening: &'a Opening<'a>,
    window: Window<'a>,
    looks: Looks<'a>,
    run: Option<Run>,
    chunk: Option<Indexes>,
    counts: Counts,
    told: u64,
}

/// Loose records, up to now.
#[derive(Debug)]
struct Run {
    start: u64,
    end: u64,
    first: Time<Ros>,
    last: Time<Ros>,
    channels: BTreeMap<u16, u64>,
}

/// The message indexes behind a chunk, up to now: offset and count by channel.
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
            looks: [(); 4].map(|()| Window::new(source)),
            run: None,
            chunk: None,
            counts: Counts::new(),
            told: 0,
        }
    }

    /// Notes what is between two places.
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
                    // Message indexes that break off do not tell of all channels.
                    let is_other = |frame: Frame| {
                        frame.opcode != op::MESSAGE_INDEX && matches!(frame.opcode, 1..=0x0F)
                    };
                    self.close_chunk(if frame.is_some_and(is_other) {
                        Behind::All
                    } else {
                        Behind::Partly
                    });
                    self.close_run();
                    let windows = (&mut self.window, &mut self.looks);
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
        // A file that ends without a footer may have been cut between two message indexes.
        let is_whole = to < self.source.len && end == End::Edge;
        self.close_chunk(if is_whole {
            Behind::All
        } else {
            Behind::Partly
        });
        self.close_run();
        end
    }

    /// How many messages were met, but for those in chunks without message indexes.
    pub(crate) fn counts(self) -> Counts {
        self.counts
    }

    /// Notes a record that says it ends at `end`. Where the next one begins; `None` if it cannot be one.
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
            _ => {
                self.take_other(frame);
                true
            }
        };
        is_taken.then_some(end)
    }

    /// A record that means nothing to us may stand between loose messages, if it is small.
    fn take_other(&mut self, frame: Frame) {
        if frame.length > MAX_OTHER {
            self.close_run();
        } else if self.run.is_some() {
            self.extend(frame);
        }
    }

    fn take_chunk(&mut self, frame: Frame, end: u64) -> Option<u64> {
        self.close_run();
        let head = self.window.get(frame.body(), ChunkHeader::LONGEST);
        let header = ChunkHeader::parse(head.unwrap_or_default(), frame.length).ok()?;
        // A length that goes on behind the data may swallow what follows the chunk.
        let rest = header.rest(frame.length);
        let length = if rest > SLACK {
            let detail = format!("a chunk claims {rest} bytes behind its end");
            self.index
                .report(self.source, frame.at, (DamageKind::Framing, detail));
            frame.length - rest
        } else {
            frame.length
        };
        self.index
            .count_compression(&header.compression, header.compressed);
        self.index.chunks.push(ChunkRef {
            form: Form::Chunk,
            offset: frame.at,
            length: end - frame.at - (frame.length - length),
            times: times(header.start, header.end),
            uncompressed: header.uncompressed,
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

    /// The chunk's message indexes are behind us.
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
        let Ok(header) = MessageHeader::parse(head.unwrap_or_default()) else {
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
        let time = header.time(self.opening.order);
        let run = self.extend(frame);
        run.first = run.first.min(time);
        run.last = run.last.max(time);
        *run.channels.entry(header.channel).or_default() += 1;
        *self.counts.entry(header.channel).or_default() += 1;
        true
    }

    fn take_data_end(&mut self, frame: Frame) -> bool {
        self.close_run();
        let body = self.window.get(frame.body(), 4).unwrap_or_default();
        let Ok(checksum) = Fields(body).u32() else {
            return false;
        };
        self.index.data_end.get_or_insert((frame.at, checksum));
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
            let schema = SchemaRecord::parse(body);
            ("schema", schema.map(|it| self.index.define_schema(it)))
        } else {
            let channel = ChannelRecord::parse(body);
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

    /// The run with a record more, or a new one.
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
            form: Form::Loose,
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
            self.opening.tell(&self.source.path, at, self.source.len);
        }
    }
}

/// Whether the message indexes behind a chunk are all there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Behind {
    All,
    Partly,
}
