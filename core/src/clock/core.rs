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
use super::wall_clock::{Wall, WallClock, WallObserver};
use crate::clock::jump::handler::Handler;
use crate::clock::jump::handler_rounds::{HandlerRounds, RunningHandler};
use crate::clock::jump::jump_event::{JumpEvent, JumpKind, Notice, Phase};
use crate::clock::jump::thread_marks::{DeliveryId, DeliveryMark, HandlerMark};
use crate::clock::source::time_queue::TimeQueue;
use crate::clock::state::change::{Change, Effect, Fallback, TimeState};
use crate::clock::state::clock_motion::{ClockMotion, Shown};
use crate::clock::state::delivery_limit::DeliveryLimit;
use crate::clock::state::seqlock::SeqLock;
use crate::clock::timers::timetable::Timetable;
use crate::clock::waiting::wait_queue::WaitQueue;
use crate::clock::waiting::waiters::Waiters;
use crate::time::{Ros, Time};

#[derive(Debug)]
pub(crate) struct Core {
    shown: SeqLock,
    pub(crate) wall: Wall,
    state: Mutex<CoreState>,
    /// Woken when handlers that `now()` waits for have run.
    pub(crate) handlers_done: Arc<WaitQueue>,
    /// Notified when the calls that waited for a round of handlers have had the lock.
    pub(crate) waiters_released: Condvar,
    /// Notified when a change other than a time has been made, if a thread waits for it.
    request_made: Condvar,
    /// The handler that is running.
    pub(crate) running: RunningHandler,
    /// Notified when a thread begins to wait.
    pub(crate) wait_began: Condvar,
    /// How many threads wait. Tests wait until it reaches a number.
    pub(crate) waiting: Arc<AtomicUsize>,
    /// How many threads wait for `wait_began`.
    pub(crate) wait_began_observers: AtomicUsize,
}

/// Everything that is under the lock of a [`Core`].
#[derive(Debug)]
pub(crate) struct CoreState {
    pub(crate) time: TimeState,
    pub(crate) waiters: Waiters,
    pub(crate) timers: Timetable,
    /// How often the clock has been attached to a source or detached from one.
    pub(crate) owner: u64,
    /// The delivery that delivers the clock's time, if one does.
    pub(crate) delivery: Option<DeliveryId>,
    pub(crate) handlers: Vec<Arc<Handler>>,
    /// Changes to make, in this order.
    changes: TimeQueue<Change>,
    /// How many changes other than times have been queued so far.
    requested: u64,
    /// A change other than a time is being made.
    makes_request: bool,
    /// How many threads wait until such a change has been made.
    request_waiters: usize,
    handler_run: Option<HandlerRun>,
    /// The rounds of handlers, and the calls that wait for them.
    pub(crate) rounds: HandlerRounds,
    /// How often a waiter woke.
    pub(crate) wakeups: u64,
}

/// A thread that runs handlers.
#[derive(Clone, Copy, Debug)]
struct HandlerRun {
    thread: ThreadId,
    blocks_readers: bool,
}

pub(crate) type Locked<'a> = MutexGuard<'a, CoreState>;

impl CoreState {
    #[inline]
    pub(crate) fn now(&self, wall: &Wall) -> Time<Ros> {
        self.time.now(wall)
    }

    pub(crate) const fn shown(&self) -> Shown {
        Shown {
            motion: self.time.motion,
            is_active: self.time.is_active,
            blocks_readers: self.blocks_readers(),
        }
    }

    pub(crate) const fn is_shut(&self) -> bool {
        self.time.is_shut
    }

    /// Queues a change.
    pub(crate) fn queue(&mut self, change: Change) {
        self.requested += u64::from(change.is_request());
        self.changes.put_by_kind(change);
    }

    /// How many changes other than times have been made or are not needed any more.
    fn requests_made(&mut self) -> u64 {
        let queued = self.changes.items().iter();
        let queued = queued.filter(|change| change.is_request()).count();
        let open = queued + usize::from(self.makes_request);
        self.requested - u64::try_from(open).unwrap_or(u64::MAX)
    }

    /// Whether this thread runs this clock's handlers.
    pub(crate) fn runs_handlers_here(&self) -> bool {
        self.handler_run
            .is_some_and(|handler_run| handler_run.thread == sync::current().id())
    }

    /// Whether a wait in this thread would wait for itself: it runs handlers of this clock or of another clock with the
    /// same source.
    pub(crate) fn cannot_wait_here(&self) -> bool {
        self.runs_handlers_here() || self.delivery.is_some_and(DeliveryMark::is_set)
    }

    /// Whether the clock shows a time that moves or that a source has fed.
    pub(crate) const fn has_time(&self) -> bool {
        self.shown().is_started() || self.time.motion.moves()
    }

