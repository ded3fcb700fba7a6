//! [`Settlement`]: waits until processes have settled, a slice of time after the other, in whichever thread has the
//! time for it.

use std::time::Duration as StdDuration;

use super::waits::Waiting;
use crate::ci::settle::{LookError, Settler, Unsettled};
use crate::time::Duration;

/// What waits for one settling after the other.
#[derive(Debug)]
pub(super) struct Settlement {
    settler: Settler,
    limit: Duration,
    /// How long this settling was waited for so far.
    spent: StdDuration,
}

/// The processes have settled.
#[derive(Debug)]
pub(super) struct Dealt {
    /// With how much they have dealt.
    pub(super) stirred: u64,
    /// Whether one of them has run.
    pub(super) has_run: bool,
    pub(super) took: Duration,
}

/// What came of waiting.
#[derive(Debug)]
pub(super) enum Waited {
    Settled(Dealt),
    /// They have not settled in this slice. The thread that was in the way, and what it did.
    NotYet {
        in_the_way: String,
    },
}

impl Settlement {
    pub(super) fn new(Waiting { settler, limit }: Waiting) -> Self {
        Self {
            settler,
            limit,
            spent: StdDuration::ZERO,
        }
    }

    /// How long the processes may take to settle.
    pub(super) fn limit(&self) -> Duration {
        self.limit
    }

    /// Nothing has been sent so far.
    pub(super) fn mark(&mut self) -> Result<(), LookError> {
        self.settler.mark()
    }

    /// Waits for `slice` at most. `waited` is how long they have not settled already, which counts for the limit;
    /// `stirred` counts what was sent and what has come.
    pub(super) fn wait(
        &mut self,
        waited: StdDuration,
        slice: StdDuration,
        stirred: impl FnMut() -> u64,
    ) -> Result<Waited, Unsettled> {
        match self.settler.settle_all(self.spent, slice, stirred) {
            Ok(settled) => {
                let spent = std::mem::take(&mut self.spent);
                Ok(Waited::Settled(Dealt {
                    stirred: settled.stirred,
                    has_run: settled.has_run,
                    took: (spent + settled.took).into(),
                }))
            }
            Err(Unsettled::Limit {
                thread, why, took, ..
            }) if waited + took < self.limit.to_std() => {
                self.spent += took;
                let thread = thread.map_or_else(String::new, |thread| format!("{thread}: "));
                let in_the_way = format!("{thread}{why}");
                Ok(Waited::NotYet { in_the_way })
            }
            Err(Unsettled::Limit {
                thread,
                why,
                looks,
                took,
            }) => {
                self.spent = StdDuration::ZERO;
                Err(Unsettled::Limit {
                    thread,
                    why,
                    looks,
                    took: waited + took,
                })
            }
            Err(error) => Err(error),
        }
    }
}
