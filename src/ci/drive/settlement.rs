//! [`Settlement`]: waits until processes have settled, a slice of time after the other, in whichever thread has the time for it.

use std::time::Duration as StdDuration;

use super::waits::Waiting;
use crate::ci::settle::{LookError, Settler, Unsettled};
use crate::time::Duration;

/// What waits for one settling after the other.
#[derive(Debug)]
pub(super) struct Settlement {
    settler: Settler,
    limit: StdDuration,
    /// How long this settling was waited for so far.
    spent: StdDuration,
}

/// The processes have settled.
#[derive(Debug)]
pub(super) struct Dealt {
    /// With how much they have dealt.
    pub(super) stirred: u64,
    pub(super) took: Duration,
    /// The processes that have ended meanwhile.
    pub(super) gone: Vec<String>,
}

impl Settlement {
    pub(super) fn new(Waiting { settler, limit }: Waiting) -> Self {
        Self {
            settler,
            limit: limit.to_std(),
            spent: StdDuration::ZERO,
        }
    }

    /// Nothing has been sent so far.
    pub(super) fn mark(&mut self) -> Result<(), LookError> {
        self.settler.mark()
    }

    /// Waits for `slice` at most; `None`: they have not settled in it. `stirred` counts what was sent and what has come.
    pub(super) fn wait(
        &mut self,
        slice: StdDuration,
        stirred: impl FnMut() -> u64,
    ) -> Result<Option<Dealt>, Unsettled> {
        match self.settler.settle_all(self.spent, slice, stirred) {
            Ok(settled) => {
                let spent = std::mem::take(&mut self.spent);
                let gone = settled.gone.iter();
                Ok(Some(Dealt {
                    stirred: settled.stirred,
                    took: (spent + settled.took).into(),
                    gone: gone
                        .map(|gone| format!("{} ({})", gone.name, gone.process))
                        .collect(),
                }))
            }
            Err(Unsettled::Limit {
                thread,
                why,
                looks,
                took,
            }) => {
                self.spent += took;
                if self.spent < self.limit {
                    return Ok(None);
                }
                let took = std::mem::take(&mut self.spent);
                Err(Unsettled::Limit {
                    thread,
                    why,
                    looks,
                    took,
                })
            }
            Err(error) => Err(error),
        }
    }
}
