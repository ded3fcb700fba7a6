//! [`ExitClass`]: what an exit code of `play` means for whoever decides about trying again.

/// The classes of exit codes, the mildest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ExitClass {
    /// 0.
    Done,
    /// 4, 5 and 6: the system under test has failed. Trying again would only hide it.
    Verdict,
    /// 1, 3, 130, 143 and every other code: nothing is known of the system under test. Trying again may help.
    Infrastructure,
    /// 2: no run can succeed.
    Usage,
}

impl ExitClass {
    /// The class of a code.
    pub const fn of(code: u8) -> Self {
        match code {
            0 => Self::Done,
            2 => Self::Usage,
            4..=6 => Self::Verdict,
            _ => Self::Infrastructure,
        }
    }
}

/// The worst of several exit codes: usage, then infrastructure, then a verdict, then done. Infrastructure is worse than a
/// verdict, because a verdict on all cases needs another try. Within a class the code that explains the others is worse:
/// interrupted, recording unreadable, failed; program under test failed, timeout, expectation. Codes that `play` does not
/// have become 1. Without any code it is 0.
pub fn worst_exit(codes: impl IntoIterator<Item = u8>) -> u8 {
    let rank = |code: &u8| {
        let within = match code {
            143 => 9,
            130 => 8,
            3 => 7,
            6 => 3,
            4 => 2,
            5 => 1,
            _ => 0,
        };
        (ExitClass::of(*code), within)
    };
    let worst = codes.into_iter().max_by_key(rank).unwrap_or(0);
    match worst {
        0 | 2..=6 | 130 | 143 => worst,
        _ => 1,
    }
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
