//! [`Core`]: what all handles of a clock share: its state, its handlers, its waiters and its timers.
//!
//! Readers see the words of a [`SeqLock`]; everything else is under one lock, which is never held while user code runs.
//! Changes are made one after another: a change that arrives while handlers run is made right after them, by the thread
//! that runs them. So no thread waits for a handler, with one exception: on a backward jump or a change of source,
//! `now()` in other threads waits.

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, PoisonError, Weak};

use super::sync;
use super::sync::{Condvar, Mutex, MutexGuard, ThreadId};
use super::wall_clock::{Rest, Resting, Wall};
use crate::clock::jump::handler::Handler;
use crate::clock::jump::handler_rounds::{Gate, Running};
use crate::clock::jump::jump_event::{JumpEvent, JumpKind, Notice, Phase};
use crate::clock::jump::thread_marks::{DeliveryId, Handlers, Serving};
use crate::clock::source::time_queue::Mailbox;
use crate::clock::state::change::{Change, Fallback, Outcome, State};
use crate::clock::state::clock_motion::{Reading, Shown};
use crate::clock::state::delivery_limit::Share;
use crate::clock::state::seqlock::SeqLock;
use crate::clock::timers::timetable::Timetable;
use crate::clock::waiting::wait_queue::WaitQueue;
use crate::clock::waiting::waiters::Alarms;
use crate::time::{Ros, Time};

#[derive(Debug)]
pub(crate) struct Core {
    shown: SeqLock,
    pub(crate) wall: Wall,
    state: Mutex<CoreState>,
    /// Woken when handlers that `now()` waits for have run.
    pub(crate) settled: Arc<WaitQueue>,
    /// Notified when the calls that waited for handlers have had the lock.
    pub(crate) passed: Condvar,
    /// The handler that is running.
    pub(crate) running: Running,
    /// Notified when a thread begins to wait.
    pub(crate) dozed_off: Condvar,
    /// How many threads wait. For tests, which wait for this number instead of for some time.
    pub(crate) asleep: Arc<AtomicUsize>,
    /// How many threads wait for `dozed_off`.
    pub(crate) onlookers: AtomicUsize,
}

/// Everything that is under the lock of a [`Core`].
#[derive(Debug)]
pub(crate) struct CoreState {
    pub(crate) time: State,
    pub(crate) alarms: Alarms,
    pub(crate) timers: Timetable,
    /// How often the clock has been attached to a source or detached from one.
    pub(crate) owner: u64,
    /// The delivery that delivers the clock's time, if one does.
    pub(crate) delivery: Option<DeliveryId>,
    pub(crate) handlers: Vec<Arc<Handler>>,
    /// Changes to make, in this order.
    pub(crate) changes: Mailbox<Change>,
    handling: Option<Handling>,
    /// The calls that wait for handlers.
    pub(crate) gate: Gate,
    /// How often a waiter woke.
    pub(crate) wakeups: u64,
}

/// A thread that runs handlers.
#[derive(Clone, Copy, Debug)]
struct Handling {
    thread: ThreadId,
    is_gated: bool,
}

pub(crate) type Locked<'a> = MutexGuard<'a, CoreState>;

impl CoreState {
    pub(crate) fn now(&self, wall: &Wall) -> Time<Ros> {
        self.time.now(wall)
    }

    pub(crate) const fn shown(&self) -> Shown {
        Shown {
            reading: self.time.reading,
            is_active: self.time.is_active,
            is_gated: self.is_gated(),
        }
    }

    pub(crate) const fn is_shut(&self) -> bool {
        self.time.is_shut
    }

    /// Whether this thread runs this clock's handlers.
    pub(crate) fn is_handled_here(&self) -> bool {
        self.handling
            .is_some_and(|handling| handling.thread == sync::current().id())
    }

    /// Whether a wait in this thread would wait for itself: it runs handlers of this clock or of another clock with the
    /// same source.
    pub(crate) fn is_fed_here(&self) -> bool {
        self.is_handled_here() || self.delivery.is_some_and(Serving::is_here)
    }

    /// Whether the clock shows a time that moves or that a source has fed.
    pub(crate) const fn has_time(&self) -> bool {
        self.shown().is_started() || self.time.reading.moves()
    }

