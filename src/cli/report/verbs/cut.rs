//! What `play cut` and `play convert` print: what they have written, and what could not be read or transcoded.

use std::fmt::Write as _;

use serde::Serialize;

use crate::bag::Topic;
use crate::cli::report::missing::findings::Findings;
use crate::cli::report::missing::left_out::LeftOutMessages;
use crate::cli::report::units::{bytes, count, plural};
use crate::cut::{RefusedTopic, Written};
use crate::time::{Duration, seconds_text};
use crate::untrusted::FileName;

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
    /// Messages that cannot be transcoded: those of `refused`, and others.
    left_out: u64,
    copied_chunks: u64,
    /// Those of them that were not checked: they may have damage.
    unchecked_chunks: u64,
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
    /// Why the first of those cannot be transcoded.
    reason: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
struct Refused {
    name: String,
    messages: u64,
    reason: String,
}

impl CutReport {
    /// The report of a recording that was written.
    pub fn new(written: &Written) -> Self {
        let topic = |share: &crate::cut::TopicShare| {
            let topic = written.forms.get(share.id.index())?;
            Some(CutTopic {
                name: topic.name.clone(),
                type_name: topic.type_name().to_owned(),
                messages: share.messages,
                latched: share.latched,
                left_out: share.left_out,
                reason: share.reason.as_ref().map(ToString::to_string),
            })
        };
        let refused = refused(&written.forms, &written.refused);
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
            left_out: topics
                .iter()
                .map(|topic| topic.left_out)
                .chain(refused.iter().map(|topic| topic.messages))
                .sum(),
            topics,
            refused,
            copied_chunks: written.copied_chunks,
            unchecked_chunks: written.unchecked_chunks,
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

    /// How many topics are left out.
    pub fn refused_topics(&self) -> usize {
        self.refused.len()
    }

    /// The messages that are left out: a line for each reason, with its topics.
    pub fn left_out_lines(&self) -> Vec<String> {
        let mut all = lines_of(&self.refused);
        for topic in &self.topics {
            if let Some(reason) = &topic.reason {
                all.add(reason, &topic.name, Some(topic.left_out));
            }
        }
        all.lines().collect()
    }

    /// The text for people.
    pub fn page(&self) -> String {
        let used = self.topics.iter().filter(|it| it.messages + it.latched > 0);
        let mut page = format!(
            "wrote     {}  {}\nduration  {} s\ncontent   {} on {}\n",
            self.out,
            bytes(self.bytes),
            seconds_text(Duration::from_nanos(self.end_ns - self.start_ns)),
            plural(self.messages + self.latched, "message"),
            plural(used.count() as u64, "topic"),
        );
        // Writing into a string does not fail.
        if self.latched > 0 {
            let _ = writeln!(
                page,
                "latched   {} of them from before the start: {}",
                count(self.latched),
                self.named(|topic| topic.latched)
            );
        }
        let _ = writeln!(
            page,
            "chunks    {} copied, {} new",
            self.copied_chunks, self.new_chunks
        );
        if self.unchecked_chunks > 0 {
            let chunks = plural(self.unchecked_chunks, "chunk");
            let _ = writeln!(
                page,
                "check     {chunks} copied without being checked: there may be damage in them; hint: --check"
            );
        }
        let left_out = self.left_out_lines();
        if !left_out.is_empty() {
            let messages = plural(self.left_out, "message");
            let _ = writeln!(page, "left out  {messages} that cannot be transcoded");
        }
        for line in left_out {
            let _ = writeln!(page, "          {line}");
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

/// The topics of a bag that are left out of a recording that could not be written: a line for each reason.
pub fn refused_lines(topics: &[Topic], refused: &[RefusedTopic]) -> Vec<String> {
    let refused = self::refused(topics, refused);
    lines_of(&refused).lines().collect()
}

fn refused(topics: &[Topic], refused: &[RefusedTopic]) -> Vec<Refused> {
    let one = |refused: &RefusedTopic| {
        let topic = topics.get(refused.id.index())?;
        Some(Refused {
            name: topic.name.clone(),
            messages: refused.messages,
            reason: refused.reason.to_string(),
        })
    };
    refused.iter().filter_map(one).collect()
}

fn lines_of(refused: &[Refused]) -> LeftOutMessages<'_> {
    let mut all = LeftOutMessages::default();
    for topic in refused {
        all.add(&topic.reason, &topic.name, Some(topic.messages));
    }
    all
}
