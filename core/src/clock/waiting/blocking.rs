//! How threads wait on a clock: for its time, for a jump, or until the handlers of a jump are done.
//!
//! Every waiter checks under the clock's lock, which every change takes, and waits on a wait queue that belongs to that
//! lock: no wake-up is lost.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::wait_queue::{Check, WaitQueue};
use super::waiters::WaiterId;
use crate::clock::core::{Core, CoreState, Locked};
use crate::clock::jump::handler::catch_panic;
use crate::clock::jump::handler_rounds;
use crate::clock::jump::handler_rounds::Round;
use crate::clock::jump::thread_marks::{HandlerMark, runs_handlers};
use crate::clock::sync;
use crate::clock::wall_clock::Wall;
use crate::time::{Ros, Steady, Time};

impl Core {
    /// Takes the lock; if handlers run that `now()` waits for, it first waits until they are done. Threads that run
    /// handlers, of any clock, never wait.
    #[inline]
    pub(crate) fn lock_after_handlers(&self) -> Locked<'_> {
        let mut state = self.lock();
        if state.blocks_readers() && !runs_handlers() {
            let round = state.rounds.begin_wait();
            while !state.rounds.is_over(round) {
                state = self.wait_for_round(state, &self.handlers_done, None, round);
            }
            self.leave_round(&mut state, round);
        }
        state
    }

    /// Ends a wait for a round, under the lock: the next round may begin when the lock is released.
    fn leave_round(&self, state: &mut CoreState, round: Round) {
        state.rounds.end_wait(round);
        if state.rounds.may_begin() && state.rounds.waiting_to_begin > 0 {
            self.waiters_released.notify_all();
        }
    }

    /// Waits until the queue is woken, or until `until`; logs a warning if the round takes long.
    fn wait_for_round<'a>(
        &'a self,
        state: Locked<'a>,
        wait_queue: &WaitQueue,
        until: Option<Time<Steady>>,
        round: Round,
    ) -> Locked<'a> {
        if cfg!(model) {
            return self.block(state, wait_queue, until);
        }
        let began = Wall::Machine.steady();
        let warning = Some(handler_rounds::WARN_AFTER.to_std());
        let left = self.time_left(until).into_iter().chain(warning).min();
        let state = self.block_for(state, wait_queue, left);
        let waited = Wall::Machine.steady().saturating_since(began);
        if waited < handler_rounds::WARN_AFTER || state.rounds.is_over(round) {
            return state;
        }
        drop(state);
        // Log subscribers are user code. They may ask for the time, and do not wait for these handlers.
        let mark = HandlerMark::set();
        catch_panic(|| self.running.warn_once());
        drop(mark);
        self.lock()
    }

    /// The time once no handlers run that `now()` waits for. To the thread that runs handlers, it is the time that they
    /// are to see.
    pub(crate) fn now_after_handlers(&self) -> Time<Ros> {
        let state = self.lock_after_handlers();
        if state.blocks_readers() && !state.runs_handlers_here() {
            return self.read_shown(|shown, wall| shown.motion.at(wall));
        }
        state.now(&self.wall)
    }

    /// Wakes one waiter. Under the lock a waiter either has not checked yet or waits, so it does not miss this. If many
    /// sleeps share the queue, `sleep` is the one to check.
    pub(crate) fn wake(&self, wait_queue: &WaitQueue, sleep: Option<WaiterId>) {
        let mut state = self.lock();
        match sleep {
            Some(id) => state.waiters.wake(id),
            None => wait_queue.wake(),
        }
    }

    pub(crate) fn wait_queue(&self) -> Arc<WaitQueue> {
        WaitQueue::new(&self.waiting)
    }

    /// Calls `check` until it is done. Between the calls the waiter waits for a wake-up, or for the machine's clock
    /// to reach the target. While handlers run that `now()` waits for, only handlers are given a time to check against.
    pub(crate) fn wait<'a, T>(
        &'a self,
        mut state: Locked<'a>,
        waiter: WaiterId,
        mut check: impl FnMut(&mut CoreState, Option<Time<Ros>>) -> Check<T>,
    ) -> (Locked<'a>, T) {
        let wait_queue = state.waiters.wait_queue(waiter);
        let mut joined: Option<Round> = None;
        loop {
            let may_check = !state.blocks_readers() || runs_handlers();
            let now = may_check.then(|| state.now(&self.wall));
            match check(&mut state, now) {
                Check::Done(found) => {
                    if let Some(round) = joined {
                        self.leave_round(&mut state, round);
                    }
                    state.waiters.remove_from_queue(waiter);
                    self.wake_first(&mut state);
                    return (state, found);
                }
                Check::Again { at, deadline } => {
                    let reached = at.and_then(|at| state.time.motion.wall_at(at, &self.wall));
                    let until = reached.into_iter().chain(deadline).min();
                    state.waiters.plan_check(waiter, at, until);
                    self.wake_first(&mut state);
                    if may_check {
                        state = self.block(state, &wait_queue, until);
                        self.wake_due(&mut state);
                        continue;
                    }
                    let round = *joined.get_or_insert_with(|| state.rounds.begin_wait());
                    state = self.wait_for_round(state, &wait_queue, until, round);
                    if state.rounds.is_over(round) {
                        self.leave_round(&mut state, round);
                        joined = None;
                    }
                }
            }
        }
    }

    /// How long it is until `until` by the machine's steady clock; `None` if only a wake-up ends the wait.
    fn time_left(&self, until: Option<Time<Steady>>) -> Option<std::time::Duration> {
        until
            .filter(|_| !self.wall.is_manual())
            .map(|until| until.saturating_since(self.wall.steady()).to_std())
    }

    /// Waits until the queue is woken, or until `until`.
    fn block<'a>(
        &self,
        state: Locked<'a>,
        wait_queue: &WaitQueue,
        until: Option<Time<Steady>>,
    ) -> Locked<'a> {
        self.block_for(state, wait_queue, self.time_left(until))
    }

    /// Waits until the queue is woken, or for `left`.
    fn block_for<'a>(
        &self,
        state: Locked<'a>,
        wait_queue: &WaitQueue,
        left: Option<std::time::Duration>,
    ) -> Locked<'a> {
        if self.wait_began_observers.load(Relaxed) > 0 {
            self.wait_began.notify_all();
        }
        let mut state = wait_queue.wait(state, left);
        state.wakeups += 1;
        state
    }

    /// Returns whether `count` threads waited on this clock at some moment within `limit` of real time.
    pub(crate) fn wait_asleep(&self, count: usize, limit: std::time::Duration) -> bool {
        let state = self.lock();
        self.wait_began_observers.fetch_add(1, Relaxed);
        let came = sync::wait_while(&self.wait_began, state, limit, |_| {
            self.waiting.load(Relaxed) < count
        });
        self.wait_began_observers.fetch_sub(1, Relaxed);
        came
    }

    /// The first time that a call waits for on this clock.
    pub(crate) fn first_wait(&self) -> Option<Time<Ros>> {
        self.lock().waiters.first_time()
    }

    pub(crate) fn wakeups(&self) -> u64 {
        self.lock().wakeups
    }
}
