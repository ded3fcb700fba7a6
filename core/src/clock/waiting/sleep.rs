//! Sleeping on a clock: [`RunningSleep`] is a sleep that has begun, [`OpenWait`] a wait that the caller's check ends,
//! as for a timer. Both run in [`Core::wait`].
//!
//! A sleep blocks the caller's thread. It is woken by its target time, a jump that its [`OnJump`] asks for, a
//! cancellation or its time limit. It checks the time before it waits, under the lock that every change takes.

use std::sync::Arc;

#[cfg(feature = "async")]
use super::cancel::CancelRegistration;
use super::on_jump::{OnJump, SleepError};
use super::sleep_options::{Limits, SleepOptions};
use super::wait_queue::{Check, WaitQueue};
use super::waiters::{WaitTarget, WaiterId};
use crate::clock::core::{Core, CoreState};
#[cfg(feature = "async")]
use crate::time::Steady;
use crate::time::{Duration, Ros, Time};

/// A wait that the check of the caller ends; jumps that end it are recorded. It is registered until it is dropped. Must
/// not be dropped under the clock's lock.
pub(crate) struct OpenWait {
    core: Arc<Core>,
    id: WaiterId,
}

impl OpenWait {
    /// It ignores changes of the source. A wake-up goes to `wait_queue`.
    pub(crate) fn new(core: &Arc<Core>, wait_queue: &Arc<WaitQueue>, on_jump: OnJump) -> Self {
        let target = WaitTarget {
            on_jump,
            is_open_ended: true,
            ..WaitTarget::until(Time::MAX)
        };
        let id = core.lock().waiters.add(wait_queue, target);
        Self {
            core: Arc::clone(core),
            id,
        }
    }

    /// The id to give to [`Core::wait`].
    pub(crate) const fn id(&self) -> WaiterId {
        self.id
    }

    /// The error of the jump that ends this wait, if there was one.
    pub(crate) fn ended_by_jump(&self, state: &CoreState) -> Option<SleepError> {
        state.waiters.target(self.id).ended?.err()
    }
}

impl Drop for OpenWait {
    fn drop(&mut self) {
        self.core.lock().waiters.remove(self.id);
    }
}

impl WaitTarget {
    /// The span counts from `now`, or from the clock's first time.
    pub(crate) fn for_span(span: Duration, state: &CoreState, now: Time<Ros>) -> Self {
        if span <= Duration::ZERO {
            Self::until(Time::MIN)
        } else if state.has_time() {
            Self::until(now.saturating_add(span))
        } else {
            Self {
                once_started: Some(span),
                ..Self::until(Time::MAX)
            }
        }
    }
}

/// A sleep that has begun, and what can end it.
pub(crate) struct RunningSleep<P> {
    id: WaiterId,
    on_jump: OnJump,
    limits: Limits,
    /// Makes the target from the time. Called once, when there is a time to check against.
    make_target: Option<P>,
}

impl<P: FnOnce(&CoreState, Time<Ros>) -> WaitTarget> RunningSleep<P> {
    pub(crate) fn new(
        state: &mut CoreState,
        wait_queue: &Arc<WaitQueue>,
        options: &SleepOptions,
        limits: Limits,
        make_target: P,
    ) -> Self {
        Self {
            // Without a target so far: registered only so that its wait queue is known.
            id: state.waiters.add(wait_queue, WaitTarget::until(Time::MAX)),
            on_jump: options.on_jump,
            limits,
            make_target: Some(make_target),
        }
    }

