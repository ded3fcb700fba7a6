//! [`Timer`]: due every period of a clock. It can be polled, waited for, or be part of a
//! [`Timers`](super::timer_set::Timers).
//!
//! It owns no thread: a wait blocks the caller's thread. Its deadline is in the clock's timetable, where a jump moves
//! it together with the time: no thread sees the new time with an old deadline.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use super::schedule::{MissedTicks, Repeat, Schedule, Tick};
use super::timetable::TimerId;
use crate::clock::core::{Core, Locked};
use crate::clock::handle::{Clock, to_kind};
use crate::clock::source::keep_alive::KeepAlive;
use crate::clock::waiting::on_jump::SleepError;
use crate::clock::waiting::sleep::OpenWait;
use crate::clock::waiting::sleep_options::SleepOptions;
use crate::clock::waiting::wait_queue::Check;
use crate::time::{Duration, Kind, Ros, Time};

/// Whether a timer runs as soon as it is made.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Start {
    /// The first tick is due a period after the timer was made.
    #[default]
    Now,
    /// It is canceled until [`Timer::reset`].
    OnReset,
}

/// How a timer ticks. A plain [`Duration`] is accepted as a period.
///
/// ```
/// # use bagplay_core as bagplay;
/// use bagplay::time::Duration;
/// use bagplay::clock::{MissedTicks, TimerOptions};
/// let options = TimerOptions::new(Duration::from_millis(10)).missed(MissedTicks::Delay);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TimerOptions {
    period: Duration,
    missed: MissedTicks,
    repeat: Repeat,
    start: Start,
}

impl TimerOptions {
    /// A tick every `period`. A timer with a period of zero is due at every check.
    pub const fn new(period: Duration) -> Self {
        Self {
            period,
            missed: MissedTicks::Skip,
            repeat: Repeat::Every,
            start: Start::Now,
        }
    }

    /// One tick, after `delay`.
    pub const fn once(delay: Duration) -> Self {
        Self {
            repeat: Repeat::Once,
            ..Self::new(delay)
        }
    }

    /// What happens to ticks that were not served in time.
    #[must_use]
    pub const fn missed(self, missed: MissedTicks) -> Self {
        Self { missed, ..self }
    }

    /// Whether it runs as soon as it is made.
    #[must_use]
    pub const fn start(self, start: Start) -> Self {
        Self { start, ..self }
    }
}

impl From<Duration> for TimerOptions {
    fn from(period: Duration) -> Self {
        Self::new(period)
    }
}

/// A period that a timer or rate cannot have.
#[derive(Clone, Copy, PartialEq, Debug, thiserror::Error)]
pub enum InvalidPeriod {
    /// A timer's period is negative.
    #[error("a timer's period cannot be {0}, which is negative")]
    Negative(Duration),
    /// A rate's period is not positive.
    #[error("a rate's period must be greater than 0, not {0}")]
    NotPositive(Duration),
    /// A rate in Hz is not positive or not finite.
    #[error("a rate must be greater than 0 and finite, not {0} Hz")]
    NotARate(f64),
    /// A rate is above 1e9 Hz.
    #[error("a rate of {0} Hz has a period of less than a nanosecond; 1e9 Hz is the highest")]
    TooFast(f64),
    /// A rate's period is longer than [`Duration::MAX`].
    #[error("a rate of {0:e} Hz has a period of more than 292 years")]
    TooSlow(f64),
}

/// Why a timer does not tick.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TimerError {
    /// It was canceled, or was for one tick only; [`Timer::reset`] starts it again.
    #[error("the timer is canceled")]
    Canceled,
    /// The wait for the tick ended early.
    #[error(transparent)]
    Wait(#[from] SleepError),
}

/// A timer on a clock of kind `K`. Clones are the same timer. Hold no lock that a jump handler takes while calling its
/// methods ([`Clock::on_jump`] says why). When the time jumps, its deadline moves together with the time.
///
/// ```
/// # use bagplay_core as bagplay;
/// use bagplay::clock::{Clock, OnJump, Timer};
/// use bagplay::time::Duration;
/// let timer = Timer::new(&Clock::steady(), Duration::from_millis(2))?;
/// for _ in 0..3 {
///     let tick = timer.wait(OnJump::Continue)?;
///     assert!(tick.actual >= tick.expected);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Timer<K: Kind = Ros> {
    registration: Arc<Registration>,
    kind: PhantomData<K>,
}

