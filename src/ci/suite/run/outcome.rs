//! [`record`]: the record of a run whose process has ended: what it says itself, and how it ended.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use super::case_process::{CaseProcess, Ending, RunFiles};
use crate::ci::report::{
    Check, Ended, Exit, ExitClass, Kind, Overall, RunRecord, Verdict, read_run, verdict,
};
use crate::ci::suite::scenario::Case;
use crate::untrusted::Foreign;

/// How much of the end of a log is kept, in bytes and in lines.
const TAIL: u64 = 8 << 10;
const TAIL_LINES: usize = 20;

/// The check of a run that has no process.
const IS_STARTED: &str = "the run is started";

/// The record of a run.
pub(super) fn record(
    case: &Case,
    run: &CaseProcess,
    status: ExitStatus,
    took: Duration,
) -> RunRecord {
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    let (mut record, has_report) = match read(&run.files.report) {
        Ok(record) => (record, true),
        Err(reason) => {
            let record = without_report(&run.files, code, status, &reason);
            (record, false)
        }
    };
    record.name.clone_from(&case.name);
    record.repetition = run.repetition;
    if record.folder.is_empty() {
        record.folder = Foreign::path(&run.files.folder).to_string();
    }
    record.files.insert("log".into(), "../play.log".into());
    record.took_ms = took.as_secs_f64() * 1e3;
    // A run without a report has not passed.
    let code = code.filter(|code| has_report || *code != 0);
    record.exit_code = code.unwrap_or(Exit::Failed.code());
    if has_report && !run.ending.is_late {
        compare_with_exit(&mut record, status, &run.files.log);
    }
    let Ending {
        is_late, is_killed, ..
    } = run.ending;
    if is_late {
        let limit = run.limit.unwrap_or_default().as_secs_f64();
        let killed = if is_killed {
            ", did not end by SIGTERM, and was killed"
        } else {
            ""
        };
        let waited = waited_for(&record).map_or_else(String::new, |why| format!("; it was {why}"));
        let reason = format!("the run took longer than its time limit ({limit} s){killed}{waited}");
        record
            .checks
            .push(Check::failed(Kind::Run, "the run ends in time", reason));
        record.ended = Ended::Failed;
        record.exit_code = Exit::Timeout.code();
    } else if is_killed {
        record
            .notes
            .push("play did not end by SIGTERM and was killed".into());
    }
    record
}

/// What a run waited for when it was interrupted, as it says itself.
fn waited_for(record: &RunRecord) -> Option<String> {
    let mut checks = record.checks.iter();
    let check = checks.find(|it| it.kind == Kind::Run && it.verdict == Verdict::Skipped)?;
    (!check.reason.is_empty()).then(|| check.reason.clone())
}

/// The record of a run that could not be started.
pub(super) fn not_started(
    case: &Case,
    repetition: u32,
    program: &Path,
    error: &std::io::Error,
) -> RunRecord {
    let reason = format!("{} cannot be started: {error}", Foreign::path(program));
    RunRecord {
        repetition,
        ..RunRecord::not_run(&case.name, IS_STARTED, reason, Exit::Failed.code())
    }
}

/// The record of a run for which no system could be started.
pub(super) fn no_system(
    case: &Case,
    repetition: u32,
    log: &Path,
    (status, late): (Option<ExitStatus>, Option<Duration>),
) -> RunRecord {
    let code = status.and_then(|status| status.code());
    let code = code.and_then(|code| u8::try_from(code).ok());
    let tail = tail(log);
    let said = tail.iter().rfind(|line| line.contains("error:"));
    let said = said
        .or(tail.last())
        .map_or_else(String::new, |line| format!(": {line}"));
    let reason = match late {
        Some(limit) => {
            let limit = limit.as_secs_f64();
            format!("the system under test was not started within {limit} s{said}")
        }
        None => format!("the system under test cannot be started{said}"),
    };
    let code = code.filter(|code| *code != 0);
    let code = code.unwrap_or(Exit::Failed.code());
    RunRecord {
        repetition,
        notes: tail,
        ..RunRecord::not_run(&case.name, IS_STARTED, reason, code)
    }
}

/// Adds a check if the report says that the run has passed and the exit code that it has not, or the other way round.
fn compare_with_exit(record: &mut RunRecord, status: ExitStatus, log: &Path) {
    let has_passed = verdict(record) == Overall::Passed;
    if has_passed == (record.exit_code == 0) {
        return;
    }
    let ended = how(status);
    let (verdict, reason) = if has_passed {
        let said = tail(log).pop();
        let said = said.map_or_else(String::new, |line| format!("; it said: {line}"));
        let exit = Exit::of(record.exit_code);
        if exit.is_signal() {
            record.ended = Ended::Interrupted;
        }
        let reason =
            format!("play ended with {ended}, but its report says that the run has passed{said}");
        (verdict_of(exit), reason)
    } else {
        record.exit_code = Exit::Failed.code();
        let reason =
            format!("play ended with {ended}, but its report says that the run has failed");
        (Verdict::Error, reason)
    };
    let name = "the report agrees with the exit code";
    record
        .checks
        .push(Check::new(Kind::Run, name, verdict, reason));
}

/// The verdict of a check that has nothing but the exit code of a run.
fn verdict_of(exit: Exit) -> Verdict {
    if exit.class() == ExitClass::Verdict {
        Verdict::Failed
    } else {
        Verdict::Error
    }
}

/// How a process has ended: `exit code 1`.
fn how(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "an unknown status".to_owned(),
    }
}

fn read(file: &Path) -> Result<RunRecord, String> {
    if !file.exists() {
        return Err("it has written no report".to_owned());
    }
    read_run(file).map_err(|error| format!("its report cannot be used: {error}"))
}

fn without_report(files: &RunFiles, code: Option<u8>, status: ExitStatus, why: &str) -> RunRecord {
    let ended = how(status);
    let tail = tail(&files.log);
    let is_error = |line: &&String| line.starts_with("error");
    let reason = if let Some(line) = tail.iter().rfind(is_error) {
        // What it says of itself explains the rest.
        line.trim_start_matches("error: ").to_owned()
    } else {
        let said = tail.last();
        let said = said.map_or_else(String::new, |line| format!("; it said: {line}"));
        format!("play ended with {ended}, and {why}{said}")
    };
    let exit = code.and_then(Exit::known);
    let verdict = exit.map_or(Verdict::Error, verdict_of);
    RunRecord {
        checks: vec![Check::new(Kind::Run, "the run begins", verdict, reason)],
        notes: tail,
        ended: if exit.is_some_and(Exit::is_signal) {
            Ended::Interrupted
        } else {
            Ended::Failed
        },
        ..RunRecord::default()
    }
}

/// The last lines of a log, escaped.
fn tail(log: &Path) -> Vec<String> {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(log)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
        let mut text = Vec::new();
        file.take(TAIL).read_to_end(&mut text)?;
        Ok(text)
    };
    let text = read().unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let mut last: Vec<String> = lines
        .rev()
        .take(TAIL_LINES)
        .map(|line| Foreign::text(line).at_most(500).to_string())
        .collect();
    last.reverse();
    last
}
