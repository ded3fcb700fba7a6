//! [`Timers`]: callbacks on one clock, run by the thread that owns the set.
//!
//! `run` blocks that thread until the next deadline of the set; a tick of the clock that makes no timer of the set due
//! does not wake it. A loop of the caller's own can call `run_due` instead. The clock keeps the deadlines of a set in
//! order, so the cost of a check does not depend on how many timers are not due.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::schedule::Tick;
use super::timer::{InvalidPeriod, Timer, TimerOptions};
use super::timer_adder::{AddedTimers, Callback, TimerAdder};
use super::timetable::{SetId, TimerId};
use crate::clock::handle::Clock;
use crate::clock::waiting::on_jump::SleepError;
use crate::clock::waiting::sleep::OpenWait;
use crate::clock::waiting::sleep_options::{Limits, SleepOptions};
use crate::clock::waiting::wait_queue::{Check, WaitQueue};
use crate::time::{Duration, Kind, Ros};

/// Timers with callbacks.
///
/// ```
/// # use bagplay_core as bagplay;
/// use bagplay::time::{Duration, Time};
/// use bagplay::clock::{TestClock, Timers};
/// let test = TestClock::new(Time::from_nanos(1));
/// let mut timers = Timers::new(&test.ros());
/// timers.add(Duration::from_millis(100), |_, tick| println!("{}", tick.actual))?;
/// test.drive(&mut timers, Duration::from_secs(1)); // prints ten lines
/// # Ok::<(), bagplay::clock::InvalidPeriod>(())
/// ```
pub struct Timers<K: Kind = Ros> {
    clock: Clock<K>,
    wait_queue: Arc<WaitQueue>,
    set: SetId,
    entries: BTreeMap<TimerId, (Timer<K>, Callback<K>)>,
    added: Arc<AddedTimers<K>>,
}

impl<K: Kind> Timers<K> {
    /// An empty set.
    pub fn new(clock: &Clock<K>) -> Self {
        Self {
            clock: clock.clone(),
            wait_queue: clock.core.wait_queue(),
            set: clock.core.lock().timers.new_set(),
            entries: BTreeMap::new(),
            added: AddedTimers::new(),
        }
    }

    /// Adds a timer whose ticks call `callback`, which may cancel or reset it. The returned handle can do so from any
    /// thread; dropping it changes nothing.
    ///
    /// # Errors
    /// If the period is negative.
    pub fn add(
        &mut self,
        options: impl Into<TimerOptions>,
        callback: impl FnMut(&Timer<K>, Tick<K>) + Send + 'static,
    ) -> Result<Timer<K>, InvalidPeriod> {
        let timer = Timer::new(&self.clock, options)?;
        let core = &self.clock.core;
        core.lock()
            .timers
            .join(timer.id(), self.set, &self.wait_queue);
        let entry = (timer.clone(), Box::new(callback) as Callback<K>);
        self.entries.insert(timer.id(), entry);
        Ok(timer)
    }

    /// A handle that adds timers to this set from its own callbacks and from other threads.
    ///
    /// ```
    /// # use bagplay_core as bagplay;
    /// use bagplay::time::{Duration, Time};
    /// use bagplay::clock::{TestClock, TimerOptions, Timers};
    /// let test = TestClock::new(Time::from_secs(1));
    /// let mut timers = Timers::new(&test.ros());
    /// let adder = timers.adder();
    /// timers.add(Duration::from_secs(1), move |_, _| {
    ///     let later = TimerOptions::once(Duration::from_millis(100));
    ///     adder.add(later, |_, tick| println!("{}", tick.actual)).expect("a positive delay");
    /// })?;
    /// test.drive(&mut timers, Duration::from_secs(3)); // prints 2.1 and 3.1 s
    /// # Ok::<(), bagplay::clock::InvalidPeriod>(())
    /// ```
    pub fn adder(&self) -> TimerAdder<K> {
        TimerAdder::new(&self.clock, &self.wait_queue, self.set, &self.added)
    }

