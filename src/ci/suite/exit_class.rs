//! [`worst_exit`]: the exit code of several runs.

use crate::ci::report::Exit;

/// The worst of several exit codes: usage, then infrastructure, then a verdict, then done. Infrastructure is worse than
/// a verdict, because a verdict on all cases needs another try. Within a class the code that explains the others is
/// worse: interrupted, recording unreadable, failed; program under test failed, timeout, expectation. Codes that `play`
/// does not have become 1. Without any code it is 0.
pub fn worst_exit(codes: impl IntoIterator<Item = u8>) -> u8 {
    let worst = codes.into_iter().map(Exit::of);
    let worst = worst.max_by_key(|exit| exit.severity());
    worst.unwrap_or(Exit::Done).code()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ci::report::{Check, Ended, Kind, Outcome, RunRecord, Verdict};

    /// A run as `play` records it.
    fn run(code: u8) -> RunRecord {
        let (ended, verdict) = match code {
            0 => (Ended::Complete, Verdict::Passed),
            4..=6 => (Ended::Complete, Verdict::Failed),
            130 | 143 => (Ended::Interrupted, Verdict::Skipped),
            _ => (Ended::Failed, Verdict::Error),
        };
        RunRecord {
            ended,
            checks: vec![Check::new(Kind::Run, "a", verdict, "")],
            exit_code: code,
            ..RunRecord::default()
        }
    }

    #[test]
    fn the_verdict_in_the_reports_is_that_of_the_exit_code() {
        let codes = [0, 1, 2, 3, 4, 5, 6, 130, 143];
        for one in codes {
            for other in codes {
                let exit = worst_exit([one, other]);
                let outcome = Outcome::of_all(&[run(one), run(other)]);
                let expected = Outcome::of(&run(exit));
                assert_eq!(outcome.overall, expected.overall, "{one} {other}");
                assert_eq!(outcome.exit_code, exit, "{one} {other}");
            }
        }
    }

    #[test]
    fn the_worst_is_found_by_class_and_then_by_cause() {
        for (codes, worst) in [
            (&[][..], 0),
            (&[0, 0], 0),
            (&[0, 5], 5),
            (&[5, 4, 6], 6),
            (&[5, 4], 4),
            (&[6, 1], 1),
            (&[6, 1, 3, 130, 143], 143),
            (&[143, 2], 2),
            (&[101, 5], 1),
            (&[137], 1),
        ] {
            assert_eq!(worst_exit(codes.iter().copied()), worst, "{codes:?}");
        }
    }
}
