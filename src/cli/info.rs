//! What is inside a recording, as a page for people and an object for programs.

use std::fmt::Write as _;
use std::path::PathBuf;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;

use super::units::{bytes, count};
use crate::bag::{Bag, Durability, FileSummary, Qos, Reliability, Topic};
use crate::time::{Ros, Time, TimeRange};

/// What is inside a recording, as `play info --format json` writes it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Info {
    files: Vec<FileInfo>,
    start_ns: Option<i64>,
    end_ns: Option<i64>,
    duration_s: Option<f64>,
    message_count: Option<u64>,
    topics: Vec<TopicInfo>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
struct FileInfo {
    path: PathBuf,
    bytes: u64,
    profile: String,
    library: String,
    chunks: usize,
    compression: Vec<String>,
    compressed_bytes: u64,
    uncompressed_bytes: u64,
    message_count: Option<u64>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
struct TopicInfo {
    name: String,
    #[serde(rename = "type")]
    type_name: String,
    encoding: String,
    message_count: Option<u64>,
    hz: Option<f64>,
    latched: bool,
    qos: Vec<String>,
    type_hash: Option<String>,
}

impl Info {
    /// What is known of a bag without reading its messages.
    pub fn new(bag: &Bag) -> Self {
        let range = bag.range();
        let mut topics: Vec<TopicInfo> = bag
            .topics()
            .iter()
            .map(|topic| topic_info(topic, range))
            .collect();
        topics.sort_by(|a, b| a.name.cmp(&b.name));
        Self {
            files: bag.files().iter().map(file_info).collect(),
            start_ns: range.map(|range| range.start().as_nanos()),
            end_ns: range.map(|range| range.stop().as_nanos()),
            duration_s: range.map(|range| range.duration().as_secs_f64()),
            message_count: bag.message_count(),
            topics,
        }
    }

    /// The page for people, in local time and UTC.
    pub fn page(&self, zone: &TimeZone) -> String {
        let mut page = String::new();
        for file in &self.files {
            file_lines(&mut page, file);
        }
        // Writing to a string does not fail.
        let _ = match (self.start_ns, self.end_ns, self.duration_s) {
            (Some(start), Some(end), Some(duration)) => writeln!(
                page,
                "duration  {duration:.3} s\nstart     {}\nend       {}",
                moment(Time::from_nanos(start), zone),
                moment(Time::from_nanos(end), zone)
            ),
            _ => writeln!(page, "duration  none: no messages"),
        };
        let messages = self.message_count.map_or("unknown".into(), count);
        let _ = writeln!(
            page,
            "messages  {messages} on {} topics\n",
            self.topics.len()
        );
        self.table(&mut page);
        page
    }

