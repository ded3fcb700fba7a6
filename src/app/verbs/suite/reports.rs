//! The report of a suite: files, the summary of a GitHub job, and what is printed.

use bagplay::ci::report::{Reported, RunRecord, to_text};
use bagplay::ci::suite::worst_exit;
use bagplay::cli::{Exit, Format};
use serde::Serialize;

use crate::app::failure::Failure;
use crate::app::log::stdout;
use crate::app::reports::ReportTargets;

/// The report of a suite as JSON.
#[derive(Serialize, Debug)]
pub(super) struct SuiteReport {
    /// The digest of the case list.
    pub(super) suite: String,
    /// How many shards there are.
    pub(super) shards: u32,
    /// Of these cases; the worst.
    pub(super) exit_code: u8,
    /// What is missing, one sentence each.
    pub(super) problems: Vec<String>,
    pub(super) runs: Vec<RunRecord>,
    /// Whether there are no runs because no case belongs to the shard.
    #[serde(skip)]
    pub(super) is_empty_shard: bool,
}

/// Writes the files that are wanted and prints the result. Returns the exit of the suite.
///
/// # Errors
/// Something could not be written; the exit is the worst of this and that of the suite.
pub(super) fn write(
    suite: &SuiteReport,
    files: &ReportTargets,
    format: Format,
) -> Result<Exit, Failure> {
    let reported = if suite.is_empty_shard {
        Reported::of_empty_shard(&suite.suite)
    } else {
        Reported::of_suite(&suite.runs, &suite.suite)
    };
    let written = files.write(reported, suite, None);
    let printed = match format {
        Format::Text => stdout::page(&to_text(reported)),
        Format::Json => stdout::json(suite),
    };
    // A closed standard output must not hide a suite that failed.
    let printed = printed.err().filter(|failure| !failure.is_closed_pipe());
    match written.err().or(printed) {
        None => Ok(Exit::of(suite.exit_code)),
        Some(Failure { exit, error }) => {
            let exit = Exit::of(worst_exit([suite.exit_code, exit.code()]));
            Err(Failure { exit, error })
        }
    }
}
