//! [`ScenarioError`]: why a scenario cannot be used, and where in its file.

use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::untrusted::Foreign;

/// Why a scenario cannot be used. Displayed as `FILE:LINE:COLUMN: REASON`.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}{}: {reason}", Foreign::path(file), shown(*place))]
pub struct ScenarioError {
    file: PathBuf,
    place: Option<(usize, usize)>,
    reason: String,
}

fn shown(place: Option<(usize, usize)>) -> String {
    place.map_or_else(String::new, |(line, column)| format!(":{line}:{column}"))
}

impl ScenarioError {
    /// The file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Line and column, in characters from 1; `None` if the whole file is meant.
    pub fn place(&self) -> Option<(usize, usize)> {
        self.place
    }

    /// The whole file is meant.
    pub(in crate::ci::suite) fn whole(file: &Path, reason: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            place: None,
            reason: reason.into(),
        }
    }

    /// A place in the file is meant.
    pub(super) fn at(file: &Path, text: &str, span: &Range<usize>, reason: &str) -> Self {
        Self::new(file, Some(place(text, span)), reason)
    }

    pub(super) fn new(file: &Path, place: Option<(usize, usize)>, reason: &str) -> Self {
        Self {
            file: file.to_owned(),
            place,
            reason: Foreign::text(reason).at_most(1000).to_string(),
        }
    }
}

/// Line and column of the beginning of a span, in characters from 1.
pub(super) fn place(text: &str, span: &Range<usize>) -> (usize, usize) {
    let before = text.get(..span.start).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default();
    (line, column.chars().count() + 1)
}
