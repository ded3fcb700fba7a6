//! [`Sleep`]: a sleep that any runtime can poll.
//!
//! While futures sleep on a clock, one thread of the clock waits for all of them, as a blocking sleep does, and wakes
//! the tasks whose sleep has ended. The thread ends a second after the last sleep, so that a loop of sleeps needs one
//! thread. No runtime's timer is needed. Jumps, limits and cancellations have the same effect as on
//! [`Clock::sleep_until`].
//!
//! A wake-up checks only some sleeps: [`Waiters`](super::waiters::Waiters) lists those that the clock's time, a jump or
//! a cancellation may have ended, and [`SleepTable`] those whose time limit has come.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};

use super::cancel::CancelRegistration;
use super::on_jump::{OnJump, SleepError};
use super::sleep::{OpenWait, RunningSleep};
use super::sleep_options::SleepOptions;
use super::wait_queue::{Check, WaitQueue};
use super::waiters::{WaitTarget, WaiterId};
use crate::clock::core::{Core, CoreState};
use crate::clock::handle::Clock;
use crate::clock::jump::thread_marks;
use crate::clock::source::keep_alive::KeepAlive;
use crate::time::{Duration, Kind, Ros, Steady, Time};

/// A sleep on a clock. It begins when it is made, and ends when it is dropped. See [`Clock::sleep_until_async`].
#[must_use = "a future does nothing unless it is awaited"]
pub struct Sleep {
    core: Arc<Core>,
    sleeps: Arc<AsyncSleeps>,
    /// Keeps the clock's time source alive.
    _keep_alive: Arc<KeepAlive>,
    id: WaiterId,
    shared_end: Arc<SharedEnd>,
}

type MakeTarget = Box<dyn FnOnce(&CoreState, Time<Ros>) -> WaitTarget + Send>;

/// The sleeps that have ended, and how.
type Ended = Vec<(TableEntry, Result<(), SleepError>)>;

/// How long the thread waits for another sleep before it ends.
const IDLE_LIMIT: std::time::Duration = std::time::Duration::from_secs(1);

/// The async sleeps on one clock, and the wait queue of their thread.
#[derive(Default)]
pub(crate) struct AsyncSleeps {
    wait_queue: OnceLock<Arc<WaitQueue>>,
    /// Locked after the clock's lock, or without it.
    table: Mutex<SleepTable>,
    /// Notified when there are sleeps again.
    added: Condvar,
}

#[derive(Default)]
struct SleepTable {
    all: BTreeMap<WaiterId, TableEntry>,
    /// The time limits of the sleeps that have one.
    deadlines: BTreeSet<(Time<Steady>, WaiterId)>,
    has_thread: bool,
    /// How often the thread has checked a sleep.
    #[cfg(test)]
    checks: u64,
}

struct TableEntry {
    /// Used only under the clock's lock.
    sleep: RunningSleep<MakeTarget>,
    shared_end: Arc<SharedEnd>,
    _registration: Option<CancelRegistration>,
}

impl SleepTable {
    fn insert(&mut self, id: WaiterId, entry: TableEntry) {
        let deadline = entry.sleep.deadline();
        self.deadlines.extend(deadline.map(|at| (at, id)));
        self.all.insert(id, entry);
    }

    fn remove(&mut self, id: WaiterId) -> Option<TableEntry> {
        let entry = self.all.remove(&id)?;
        if let Some(at) = entry.sleep.deadline() {
            self.deadlines.remove(&(at, id));
        }
        Some(entry)
    }

    /// The sleeps whose time limit has come.
    fn timed_out(&self, now: Time<Steady>) -> impl Iterator<Item = WaiterId> {
        let timed_out = self.deadlines.iter().take_while(move |(at, _)| *at <= now);
        timed_out.map(|(_, id)| *id)
    }
}

/// The end of one sleep, which its task and the thread share.
#[derive(Default)]
struct SharedEnd {
    end: Mutex<SleepEnd>,
}