    /// Whether handlers run that `now()` waits for.
    pub(crate) const fn blocks_readers(&self) -> bool {
        matches!(
            self.handler_run,
            Some(HandlerRun {
                blocks_readers: true,
                ..
            })
        )
    }

    fn handlers_for(&self, notices: &[Notice]) -> Vec<(Arc<Handler>, Notice)> {
        if self.handlers.is_empty() {
            return Vec::new();
        }
        let pairs = self
            .handlers
            .iter()
            .flat_map(|handler| notices.iter().map(move |notice| (handler, *notice)));
        pairs
            .filter(|(handler, notice)| handler.is_called_for(*notice))
            .map(|(handler, notice)| (Arc::clone(handler), notice))
            .collect()
    }
}

impl Core {
    pub(crate) fn new(wall: Wall, wall_clock: WallClock, fallback: Fallback) -> Arc<Self> {
        let state = CoreState {
            time: TimeState::new(wall_clock, fallback),
            waiters: Waiters::default(),
            timers: Timetable::default(),
            owner: 0,
            delivery: None,
            handlers: Vec::new(),
            changes: TimeQueue::default(),
            requested: 0,
            makes_request: false,
            request_waiters: 0,
            handler_run: None,
            rounds: HandlerRounds::default(),
            wakeups: 0,
        };
        let waiting = Arc::default();
        let core = Arc::new(Self {
            shown: SeqLock::new(state.shown().to_words()),
            wall,
            state: Mutex::new(state),
            handlers_done: WaitQueue::new(&waiting),
            waiters_released: Condvar::new(),
            request_made: Condvar::new(),
            running: RunningHandler::default(),
            wait_began: Condvar::new(),
            waiting,
            wait_began_observers: AtomicUsize::new(0),
        });
        let observer: Weak<Self> = Arc::downgrade(&core);
        core.wall.add_observer(observer);
        core
    }

    pub(crate) const fn wall(&self) -> &Wall {
        &self.wall
    }

    #[inline]
    pub(crate) fn lock(&self) -> Locked<'_> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What readers see, evaluated while no thread writes, so that the time never runs back behind an earlier result.
    #[inline]
    pub(crate) fn read_shown<T>(&self, make: impl Fn(Shown, &Wall) -> T) -> T {
        self.shown
            .read(|words| make(Shown::from_words(words), &self.wall))
    }

    pub(crate) fn add_handler(&self, handler: Arc<Handler>) {
        self.lock().handlers.push(handler);
    }

    pub(crate) fn remove_handler(&self, handler: &Arc<Handler>) {
        self.lock()
            .handlers
            .retain(|known| !Arc::ptr_eq(known, handler));
    }

    /// Makes a change and, up to the limit, the changes that are queued. If a thread runs handlers now, that thread
    /// makes them.
    pub(crate) fn change(self: &Arc<Self>, change: Change, limit: DeliveryLimit) {
        let mut state = self.lock();
        state.queue(change);
        self.make_queued(state, limit);
    }

