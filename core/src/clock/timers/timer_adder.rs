//! [`TimerAdder`]: adds timers to a set from a callback of the set or from another thread.
//!
//! Their deadlines count at once. Their callbacks wait in an [`AddedTimers`] until the thread that owns the set takes
//! them over, which it does before it calls back.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::schedule::Tick;
use super::timer::{InvalidPeriod, Timer, TimerOptions};
use super::timetable::SetId;
use crate::clock::handle::Clock;
use crate::clock::waiting::wait_queue::WaitQueue;
use crate::time::{Kind, Ros};

pub(crate) type Callback<K> = Box<dyn FnMut(&Timer<K>, Tick<K>) + Send>;

/// Adds timers to a [`Timers`](super::timer_set::Timers), even while another thread runs it; made by
/// [`Timers::adder`](super::timer_set::Timers::adder).
pub struct TimerAdder<K: Kind = Ros> {
    clock: Clock<K>,
    wait_queue: Arc<WaitQueue>,
    set: SetId,
    added: Weak<AddedTimers<K>>,
}

/// Timers that have been added and not taken over yet.
pub(crate) struct AddedTimers<K: Kind>(Mutex<Vec<(Timer<K>, Callback<K>)>>);

impl<K: Kind> AddedTimers<K> {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::default()))
    }

    pub(crate) fn take(&self) -> Vec<(Timer<K>, Callback<K>)> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Timer<K>, Callback<K>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Kind> TimerAdder<K> {
    pub(crate) fn new(
        clock: &Clock<K>,
        wait_queue: &Arc<WaitQueue>,
        set: SetId,
        added: &Arc<AddedTimers<K>>,
    ) -> Self {
        Self {
            clock: clock.clone(),
            wait_queue: Arc::clone(wait_queue),
            set,
            added: Arc::downgrade(added),
        }
    }

    /// As [`Timers::add`](super::timer_set::Timers::add), from any thread: the period counts from this call. The thread
    /// that runs the set calls back; if the set was dropped, the callback is never called.
    ///
    /// # Errors
    /// If the period is negative.
    pub fn add(
        &self,
        options: impl Into<TimerOptions>,
        callback: impl FnMut(&Timer<K>, Tick<K>) + Send + 'static,
    ) -> Result<Timer<K>, InvalidPeriod> {
        let timer = Timer::new(&self.clock, options)?;
        if let Some(added) = self.added.upgrade() {
            // The callback is stored before the deadline counts, so a thread that finds the deadline finds the
            // callback, too.
            added.lock().push((timer.clone(), Box::new(callback)));
            let mut state = self.clock.core.lock();
            state.timers.join(timer.id(), self.set, &self.wait_queue);
            self.wait_queue.wake();
        }
        Ok(timer)
    }
}

impl<K: Kind> Clone for TimerAdder<K> {
    fn clone(&self) -> Self {
        Self {
            clock: self.clock.clone(),
            wait_queue: Arc::clone(&self.wait_queue),
            set: self.set,
            added: Weak::clone(&self.added),
        }
    }
}

impl<K: Kind> fmt::Debug for TimerAdder<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TimerAdder<{}>", K::NAME)
    }
}
