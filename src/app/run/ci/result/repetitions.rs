//! [`Repetitions`]: the runs of `--repeat`, the record that represents them, and the verdict on all runs.

use std::path::PathBuf;

use bagplay::ci::judge::repeat::{Repeat, Repetition};
use bagplay::ci::report::{Check, Ended, Kind, Outcome, Repeated, RunRecord};
use bagplay::ci::suite::{verdict_on_failures, worst_exit};
use bagplay::cli::Exit;
use bagplay::time::Duration;

use super::checks::are_incomplete;

/// The runs so far.
#[derive(Debug, Default)]
pub(in crate::app::run::ci) struct Repetitions {
    wanted: u32,
    /// The runs whose outputs may be compared.
    runs: Repeat,
    repeated: Repeated,
    /// The record that represents all runs: the worst one, and of equal ones the first.
    record: Option<RunRecord>,
    first_failure: Option<(u32, String)>,
    /// Whether no further run may follow.
    has_ended: bool,
    /// The run that was under way when the time was up: its number, and what it waited for.
    cut_short: Option<(u32, String)>,
}

impl Repetitions {
    pub(in crate::app::run::ci) fn new(wanted: u32) -> Self {
        Self {
            wanted,
            ..Self::default()
        }
    }

    /// The number of the next run, from 1, if there is one.
    pub(in crate::app::run::ci) fn next(&self) -> Option<u32> {
        let next = self.repeated.runs.saturating_add(1);
        (!self.has_ended && next <= self.wanted).then_some(next)
    }

    /// Adds a judged run. `is_worth_repeating`: if the run did not reach its end, another one may. Returns whether it
    /// represents all runs so far.
    pub(in crate::app::run::ci) fn add(
        &mut self,
        record: RunRecord,
        outputs: PathBuf,
        is_worth_repeating: bool,
    ) -> bool {
        let is_complete = record.ended == Ended::Complete;
        // Outputs with gaps may differ although the program under test does the same.
        if is_complete && !are_incomplete(&record) {
            self.runs.add(Repetition {
                number: record.repetition,
                digest: record.digest.clone().unwrap_or_default(),
                outputs,
            });
        }
        self.repeated.add(&record);
        let has_failed = record.exit_code != 0 && record.ended != Ended::Interrupted;
        if has_failed && self.first_failure.is_none() {
            let sentence = Outcome::of(&record).sentence;
            self.first_failure = Some((record.repetition, sentence));
        }
        self.has_ended = !(is_complete || is_worth_repeating);
        let new = record.exit_code;
        let is_worse = |kept: u8| kept != new && worst_exit([kept, new]) == new;
        let kept = self.record.as_ref().map(|kept| kept.exit_code);
        let represents_all = kept.is_none_or(is_worse);
        if represents_all {
            self.record = Some(record);
        }
        represents_all
    }

    /// The time of all runs was up during a run after the first one: it does not count as a run that failed.
    pub(in crate::app::run::ci) fn cut_short(&mut self, record: &RunRecord) {
        self.cut_short = Some((record.repetition, Outcome::of(record).sentence));
    }

    /// The record of the only run, or the record that represents all runs, with the verdict on them: `judge` compares
    /// their outputs. `limit` is the time limit, if it has passed.
    pub(in crate::app::run::ci) fn finish(
        self,
        limit: Option<Duration>,
        judge: impl FnOnce(&Repeat, &mut RunRecord),
    ) -> RunRecord {
        let is_cut_short = self.next().is_some();
        let mut record = self.record.unwrap_or_default();
        if self.wanted < 2 {
            return record;
        }
        let made = self.repeated.runs;
        if let Some((number, why)) = self.first_failure {
            let failed = self.repeated.failed;
            let reason = format!("{failed} of {made} runs failed; run {number}: {why}");
            let verdict = verdict_on_failures(record.exit_code);
            let name = "every repetition passes";
            let check = Check::new(Kind::Repeat, name, verdict, reason);
            record.checks.push(check);
        }
        if let (Some(limit), true) = (limit, is_cut_short) {
            let wanted = self.wanted;
            let under_way = self
                .cut_short
                .map(|(run, why)| format!("; run {run}: {why}"));
            let under_way = under_way.unwrap_or_default();
            let reason =
                format!("{made} of {wanted} runs were made within {limit} (--timeout){under_way}");
            let check = Check::failed(Kind::Run, "all repetitions are run", reason);
            record.checks.push(check);
            if record.exit_code == 0 {
                record.exit_code = Exit::Timeout.code();
            }
        }
        judge(&self.runs, &mut record);
        record.repeated = Some(self.repeated);
        record.exit_code = Outcome::of(&record).exit_code;
        record
    }
}

