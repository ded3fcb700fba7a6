//! [`RunRecord`]: everything that is said about one run. The reports are made from it; suites pass it on as a line of
//! JSON.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::exit::Exit;
use super::number::Series;
use super::output::{OutputTopic, Unreceived};
use super::system::SystemRecord;
use crate::ci::report::check::{Check, Kind, Verdict};

/// One run: what was played, what came back, and how it was judged. Times of the log are in nanoseconds since the
/// epoch, spans of wall time in milliseconds unless a name says otherwise.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunRecord {
    /// The name of the scenario, or of the recording.
    pub name: String,
    /// The number of this run among its repetitions, from 1.
    pub repetition: u32,
    /// The version of this program.
    pub version: String,
    /// The machine.
    pub host: Host,
    /// The words of the command line.
    pub command_line: Vec<String>,
    /// The words of a command line that repeats the run without the scenario: all settings that took effect and are not
    /// defaults.
    pub effective_command_line: Vec<String>,
    /// The versions of this program and of libraries that it is built with, by name.
    pub versions: BTreeMap<String, String>,
    /// When the run began, in nanoseconds since the epoch.
    pub began_unix_ns: i64,
    /// How long it took.
    pub took_ms: f64,
    /// What was played.
    pub recordings: Vec<RecordedFile>,
    /// The other files that decide the result, as far as they existed before the run.
    pub read_files: Vec<ReadFile>,
    /// The first and the last time that was played.
    pub played_ns: Option<(i64, i64)>,
    /// What was sent, by topic.
    pub inputs: Vec<Input>,
    /// Recorded messages that were to be sent and could not be, by topic.
    pub unsent: Vec<Unsent>,
    /// What the system under test published, by topic.
    pub outputs: Vec<OutputTopic>,
    /// What it published and could not be received: not even the number of those messages is known. The first 1000
    /// publishers.
    pub unreceived: Vec<Unreceived>,
    /// How the run waited for the system under test.
    pub pacing: Pacing,
    /// How late messages were sent; `None` if they were not due at given times, because the system under test set the
    /// pace.
    pub lateness: Option<Spans>,
    /// The gates.
    pub gates: Vec<GateRecord>,
    /// How long settling took.
    pub settling: Option<Spans>,
    /// The threads of the program under test that ran before anything was sent, again and again.
    pub unprompted: Vec<UnpromptedThread>,
    /// The digest of the outputs.
    pub digest: Option<String>,
    /// The program under test, if it was started here.
    pub child: Option<ChildRecord>,
    /// The system under test, if it was there before this run and stays after it.
    pub system: Option<SystemRecord>,
    /// What was checked.
    pub checks: Vec<Check>,
    /// Where the outputs first differ from the reference, or from another repetition.
    pub divergence: Option<Divergence>,
    /// The fields in which the outputs differ from the reference, and how often.
    pub differences: Vec<FieldDifference>,
    /// What else was noticed, one sentence each.
    pub notes: Vec<String>,
    /// When what happened, for the page that shows a run; thinned out in long runs.
    pub timeline: Vec<Moment>,
    /// How the run ended.
    pub ended: Ended,
    /// The exit code of this run.
    pub exit_code: u8,
    /// What became of all repetitions, if this stands for several runs.
    pub repeated: Option<Repeated>,
    /// The folder of the run, as this machine names it.
    pub folder: String,
    /// The files that the run wrote: what they are, and their names relative to the folder of the run.
    pub files: BTreeMap<String, String>,
}

impl RunRecord {
    /// The record of a case without a run: this check says why. By the exit code it was left out (0), not begun before
    /// the suite was interrupted, or could not be run.
    pub fn not_run(case: &str, check: &str, reason: impl Into<String>, exit_code: u8) -> Self {
        let verdict = match exit_code {
            0 => Verdict::Skipped,
            _ => Verdict::Error,
        };
        Self {
            name: case.to_owned(),
            checks: vec![Check::new(Kind::Run, check, verdict, reason)],
            ended: if exit_code == 0 || Exit::of(exit_code).is_signal() {
                Ended::NotRun
            } else {
                Ended::Failed
            },
            exit_code,
            ..Self::default()
        }
    }
}

/// Several runs of one case.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Repeated {
    /// How many runs were made. Interrupted runs do not count.
    pub runs: u32,
    /// How many of them did not end with exit code 0.
    pub failed: u32,
    /// The digests of their outputs, and how many runs have each.
    pub digests: BTreeMap<String, u32>,
}

impl Repeated {
    /// Adds a run, unless it was interrupted or not begun.
    pub fn add(&mut self, run: &RunRecord) {
        if matches!(run.ended, Ended::Interrupted | Ended::NotRun) {
            return;
        }
        self.runs += 1;
        self.failed += u32::from(run.exit_code != 0);
        if let Some(digest) = &run.digest {
            *self.digests.entry(digest.clone()).or_default() += 1;
        }
    }
}

/// The machine of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// The operating system and its version.
    pub system: String,
    /// How many processors this process may use.
    pub processors: usize,
}

/// A file that was played.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RecordedFile {
    /// Its name, as it was given.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// XXH3-128 of its bytes, in hexadecimal digits; `None`: not computed.
    pub xxh3_128: Option<String>,
}

