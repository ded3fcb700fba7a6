//! What happened in a run as a record for the reports.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use bagplay::ci::gates::{GateRule, Matching, Tally};
use bagplay::ci::isolation::RunFolder;
use bagplay::ci::report::{
    Check, Ended as Reached, GateRecord, Host, Kind, OutputTopic, RunRecord, UnpromptedThread,
    Unreceived, Verdict,
};
use bagplay::ci::settle::Unprompted;
use bagplay::cli::{Ending, PlayArgs};
use bagplay::untrusted::Foreign;
use bagplay::wire::zenoh_version;

use super::checks::{EVERYTHING, UNNOTICED, checks};
use crate::app::failure::{Failure, plain};
use crate::app::run::ci::happened::Happened;
use crate::app::run::ci::held::System;
use crate::app::run::ci::result::reports::WITH_INPUTS;
use crate::app::run::ci::setup::Setup;

/// How many lines of each of its files a program under test is quoted with.
const TAIL: usize = 40;

/// When a run began, and how long it took.
#[derive(Clone, Copy, Debug)]
pub(in crate::app::run::ci) struct Span {
    /// The wall time, for the reports.
    began: SystemTime,
    /// For durations: the wall clock may be set during the run.
    from: Instant,
}

impl Span {
    #[expect(clippy::disallowed_methods, reason = "the rim of the program")]
    pub(in crate::app::run::ci) fn begin() -> Self {
        Self {
            began: SystemTime::now(),
            from: Instant::now(),
        }
    }

    fn unix_ns(self) -> i64 {
        let since = self.began.duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
    }

    fn millis(self) -> f64 {
        self.from.elapsed().as_secs_f64() * 1e3
    }
}

/// The record of a run, with the checks of the run itself.
pub(in crate::app::run::ci) fn record(
    setup: &Setup<'_>,
    happened: &Happened,
    folder: &RunFolder,
    (span, repetition): (Span, u32),
) -> RunRecord {
    let (args, system) = (setup.args, setup.system);
    let range = happened.plan.options.played.range;
    let rules = args.ci.gate.iter().map(ToString::to_string);
    let tallies = happened.progress.tallies.iter();
    let gates = rules.zip(tallies).map(|(rule, tally)| gate(rule, tally));
    let mut notes = happened.notes.clone();
    notes.extend(happened.damage());
    let topics = happened.outputs.topics.iter();
    notes.extend(topics.flat_map(OutputTopic::irregularities));
    let unreceived = happened.outputs.not_received.iter();
    let unreceived = unreceived.map(|it| Unreceived {
        topic: it.topic.clone(),
        node: it.node.clone(),
        why: it.why.clone(),
    });
    let unreceived: Vec<Unreceived> = unreceived.collect();
    notes.extend(unreceived.iter().map(Unreceived::sentence));
    let unprompted: Vec<UnpromptedThread> = happened.unprompted.iter().map(unprompted).collect();
    notes.extend(unprompted.iter().map(ToString::to_string));
    let rules_and_tallies = args.ci.gate.iter().zip(&happened.progress.tallies);
    notes.extend(rules_and_tallies.filter_map(|(rule, tally)| too_many(rule, tally, happened)));
    notes.extend(happened.left_out());
    notes.extend(happened.cut_short());
    notes.extend(nothing_tested(happened));
    notes.extend(happened.mismatches.iter().cloned());
    let recorded = happened.outputs.recorded.as_ref();
    notes.extend(recorded.iter().flat_map(|it| it.notes.clone()));
    let checks = checks(args, happened);
    let missed = checks
        .iter()
        .filter(|it| it.kind == Kind::Gate && it.verdict == Verdict::Passed);
    let missed = missed.filter(|it| !it.reason.is_empty());
    notes.extend(missed.map(|it| format!("gate {}: {}", it.name, it.reason)));
    let has_failed = checks.iter().any(|check| check.verdict != Verdict::Passed);
    let tail = if has_failed { TAIL } else { 0 };
    let mut record = RunRecord {
        played_ns: Some((range.start().as_nanos(), range.stop().as_nanos())),
        inputs: happened.inputs.clone(),
        unsent: happened.unsent.clone(),
        outputs: happened.outputs.topics.clone(),
        unreceived,
        pacing: happened.pacing,
        lateness: happened.lateness,
        gates: gates.collect(),
        settling: (happened.progress.settling.count() > 0)
            .then(|| happened.progress.settling.summary()),
        unprompted,
        digest: Some(happened.outputs.digest.to_string()),
        child: happened.child.as_ref().map(|(program, end)| match system {
            Some(system) => system.record(program, end, tail),
            None => end.record(program, tail),
        }),
        system: happened.system.clone(),
        checks,
        notes,
        timeline: happened.progress.timeline.clone(),
        ended: match happened.ended.how {
            Ending::End => Reached::Complete,
            Ending::Interrupted => Reached::Interrupted,
            Ending::Stopped | Ending::Failed => Reached::Failed,
        },
        exit_code: happened.ended.exit.code(),
        ..basis(setup, (span, repetition))
    };
    record.folder = Foreign::path(folder.path()).to_string();
    let outputs = folder.relative(&happened.recording);
    record.files.insert("outputs".into(), outputs);
    if happened.outputs.with_inputs.is_some() {
        let file = happened.recording.with_file_name(WITH_INPUTS);
        let file = folder.relative(&file);
        record.files.insert("inputs and outputs".into(), file);
    }
    if happened.child.is_some() {
        let held = system.map(System::held);
        let stdout = held.map_or_else(|| folder.stdout(), |held| held.stdout.clone());
        let stderr = held.map_or_else(|| folder.stderr(), |held| held.stderr.clone());
        let files = [("stdout", stdout), ("stderr", stderr)];
        for (what, file) in files {
            record.files.insert(what.into(), folder.relative(&file));
        }
    }
    record.took_ms = span.millis();
    record
}

