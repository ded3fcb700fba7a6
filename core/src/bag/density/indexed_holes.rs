//! Finds holes and usual times between messages from message indexes. A chunk is opened only if they do not list its
//! messages.

use mcap::records::op;

use super::hole_finder::HoleFinder;
use super::timing::{self, Timing};
use crate::bag::decompress::budget::Meter;
use crate::bag::decompress::chunk::Decoder;
use crate::bag::index::contents::{Chunk, Contents};
use crate::bag::mcap::message_index;
use crate::bag::mcap::parse;
use crate::bag::mcap::record::Records;
use crate::bag::message::TopicId;
use crate::bag::open::options::MessageOrder;
use crate::bag::open::read_at::Cost;
use crate::time::{Ros, Time, TimeRange};

/// In recordings with more messages than these, message indexes are not read for holes: they would be more than 32 MB.
const MOST: usize = 2_000_000;
/// How many bytes are decompressed in chunks whose messages no index lists: 64 MiB, a tenth of a second.
const MOST_OPENED: u64 = 64 << 20;

/// The holes and the usual times between messages. Messages of chunks that cannot be opened are not included: that is
/// damage, which is known from then on. `None` if the bag is
/// not ordered by the times of message indexes, if there are more than two million messages, if more than 64 MiB would
/// have to be decompressed because no message index lists them, or if `is_wanted`, which is called at each chunk,
/// returns `false`.
pub(crate) fn find(contents: &Contents, is_wanted: &mut dyn FnMut() -> bool) -> Option<Timing> {
    let files = contents.files.iter().filter_map(|file| file.range);
    let Some(range) = files.reduce(TimeRange::union) else {
        return Some(Timing {
            holes: Some(Vec::new()),
            periods: vec![None; contents.topics.len()],
        });
    };
    let mut counts = contents.files.iter().map(|file| file.message_count);
    let declared = counts.try_fold(0_u64, |sum, count| Some(sum.saturating_add(count?)));
    let are_too_many = declared.is_some_and(|count| count > MOST as u64);
    if contents.order != MessageOrder::Received || are_too_many {
        return None;
    }
    let has_index = |chunk: &&Chunk| {
        let has_wrong_index = contents.input(chunk.input).has_wrong_index();
        !chunk.place.message_indexes.is_empty() && !has_wrong_index
    };
    let without = contents.chunks.iter().filter(|chunk| !has_index(chunk));
    let to_open = without.map(Chunk::cost).fold(0, u64::saturating_add);
    if to_open > MOST_OPENED {
        return None;
    }
    let mut read = Read {
        contents,
        messages: Vec::new(),
        decoder: Decoder::default(),
        may_open: MOST_OPENED,
        is_whole: true,
    };
    for chunk in &contents.chunks {
        if !is_wanted() {
            return None;
        }
        read.chunk(chunk)?;
    }
    let mut messages = read.messages;
    if read.is_whole && declared.is_some_and(|count| count != messages.len() as u64) {
        return None;
    }
    messages.sort_unstable_by_key(|(time, _)| *time);
    let periods = timing::periods(&messages, contents.topics.len());
    let mut finder = HoleFinder::new(&contents.topics, range);
    for (time, topic) in messages {
        finder.add(topic, time);
    }
    let holes = finder.finish();
    Some(Timing { holes, periods })
}

/// Collects the times of all messages. `None` from its functions: there is too much to read.
struct Read<'a> {
    contents: &'a Contents,
    messages: Vec<(Time<Ros>, TopicId)>,
    decoder: Decoder,
    /// How many more bytes may be decompressed.
    may_open: u64,
    /// Whether all chunks could be read to their ends.
    is_whole: bool,
}

impl Read<'_> {
    fn chunk(&mut self, chunk: &Chunk) -> Option<()> {
        let before = self.messages.len();
        if self.listed(chunk)? {
            return Some(());
        }
        self.messages.truncate(before);
        self.opened(chunk)
    }

    /// Adds the messages that the message indexes of a chunk list. Returns `false` if they do not list all.
    fn listed(&mut self, chunk: &Chunk) -> Option<bool> {
        let input = self.contents.input(chunk.input);
        let indexes = &chunk.place.message_indexes;
        if indexes.is_empty() || input.has_wrong_index() {
            return Some(false);
        }
        for indexed in indexes {
            let topic = self.contents.topic_of(chunk.input, indexed.channel);
            let entries = message_index::read(&input.source, &chunk.place, indexed.channel);
            let Some((topic, entries)) = topic.zip(entries) else {
                // In a hostile file many chunks can have one long message index.
                let length = message_index::length(&input.source, &chunk.place, indexed.channel);
                self.may_open = self.may_open.checked_sub(length.unwrap_or(0))?;
                return Some(false);
            };
            for (time, _) in entries {
                self.add(time, topic)?;
            }
        }
        Some(true)
    }

    /// Adds the messages of a chunk that can be read. A chunk that cannot be opened is damage from now on.
    fn opened(&mut self, chunk: &Chunk) -> Option<()> {
        let source = &self.contents.input(chunk.input).source;
        let is_cheap = source.cost() == Cost::Local;
        self.may_open = self
            .may_open
            .checked_sub(chunk.cost())
            .filter(|_| is_cheap)?;
        let opened = match self.decoder.read(source, &chunk.place, &Meter::unbounded()) {
            Ok(opened) => opened,
            Err(fault) => {
                self.contents.damage(chunk, fault);
                self.is_whole = false;
                return Some(());
            }
        };
        for record in Records::new(&opened.bytes) {
            let Ok(record) = record else {
                self.is_whole = false;
                break;
            };
            if record.opcode != op::MESSAGE {
                continue;
            }
            let Ok(header) = parse::message_header(record.body) else {
                self.is_whole = false;
                break;
            };
            match self.contents.topic_of(chunk.input, header.channel_id) {
                Some(topic) => self.add(Time::from_mcap(header.log_time), topic)?,
                None => self.is_whole = false,
            }
        }
        Some(())
    }

    fn add(&mut self, time: Time<Ros>, topic: TopicId) -> Option<()> {
        self.messages.push((time, topic));
        (self.messages.len() <= MOST).then_some(())
    }
}
