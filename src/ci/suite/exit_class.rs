//! [`worst_exit`]: the exit code of several runs.

use crate::ci::report::Exit;

/// The worst of several exit codes: usage, then infrastructure, then a verdict, then done. Infrastructure is worse than a
/// verdict, because a verdict on all cases needs another try. Within a class the code that explains the others is worse:
/// interrupted, recording unreadable, failed; program under test failed, timeout, expectation. Codes that `play` does not
/// have become 1. Without any code it is 0.
pub fn worst_exit(codes: impl IntoIterator<Item = u8>) -> u8 {
    let rank = |code: &Exit| {
        let within = match code {
            Exit::Terminated => 9,
            Exit::Interrupted => 8,
            Exit::Recording => 7,
            Exit::Child => 3,
            Exit::Timeout => 2,
            Exit::Verdict => 1,
            Exit::Done | Exit::Failed | Exit::Usage => 0,
        };
        (code.class(), within)
    };
    let worst = codes.into_iter().map(Exit::of).max_by_key(rank);
    worst.unwrap_or(Exit::Done).code()
}

#[cfg(test)]
mod tests {
    use super::*;

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
