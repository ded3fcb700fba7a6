//! [`EventLog`]: the last lines of the event log, from the screen and from the rest of the program.

use std::collections::VecDeque;

use jiff::Timestamp;

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

/// The last lines, oldest first; successive equal lines are counted as one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct EventLog {
    lines: VecDeque<(LogLine, u32)>,
}

impl EventLog {
    /// Adds a line.
    pub(crate) fn push(&mut self, mut line: LogLine) {
        if let Some((end, _)) = line.text.char_indices().nth(MAX_CHARACTERS) {
            line.text.truncate(end);
            line.text.push('…');
        }
        match self.lines.back_mut() {
            Some((last, times)) if last.severity == line.severity && last.text == line.text => {
                last.at = line.at;
                *times = times.saturating_add(1);
            }
            _ => {
                if self.lines.len() == MAX_LINES {
                    self.lines.pop_front();
                }
                self.lines.push_back((line, 1));
            }
        }
    }

    /// The lines with their counts, newest first.
    pub(crate) fn newest(&self) -> impl Iterator<Item = &(LogLine, u32)> {
        self.lines.iter().rev()
    }
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
            log.newest().map(|(_, times)| *times).collect::<Vec<_>>(),
            [3]
        );
        for n in 0..MAX_LINES {
            log.push(line(n.to_string()));
        }
        assert_eq!(log.newest().count(), MAX_LINES);
        assert_eq!(log.newest().last().unwrap().0.text, "0");
        log.push(line("ü".repeat(1001)));
        let (last, _) = log.newest().next().unwrap();
        assert_eq!(last.text, "ü".repeat(1000) + "…");
    }
}
