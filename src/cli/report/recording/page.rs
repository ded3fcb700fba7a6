//! [`Info`] as a page for people: a description of the recording, then its topics in a table.

use std::fmt::Write as _;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::check::Check;
use super::holes::hole_lines;
use super::info::{FileInfo, Info, MarkInfo};
use super::names::{LONGEST, printable};
use super::table::table;
use super::wires::wire_lines;
use crate::cli::report::units::{bytes, count, plural};
use crate::time::{Ros, Time, seconds_text, signed_seconds_text};
use crate::untrusted::Foreign;

/// More files than this are summarized in one line.
const MOST_FILES: usize = 8;
/// More marks than these are not listed.
const MOST_MARKS: usize = 100;

impl Info {
    /// The page, with times in local time and UTC. If a `width` is given, in columns, the table of topics is made to
    /// fit.
    pub fn page(&self, zone: &TimeZone, width: Option<usize>) -> String {
        let mut page = String::new();
        if self.files.len() <= MOST_FILES {
            for file in &self.files {
                file_lines(&mut page, file);
            }
        } else {
            files_line(&mut page, &self.files);
        }
        // Writing into a string does not fail.
        let ends = self.start_ns.zip(self.end_ns);
        let _ = match ends.map(|(start, end)| (Time::from_nanos(start), Time::from_nanos(end))) {
            Some((start, end)) => writeln!(
                page,
                "duration  {} s\nstart     {}\nend       {}",
                seconds_text(end.saturating_since(start)),
                moment(start, zone),
                moment(end, zone)
            ),
            None => writeln!(page, "duration  none: no messages"),
        };
        let known = self
            .message_count
            .or(self.check.as_ref().map(Check::messages));
        let messages = known.map_or("an unknown number of messages".into(), |messages| {
            plural(messages, "message")
        });
        let topics = plural(self.topics.len() as u64, "topic");
        let _ = writeln!(page, "content   {messages} on {topics}");
        wire_lines(&mut page, &self.topics);
        mark_lines(&mut page, &self.marks, self.start_ns);
        if self.start_ns.is_some() {
            let is_checked = self.check.is_some();
            hole_lines(&mut page, self.holes.as_deref(), self.start_ns, is_checked);
            let is_one_file = self.files.len() == 1;
            self.damaged.lines(&mut page, self.start_ns, is_one_file);
        }
        match &self.check {
            Some(check) => page.push_str(&check.page()),
            None if self.damage().list().is_empty() => page.push_str(
                "check     contents were not read: damage in them is not known; hint: --check\n",
            ),
            None => page.push_str(
                "check     contents were not read: they may have more damage; hint: --check\n",
            ),
        }
        if !self.topics.is_empty() {
            page.push('\n');
            table(&mut page, &self.topics, width);
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
        let into = signed_seconds_text(time.saturating_since(start));
        let name = printable(&mark.name);
        let line = format!("          {into:>12} s  {name}");
        let _ = writeln!(page, "{}", line.trim_end());
    }
    if let Some(more @ 1..) = marks.len().checked_sub(MOST_MARKS) {
        let _ = writeln!(page, "          and {} more", count(more as u64));
    }
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
        "; no index that can be used, so it was scanned"
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
