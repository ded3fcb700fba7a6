//! Sleeping on a clock: what a jump means to the sleeper ([`OnJump`]), how to end a sleep early
//! ([`Cancel`]) and why one ended ([`SleepError`]).
//!
//! A sleeper blocks its own thread and is woken by its deadline, a jump it minds or its cancellation, by
//! nothing else. The time is looked at before waiting, under the lock that every change takes.

use std::sync::{Arc, PoisonError, Weak};

use super::alarms::{AlarmId, Sleeper};
use super::bell::{Bell, Look};
use super::core::{Core, State};
use super::duration::Duration;
use super::jump::{JumpEvent, JumpKind};
use super::point::{Ros, Time};
use super::sync::{AtomicBool, Mutex, MutexGuard, Ordering};

/// What a blocking call does when the time jumps (requirement T56).
///
/// Time that goes on by itself ([`Extrapolation`](super::extrapolate::Extrapolation)) and turns to run backwards ends
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
        SleepOptions {
            on_jump: self,
            cancel: Some(cancel.clone()),
        }
    }

    pub(super) fn minds(self, event: JumpEvent) -> bool {
        match (self, event.kind) {
            (Self::ErrorOnBackward | Self::ErrorOnAny { .. }, JumpKind::Backward) => true,
            (Self::ErrorOnAny { min_forward }, JumpKind::Forward) => event.delta() >= min_forward,
            _ => false,
        }
    }
}

/// How to sleep: an [`OnJump`], and what may cancel it.
#[derive(Clone, Debug, Default)]
pub struct SleepOptions {
    pub(super) on_jump: OnJump,
    pub(super) cancel: Option<Cancel>,
}

impl From<OnJump> for SleepOptions {
    fn from(on_jump: OnJump) -> Self {
        Self {
            on_jump,
            cancel: None,
        }
    }
}

/// Why a sleep ended before its target.
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
    /// The clock's writer shut it down.
    #[error("the clock was shut down")]
    Shutdown,
    /// A jump handler cannot sleep on the clock whose jump it handles, nor on others of its
    /// [`SimTime`](super::sim_time::SimTime): it would wait for itself.
    #[error("asleep in a jump handler of the same source, which would never end")]
    InHandler,
}

/// Ends sleeps early. Clones are one and the same; once cancelled it stays so, for later sleeps too.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<Cancelled>);

#[derive(Debug, Default)]
struct Cancelled {
    is_cancelled: AtomicBool,
    asleep: Mutex<Vec<(Weak<Core>, Arc<Bell>)>>,
}

impl Cancel {
    /// Not cancelled yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Wakes all who sleep with it.
    pub fn cancel(&self) {
        self.0.is_cancelled.store(true, Ordering::SeqCst);
        let asleep = self.lock().clone();
        for (core, bell) in asleep {
            if let Some(core) = core.upgrade() {
                core.ring(&bell);
            }
        }
    }

    /// Whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled.load(Ordering::SeqCst)
    }

    pub(super) fn watch(&self, core: &Arc<Core>, bell: &Arc<Bell>) -> Watch<'_> {
        self.lock().push((Arc::downgrade(core), Arc::clone(bell)));
        Watch {
            cancel: self,
            bell: Arc::clone(bell),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Weak<Core>, Arc<Bell>)>> {
        self.0.asleep.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asleep with a [`Cancel`], until dropped.
pub(super) struct Watch<'a> {
    cancel: &'a Cancel,
    bell: Arc<Bell>,
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        let mut asleep = self.cancel.lock();
        if let Some(at) = asleep
            .iter()
            .position(|(_, bell)| Arc::ptr_eq(bell, &self.bell))
        {
            asleep.swap_remove(at);
        }
    }
}

/// Waits for a timer and hears of jumps, until dropped. Not to be dropped under the clock's lock.
pub(super) struct Ears {
    core: Arc<Core>,
    id: AlarmId,
}

impl Ears {
    /// Changes of source are none of its business. It rings `bell`.
    pub(super) fn new(core: &Arc<Core>, bell: &Arc<Bell>, on_jump: OnJump) -> Self {
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
    pub(super) const fn id(&self) -> AlarmId {
        self.id
    }

    /// The jump that was asked for.
    pub(super) fn heard(&self, state: &State) -> Option<SleepError> {
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
    pub(super) fn lasting(span: Duration, state: &State, now: Time<Ros>) -> Self {
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

impl Core {
    /// Until what `plan` makes of the time, once there is one to look at; ends at once if that lies behind.
    /// Until when it slept.
    pub(super) fn sleep(
        self: &Arc<Self>,
        options: &SleepOptions,
        mut plan: impl FnMut(&State, Time<Ros>) -> Sleeper,
    ) -> Result<Time<Ros>, SleepError> {
        let bell = self.bell();
        let cancel = options.cancel.as_ref();
        let _watch = cancel.map(|cancel| cancel.watch(self, &bell));
        let mut state = self.lock();
        // Not asleep yet: for the bell alone.
        let alarm = state.alarms.add(&bell, Sleeper::until(Time::MAX));
        let mut is_planned = false;
        let (mut state, outcome) = self.wait(state, alarm, |state, now| {
            if cancel.is_some_and(Cancel::is_cancelled) {
                return Look::Done(Err(SleepError::Cancelled));
            }
            if state.is_fed_here() {
                return Look::Done(Err(SleepError::InHandler));
            }
            if let (false, Some(now)) = (is_planned, now) {
                is_planned = true;
                let sleeper = plan(state, now);
                let on_jump = options.on_jump;
                state.alarms.replan(alarm, Sleeper { on_jump, ..sleeper });
            }
            let sleeper = state.alarms.sleeper(alarm);
            let (until, ended) = (sleeper.until, sleeper.ended.filter(|_| is_planned));
            match (ended, now) {
                (Some(Ok(())), _) => Look::Done(Ok(until)),
                (_, None) => Look::at_the_next_change(),
                (Some(Err(error)), _) => Look::Done(Err(error)),
                (None, Some(now)) if now >= until || self.shows(state, until) => {
                    Look::Done(Ok(until))
                }
                _ if state.is_shut() => Look::Done(Err(SleepError::Shutdown)),
                _ => Look::at_time(until),
            }
        });
        state.alarms.remove(alarm);
        outcome
    }

    /// Whether others are still shown `target` or later, in a handler of another clock: that waits for no
    /// handlers of this one, and then the time may be back already.
    fn shows(&self, state: &State, target: Time<Ros>) -> bool {
        state.is_gated() && self.look(|shown, wall| shown.reading.at(wall)) >= target
    }

    /// Whether a time came within `timeout` of the machine's steady clock.
    pub(super) fn wait_started(&self, timeout: Duration) -> bool {
        let bell = self.bell();
        let wall = self.wall();
        let deadline = wall.steady().saturating_add(timeout);
        let mut state = self.lock();
        let alarm = state.alarms.add(&bell, Sleeper::until(Time::MAX));
        let (mut state, is_started) = self.wait(state, alarm, |state, now| {
            let is_started = match now {
                Some(_) => state.shown().is_started(),
                None => self.look(|shown, _| shown.is_started()),
            };
            let is_over = state.is_shut() || state.is_fed_here() || wall.steady() >= deadline;
            if is_over || (is_started && now.is_some()) {
                Look::Done(is_started)
            } else {
                Look::at_steady(deadline)
            }
        });
        state.alarms.remove(alarm);
        is_started
    }
}
