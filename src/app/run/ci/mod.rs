//! Runs against programs under test, with verdicts: `play` with the flags of CI replay.

mod begin;
mod bursts;
mod drained;
mod judges;
mod limit;
mod once;
mod ready;
mod record;
mod reports;
pub(crate) mod scenario;
mod setup;

use std::path::Path;

use bagplay::ci::isolation::{Earlier, RunFolder};
use bagplay::ci::judge::repeat::Repeat;
use bagplay::ci::report::{Check, Ended, Kind, Outcome, Repeated};
use bagplay::cli::{Exit, OutputArgs, PlayArgs};

use super::play::prepare;
use crate::app::failure::{Failure, OrExit};
use crate::app::log::LogTarget;
use crate::app::supervise::join::receive_signals;
use judges::Judges;
use limit::TimeLimit;
use once::play_once;
use record::{Span, name, record};
use setup::Setup;

/// Plays against the program under test, as often as is asked for, judges what it did, and writes the reports.
pub(crate) fn run(
    args: &PlayArgs,
    output: &OutputArgs,
    log_target: &LogTarget,
) -> Result<Exit, Failure> {
    let judges = Judges::read(args)?;
    let (bag, plan) = prepare(args, log_target)?;
    let folder = run_folder(args)?;
    let signals = receive_signals()?;
    let setup = Setup {
        args,
        bag: &bag,
        plan: &plan,
        signals: &signals,
        log_target,
        time_limit: TimeLimit::start(args.ci.timeout),
    };
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
        let mut record = record(args, &happened, folder, (span, repetition));
        judges.judge(&setup, &happened, &mut record);
        record.exit_code = Outcome::of(&record).exit_code;
        let is_complete = record.ended == Ended::Complete;
        // What fails at an input may pass the next time; what failed before the first one fails again.
        let has_begun = record.inputs.iter().any(|input| input.messages > 0);
        let is_verdict = matches!(happened.ended.exit, Exit::Timeout | Exit::Child);
        let is_worth_repeating = is_complete || (is_verdict && has_begun);
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
        record.repeated = Some(repeated);
    }
    reports::write(args, output, &folder, &record)?;
    Ok(exit(record.exit_code))
}

/// The folder of the run. One that is named may have the files of an earlier run, which are replaced.
fn run_folder(args: &PlayArgs) -> Result<RunFolder, Failure> {
    let folder = match &args.ci.run_dir {
        Some(path) => RunFolder::make(path, Earlier::Remove),
        None => RunFolder::numbered(Path::new("."), &name(args)),
    };
    folder.or_exit(Exit::Usage)
}

fn exit(code: u8) -> Exit {
    let known = [
        Exit::Done,
        Exit::Failed,
        Exit::Usage,
        Exit::Recording,
        Exit::Timeout,
        Exit::Verdict,
        Exit::Child,
        Exit::Interrupted,
        Exit::Terminated,
    ];
    let found = known.into_iter().find(|exit| exit.code() == code);
    found.unwrap_or(Exit::Failed)
}
