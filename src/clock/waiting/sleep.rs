//! Sleeping on a clock: what a jump means to the sleeper ([`OnJump`]), how to end a sleep early
//! ([`Cancel`]) and why one ended ([`SleepError`]).
//!
//! A sleeper blocks its own thread and is woken by its deadline, a jump it minds or its cancellation, by
//! nothing else. The time is looked at before waiting, under the lock that every change takes.

use std::sync::Arc;

use super::alarms::{AlarmId, Sleeper};
use super::cancel::{Cancel, Watch};
use super::wait_queue::{Bell, Look};
use crate::clock::jump::jump_event::{JumpEvent, JumpKind};
use crate::clock::state::core::{Core, State};
use crate::clock::wall_clock::Wall;
use crate::time::{Duration, Ros, Steady, Time};

/// What a blocking call does when the time jumps (requirement T56).
///
/// Time that goes on by itself ([`Extrapolation`](crate::clock::state::extrapolate::Extrapolation)) and turns to run backwards ends
/// what a step back ends, at the turn. A call that begins later waits until the time comes back or jumps.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum OnJump {
    /// Goes on to wait for the target, which after a backward jump takes longer.
    #[default]
    Continue,
    /// Ends with [`SleepError::TimeJumped`] on a step back of any size.
    ErrorOnBackward,
    /// Ends with [`SleepError::TimeJumped`] on a step back, or forwards by `min_forward` or more even if
    /// that reaches the target. Ticks are steps too, so this says which ones are jumps.
    ErrorOnAny {
        /// The least step forwards that is a jump.
        min_forward: Duration,
    },
}

impl OnJump {
    /// The same, and the sleep ends with [`SleepError::Cancelled`] when `cancel` is.
    pub fn unless(self, cancel: &Cancel) -> SleepOptions {
        SleepOptions::from(self).unless(cancel)
    }

    /// The same, and the sleep ends with [`SleepError::TimedOut`] after `limit` of the machine's steady clock.
    pub fn within(self, limit: Duration) -> SleepOptions {
        SleepOptions::from(self).within(limit)
    }

    pub(crate) fn minds(self, event: JumpEvent) -> bool {
        match (self, event.kind) {
            (Self::ErrorOnBackward | Self::ErrorOnAny { .. }, JumpKind::Backward) => true,
            (Self::ErrorOnAny { min_forward }, JumpKind::Forward) => event.delta() >= min_forward,
            _ => false,
        }
    }
}

/// How to wait: an [`OnJump`], what may cancel it, and how long at most.
///
/// ```
/// use bagplay::clock::{Cancel, Clock, Fallback, OnJump, SleepError};
/// use bagplay::time::Duration;
/// let (clock, _writer) = Clock::ros(Fallback::Zero);
/// let cancel = Cancel::new();
/// let options = OnJump::ErrorOnBackward.unless(&cancel).within(Duration::from_millis(5));
/// # _writer.activate(); // and then nothing is heard
/// assert_eq!(clock.sleep_for(Duration::from_secs(1), options), Err(SleepError::TimedOut));
/// ```
#[derive(Clone, Debug, Default)]
pub struct SleepOptions {
    pub(crate) on_jump: OnJump,
    pub(crate) cancel: Option<Cancel>,
    limit: Option<Duration>,
}

impl SleepOptions {
    /// The same, but ends with [`SleepError::Cancelled`] when `cancel` is; nothing else cancels it then.
    #[must_use]
    pub fn unless(self, cancel: &Cancel) -> Self {
        Self {
            cancel: Some(cancel.clone()),
            ..self
        }
    }

    /// The same, but ends with [`SleepError::TimedOut`] after `limit` of the machine's steady clock, counted from the
    /// call: at once if it is not positive and there is something to wait for.
    #[must_use]
    pub fn within(self, limit: Duration) -> Self {
        Self {
            limit: Some(limit),
            ..self
        }
    }

    /// From now on.
    pub(crate) fn limits(&self, wall: &Wall) -> Limits {
        let after = |limit| wall.steady().saturating_add(limit);
        Limits {
            cancel: self.cancel.clone(),
            deadline: self.limit.map(after),
            wall: wall.clone(),
        }
    }
}

/// What ends a wait, whatever the clock shows.
pub(crate) struct Limits {
    cancel: Option<Cancel>,
    deadline: Option<Time<Steady>>,
    wall: Wall,
}

impl Limits {
    pub(crate) fn watch(&self, core: &Arc<Core>, bell: &Arc<Bell>) -> Option<Watch> {
        let cancel = self.cancel.as_ref();
        cancel.map(|cancel| cancel.watch(core, bell, None))
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(Cancel::is_cancelled)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.deadline
            .is_some_and(|deadline| self.wall.steady() >= deadline)
    }

    /// There is nothing yet: at the next change, or when the clock shows `at`, but not after the deadline.
    pub(crate) fn wait<T, E: From<SleepError>>(&self, at: Option<Time<Ros>>) -> Look<Result<T, E>> {
        if self.is_over() {
            Look::Done(Err(SleepError::TimedOut.into()))
        } else {
            let steady = self.deadline;
            Look::Again { at, steady }
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

/// Why a wait ended before what was waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SleepError {
    /// The time jumped, and [`OnJump`] asked to hear of it.
    #[error("the time jumped by {} while asleep", .0.delta())]
    TimeJumped(JumpEvent),
    /// The source took over or gave back, so that the target means another instant.
    #[error("the time source changed while asleep")]
    SourceChanged,
    /// The [`Cancel`] was cancelled, before or during the sleep.
    #[error("the sleep was cancelled")]
    Cancelled,
    /// It took longer than [`SleepOptions::within`] allows.
    #[error("the wait took longer than its time limit")]
    TimedOut,
    /// The clock's writer shut it down.
    #[error("the clock was shut down")]
    Shutdown,
    /// A jump handler cannot sleep on the clock whose jump it handles, nor on others of its
    /// [`SimTime`](crate::clock::source::sim_time::SimTime): it would wait for itself.
    #[error("asleep in a jump handler of the same source, which would never end")]
    InHandler,
    /// The system could not start the thread that wakes the tasks which sleep on a clock; only sleeps of the feature
    /// `async` end so. The cause is logged.
    #[error(
        "no thread could be started to wake the tasks that sleep on the clock\nhint: raise the limits on threads and memory"
    )]
    NoThread,
}

