//! Limits of wall time: for the whole run, and for what is waited for before it begins.

use std::time::{Duration as StdDuration, Instant};

use bagplay::time::Duration;
use crossbeam_channel::{Receiver, at, never};

/// The longest wall time of a run with all its repetitions.
#[derive(Debug)]
pub(super) struct TimeLimit {
    began: Instant,
    span: Option<Duration>,
}

impl TimeLimit {
    /// From now on; `None`: no limit.
    #[expect(clippy::disallowed_methods, reason = "the rim of the program")]
    pub(super) fn start(span: Option<Duration>) -> Self {
        Self {
            began: Instant::now(),
            span,
        }
    }

    /// How long it is; zero if there is none.
    pub(super) fn span(&self) -> Duration {
        self.span.unwrap_or_default()
    }

    pub(super) fn has_passed(&self) -> bool {
        let elapsed = self.began.elapsed();
        self.span.is_some_and(|span| elapsed >= span.to_std())
    }

    /// When it passes.
    pub(super) fn end(&self) -> Option<Instant> {
        self.began.checked_add(self.span?.to_std())
    }

    /// Tells when it has passed.
    pub(super) fn passes(&self) -> Receiver<Instant> {
        self.end().map_or_else(never, at)
    }
}

/// A time after which something is not waited for any longer.
#[derive(Debug)]
pub(super) struct Deadline(Instant, StdDuration);

impl Deadline {
    #[expect(clippy::disallowed_methods, reason = "the rim of the program")]
    pub(super) fn after(span: StdDuration) -> Self {
        Self(Instant::now(), span)
    }

    pub(super) fn has_passed(&self) -> bool {
        self.0.elapsed() >= self.1
    }
}
