//! [`Source`]: the text of a file of expectations, and [`ExpectationError`], which points into it.

use std::ops::Range;

use toml::Spanned;
use toml::de::DeTable;

use crate::untrusted::{FileName, Foreign};

/// The longest text that is read, in bytes.
const MAX_TEXT: usize = 4 << 20;

/// Why a file of expectations cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{file}:{line}:{column}: {what}")]
pub struct ExpectationError {
    file: FileName,
    line: usize,
    column: usize,
    what: String,
}

impl ExpectationError {
    /// The line, from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// The column in characters, from 1.
    pub fn column(&self) -> usize {
        self.column
    }
}

/// A file of expectations.
#[derive(Debug)]
pub(crate) struct Source<'t> {
    file: FileName,
    text: &'t str,
}

impl<'t> Source<'t> {
    pub(crate) fn new(text: &'t str, file: &FileName) -> Self {
        let file = file.clone();
        Self { file, text }
    }

    /// Parses the text as TOML.
    pub(crate) fn parse(&self) -> Result<Spanned<DeTable<'t>>, ExpectationError> {
        if self.text.len() > MAX_TEXT {
            let what = format!("it is longer than the {MAX_TEXT} bytes that are read");
            return Err(self.error(&(0..0), &what));
        }
        DeTable::parse(self.text).map_err(|error| {
            let span = error.span().unwrap_or_default();
            self.error(&span, error.message().trim_end())
        })
    }

    /// An error at the start of these bytes. The text may quote the file.
    pub(crate) fn error(&self, at: &Range<usize>, what: &str) -> ExpectationError {
        let before = self.text.get(..at.start).unwrap_or(self.text);
        let line = before.rsplit('\n').next().unwrap_or_default();
        ExpectationError {
            file: self.file.clone(),
            line: before.matches('\n').count() + 1,
            column: line.chars().count() + 1,
            what: Foreign::text(&what.replace('\n', " "))
                .at_most(1_000)
                .to_string(),
        }
    }
}
