//! [`Clock`]: reads a clock, with the same API for ROS, system and steady time. [`JumpHandle`] keeps a handler of it
//! registered.
//!
//! A clock is a cheap handle that threads can share; it cannot move the time. A ROS clock shows the system clock until
//! a source is active, then the last time of the source, or zero before the source has fed one. `now()` is a few atomic
//! loads. The state behind the handles is in `core.rs`.

use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Weak};

use super::core::Core;
use super::wall_clock::{Wall, WallClock};
use crate::clock::jump::handler::{CalledFor, Handler};
use crate::clock::jump::jump_event::{JumpEvent, Notice, Phase, Reversal};
use crate::clock::jump::jump_filter::{InvalidFilter, JumpFilter};
use crate::clock::source::keep_alive::KeepAlive;
use crate::clock::state::change::Fallback;
use crate::clock::state::extrapolate::ClockPace;
use crate::clock::waiting::on_jump::SleepError;
use crate::clock::waiting::sleep_options::SleepOptions;
use crate::clock::waiting::waiters::WaitTarget;
use crate::time::{Duration, Kind, Ros, Steady, System, Time};

/// A clock of kind `K`. Clones show the same time. The [`SimTime`](crate::clock::source::sim_time::SimTime) that it
/// came from lives as long as there is a clone, or a timer, a rate or a registered handler of the clock.
///
/// A program that follows a clock server gets its ROS clock from a
/// [`SimTime`](crate::clock::source::sim_time::SimTime); the module's documentation shows how.
///
/// ```
/// # use bagplay_core as bagplay;
/// use bagplay::clock::Clock;
/// let before = Clock::steady().now();
/// assert!(Clock::system().now().as_nanos() > 0 && Clock::steady().now() >= before);
/// ```
pub struct Clock<K: Kind = Ros> {
    pub(crate) core: Arc<Core>,
    pub(crate) keep_alive: Arc<KeepAlive>,
    kind: PhantomData<K>,
}

/// A source is active but has not fed a time yet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
#[error("the time source has not fed a time yet")]
pub struct NotStarted;

impl Clock<Ros> {
    /// How its time moves, as far as the last value of its source tells. Does not wait for handlers.
    pub fn pace(&self) -> ClockPace {
        self.core.lock().time.pace()
    }

    /// Whether a source drives it. If not, it shows system time.
    pub fn is_active(&self) -> bool {
        self.core.read_shown(|shown, _| shown.is_active)
    }
}

impl Clock<System> {
    /// The machine's system clock, or its steady clock if it has none. Setting the date is not reported as a jump;
    /// sleeps and timers follow it within a second.
    pub fn system() -> Self {
        Self::system_on(Wall::Machine)
    }

    pub(crate) fn system_on(wall: Wall) -> Self {
        Self::of(Core::new(wall, WallClock::System, Fallback::Zero))
    }
}

impl Clock<Steady> {
    /// The machine's steady clock: it only increases and starts near boot.
    pub fn steady() -> Self {
        Self::steady_on(Wall::Machine)
    }

    pub(crate) fn steady_on(wall: Wall) -> Self {
        Self::of(Core::new(wall, WallClock::Steady, Fallback::Zero))
    }
}

impl<K: Kind> Clock<K> {
    pub(crate) fn of(core: Arc<Core>) -> Self {
        Self {
            core,
            keep_alive: Arc::default(),
            kind: PhantomData,
        }
    }

    /// The time; zero if an active source has not fed one yet. While the handlers of a backward jump or a change of
    /// source run in another thread, this call waits for them: hold no lock that a handler takes. In a handler it never
    /// waits. Without handlers it takes nanoseconds.
    #[inline]
    pub fn now(&self) -> Time<K> {
        let seen = self
            .core
            .read_shown(|shown, wall| (!shown.blocks_readers).then(|| shown.motion.at(wall)));
        to_kind(seen.unwrap_or_else(|| self.core.now_after_handlers()))
    }

    /// The time, without ever waiting for handlers: while they run it is the time before the jump, except to the thread
    /// that runs them.
    ///
    /// # Errors
    /// If an active source has not fed a time yet, where [`Clock::now`] returns zero or the fallback.
    #[inline]
    pub fn try_now(&self) -> Result<Time<K>, NotStarted> {
        let (time, is_started, blocks_readers) = self.core.read_shown(|shown, wall| {
            (
                shown.motion.at(wall),
                shown.is_started(),
                shown.blocks_readers,
            )
        });
        let (time, is_started) = if blocks_readers {
            let state = self.core.lock();
            if state.runs_handlers_here() {
                (state.now(self.core.wall()), state.shown().is_started())
            } else {
                (time, is_started)
            }
        } else {
            (time, is_started)
        };
        is_started.then_some(to_kind(time)).ok_or(NotStarted)
    }

    /// Whether there is a time. Only a ROS clock whose active source has not fed one has none.
    #[inline]
    pub fn started(&self) -> bool {
        self.try_now().is_ok()
    }

