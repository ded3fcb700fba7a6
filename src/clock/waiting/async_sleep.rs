//! [`Sleep`]: a sleep that any runtime can poll.
//!
//! While futures sleep on a clock, one thread of the clock waits for all of them, as a blocking sleep does, and wakes
//! the tasks whose sleep has ended. The thread ends a second after the last sleep, so that a loop of sleeps needs one
//! thread. No runtime's timer is needed, and every jump, limit and cancellation means what it means to
//! [`Clock::sleep_until`].
//!
//! A wake-up checks only the sleeps that it concerns: [`Alarms`](super::waiters::Alarms) lists those that have ended by
//! the clock's time, a jump or a cancellation, and [`Guests`] those whose time limit has come.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};

use super::cancel::Watch;
use super::on_jump::{OnJump, SleepError};
use super::sleep::{Asleep, TimerWait};
use super::sleep_options::SleepOptions;
use super::wait_queue::{Look, WaitQueue};
use super::waiters::{AlarmId, Sleeper};
use crate::clock::core::{Core, CoreState};
use crate::clock::handle::Clock;
use crate::clock::jump::thread_marks;
use crate::clock::source::keep_alive::KeepAlive;
use crate::time::{Duration, Kind, Ros, Steady, Time};

/// A sleep on a clock. It begins when it is made, and ends when it is dropped. See [`Clock::sleep_until_async`].
#[must_use = "a future does nothing unless it is awaited"]
pub struct Sleep {
    core: Arc<Core>,
    desk: Arc<Desk>,
    /// Keeps the clock's time source alive.
    _life: Arc<KeepAlive>,
    id: AlarmId,
    entry: Arc<Entry>,
}

type Plan = Box<dyn FnOnce(&CoreState, Time<Ros>) -> Sleeper + Send>;

/// The sleeps that have ended, and how.
type Ended = Vec<(Guest, Result<(), SleepError>)>;

/// How long the thread waits for another sleep before it ends.
const LINGER: std::time::Duration = std::time::Duration::from_secs(1);

/// The async sleeps on one clock, and the wait queue of their thread.
#[derive(Default)]
pub(crate) struct Desk {
    wait_queue: OnceLock<Arc<WaitQueue>>,
    /// Taken after the clock's lock, or without it.
    guests: Mutex<Guests>,
    /// Notified when there are sleeps again.
    came: Condvar,
}

#[derive(Default)]
struct Guests {
    all: BTreeMap<AlarmId, Guest>,
    /// The time limits of the sleeps that have one.
    deadlines: BTreeSet<(Time<Steady>, AlarmId)>,
    has_thread: bool,
    /// How often the thread has checked a sleep.
    #[cfg(test)]
    looks: u64,
}

struct Guest {
    /// Used only under the clock's lock.
    asleep: Asleep<Plan>,
    entry: Arc<Entry>,
    _watch: Option<Watch>,
}

impl Guests {
    fn enter(&mut self, id: AlarmId, guest: Guest) {
        let deadline = guest.asleep.deadline();
        self.deadlines.extend(deadline.map(|at| (at, id)));
        self.all.insert(id, guest);
    }

    fn leave(&mut self, id: AlarmId) -> Option<Guest> {
        let guest = self.all.remove(&id)?;
        if let Some(at) = guest.asleep.deadline() {
            self.deadlines.remove(&(at, id));
        }
        Some(guest)
    }

    /// The sleeps whose time limit has come.
    fn overdue(&self, now: Time<Steady>) -> impl Iterator<Item = AlarmId> {
        let overdue = self.deadlines.iter().take_while(move |(at, _)| *at <= now);
        overdue.map(|(_, id)| *id)
    }
}

/// What a task and the thread share.
#[derive(Default)]
struct Entry {
    end: Mutex<End>,
}

#[derive(Default)]
struct End {
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
    /// use bagplay::clock::{Clock, OnJump, SleepError};
    /// use bagplay::time::Duration;
    /// async fn a_while() -> Result<(), SleepError> {
    ///     Clock::steady().sleep_for_async(Duration::from_millis(1), OnJump::Continue).await
    /// }
    /// ```
    pub fn sleep_for_async(&self, span: Duration, options: impl Into<SleepOptions>) -> Sleep {
        let plan = move |state: &CoreState, now| Sleeper::lasting(span, state, now);
        Sleep::new(self, &options.into(), Box::new(plan))
    }

