//! `play suite DIR…`: runs the cases of one shard and writes what becomes of each as it ends.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, ensure};
use bagplay::ci::report::RunRecord;
use bagplay::ci::suite::scenario::Case;
use bagplay::ci::suite::{Event, Finished, Runner, ShardWriter, Why, worst_exit};
use bagplay::cli::{Exit, OutputArgs, SuiteRunArgs, plural};
use bagplay::time::Duration;
use bagplay::untrusted::Foreign;

use super::plan::ShardPlan;
use super::reports::{self, SuiteReport};
use super::table::Table;
use crate::app::failure::{Failure, OrExit};
use crate::app::log::LogTarget;
use crate::app::reports::ReportTargets;
use crate::app::signals;

/// Runs the cases, or lists them.
pub(super) fn run(
    args: &SuiteRunArgs,
    output: &OutputArgs,
    log_target: &LogTarget,
) -> Result<Exit, Failure> {
    let plan = ShardPlan::new(args)?;
    let runner = runner(args)?;
    if args.runner.is_none() {
        plan.check_words(&runner, args.list)?;
    }
    if args.list {
        plan.print(output.format)?;
        return Ok(Exit::Done);
    }
    let reports = ReportTargets::of(&args.reports)?;
    let cases = plan.own_cases();
    let ran = run_cases(args, &plan, &cases, runner, (&reports, log_target))?;
    let written = ran.written.as_ref().err();
    let suite = suite_report(&plan, &cases, ran.runs, ran.finished, written);
    let exit = reports::write(&suite, &reports, output.format)?;
    match ran.written {
        Ok(()) => Ok(exit),
        // The exit of the suite is that of this failure, or a worse one.
        Err(Failure { error, .. }) => Err(Failure { exit, error }),
    }
}

/// How the cases are run; the folders are set when the number of the attempt is known.
fn runner(args: &SuiteRunArgs) -> Result<Runner, Failure> {
    let program = match &args.runner {
        Some(named) => {
            check_program(named)
                .context("--runner")
                .or_exit(Exit::Usage)?;
            named.clone()
        }
        None => std::env::current_exe()
            .context("the file of this program")
            .or_exit(Exit::Failed)?,
    };
    Ok(Runner {
        program,
        more: if args.update_golden {
            vec!["--update-golden".into()]
        } else {
            Vec::new()
        },
        folder: args.out.clone(),
        holder: None,
        jobs: args.jobs.get(),
        repeat: args.repeat.get(),
        fail_fast: args.fail_fast,
        timeout: args.timeout.map(Duration::to_std),
        grace: args.grace.to_std(),
    })
}

/// Whether there is such a program: a path, or a name in `PATH`.
fn check_program(program: &Path) -> anyhow::Result<()> {
    let can_run = |file: &Path| {
        fs::metadata(file).is_ok_and(|facts| facts.is_file())
            && rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok()
    };
    let named = Foreign::path(program);
    if program.as_os_str().as_encoded_bytes().contains(&b'/') {
        ensure!(program.exists(), "there is no {named}");
        ensure!(can_run(program), "{named} cannot be run; hint: chmod +x");
    } else {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let is_found = std::env::split_paths(&folders).any(|it| can_run(&it.join(program)));
        ensure!(is_found, "the program `{named}` is not found in PATH");
    }
    Ok(())
}

/// What became of the cases of a shard.
struct Ran {
    runs: Vec<RunRecord>,
    /// `None`: the report of the shard could not be written, so the runs were ended.
    finished: Option<Finished<Exit>>,
    /// Whether the report of the shard is complete.
    written: Result<(), Failure>,
}