    /// Whether handlers run that `now()` waits for.
    pub(crate) const fn is_gated(&self) -> bool {
        matches!(self.handling, Some(Handling { is_gated: true, .. }))
    }

    fn who_wants(&self, notices: &[Notice]) -> Vec<(Arc<Handler>, Notice)> {
        let pairs = self
            .handlers
            .iter()
            .flat_map(|handler| notices.iter().map(move |notice| (handler, *notice)));
        pairs
            .filter(|(handler, notice)| handler.wants(*notice))
            .map(|(handler, notice)| (Arc::clone(handler), notice))
            .collect()
    }
}

impl Core {
    pub(crate) fn new(wall: Wall, rest: Rest, fallback: Fallback) -> Arc<Self> {
        let state = CoreState {
            time: State::new(rest, fallback),
            alarms: Alarms::default(),
            timers: Timetable::default(),
            owner: 0,
            delivery: None,
            handlers: Vec::new(),
            changes: Mailbox::default(),
            handling: None,
            gate: Gate::default(),
            wakeups: 0,
        };
        let asleep = Arc::default();
        let core = Arc::new(Self {
            shown: SeqLock::new(state.shown().to_words()),
            wall,
            state: Mutex::new(state),
            settled: WaitQueue::new(&asleep),
            passed: Condvar::new(),
            running: Running::default(),
            dozed_off: Condvar::new(),
            asleep,
            onlookers: AtomicUsize::new(0),
        });
        let resting: Weak<Self> = Arc::downgrade(&core);
        core.wall.notify(resting);
        core
    }

    pub(crate) const fn wall(&self) -> &Wall {
        &self.wall
    }

    pub(crate) fn lock(&self) -> Locked<'_> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What readers see, evaluated while no thread writes, so that the time never runs back behind an earlier result.
    pub(crate) fn look<T>(&self, make: impl Fn(Shown, &Wall) -> T) -> T {
        self.shown
            .read(|words| make(Shown::from_words(words), &self.wall))
    }

    pub(crate) fn add(&self, handler: Arc<Handler>) {
        self.lock().handlers.push(handler);
    }

    pub(crate) fn remove(&self, handler: &Arc<Handler>) {
        self.lock()
            .handlers
            .retain(|known| !Arc::ptr_eq(known, handler));
    }

    /// Makes a change and its share of those that wait, or leaves it to the thread that runs handlers now.
    pub(crate) fn change(self: &Arc<Self>, change: Change, share: Share) {
        let mut state = self.lock();
        state.changes.put_in_order(change);
        self.catch_up(state, share);
    }

