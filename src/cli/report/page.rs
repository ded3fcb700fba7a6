//! [`Info`] as a page for people: a description of the recording, then its topics in a table.

use std::fmt::Write as _;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::check::Check;
use super::gaps::holes::hole_lines;
use super::info::{FileInfo, Info, MarkInfo, TopicInfo};
use super::units::{bytes, count, plural};
use crate::bag::RecordedRate;
use crate::time::{Ros, Time};
use crate::untrusted::Foreign;

/// More files than this are summarized in one line.
const MOST_FILES: usize = 8;
/// More marks than these are not listed.
const MOST_MARKS: usize = 100;
/// More topics that cannot be transcoded are not listed.
const MOST_REFUSED: usize = 8;
/// Longer names are shortened when shown.
const LONGEST: usize = 200;

impl Info {
    /// The page, with times in local time and UTC.
    pub fn page(&self, zone: &TimeZone) -> String {
        let mut page = String::new();
        if self.files.len() <= MOST_FILES {
            for file in &self.files {
                file_lines(&mut page, file);
            }
        } else {
            files_line(&mut page, &self.files);
        }
        // Writing into a string does not fail.
        let _ = match (self.start_ns, self.end_ns, self.duration_s) {
            (Some(start), Some(end), Some(duration)) => writeln!(
                page,
                "duration  {duration:.3} s\nstart     {}\nend       {}",
                moment(Time::from_nanos(start), zone),
                moment(Time::from_nanos(end), zone)
            ),
            _ => writeln!(page, "duration  none: no messages"),
        };
        let known = self
            .message_count
            .or(self.check.as_ref().map(Check::messages));
        let messages = known.map_or("an unknown number of messages".into(), |messages| {
            plural(messages, "message")
        });
        let topics = plural(self.topics.len() as u64, "topic");
        let _ = writeln!(page, "content   {messages} on {topics}");
        mark_lines(&mut page, &self.marks, self.start_ns);
        if self.start_ns.is_some() {
            let is_checked = self.check.is_some();
            hole_lines(&mut page, self.holes.as_deref(), self.start_ns, is_checked);
            self.damaged.lines(&mut page, self.start_ns);
        }
        if let Some(check) = &self.check {
            page.push_str(&check.page());
        }
        transcode_lines(&mut page, &self.topics);
        if !self.topics.is_empty() {
            page.push('\n');
            table(&mut page, &self.topics);
        }
        page
    }
}

/// The marks with their times relative to the start, as `--start` accepts them.
fn mark_lines(page: &mut String, marks: &[MarkInfo], start_ns: Option<i64>) {
    if marks.is_empty() {
        return;
    }
    let _ = writeln!(page, "marks     {}", count(marks.len() as u64));
    let start = Time::from_nanos(start_ns.unwrap_or(0));
    for mark in marks.iter().take(MOST_MARKS) {
        let time: Time<Ros> = Time::from_nanos(mark.time_ns);
        let into = time.saturating_since(start).as_secs_f64();
        let name = printable(&mark.name);
        let line = format!("          {into:+12.3} s  {name}");
        let _ = writeln!(page, "{}", line.trim_end());
    }
    if let Some(more @ 1..) = marks.len().checked_sub(MOST_MARKS) {
        let _ = writeln!(page, "          and {} more", count(more as u64));
    }
}

/// Which topics ROS 2 nodes receive in another form than the recorded one, and which not at all.
fn transcode_lines(page: &mut String, topics: &[TopicInfo]) {
    let transcoded = topics.iter().filter(|topic| topic.ros2_type.is_some());
    let transcoded = transcoded.count() as u64;
    if transcoded > 0 {
        let topics = plural(transcoded, "topic");
        let _ = writeln!(page, "transcode {topics}, from ros1 to cdr for ROS 2 nodes");
    }
    let refused: Vec<(&String, &String)> = topics
        .iter()
        .filter_map(|topic| Some((&topic.name, topic.not_transcoded.as_ref()?)))
        .collect();
    for (name, reason) in refused.iter().take(MOST_REFUSED) {
        let _ = writeln!(page, "not transcoded: {}: {reason}", printable(name));
    }
    if let Some(more @ 1..) = refused.len().checked_sub(MOST_REFUSED) {
        let _ = writeln!(page, "          and {} more", count(more as u64));
    }
}

fn table(page: &mut String, topics: &[TopicInfo]) {
    let head = ["topic", "type", "messages", "Hz", "size", "density", "QoS"];
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(topics.iter().map(row));
    let mut widths = [0; 7];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    for row in &rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
            // Numbers are aligned at their end, words at their beginning.
            let _ = match column {
                2..=4 => write!(line, "{cell:>width$}  "),
                _ => write!(line, "{cell:<width$}  "),
            };
        }
        let _ = writeln!(page, "{}", line.trim_end());
    }
}

