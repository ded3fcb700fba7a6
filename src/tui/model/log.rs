//! [`Log`]: the last things that were said, also by the rest of the program.

use std::collections::VecDeque;

use jiff::Timestamp;

/// How many lines are kept.
const KEPT: usize = 500;
/// How many letters of each: names on a network have no end.
const LONGEST: usize = 1000;

/// How much a line matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// For who looks for a fault.
    Debug,
    /// Good to know.
    Info,
    /// Something is not as it should be.
    Warning,
    /// Something failed.
    Error,
}

/// Something that was said.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// When.
    pub at: Timestamp,
    /// How much it matters.
    pub severity: Severity,
    /// What.
    pub text: String,
}

/// The last lines, oldest first; one that says the same as the one before it is counted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Log {
    lines: VecDeque<(Line, u32)>,
}

impl Log {
    /// One more line.
    pub(crate) fn push(&mut self, mut line: Line) {
        if let Some((end, _)) = line.text.char_indices().nth(LONGEST) {
            line.text.truncate(end);
            line.text.push('…');
        }
        match self.lines.back_mut() {
            Some((last, times)) if last.severity == line.severity && last.text == line.text => {
                last.at = line.at;
                *times = times.saturating_add(1);
            }
            _ => {
                if self.lines.len() == KEPT {
                    self.lines.pop_front();
                }
                self.lines.push_back((line, 1));
            }
        }
    }

    /// The lines with how often each was said, newest first.
    pub(crate) fn newest(&self) -> impl Iterator<Item = &(Line, u32)> {
        self.lines.iter().rev()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_are_counted_and_the_oldest_go() {
        let mut log = Log::default();
        let line = |text: String| Line {
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
        for n in 0..KEPT {
            log.push(line(n.to_string()));
        }
        assert_eq!(log.newest().count(), KEPT);
        assert_eq!(log.newest().last().unwrap().0.text, "0");
        log.push(line("ü".repeat(1001)));
        let (last, _) = log.newest().next().unwrap();
        assert_eq!(last.text, "ü".repeat(1000) + "…");
    }
}
