//! [`Timeline`]: the clock of a run, moved from one instant at which something is due to the next.

use std::sync::Arc;

use super::error::InProcessError;
use crate::clock::{Clock, TestClock, Timers};
use crate::time::{Duration, Ros, Time};

/// How long it takes at most until a thread that has ended is noticed.
const LOOK_EVERY: Duration = Duration::from_millis(20);
const LEAST_STEP: Duration = Duration::from_nanos(1);

/// A thread that sleeps on the clock of a run and does its work in between. As long as this exists, the clock waits
/// until the thread sleeps again before it goes on.
#[derive(Debug)]
pub struct Sleeper(Arc<()>);

impl Sleeper {
    /// Does the work of the thread, which sleeps whenever it has nothing to do.
    pub fn run<T>(self, work: impl FnOnce() -> T) -> T {
        let result = work();
        drop(self.0);
        result
    }
}

/// The clock of a run. It stands still unless it is moved; when this is dropped, all sleeps on it end
/// with an error.
#[derive(Debug)]
pub(super) struct Timeline {
    machine: TestClock,
    clock: Clock<Ros>,
    pub(super) timers: Timers,
    sleepers: Arc<()>,
    /// How long the sleepers are waited for.
    patience: Duration,
}

impl Timeline {
    pub(super) fn new(start: Time<Ros>, patience: Duration) -> Self {
        let machine = TestClock::new(start);
        let clock = machine.ros();
        Self {
            timers: Timers::new(&clock),
            clock,
            machine,
            sleepers: Arc::default(),
            patience,
        }
    }

    pub(super) fn clock(&self) -> Clock<Ros> {
        self.clock.clone()
    }

    pub(super) const fn machine(&self) -> &TestClock {
        &self.machine
    }

    pub(super) fn sleeper(&self) -> Sleeper {
        Sleeper(Arc::clone(&self.sleepers))
    }

    pub(super) fn now(&self) -> Time<Ros> {
        self.clock.now()
    }

    /// Moves the clock to `to`, and stops on the way wherever a timer is due or a sleep ends. Does not move it back.
    /// What is due at `to` is done, too: first the sleepers, then the timers.
    pub(super) fn go_to(&mut self, to: Time<Ros>) -> Result<(), InProcessError> {
        loop {
            self.wait_for_sleepers()?;
            self.timers.run_due();
            // A timer may have set off a thread, and may have moved the clock.
            self.wait_for_sleepers()?;
            let now = self.now();
            let left = to.saturating_since(now);
            if left <= Duration::ZERO {
                return Ok(());
            }
            let timer = self.timers.time_until_next_step();
            let sleep = self.machine.first_wait();
            let sleep = sleep.map(|at| at.saturating_since(now));
            let next = timer.into_iter().chain(sleep).fold(left, Duration::min);
            let step = next.max(LEAST_STEP);
            self.machine.pass(step);
            // Not `advance`: a clock that starts at zero has not started, and would stand still.
            self.machine.set(now.saturating_add(step));
        }
    }

    fn wait_for_sleepers(&self) -> Result<(), InProcessError> {
        let mut left = self.patience;
        loop {
            // Looked at again each time: a thread may end instead of sleeping again.
            let threads = Arc::strong_count(&self.sleepers) - 1;
            let span = LOOK_EVERY.min(left);
            if threads == 0 || self.machine.are_asleep(threads, span) {
                return Ok(());
            }
            left = left.saturating_sub(span);
            if left <= Duration::ZERO {
                let limit = self.patience;
                return Err(InProcessError::Awake { threads, limit });
            }
        }
    }
}

impl Drop for Timeline {
    fn drop(&mut self) {
        self.machine.writer().shut_down();
    }
}
