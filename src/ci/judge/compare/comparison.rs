//! [`Comparison`]: in what two recordings differ, as plain values; its checks.

use super::rules::Align;
use crate::ci::report::{Check, Divergence, FieldDifference, Kind, Verdict};
use crate::untrusted::Foreign;

/// The result of comparing the recording of a run with a reference.
#[derive(Clone, PartialEq, Debug)]
pub struct Comparison {
    /// What the two recordings are called where their values are shown: `reference` and `run`, or of two repetitions
    /// `first` and `second`.
    pub sides: [&'static str; 2],
    /// The name of the reference.
    pub reference: String,
    /// The name of the recording of the run.
    pub run: String,
    /// The topics that were compared, by name.
    pub topics: Vec<TopicComparison>,
    /// The first difference: by log time of the reference (of an extra message, of the run), then by topic.
    pub first: Option<Divergence>,
    /// What of both recordings could not be read, one sentence each: what is missing there may not be missing.
    pub damage: Vec<String>,
    /// What else was noticed, one sentence each.
    pub notes: Vec<String>,
}

/// One topic of both recordings.
#[derive(Clone, PartialEq, Debug)]
pub struct TopicComparison {
    /// Its name; with its type if there is another topic of that name.
    pub topic: String,
    /// How its messages were paired.
    pub align: Align,
    /// How many pairs are equal.
    pub equal: u64,
    /// How many pairs are not.
    pub different: u64,
    /// How many messages of the reference have no partner in the run.
    pub missing: u64,
    /// How many messages of the run have no partner in the reference.
    pub extra: u64,
    /// In what its types differ, one sentence each; empty if it does not matter.
    pub types: Vec<String>,
    /// The fields that differ, by path.
    pub fields: Vec<FieldCounts>,
    /// How many differences are in fields beyond those.
    pub other_fields: u64,
    /// The first messages that are missing.
    pub missing_at: Vec<Unpaired>,
    /// The first messages that are extra.
    pub extra_at: Vec<Unpaired>,
    /// Its first difference.
    pub first: Option<Found>,
}

/// How often a field differs.
#[derive(Clone, PartialEq, Debug)]
pub struct FieldCounts {
    /// Its path, the same for all elements of an array: `pose.covariance[]`.
    pub path: String,
    /// In how many messages it differs.
    pub messages: u64,
    /// How many values differ.
    pub values: u64,
    /// The largest distance of two numbers; of stamps, in seconds.
    pub largest: Option<f64>,
    /// The number of the message with that distance, from 0.
    pub largest_in: u64,
}

/// The first difference of a topic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// The number of the message in its topic, from 0: in the reference, or of an extra message in the run.
    pub index: u64,
    /// The log times of the message in the reference and in the run, in nanoseconds.
    pub times_ns: (Option<i64>, Option<i64>),
    /// The path of the field; empty if a message is missing or extra.
    pub field: String,
    /// Both values, for display.
    pub values: (String, String),
}

/// A message without a partner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unpaired {
    /// Its number in its topic, from 0.
    pub index: u64,
    /// When it was received, in nanoseconds.
    pub log_time_ns: i64,
    /// Its `header.stamp` in nanoseconds, if messages were paired by it.
    pub stamp_ns: Option<i128>,
}

impl Comparison {
    /// The fields that differ, with how often, and the messages without a partner.
    pub fn differences(&self) -> Vec<FieldDifference> {
        let topics = self.topics.iter();
        let all = topics.flat_map(|topic| {
            let fields = topic.fields.iter().map(|field| FieldDifference {
                topic: topic.topic.clone(),
                field: field.path.clone(),
                messages: field.messages,
                largest: field.largest,
            });
            let unpaired = topic.missing + topic.extra;
            let unpaired = (unpaired > 0).then(|| FieldDifference {
                topic: topic.topic.clone(),
                field: String::new(),
                messages: unpaired,
                largest: None,
            });
            fields.chain(unpaired)
        });
        all.collect()
    }

    /// Whether nothing differs, and everything could be read.
    pub fn is_equal(&self) -> bool {
        self.damage.is_empty() && self.topics.iter().all(TopicComparison::is_equal)
    }

