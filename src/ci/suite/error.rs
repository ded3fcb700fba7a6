//! [`SuiteError`]: why a suite is not run.

use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;

use super::scenario::ScenarioError;
use crate::untrusted::Foreign;

/// How many errors of one kind are shown.
const SHOWN: usize = 20;

/// Why a suite is not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SuiteError {
    /// Scenarios that cannot be used; at least one.
    #[error("{}", lines(_0))]
    Scenarios(Vec<ScenarioError>),
    /// There is no scenario.
    #[error("no scenario (*.toml) in {place}")]
    Empty {
        /// Where.
        place: String,
    },
    /// The filter leaves no case.
    #[error("no case matches `{}`", Foreign::text(filter))]
    NoneLeft {
        /// The filter.
        filter: String,
    },
    /// Two cases have the same name.
    #[error(
        "two cases have the name `{}`: in {} and in {}",
        Foreign::text(name),
        Foreign::path(&files[0]),
        Foreign::path(&files[1])
    )]
    SameName {
        /// The name.
        name: String,
        /// The files of their scenarios.
        files: [PathBuf; 2],
    },
    /// Two cases would write the same reference.
    #[error(
        "the cases `{}` and `{}` have the same `golden`, {}; hint: put `${{PARAMETER}}` into its name",
        Foreign::text(&cases[0]),
        Foreign::text(&cases[1]),
        Foreign::path(file)
    )]
    SameGolden {
        /// The file of the reference.
        file: PathBuf,
        /// The names of the cases.
        cases: [String; 2],
    },
    /// There are too many cases or files.
    #[error("a suite has at most {most} cases and files")]
    TooMany {
        /// How many there may be.
        most: usize,
    },
    /// Folders lie too deep in each other.
    #[error("{}: lies more than {deepest} folders deep", Foreign::path(folder))]
    TooDeep {
        /// The folder.
        folder: PathBuf,
        /// How deep it may lie.
        deepest: usize,
    },
    /// A folder cannot be read.
    #[error("{}: {error}", Foreign::path(folder))]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// Files by which cases are judged are not there: the name of each case, and the file.
    #[error("{}", missing(_0))]
    Missing(Vec<(String, PathBuf)>),
}

fn lines(errors: &[ScenarioError]) -> String {
    let mut text: Vec<String> = errors.iter().take(SHOWN).map(ToString::to_string).collect();
    more(&mut text, errors.len());
    text.join("; ")
}

fn missing(files: &[(String, PathBuf)]) -> String {
    let one = |(case, file): &(String, PathBuf)| {
        let mut text = Foreign::text(case).to_string();
        // Writing into a string does not fail.
        let _ = write!(text, " needs {}, which is not there", Foreign::path(file));
        text
    };
    let mut text: Vec<String> = files.iter().take(SHOWN).map(one).collect();
    more(&mut text, files.len());
    text.join("; ")
}

fn more(text: &mut Vec<String>, count: usize) {
    if count > SHOWN {
        text.push(format!("and {} more", count - SHOWN));
    }
}
