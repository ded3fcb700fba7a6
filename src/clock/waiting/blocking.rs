//! How threads wait on a clock: for its time, for a jump, or until the handlers of a jump are done.
//!
//! Every waiter checks under the clock's lock, which every change takes, and waits on a wait queue that belongs to that
//! lock: no wake-up is lost.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::wait_queue::{Look, WaitQueue};
use super::waiters::AlarmId;
use crate::clock::core::{Core, CoreState, Locked};
use crate::clock::jump::handler::contained;
use crate::clock::jump::handler_rounds;
use crate::clock::jump::handler_rounds::Ticket;
use crate::clock::jump::thread_marks::{Handlers, is_handling};
use crate::clock::sync;
use crate::clock::wall_clock::Wall;
use crate::time::{Ros, Steady, Time};

impl Core {
    /// Takes the lock; if handlers run that `now()` waits for, it first waits until they are done. Threads that run
    /// handlers, of any clock, never wait.
    pub(crate) fn settled(&self) -> Locked<'_> {
        let mut state = self.lock();
        if state.is_gated() && !is_handling() {
            let ticket = state.gate.join();
            while !state.gate.is_over(ticket) {
                state = self.wait_for_round(state, &self.settled, None, ticket);
            }
            self.pass(&mut state, ticket);
        }
        state
    }

    /// Leaves the gate after a wait for a round, under the lock: the next round may begin when the lock is released.
    fn pass(&self, state: &mut CoreState, ticket: Ticket) {
        state.gate.leave(ticket);
        if state.gate.is_clear() && state.gate.held_up > 0 {
            self.passed.notify_all();
        }
    }

    /// Waits until the queue is woken, or until `until`; logs a warning if the round takes long.
    fn wait_for_round<'a>(
        &'a self,
        state: Locked<'a>,
        wait_queue: &WaitQueue,
        until: Option<Time<Steady>>,
        ticket: Ticket,
    ) -> Locked<'a> {
        if cfg!(model) {
            return self.doze(state, wait_queue, until);
        }
        let began = Wall::Machine.steady();
        let patience = Some(handler_rounds::PATIENCE.to_std());
        let left = self.left(until).into_iter().chain(patience).min();
        let state = self.doze_for(state, wait_queue, left);
        let waited = Wall::Machine.steady().saturating_since(began);
        if waited < handler_rounds::PATIENCE || state.gate.is_over(ticket) {
            return state;
        }
        drop(state);
        // Log subscribers are user code. They may ask for the time, and do not wait for these handlers.
        let handling = Handlers::run();
        contained(|| self.running.tell());
        drop(handling);
        self.lock()
    }

    /// The time once no handlers run. The thread that runs handlers gets the time that they are to see.
    pub(crate) fn settled_now(&self) -> Time<Ros> {
        let state = self.settled();
        if state.is_gated() && !state.is_handled_here() {
            return self.look(|shown, wall| shown.reading.at(wall));
        }
        state.now(&self.wall)
    }

    /// Wakes one waiter, under the lock: it has not checked yet, or it is waiting. If many sleeps share the queue,
    /// `sleep` is the one to check.
    pub(crate) fn ring(&self, wait_queue: &WaitQueue, sleep: Option<AlarmId>) {
        let mut state = self.lock();
        match sleep {
            Some(id) => state.alarms.ring(id),
            None => wait_queue.ring(),
        }
    }

    pub(crate) fn wait_queue(&self) -> Arc<WaitQueue> {
        WaitQueue::new(&self.asleep)
    }

    /// Calls `look` until it is done. Between the calls the waiter waits for a wake-up, or for the machine's clock
    /// to reach the target. While handlers run that `now()` waits for, only handlers are given a time to check against.
    pub(crate) fn wait<'a, T>(
        &'a self,
        mut state: Locked<'a>,
        waiter: AlarmId,
        mut look: impl FnMut(&mut CoreState, Option<Time<Ros>>) -> Look<T>,
    ) -> (Locked<'a>, T) {
        let wait_queue = state.alarms.waiter_bell(waiter);
        let mut ticket: Option<Ticket> = None;
        loop {
            let may_look = !state.is_gated() || is_handling();
            let now = may_look.then(|| state.now(&self.wall));
            match look(&mut state, now) {
                Look::Done(found) => {
                    if let Some(ticket) = ticket {
                        self.pass(&mut state, ticket);
                    }
                    state.alarms.waits_no_more(waiter);
                    self.tell_first(&mut state);
                    return (state, found);
                }
                Look::Again { at, steady } => {
                    let comes = at.and_then(|at| state.time.reading.wall_at(at, &self.wall));
                    let until = comes.into_iter().chain(steady).min();
                    state.alarms.waits(waiter, at, until);
                    self.tell_first(&mut state);
                    if may_look {
                        state = self.doze(state, &wait_queue, until);
                        self.ring_passed(&mut state);
                        continue;
                    }
                    let turn = *ticket.get_or_insert_with(|| state.gate.join());
                    state = self.wait_for_round(state, &wait_queue, until, turn);
                    if state.gate.is_over(turn) {
                        self.pass(&mut state, turn);
                        ticket = None;
                    }
                }
            }
        }
    }

    /// How long the machine's clock needs to get to `until`; `None` if only a wake-up ends the wait.
    fn left(&self, until: Option<Time<Steady>>) -> Option<std::time::Duration> {
        until
            .filter(|_| !self.wall.is_manual())
            .map(|until| until.saturating_since(self.wall.steady()).to_std())
    }

    fn doze<'a>(
        &self,
        state: Locked<'a>,
        wait_queue: &WaitQueue,
        until: Option<Time<Steady>>,
    ) -> Locked<'a> {
        self.doze_for(state, wait_queue, self.left(until))
    }

    fn doze_for<'a>(
        &self,
        state: Locked<'a>,
        wait_queue: &WaitQueue,
        left: Option<std::time::Duration>,
    ) -> Locked<'a> {
        if self.onlookers.load(Relaxed) > 0 {
            self.dozed_off.notify_all();
        }
        let mut state = wait_queue.wait(state, left);
        state.wakeups += 1;
        state
    }

    /// Returns whether `count` threads waited on this clock at some moment within `patience` of real time.
    pub(crate) fn wait_asleep(&self, count: usize, patience: std::time::Duration) -> bool {
        let state = self.lock();
        self.onlookers.fetch_add(1, Relaxed);
        let came = sync::wait_while(&self.dozed_off, state, patience, |_| {
            self.asleep.load(Relaxed) < count
        });
        self.onlookers.fetch_sub(1, Relaxed);
        came
    }

    pub(crate) fn wakeups(&self) -> u64 {
        self.lock().wakeups
    }
}
