//! [`fold`]: the repetitions of a case become one record, with the rate at which it fails.

use super::exit_class::worst_exit;
use crate::ci::report::{Check, Exit, ExitClass, Kind, Repeated, RunRecord, Verdict};

/// One record for all repetitions of a case; `None` without any. It is the worst of them, of equal ones the first, with
/// the time of all of them, and a check that all have passed, or all have failed, with equal outputs.
pub fn fold(records: Vec<RunRecord>) -> Option<RunRecord> {
    let worst = worst_exit(records.iter().map(|run| run.exit_code));
    let mut repeated = Repeated::default();
    for record in &records {
        repeated.add(record);
    }
    let took_ms = records.iter().map(|run| run.took_ms).sum();
    if records.len() < 2 {
        return records.into_iter().next();
    }
    let is_worst = |run: &RunRecord| worst_exit([run.exit_code]) == worst;
    let mut run = records.into_iter().find(is_worst)?;
    // Nothing is known of repetitions that were interrupted.
    if !Exit::of(worst).is_signal() {
        let check = check(&repeated, worst);
        if check.verdict == Verdict::Failed && run.exit_code == 0 {
            run.exit_code = Exit::Verdict.code();
        }
        run.checks.push(check);
    }
    run.took_ms = took_ms;
    run.repeated = Some(repeated);
    Some(run)
}

/// The verdict on repetitions of which not all have passed, by the worst of their exit codes.
pub fn verdict_on_failures(worst: u8) -> Verdict {
    if ExitClass::of(worst) >= ExitClass::Infrastructure {
        Verdict::Error
    } else {
        Verdict::Failed
    }
}

fn check(repeated: &Repeated, worst: u8) -> Check {
    let Repeated { runs, failed, .. } = *repeated;
    let name = format!("{runs} repetitions are equal");
    let rate = f64::from(failed) / f64::from(runs) * 100.0;
    let reason = format!("{failed} of {runs} runs failed ({rate:.0} %)");
    let different = repeated.digests.len();
    if verdict_on_failures(worst) == Verdict::Error {
        Check::new(Kind::Repeat, name, Verdict::Error, reason)
    } else if different > 1 {
        let differ = format!("{runs} runs have {different} different outputs");
        let reason = match failed {
            0 => differ,
            _ => format!("{reason}; {differ}"),
        };
        Check::failed(Kind::Repeat, name, reason)
    } else if failed > 0 && failed < runs {
        Check::failed(Kind::Repeat, name, reason)
    } else {
        Check::new(Kind::Repeat, name, Verdict::Passed, reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ci::report::Ended;

    fn run(exit_code: u8, digest: &str, took_ms: f64) -> RunRecord {
        RunRecord {
            exit_code,
            digest: Some(digest.to_owned()),
            took_ms,
            ended: Ended::Complete,
            ..RunRecord::default()
        }
    }

    #[test]
    fn a_case_that_fails_now_and_then_has_failed_with_its_rate() {
        let folded = fold(vec![
            run(0, "a", 1.0),
            run(5, "a", 2.0),
            run(0, "a", 3.0),
            run(0, "a", 4.0),
        ])
        .unwrap();
        assert_eq!((folded.exit_code, folded.took_ms), (5, 10.0));
        let check = folded.checks.last().unwrap();
        assert_eq!(
            (check.verdict, check.reason.as_str()),
            (Verdict::Failed, "1 of 4 runs failed (25 %)")
        );
        let repeated = folded.repeated.unwrap();
        assert_eq!((repeated.runs, repeated.failed), (4, 1));
    }

    #[test]
    fn different_outputs_fail_although_each_run_passed() {
        let folded = fold(vec![run(0, "a", 1.0), run(0, "b", 1.0), run(0, "a", 1.0)]).unwrap();
        assert_eq!(folded.exit_code, 5);
        assert!(folded.checks[0].reason.ends_with("2 different outputs"));
        let digests = folded.repeated.unwrap().digests;
        assert_eq!(digests, [("a".to_owned(), 2), ("b".to_owned(), 1)].into());
    }

    #[test]
    fn equal_runs_pass_and_one_run_stays_as_it_is() {
        let folded = fold(vec![run(0, "a", 1.0), run(0, "a", 1.0)]).unwrap();
        assert_eq!(
            (folded.exit_code, folded.checks[0].verdict),
            (0, Verdict::Passed)
        );
        let interrupted = RunRecord {
            ended: Ended::Interrupted,
            ..run(130, "b", 1.0)
        };
        let repeated = fold(vec![run(0, "a", 1.0), interrupted]).unwrap();
        assert_eq!((repeated.exit_code, repeated.checks.len()), (130, 0));
        let repeated = repeated.repeated.unwrap();
        assert_eq!(
            (repeated.runs, repeated.failed, repeated.digests.len()),
            (1, 0, 1)
        );
        assert_eq!(fold(vec![run(5, "a", 1.0)]), Some(run(5, "a", 1.0)));
        assert_eq!(fold(Vec::new()), None);
        let broken = fold(vec![run(5, "a", 1.0), run(1, "a", 1.0)]).unwrap();
        assert_eq!(
            (broken.exit_code, broken.checks[0].verdict),
            (1, Verdict::Error)
        );
    }
}
