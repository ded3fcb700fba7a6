//! What a run is judged by: expectations, a golden recording, and its repetitions.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Context;
use bagplay::bag::{Bag, Selection};
use bagplay::ci::isolation::RunFolder;
use bagplay::ci::judge::compare::{Rules, UpdateError, Updated, compare, update};
use bagplay::ci::judge::expect::{Expectations, Judged};
use bagplay::ci::judge::repeat::{Facts, Repeat, Sent};
use bagplay::ci::report::{Check, Ended, Kind, RunRecord, Verdict};
use bagplay::cli::{Exit, Plan, PlayArgs};
use bagplay::untrusted::{Foreign, read_text};

use crate::app::failure::{Failure, OrExit};
use crate::app::run::ci::happened::Happened;
use crate::app::run::ci::result::reports::WITH_INPUTS;
use crate::app::run::ci::setup::Setup;

/// The name of the check that a recording can be judged at all.
const READABLE: &str = "the outputs can be read";

/// What a run is judged by.
#[derive(Debug)]
pub(in crate::app::run::ci) struct Judges {
    expectations: Expectations,
    golden: Option<Golden>,
    /// Whether there are several runs: then a reference is written once, after all of them.
    are_many: bool,
}

#[derive(Debug)]
struct Golden {
    path: PathBuf,
    rules: Rules,
    is_updated: bool,
}

impl Judges {
    /// Reads the files that are named. What is wrong with them is known before anything is started.
    pub(in crate::app::run::ci) fn read(args: &PlayArgs) -> Result<Self, Failure> {
        let mut expectations = Expectations::default();
        for file in &args.ci.expect {
            let text = read_text(file)
                .with_context(|| format!("--expect: {}", Foreign::path(file)))
                .or_exit(Exit::Usage)?;
            let read = Expectations::parse(&text, file.as_path()).or_exit(Exit::Usage)?;
            let unrecorded = read.output_topics().find(|topic| !args.ci.receives(topic));
            if let Some(topic) = unrecorded {
                let (file, topic) = (Foreign::path(file), Foreign::text(topic));
                let error = anyhow::anyhow!(
                    "--expect: {file}: {topic} is not recorded, so nothing would be known of it; hint: --record-topics"
                );
                return Err(Failure::new(Exit::Usage, error));
            }
            expectations = expectations.and(read);
        }
        let golden = args.ci.golden.as_ref();
        let golden = golden.map(|path| Golden::read(args, path)).transpose()?;
        Ok(Self {
            expectations,
            golden,
            are_many: args.ci.repeat.get() > 1,
        })
    }

    /// The reference, if each run is judged by it.
    fn golden(&self) -> Option<&Golden> {
        let golden = self.golden.as_ref();
        golden.filter(|golden| !(golden.is_updated && self.are_many))
    }

    /// Makes the outputs of several runs the new reference, if that is asked for: those that are kept, if all runs have
    /// passed and are equal.
    pub(in crate::app::run::ci) fn update(&self, runs: &Repeat, record: &mut RunRecord) {
        let golden = self.golden.as_ref().filter(|golden| golden.is_updated);
        let (Some(golden), true) = (golden, self.are_many) else {
            return;
        };
        let groups = runs.groups();
        let kept = groups.first().and_then(|group| group.runs.first());
        let has_failed = record.checks.iter().any(|it| it.verdict != Verdict::Passed);
        let refused = |why: &str| {
            let why = format!("the golden recording is not replaced, because {why}");
            Check::new(Kind::Golden, golden.name(), Verdict::Skipped, why)
        };
        record.checks.push(match kept {
            _ if groups.len() > 1 => refused("the repetitions differ"),
            Some(kept) if !has_failed => golden.update(&kept.outputs),
            _ => refused("a run has failed"),
        });
    }

    /// The topics that a flag, an expectation or the reference names: they have to be received.
    pub(in crate::app::run::ci) fn named(&self, args: &PlayArgs) -> BTreeSet<String> {
        let flags = args.ci.outputs().into_iter().map(|(name, _)| name);
        let expected = self.expectations.topics().into_iter().map(str::to_owned);
        let golden = self.golden.iter().filter(|golden| !golden.is_updated);
        // One that cannot be read is an error of its own.
        let golden = golden.filter_map(|golden| Bag::open(&[&golden.path]).ok());
        let golden = golden.flat_map(|bag| {
            let names = bag.topics().iter().map(|topic| topic.name.clone());
            names.collect::<Vec<_>>()
        });
        flags.chain(expected).chain(golden).collect()
    }