    /// [`Clock::sleep_until`] without blocking. No runtime is needed: one thread waits for all async sleeps on a clock,
    /// and ends a second after the last of them. If it cannot be started, they end with [`SleepError::NoThread`].
    pub fn sleep_until_async(&self, target: Time<K>, options: impl Into<SleepOptions>) -> Sleep {
        let until = Time::from_nanos(target.as_nanos());
        let plan = move |_: &CoreState, _| Sleeper::until(until);
        Sleep::new(self, &options.into(), Box::new(plan))
    }
}

impl Sleep {
    fn new<K: Kind>(clock: &Clock<K>, options: &SleepOptions, plan: Plan) -> Self {
        let (core, desk) = (Arc::clone(&clock.core), clock.life.shared::<Desk>());
        let wait_queue = desk.wait_queue.get_or_init(|| core.wait_queue());
        let limits = options.limits(core.wall());
        let entry = Arc::<Entry>::default();
        let mut state = core.lock();
        let mut asleep = Asleep::new(&mut state, wait_queue, options, limits, plan);
        let id = asleep.id();
        state.alarms.make_async(id);
        let watch = asleep.watch(&core, wait_queue);
        let may_look = !state.is_gated() || thread_marks::is_handling();
        let now = may_look.then(|| state.now(core.wall()));
        let mut wants_thread = false;
        if let Look::Done(outcome) = asleep.look(&core, &mut state, now) {
            asleep.remove(&mut state);
            locked(&entry.end).outcome = Some(outcome.map(drop));
        } else {
            let mut guests = locked(&desk.guests);
            let was_empty = guests.all.is_empty();
            let guest = Guest {
                asleep,
                entry: Arc::clone(&entry),
                _watch: watch,
            };
            guests.enter(id, guest);
            wants_thread = !std::mem::replace(&mut guests.has_thread, true);
            let first = state.alarms.first_async().map(|(_, id)| id);
            let first_limit = guests.deadlines.first().map(|(_, id)| *id);
            if first == Some(id) || first_limit == Some(id) {
                wait_queue.ring();
            }
            if was_empty {
                desk.came.notify_one();
            }
        }
        drop(state);
        if wants_thread {
            start(&core, &desk);
        }
        Self {
            core,
            desk,
            _life: Arc::clone(&clock.life),
            id,
            entry,
        }
    }
}

/// Starts the thread of the async sleeps.
fn start(core: &Arc<Core>, desk: &Arc<Desk>) {
    let (theirs, asleep) = (Arc::clone(core), Arc::clone(desk));
    let named = std::thread::Builder::new().name("clock-sleeps".to_owned());
    if let Err(error) = named.spawn(move || asleep.serve(&theirs)) {
        tracing::error!("no thread to wake the tasks that sleep on a clock: {error}");
        let mut state = core.lock();
        let guests = std::mem::take(&mut *locked(&desk.guests));
        for id in guests.all.keys() {
            state.alarms.remove(*id);
        }
        drop(state);
        for guest in guests.all.into_values() {
            guest.entry.ends(Err(SleepError::NoThread));
        }
    }
}

impl Desk {
    fn serve(&self, core: &Arc<Core>) {
        let wait_queue = self.wait_queue.get_or_init(|| core.wait_queue());
        let timer_wait = TimerWait::new(core, wait_queue, OnJump::Continue);
        loop {
            let (state, ended) = core.wait(core.lock(), timer_wait.id(), |state, now| {
                self.look(core, state, now)
            });
            drop(state);
            if ended.is_empty() && !self.lingers() {
                return;
            }
            for (guest, outcome) in ended {
                guest.entry.ends(outcome);
            }
        }
    }

