//! What `play cut` and `play convert` print: what they have written, and what could not be read or transcoded.

use std::fmt::Write as _;

use serde::Serialize;

use crate::bag::Topic;
use crate::cli::report::findings::Findings;
use crate::cli::report::units::{bytes, plural};
use crate::cut::{RefusedTopic, Written};
use crate::time::{Duration, seconds_text};
use crate::untrusted::{FileName, Foreign};

/// More topics than these are not named.
const MOST_NAMED: usize = 8;

/// A recording that was written, as `play cut --format json` and `play convert --format json` write it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CutReport {
    out: FileName,
    /// The size of the MCAP file.
    bytes: u64,
    start_ns: i64,
    end_ns: i64,
    duration_s: f64,
    /// Messages of the range.
    messages: u64,
    /// Messages from before the range, with the start of the cut as their time.
    latched: u64,
    topics: Vec<CutTopic>,
    /// Topics that it does not have, because their messages cannot be transcoded.
    refused: Vec<Refused>,
    /// Messages of other topics that cannot be transcoded.
    left_out: u64,
    copied_chunks: u64,
    new_chunks: u64,
    attachments: u64,
    metadata: u64,
    damage: Findings,
    /// How many places could not be read.
    damaged: u64,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
struct CutTopic {
    name: String,
    #[serde(rename = "type")]
    type_name: String,
    messages: u64,
    latched: u64,
    /// Messages that cannot be transcoded.
    left_out: u64,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
struct Refused {
    name: String,
    reason: String,
}

impl CutReport {
    /// The report of a recording with these topics, by their ids in the bag.
    pub fn new(topics: &[Topic], written: &Written) -> Self {
        let topic = |share: &crate::cut::TopicShare| {
            let topic = topics.get(share.id.index())?;
            Some(CutTopic {
                name: topic.name.clone(),
                type_name: topic.type_name().to_owned(),
                messages: share.messages,
                latched: share.latched,
                left_out: share.left_out,
            })
        };
        let refused = |refused: &RefusedTopic| {
            let topic = topics.get(refused.id.index())?;
            Some(Refused {
                name: topic.name.clone(),
                reason: refused.reason.to_string(),
            })
        };
        let refused = written.refused.iter().filter_map(refused).collect();
        let mut topics: Vec<CutTopic> = written.topics.iter().filter_map(topic).collect();
        topics.sort_by(|a, b| a.name.cmp(&b.name));
        let damage = Findings::of(&written.damage);
        Self {
            out: written.path.as_path().into(),
            bytes: written.bytes,
            start_ns: written.range.start().as_nanos(),
            end_ns: written.range.stop().as_nanos(),
            duration_s: written.range.duration().as_secs_f64(),
            messages: written.messages,
            latched: written.latched,
            left_out: topics.iter().map(|topic| topic.left_out).sum(),
            topics,
            refused,
            copied_chunks: written.copied_chunks,
            new_chunks: written.new_chunks,
            attachments: written.attachments,
            metadata: written.metadata,
            damaged: damage.total(),
            damage,
        }
    }

    /// Whether everything in the range could be read, as far as it was read, and written.
    pub fn is_sound(&self) -> bool {
        self.damage.list().is_empty() && self.refused.is_empty()
    }

    /// The topics that are left out, and why.
    pub fn refused(&self) -> impl Iterator<Item = (Foreign<'_>, &str)> {
        let refused = self.refused.iter();
        refused.map(|it| (Foreign::text(&it.name), it.reason.as_str()))
    }

    /// The text for people.
    pub fn page(&self) -> String {
        let used = self.topics.iter().filter(|it| it.messages + it.latched > 0);
        let mut page = format!(
            "wrote     {}  {}\nduration  {} s\ncontent   {} on {}\n",
            self.out,
            bytes(self.bytes),
            seconds_text(Duration::from_nanos(self.end_ns - self.start_ns)),
            plural(self.messages, "message"),
            plural(used.count() as u64, "topic"),
        );
        // Writing into a string does not fail.
        if self.latched > 0 {
            let _ = writeln!(
                page,
                "latched   {} from before the start: {}",
                plural(self.latched, "message"),
                self.named(|topic| topic.latched)
            );
        }
        let _ = writeln!(
            page,
            "chunks    {} copied, {} new",
            self.copied_chunks, self.new_chunks
        );
        if self.left_out > 0 {
            let _ = writeln!(
                page,
                "left out  {} that cannot be transcoded: {}",
                plural(self.left_out, "message"),
                self.named(|topic| topic.left_out),
            );
        }
        for finding in self.damage.list() {
            let _ = writeln!(page, "{:<9} {finding}", finding.kind);
        }
        page
    }

    /// The topics of which there are such messages, and how many.
    fn named(&self, number: impl Fn(&CutTopic) -> u64) -> String {
        let such = || self.topics.iter().filter(|it| number(it) > 0);
        let named: Vec<String> = such()
            .take(MOST_NAMED)
            .map(|topic| format!("{} {}", topic.name, number(topic)))
            .collect();
        let named = named.join(", ");
        match such().count().saturating_sub(MOST_NAMED) {
            0 => named,
            more => format!("{named} and {more} more topics"),
        }
    }
}
