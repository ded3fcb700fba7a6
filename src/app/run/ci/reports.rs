//! Writes the reports of runs.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use bagplay::ci::isolation::RunFolder;
use bagplay::ci::report::{
    RunRecord, append_markdown, to_html, to_json, to_junit, to_markdown, to_text,
};
use bagplay::cli::{Exit, Format, OutputArgs, PlayArgs};
use bagplay::untrusted::Foreign;

use crate::app::failure::{Failure, OrExit};
use crate::app::log::stdout;

/// The longest summary in Markdown, in bytes: what GitHub takes.
const MOST_MARKDOWN: usize = 1 << 20;
/// The file to which a step of a GitHub workflow appends its summary.
const STEP_SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// Writes all reports that were asked for, copies the recording, and prints the verdict.
pub(super) fn write(
    args: &PlayArgs,
    output: &OutputArgs,
    folder: &RunFolder,
    record: &RunRecord,
) -> Result<(), Failure> {
    let records = std::slice::from_ref(record);
    if let Some(file) = &args.ci.record {
        copy_outputs(args, folder, file)?;
    }
    if let Some(file) = &args.ci.junit {
        let junit = to_junit(records).or_exit(Exit::Failed)?;
        save(file, &junit)?;
    }
    if let Some(file) = &args.ci.report {
        let json = to_json(record).or_exit(Exit::Failed)?;
        save(file, json.as_bytes())?;
    }
    if let Some(file) = &args.ci.markdown {
        save(file, to_markdown(records, MOST_MARKDOWN).as_bytes())?;
    }
    if let Some(file) = &args.ci.html {
        save(file, to_html(records).as_bytes())?;
    }
    if let Some(file) = std::env::var_os(STEP_SUMMARY).map(PathBuf::from) {
        append_markdown(&file, records)
            .with_context(|| format!("{STEP_SUMMARY}: {}", Foreign::path(&file)))
            .or_exit(Exit::Failed)?;
    }
    match output.format {
        Format::Json => stdout::json(record),
        Format::Text => {
            for line in to_text(records).lines() {
                tracing::info!("{line}");
            }
            Ok(())
        }
    }
}

/// The outputs of the only run, or of the first one.
fn copy_outputs(args: &PlayArgs, folder: &RunFolder, to: &Path) -> Result<(), Failure> {
    let from = if args.ci.repeat.get() > 1 {
        folder.file("run-1").join("outputs.mcap")
    } else {
        folder.file("outputs.mcap")
    };
    make_parent(to)?;
    fs::copy(from, to)
        .with_context(|| format!("--record: {} cannot be written", Foreign::path(to)))
        .or_exit(Exit::Failed)?;
    Ok(())
}

fn save(file: &Path, bytes: &[u8]) -> Result<(), Failure> {
    make_parent(file)?;
    fs::write(file, bytes)
        .with_context(|| format!("{} cannot be written", Foreign::path(file)))
        .or_exit(Exit::Failed)
}

fn make_parent(file: &Path) -> Result<(), Failure> {
    match file
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
    {
        Some(parent) => fs::create_dir_all(parent)
            .with_context(|| format!("{} cannot be made", Foreign::path(parent)))
            .or_exit(Exit::Failed),
        None => Ok(()),
    }
}