/// Waits for a timer and hears of jumps, until dropped. Not to be dropped under the clock's lock.
pub(crate) struct Ears {
    core: Arc<Core>,
    id: AlarmId,
}

impl Ears {
    /// Changes of source are none of its business. It rings `bell`.
    pub(crate) fn new(core: &Arc<Core>, bell: &Arc<Bell>, on_jump: OnJump) -> Self {
        let sleeper = Sleeper {
            on_jump,
            follows_timer: true,
            ..Sleeper::until(Time::MAX)
        };
        let id = core.lock().alarms.add(bell, sleeper);
        Self {
            core: Arc::clone(core),
            id,
        }
    }

    /// Whom [`Core::wait`] waits for.
    pub(crate) const fn id(&self) -> AlarmId {
        self.id
    }

    /// The jump that was asked for.
    pub(crate) fn heard(&self, state: &State) -> Option<SleepError> {
        state.alarms.sleeper(self.id).ended?.err()
    }
}

impl Drop for Ears {
    fn drop(&mut self) {
        self.core.lock().alarms.remove(self.id);
    }
}

impl Sleeper {
    /// Counted from `now`, or from the first time there is (requirement T21).
    pub(crate) fn lasting(span: Duration, state: &State, now: Time<Ros>) -> Self {
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

/// A sleep that has begun, and what it looks for.
pub(crate) struct Asleep<P> {
    alarm: AlarmId,
    on_jump: OnJump,
    limits: Limits,
    /// What is to be made of the time, until there is one to look at.
    plan: Option<P>,
}

impl<P: FnOnce(&State, Time<Ros>) -> Sleeper> Asleep<P> {
    pub(crate) fn new(
        state: &mut State,
        bell: &Arc<Bell>,
        options: &SleepOptions,
        limits: Limits,
        plan: P,
    ) -> Self {
        Self {
            // Not asleep yet: for the bell alone.
            alarm: state.alarms.add(bell, Sleeper::until(Time::MAX)),
            on_jump: options.on_jump,
            limits,
            plan: Some(plan),
        }
    }

    /// Done with until when it slept.
    pub(crate) fn look(
        &mut self,
        core: &Core,
        state: &mut State,
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

    pub(crate) fn remove(&self, state: &mut State) {
        state.alarms.remove(self.alarm);
    }
}

#[cfg(feature = "async")]
impl<P> Asleep<P> {
    pub(crate) const fn id(&self) -> AlarmId {
        self.alarm
    }

    pub(crate) const fn deadline(&self) -> Option<Time<Steady>> {
        self.limits.deadline
    }

    /// A cancellation calls for a look at this sleep alone. To be called before the first look.
    pub(crate) fn watch(&self, core: &Arc<Core>, bell: &Arc<Bell>) -> Option<Watch> {
        let cancel = self.limits.cancel.as_ref();
        cancel.map(|cancel| cancel.watch(core, bell, Some(self.alarm)))
    }
}

impl Core {
    /// Until what `plan` makes of the time, once there is one to look at; ends at once if that lies behind.
    /// Until when it slept.
    pub(crate) fn sleep(
        self: &Arc<Self>,
        options: &SleepOptions,
        plan: impl FnOnce(&State, Time<Ros>) -> Sleeper,
    ) -> Result<Time<Ros>, SleepError> {
        let bell = self.bell();
        let limits = options.limits(self.wall());
        let _watch = limits.watch(self, &bell);
        let mut state = self.lock();
        let mut asleep = Asleep::new(&mut state, &bell, options, limits, plan);
        let alarm = asleep.alarm;
        let (mut state, outcome) =
            self.wait(state, alarm, |state, now| asleep.look(self, state, now));
        asleep.remove(&mut state);
        outcome
    }

    /// Whether others are still shown `target` or later, in a handler of another clock: that waits for no
    /// handlers of this one, and then the time may be back already.
    fn shows(&self, state: &State, target: Time<Ros>) -> bool {
        state.is_gated() && self.look(|shown, wall| shown.reading.at(wall)) >= target
    }

    /// Until there is a time.
    pub(crate) fn wait_started(self: &Arc<Self>, options: &SleepOptions) -> Result<(), SleepError> {
        let bell = self.bell();
        let limits = options.limits(self.wall());
        let ears = Ears::new(self, &bell, options.on_jump);
        let _watch = limits.watch(self, &bell);
        let (_state, outcome) = self.wait(self.lock(), ears.id(), |state, now| {
            if limits.is_cancelled() {
                return Look::Done(Err(SleepError::Cancelled));
            }
            if let Some(jumped) = ears.heard(state) {
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
                // While handlers run that one has to wait for it is the time before.
                _ if is_started && (now.is_some() || cannot_wait.is_some()) => Look::Done(Ok(())),
                Some(error) => Look::Done(Err(error)),
                None => limits.wait(None),
            }
        });
        outcome
    }
}