    /// Waits until there is a sleep again; if there is none, the thread is to end. It does not count as waiting on the
    /// clock meanwhile.
    fn lingers(&self) -> bool {
        let guests = locked(&self.guests);
        let waited = self
            .came
            .wait_timeout_while(guests, LINGER, |guests| guests.all.is_empty());
        let (mut guests, _) = waited.unwrap_or_else(PoisonError::into_inner);
        guests.has_thread = !guests.all.is_empty();
        guests.has_thread
    }

    /// The sleeps that have ended; empty if there are no sleeps.
    fn look(&self, core: &Core, state: &mut CoreState, now: Option<Time<Ros>>) -> Look<Ended> {
        // While handlers run that `now()` waits for, there is no time to check against. Everything is woken after that.
        core.ring_passed(state);
        let mut guests = locked(&self.guests);
        let mut to_look_at = state.alarms.take_to_look_at();
        to_look_at.extend(guests.overdue(core.wall().steady()));
        let mut ended = Vec::new();
        for id in to_look_at {
            let Some(guest) = guests.all.get_mut(&id) else {
                continue;
            };
            let found = guest.asleep.look(core, state, now);
            #[cfg(test)]
            {
                guests.looks += 1;
            }
            if let Look::Done(outcome) = found
                && let Some(guest) = guests.leave(id)
            {
                guest.asleep.remove(state);
                ended.push((guest, outcome.map(drop)));
            }
        }
        if !ended.is_empty() || guests.all.is_empty() {
            return Look::Done(ended);
        }
        let first = state.alarms.first_async().filter(|_| now.is_some());
        Look::Again {
            at: first.map(|(at, _)| at),
            steady: guests.deadlines.first().map(|(at, _)| *at),
        }
    }
}

impl Entry {
    /// A waker is user code: no lock is held, and a panic in it is caught.
    fn ends(&self, outcome: Result<(), SleepError>) {
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
        let mut end = locked(&self.entry.end);
        if let Some(outcome) = end.outcome {
            return Poll::Ready(outcome);
        }
        end.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if locked(&self.entry.end).outcome.is_some() {
            return;
        }
        let mut state = self.core.lock();
        let mut guests = locked(&self.desk.guests);
        let left = guests.leave(self.id);
        if left.is_some() {
            state.alarms.remove(self.id);
            if guests.all.is_empty()
                && let Some(wait_queue) = self.desk.wait_queue.get()
            {
                wait_queue.ring();
            }
        }
        // The watch takes a lock of its own, so it is dropped without these.
        drop((guests, state));
        drop(left);
    }
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sleep({:?})", locked(&self.entry.end).outcome)
    }
}

impl fmt::Debug for Desk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Desk")
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
    fn looked_at(test: &TestClock, clock: &Clock, event: impl FnOnce()) -> u64 {
        let desk = clock.life.shared::<Desk>();
        test.wait_asleep(clock, 1);
        let before = locked(&desk.guests).looks;
        event();
        test.wait_asleep(clock, 1);
        let after = locked(&desk.guests).looks;
        after - before
    }

    #[test]
    fn a_wake_up_looks_only_at_the_sleeps_that_it_concerns() {
        let (test, cancel) = (TestClock::new(at(1)), Cancel::new());
        let clock = test.ros();
        let sleep = |time, options: SleepOptions| clock.sleep_until_async(at(time), options);
        let none = SleepOptions::default;
        let mut sleeps: Vec<_> = (100..1_100).map(|time| sleep(time, none())).collect();
        sleeps.push(sleep(5_000, none().unless(&cancel)));
        sleeps.push(sleep(5_000, none().within(LIMIT)));
        let looked = |event: &dyn Fn()| looked_at(&test, &clock, event);
        assert_eq!(looked(&|| test.set(at(99))), 0);
        assert_eq!(looked(&|| test.set(at(100))), 1);
        assert_eq!(looked(&|| test.set(at(109))), 9);
        assert_eq!(looked(&|| cancel.cancel()), 1);
        assert_eq!(looked(&|| test.pass(LIMIT)), 1);
        // This may concern all sleeps that are left.
        assert_eq!(looked(&|| test.set(at(50))), 990);
        drop(sleeps);
    }
}