/// A file that was read, other than a recording.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ReadFile {
    /// The flag or key that names it: `scenario`, `expect`, `golden` or `golden-rules`.
    pub what: String,
    /// The file.
    #[serde(flatten)]
    pub file: RecordedFile,
}

/// A topic that was sent.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Input {
    /// Its name on the network.
    pub topic: String,
    /// Its type.
    pub type_name: String,
    /// How many messages were sent.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// How many were lost: at least so many are known not to have been received.
    pub lost: u64,
    /// The nodes that subscribe to it.
    pub subscribers: Vec<String>,
}

/// Messages of a recorded topic that could not be sent.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Unsent {
    /// The topic.
    pub topic: String,
    /// How many: of a topic that is not sent at all, those of the whole recording; `None` if it does not say.
    pub messages: Option<u64>,
    /// Why the first of them was not sent.
    pub why: String,
}

/// How a run waited for the system under test.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pacing {
    /// Not at all: messages went out at their times.
    #[default]
    Time,
    /// For the answers that gates name.
    Gates,
    /// Until its processes had settled.
    Lockstep,
    /// Both.
    LockstepAndGates,
}

impl Pacing {
    /// In words: `lockstep and gates`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Gates => "gates",
            Self::Lockstep => "lockstep",
            Self::LockstepAndGates => "lockstep and gates",
        }
    }
}

/// A gate, and what became of its questions.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct GateRecord {
    /// The rule, as it is written on the command line.
    pub rule: String,
    /// How many questions there were.
    pub asked: u64,
    /// How many of them were answered.
    pub answered: u64,
    /// How many of them were given up.
    pub missed: u64,
    /// How many messages of the outputs no question wanted.
    pub unrequested: u64,
    /// How many messages of the outputs had a stamp later than everything that was sent, if the rule goes by stamp.
    pub wrong_stamps: u64,
    /// From a question to its answer.
    pub latency: Spans,
}

/// A thread that runs although nothing is sent to its process.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct UnpromptedThread {
    /// The thread and its process: their names and numbers.
    pub thread: String,
    /// How often it ran, per second of wall time.
    pub per_second: f64,
}

impl fmt::Display for UnpromptedThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} ran {:.0} times a second without input: what it does depends on wall time, so it may differ from run to run",
            self.thread, self.per_second
        )
    }
}

/// The distribution of spans of wall time, in milliseconds.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Spans {
    /// How many.
    pub count: u64,
    /// The median.
    pub p50: f64,
    /// 99 of 100 are not longer.
    pub p99: f64,
    /// The longest.
    pub max: f64,
}

/// The program under test.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ChildRecord {
    /// Its command line.
    pub command: Vec<String>,
    /// How it ended, in words: `exit code 1`, `signal 11 (SIGSEGV)`, `ended by play`.
    pub ended: String,
    /// The last lines that it wrote, if it failed.
    pub tail: Vec<String>,
    /// Processes that it left behind and that were ended: `name (number)`.
    pub orphans: Vec<String>,
}

/// Where two series of messages differ first.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Divergence {
    /// What is compared, in words: `golden.mcap and out.mcap`.
    pub between: String,
    /// The numbers of the two runs, if repetitions of one run are compared: the first is in the place of the reference,
    /// the other in that of this run.
    pub repetitions: Option<(u32, u32)>,
    /// The topic.
    pub topic: String,
    /// The number of the message in its topic, from 0.
    pub index: u64,
    /// The log time of the message in the reference, and in this run.
    pub times_ns: (Option<i64>, Option<i64>),
    /// The path of the field; empty if a message is missing.
    pub field: String,
    /// Its value in the reference, and in this run.
    pub values: (String, String),
    /// The last input that was sent before it: topic and log time.
    pub input: Option<(String, i64)>,
    /// What may have happened in a different order, one sentence each.
    pub racing: Vec<String>,
    /// The values of the field around the place, if it is a number: in the reference, and in this run.
    #[serde(with = "super::number")]
    pub series: (Series, Series),
}

impl Divergence {
    /// The names of the two sides: `reference` and `this run`, or `run 1` and `run 3`.
    pub fn sides(&self) -> [String; 2] {
        match self.repetitions {
            Some((usual, other)) => [usual, other].map(|number| format!("run {number}")),
            None => ["reference", "this run"].map(str::to_owned),
        }
    }
}

/// How often a field differs.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FieldDifference {
    /// The topic.
    pub topic: String,
    /// The path of the field, the same for all elements of an array; empty for messages that are missing or too many.
    pub field: String,
    /// In how many messages it differs.
    pub messages: u64,
    /// The largest distance of two numbers; of stamps, in seconds.
    pub largest: Option<f64>,
}

/// Something that happened in a run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Moment {
    /// The log time.
    pub log_ns: i64,
    /// The wall time since the start of the run.
    pub wall_ms: f64,
    /// What it was.
    pub what: Happened,
    /// The topic, or the rule of a gate.
    pub of: String,
    /// From question to answer, for an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_ms: Option<f64>,
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Happened {
    /// A message was sent.
    Input,
    /// A message was received.
    Output,
    /// A question was answered.
    Answer,
    /// A question was given up.
    Miss,
}

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// Everything was played, and everything was judged.
    Complete,
    /// It failed before its end: see the checks.
    Failed,
    /// It was interrupted by a signal.
    #[default]
    Interrupted,
    /// It was not begun: another one had failed, or the suite was interrupted.
    NotRun,
}
