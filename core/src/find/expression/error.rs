//! [`ExpressionError`]: what is wrong in an expression, and where.

use std::fmt;

use crate::find::char_start::char_start;
use crate::untrusted::Foreign;

/// How many characters of the expression are shown before the place, and from it on.
const SHOWN_BEFORE: usize = 60;
const SHOWN_AFTER: usize = 40;

/// A text that is no expression. Three lines show it: what is wrong, the expression, and a caret under the place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExpressionError {
    problem: String,
    text: String,
    at: usize,
}

impl ExpressionError {
    /// `at`: where in the text, in bytes. The problem is escaped here.
    pub(super) fn new(text: &str, at: usize, problem: &str) -> Self {
        Self {
            problem: Foreign::text(problem).at_most(600).to_string(),
            text: text.to_owned(),
            at: char_start(text, at),
        }
    }

    /// What is wrong, on one line.
    pub fn problem(&self) -> &str {
        &self.problem
    }

    /// Where it is wrong: the number of bytes before the place.
    pub const fn at(&self) -> usize {
        self.at
    }
}

impl fmt::Display for ExpressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (before, after) = self.text.split_at(self.at);
        let first = before.char_indices().rev().nth(SHOWN_BEFORE - 1);
        let (skipped, before) = before.split_at(first.map_or(0, |(at, _)| at));
        let cut = if skipped.is_empty() { "" } else { "…" };
        let before = format!("{cut}{}", Foreign::text(before));
        let after = Foreign::text(after).at_most(SHOWN_AFTER);
        let indent = before.chars().count();
        write!(f, "{}\n  {before}{after}\n  {:indent$}^", self.problem, "")
    }
}

impl std::error::Error for ExpressionError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caret_is_under_the_place_also_in_a_long_expression() {
        let error = ExpressionError::new("/a x > ", 7, "expected a value");
        let shown = "expected a value\n  /a x > \n         ^";
        assert_eq!(error.to_string(), shown);
        let long = format!("{}here{}", "x".repeat(500), "y".repeat(500));
        let shown = ExpressionError::new(&long, 500, "wrong").to_string();
        let lines: Vec<&str> = shown.lines().collect();
        let caret = lines[2].chars().count() - 1;
        let from: String = lines[1].chars().skip(caret).take(4).collect();
        assert_eq!(from, "here");
        assert!(lines[1].chars().count() < 110, "{shown}");
    }

    #[test]
    fn nothing_in_it_steers_a_terminal() {
        let text = "/a \u{1b}[2J\n\u{202e}";
        let shown = ExpressionError::new(text, 4, text).to_string();
        assert_eq!(shown.lines().count(), 3, "{shown:?}");
        let is_control = |c: char| c != '\n' && c.is_control() || c == '\u{202e}';
        assert!(!shown.contains(is_control), "{shown:?}");
        // A place within a character is that of the character.
        assert_eq!(ExpressionError::new("ü", 1, "x").at(), 0);
    }
}