    fn take_added(&mut self) {
        let new = self.added.take().into_iter();
        (self.entries).extend(new.map(|entry| (entry.0.id(), entry)));
    }

    /// Removes a timer from this set; does nothing for timers of other sets.
    pub fn remove(&mut self, timer: &Timer<K>) {
        self.take_added();
        let known = self.entries.get(&timer.id());
        if known.is_some_and(|(known, _)| known.is_same(timer)) {
            self.clock.core.lock().timers.leave(timer.id());
            self.entries.remove(&timer.id());
        }
    }

    /// How long until a tick is due, zero or negative if one is due; `None` if all timers are canceled.
    pub fn time_until(&self) -> Option<Duration> {
        let core = &self.clock.core;
        let mut state = core.lock_after_handlers();
        let now = state.now(core.wall());
        let next = state.timers.deadlines(self.set, now).next();
        next.map(|(at, _)| at.saturating_since(now))
    }

    /// As [`Timers::time_until`], without timers with a period of zero, which are still due after they were served.
    pub fn time_until_next_step(&self) -> Option<Duration> {
        let core = &self.clock.core;
        let mut state = core.lock_after_handlers();
        let now = state.now(core.wall());
        let next = state.timers.next_not_always_due(self.set, now);
        next.map(|at| at.saturating_since(now))
    }

    /// Calls back once for each timer that is due, in the order of the deadlines. Returns how many were called.
    pub fn run_due(&mut self) -> usize {
        self.take_added();
        let core = &self.clock.core;
        let mut state = core.lock_after_handlers();
        let now = state.now(core.wall());
        let deadlines = state.timers.deadlines(self.set, now);
        let due: Vec<_> = deadlines.take_while(|(at, _)| *at <= now).collect();
        drop(state);
        let mut called = 0;
        for (_, id) in due {
            // An earlier callback or another thread may have canceled or reset this timer, or moved the time.
            if let Some((timer, callback)) = self.entries.get_mut(&id)
                && let Some(tick) = timer.call_if_due()
            {
                callback(timer, tick);
                called += 1;
            }
        }
        called
    }

    /// Calls back whenever a timer is due. Ends on the options' cancellation or time limit, on a jump that they ask
    /// for, or when the clock is shut down, and returns which of these it was. A change of the source does not end it.
    pub fn run(&mut self, options: impl Into<SleepOptions>) -> SleepError {
        let options = options.into();
        let limits = options.limits(self.clock.core.wall());
        let open_wait = OpenWait::new(&self.clock.core, &self.wait_queue, options.on_jump);
        loop {
            if let Err(ended) = self.wait_due(&open_wait, &limits) {
                return ended;
            }
            self.run_due();
        }
    }

    fn wait_due(&self, open_wait: &OpenWait, limits: &Limits) -> Result<(), SleepError> {
        let core = &self.clock.core;
        let _registration = limits.register(core, &self.wait_queue);
        let (_state, due) = core.wait(core.lock(), open_wait.id(), |state, now| {
            if limits.is_cancelled() {
                return Check::Done(Err(SleepError::Cancelled));
            }
            if state.cannot_wait_here() {
                return Check::Done(Err(SleepError::InHandler));
            }
            if state.is_shut() {
                return Check::Done(Err(SleepError::Shutdown));
            }
            let Some(now) = now else {
                return limits.wait(None);
            };
            if let Some(jumped) = open_wait.ended_by_jump(state) {
                return Check::Done(Err(jumped));
            }
            match state.timers.deadlines(self.set, now).next() {
                Some((next, _)) if next <= now => Check::Done(Ok(())),
                next => limits.wait(next.map(|(next, _)| next)),
            }
        });
        due
    }
}

impl<K: Kind> fmt::Debug for Timers<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let timers = self.entries.values().map(|(timer, _)| timer);
        f.debug_list().entries(timers).finish()
    }
}