    /// Makes this share of the queued changes, or leaves it to the thread that runs handlers now. The calls that waited
    /// for the handlers of the previous change go first: all that they need is the lock.
    pub(crate) fn catch_up<'a>(self: &'a Arc<Self>, mut state: Locked<'a>, mut share: Share) {
        while state.handling.is_none() && !state.changes.is_empty() {
            if !state.gate.is_clear() {
                state.gate.held_up += 1;
                state = (self.passed.wait(state)).unwrap_or_else(PoisonError::into_inner);
                state.gate.held_up -= 1;
                continue;
            }
            if !share.takes_one(state.changes.len()) {
                drop(state);
                let core = Arc::clone(self);
                // If a thread makes another change before this one starts, that thread also makes these.
                sync::spawn("clock-changes", move || {
                    core.catch_up(core.lock(), Share::ALL);
                });
                return;
            }
            if let Some(change) = state.changes.take()
                && let Some(outcome) = state.time.outcome_of(change, &self.wall)
            {
                state = self.make(&outcome, state);
            }
        }
    }

    /// Runs the before-handlers, makes the change, runs the after-handlers. The lock is released while handlers run,
    /// and this thread waits for no other thread's handlers. Panics of handlers are caught.
    fn make<'a>(&'a self, outcome: &Outcome, mut state: Locked<'a>) -> Locked<'a> {
        let called = state.who_wants(&outcome.notices);
        if called.is_empty() {
            self.commit(outcome, &mut state);
            self.show(outcome, &mut state);
            return state;
        }
        let is_jump = |notice: &Notice| !matches!(notice, Notice::Tick(_));
        let is_gated = outcome.event.is_some_and(makes_others_wait)
            && called.iter().any(|(_, notice)| is_jump(notice));
        state.handling = Some(Handling {
            thread: sync::current().id(),
            is_gated,
        });
        if is_gated {
            self.shown.write(|| state.shown().to_words());
        }
        let handlers = Handlers::run();
        drop(state);
        for (handler, notice) in called.iter().filter(|(_, notice)| is_jump(notice)) {
            self.running.set(Some(handler.place()));
            handler.run(Phase::Before, *notice);
        }
        let mut state = self.lock();
        self.commit(outcome, &mut state);
        if !is_gated {
            self.show(outcome, &mut state);
        }
        drop(state);
        for (handler, notice) in &called {
            self.running.set(Some(handler.place()));
            handler.run(Phase::After, *notice);
        }
        self.running.set(None);
        // A handler that was dropped meanwhile may own something whose drop needs the lock.
        drop(called);
        drop(handlers);
        let mut state = self.lock();
        state.handling = None;
        if is_gated {
            self.show(outcome, &mut state);
            state.gate.open();
            self.settled.ring();
        }
        state
    }

    /// Puts the state after the change in place; readers may not see it yet.
    fn commit(&self, outcome: &Outcome, state: &mut CoreState) {
        let shown = state.now(&self.wall);
        if state.time.reading.moves() {
            // A time that was shown ends the sleeps until it, even if their threads have not checked it yet.
            state.alarms.ring_due(shown);
        }
        state.time.commit(outcome, shown);
        if let Some(event) = outcome.event {
            state.alarms.jump(event);
            state.timers.jump(event);
        }
    }

    /// Makes the change visible to readers. Wakes the waiters that are due, then those that have to check again: all of
    /// them; but after a step forward none that is not due, and after a correction of a line at most the one that waits
    /// for the nearest time.
    fn show(&self, outcome: &Outcome, state: &mut CoreState) {
        self.shown.write(|| {
            // Once more, as a thread may have read the time since; no thread can read while this is written.
            if let Some(heading) = outcome.continues {
                let shown = outcome.was.at(&self.wall);
                state.time.reading = state.time.reading.not_behind(shown, heading);
            }
            state.shown().to_words()
        });
        let now = state.now(&self.wall);
        // If time runs backwards, the time that the source fed has passed before any waiter checks.
        let most = outcome.said.map_or(now, |said| said.max(now));
        state.alarms.ring_due(most);
        let is_step = outcome
            .event
            .is_none_or(|event| event.kind == JumpKind::Forward);
        if is_step && !outcome.is_shut {
            self.tell_first(state);
        } else {
            state.alarms.ring_all();
        }
    }

    /// Wakes the waiter with the nearest time if, on a line, that time comes before the waiter would check again by
    /// itself. So a new line wakes one thread at most, however many wait.
    pub(crate) fn tell_first(&self, state: &mut CoreState) {
        if let Reading::Moving(_) = state.time.reading {
            let reading = state.time.reading;
            state
                .alarms
                .ring_first(|at| reading.wall_at(at, &self.wall));
        }
    }

    /// Wakes the waiters whose time has come by itself.
    pub(crate) fn ring_passed(&self, state: &mut CoreState) {
        if state.time.reading.moves() && !state.is_gated() {
            let now = state.now(&self.wall);
            state.alarms.ring_due(now);
        }
    }
}

impl Resting for Core {
    /// When a manual wall is moved, wakes the waiters whose time-out has come, as the machine's clock does. In a model
    /// that is all. Otherwise every waiter that is due is awake when this returns, so that a test can rely on it.
    fn wall_moved(&self) {
        let mut state = self.lock();
        state.alarms.ring_dozers(self.wall.steady());
        if cfg!(model) {
            return;
        }
        self.ring_passed(&mut state);
        if let Reading::Rest(_) = state.time.reading {
            // The date may have been set.
            state.alarms.ring_all();
        }
    }
}

/// Whether `now()` in other threads waits for the handlers of this jump: if it goes back, or changes the clock, where
/// forward and backward mean nothing.
const fn makes_others_wait(event: JumpEvent) -> bool {
    matches!(event.kind, JumpKind::Backward) || event.is_clock_change()
}