    /// Judges what the system under test published in a run.
    pub(in crate::app::run::ci) fn judge(
        &self,
        setup: &Setup<'_>,
        happened: &Happened,
        record: &mut RunRecord,
    ) {
        if record.ended != Ended::Complete {
            self.skip(record);
            return;
        }
        let outputs = match Bag::open(&[&happened.recording]) {
            Ok(outputs) => outputs,
            Err(error) => {
                let check = Check::new(Kind::Run, READABLE, Verdict::Error, error.to_string());
                record.checks.push(check);
                self.skip(record);
                return;
            }
        };
        let topics = played_topics(setup, &happened.plan);
        let chosen = happened.plan.chosen.iter();
        let mut played_as: Vec<String> = chosen.map(|chosen| chosen.name.clone()).collect();
        if happened.plan.options.clock.is_served() {
            played_as.push("/clock".to_owned());
        }
        let judged = Judged {
            outputs: &outputs,
            inputs: Some(setup.bag),
            topics: Some(&topics),
            played_as: &played_as,
            played: Some(happened.plan.options.played.range),
            gates: &record.gates,
        };
        let checks = self.expectations.judge(&judged);
        record.checks.extend(checks);
        record.notes.extend(self.expectations.doubts(&judged));
        if let Some(golden) = self.golden() {
            golden.judge(&outputs, happened, record);
        }
    }

    /// What is not judged, because the run did not reach its end.
    fn skip(&self, record: &mut RunRecord) {
        let why = "the run did not reach its end";
        let skipped = |kind, name: String| Check::new(kind, name, Verdict::Skipped, why);
        let names = self.expectations.names();
        let expected = names.map(|name| skipped(Kind::Expectation, name.to_owned()));
        record.checks.extend(expected.collect::<Vec<_>>());
        if let Some(golden) = self.golden() {
            record.checks.push(skipped(Kind::Golden, golden.name()));
        }
    }
}

impl Golden {
    fn read(args: &PlayArgs, path: &Path) -> Result<Self, Failure> {
        let rules = match &args.ci.golden_rules {
            Some(file) => {
                let text = read_text(file)
                    .with_context(|| format!("--golden-rules: {}", Foreign::path(file)))
                    .or_exit(Exit::Usage)?;
                Rules::parse(&text, file.as_path()).or_exit(Exit::Usage)?
            }
            None => Rules::beside(path).or_exit(Exit::Usage)?,
        };
        let is_updated = args.ci.update_golden;
        if !is_updated && !path.exists() {
            let error = anyhow::anyhow!(
                "--golden: there is no {}; hint: --update-golden makes it",
                Foreign::path(path)
            );
            return Err(Failure::new(Exit::Usage, error));
        }
        if path.exists() && !path.is_file() {
            let error = anyhow::anyhow!("--golden: {} is no file", Foreign::path(path));
            return Err(Failure::new(Exit::Usage, error));
        }
        if !is_updated {
            // Not only after the run.
            Bag::open(&[path])
                .context("--golden")
                .or_exit(Exit::Failed)?;
        }
        Ok(Self {
            path: path.to_owned(),
            rules,
            is_updated,
        })
    }

    fn name(&self) -> String {
        let path = Foreign::path(&self.path);
        if self.is_updated {
            format!("{path} is up to date")
        } else {
            format!("as in {path}")
        }
    }

    fn judge(&self, outputs: &Bag, happened: &Happened, record: &mut RunRecord) {
        let has_failed = |check: &Check| check.verdict != Verdict::Passed;
        if self.is_updated {
            let check = if record.checks.iter().any(has_failed) {
                let why = "the golden recording is not replaced, because the run has failed";
                Check::new(Kind::Golden, self.name(), Verdict::Skipped, why)
            } else {
                self.update(&happened.recording)
            };
            record.checks.push(check);
            return;
        }
        let reference = match Bag::open(&[&self.path]) {
            Ok(reference) => reference,
            Err(error) => return record.checks.push(self.undecided(&error.to_string())),
        };
        match compare(&reference, outputs, &self.rules) {
            Ok(comparison) => {
                record.checks.extend(comparison.checks());
                if !comparison.is_equal() {
                    for line in comparison.to_string().lines() {
                        tracing::info!("{line}");
                    }
                }
                record.notes.extend(comparison.notes.clone());
                record.differences = comparison.differences();
                record.divergence = comparison.first;
            }
            Err(error) => record.checks.push(self.undecided(&error.to_string())),
        }
    }