    /// Makes the queued changes, up to the limit. If a thread runs handlers now, that thread makes them. The calls that
    /// waited for the handlers of the previous change get the lock first.
    pub(crate) fn make_queued<'a>(
        self: &'a Arc<Self>,
        mut state: Locked<'a>,
        mut limit: DeliveryLimit,
    ) {
        while state.handler_run.is_none() && !state.changes.is_empty() {
            if !state.rounds.may_begin() {
                state.rounds.waiting_to_begin += 1;
                state = (self.waiters_released.wait(state)).unwrap_or_else(PoisonError::into_inner);
                state.rounds.waiting_to_begin -= 1;
                continue;
            }
            if !limit.allows_one(state.changes.len()) {
                drop(state);
                let core = Arc::clone(self);
                // If a thread makes another change before this one starts, that thread also makes these.
                sync::spawn("clock-changes", move || {
                    core.make_queued(core.lock(), DeliveryLimit::NONE);
                });
                return;
            }
            let Some(change) = state.changes.take() else {
                return;
            };
            state.makes_request = change.is_request();
            if let Some(effect) = state.time.effect_of(change, &self.wall) {
                state = self.make_one(&effect, state);
            }
            if std::mem::take(&mut state.makes_request) && state.request_waiters > 0 {
                self.request_made.notify_all();
            }
        }
    }

    /// Waits until the changes other than times that are queued now have been made, by the thread that runs handlers or
    /// is about to run them.
    pub(crate) fn wait_until_made(&self) {
        let mut state = self.lock();
        let requested = state.requested;
        while state.requests_made() < requested {
            state.request_waiters += 1;
            state = (self.request_made.wait(state)).unwrap_or_else(PoisonError::into_inner);
            state.request_waiters -= 1;
        }
    }

    /// Runs the before-handlers, makes the change, runs the after-handlers. The lock is released while handlers run,
    /// and this thread waits for no other thread's handlers. Panics of handlers are caught.
    fn make_one<'a>(&'a self, effect: &Effect, mut state: Locked<'a>) -> Locked<'a> {
        let called = state.handlers_for(&effect.notices);
        if called.is_empty() {
            self.commit(effect, &mut state);
            self.show(effect, &mut state);
            return state;
        }
        let is_jump = |notice: &Notice| !matches!(notice, Notice::Tick(_));
        let blocks_readers = effect.event.is_some_and(JumpEvent::is_awaited_by_readers)
            && called.iter().any(|(_, notice)| is_jump(notice));
        state.handler_run = Some(HandlerRun {
            thread: sync::current().id(),
            blocks_readers,
        });
        if blocks_readers {
            self.shown.write(|| state.shown().to_words());
        }
        let mark = HandlerMark::set();
        drop(state);
        for (handler, notice) in called.iter().filter(|(_, notice)| is_jump(notice)) {
            self.running.set(Some(handler.registered_at()));
            handler.run(Phase::Before, *notice);
        }
        let mut state = self.lock();
        self.commit(effect, &mut state);
        if !blocks_readers {
            self.show(effect, &mut state);
        }
        drop(state);
        for (handler, notice) in &called {
            self.running.set(Some(handler.registered_at()));
            handler.run(Phase::After, *notice);
        }
        self.running.set(None);
        // A handler that was dropped meanwhile may own something whose drop needs the lock.
        drop(called);
        drop(mark);
        let mut state = self.lock();
        state.handler_run = None;
        if blocks_readers {
            self.show(effect, &mut state);
            state.rounds.finish();
            self.handlers_done.wake();
        }
        state
    }

    /// Puts the state after the change in place; readers may not see it yet.
    fn commit(&self, effect: &Effect, state: &mut CoreState) {
        let shown = state.now(&self.wall);
        if state.time.motion.moves() {
            // A time that was shown ends the sleeps until it, even if their threads have not checked it yet.
            state.waiters.wake_due(shown);
        }
        state.time.commit(effect, shown);
        if let Some(event) = effect.event {
            state.waiters.jump(event);
            state.timers.jump(event);
        }
    }

    /// Makes the change visible to readers. Wakes the waiters that are due, then those that have to check again. After
    /// a step forward that is none of the others, after a correction of extrapolated time at most the one that waits
    /// for the nearest time, and after any other change all of them.
    fn show(&self, effect: &Effect, state: &mut CoreState) {
        self.shown.write(|| {
            // Compared again: a thread may have read a later time since the commit. None can read during the write.
            if let Some(direction) = effect.continues {
                let shown = effect.motion_before.at(&self.wall);
                state.time.motion = state.time.motion.not_behind(shown, direction);
            }
            state.shown().to_words()
        });
        let now = state.now(&self.wall);
        // If time runs backwards, the time that the source fed has passed before any waiter checks.
        let latest = effect.fed.map_or(now, |fed| fed.max(now));
        state.waiters.wake_due(latest);
        let is_step = effect
            .event
            .is_none_or(|event| event.kind == JumpKind::Forward);
        if is_step && !effect.is_shut {
            self.wake_first(state);
        } else {
            state.waiters.wake_all();
        }
    }

    /// Wakes the waiter with the nearest time if the clock is extrapolated and that time comes before the waiter would
    /// check again by itself. So a new extrapolation wakes one thread at most, however many wait.
    pub(crate) fn wake_first(&self, state: &mut CoreState) {
        if let ClockMotion::Extrapolated(_) = state.time.motion {
            let motion = state.time.motion;
            state
                .waiters
                .wake_first(|at| motion.wall_at(at, &self.wall));
        }
    }

    /// Wakes the waiters whose time has come on a clock that moves by itself.
    pub(crate) fn wake_due(&self, state: &mut CoreState) {
        if state.time.motion.moves() && !state.blocks_readers() {
            let now = state.now(&self.wall);
            state.waiters.wake_due(now);
        }
    }
}

impl WallObserver for Core {
    /// When a manual wall is moved, wakes the waiters whose time-out has come, as the machine's clock does. In a model
    /// that is all. Otherwise every waiter that is due is awake when this returns, so that a test can rely on it.
    fn wall_moved(&self) {
        let mut state = self.lock();
        state.waiters.wake_timed_out(self.wall.steady());
        if cfg!(model) {
            return;
        }
        self.wake_due(&mut state);
        if let ClockMotion::Wall(_) = state.time.motion {
            // The date may have been set.
            state.waiters.wake_all();
        }
    }
}
