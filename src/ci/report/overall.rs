//! [`Outcome`]: the verdict on a run or a suite, in one word, one exit code and one sentence that names the culprit.

use super::check::{Check, Kind, Verdict};
use super::record::{Ended, Exit, ExitClass, Repeated, Reported, RunRecord};
use super::units::{millis, plural, shown};

/// The verdict in one word.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Overall {
    /// Everything was played, and every check holds.
    Passed,
    /// It was not begun, because another one had failed or the suite was interrupted.
    Skipped,
    /// A signal ended it. Nothing is known of what was not reached.
    Interrupted,
    /// It could not be judged: a retry may help.
    Error,
    /// A check does not hold: no retry helps.
    Failed,
}

impl Overall {
    /// The word: `passed`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Skipped => "skipped",
            Self::Interrupted => "interrupted",
            Self::Error => "error",
            Self::Failed => "failed",
        }
    }

    /// Whether the exit code belongs to this verdict.
    const fn has_code(self, code: u8) -> bool {
        let Some(exit) = Exit::known(code) else {
            return false;
        };
        match self {
            Self::Passed => matches!(exit, Exit::Done),
            Self::Skipped => matches!(exit, Exit::Done) || exit.is_signal(),
            Self::Interrupted => exit.is_signal(),
            Self::Error => matches!(exit, Exit::Failed | Exit::Usage | Exit::Recording),
            Self::Failed => matches!(exit.class(), ExitClass::Verdict),
        }
    }
}

/// The verdict on a run or on several.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// In one word.
    pub overall: Overall,
    /// The exit code: that of the record if it belongs to the verdict, else the one of the culprit.
    pub exit_code: u8,
    /// In a sentence that names the culprit. Text from outside is escaped.
    pub sentence: String,
}

/// The verdict on a run. A run that was interrupted is that, whatever had failed before.
///
/// A run that did not reach its end, or has a check that was skipped although none failed, was not judged: `Error`.
pub fn verdict(run: &RunRecord) -> Overall {
    let has = |verdict| run.checks.iter().any(|check| check.verdict == verdict);
    if run.ended == Ended::NotRun {
        Overall::Skipped
    } else if run.ended == Ended::Interrupted {
        Overall::Interrupted
    } else if has(Verdict::Failed) {
        Overall::Failed
    } else if has(Verdict::Error) || has(Verdict::Skipped) || run.ended == Ended::Failed {
        Overall::Error
    } else {
        Overall::Passed
    }
}

/// The check that explains the verdict best: the first that failed, else the first that could not be decided, else the
/// first that was skipped.
///
/// Of those that failed, one of the program under test comes first, then one of a gate: both explain what follows from
/// them.
pub fn culprit(run: &RunRecord) -> Option<&Check> {
    let rank = |check: &&Check| {
        let by_verdict = match check.verdict {
            Verdict::Failed => 0,
            Verdict::Error => 1,
            Verdict::Skipped => 2,
            Verdict::Passed => 3,
        };
        let by_kind = match check.kind {
            Kind::Child => 0,
            Kind::Gate => 1,
            _ => 2,
        };
        (by_verdict, by_kind)
    };
    let first = run.checks.iter().min_by_key(rank);
    first.filter(|check| check.verdict != Verdict::Passed)
}

/// How bad a run is among others, the mildest first: by its exit code, so that the verdict on several runs is that of
/// their exit code. One that was skipped is milder than another with its exit code, and worse than one that passed.
pub(super) fn severity(run: &RunRecord) -> (ExitClass, u8, u8) {
    let (class, within) = exit_among_others(run).severity();
    let rank = match verdict(run) {
        Overall::Passed => 0,
        Overall::Skipped => 1,
        Overall::Interrupted | Overall::Error | Overall::Failed => 2,
    };
    (class, within, rank)
}

fn exit_among_others(run: &RunRecord) -> Exit {
    if run.exit_code != 0 {
        return Exit::of(run.exit_code);
    }
    Exit::of(code(verdict(run), culprit(run).map(|check| check.kind)))
}

