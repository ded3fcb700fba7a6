//! Runs against programs under test, with verdicts: `play` with the flags of CI replay.

mod begin;
mod bursts;
mod drained;
mod held;
mod limit;
mod once;
mod ready;
mod reset;
mod result;
pub(crate) mod scenario;
mod setup;

use std::path::Path;

use bagplay::ci::isolation::{Earlier, RunFolder};
use bagplay::ci::judge::repeat::Repeat;
use bagplay::ci::report::{Check, Ended, Kind, Outcome, Repeated};
use bagplay::cli::{Ending, Exit, OutputArgs, PlayArgs, check_written};

use super::play::prepare;
use crate::app::failure::{Failure, OrExit};
use crate::app::log::LogTarget;
use crate::app::supervise::join::receive_signals;
use held::System;
use once::play_once;
use result::judges::Judges;
use result::record::{Span, name, record};
use result::reports::Results;
use result::{checks, judges};
use setup::Setup;

/// Plays against the program under test, as often as is asked for, judges what it did, and writes the reports.
pub(crate) fn run(
    args: &PlayArgs,
    output: &OutputArgs,
    log_target: &LogTarget,
) -> Result<Exit, Failure> {
    let judges = Judges::read(args)?;
    let (bag, plan) = prepare(args, log_target)?;
    begin::check_processes(args)?;
    check_written(args, bag.files()).or_exit(Exit::Usage)?;
    let folder = run_folder(args)?;
    let results = Results::of(args)?;
    let signals = receive_signals()?;
    let system = System::told(args)?;
    let setup = Setup::new(args, (&bag, &plan), &signals, log_target, system.as_ref());
    let repetitions = args.ci.repeat.get();
    let (mut runs, mut repeated) = (Repeat::default(), Repeated::default());
    let (mut last, mut first_failure) = (None, None);
    let mut played = plan.clone();
    for repetition in 1..=repetitions {
        let inner = (repetitions > 1)
            .then(|| {
                folder
                    .inner(&format!("run-{repetition}"))
                    .or_exit(Exit::Failed)
            })
            .transpose()?;
        let folder = inner.as_ref().unwrap_or(&folder);
        let span = Span::begin();
        let happened = play_once(&setup, folder)?;
        if happened.ended.how == Ending::Interrupted {
            setup.stop(happened.ended.exit);
        }
        let mut record = record(&setup, &happened, folder, (span, repetition));
        if let Some(exit) = setup.stopped() {
            (record.ended, record.exit_code) = (Ended::Interrupted, exit.code());
        }
        if !record.unreceived.is_empty() {
            let named = judges.named(args);
            let unreceived = checks::of_unreceived(args, &named, &record);
            record.checks.extend(unreceived);
        }
        judges.judge(&setup, &happened, &mut record);
        record.exit_code = Outcome::of(&record).exit_code;
        let is_complete = record.ended == Ended::Complete;
        // What fails at an input may pass the next time; what failed before the first one fails again.
        let has_begun = record.inputs.iter().any(|input| input.messages > 0);
        let is_verdict = matches!(happened.ended.exit, Exit::Timeout | Exit::Child);
        // What state a system is in after a run that failed is not known.
        let is_fresh = system.is_none();
        let is_worth_repeating = is_complete || (is_verdict && has_begun && is_fresh);
        if is_complete {
            runs.add(judges::repetition(&record, &happened));
        }
        repeated.add(&record);
        if record.exit_code != 0 {
            let sentence = Outcome::of(&record).sentence;
            first_failure.get_or_insert((repetition, record.exit_code, sentence));
        }
        played = happened.plan;
        last = Some(record);
        if !is_worth_repeating || setup.time_limit.has_passed() {
            break;
        }
    }
    // There is at least one repetition.
    let mut record = last.unwrap_or_default();
    if repetitions > 1 {
        judges::judge_repetitions(&setup, &played, &runs, &mut record);
        judges::name_kept_outputs(&folder, &runs, &mut record);
        record.exit_code = Outcome::of(&record).exit_code;
        if let Some((number, code, why)) = first_failure {
            let failed = repeated.failed;
            let reason = format!(
                "{failed} of {} runs failed; run {number}: {why}",
                repeated.runs
            );
            let check = Check::failed(Kind::Repeat, "every repetition passes", reason);
            record.checks.push(check);
            if record.exit_code == 0 {
                record.exit_code = code;
            }
        }
        judges.update(&runs, &mut record);
        if record.exit_code == 0 {
            record.exit_code = Outcome::of(&record).exit_code;
        }
        record.repeated = Some(repeated);
    }
    let exit = Exit::of(record.exit_code);
    match results.write(args, output, &folder, &record) {
        Err(failure) if exit != Exit::Done => tracing::error!("{:#}", failure.error),
        written => written?,
    }
    Ok(exit)
}

/// The folder of the run. One that is named may have the files of an earlier run, which are replaced.
fn run_folder(args: &PlayArgs) -> Result<RunFolder, Failure> {
    let folder = match &args.ci.run_dir {
        Some(path) => RunFolder::make(path, Earlier::Remove),
        None => RunFolder::numbered(Path::new("."), &name(args)),
    };
    folder.or_exit(Exit::Usage)
}