    /// One check for each topic, and one for what could not be read. If there is no topic to compare, one that says so.
    pub fn checks(&self) -> Vec<Check> {
        let mut checks = Vec::new();
        if self.topics.is_empty() {
            let reason = "there is nothing to compare: the reference and the run have no messages of a topic that is not ignored";
            let name = "outputs as in the reference";
            checks.push(Check::new(Kind::Golden, name, Verdict::Failed, reason));
        }
        if let Some(first) = self.damage.first() {
            let more = match self.damage.len() {
                1 => String::new(),
                count => format!(" (and {} more)", count - 1),
            };
            let name = "recordings readable";
            let reason = format!("{first}{more}");
            checks.push(Check::new(Kind::Golden, name, Verdict::Error, reason));
        }
        for topic in &self.topics {
            let name = format!("{} as in the reference", Foreign::text(&topic.topic));
            checks.push(if topic.is_equal() {
                let reason = counted(topic.equal, "message is equal", "messages are equal");
                Check::new(Kind::Golden, name, Verdict::Passed, reason)
            } else if self.damage.is_empty() {
                Check::failed(Kind::Golden, name, topic.reason())
            } else {
                let reason = topic.reason();
                let reason = format!("no verdict, because a recording is damaged: {reason}");
                Check::new(Kind::Golden, name, Verdict::Skipped, reason)
            });
        }
        checks
    }
}

impl TopicComparison {
    /// Whether nothing differs.
    pub fn is_equal(&self) -> bool {
        self.types.is_empty() && self.different == 0 && self.missing == 0 && self.extra == 0
    }

    /// How many messages the reference has.
    pub fn in_reference(&self) -> u64 {
        self.equal + self.different + self.missing
    }

    /// How many messages the run has.
    pub fn in_run(&self) -> u64 {
        self.equal + self.different + self.extra
    }

    /// The first difference, then the counts, in a sentence.
    fn reason(&self) -> String {
        let mut parts: Vec<String> = self.first.iter().map(Found::sentence).collect();
        parts.extend(self.types.iter().cloned());
        parts.push(self.counts());
        parts.join("; ")
    }

    /// `3 of 100 messages differ, 1 is missing`.
    pub(super) fn counts(&self) -> String {
        if self.in_run() == 0 && self.missing > 0 {
            let missing = counted(self.missing, "message", "messages");
            return format!("the run has no message of it, the reference {missing}");
        }
        if self.in_reference() == 0 && self.extra > 0 {
            let extra = counted(self.extra, "message", "messages");
            return format!("the reference has no message of it, the run {extra}");
        }
        let pairs = self.equal + self.different;
        let mut parts = vec![match (self.different, pairs) {
            (0, _) => counted(pairs, "message is equal", "messages are equal"),
            (1, 1) => "the message differs".to_owned(),
            (1, _) => format!("1 of {pairs} messages differs"),
            (different, _) => format!("{different} of {pairs} messages differ"),
        }];
        if self.missing > 0 {
            parts.push(counted(self.missing, "is missing", "are missing"));
        }
        if self.extra > 0 {
            parts.push(counted(self.extra, "is extra", "are extra"));
        }
        parts.join(", ")
    }
}

impl Found {
    fn sentence(&self) -> String {
        let Self {
            index,
            field,
            values: (reference, run),
            ..
        } = self;
        match self.times_ns {
            (Some(time), None) => format!("message {index} at {} is missing", seconds(time)),
            (None, Some(time)) => format!("message {index} at {} is extra", seconds(time)),
            (time, _) => {
                let time = time.map_or(String::new(), |time| format!(" at {}", seconds(time)));
                format!(
                    "message {index}{time}: `{field}` is {reference} in the reference and {run} in the run"
                )
            }
        }
    }

    /// When it was, for an order of differences: in the reference, else in the run.
    pub(super) fn time(&self) -> i64 {
        self.times_ns.0.or(self.times_ns.1).unwrap_or(i64::MAX)
    }
}

/// `1 message`, `2 messages`.
pub(super) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// A time in nanoseconds as seconds.
pub(super) fn seconds(nanos: impl Into<i128>) -> String {
    let nanos = nanos.into();
    let sign = if nanos < 0 { "-" } else { "" };
    let (seconds, rest) = (
        nanos.unsigned_abs() / 1_000_000_000,
        nanos.unsigned_abs() % 1_000_000_000,
    );
    format!("{sign}{seconds}.{rest:09}")
}