    fn undecided(&self, why: &str) -> Check {
        Check::new(Kind::Golden, self.name(), Verdict::Error, why)
    }

    /// Makes the outputs the new reference.
    fn update(&self, recording: &Path) -> Check {
        let golden = Foreign::path(&self.path);
        let said = match update(recording, &self.path, &self.rules) {
            Ok(Updated::Created) => format!("{golden} was made"),
            Ok(Updated::Unchanged(_)) => format!("{golden} is as before"),
            Ok(Updated::Replaced(comparison)) => {
                for line in comparison.to_string().lines() {
                    tracing::info!("{line}");
                }
                format!("{golden} was replaced")
            }
            Ok(Updated::Unreadable(why)) => {
                format!("{golden} was replaced; it was unreadable: {why}")
            }
            // Another try would not help.
            Err(UpdateError::Empty(_)) => {
                let why = format!("nothing was published, and {golden} is not replaced");
                return Check::failed(Kind::Golden, self.name(), why);
            }
            Err(error) => return self.undecided(&error.to_string()),
        };
        tracing::info!("{said}");
        Check::new(Kind::Golden, self.name(), Verdict::Passed, said)
    }
}

/// Compares the outputs of all repetitions. `record` is the one that represents all, `plan` what was played in that
/// run.
pub(in crate::app::run::ci) fn judge_repetitions(
    setup: &Setup<'_>,
    plan: &Plan,
    runs: &Repeat,
    record: &mut RunRecord,
) {
    let topics = played_topics(setup, plan);
    let sent = Sent {
        bag: setup.bag,
        topics: &topics,
    };
    match runs.judge(&sent, &Facts::of(record, setup.args.ci.in_flight.get())) {
        Ok(verdict) => {
            if let Some(comparison) = &verdict.comparison {
                for line in comparison.to_string().lines() {
                    tracing::info!("{line}");
                }
            }
            record.checks.push(verdict.check);
            if let Some(comparison) = &verdict.comparison {
                record.differences = comparison.differences();
            }
            record.divergence = verdict.divergence.or(record.divergence.take());
        }
        Err(error) => {
            let name = "all repetitions have equal outputs";
            let why = error.to_string();
            let check = Check::new(Kind::Repeat, name, Verdict::Error, why);
            record.checks.push(check);
        }
    }
    // The others are equal to one that is kept.
    for path in runs.unneeded() {
        let _ = std::fs::remove_file(path);
        let _ = std::fs::remove_file(path.with_file_name(WITH_INPUTS));
    }
}

fn played_topics(setup: &Setup<'_>, plan: &Plan) -> Selection {
    let topics = plan.chosen.iter().map(|chosen| chosen.id);
    Selection::of(topics, setup.bag)
}

/// The files of the run that represents all repetitions are named from the folder of all of them. Of the recordings
/// with equal outputs the first is kept.
pub(in crate::app::run::ci) fn name_kept_outputs(
    folder: &RunFolder,
    runs: &Repeat,
    record: &mut RunRecord,
) {
    let inner = folder.path().join(format!("run-{}", record.repetition));
    for name in record.files.values_mut() {
        *name = folder.relative(&inner.join(&*name));
    }
    record.folder = Foreign::path(folder.path()).to_string();
    let groups = runs.groups();
    let mut own = groups
        .iter()
        .filter(|group| record.digest.as_deref() == Some(group.digest));
    if let Some(kept) = own.next().and_then(|group| group.runs.first()) {
        let name = folder.relative(&kept.outputs);
        record.files.insert("outputs".into(), name);
        let both = kept.outputs.with_file_name(WITH_INPUTS);
        if let Some(name) = record.files.get_mut("inputs and outputs") {
            *name = folder.relative(&both);
        }
    }
}
