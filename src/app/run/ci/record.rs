//! What happened in a run as a record for the reports, with the checks of the run itself.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use bagplay::ci::child::{ChildEnd, Program};
use bagplay::ci::drive::OnMiss;
use bagplay::ci::gates::Tally;
use bagplay::ci::isolation::RunFolder;
use bagplay::ci::outputs::file_digest;
use bagplay::ci::report::{
    Check, Ended as Reached, GateRecord, Host, Kind, RecordedFile, RunRecord, Verdict,
};
use bagplay::cli::{Ending, Exit, PlayArgs};
use bagplay::untrusted::Foreign;

use super::once::Happened;

/// How many lines of each of its files a program under test is quoted with.
const TAIL: usize = 40;

/// When a run began, and how long it took.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    began: SystemTime,
}

impl Span {
    #[expect(clippy::disallowed_methods, reason = "the rim of the program")]
    pub(super) fn begin() -> Self {
        Self {
            began: SystemTime::now(),
        }
    }

    fn unix_ns(self) -> i64 {
        let since = self.began.duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
    }

    fn millis(self) -> f64 {
        self.began.elapsed().unwrap_or_default().as_secs_f64() * 1e3
    }
}

/// The record of a run, with the checks of the run itself.
pub(super) fn record(
    args: &PlayArgs,
    happened: &Happened,
    folder: &RunFolder,
    (span, repetition): (Span, u32),
) -> RunRecord {
    let range = happened.plan.options.played.range;
    let rules = args.ci.gate.iter().map(ToString::to_string);
    let tallies = happened.progress.tallies.iter();
    let gates = rules.zip(tallies).map(|(rule, tally)| gate(rule, tally));
    let mut notes = happened.notes.clone();
    if happened.damaged > 0 {
        let places = happened.damaged;
        notes.push(format!(
            "{places} places of the recording could not be read"
        ));
    }
    let recorded = happened.outputs.recorded.as_ref();
    notes.extend(recorded.iter().flat_map(|it| it.notes.clone()));
    let checks = checks(args, happened);
    let has_failed = checks.iter().any(|check| check.verdict != Verdict::Passed);
    let tail = if has_failed { TAIL } else { 0 };
    let mut record = RunRecord {
        name: name(args),
        repetition,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        host: host(),
        command_line: std::env::args_os()
            .map(|word| word.to_string_lossy().into_owned())
            .collect(),
        began_unix_ns: span.unix_ns(),
        recordings: args.bags.iter().flat_map(|bag| files(bag)).collect(),
        played_ns: Some((range.start().as_nanos(), range.stop().as_nanos())),
        inputs: happened.inputs.clone(),
        outputs: happened.outputs.topics.clone(),
        pacing: happened.pacing,
        gates: gates.collect(),
        settling: (happened.progress.settling.count() > 0)
            .then(|| happened.progress.settling.summary()),
        digest: Some(happened.outputs.digest.to_string()),
        child: happened
            .child
            .as_ref()
            .map(|(program, end)| end.record(program, tail)),
        checks,
        notes,
        timeline: happened.progress.timeline.clone(),
        ended: match happened.ended.how {
            Ending::End => Reached::Complete,
            Ending::Interrupted => Reached::Interrupted,
            Ending::Stopped | Ending::Failed => Reached::Failed,
        },
        exit_code: happened.ended.exit.code(),
        ..RunRecord::default()
    };
    let outputs = folder.relative(&happened.recording);
    record.files.insert("outputs".into(), outputs);
    if happened.child.is_some() {
        let files = [("stdout", folder.stdout()), ("stderr", folder.stderr())];
        for (what, file) in files {
            record.files.insert(what.into(), folder.relative(&file));
        }
    }
    record.took_ms = span.millis();
    record
}

/// The name of a run: that of its first recording.
pub(super) fn name(args: &PlayArgs) -> String {
    let stem = args.bags.first().and_then(|bag| bag.file_stem());
    stem.map_or_else(|| "run".to_owned(), |it| it.to_string_lossy().into_owned())
}

fn host() -> Host {
    let line = |path: &str| {
        let text = fs::read_to_string(path).unwrap_or_default();
        text.trim().to_owned()
    };
    let system = std::env::consts::OS;
    Host {
        name: line("/proc/sys/kernel/hostname"),
        system: format!("{system} {}", line("/proc/sys/kernel/osrelease"))
            .trim()
            .to_owned(),
        processors: std::thread::available_parallelism().map_or(0, usize::from),
    }
}

/// The files of a recording, with their digests.
fn files(bag: &Path) -> Vec<RecordedFile> {
    let paths: Vec<PathBuf> = match fs::read_dir(bag) {
        Ok(entries) => {
            let entries = entries.filter_map(Result::ok).map(|entry| entry.path());
            let mut paths: Vec<PathBuf> = entries.filter(|path| path.is_file()).collect();
            paths.sort();
            paths
        }
        Err(_) => vec![bag.to_path_buf()],
    };
    let file = |path: PathBuf| RecordedFile {
        name: Foreign::path(&path).to_string(),
        bytes: fs::metadata(&path).map_or(0, |it| it.len()),
        xxh3_128: file_digest(&path).ok(),
    };
    paths.into_iter().map(file).collect()
}

