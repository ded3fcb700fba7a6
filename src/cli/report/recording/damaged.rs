//! [`DamagedInfo`]: a part of a recording that is lost, for programs and as a line for people.

use std::collections::HashSet;
use std::fmt::Write as _;

use serde::Serialize;

use crate::bag::{Bag, DamageExtent, DamagedPart};
use crate::cli::report::units::{count, plural};
use crate::time::{Ros, Time, seconds_text, signed_seconds_text};
use crate::untrusted::{FileName, Foreign};

/// More parts than these are not listed.
const MOST: usize = 100;
/// The most topics that a line names, and the most characters of a name.
const MOST_TOPICS: usize = 3;
const LONGEST: usize = 60;

/// A part of a recording that is lost because of damage.
#[derive(Clone, PartialEq, Debug, Serialize)]
struct DamagedInfo {
    file: FileName,
    /// Offset of the damage in the file in bytes.
    offset: u64,
    kind: &'static str,
    /// The topics that had messages there; empty if they are not known.
    topics: Vec<String>,
    start_ns: i64,
    /// `None` if the end of the file is missing, and with it the times up to which messages are lost.
    end_ns: Option<i64>,
    duration_s: Option<f64>,
    /// How many messages the damaged chunk has; `None` if that is not known.
    messages: Option<u64>,
}

/// The damaged parts of a recording, in the order of their starts: the first hundred, and how many there are.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
#[serde(transparent)]
pub(crate) struct DamagedParts {
    list: Vec<DamagedInfo>,
    #[serde(skip)]
    all: u64,
    /// The damaged chunks: file and offset.
    #[serde(skip)]
    known: HashSet<(FileName, u64)>,
}

impl DamagedParts {
    /// Those that are known without reading any more.
    pub(crate) fn of(bag: &Bag) -> Self {
        let mut parts = Self::default();
        for part in bag.damaged_parts() {
            parts.add(bag, &part);
        }
        parts
    }

    /// Adds a part, if no part of the same chunk is known.
    pub(crate) fn add(&mut self, bag: &Bag, part: &DamagedPart) {
        let damage = &part.damage;
        if !self.known.insert((damage.file.clone(), part.at)) {
            return;
        }
        self.all += 1;
        let is_open = part.extent == DamageExtent::OpenEnd;
        let topics = part.topics.iter();
        let topics = topics.filter_map(|id| Some(bag.topics().get(id.index())?.name.clone()));
        let info = DamagedInfo {
            file: damage.file.clone(),
            offset: damage.offset,
            kind: damage.kind.name(),
            topics: topics.collect(),
            start_ns: part.range.start().as_nanos(),
            end_ns: (!is_open).then(|| part.range.stop().as_nanos()),
            duration_s: (!is_open).then(|| part.range.duration().as_secs_f64()),
            messages: part.messages,
        };
        let place = self
            .list
            .partition_point(|known| known.start_ns <= info.start_ns);
        self.list.insert(place, info);
        self.list.truncate(MOST);
    }

    /// Adds the parts to the page, with their times relative to the start, as `--start` accepts them. Nothing if there
    /// are none. The file of each part is named unless `is_one_file`.
    pub(crate) fn lines(&self, page: &mut String, start_ns: Option<i64>, is_one_file: bool) {
        if self.list.is_empty() {
            return;
        }
        // Writing into a string does not fail.
        let _ = writeln!(page, "damaged   {}", plural(self.all, "part"));
        let start: Time<Ros> = Time::from_nanos(start_ns.unwrap_or(0));
        for part in &self.list {
            let time = Time::from_nanos(part.start_ns);
            let into = signed_seconds_text(time.saturating_since(start));
            let length = part.end_ns.map_or("open end".to_owned(), |end| {
                let length = Time::from_nanos(end).saturating_since(time);
                format!("{} s", seconds_text(length))
            });
            let topics = part.topics_in_words();
            let messages = part.messages;
            let messages = messages.map_or_else(String::new, |messages| {
                format!(", up to {}", plural(messages, "message"))
            });
            let file = if is_one_file {
                String::new()
            } else {
                format!("{}, ", part.file)
            };
            let _ = writeln!(
                page,
                "          {into:>12} s  {length:>10}  {topics}{messages}: {file}byte {}",
                part.offset
            );
        }
        if let Some(more @ 1..) = self.all.checked_sub(self.list.len() as u64) {
            let _ = writeln!(page, "          and {} more", count(more));
        }
    }
}

impl DamagedInfo {
    fn topics_in_words(&self) -> String {
        if self.topics.is_empty() {
            return "any topic".to_owned();
        }
        let named = self.topics.iter().take(MOST_TOPICS);
        let named: Vec<String> = named
            .map(|topic| Foreign::text(topic).at_most(LONGEST).to_string())
            .collect();
        let mut text = named.join(", ");
        if let Some(more @ 1..) = self.topics.len().checked_sub(MOST_TOPICS) {
            let _ = write!(text, " and {more} more");
        }
        text
    }
}
