//! [`InProcessError`]: why a run in this process cannot go on.

use crate::time::Duration;
use crate::untrusted::Foreign;

/// Why a run in this process cannot begin, or cannot go on.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InProcessError {
    /// The recording has no such topic.
    #[error("the recording has no topic `{}`", Foreign::text(.0))]
    NoTopic(String),
    /// A thread that was to sleep on the clock does not.
    #[error(
        "not all of the {threads} threads that are to sleep on the clock did so within {:.1} s",
        limit.as_secs_f64()
    )]
    Awake {
        /// How many threads are to sleep.
        threads: usize,
        /// How long they were waited for, in wall time.
        limit: Duration,
    },
}