    /// Checks whether the sleep has ended. If it ended without an error, the result is the time until which it slept.
    pub(crate) fn check(
        &mut self,
        core: &Core,
        state: &mut CoreState,
        now: Option<Time<Ros>>,
    ) -> Check<Result<Time<Ros>, SleepError>> {
        if self.limits.is_cancelled() {
            return Check::Done(Err(SleepError::Cancelled));
        }
        if state.cannot_wait_here() {
            return Check::Done(Err(SleepError::InHandler));
        }
        if let Some(now) = now
            && let Some(make_target) = self.make_target.take()
        {
            let (target, on_jump) = (make_target(state, now), self.on_jump);
            state
                .waiters
                .set_target(self.id, WaitTarget { on_jump, ..target });
        }
        let target = state.waiters.target(self.id);
        let (until, ended) = (target.until, target.ended);
        match (ended.filter(|_| self.make_target.is_none()), now) {
            (Some(Ok(())), _) => Check::Done(Ok(until)),
            (_, None) => self.limits.wait(None),
            (Some(Err(error)), _) => Check::Done(Err(error)),
            (None, Some(now)) if now >= until || core.still_shows(state, until) => {
                Check::Done(Ok(until))
            }
            _ if state.is_shut() => Check::Done(Err(SleepError::Shutdown)),
            _ => self.limits.wait(Some(until)),
        }
    }

    pub(crate) fn remove(&self, state: &mut CoreState) {
        state.waiters.remove(self.id);
    }
}

#[cfg(feature = "async")]
impl<P> RunningSleep<P> {
    pub(crate) const fn id(&self) -> WaiterId {
        self.id
    }

    pub(crate) const fn deadline(&self) -> Option<Time<Steady>> {
        self.limits.deadline()
    }

    /// A cancellation makes the thread check this sleep alone. To be called before the first check.
    pub(crate) fn register(
        &self,
        core: &Arc<Core>,
        wait_queue: &Arc<WaitQueue>,
    ) -> Option<CancelRegistration> {
        self.limits.register_sleep(core, wait_queue, Some(self.id))
    }
}

impl Core {
    /// Sleeps until the target that `make_target` makes from the time; it is called when there is a time to check
    /// against. Returns at once if the target has passed. The result is the time until which it slept.
    pub(crate) fn sleep(
        self: &Arc<Self>,
        options: &SleepOptions,
        make_target: impl FnOnce(&CoreState, Time<Ros>) -> WaitTarget,
    ) -> Result<Time<Ros>, SleepError> {
        let wait_queue = self.wait_queue();
        let limits = options.limits(self.wall());
        let _registration = limits.register(self, &wait_queue);
        let mut state = self.lock();
        let mut sleep = RunningSleep::new(&mut state, &wait_queue, options, limits, make_target);
        let id = sleep.id;
        let (mut state, outcome) = self.wait(state, id, |state, now| sleep.check(self, state, now));
        sleep.remove(&mut state);
        outcome
    }

    /// Whether other threads still see `target` or a later time, although the time has been set back. Only a handler of
    /// another clock asks this: it does not wait for the handlers of this clock.
    fn still_shows(&self, state: &CoreState, target: Time<Ros>) -> bool {
        state.blocks_readers() && self.read_shown(|shown, wall| shown.motion.at(wall)) >= target
    }

    /// Waits until there is a time.
    pub(crate) fn wait_started(self: &Arc<Self>, options: &SleepOptions) -> Result<(), SleepError> {
        let wait_queue = self.wait_queue();
        let limits = options.limits(self.wall());
        let open_wait = OpenWait::new(self, &wait_queue, options.on_jump);
        let _registration = limits.register(self, &wait_queue);
        let (_state, outcome) = self.wait(self.lock(), open_wait.id(), |state, now| {
            if limits.is_cancelled() {
                return Check::Done(Err(SleepError::Cancelled));
            }
            if let Some(jumped) = open_wait.ended_by_jump(state) {
                return Check::Done(Err(jumped));
            }
            let is_started = match now {
                Some(_) => state.shown().is_started(),
                None => self.read_shown(|shown, _| shown.is_started()),
            };
            let cannot_wait = if state.cannot_wait_here() {
                Some(SleepError::InHandler)
            } else if state.is_shut() {
                Some(SleepError::Shutdown)
            } else {
                limits.is_past_deadline().then_some(SleepError::TimedOut)
            };
            match cannot_wait {
                // While handlers run that `now()` waits for, other threads are shown the time before the jump.
                _ if is_started && (now.is_some() || cannot_wait.is_some()) => Check::Done(Ok(())),
                Some(error) => Check::Done(Err(error)),
                None => limits.wait(None),
            }
        });
        outcome
    }
}