/// The timer's entry in the timetable of its clock.
#[derive(Debug)]
struct Registration {
    core: Arc<Core>,
    id: TimerId,
    _keep_alive: Arc<KeepAlive>,
}

// Not generic, so optimised with this package, not with each that calls it.
impl Registration {
    fn call(&self) -> Result<Tick<Ros>, TimerError> {
        let (mut state, now, schedule) = self.read_schedule();
        if schedule.is_canceled {
            return Err(TimerError::Canceled);
        }
        let (tick, after) = schedule.called(now);
        state.timers.reschedule(self.id, after);
        Ok(tick)
    }

    fn call_if_due(&self) -> Option<Tick<Ros>> {
        let (mut state, now, schedule) = self.read_schedule();
        if schedule.is_canceled || now < schedule.next {
            return None;
        }
        let (tick, after) = schedule.called(now);
        state.timers.reschedule(self.id, after);
        Some(tick)
    }

    /// The schedule as of now: the date of a system clock may have been set back since it was read last.
    fn read_schedule(&self) -> (Locked<'_>, Time<Ros>, Schedule) {
        let mut state = self.core.lock_after_handlers();
        let now = state.now(self.core.wall());
        let schedule = state.timers.schedule_at(self.id, now);
        (state, now, schedule)
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.core.lock().timers.remove(self.id);
    }
}

impl<K: Kind> Timer<K> {
    /// A timer that is first due a period from now. On a clock that is not started, it is first due a period after the
    /// clock's first time.
    ///
    /// # Errors
    /// If the period is negative.
    pub fn new(clock: &Clock<K>, options: impl Into<TimerOptions>) -> Result<Self, InvalidPeriod> {
        let options = options.into();
        let core = Arc::clone(&clock.core);
        let mut state = core.lock_after_handlers();
        let now = state.now(core.wall());
        let schedule = Schedule {
            period: not_negative(options.period)?,
            last: now,
            next: now,
            missed: options.missed,
            repeat: options.repeat,
            is_canceled: false,
        };
        let schedule = Schedule {
            is_canceled: options.start == Start::OnReset,
            ..schedule.restarted(now)
        };
        let id = state.timers.add(core.wait_queue(), schedule);
        drop(state);
        Ok(Self {
            registration: Arc::new(Registration {
                core,
                id,
                _keep_alive: Arc::clone(&clock.keep_alive),
            }),
            kind: PhantomData,
        })
    }

    /// Whether a tick is due.
    pub fn is_ready(&self) -> bool {
        self.time_until().is_some_and(|left| left <= Duration::ZERO)
    }

    /// How long until the next tick, negative if the tick is late; `None` while canceled.
    pub fn time_until(&self) -> Option<Duration> {
        let (_state, now, schedule) = self.registration.read_schedule();
        (!schedule.is_canceled).then(|| schedule.next.saturating_since(now))
    }

    /// How long since the last call, or since the timer was made or reset if that is later.
    pub fn since_last(&self) -> Duration {
        let (_state, now, schedule) = self.registration.read_schedule();
        now.saturating_since(schedule.last)
    }

    /// Takes the tick, even one that is not due yet. The next one is one or more periods after this one and in the
    /// future; with [`MissedTicks::Burst`] it is one period after this one, so it may be due already.
    ///
    /// # Errors
    /// If the timer is canceled.
    pub fn call(&self) -> Result<Tick<K>, TimerError> {
        self.registration.call().map(tick_to_kind)
    }

    /// Takes the tick if one is due; `None` if none is, or if the timer is canceled. Nothing can happen between the
    /// check and the call, as it can between [`Timer::is_ready`] and [`Timer::call`].
    pub fn call_if_due(&self) -> Option<Tick<K>> {
        self.registration.call_if_due().map(tick_to_kind)
    }

