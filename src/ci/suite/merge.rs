//! [`merge`]: the files of all shards become one report that names each case exactly once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::exit_class::worst_exit;
use super::shard_file::{Header, Planned, ShardFile, Why};
use crate::ci::report::{Check, Ended, Exit, ExitClass, Kind, RunRecord};
use crate::untrusted::Foreign;

/// The check of a case without a run.
const NOT_RUN: &str = "the case is run";

/// All shards together.
#[derive(Clone, PartialEq, Debug)]
pub struct Merged {
    /// Every case of the suite once, sorted by name. A case that was not run has an error that says why.
    pub runs: Vec<RunRecord>,
    /// The digest of the case list.
    pub digest: String,
    /// How many shards there are.
    pub shards: u32,
    /// What is missing, one sentence each; empty if the suite was run completely.
    pub problems: Vec<String>,
    /// The worst exit code; not 0 if something is missing.
    pub exit: u8,
}

/// Why files do not belong together.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// There are none.
    #[error("no report of a shard is given")]
    None,
    /// A file is about another suite, or about the same in another cut.
    #[error("{} and {} do not belong together: {what}", Foreign::path(&files[0]), Foreign::path(&files[1]))]
    Foreign {
        /// Both files.
        files: [PathBuf; 2],
        /// What differs.
        what: &'static str,
    },
    /// Two files are about the same shard and the same attempt.
    #[error("shard {shard}, attempt {attempt} is there twice: {} and {}", Foreign::path(&files[0]), Foreign::path(&files[1]))]
    Double {
        /// The shard.
        shard: u32,
        /// The attempt.
        attempt: u32,
        /// Both files.
        files: [PathBuf; 2],
    },
    /// A file has a case that does not belong to its shard, or has it twice.
    #[error(
        "{}: `{}` is no case of this shard, or is there twice",
        Foreign::path(file),
        Foreign::text(case)
    )]
    Stray {
        /// The file.
        file: PathBuf,
        /// The case.
        case: String,
    },
}

/// Merges the files of all shards, in any order, with all attempts at each shard.
///
/// Of several attempts the last one that has decided about a case counts. If one attempt has failed with a verdict and
/// a later one has passed, the failure counts, because trying again does not make a case pass.
pub fn merge(files: &[ShardFile]) -> Result<Merged, MergeError> {
    let first = files.first().ok_or(MergeError::None)?;
    let mut attempts: BTreeMap<(u32, u32), &ShardFile> = BTreeMap::new();
    for file in files {
        belongs(first, file)?;
        let Header { shard, attempt, .. } = file.header;
        if let Some(other) = attempts.insert((shard, attempt), file) {
            return Err(MergeError::Double {
                shard,
                attempt,
                files: [other.file.clone(), file.file.clone()],
            });
        }
    }
    let mut records: BTreeMap<&str, Vec<(u32, &RunRecord)>> = BTreeMap::new();
    for ((_, attempt), file) in &attempts {
        let mut own: BTreeSet<&str> = file
            .header
            .cases
            .iter()
            .filter(|case| case.shard == file.header.shard)
            .map(|case| case.name.as_str())
            .collect();
        for run in &file.runs {
            if !own.remove(run.name.as_str()) {
                return Err(MergeError::Stray {
                    file: file.file.clone(),
                    case: run.name.clone(),
                });
            }
            records.entry(&run.name).or_default().push((*attempt, run));
        }
    }
    let header = &first.header;
    let mut problems = Vec::new();
    let states: BTreeMap<u32, State> = (1..=header.shards)
        .map(|shard| {
            let of_shard = attempts.range((shard, 0)..=(shard, u32::MAX));
            (shard, State::of(of_shard.map(|(_, file)| *file)))
        })
        .collect();
    for (shard, _) in states.iter().filter(|(_, state)| **state == State::Missing) {
        problems.push(format!("shard {shard} of {} is missing", header.shards));
    }
    let mut runs = Vec::with_capacity(header.cases.len());
    let mut left_out = Vec::new();
    for case in &header.cases {
        let run = if let Some(attempts) = records.get(case.name.as_str()) {
            judged(case, attempts)
        } else {
            let state = states.get(&case.shard).copied().unwrap_or(State::Missing);
            let (run, reason) = state.not_run(case, header.shards);
            let name = Foreign::text(&case.name).to_string();
            if state == State::FailFast {
                left_out.push(name);
            } else {
                problems.push(format!("{name}: {reason}"));
            }
            run
        };
        runs.push(run);
    }
    // Cases were left out because another one had failed, and in another attempt that one has passed.
    let codes = runs.iter().map(|run| run.exit_code);
    if worst_exit(codes) == 0 && !left_out.is_empty() {
        let not_run = runs.iter_mut().filter(|run| run.ended == Ended::NotRun);
        for run in not_run {
            let reason = "not run, although no case has failed";
            *run = RunRecord::not_run(&run.name, NOT_RUN, reason, Exit::Failed.code());
        }
        let names = left_out.join(", ");
        problems.push(format!("not run, although no case has failed: {names}"));
    }
    let incomplete = (!problems.is_empty()).then_some(Exit::Failed.code());
    let exit = worst_exit(runs.iter().map(|run| run.exit_code).chain(incomplete));
    Ok(Merged {
        runs,
        digest: header.digest.clone(),
        shards: header.shards,
        problems,
        exit,
    })
}

