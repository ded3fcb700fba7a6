//! What holes and damage are called wherever the screen names them.

use ratatui::text::Span;

use crate::bag::{DamageExtent, DamagedPart, TopicId};
use crate::time::{TimeRange, seconds_text};
use crate::tui::model::Model;
use crate::untrusted::Foreign;

/// The most topics that are named.
const MOST_TOPICS: usize = 3;
/// The least and the most columns of a name of a file that is shortened.
const FILE_COLUMNS: std::ops::RangeInclusive<usize> = 6..=60;

/// How much is said of a damaged part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::tui) struct DamageDetail {
    /// The most columns of the name of its file, which is shortened at the left; 0: not named.
    file: usize,
    /// The most topics that are named.
    topics: usize,
    /// Whether the number of messages is said.
    has_messages: bool,
}

impl DamageDetail {
    /// All that is known.
    pub(in crate::tui) const FULL: Self = Self {
        file: usize::MAX,
        topics: MOST_TOPICS,
        has_messages: true,
    };

    /// Times and the number of topics.
    pub(in crate::tui) const LEAST: Self = Self {
        file: 0,
        topics: 0,
        has_messages: false,
    };

    /// From all that is known to the least: first the name of the file gives way, then the number of messages, then
    /// names of topics.
    pub(in crate::tui) fn lessening() -> impl Iterator<Item = Self> {
        let files = FILE_COLUMNS.rev().chain([0]);
        let files = files.map(|file| Self { file, ..Self::FULL });
        let topics = (0..=MOST_TOPICS).rev().map(|topics| Self {
            topics,
            ..Self::LEAST
        });
        std::iter::once(Self::FULL).chain(files).chain(topics)
    }
}

impl Model {
    /// `hole of /camera from +00:40.000, 0.300 s`. Without a topic: of all topics.
    pub(in crate::tui) fn hole_in_words(&self, topic: Option<TopicId>, range: TimeRange) -> String {
        let whose = topic.map_or("all topics", |id| self.shown_name(id));
        let (from, seconds) = (self.elapsed(range.start()), seconds_text(range.duration()));
        format!("hole of {whose} from {from}, {seconds} s")
    }

    /// `damage +00:34.000 to +00:36.000: drive.mcap: up to 460 messages of /camera, /imu, /scan and 2 more`
    pub(in crate::tui) fn damage_in_words(
        &self,
        part: &DamagedPart,
        detail: DamageDetail,
    ) -> String {
        let ends = [part.range.start(), part.range.stop()];
        let [from, to] = ends.map(|end| self.elapsed(end));
        let when = match part.extent {
            DamageExtent::Chunk => format!("{from} to {to}"),
            DamageExtent::Between => format!("between {from} and {to}"),
            DamageExtent::OpenEnd => format!("from {from} on"),
        };
        let file = Foreign::text(part.damage.file.last_part()).to_string();
        let dots = self.appearance.glyphs.dots;
        let file = (detail.file > 0).then(|| shortened(&file, detail.file, dots));
        let topics = self.topics_in_words(&part.topics, detail.topics);
        let messages = part.messages.filter(|_| detail.has_messages);
        let messages = messages.map(up_to_messages);
        let what = match (messages, topics) {
            (Some(messages), Some(topics)) => Some(format!("{messages} of {topics}")),
            (messages, topics) => messages.or(topics),
        };
        let parts = [Some(format!("damage {when}")), file, what];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        parts.join(": ")
    }

    /// The names of the first topics, and how many more there are; `None` if there are none.
    fn topics_in_words(&self, topics: &[TopicId], most: usize) -> Option<String> {
        let named = topics.iter().take(most);
        let named: Vec<&str> = named.map(|id| self.shown_name(*id)).collect();
        let more = topics.len() - named.len();
        match (named.is_empty(), more) {
            (true, 0) => None,
            (true, 1) => Some("1 topic".to_owned()),
            (true, more) => Some(format!("{more} topics")),
            (false, 0) => Some(named.join(", ")),
            (false, more) => Some(format!("{} and {more} more", named.join(", "))),
        }
    }

    /// The name of a topic as the table shows it.
    fn shown_name(&self, id: TopicId) -> &str {
        let row = self.rows.iter().find(|row| row.id == id);
        row.map_or("a topic", |row| row.name.as_str())
    }
}

/// `up to 460 messages`: a number of messages of damaged chunks, some of which may have been read.
pub(in crate::tui) fn up_to_messages(messages: u64) -> String {
    let s = if messages == 1 { "" } else { "s" };
    format!("up to {messages} message{s}")
}

/// The text in `width` columns: its beginning gives way, as names of files differ at their ends.
fn shortened(text: &str, width: usize, dots: &str) -> String {
    if Span::raw(text).width() <= width {
        return text.to_owned();
    }
    let room = width.saturating_sub(Span::raw(dots).width());
    let starts = text.char_indices().map(|(at, _)| &text[at..]);
    let mut tails = starts.skip_while(|tail| Span::raw(*tail).width() > room);
    format!("{dots}{}", tails.next().unwrap_or_default())
}
