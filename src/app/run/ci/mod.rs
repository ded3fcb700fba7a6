//! Runs against programs under test, with verdicts: `play` with the flags of CI replay.

mod begin;
mod drained;
mod happened;
mod held;
mod limit;
mod once;
mod ready;
mod reset;
mod result;
pub(crate) mod scenario;
mod setup;

use std::path::{Path, PathBuf};

use bagplay::ci::isolation::{Earlier, RunFolder};
use bagplay::ci::report::{Ended, Outcome, RunRecord};
use bagplay::cli::{Ending, Exit, OutputArgs, PlayArgs, check_written};

use super::play::prepare;
use crate::app::failure::{Failure, OrExit};
use crate::app::log::LogTarget;
use crate::app::supervise::join::receive_signals;
use happened::Happened;
use held::System;
use limit::TimeLimit;
use once::play_once;
use result::judges::Judges;
use result::record::{Span, name, record, record_of_failure, record_of_unread};
use result::repetitions::Repetitions;
use result::reports::Results;
use result::{checks, judges};
use setup::Setup;

/// Plays against the program under test, as often as is asked for, judges what it did, and writes the reports.
pub(crate) fn run(
    args: &PlayArgs,
    output: &OutputArgs,
    log_target: &LogTarget,
) -> Result<Exit, Failure> {
    let span = Span::begin();
    let read = Judges::read(args).and_then(|judges| Ok((judges, prepare(args, log_target)?)));
    let (judges, (bag, plan)) = match read {
        Ok(read) => read,
        Err(failure) => return Err(report_unread(args, failure, span)),
    };
    begin::check_processes(args)?;
    check_written(args, bag.files()).or_exit(Exit::Usage)?;
    let results = Results::of(args)?;
    let folder = run_folder(args)?;
    let signals = receive_signals()?;
    let system = System::told(args)?;
    let targets = (&results, log_target);
    let setup = Setup::new(args, (&bag, &plan), &signals, targets, system.as_ref());
    let mut all = Repetitions::new(args.ci.repeat.get());
    let mut played = plan.clone();
    while let Some(number) = all.next() {
        let span = Span::begin();
        let (record, happened) = match judged_run(&setup, &judges, &folder, (span, number)) {
            Ok(done) => done,
            Err(failure) if failure.exit == Exit::Usage && number == 1 => {
                if args.ci.run_dir.is_none() {
                    folder.discard();
                }
                return Err(failure);
            }
            Err(failure) => {
                let record = record_of_failure(&setup, &failure, &folder, (span, number));
                all.add(record, PathBuf::new(), false);
                break;
            }
        };
        let is_cut_short =
            number > 1 && setup.time_limit.has_passed() && happened.ended.exit == Exit::Timeout;
        if is_cut_short {
            all.cut_short(&record);
            break;
        }
        let is_worth_repeating = is_worth_repeating(&setup, &happened, &record);
        if all.add(record, happened.recording, is_worth_repeating) {
            played = happened.plan;
        }
        if setup.stopped().is_some() || setup.time_limit.has_passed() {
            break;
        }
    }
    let is_late = setup.stopped().is_none() && setup.time_limit.has_passed();
    let limit = is_late.then(|| setup.time_limit.span());
    let mut record = all.finish(limit, |runs, record| {
        judges::judge_repetitions(&setup, &played, runs, record);
        judges::name_kept_outputs(&folder, runs, record);
        judges.update(runs, record);
    });
    let until = setup.time_limit.end();
    results.copy(args, &folder, (&mut record, until));
    let exit = Exit::of(record.exit_code);
    match results.write(output, &record, until) {
        Err(failure) if exit != Exit::Done => tracing::error!("{:#}", failure.error),
        written => written?,
    }
    Ok(exit)
}

/// Writes the reports of a run that cannot read what it needs. A command line that is wrong has none. Returns the
/// failure.
fn report_unread(args: &PlayArgs, failure: Failure, span: Span) -> Failure {
    if failure.exit == Exit::Usage {
        return failure;
    }
    let report = || {
        // A report must not replace a recording that cannot be read.
        check_written(args, &[]).or_exit(Exit::Usage)?;
        let results = Results::of(args)?;
        results.remove_earlier()?;
        let until = TimeLimit::start(args.ci.timeout).end();
        results.report(&record_of_unread(args, &failure, span), until)
    };
    if let Err(unwritten) = report() {
        tracing::error!("{:#}", unwritten.error);
    }
    failure
}

/// Plays once, and judges what happened. One of several runs has a folder in that of all.
fn judged_run(
    setup: &Setup<'_>,
    judges: &Judges,
    folder: &RunFolder,
    (span, number): (Span, u32),
) -> Result<(RunRecord, Happened), Failure> {
    let args = setup.args;
    let is_one_of_several = args.ci.repeat.get() > 1;
    let inner = is_one_of_several.then(|| folder.inner(&format!("run-{number}")));
    let inner = inner.transpose().or_exit(Exit::Failed)?;
    let folder = inner.as_ref().unwrap_or(folder);
    let happened = play_once(setup, folder)?;
    let mut record = record(setup, &happened, folder, (span, number));
    if let Some(exit) = setup.stopped() {
        (record.ended, record.exit_code) = (Ended::Interrupted, exit.code());
    }
    if !record.unreceived.is_empty() {
        let named = judges.named(args);
        let unreceived = checks::of_unreceived(args, &named, &record);
        record.checks.extend(unreceived);
    }
    let is_empty = happened.ended.how == Ending::End && happened.has_played_nothing();
    if is_empty && happened.damage().is_empty() && setup.stopped().is_none() {
        // Another try would play nothing again.
        record.exit_code = Exit::Usage.code();
    }
    judges.judge(setup, &happened, &mut record);
    checks::withdraw_verdicts(&mut record);
    record.exit_code = Outcome::of(&record).exit_code;
    Ok((record, happened))
}

/// Whether a run that did not reach its end may reach it when it is repeated.
fn is_worth_repeating(setup: &Setup<'_>, happened: &Happened, record: &RunRecord) -> bool {
    // A run that failed after its first input may pass when it is repeated; one that failed before fails again.
    let has_begun = record.inputs.iter().any(|input| input.messages > 0);
    let is_verdict = matches!(happened.ended.exit, Exit::Timeout | Exit::Child);
    // After a failed run, the state of a system that stays is unknown.
    let is_fresh = setup.system.is_none();
    is_verdict && has_begun && is_fresh && record.ended != Ended::Interrupted
}

/// The folder of the run. One that is named may have the files of an earlier run, which are replaced.
fn run_folder(args: &PlayArgs) -> Result<RunFolder, Failure> {
    let folder = match &args.ci.run_dir {
        Some(path) => RunFolder::make(path, Earlier::Remove),
        None => RunFolder::numbered(Path::new("."), &name(args)),
    };
    folder.map_err(|error| {
        let exit = if error.is_of_the_machine() {
            Exit::Failed
        } else {
            Exit::Usage
        };
        Failure::new(exit, error)
    })
}