fn belongs(first: &ShardFile, file: &ShardFile) -> Result<(), MergeError> {
    let (one, other) = (&first.header, &file.header);
    let what = if one.digest != other.digest
        || !one
            .cases
            .iter()
            .map(|case| &case.name)
            .eq(other.cases.iter().map(|case| &case.name))
    {
        "they are of different suites, or of the same with other scenarios or another --filter"
    } else if one.shards != other.shards {
        "they have different numbers of shards"
    } else if one.plan != other.plan || one.cases != other.cases {
        "they cut the suite differently; give all shards the same recordings and the same --timings"
    } else {
        return Ok(());
    };
    Err(MergeError::Foreign {
        files: [first.file.clone(), file.file.clone()],
        what,
    })
}

/// What became of a shard.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Missing,
    /// Its last file has no end.
    Killed,
    Interrupted,
    FailFast,
    Complete,
}

impl State {
    fn of<'a>(attempts: impl Iterator<Item = &'a ShardFile>) -> Self {
        match attempts.last() {
            None => Self::Missing,
            Some(file) => match file.end.map(|end| end.why) {
                None => Self::Killed,
                Some(Why::Interrupted) => Self::Interrupted,
                Some(Why::FailFast) => Self::FailFast,
                Some(Why::Complete) => Self::Complete,
            },
        }
    }

    /// The record of a case that was not run, and why.
    fn not_run(self, case: &Planned, shards: u32) -> (RunRecord, String) {
        let shard = format!("shard {} of {shards}", case.shard);
        let (exit_code, reason) = match self {
            Self::FailFast => (
                0,
                format!("not run: another case of {shard} has failed (--fail-fast)"),
            ),
            Self::Missing => (
                Exit::Failed.code(),
                format!("not run: the report of {shard} is missing"),
            ),
            Self::Killed => (
                Exit::Failed.code(),
                format!("not run: {shard} was killed before"),
            ),
            Self::Interrupted => (
                Exit::Terminated.code(),
                format!("not run: {shard} was interrupted before"),
            ),
            Self::Complete => (
                Exit::Failed.code(),
                format!("not run, although {shard} has ended"),
            ),
        };
        let run = RunRecord::not_run(&case.name, NOT_RUN, reason.clone(), exit_code);
        (run, reason)
    }
}

/// The record that counts, of all attempts at a case.
fn judged(case: &Planned, attempts: &[(u32, &RunRecord)]) -> RunRecord {
    let class = |run: &RunRecord| ExitClass::of(run.exit_code);
    let last = |wanted: &[ExitClass]| {
        attempts
            .iter()
            .rev()
            .find(|(_, run)| wanted.contains(&class(run)))
    };
    let passed = last(&[ExitClass::Done]);
    let failed = last(&[ExitClass::Verdict]);
    let (at, run) = failed
        .or(passed)
        .or(attempts.last())
        .copied()
        .expect("a case that has a record has an attempt");
    let mut run = run.clone();
    if let (Some((failed, _)), Some((passed, _))) = (failed, passed) {
        run.notes.push(format!(
            "failed in attempt {failed} and passed in attempt {passed}: the failure counts"
        ));
    } else if at > 1 || attempts.len() > 1 {
        run.notes.push(format!("this is of attempt {at}"));
    }
    let is_compared = run.checks.iter().any(|check| check.kind == Kind::Golden);
    if case.golden && run.exit_code == 0 && !is_compared {
        let reason = "the scenario names a reference, but nothing was compared with it";
        run.checks.push(Check::failed(
            Kind::Golden,
            "outputs are those of the reference",
            reason,
        ));
        run.exit_code = Exit::Verdict.code();
    }
    run
}
