//! `play suite`: many scenarios, each case as a process of its own, and the reports of shards as one.

mod hold_system;
mod misfits;
mod plan;
mod reports;
mod shard;
mod table;

use bagplay::ci::suite::{ShardFile, merge};
use bagplay::cli::{Exit, OutputArgs, SuiteArgs, SuiteReportArgs, SuiteVerb, check_reports};

use crate::app::failure::{Failure, OrExit};
use crate::app::log::LogTarget;
use crate::app::reports::ReportTargets;

/// `play suite DIR…` and `play suite report FILE…`.
pub(crate) fn run(
    args: &SuiteArgs,
    output: &OutputArgs,
    log_target: &LogTarget,
) -> Result<Exit, Failure> {
    match &args.command {
        Some(SuiteVerb::Report(args)) => report(args, output),
        Some(SuiteVerb::HoldSystem(args)) => hold_system::run(args),
        None => shard::run(&args.run, output, log_target),
    }
}

fn report(args: &SuiteReportArgs, output: &OutputArgs) -> Result<Exit, Failure> {
    let read = args.files.iter();
    let read = read.map(|file| (file.as_path(), "the report of a shard".to_owned()));
    check_reports(&args.reports, read).or_exit(Exit::Usage)?;
    let reports = ReportTargets::of(&args.reports)?;
    let files = ShardFile::read_all(&args.files).or_exit(Exit::Usage)?;
    let merged = merge(&files).or_exit(Exit::Usage)?;
    for problem in &merged.problems {
        tracing::error!("{problem}");
    }
    let suite = reports::SuiteReport {
        suite: merged.digest,
        shards: merged.shards,
        exit_code: merged.exit,
        problems: merged.problems,
        runs: merged.runs,
        is_empty_shard: false,
    };
    reports::write(&suite, &reports, output.format)
}