#[derive(Default)]
struct SleepEnd {
    outcome: Option<Result<(), SleepError>>,
    waker: Option<Waker>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<K: Kind> Clock<K> {
    /// [`Clock::sleep_for`] without blocking. The span counts from this call, not from the first poll.
    ///
    /// ```
    /// # use bagplay_core as bagplay;
    /// use bagplay::clock::{Clock, OnJump, SleepError};
    /// use bagplay::time::Duration;
    /// async fn a_while() -> Result<(), SleepError> {
    ///     Clock::steady().sleep_for_async(Duration::from_millis(1), OnJump::Continue).await
    /// }
    /// ```
    pub fn sleep_for_async(&self, span: Duration, options: impl Into<SleepOptions>) -> Sleep {
        let make_target = move |state: &CoreState, now| WaitTarget::for_span(span, state, now);
        Sleep::new(self, &options.into(), Box::new(make_target))
    }

    /// [`Clock::sleep_until`] without blocking. No runtime is needed: one thread waits for all async sleeps on a clock,
    /// and ends a second after the last of them. If it cannot be started, they end with [`SleepError::NoThread`].
    pub fn sleep_until_async(&self, target: Time<K>, options: impl Into<SleepOptions>) -> Sleep {
        let until = Time::from_nanos(target.as_nanos());
        let make_target = move |_: &CoreState, _| WaitTarget::until(until);
        Sleep::new(self, &options.into(), Box::new(make_target))
    }
}

impl Sleep {
    fn new<K: Kind>(clock: &Clock<K>, options: &SleepOptions, make_target: MakeTarget) -> Self {
        let (core, sleeps) = (
            Arc::clone(&clock.core),
            clock.keep_alive.shared::<AsyncSleeps>(),
        );
        let wait_queue = sleeps.wait_queue.get_or_init(|| core.wait_queue());
        let limits = options.limits(core.wall());
        let shared_end = Arc::<SharedEnd>::default();
        let mut state = core.lock();
        let mut sleep = RunningSleep::new(&mut state, wait_queue, options, limits, make_target);
        let id = sleep.id();
        state.waiters.make_async(id);
        let registration = sleep.register(&core, wait_queue);
        let may_check = !state.blocks_readers() || thread_marks::runs_handlers();
        let now = may_check.then(|| state.now(core.wall()));
        let mut wants_thread = false;
        if let Check::Done(outcome) = sleep.check(&core, &mut state, now) {
            sleep.remove(&mut state);
            locked(&shared_end.end).outcome = Some(outcome.map(drop));
        } else {
            let mut table = locked(&sleeps.table);
            let was_empty = table.all.is_empty();
            let entry = TableEntry {
                sleep,
                shared_end: Arc::clone(&shared_end),
                _registration: registration,
            };
            table.insert(id, entry);
            wants_thread = !std::mem::replace(&mut table.has_thread, true);
            let first = state.waiters.first_async().map(|(_, id)| id);
            let first_limit = table.deadlines.first().map(|(_, id)| *id);
            if first == Some(id) || first_limit == Some(id) {
                wait_queue.wake();
            }
            if was_empty {
                sleeps.added.notify_one();
            }
        }
        drop(state);
        if wants_thread {
            start_thread(&core, &sleeps);
        }
        Self {
            core,
            sleeps,
            _keep_alive: Arc::clone(&clock.keep_alive),
            id,
            shared_end,
        }
    }
}

/// Starts the thread of the async sleeps. If it cannot be started, all of them end with an error.
fn start_thread(core: &Arc<Core>, sleeps: &Arc<AsyncSleeps>) {
    let (its_core, its_sleeps) = (Arc::clone(core), Arc::clone(sleeps));
    let named = std::thread::Builder::new().name("clock-sleeps".to_owned());
    if let Err(error) = named.spawn(move || its_sleeps.run(&its_core)) {
        tracing::error!("no thread to wake the tasks that sleep on a clock: {error}");
        let mut state = core.lock();
        let table = std::mem::take(&mut *locked(&sleeps.table));
        for id in table.all.keys() {
            state.waiters.remove(*id);
        }
        drop(state);
        for entry in table.all.into_values() {
            entry.shared_end.finish(Err(SleepError::NoThread));
        }
    }
}

impl AsyncSleeps {
    fn run(&self, core: &Arc<Core>) {
        let wait_queue = self.wait_queue.get_or_init(|| core.wait_queue());
        let open_wait = OpenWait::new(core, wait_queue, OnJump::Continue);
        loop {
            let (state, ended) = core.wait(core.lock(), open_wait.id(), |state, now| {
                self.check(core, state, now)
            });
            drop(state);
            if ended.is_empty() && !self.waits_for_another() {
                return;
            }
            for (entry, outcome) in ended {
                entry.shared_end.finish(outcome);
            }
        }
    }

    /// Waits until there is a sleep again, for [`IDLE_LIMIT`]. Returns false if there is none: the thread is to end.
    /// Meanwhile the thread does not count as waiting on the clock.
    fn waits_for_another(&self) -> bool {
        let table = locked(&self.table);
        let waited = self
            .added
            .wait_timeout_while(table, IDLE_LIMIT, |table| table.all.is_empty());
        let (mut table, _) = waited.unwrap_or_else(PoisonError::into_inner);
        table.has_thread = !table.all.is_empty();
        table.has_thread
    }