fn gate(rule: String, tally: &Tally) -> GateRecord {
    GateRecord {
        rule,
        asked: tally.asked,
        answered: tally.answered,
        missed: tally.missed,
        unrequested: tally.unrequested,
        latency: tally.latency.summary(),
    }
}

/// The checks of the run itself.
fn checks(args: &PlayArgs, happened: &Happened) -> Vec<Check> {
    let child = happened.child.as_ref();
    let child = child.map(|(program, end)| of_child(program, end, happened));
    let child = child.or_else(|| of_processes(happened));
    let gates = args.ci.gate.iter().enumerate().map(|(index, rule)| {
        let (tally, rule) = (&happened.progress.tallies[index], rule.to_string());
        of_gate(args.ci.on_miss, index, rule, tally, happened)
    });
    let run = of_run(args, happened);
    let outputs = of_outputs(happened);
    let all = child.into_iter().chain(gates).chain([run]).chain(outputs);
    all.collect()
}

fn of_child(program: &Program, end: &ChildEnd, happened: &Happened) -> Check {
    let name = format!("{} runs to the end", program.name());
    let failed = |reason: String| Check::failed(Kind::Child, name.clone(), reason);
    let has_ended = happened.ended.exit == Exit::Child;
    match &end.exit {
        _ if has_ended => failed(happened.reason.clone().unwrap_or_default()),
        // A node runs until it is asked to end, whatever its exit code.
        Some(exit) if exit.reached.is_some() || !end.was_running => failed(exit.to_string()),
        _ => Check::passed(Kind::Child, name),
    }
}

/// Processes under test that were not started by this run and failed during it.
fn of_processes(happened: &Happened) -> Option<Check> {
    let reason = || happened.reason.clone().unwrap_or_default();
    let failed = || Check::failed(Kind::Child, "the processes run to the end", reason());
    (happened.ended.exit == Exit::Child).then(failed)
}

fn of_gate(
    on_miss: OnMiss,
    index: usize,
    rule: String,
    tally: &Tally,
    happened: &Happened,
) -> Check {
    let mut missed = happened.progress.missed.iter();
    let first = missed.find(|missed| missed.rule == index);
    let open = tally.asked - tally.answered - tally.missed;
    let most = match on_miss {
        OnMiss::Fail => 0,
        OnMiss::Count(most) => most,
    };
    let reason = first.map(ToString::to_string).unwrap_or_default();
    let is_complete = happened.ended.how == Ending::End;
    if tally.missed > most {
        Check::failed(Kind::Gate, rule, reason)
    } else if is_complete && tally.asked == 0 {
        let reason =
            "nothing was asked: no message of its topic was played, or no step of the clock made";
        Check::failed(Kind::Gate, rule, reason)
    } else if open > 0 {
        let reason = format!("the run ended while {open} of {} were open", tally.asked);
        Check::new(Kind::Gate, rule, Verdict::Skipped, reason)
    } else if tally.missed > 0 {
        let (missed, asked) = (tally.missed, tally.asked);
        let reason =
            format!("{missed} of {asked} unanswered, which is allowed; the first: {reason}");
        Check::new(Kind::Gate, rule, Verdict::Passed, reason)
    } else {
        Check::passed(Kind::Gate, rule)
    }
}

fn of_run(args: &PlayArgs, happened: &Happened) -> Check {
    let name = "everything is played";
    let reason = || happened.reason.clone().unwrap_or_default();
    let check = |verdict, reason: String| Check::new(Kind::Run, name, verdict, reason);
    match (happened.ended.how, happened.ended.exit) {
        (Ending::End, _) if args.time.strict && happened.has_losses => check(
            Verdict::Failed,
            "a subscriber missed messages (--strict)".into(),
        ),
        (Ending::End, _) if args.time.strict && happened.damaged > 0 => {
            check(Verdict::Error, "the recording is damaged (--strict)".into())
        }
        (Ending::End, _) if happened.inputs.iter().all(|input| input.messages == 0) => {
            check(Verdict::Error, "no message was played".into())
        }
        (Ending::End, _) => check(Verdict::Passed, String::new()),
        (Ending::Interrupted, _) => check(Verdict::Skipped, "interrupted".into()),
        (_, Exit::Timeout) => check(Verdict::Failed, reason()),
        (_, Exit::Child) => check(Verdict::Skipped, reason()),
        (Ending::Stopped, _) => check(Verdict::Skipped, "it was stopped".into()),
        _ if happened.reason.is_some() => check(Verdict::Error, reason()),
        _ => check(Verdict::Error, "the network was lost".into()),
    }
}

/// What is wrong with the recording of the outputs: then nothing is known of them.
fn of_outputs(happened: &Happened) -> Option<Check> {
    let recorded = happened.outputs.recorded.as_ref()?;
    let name = "the outputs are recorded";
    let lost: u64 = happened.outputs.topics.iter().map(|topic| topic.lost).sum();
    let left_out: u64 = recorded.unrecorded.values().sum();
    let reason = match &recorded.error {
        Some(error) => error.to_string(),
        None if left_out > 0 => format!("{left_out} messages could not be recorded"),
        None if lost > 0 => format!("at least {lost} messages were lost on the way here"),
        None => return Some(Check::passed(Kind::Run, name)),
    };
    Some(Check::new(Kind::Run, name, Verdict::Error, reason))
}
