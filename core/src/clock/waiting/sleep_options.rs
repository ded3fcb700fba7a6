//! [`SleepOptions`]: an [`OnJump`] with a [`Cancel`] and a time limit; [`Limits`]: the latter two for one wait.

use std::sync::Arc;

use super::cancel::{Cancel, CancelRegistration};
use super::on_jump::{OnJump, SleepError};
use super::wait_queue::{Check, WaitQueue};
use super::waiters::WaiterId;
use crate::clock::core::Core;
use crate::clock::wall_clock::Wall;
use crate::time::{Duration, Ros, Steady, Time};

impl OnJump {
    /// As this, and the sleep ends with [`SleepError::Cancelled`] when `cancel` is cancelled.
    pub fn unless(self, cancel: &Cancel) -> SleepOptions {
        SleepOptions::from(self).unless(cancel)
    }

    /// As this, and the sleep ends with [`SleepError::TimedOut`] after `limit` of the machine's steady clock.
    pub fn within(self, limit: Duration) -> SleepOptions {
        SleepOptions::from(self).within(limit)
    }
}

/// How to wait: an [`OnJump`], a [`Cancel`], and a time limit.
///
/// ```
/// # use bagplay_core as bagplay;
/// use bagplay::clock::{Cancel, Clock, Fallback, OnJump, SleepError};
/// use bagplay::time::Duration;
/// let (clock, _writer) = Clock::ros(Fallback::Zero);
/// let cancel = Cancel::new();
/// let options = OnJump::ErrorOnBackward.unless(&cancel).within(Duration::from_millis(5));
/// # _writer.activate(); // the source feeds nothing
/// assert_eq!(clock.sleep_for(Duration::from_secs(1), options), Err(SleepError::TimedOut));
/// ```
#[derive(Clone, Debug, Default)]
pub struct SleepOptions {
    pub(crate) on_jump: OnJump,
    pub(crate) cancel: Option<Cancel>,
    limit: Option<Duration>,
}

impl SleepOptions {
    /// As this, but ends with [`SleepError::Cancelled`] when `cancel` is cancelled; replaces an earlier [`Cancel`].
    #[must_use]
    pub fn unless(self, cancel: &Cancel) -> Self {
        Self {
            cancel: Some(cancel.clone()),
            ..self
        }
    }

    /// As this, but ends with [`SleepError::TimedOut`] after `limit` of the machine's steady clock, counted from the
    /// call that waits. If `limit` is not positive, a call that has something to wait for ends at once.
    #[must_use]
    pub fn within(self, limit: Duration) -> Self {
        Self {
            limit: Some(limit),
            ..self
        }
    }

    /// The limits of a wait that begins now.
    pub(crate) fn limits(&self, wall: &Wall) -> Limits {
        let after = |limit| wall.steady().saturating_add(limit);
        Limits {
            cancel: self.cancel.clone(),
            deadline: self.limit.map(after),
            wall: wall.clone(),
        }
    }
}

/// What can end a wait, whatever the clock shows.
pub(crate) struct Limits {
    cancel: Option<Cancel>,
    deadline: Option<Time<Steady>>,
    wall: Wall,
}

impl Limits {
    /// Registers the wait with its [`Cancel`], if it has one, until the result is dropped.
    pub(crate) fn register(
        &self,
        core: &Arc<Core>,
        wait_queue: &Arc<WaitQueue>,
    ) -> Option<CancelRegistration> {
        self.register_sleep(core, wait_queue, None)
    }

    /// As [`Limits::register`]. If `sleep` is given, a cancellation makes the thread check that sleep alone.
    pub(crate) fn register_sleep(
        &self,
        core: &Arc<Core>,
        wait_queue: &Arc<WaitQueue>,
        sleep: Option<WaiterId>,
    ) -> Option<CancelRegistration> {
        let cancel = self.cancel.as_ref();
        cancel.map(|cancel| cancel.register(core, wait_queue, sleep))
    }

    /// The instant at which the wait times out, if it has a limit.
    #[cfg(feature = "async")]
    pub(crate) const fn deadline(&self) -> Option<Time<Steady>> {
        self.deadline
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(Cancel::is_cancelled)
    }

    pub(crate) fn is_past_deadline(&self) -> bool {
        self.deadline
            .is_some_and(|deadline| self.wall.steady() >= deadline)
    }

    /// The wait goes on: check again at the next change, or when the clock shows `at`, but no later than the deadline.
    pub(crate) fn wait<T, E: From<SleepError>>(
        &self,
        at: Option<Time<Ros>>,
    ) -> Check<Result<T, E>> {
        if self.is_past_deadline() {
            Check::Done(Err(SleepError::TimedOut.into()))
        } else {
            let deadline = self.deadline;
            Check::Again { at, deadline }
        }
    }
}

impl From<OnJump> for SleepOptions {
    fn from(on_jump: OnJump) -> Self {
        Self {
            on_jump,
            ..Self::default()
        }
    }
}