    /// The sleeps that have ended. Done also if there are no sleeps, with an empty result.
    fn check(&self, core: &Core, state: &mut CoreState, now: Option<Time<Ros>>) -> Check<Ended> {
        // While handlers run that `now()` waits for, there is no time to check against. After that all sleeps are
        // woken.
        core.wake_due(state);
        let mut table = locked(&self.table);
        let mut to_check = state.waiters.take_to_check();
        to_check.extend(table.timed_out(core.wall().steady()));
        let mut ended = Vec::new();
        for id in to_check {
            let Some(entry) = table.all.get_mut(&id) else {
                continue;
            };
            let found = entry.sleep.check(core, state, now);
            #[cfg(test)]
            {
                table.checks += 1;
            }
            if let Check::Done(outcome) = found
                && let Some(entry) = table.remove(id)
            {
                entry.sleep.remove(state);
                ended.push((entry, outcome.map(drop)));
            }
        }
        if !ended.is_empty() || table.all.is_empty() {
            return Check::Done(ended);
        }
        let first = state.waiters.first_async().filter(|_| now.is_some());
        Check::Again {
            at: first.map(|(at, _)| at),
            deadline: table.deadlines.first().map(|(at, _)| *at),
        }
    }
}

impl SharedEnd {
    /// A waker is user code: no lock is held, and a panic in it is caught.
    fn finish(&self, outcome: Result<(), SleepError>) {
        let mut end = locked(&self.end);
        end.outcome = Some(outcome);
        let waker = end.waker.take();
        drop(end);
        if let Some(waker) = waker
            && catch_unwind(AssertUnwindSafe(|| waker.wake())).is_err()
        {
            tracing::error!("a task panicked as it was woken from a sleep");
        }
    }
}

impl Future for Sleep {
    type Output = Result<(), SleepError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut end = locked(&self.shared_end.end);
        if let Some(outcome) = end.outcome {
            return Poll::Ready(outcome);
        }
        end.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if locked(&self.shared_end.end).outcome.is_some() {
            return;
        }
        let mut state = self.core.lock();
        let mut table = locked(&self.sleeps.table);
        let removed = table.remove(self.id);
        if removed.is_some() {
            state.waiters.remove(self.id);
            if table.all.is_empty()
                && let Some(wait_queue) = self.sleeps.wait_queue.get()
            {
                wait_queue.wake();
            }
        }
        // The drop of the cancel registration takes another lock, so these two are released first.
        drop((table, state));
        drop(removed);
    }
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sleep({:?})", locked(&self.shared_end.end).outcome)
    }
}

impl fmt::Debug for AsyncSleeps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AsyncSleeps")
    }
}

#[cfg(test)]
mod tests {
    use super::super::cancel::Cancel;
    use super::*;
    use crate::clock::test_clock::TestClock;

    const LIMIT: Duration = Duration::from_secs(5);

    fn at(nanos: i64) -> Time<Ros> {
        Time::from_nanos(nanos)
    }

    /// How many sleeps the thread checks because of this event. Returns when the thread waits again.
    fn checked_by(test: &TestClock, clock: &Clock, event: impl FnOnce()) -> u64 {
        let sleeps = clock.keep_alive.shared::<AsyncSleeps>();
        test.wait_asleep(clock, 1);
        let before = locked(&sleeps.table).checks;
        event();
        test.wait_asleep(clock, 1);
        let after = locked(&sleeps.table).checks;
        after - before
    }

    #[test]
    fn a_wake_up_checks_only_the_sleeps_that_it_may_end() {
        let (test, cancel) = (TestClock::new(at(1)), Cancel::new());
        let clock = test.ros();
        let sleep = |time, options: SleepOptions| clock.sleep_until_async(at(time), options);
        let none = SleepOptions::default;
        let mut sleeps: Vec<_> = (100..1_100).map(|time| sleep(time, none())).collect();
        sleeps.push(sleep(5_000, none().unless(&cancel)));
        sleeps.push(sleep(5_000, none().within(LIMIT)));
        let checked = |event: &dyn Fn()| checked_by(&test, &clock, event);
        assert_eq!(checked(&|| test.set(at(99))), 0);
        assert_eq!(checked(&|| test.set(at(100))), 1);
        assert_eq!(checked(&|| test.set(at(109))), 9);
        assert_eq!(checked(&|| cancel.cancel()), 1);
        assert_eq!(checked(&|| test.pass(LIMIT)), 1);
        // A jump back may end any of the remaining sleeps.
        assert_eq!(checked(&|| test.set(at(50))), 990);
        drop(sleeps);
    }
}