impl Outcome {
    /// The verdict on a run.
    pub fn of(run: &RunRecord) -> Self {
        let overall = verdict(run);
        let culprit = culprit(run);
        let exit_code = if overall.has_code(run.exit_code) {
            run.exit_code
        } else {
            code(overall, culprit.map(|check| check.kind))
        };
        let sentence = match overall {
            Overall::Passed if run.checks.is_empty() => {
                "everything was played, nothing was checked".to_owned()
            }
            Overall::Passed => match run.checks.len() {
                1 => "the check holds".to_owned(),
                number => format!("all {number} checks hold"),
            },
            Overall::Interrupted => interrupted(run),
            Overall::Skipped | Overall::Error | Overall::Failed => culprit.map_or_else(
                || "the run failed before its end".to_owned(),
                |check| about(check) + &others(run, check),
            ),
        };
        Self {
            overall,
            exit_code,
            sentence,
        }
    }

    /// The verdict on several runs: that of the worst. No run at all is an error, except in a shard without cases.
    pub fn of_all<'a>(reported: impl Into<Reported<'a>>) -> Self {
        let Reported {
            runs,
            is_empty_shard,
            ..
        } = reported.into();
        if is_empty_shard {
            return Self {
                overall: Overall::Passed,
                exit_code: code(Overall::Passed, None),
                sentence: "no case belongs to this shard".to_owned(),
            };
        }
        // Of equal ones, the first.
        let worst = runs.iter().rev().max_by_key(|run| severity(run));
        let Some(culprit) = worst else {
            return Self {
                overall: Overall::Error,
                exit_code: code(Overall::Error, None),
                sentence: "there is no run".to_owned(),
            };
        };
        let worst = Self::of(culprit);
        let exit = exit_among_others(culprit);
        let is_interrupted = worst.overall == Overall::Skipped && exit.is_signal();
        let overall = if is_interrupted {
            Overall::Interrupted
        } else {
            worst.overall
        };
        if runs.len() == 1 {
            return Self { overall, ..worst };
        }
        let same = |run: &&RunRecord| verdict(run) == worst.overall;
        let number = runs.iter().filter(same).count();
        let sentence = if worst.overall == Overall::Passed {
            format!("all {} passed", plural(runs.len(), "run"))
        } else {
            let what = match worst.overall {
                Overall::Failed => "failed",
                Overall::Interrupted => "were interrupted",
                Overall::Skipped => "were skipped",
                _ => "could not be judged",
            };
            let (all, name) = (plural(runs.len(), "run"), title(culprit));
            format!("{number} of {all} {what}, first {name}: {}", worst.sentence)
        };
        Self {
            overall,
            exit_code: exit.code(),
            sentence,
        }
    }
}

/// The name of a run, with its number if it is repeated. Text from outside is escaped.
pub(super) fn title(run: &RunRecord) -> String {
    let name = match run.name.as_str() {
        "" => "run".to_owned(),
        name => shown(name),
    };
    match run.repetition {
        0 | 1 => name,
        number => format!("{name} #{number}"),
    }
}

/// What became of all repetitions: `3 of 10 runs failed, 2 different digests`.
pub(super) fn repetitions(repeated: &Repeated) -> String {
    let runs = plural(usize::try_from(repeated.runs).unwrap_or(usize::MAX), "run");
    let digests = match (repeated.runs, repeated.digests.len()) {
        (0, _) => return "no run reached its end".to_owned(),
        (1, _) => "",
        (_, 0) => ", no digest",
        (_, 1) => ", equal digests",
        (_, number) => &format!(", {number} different digests"),
    };
    format!("{} of {runs} failed{digests}", repeated.failed)
}

fn code(overall: Overall, kind: Option<Kind>) -> u8 {
    let exit = match (overall, kind) {
        (Overall::Passed | Overall::Skipped, _) => Exit::Done,
        (Overall::Interrupted, _) => Exit::Interrupted,
        (Overall::Error, Some(Kind::Recording)) => Exit::Recording,
        // It names what is not there: trying again does not help.
        (Overall::Error, Some(Kind::Expectation)) => Exit::Usage,
        (Overall::Error, _) => Exit::Failed,
        (Overall::Failed, Some(Kind::Gate)) => Exit::Timeout,
        (Overall::Failed, Some(Kind::Child)) => Exit::Child,
        (Overall::Failed, _) => Exit::Verdict,
    };
    exit.code()
}

