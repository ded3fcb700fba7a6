//! Sleeping on a clock: [`Asleep`] is a sleep that has begun, [`TimerWait`] waits for a timer; [`Core`] runs both.
//!
//! A sleep blocks the caller's thread. Only its deadline, a jump that its [`OnJump`] asks for, a cancellation or its
//! time limit wakes it. It checks the time before it waits, under the lock that every change takes.

use std::sync::Arc;

#[cfg(feature = "async")]
use super::cancel::Watch;
use super::on_jump::{OnJump, SleepError};
use super::sleep_options::{Limits, SleepOptions};
use super::wait_queue::{Look, WaitQueue};
use super::waiters::{AlarmId, Sleeper};
use crate::clock::core::{Core, CoreState};
#[cfg(feature = "async")]
use crate::time::Steady;
use crate::time::{Duration, Ros, Time};

/// Waits for a timer and notes jumps, until it is dropped. Must not be dropped under the clock's lock.
pub(crate) struct TimerWait {
    core: Arc<Core>,
    id: AlarmId,
}

impl TimerWait {
    /// It ignores changes of the source. A wake-up goes to `wait_queue`.
    pub(crate) fn new(core: &Arc<Core>, wait_queue: &Arc<WaitQueue>, on_jump: OnJump) -> Self {
        let sleeper = Sleeper {
            on_jump,
            follows_timer: true,
            ..Sleeper::until(Time::MAX)
        };
        let id = core.lock().alarms.add(wait_queue, sleeper);
        Self {
            core: Arc::clone(core),
            id,
        }
    }

    /// The id to give to [`Core::wait`].
    pub(crate) const fn id(&self) -> AlarmId {
        self.id
    }

    /// The error of the jump that ends this wait, if there was one.
    pub(crate) fn heard(&self, state: &CoreState) -> Option<SleepError> {
        state.alarms.sleeper(self.id).ended?.err()
    }
}

impl Drop for TimerWait {
    fn drop(&mut self) {
        self.core.lock().alarms.remove(self.id);
    }
}

impl Sleeper {
    /// Counts from `now`, or from the clock's first time.
    pub(crate) fn lasting(span: Duration, state: &CoreState, now: Time<Ros>) -> Self {
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
pub(crate) struct Asleep<P> {
    alarm: AlarmId,
    on_jump: OnJump,
    limits: Limits,
    /// Makes the target from the time; taken when there is a time to check against.
    plan: Option<P>,
}

impl<P: FnOnce(&CoreState, Time<Ros>) -> Sleeper> Asleep<P> {
    pub(crate) fn new(
        state: &mut CoreState,
        wait_queue: &Arc<WaitQueue>,
        options: &SleepOptions,
        limits: Limits,
        plan: P,
    ) -> Self {
        Self {
            // Not a sleep yet: registered for its wait queue only.
            alarm: state.alarms.add(wait_queue, Sleeper::until(Time::MAX)),
            on_jump: options.on_jump,
            limits,
            plan: Some(plan),
        }
    }

    /// Checks whether the sleep has ended. If it ended without an error, the result is the time until which it slept.
    pub(crate) fn look(
        &mut self,
        core: &Core,
        state: &mut CoreState,
        now: Option<Time<Ros>>,
    ) -> Look<Result<Time<Ros>, SleepError>> {
        if self.limits.is_cancelled() {
            return Look::Done(Err(SleepError::Cancelled));
        }
        if state.is_fed_here() {
            return Look::Done(Err(SleepError::InHandler));
        }
        if let Some(now) = now
            && let Some(plan) = self.plan.take()
        {
            let (sleeper, on_jump) = (plan(state, now), self.on_jump);
            state
                .alarms
                .replan(self.alarm, Sleeper { on_jump, ..sleeper });
        }
        let sleeper = state.alarms.sleeper(self.alarm);
        let (until, ended) = (sleeper.until, sleeper.ended);
        match (ended.filter(|_| self.plan.is_none()), now) {
            (Some(Ok(())), _) => Look::Done(Ok(until)),
            (_, None) => self.limits.wait(None),
            (Some(Err(error)), _) => Look::Done(Err(error)),
            (None, Some(now)) if now >= until || core.shows(state, until) => Look::Done(Ok(until)),
            _ if state.is_shut() => Look::Done(Err(SleepError::Shutdown)),
            _ => self.limits.wait(Some(until)),
        }
    }

    pub(crate) fn remove(&self, state: &mut CoreState) {
        state.alarms.remove(self.alarm);
    }
}

#[cfg(feature = "async")]
impl<P> Asleep<P> {
    pub(crate) const fn id(&self) -> AlarmId {
        self.alarm
    }

    pub(crate) const fn deadline(&self) -> Option<Time<Steady>> {
        self.limits.deadline()
    }

    /// A cancellation makes the thread check this sleep alone. To be called before the first check.
    pub(crate) fn watch(&self, core: &Arc<Core>, wait_queue: &Arc<WaitQueue>) -> Option<Watch> {
        self.limits.watch_one(core, wait_queue, Some(self.alarm))
    }
}

impl Core {
    /// Sleeps until the target that `plan` makes of the time, once there is a time to check against. Returns at once if
    /// the target has passed. Returns the time until which it slept.
    pub(crate) fn sleep(
        self: &Arc<Self>,
        options: &SleepOptions,
        plan: impl FnOnce(&CoreState, Time<Ros>) -> Sleeper,
    ) -> Result<Time<Ros>, SleepError> {
        let wait_queue = self.wait_queue();
        let limits = options.limits(self.wall());
        let _watch = limits.watch(self, &wait_queue);
        let mut state = self.lock();
        let mut asleep = Asleep::new(&mut state, &wait_queue, options, limits, plan);
        let alarm = asleep.alarm;
        let (mut state, outcome) =
            self.wait(state, alarm, |state, now| asleep.look(self, state, now));
        asleep.remove(&mut state);
        outcome
    }

    /// Whether other threads are still shown `target` or later. This matters in a handler of another clock, which does
    /// not wait for the handlers of this one: the time may have been set back already.
    fn shows(&self, state: &CoreState, target: Time<Ros>) -> bool {
        state.is_gated() && self.look(|shown, wall| shown.reading.at(wall)) >= target
    }

    /// Waits until there is a time.
    pub(crate) fn wait_started(self: &Arc<Self>, options: &SleepOptions) -> Result<(), SleepError> {
        let wait_queue = self.wait_queue();
        let limits = options.limits(self.wall());
        let timer_wait = TimerWait::new(self, &wait_queue, options.on_jump);
        let _watch = limits.watch(self, &wait_queue);
        let (_state, outcome) = self.wait(self.lock(), timer_wait.id(), |state, now| {
            if limits.is_cancelled() {
                return Look::Done(Err(SleepError::Cancelled));
            }
            if let Some(jumped) = timer_wait.heard(state) {
                return Look::Done(Err(jumped));
            }
            let is_started = match now {
                Some(_) => state.shown().is_started(),
                None => self.look(|shown, _| shown.is_started()),
            };
            let cannot_wait = if state.is_fed_here() {
                Some(SleepError::InHandler)
            } else if state.is_shut() {
                Some(SleepError::Shutdown)
            } else {
                limits.is_over().then_some(SleepError::TimedOut)
            };
            match cannot_wait {
                // While handlers run that `now()` waits for, other threads are shown the time before the jump.
                _ if is_started && (now.is_some() || cannot_wait.is_some()) => Look::Done(Ok(())),
                Some(error) => Look::Done(Err(error)),
                None => limits.wait(None),
            }
        });
        outcome
    }
}
