//! Runs against programs under test, with verdicts: `play` with the flags of CI replay.

mod begin;
mod once;
mod ready;
mod record;
mod reports;

use std::path::Path;

use bagplay::ci::isolation::{Earlier, RunFolder};
use bagplay::ci::report::Outcome;
use bagplay::cli::{Exit, OutputArgs, PlayArgs};

use super::play::prepare;
use crate::app::failure::{Failure, OrExit};
use crate::app::log::LogTarget;
use crate::app::supervise::join::receive_signals;
use once::{Setup, play_once};
use record::{Span, name, record};

/// Plays against the program under test, as often as is asked for, judges what it did, and writes the reports.
pub(crate) fn run(
    args: &PlayArgs,
    output: &OutputArgs,
    log_target: &LogTarget,
) -> Result<Exit, Failure> {
    let (bag, plan) = prepare(args, log_target)?;
    let folder = run_folder(args)?;
    let signals = receive_signals()?;
    let setup = Setup {
        args,
        bag: &bag,
        plan: &plan,
        signals: &signals,
        log_target,
    };
    let mut records = Vec::new();
    let repetitions = args.ci.repeat.get();
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
        records.push(record(args, &happened, folder, (span, repetition)));
        if happened.ended.exit != Exit::Done {
            break;
        }
    }
    let outcome = Outcome::of_all(&records);
    for record in &mut records {
        record.exit_code = Outcome::of(record).exit_code;
    }
    reports::write(args, output, &folder, &records)?;
    Ok(exit(outcome.exit_code))
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