fn about(check: &Check) -> String {
    let name = shown(&check.name);
    match (check.verdict, check.reason.as_str()) {
        (Verdict::Skipped, "") => format!("{name}: skipped although nothing failed before it"),
        (_, "") => format!("{name} does not hold"),
        (_, reason) => format!("{name}: {}", shown(reason)),
    }
}

/// How many more have the verdict of this one.
fn others(run: &RunRecord, check: &Check) -> String {
    let same = |other: &&Check| other.verdict == check.verdict;
    match run.checks.iter().filter(same).count().saturating_sub(1) {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    }
}

fn interrupted(run: &RunRecord) -> String {
    let failed = |check: &&Check| check.verdict == Verdict::Failed;
    let failed = run.checks.iter().filter(failed).count();
    let before = match failed {
        0 => String::new(),
        number => format!("; {} had failed", plural(number, "check")),
    };
    // `interrupted, at 3 s of the recording: no answer yet`
    let mut checks = run.checks.iter();
    let place = checks.find_map(|check| {
        let reason = (check.kind == Kind::Run).then_some(&check.reason)?;
        reason.strip_prefix("interrupted, ")
    });
    let place = place.map_or_else(String::new, |place| format!(", {}", shown(place)));
    format!("interrupted after {}{place}{before}", millis(run.took_ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(ended: Ended, checks: &[(Kind, Verdict)]) -> RunRecord {
        let check = |(number, &(kind, verdict)): (usize, &(Kind, Verdict))| {
            Check::new(kind, format!("check {number}"), verdict, "why")
        };
        RunRecord {
            name: "case".to_owned(),
            ended,
            took_ms: 3200.0,
            checks: checks.iter().enumerate().map(check).collect(),
            ..RunRecord::default()
        }
    }

    #[test]
    fn the_verdict_the_code_and_the_sentence_of_a_run() {
        use Kind::{Child, Expectation, Gate, Golden, Recording, Run};
        use Verdict::{Error, Failed, Passed, Skipped};
        let complete = |checks| run(Ended::Complete, checks);
        for (run, overall, exit_code, sentence) in [
            (
                complete(&[]),
                Overall::Passed,
                0,
                "everything was played, nothing was checked",
            ),
            (
                complete(&[(Run, Passed)]),
                Overall::Passed,
                0,
                "the check holds",
            ),
            (
                complete(&[(Run, Passed), (Golden, Passed)]),
                Overall::Passed,
                0,
                "all 2 checks hold",
            ),
            (
                complete(&[(Run, Passed), (Golden, Failed)]),
                Overall::Failed,
                5,
                "check 1: why",
            ),
            (
                complete(&[(Expectation, Failed), (Gate, Failed), (Golden, Skipped)]),
                Overall::Failed,
                4,
                "check 1: why (and 1 more)",
            ),
            (
                complete(&[(Run, Error), (Gate, Failed), (Child, Failed)]),
                Overall::Failed,
                6,
                "check 2: why (and 1 more)",
            ),
            (
                complete(&[(Run, Passed), (Recording, Error)]),
                Overall::Error,
                3,
                "check 1: why",
            ),
            (
                complete(&[(Golden, Error)]),
                Overall::Error,
                1,
                "check 0: why",
            ),
            (
                complete(&[(Golden, Skipped)]),
                Overall::Error,
                1,
                "check 0: why",
            ),
            (
                run(Ended::Failed, &[(Run, Passed)]),
                Overall::Error,
                1,
                "the run failed before its end",
            ),
            (
                run(Ended::Interrupted, &[(Gate, Failed)]),
                Overall::Interrupted,
                130,
                "interrupted after 3.20 s; 1 check had failed",
            ),
        ] {
            let outcome = Outcome::of(&run);
            let expected = Outcome {
                overall,
                exit_code,
                sentence: sentence.to_owned(),
            };
            assert_eq!(outcome, expected, "{run:?}");
        }
    }

    #[test]
    fn the_code_of_the_record_counts_if_it_belongs_to_the_verdict() {
        let checks = [(Kind::Run, Verdict::Error)];
        for (code, expected) in [(3, 3), (0, 1), (6, 1), (143, 1)] {
            let run = RunRecord {
                exit_code: code,
                ..run(Ended::Failed, &checks)
            };
            assert_eq!(Outcome::of(&run).exit_code, expected, "{code}");
        }
        let run = RunRecord {
            exit_code: 143,
            ..run(Ended::Interrupted, &[])
        };
        assert_eq!(Outcome::of(&run).exit_code, 143);
    }

    #[test]
    fn the_verdict_of_a_suite_is_its_worst() {
        assert_eq!(Outcome::of_all(&[]).exit_code, 1);
        let passed = run(Ended::Complete, &[(Kind::Run, Verdict::Passed)]);
        let error = run(Ended::Failed, &[(Kind::Run, Verdict::Error)]);
        let failed = RunRecord {
            repetition: 2,
            ..run(Ended::Complete, &[(Kind::Gate, Verdict::Failed)])
        };
        let all = Outcome::of_all(&[passed.clone(), passed.clone()]);
        assert_eq!(
            (all.exit_code, all.sentence.as_str()),
            (0, "all 2 runs passed")
        );
        let all = Outcome::of_all(&[passed.clone(), error, failed.clone(), failed.clone()]);
        assert_eq!(all.overall, Overall::Error);
        assert_eq!(all.exit_code, 1);
        assert_eq!(
            all.sentence,
            "1 of 4 runs could not be judged, first case: check 0: why"
        );
        // Cases that were left out because another one had failed are not what the suite failed for.
        let left_out = run(Ended::NotRun, &[(Kind::Run, Verdict::Skipped)]);
        let all = Outcome::of_all(&[left_out.clone(), failed.clone(), failed]);
        assert_eq!(all.exit_code, 4);
        assert_eq!(
            all.sentence,
            "2 of 3 runs failed, first case #2: check 0: why"
        );
        let all = Outcome::of_all(&[passed.clone(), left_out]);
        assert_eq!(all.overall, Overall::Skipped);
        let interrupted = run(Ended::Interrupted, &[]);
        let all = Outcome::of_all(&[passed.clone(), interrupted.clone()]);
        assert_eq!(all.exit_code, 130);
        // A case that the interrupted suite has not begun was not interrupted.
        let not_run = RunRecord {
            exit_code: 130,
            ..run(Ended::NotRun, &[(Kind::Run, Verdict::Error)])
        };
        let all = Outcome::of_all(&[not_run.clone(), interrupted]);
        let said = "1 of 2 runs were interrupted, first case: interrupted after 3.20 s";
        assert_eq!((all.exit_code, all.sentence.as_str()), (130, said));
        let all = Outcome::of_all(&[passed, not_run]);
        assert_eq!((all.overall, all.exit_code), (Overall::Interrupted, 130));
    }

    #[test]
    fn a_case_without_a_run_has_the_verdict_of_its_exit_code() {
        for (code, overall, verdict) in [
            (0, Overall::Skipped, Verdict::Skipped),
            (1, Overall::Error, Verdict::Error),
            (2, Overall::Error, Verdict::Error),
            (143, Overall::Skipped, Verdict::Error),
        ] {
            let run = RunRecord::not_run("case", "the case is run", "why", code);
            let found = (super::verdict(&run), run.checks[0].verdict, run.exit_code);
            assert_eq!(found, (overall, verdict, code));
        }
    }

    #[test]
    fn a_sentence_has_no_control_characters() {
        let mut run = run(Ended::Complete, &[(Kind::Gate, Verdict::Failed)]);
        run.checks[0].name = "a\n\u{1b}[2J".to_owned();
        run.name = "b\r".to_owned();
        let outcome = Outcome::of_all(&[run.clone(), run]);
        assert!(
            !outcome.sentence.chars().any(char::is_control),
            "{}",
            outcome.sentence
        );
    }
}
