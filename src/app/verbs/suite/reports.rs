//! The reports of a suite: files, the summary of a GitHub job, and what is printed.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use bagplay::ci::report::{
    RunRecord, append_markdown, to_html, to_json, to_junit, to_markdown, to_text,
};
use bagplay::cli::{Exit, Format, ReportFiles};
use bagplay::untrusted::Foreign;
use serde::Serialize;

use crate::app::failure::{Failure, OrExit};
use crate::app::log::stdout;

/// The file to which a GitHub job appends its summary.
const SUMMARY: &str = "GITHUB_STEP_SUMMARY";
/// The longest file in Markdown, in bytes: GitHub shows no more.
const LONGEST: usize = 1 << 20;

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
}

/// Writes the files that are wanted and prints the result.
pub(super) fn write(
    suite: &SuiteReport,
    files: &ReportFiles,
    format: Format,
) -> Result<(), Failure> {
    let runs = &suite.runs;
    if let Some(file) = &files.junit {
        put(file, &to_junit(runs).or_exit(Exit::Failed)?)?;
    }
    if let Some(file) = &files.report {
        put(file, to_json(suite).or_exit(Exit::Failed)?.as_bytes())?;
    }
    if let Some(file) = &files.markdown {
        put(file, to_markdown(runs, LONGEST).as_bytes())?;
    }
    if let Some(file) = &files.html {
        put(file, to_html(runs).as_bytes())?;
    }
    if let Some(file) = std::env::var_os(SUMMARY).filter(|file| !file.is_empty()) {
        let file = Path::new(&file);
        // The result is what counts, not where it is shown.
        if let Err(error) = append_markdown(file, runs) {
            tracing::warn!("{SUMMARY}: {}: {error}", Foreign::path(file));
        }
    }
    match format {
        Format::Text => stdout::page(&to_text(runs)),
        Format::Json => stdout::json(suite),
    }
}

fn put(file: &Path, bytes: &[u8]) -> Result<(), Failure> {
    fs::write(file, bytes)
        .with_context(|| Foreign::path(file).to_string())
        .or_exit(Exit::Failed)
}