/// Runs the cases and writes the report of the shard.
///
/// # Errors
/// Nothing was run.
fn run_cases(
    args: &SuiteRunArgs,
    plan: &ShardPlan,
    cases: &[&Case],
    mut runner: Runner,
    (reports, log_target): (&ReportTargets, &LogTarget),
) -> Result<Ran, Failure> {
    let stop = signals::listen()
        .context("signals cannot be received")
        .or_exit(Exit::Failed)?;
    if let Some(file) = &plan.partition.status_file {
        fs::write(file, "")
            .with_context(|| Foreign::path(file).to_string())
            .or_exit(Exit::Failed)?;
    }
    let out = || Foreign::path(&args.out).to_string();
    let header = plan.header(args);
    let mut file = ShardWriter::create(&args.out, header)
        .with_context(|| format!("--out: {}", out()))
        .or_exit(Exit::Usage)?;
    reports.remove_earlier()?;
    let number = plural(cases.len() as u64, "case");
    let report = Foreign::path(file.path());
    tracing::info!("shard {}: {number}, report {report}", plan.partition);
    // The words of a run are used from other folders, too.
    let folder = fs::canonicalize(&args.out).with_context(out);
    let folder = folder.or_exit(Exit::Failed)?;
    let number = format!("{}-{}", plan.partition.shard, file.attempt());
    runner.folder = folder.join(format!("runs-{number}"));
    runner.holder = args.runner.is_none().then(|| {
        let systems = folder.join(format!("systems-{number}"));
        (runner.program.clone(), systems)
    });
    let mut table = Table::new(log_target, cases, args.update_golden);
    let mut runs: Vec<RunRecord> = Vec::new();
    let finished = runner.run(cases, &stop, &mut |event| {
        table.show(event);
        if let Event::CaseEnded { record, .. } = event {
            runs.push(record.clone());
            file.add(record)?;
        }
        Ok(())
    });
    table.finish();
    let (finished, written) = match finished {
        Ok(finished) => {
            let written = file.finish(finished.why).with_context(out);
            (Some(finished), written)
        }
        Err(error) => (None, Err(error).with_context(out)),
    };
    Ok(Ran {
        runs,
        finished,
        written: written.or_exit(Exit::Failed),
    })
}

/// The report of the shard, which is also made if its file could not be written. A case that was not run has a record
/// that says why.
fn suite_report(
    plan: &ShardPlan,
    cases: &[&Case],
    mut runs: Vec<RunRecord>,
    finished: Option<Finished<Exit>>,
    unwritten: Option<&Failure>,
) -> SuiteReport {
    let mut problems = Vec::new();
    let stopped = finished.and_then(|it| it.stopped_by);
    let why = finished.map_or(Why::Complete, |it| it.why);
    if let Some((because, exit)) = left_out(why, stopped, unwritten) {
        let is_missing = |case: &&&Case| runs.iter().all(|run| run.name != case.name);
        let missing: Vec<_> = cases.iter().filter(is_missing).collect();
        let reason = format!("not run: {because}");
        if unwritten.is_some() {
            problems.push(because);
        } else if !missing.is_empty() {
            let number = plural(missing.len() as u64, "case");
            tracing::warn!("{number} {reason}");
            problems.push(format!("{number} {reason}"));
        }
        runs.extend(
            missing.into_iter().map(|case| {
                RunRecord::not_run(&case.name, "the case is run", &reason, exit.code())
            }),
        );
    }
    runs.sort_by(|one, other| one.name.cmp(&other.name));
    // Runs that were ended with the suite have the signal that they got from it.
    let is_own = |code: &u8| stopped.is_none() || !Exit::of(*code).is_signal();
    let codes = runs.iter().map(|run| run.exit_code).filter(is_own);
    let stopped = stopped.map(Exit::code);
    let failed = unwritten.map(|failure| failure.exit.code());
    SuiteReport {
        suite: plan.digest(),
        shards: plan.partition.shards,
        exit_code: worst_exit(codes.chain(stopped).chain(failed)),
        problems,
        runs,
        is_empty_shard: cases.is_empty() && unwritten.is_none(),
    }
}

/// Why cases were left out, and with which exit.
fn left_out(
    why: Why,
    stopped: Option<Exit>,
    unwritten: Option<&Failure>,
) -> Option<(String, Exit)> {
    if let Some(Failure { exit, error }) = unwritten {
        let because = format!("the report of the shard is incomplete: {error:#}");
        return Some((because, *exit));
    }
    let (because, exit) = match why {
        Why::Complete => return None,
        Why::FailFast => ("another case has failed (--fail-fast)", Exit::Done),
        Why::Interrupted => (
            "the suite was interrupted before",
            stopped.unwrap_or(Exit::Terminated),
        ),
    };
    Some((because.to_owned(), exit))
}