/// The record of a run that this machine or the network did not let begin or go on: it has no outputs and no verdict.
pub(in crate::app::run::ci) fn record_of_failure(
    setup: &Setup<'_>,
    failure: &Failure,
    folder: &RunFolder,
    (span, repetition): (Span, u32),
) -> RunRecord {
    let why = plain(&format!("{:#}", failure.error));
    RunRecord {
        checks: vec![Check::new(Kind::Run, EVERYTHING, Verdict::Error, why)],
        folder: Foreign::path(folder.path()).to_string(),
        took_ms: span.millis(),
        ended: Reached::Failed,
        exit_code: failure.exit.code(),
        ..basis(setup, (span, repetition))
    }
}

/// The record of a run that could not read a recording or a reference.
pub(in crate::app::run::ci) fn record_of_unread(
    args: &PlayArgs,
    failure: &Failure,
    span: Span,
) -> RunRecord {
    let why = plain(&format!("{:#}", failure.error));
    RunRecord {
        checks: vec![Check::new(Kind::Run, "the run begins", Verdict::Error, why)],
        took_ms: span.millis(),
        ended: Reached::Failed,
        exit_code: failure.exit.code(),
        ..invocation(args, (span, 1))
    }
}

/// What is known of a run before it begins.
fn basis(setup: &Setup<'_>, span: (Span, u32)) -> RunRecord {
    RunRecord {
        recordings: setup.recordings(),
        read_files: setup.read_files(),
        ..invocation(setup.args, span)
    }
}

/// The command line of a run, the versions and the machine.
fn invocation(args: &PlayArgs, (span, repetition): (Span, u32)) -> RunRecord {
    let command_line = texts(std::env::args_os());
    RunRecord {
        name: name(args),
        repetition,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        host: host(),
        effective_command_line: match &args.ci.read_from {
            Some(from) => texts(from.words.iter().cloned()),
            None => command_line.clone(),
        },
        command_line,
        versions: versions(),
        began_unix_ns: span.unix_ns(),
        ..RunRecord::default()
    }
}

/// The name of a run: that of its first recording.
pub(in crate::app::run::ci) fn name(args: &PlayArgs) -> String {
    let stem = args.bags.first().and_then(|bag| bag.file_stem());
    stem.map_or_else(|| "run".to_owned(), |it| it.to_string_lossy().into_owned())
}

fn texts(words: impl Iterator<Item = OsString>) -> Vec<String> {
    let texts = words.map(|word| word.to_string_lossy().into_owned());
    texts.collect()
}

fn versions() -> BTreeMap<String, String> {
    let known = [
        ("bagplay", env!("CARGO_PKG_VERSION")),
        ("zenoh", zenoh_version()),
    ];
    let known = known.map(|(name, version)| (name.to_owned(), version.to_owned()));
    known.into()
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

/// What makes a run that passes worth little.
fn nothing_tested(happened: &Happened) -> Vec<String> {
    let mut notes = Vec::new();
    if happened.ended.how != Ending::End {
        return notes;
    }
    if happened
        .inputs
        .iter()
        .all(|input| input.subscribers.is_empty())
    {
        notes.push("no node subscribes to a topic that was played".to_owned());
    } else if happened.is_unnoticed() {
        notes.push(UNNOTICED.to_owned());
    }
    if happened
        .outputs
        .topics
        .iter()
        .all(|topic| topic.messages == 0)
    {
        notes.push("no output was received".to_owned());
    }
    notes
}

fn gate(rule: String, tally: &Tally) -> GateRecord {
    GateRecord {
        rule,
        asked: tally.asked,
        answered: tally.answered,
        missed: tally.missed,
        unrequested: tally.unrequested,
        wrong_stamps: tally.wrong_stamps,
        latency: tally.latency.summary(),
    }
}

fn unprompted(it: &Unprompted) -> UnpromptedThread {
    UnpromptedThread {
        thread: it.thread.to_string(),
        per_second: it.per_second,
    }
}

/// What there is to say about a gate with more answers than questions.
fn too_many(rule: &GateRule, tally: &Tally, happened: &Happened) -> Option<String> {
    let of_outputs = happened.publishers.iter();
    let of_outputs = of_outputs.filter(|it| rule.outputs.contains(&it.topic));
    let nodes: BTreeSet<String> = of_outputs
        .map(|it| Foreign::text(&it.node).to_string())
        .collect();
    let nodes: Vec<String> = nodes.into_iter().collect();
    let (nodes, outputs) = (nodes.join(", "), rule.outputs.join(", "));
    let Tally {
        unrequested,
        wrong_stamps,
        ..
    } = tally;
    if *wrong_stamps > 0 {
        Some(format!(
            "gate {rule}: {nodes} sent {wrong_stamps} messages of {outputs} with the wrong stamp, later than everything that was sent; they answered nothing"
        ))
    } else if *unrequested > 0 && rule.matching == Matching::Count {
        Some(format!(
            "gate {rule}: {nodes} sent {unrequested} messages of {outputs} that were not asked for; one that comes while the next question is open answers it; hint: by stamp"
        ))
    } else {
        None
    }
}
