//! What `play cut` prints: what it has written, and what could not be read.

use std::fmt::Write as _;

use serde::Serialize;

use crate::bag::Bag;
use crate::cli::report::findings::Findings;
use crate::cli::report::units::{bytes, plural};
use crate::cut::Written;
use crate::untrusted::FileName;

/// More latched topics than these are not named.
const MOST_NAMED: usize = 8;

/// A cut that was written, as `play cut --format json` writes it.
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
}

impl CutReport {
    /// The report of a cut of this bag.
    pub fn new(bag: &Bag, written: &Written) -> Self {
        let topic = |share: &crate::cut::TopicShare| {
            let topic = bag.topics().get(share.id.index())?;
            Some(CutTopic {
                name: topic.name.clone(),
                type_name: topic.type_name().to_owned(),
                messages: share.messages,
                latched: share.latched,
            })
        };
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
            topics,
            copied_chunks: written.copied_chunks,
            new_chunks: written.new_chunks,
            attachments: written.attachments,
            metadata: written.metadata,
            damaged: damage.total(),
            damage,
        }
    }

    /// Whether everything in the range could be read, as far as it was read.
    pub fn is_sound(&self) -> bool {
        self.damage.list().is_empty()
    }

    /// The text for people.
    pub fn page(&self) -> String {
        let used = self.topics.iter().filter(|it| it.messages + it.latched > 0);
        let mut page = format!(
            "wrote     {}  {}\nduration  {:.3} s\ncontent   {} on {}\n",
            self.out,
            bytes(self.bytes),
            self.duration_s,
            plural(self.messages, "message"),
            plural(used.count() as u64, "topic"),
        );
        // Writing into a string does not fail.
        if self.latched > 0 {
            let _ = writeln!(
                page,
                "latched   {} from before the start: {}",
                plural(self.latched, "message"),
                self.latched_topics()
            );
        }
        let _ = writeln!(
            page,
            "chunks    {} copied, {} new",
            self.copied_chunks, self.new_chunks
        );
        for finding in self.damage.list() {
            let _ = writeln!(page, "{:<9} {finding}", finding.kind);
        }
        page
    }

    fn latched_topics(&self) -> String {
        let latched = || self.topics.iter().filter(|it| it.latched > 0);
        let named: Vec<String> = latched()
            .take(MOST_NAMED)
            .map(|topic| format!("{} {}", topic.name, topic.latched))
            .collect();
        let named = named.join(", ");
        match latched().count().saturating_sub(MOST_NAMED) {
            0 => named,
            more => format!("{named} and {more} more topics"),
        }
    }
}
