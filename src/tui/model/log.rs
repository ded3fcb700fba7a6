//! [`EventLog`]: the last lines of the event log, from the screen and from the rest of the program.

use std::collections::VecDeque;

use jiff::Timestamp;
use ratatui::text::Span;

/// How many lines are kept.
const MAX_LINES: usize = 500;
/// The limit of characters per line: names on a network have no limit.
const MAX_CHARACTERS: usize = 1000;

/// The level of a line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// For debugging.
    Debug,
    /// Information.
    Info,
    /// A warning.
    Warning,
    /// An error.
    Error,
}

/// A line of the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogLine {
    /// When it was logged.
    pub at: Timestamp,
    /// Its level.
    pub severity: Severity,
    /// Its text.
    pub text: String,
}

/// No screen shows more lines than these, except in the overlay.
const MOST_SHOWN: usize = 6;
/// The columns of the time before a line, and of `warning ×12: `.
const TIME: usize = 10;
const LABEL: usize = 14;

/// A line, and how many lines it stands for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LogEntry {
    /// The newest of them.
    pub line: LogLine,
    /// How many.
    pub times: u32,
    /// What they have in common: lines with the same cause are counted as one.
    cause: String,
}

impl LogEntry {
    /// The number of rows that it takes; it is wrapped at blanks, for which one more row is counted.
    fn rows(&self, width: usize) -> usize {
        let has_label = self.line.severity >= Severity::Warning;
        let label = if has_label { LABEL } else { 0 };
        let columns = label + Span::raw(&self.line.text).width();
        let room = width.saturating_sub(TIME).max(1);
        match columns.div_ceil(room) {
            0 | 1 => 1,
            more => more + 1,
        }
    }
}

/// The last lines, oldest first. Successive equal lines are counted as one. So are warnings and errors that differ in
/// numbers only, wherever they are: the newest one stands for all of them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct EventLog {
    lines: VecDeque<LogEntry>,
    /// A line that is shown as the newest one until something else happens, and not kept.
    hint: Option<LogEntry>,
}

impl EventLog {
    /// Shows a line until the next one, or until [`EventLog::clear_hint`].
    pub(crate) fn show_hint(&mut self, line: LogLine) {
        self.hint = Some(LogEntry {
            cause: cause(&line),
            line,
            times: 1,
        });
    }

    /// Shows the hint no longer.
    pub(crate) fn clear_hint(&mut self) {
        self.hint = None;
    }

    /// Adds a line.
    pub(crate) fn push(&mut self, mut line: LogLine) {
        self.clear_hint();
        if let Some((end, _)) = line.text.char_indices().nth(MAX_CHARACTERS) {
            line.text.truncate(end);
            line.text.push('…');
        }
        let cause = cause(&line);
        let is_same =
            |known: &LogEntry| known.line.severity == line.severity && known.cause == cause;
        let known = if line.severity >= Severity::Warning {
            self.lines.iter().rposition(is_same)
        } else {
            let last = self.lines.len().checked_sub(1);
            last.filter(|last| self.lines.get(*last).is_some_and(is_same))
        };
        let known = known.and_then(|at| self.lines.remove(at));
        if known.is_none() && self.lines.len() == MAX_LINES {
            self.lines.pop_front();
        }
        let times = known.map_or(1, |known| known.times.saturating_add(1));
        self.lines.push_back(LogEntry { line, times, cause });
    }

    /// The number of rows that the newest lines take on a screen of this width, as far as they matter for the layout.
    pub(crate) fn rows(&self, width: u16) -> usize {
        let rows = |entry: &LogEntry| entry.rows(width.into());
        self.newest().take(MOST_SHOWN).map(rows).sum()
    }

    /// The lines, newest first.
    pub(crate) fn newest(&self) -> impl Iterator<Item = &LogEntry> {
        self.hint.iter().chain(self.lines.iter().rev())
    }
}

/// The text; of warnings and errors without numbers. A number within a name belongs to the name.
fn cause(line: &LogLine) -> String {
    if line.severity < Severity::Warning {
        return line.text.clone();
    }
    let word = |word| {
        let bare = str::trim_start_matches(word, ['(', '[', '+', '-', '×', '−']);
        let is_part = |it: char| it.is_ascii_digit() || ".,:;)]%×".contains(it);
        if bare.starts_with(|first: char| first.is_ascii_digit()) && bare.chars().all(is_part) {
            "#"
        } else {
            word
        }
    };
    let words: Vec<&str> = line.text.split(' ').map(word).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_lines_are_counted_and_the_oldest_lines_are_dropped() {
        let mut log = EventLog::default();
        let line = |text: String| LogLine {
            at: Timestamp::UNIX_EPOCH,
            severity: Severity::Info,
            text,
        };
        for _ in 0..3 {
            log.push(line("same".into()));
        }
        assert_eq!(
            log.newest().map(|entry| entry.times).collect::<Vec<_>>(),
            [3]
        );
        for n in 0..MAX_LINES {
            log.push(line(n.to_string()));
        }
        assert_eq!(log.newest().count(), MAX_LINES);
        assert_eq!(log.newest().last().unwrap().line.text, "0");
        log.push(line("ü".repeat(1001)));
        let last = log.newest().next().unwrap();
        assert_eq!(last.line.text, "ü".repeat(1000) + "…");
    }

    #[test]
    fn warnings_of_one_cause_are_counted_as_one_with_the_newest_numbers() {
        let mut log = EventLog::default();
        for (severity, text) in [
            (Severity::Warning, "/cam1: 3 messages lost (0.1 s)"),
            (Severity::Info, "mark at +00:01.000"),
            (Severity::Warning, "/cam2: 3 messages lost (0.1 s)"),
            (Severity::Info, "mark at +00:02.000"),
            (Severity::Error, "/cam1: 3 messages lost (0.1 s)"),
            (Severity::Warning, "/cam1: 12 messages lost (2.5 s)"),
            (Severity::Warning, "/cam1: 40 messages lost (9.5 s)"),
            (Severity::Info, "mark at +00:01.000"),
        ] {
            log.push(LogLine {
                at: Timestamp::UNIX_EPOCH,
                severity,
                text: text.to_owned(),
            });
        }
        let shown = log
            .newest()
            .map(|entry| (entry.line.text.as_str(), entry.times));
        assert_eq!(
            shown.collect::<Vec<_>>(),
            [
                ("mark at +00:01.000", 1),
                ("/cam1: 40 messages lost (9.5 s)", 3),
                ("/cam1: 3 messages lost (0.1 s)", 1),
                ("mark at +00:02.000", 1),
                ("/cam2: 3 messages lost (0.1 s)", 1),
                ("mark at +00:01.000", 1),
            ]
        );
    }
}