    /// Waits until there is a time; returns at once if there is one.
    ///
    /// ```no_run
    /// # use bagplay_core as bagplay;
    /// # let clock = bagplay::clock::SimTime::process().clock();
    /// use bagplay::time::Duration;
    /// use bagplay::clock::OnJump;
    /// clock.wait_started(OnJump::Continue.within(Duration::from_secs(5)))?;
    /// # Ok::<(), bagplay::clock::SleepError>(())
    /// ```
    ///
    /// # Errors
    /// As [`Clock::sleep_until`]: [`SleepError::TimedOut`] if no time has come within the limit. A jump that the
    /// options ask for ends the wait if it follows the first time before this thread has run.
    pub fn wait_started(&self, options: impl Into<SleepOptions>) -> Result<(), SleepError> {
        self.core.wait_started(&options.into())
    }

    /// Blocks for a span of this clock's time; returns at once if the span is not positive. On a clock that is not
    /// started the span counts from its first time. Hold no lock that a handler takes.
    ///
    /// ```
    /// # use bagplay_core as bagplay;
    /// use bagplay::clock::{Clock, OnJump};
    /// use bagplay::time::Duration;
    /// Clock::steady().sleep_for(Duration::from_millis(1), OnJump::Continue)?;
    /// # Ok::<(), bagplay::clock::SleepError>(())
    /// ```
    ///
    /// # Errors
    /// As [`Clock::sleep_until`].
    pub fn sleep_for(
        &self,
        span: Duration,
        options: impl Into<SleepOptions>,
    ) -> Result<(), SleepError> {
        let slept = self.core.sleep(&options.into(), |state, now| {
            WaitTarget::for_span(span, state, now)
        });
        slept.map(drop)
    }

    /// Blocks until this clock shows `target` or a later time, whatever it shows after that; returns at once if it
    /// already does. Hold no lock that a handler takes.
    ///
    /// ```
    /// # use bagplay_core as bagplay;
    /// use bagplay::clock::{Clock, OnJump};
    /// use bagplay::time::Duration;
    /// let clock = Clock::steady();
    /// clock.sleep_until(clock.now() + Duration::from_millis(1), OnJump::Continue)?;
    /// # Ok::<(), bagplay::clock::SleepError>(())
    /// ```
    ///
    /// # Errors
    /// A change of the source, a shutdown of the clock, and a call in a jump handler of the same source end the sleep;
    /// a jump, a cancellation and a time limit do so if `options` say so. [`SleepError`] tells which it was.
    pub fn sleep_until(
        &self,
        target: Time<K>,
        options: impl Into<SleepOptions>,
    ) -> Result<(), SleepError> {
        let until = Time::from_nanos(target.as_nanos());
        let slept = self
            .core
            .sleep(&options.into(), |_, _| WaitTarget::until(until));
        slept.map(drop)
    }

    /// Calls `handler` before and after each jump that matches `filter`, until the handle is dropped. System and steady
    /// clocks have no source and never jump.
    ///
    /// # Errors
    /// If the filter has no condition, or a threshold that is not positive.
    ///
    /// # What a handler may do
    /// Handlers run on the thread that moves the time, one after another, in the order of registration. To them the
    /// clock first shows the time before the jump, then the time after it. While the handlers of a backward jump or of
    /// a change of source run, [`Clock::now`], sleeps and the methods of timers wait in other threads;
    /// [`Clock::try_now`] and cancellations do not. So these rules apply:
    ///
    /// - A caller that asks for the time or sleeps holds no lock that a handler takes: take the time, then the lock.
    /// - A handler does not wait for a thread that asks this clock for the time.
    /// - It may sleep on other clocks, but not until a time that comes only when the handler is done. On the clock
    ///   whose jump it handles, and on clocks that the same thread delivers to, such as all clocks of a
    ///   [`SimTime`](crate::clock::source::sim_time::SimTime), a sleep returns [`SleepError::InHandler`].
    /// - It may add and drop handlers, and move the time, which takes effect after this jump.
    /// - A panic in it is caught, logged and counted ([`JumpHandle::panics`]). A panic in the drop of what it owns is
    ///   caught. The other handlers are still called.
    ///
    /// ```
    /// # use bagplay_core as bagplay;
    /// use bagplay::clock::{Clock, Fallback, JumpFilter, Phase};
    /// use bagplay::time::Duration;
    /// let (clock, writer) = Clock::ros(Fallback::Zero);
    /// let filter = JumpFilter::new().min_backward(Duration::from_nanos(1));
    /// let handle = clock.on_jump(filter, |phase, jump| match phase {
    ///     Phase::Before => println!("clear what is later than {}", jump.after),
    ///     Phase::After => println!("jumped by {}", jump.delta()),
    /// })?;
    /// # drop((writer, handle));
    /// # Ok::<(), bagplay::clock::InvalidFilter>(())
    /// ```
    #[track_caller]
    pub fn on_jump(
        &self,
        filter: JumpFilter,
        mut handler: impl FnMut(Phase, JumpEvent) + Send + 'static,
    ) -> Result<JumpHandle, InvalidFilter> {
        let called_for = CalledFor::Jumps(filter.check()?);
        Ok(self.register(called_for, move |phase, notice| {
            if let Notice::Jump(event) = notice {
                handler(phase, event);
            }
        }))
    }