#[cfg(test)]
mod tests {
    use bagplay::ci::report::{Overall, Verdict};

    use super::*;

    fn run(number: u32, ended: Ended, exit_code: u8) -> RunRecord {
        let verdict = match exit_code {
            0 => Verdict::Passed,
            4..=6 => Verdict::Failed,
            _ => Verdict::Error,
        };
        RunRecord {
            repetition: number,
            ended,
            exit_code,
            checks: vec![Check::new(Kind::Run, "a", verdict, "why")],
            ..RunRecord::default()
        }
    }

    fn of(wanted: u32, codes: &[u8]) -> Repetitions {
        let mut all = Repetitions::new(wanted);
        for code in codes {
            let number = all.next().unwrap();
            all.add(
                run(number, Ended::Complete, *code),
                PathBuf::from("a.mcap"),
                false,
            );
        }
        all
    }

    #[test]
    fn runs_that_the_time_limit_cut_off_fail_with_their_number() {
        let limit = Some(Duration::from_secs(60));
        let record = of(10, &[0, 0, 0]).finish(limit, |_, _| {});
        assert_eq!(record.exit_code, 4);
        let sentence = Outcome::of(&record).sentence;
        let said = "3 of 10 runs were made within";
        assert!(sentence.contains(said), "{sentence}");
        assert_eq!(of(3, &[0, 0, 0]).finish(limit, |_, _| {}).exit_code, 0);
        assert_eq!(of(10, &[0, 5, 0]).finish(limit, |_, _| {}).exit_code, 5);
    }

    #[test]
    fn a_run_without_a_verdict_gives_all_repetitions_none() {
        for (codes, exit, overall) in [
            (&[0, 1, 0][..], 1, Overall::Error),
            (&[0, 5, 0], 5, Overall::Failed),
            (&[0, 5, 4], 4, Overall::Failed),
            (&[5, 3, 0], 3, Overall::Error),
            (&[0, 0, 0], 0, Overall::Passed),
        ] {
            let record = of(3, codes).finish(None, |_, _| {});
            let outcome = Outcome::of(&record);
            let found = (record.exit_code, outcome.overall, outcome.exit_code);
            assert_eq!(found, (exit, overall, exit), "{codes:?}");
        }
    }

    #[test]
    fn nothing_follows_a_run_that_was_interrupted_or_fails_again() {
        let mut all = of(5, &[0]);
        all.add(run(2, Ended::Failed, 6), PathBuf::new(), true);
        assert_eq!(all.next(), Some(3));
        all.add(run(3, Ended::Interrupted, 130), PathBuf::new(), false);
        assert_eq!(all.next(), None);
        let record = all.finish(None, |runs, _| assert_eq!(runs.runs().len(), 1));
        assert_eq!(record.exit_code, 130);
        assert_eq!(Outcome::of(&record).overall, Overall::Interrupted);
        let repeated = record.repeated.unwrap();
        assert_eq!((repeated.runs, repeated.failed), (2, 1));
    }

    #[test]
    fn incomplete_outputs_are_not_compared() {
        let mut all = Repetitions::new(2);
        let lost = Check::new(
            Kind::Run,
            "the outputs are recorded",
            Verdict::Error,
            "lost",
        );
        let record = RunRecord {
            checks: vec![lost],
            ..run(1, Ended::Complete, 1)
        };
        all.add(record, PathBuf::new(), false);
        all.add(run(2, Ended::Complete, 0), PathBuf::new(), false);
        let record = all.finish(None, |runs, _| assert_eq!(runs.runs().len(), 1));
        assert_eq!(record.exit_code, 1);
    }
}
