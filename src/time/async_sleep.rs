//! [`Sleep`]: a sleep that any runtime can poll.
//!
//! While futures sleep on a clock, one thread of the clock waits for all of them as a sleeper does, and wakes the tasks
//! whose sleep has ended; with the last of them it ends. So it needs no runtime's timer, and every jump, limit and
//! cancellation means what it means to [`Clock::sleep_until`].

use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};

use super::alarms::Sleeper;
use super::bell::{Bell, Look};
use super::cancel::Watch;
use super::clock::Clock;
use super::core::{Core, State};
use super::duration::Duration;
use super::jump;
use super::life::Life;
use super::point::{Kind, Ros, Time};
use super::sleep::{Asleep, Ears, OnJump, SleepError, SleepOptions};

/// A sleep on a clock, which has begun when it is made; dropped, it ends. See [`Clock::sleep_until_async`].
#[must_use = "a future does nothing unless it is awaited"]
pub struct Sleep {
    core: Arc<Core>,
    /// Keeps what brings the clock its time.
    desk: Arc<Desk>,
    _life: Arc<Life>,
    entry: Arc<Entry>,
}

type Plan = Box<dyn FnOnce(&State, Time<Ros>) -> Sleeper + Send>;

/// Whose sleep has ended, and how.
type Ended = Vec<(Arc<Entry>, Result<(), SleepError>)>;

/// Who sleeps on one clock, and what their thread waits for.
#[derive(Default)]
pub(super) struct Desk {
    bell: OnceLock<Arc<Bell>>,
    /// Taken under the clock's lock alone.
    guests: Mutex<Guests>,
}

#[derive(Default)]
struct Guests {
    all: Vec<Arc<Entry>>,
    has_thread: bool,
}

struct Entry {
    /// Taken under the clock's lock alone.
    asleep: Mutex<Asleep<Plan>>,
    end: Mutex<End>,
    _watch: Option<Watch>,
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
    /// [`Clock::sleep_for`] without blocking: counted from this call, not from the first poll.
    ///
    /// ```
    /// use bagplay::time::{Clock, Duration, OnJump, SleepError};
    /// async fn a_while() -> Result<(), SleepError> {
    ///     Clock::steady().sleep_for_async(Duration::from_millis(1), OnJump::Continue).await
    /// }
    /// ```
    pub fn sleep_for_async(&self, span: Duration, options: impl Into<SleepOptions>) -> Sleep {
        let plan = move |state: &State, now| Sleeper::lasting(span, state, now);
        Sleep::new(self, &options.into(), Box::new(plan))
    }

    /// [`Clock::sleep_until`] without blocking. No runtime is needed: one thread waits for all who sleep so on a clock,
    /// as long as there are any.
    pub fn sleep_until_async(&self, target: Time<K>, options: impl Into<SleepOptions>) -> Sleep {
        let until = Time::from_nanos(target.as_nanos());
        let plan = move |_: &State, _| Sleeper::until(until);
        Sleep::new(self, &options.into(), Box::new(plan))
    }
}

impl Sleep {
    fn new<K: Kind>(clock: &Clock<K>, options: &SleepOptions, plan: Plan) -> Self {
        let (core, desk) = (Arc::clone(&clock.core), clock.life.shared::<Desk>());
        let bell = desk.bell.get_or_init(|| core.bell());
        let limits = options.limits(core.wall());
        let watch = limits.watch(&core, bell);
        let mut state = core.lock();
        let mut asleep = Asleep::new(&mut state, bell, options, limits, plan);
        let may_look = !state.is_gated() || jump::is_handling();
        let now = may_look.then(|| state.now(core.wall()));
        let outcome = match asleep.look(&core, &mut state, now) {
            Look::Done(outcome) => Some(outcome.map(drop)),
            Look::Again { .. } => None,
        };
        let is_over = outcome.is_some();
        let end = End {
            outcome,
            waker: None,
        };
        let entry = Arc::new(Entry {
            asleep: Mutex::new(asleep),
            end: Mutex::new(end),
            _watch: watch,
        });
        let mut wants_thread = false;
        if is_over {
            locked(&entry.asleep).remove(&mut state);
        } else {
            let mut guests = locked(&desk.guests);
            guests.all.push(Arc::clone(&entry));
            wants_thread = !std::mem::replace(&mut guests.has_thread, true);
            bell.ring();
        }
        drop(state);
        if wants_thread {
            start(&core, &desk);
        }
        Self {
            core,
            desk,
            _life: Arc::clone(&clock.life),
            entry,
        }
    }
}

/// Starts the thread of those who sleep.
fn start(core: &Arc<Core>, desk: &Arc<Desk>) {
    let (theirs, asleep) = (Arc::clone(core), Arc::clone(desk));
    let named = std::thread::Builder::new().name("clock-sleeps".to_owned());
    if let Err(error) = named.spawn(move || asleep.serve(&theirs)) {
        tracing::error!(
            "nobody wakes the tasks that sleep on a clock, as there is no thread: {error}"
        );
        let mut state = core.lock();
        let guests = std::mem::take(&mut *locked(&desk.guests));
        for entry in &guests.all {
            locked(&entry.asleep).remove(&mut state);
        }
        drop(state);
        for entry in guests.all {
            entry.ends(Err(SleepError::Cancelled));
        }
    }
}

impl Desk {
    fn serve(&self, core: &Arc<Core>) {
        let bell = self.bell.get_or_init(|| core.bell());
        let ears = Ears::new(core, bell, OnJump::Continue);
        loop {
            let (state, ended) = core.wait(core.lock(), ears.id(), |state, now| {
                self.look(core, state, now)
            });
            drop(state);
            if ended.is_empty() {
                return;
            }
            for (entry, outcome) in ended {
                entry.ends(outcome);
            }
        }
    }

    /// Who has slept enough; nobody once nobody sleeps.
    fn look(&self, core: &Core, state: &mut State, now: Option<Time<Ros>>) -> Look<Ended> {
        let mut guests = locked(&self.guests);
        if guests.all.is_empty() {
            guests.has_thread = false;
            return Look::Done(Vec::new());
        }
        let (mut first, mut deadline, mut ended) = (None, None, Vec::new());
        guests.all.retain(|entry| {
            let mut asleep = locked(&entry.asleep);
            match asleep.look(core, state, now) {
                Look::Done(outcome) => {
                    asleep.remove(state);
                    ended.push((Arc::clone(entry), outcome.map(drop)));
                    false
                }
                Look::Again { at, steady } => {
                    first = first.into_iter().chain(at).min();
                    deadline = deadline.into_iter().chain(steady).min();
                    true
                }
            }
        });
        if ended.is_empty() {
            let (at, steady) = (first, deadline);
            Look::Again { at, steady }
        } else {
            Look::Done(ended)
        }
    }
}

impl Entry {
    /// A waker is not ours: no lock is held, and a panic in it ends here.
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
        let mut state = self.core.lock();
        let mut guests = locked(&self.desk.guests);
        let known = guests
            .all
            .iter()
            .position(|it| Arc::ptr_eq(it, &self.entry));
        if let Some(at) = known {
            guests.all.swap_remove(at);
            locked(&self.entry.asleep).remove(&mut state);
            if let Some(bell) = self.desk.bell.get() {
                bell.ring();
            }
        }
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