    /// Blocks until a tick is due and takes it. Jumps move the deadline. A jump that the options ask for ends the wait;
    /// the timer itself goes on. A change of the source leaves the remaining wait as long as it was.
    ///
    /// # Errors
    /// If the timer is canceled, before the wait or during it, and if the wait ends early ([`SleepError`]).
    pub fn wait(&self, options: impl Into<SleepOptions>) -> Result<Tick<K>, TimerError> {
        let (core, id) = (&self.registration.core, self.registration.id);
        let options = options.into();
        let limits = options.limits(core.wall());
        let wait_queue = core.lock().timers.wait_queue(id);
        let open_wait = OpenWait::new(core, &wait_queue, options.on_jump);
        let _registration = limits.register(core, &wait_queue);
        let (_state, tick) = core.wait(core.lock(), open_wait.id(), |state, now| {
            if limits.is_cancelled() {
                return Check::Done(Err(SleepError::Cancelled.into()));
            }
            if state.cannot_wait_here() {
                return Check::Done(Err(SleepError::InHandler.into()));
            }
            if state.timers.schedule(id).is_canceled {
                return Check::Done(Err(TimerError::Canceled));
            }
            let Some(now) = now else {
                return limits.wait(None);
            };
            let schedule = state.timers.schedule_at(id, now);
            if let Some(jumped) = open_wait.ended_by_jump(state) {
                Check::Done(Err(jumped.into()))
            } else if now >= schedule.next {
                let (tick, after) = schedule.called(now);
                state.timers.reschedule(id, after);
                Check::Done(Ok(tick_to_kind(tick)))
            } else if state.is_shut() {
                Check::Done(Err(SleepError::Shutdown.into()))
            } else {
                limits.wait(Some(schedule.next))
            }
        });
        tick
    }

    /// Stops the ticks until [`Timer::reset`].
    pub fn cancel(&self) {
        let (mut state, _, schedule) = self.registration.read_schedule();
        let canceled = Schedule {
            is_canceled: true,
            ..schedule
        };
        state.timers.reschedule(self.registration.id, canceled);
    }

    /// Whether the timer is canceled.
    pub fn is_canceled(&self) -> bool {
        self.registration.read_schedule().2.is_canceled
    }

    /// Starts the timer again: the next tick is due a full period from now.
    pub fn reset(&self) {
        let (mut state, now, schedule) = self.registration.read_schedule();
        state
            .timers
            .reschedule(self.registration.id, schedule.restarted(now));
    }

    /// The period.
    pub fn period(&self) -> Duration {
        self.registration.read_schedule().2.period
    }

    /// Sets another period, which applies from the next call or reset on. Returns the former one.
    ///
    /// # Errors
    /// If the period is negative.
    pub fn exchange_period(&self, period: Duration) -> Result<Duration, InvalidPeriod> {
        let period = not_negative(period)?;
        let (mut state, _, schedule) = self.registration.read_schedule();
        state
            .timers
            .reschedule(self.registration.id, Schedule { period, ..schedule });
        Ok(schedule.period)
    }

    pub(crate) fn id(&self) -> TimerId {
        self.registration.id
    }

    /// Whether it is the same timer.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.registration, &other.registration)
    }
}

fn not_negative(period: Duration) -> Result<Duration, InvalidPeriod> {
    if period.is_negative() {
        Err(InvalidPeriod::Negative(period))
    } else {
        Ok(period)
    }
}

fn tick_to_kind<K: Kind>(tick: Tick<Ros>) -> Tick<K> {
    Tick {
        expected: to_kind(tick.expected),
        actual: to_kind(tick.actual),
        missed: tick.missed,
    }
}

impl<K: Kind> Clone for Timer<K> {
    fn clone(&self) -> Self {
        Self {
            registration: Arc::clone(&self.registration),
            kind: PhantomData,
        }
    }
}

impl<K: Kind> fmt::Debug for Timer<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Timer<{}>({:?})",
            K::NAME,
            self.registration.read_schedule().2
        )
    }
}