fn row(topic: &TopicInfo) -> [String; 7] {
    let kind = match topic.encoding.as_str() {
        "cdr" => printable(&topic.type_name),
        encoding => printable(&format!("{} ({encoding})", topic.type_name)),
    };
    let mut qos = match topic.qos.len() {
        0 => "not recorded".into(),
        _ => topic.qos.join("; "),
    };
    if topic.latched {
        qos = format!("latched; {qos}");
    }
    let is_mean = topic.hz_is_mean;
    let rate = topic.hz.map(|hz| RecordedRate { hz, is_mean });
    [
        printable(&topic.name),
        kind,
        topic.message_count.map_or("?".into(), count),
        rate.map_or("–".into(), |rate| rate.to_string()),
        topic.bytes.map_or("?".into(), bytes),
        sparkline(&topic.density),
        qos,
    ]
}

/// One column per part; the highest is the fullest part of this topic. A part without a message is blank.
fn sparkline(density: &[f64]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = density.iter().copied().fold(0.0, f64::max);
    let bar = |share: &f64| {
        if *share <= 0.0 {
            return ' ';
        }
        let steps = [0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875];
        let step = steps.iter().take_while(|step| share / most > **step);
        BARS.get(step.count()).copied().unwrap_or('█')
    };
    density.iter().map(bar).collect()
}

fn file_lines(page: &mut String, file: &FileInfo) {
    let name = Foreign::text(file.path.as_str()).at_most(LONGEST);
    let _ = writeln!(
        page,
        "file      {name}  {}, {}{}",
        bytes(file.bytes),
        profile(file),
        match file.library.as_str() {
            "" => String::new(),
            library => format!(", by {}", printable(library)),
        }
    );
    let index = if file.indexed {
        ""
    } else {
        "; no index that can be used, so it was read through"
    };
    if file.chunks == 0 {
        let _ = writeln!(page, "chunks    none{index}");
        return;
    }
    let ratio = match file.compressed_bytes {
        0 => String::new(),
        compressed => format!(", {:.2} : 1", ratio(file.uncompressed_bytes, compressed)),
    };
    let _ = writeln!(
        page,
        "chunks    {} ({}{ratio}){index}",
        count(file.chunks as u64),
        printable(&file.compression.join(", ")),
    );
}

/// One line for all files, as there may be hundreds.
fn files_line(page: &mut String, files: &[FileInfo]) {
    let sum = |of: fn(&FileInfo) -> u64| files.iter().map(of).fold(0, u64::saturating_add);
    let names = match files {
        [first, .., last] => {
            let [first, last] = [first, last].map(|file| Foreign::text(file.path.as_str()));
            format!("{} … {}", first.at_most(LONGEST), last.at_most(LONGEST))
        }
        _ => String::new(),
    };
    let _ = writeln!(
        page,
        "files     {}: {names}  {}, {}",
        count(files.len() as u64),
        bytes(sum(|file| file.bytes)),
        files.first().map(profile).unwrap_or_default(),
    );
    let _ = match sum(|file| file.chunks as u64) {
        0 => writeln!(page, "chunks    none"),
        chunks => writeln!(
            page,
            "chunks    {} ({:.2} : 1)",
            count(chunks),
            ratio(
                sum(|file| file.uncompressed_bytes),
                sum(|file| file.compressed_bytes).max(1)
            ),
        ),
    };
}

fn profile(file: &FileInfo) -> String {
    match file.profile.as_str() {
        "" => "no profile".into(),
        profile => printable(profile),
    }
}

#[expect(clippy::cast_precision_loss, reason = "two decimals are shown")]
fn ratio(uncompressed: u64, compressed: u64) -> f64 {
    uncompressed as f64 / compressed as f64
}

fn moment(t: Time<Ros>, zone: &TimeZone) -> String {
    let stamp = Timestamp::from_nanosecond(i128::from(t.as_nanos()))
        .expect("64-bit nanoseconds are within the calendar");
    let local = stamp.to_zoned(zone.clone());
    let shown = local.strftime("%Y-%m-%d %H:%M:%S.%3f %Z");
    if local.offset().is_zero() {
        format!("{shown}  ({t})")
    } else {
        format!("{shown}  ({stamp:.3} UTC, {t})")
    }
}

/// Names come from the file: nothing in them may control the terminal.
fn printable(name: &str) -> String {
    Foreign::text(name).at_most(LONGEST).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_steer_the_terminal_nor_flood_it() {
        assert_eq!(printable("/a\x1b[2J\nb"), "/a\\u{1b}[2J\\nb");
        assert_eq!(printable("/a\u{202e}b"), "/a\\u{202e}b");
        assert_eq!(printable(&"x".repeat(1000)).chars().count(), 201);
    }

    #[test]
    fn a_moment_is_shown_in_all_its_forms_and_in_none_twice() {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        let time = Time::from_nanos(1_700_000_000_123_456_789);
        assert_eq!(
            moment(time, &zone),
            "2023-11-14 23:13:20.123 CET  (2023-11-14T22:13:20.123Z UTC, 1700000000.123456789)"
        );
        assert_eq!(
            moment(time, &TimeZone::UTC),
            "2023-11-14 22:13:20.123 UTC  (1700000000.123456789)"
        );
    }

    #[test]
    fn a_sparkline_shows_gaps_and_the_fullest_part() {
        assert_eq!(sparkline(&[0.0, 1.0, 4.0, 8.0, 0.1]), " ▁▄█▁");
        assert_eq!(sparkline(&[0.0; 3]), "   ");
    }
}
