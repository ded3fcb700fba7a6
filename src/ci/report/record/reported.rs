//! [`Reported`]: what a report is about.

use super::run::RunRecord;

/// The runs of a report, and the suite to which they belong.
#[derive(Clone, Copy, Debug)]
pub struct Reported<'a> {
    pub(in crate::ci::report) runs: &'a [RunRecord],
    /// The digest of the case list.
    pub(in crate::ci::report) suite: Option<&'a str>,
    /// Whether there is no run because no case of the suite belongs to the shard.
    pub(in crate::ci::report) is_empty_shard: bool,
}

impl<'a> Reported<'a> {
    /// The runs of the suite whose case list has this digest.
    pub const fn of_suite(runs: &'a [RunRecord], digest: &'a str) -> Self {
        Self {
            runs,
            suite: Some(digest),
            is_empty_shard: false,
        }
    }

    /// A shard to which no case of this suite belongs: it has passed.
    pub const fn of_empty_shard(digest: &'a str) -> Self {
        Self {
            runs: &[],
            suite: Some(digest),
            is_empty_shard: true,
        }
    }
}

impl<'a> From<&'a [RunRecord]> for Reported<'a> {
    fn from(runs: &'a [RunRecord]) -> Self {
        Self {
            runs,
            suite: None,
            is_empty_shard: false,
        }
    }
}

impl<'a> From<&'a Vec<RunRecord>> for Reported<'a> {
    fn from(runs: &'a Vec<RunRecord>) -> Self {
        Self::from(runs.as_slice())
    }
}

impl<'a, const N: usize> From<&'a [RunRecord; N]> for Reported<'a> {
    fn from(runs: &'a [RunRecord; N]) -> Self {
        Self::from(runs.as_slice())
    }
}