    fn table(&self, page: &mut String) {
        let mut rows = vec![["topic", "type", "messages", "Hz", "QoS"].map(str::to_owned)];
        rows.extend(self.topics.iter().map(|topic| {
            let kind = if topic.encoding == "cdr" {
                printable(&topic.type_name)
            } else {
                printable(&format!("{} ({})", topic.type_name, topic.encoding))
            };
            let qos = if topic.qos.is_empty() {
                "not recorded".into()
            } else {
                topic.qos.join("; ")
            };
            let qos = if topic.latched {
                format!("latched; {qos}")
            } else {
                qos
            };
            [
                printable(&topic.name),
                kind,
                topic.message_count.map_or("?".into(), count),
                topic.hz.map_or("–".into(), |hz| format!("{hz:.1}")),
                qos,
            ]
        }));
        let width = |column: usize| {
            rows.iter()
                .map(|row| row[column].chars().count())
                .max()
                .unwrap_or(0)
        };
        let (a, b, c, d) = (width(0), width(1), width(2), width(3));
        for [topic, kind, messages, hz, qos] in &rows {
            let line = format!("{topic:<a$}  {kind:<b$}  {messages:>c$}  {hz:>d$}  {qos}");
            let _ = writeln!(page, "{}", line.trim_end());
        }
    }
}

fn file_lines(page: &mut String, file: &FileInfo) {
    let name = printable(&file.path.display().to_string());
    let profile = if file.profile.is_empty() {
        "no profile".into()
    } else {
        printable(&file.profile)
    };
    let compression = if file.compression.is_empty() {
        "no chunks".into()
    } else {
        printable(&file.compression.join(", "))
    };
    let ratio = match file.compressed_bytes {
        0 => String::new(),
        compressed => format!(", {:.2} : 1", ratio(file.uncompressed_bytes, compressed)),
    };
    let _ = writeln!(
        page,
        "file      {name}  {}, {profile}, by {}",
        bytes(file.bytes),
        printable(&file.library)
    );
    let _ = writeln!(
        page,
        "chunks    {} ({compression}{ratio})",
        count(file.chunks as u64)
    );
}

#[expect(clippy::cast_precision_loss, reason = "two decimals are shown")]
fn ratio(uncompressed: u64, compressed: u64) -> f64 {
    uncompressed as f64 / compressed as f64
}

fn file_info(file: &FileSummary) -> FileInfo {
    FileInfo {
        path: file.path.clone(),
        bytes: file.bytes,
        profile: file.profile.clone(),
        library: file.library.clone(),
        chunks: file.chunks,
        compression: file.compressions.clone(),
        compressed_bytes: file.compressed_bytes,
        uncompressed_bytes: file.uncompressed_bytes,
        message_count: file.message_count,
    }
}

fn topic_info(topic: &Topic, range: Option<TimeRange>) -> TopicInfo {
    let mut qos: Vec<String> = topic.offered_qos.iter().map(profile).collect();
    qos.dedup();
    TopicInfo {
        name: topic.name.clone(),
        type_name: topic.type_name().to_owned(),
        encoding: topic.encoding.clone(),
        message_count: topic.message_count,
        hz: hz(topic.message_count, range),
        latched: topic.is_latched,
        qos,
        type_hash: topic.type_hash.clone(),
    }
}

/// The mean rate over the whole recording; a handful of messages has none.
#[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
fn hz(messages: Option<u64>, range: Option<TimeRange>) -> Option<f64> {
    let secs = range?.duration().as_secs_f64();
    messages
        .filter(|messages| *messages > 2 && secs > 0.0)
        .map(|messages| (messages - 1) as f64 / secs)
}

fn profile(qos: &Qos) -> String {
    let reliability = match qos.reliability {
        Reliability::Reliable => "reliable",
        Reliability::BestEffort => "best effort",
    };
    match qos.durability {
        Durability::Volatile => reliability.into(),
        Durability::TransientLocal => format!("{reliability}, transient local"),
    }
}

fn moment(t: Time<Ros>, zone: &TimeZone) -> String {
    let stamp = Timestamp::from_nanosecond(i128::from(t.as_nanos()))
        .expect("64-bit nanoseconds are within the calendar");
    let local = stamp
        .to_zoned(zone.clone())
        .strftime("%Y-%m-%d %H:%M:%S.%3f %Z");
    format!("{local}  ({stamp:.3} UTC, {t})")
}

/// Names come from the file: nothing in them may steer the terminal.
fn printable(name: &str) -> String {
    const LONGEST: usize = 200;
    let clean = name
        .chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c });
    let mut shown: String = clean.take(LONGEST).collect();
    if name.chars().nth(LONGEST).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_steer_the_terminal_nor_flood_it() {
        assert_eq!(printable("/a\x1b[2J\nb"), "/a\u{fffd}[2J\u{fffd}b");
        assert_eq!(printable(&"x".repeat(1000)).chars().count(), 201);
    }

    #[test]
    fn a_moment_is_shown_in_all_its_forms() {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        let shown = moment(Time::from_nanos(1_700_000_000_123_456_789), &zone);
        assert_eq!(
            shown,
            "2023-11-14 23:13:20.123 CET  (2023-11-14T22:13:20.123Z UTC, 1700000000.123456789)"
        );
    }

    #[test]
    fn a_rate_needs_more_than_two_messages_and_some_time() {
        let range = TimeRange::between(Time::from_nanos(0), Time::from_nanos(10_000_000_000));
        assert_eq!(hz(Some(101), Some(range)), Some(10.0));
        assert_eq!(
            (
                hz(Some(1), Some(range)),
                hz(None, Some(range)),
                hz(Some(9), None)
            ),
            (None, None, None)
        );
    }
}