    /// Calls `handler` before and after the source changes its direction, as [`Clock::on_jump`] describes. This needs a
    /// source that declares its factor in a [`ClockState`](crate::clock::state::extrapolate::ClockState). Plain
    /// `/clock` does not; each of its steps back is a jump.
    ///
    /// ```
    /// # use bagplay_core as bagplay;
    /// use bagplay::clock::{ClockState, Extrapolation, Phase, TestClock};
    /// use bagplay::time::{Duration, Speed, Time};
    /// let test = TestClock::new(Time::from_secs(10));
    /// let handle = test.ros().on_reverse(|phase, reversal| {
    ///     if phase == Phase::After {
    ///         println!("from {} on at factor {}", reversal.at, reversal.speed);
    ///     }
    /// });
    /// let how = Extrapolation::for_at_most(Duration::from_secs(1));
    /// let forwards = ClockState::new(Time::from_secs(10), Some(Speed::NORMAL));
    /// test.writer().set_state(forwards, how);
    /// let backwards = ClockState::new(Time::from_secs(10), Some(Speed::NORMAL.reversed()));
    /// test.writer().set_state(backwards, how); // prints a line
    /// # assert_eq!(handle.panics(), 0);
    /// ```
    #[track_caller]
    pub fn on_reverse(
        &self,
        mut handler: impl FnMut(Phase, Reversal) + Send + 'static,
    ) -> JumpHandle {
        self.register(CalledFor::Reversals, move |phase, notice| {
            if let Notice::Reversal(reversal) = notice {
                handler(phase, reversal);
            }
        })
    }

    /// Calls `handler` after each time that an active source feeds, even if it repeats the time before. The clock shows
    /// this time, or a later one if it is extrapolated. Times that wait while handlers run may be skipped (see
    /// [`Feed::time`](crate::clock::source::time_source::Feed::time)). Other threads do not wait for this handler.
    ///
    /// ```
    /// # use bagplay_core as bagplay;
    /// use bagplay::clock::TestClock;
    /// use bagplay::time::Time;
    /// let test = TestClock::new(Time::from_secs(10));
    /// let handle = test.ros().on_tick(|time| println!("tick {time}"));
    /// test.set(Time::from_secs(11)); // prints a line
    /// # assert_eq!(handle.panics(), 0);
    /// ```
    #[track_caller]
    pub fn on_tick(&self, mut handler: impl FnMut(Time<Ros>) + Send + 'static) -> JumpHandle {
        self.register(CalledFor::Ticks, move |_, notice| {
            if let Notice::Tick(time) = notice {
                handler(time);
            }
        })
    }

    #[track_caller]
    fn register(
        &self,
        called_for: CalledFor,
        call: impl FnMut(Phase, Notice) + Send + 'static,
    ) -> JumpHandle {
        let handler = Arc::new(Handler::new(called_for, Box::new(call)));
        self.core.add_handler(Arc::clone(&handler));
        JumpHandle {
            handler,
            core: Arc::downgrade(&self.core),
            _keep_alive: Arc::clone(&self.keep_alive),
        }
    }
}

/// Keeps a handler registered and the clock's time source alive. Dropping it removes the handler without waiting for a
/// call in progress. A handler that owns its own handle keeps itself and the source alive for ever.
#[must_use = "dropping the handle removes the handler"]
#[derive(Debug)]
pub struct JumpHandle {
    handler: Arc<Handler>,
    core: Weak<Core>,
    _keep_alive: Arc<KeepAlive>,
}

impl JumpHandle {
    /// How many calls of the handler have panicked.
    pub fn panics(&self) -> u64 {
        self.handler.panics()
    }
}

impl Drop for JumpHandle {
    fn drop(&mut self) {
        self.handler.mark_removed();
        if let Some(core) = self.core.upgrade() {
            core.remove_handler(&self.handler);
        }
    }
}

/// Converts an instant of [`Core`], where all kinds are stored alike, to its kind.
#[inline]
pub(crate) const fn to_kind<K: Kind>(at: Time<Ros>) -> Time<K> {
    Time::from_nanos(at.as_nanos())
}

impl<K: Kind> Clone for Clock<K> {
    fn clone(&self) -> Self {
        Self {
            core: Arc::clone(&self.core),
            keep_alive: Arc::clone(&self.keep_alive),
            kind: PhantomData,
        }
    }
}

impl<K: Kind> fmt::Debug for Clock<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.core.read_shown(|shown, _| shown);
        write!(f, "Clock<{}>({shown:?})", K::NAME)
    }
}
