//! [`ClockWriter`]: the one handle that moves a ROS clock's time; made with the clock by [`Clock::ros`].
//!
//! It cannot be cloned. When it is dropped, the clock shows system time. A [`SimTime`](super::sim_time::SimTime) turns
//! it into an [`Attached`].

use std::sync::{Arc, Weak};

use super::keep_alive::{KeepAlive, Kept};
use crate::clock::core::{Core, Locked};
use crate::clock::handle::Clock;
use crate::clock::jump::thread_marks::DeliveryId;
use crate::clock::state::change::{Change, Fallback};
use crate::clock::state::delivery_limit::Share;
use crate::clock::state::extrapolate::{ClockState, Extrapolation, Heard};
use crate::clock::wall_clock::{Rest, Wall};
use crate::time::{Ros, Time};

/// Moves one ROS clock. Each change takes effect before the call returns, except in a jump handler of the clock or
/// while another thread runs one: then it takes effect right after the handlers, in the order of the calls. When more
/// than 64 changes wait, times that lie between two others are dropped; when more than 128 wait, only the newest of
/// each kind is kept (of times and states, activations, deactivations): the clock is then on or off as the last of them
/// says, and has the newest time.
#[derive(Debug)]
pub struct ClockWriter {
    clock: Clock<Ros>,
    hold: Hold,
}

/// The right to move the clock; when it is dropped, the clock shows system time.
#[derive(Debug)]
struct Hold(Arc<Core>);

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.change(Change::Deactivate, Share::ALL);
    }
}

impl Clock<Ros> {
    /// A ROS clock and its writer. Give the writer to a [`SimTime`](super::sim_time::SimTime), or move the time with
    /// it; when it is dropped, the clock shows system time.
    pub fn ros(fallback: Fallback) -> (Self, ClockWriter) {
        Self::ros_on(Wall::Machine, fallback)
    }

    pub(crate) fn ros_on(wall: Wall, fallback: Fallback) -> (Self, ClockWriter) {
        let clock = Self::of(Core::new(wall, Rest::System, fallback));
        let writer = ClockWriter::new(clock.clone());
        (clock, writer)
    }
}

impl ClockWriter {
    fn new(clock: Clock<Ros>) -> Self {
        let hold = Hold(Arc::clone(&clock.core));
        Self { clock, hold }
    }

    /// The clock that this writer moves.
    pub fn clock(&self) -> Clock<Ros> {
        self.clock.clone()
    }

    /// The source drives the clock from now on, beginning with the last time that was set.
    pub fn activate(&self) {
        self.change(Change::Activate, Share::BOUNDED);
    }

    /// The clock shows system time from now on.
    pub fn deactivate(&self) {
        self.change(Change::Deactivate, Share::BOUNDED);
    }

    /// Sets the time of the source. While the source is not active, the time is kept but not shown. A first time of
    /// zero counts as no time.
    pub fn set(&self, time: Time<Ros>) {
        self.change(Change::Time(time), Share::ALL);
    }

    /// Sets the time of the source, and how it goes on from this call.
    pub fn set_state(&self, state: ClockState, how: Extrapolation) {
        let wall = self.clock.core.wall();
        self.change(Change::State(Heard::now(state, how, wall)), Share::ALL);
    }

    /// Ends all sleeps with [`SleepError::Shutdown`](crate::clock::waiting::on_jump::SleepError::Shutdown), now and later.
    pub fn shut_down(&self) {
        self.change(Change::Shut, Share::BOUNDED);
    }

    fn change(&self, change: Change, share: Share) {
        self.clock.core.change(change, share);
    }
}

/// A clock that a source drives, until another source does. From then on, changes on behalf of the former source are
/// ignored, whichever thread makes them.
#[derive(Clone, Debug)]
pub(crate) struct Attached {
    hold: Arc<Hold>,
    /// Weak, so that the time source is dropped with the last handle of the clock.
    life: Weak<KeepAlive>,
    owner: u64,
}

impl Attached {
    /// The clock shows system time at first; the time that it showed before is forgotten.
    pub(crate) fn new(writer: ClockWriter) -> Self {
        let life = Arc::downgrade(&writer.clock.life);
        Self::of(Arc::new(writer.hold), life)
    }

    fn of(hold: Arc<Hold>, life: Weak<KeepAlive>) -> Self {
        let core = &hold.0;
        let mut state = core.lock();
        state.owner += 1;
        let owner = state.owner;
        state.delivery = None;
        state.changes.put_in_order(Change::Deactivate);
        state.changes.put_in_order(Change::Forget);
        core.catch_up(state, Share::BOUNDED);
        Self { hold, life, owner }
    }

    /// Detaches the clock from its source, in the state in which [`Attached::new`] makes it. If this is dropped, no
    /// source drives it.
    #[must_use]
    pub(crate) fn changes_hands(self) -> Self {
        Self::of(self.hold, self.life)
    }

    /// From now on it has the time of this delivery, and its handles keep `keeper` alive. Returns what they kept before.
    #[must_use]
    pub(crate) fn joins(&self, delivery: DeliveryId, keeper: Kept) -> Option<Kept> {
        self.hold.0.lock().delivery = Some(delivery);
        match self.life.upgrade() {
            Some(life) => life.keep(Some(keeper)),
            None => Some(keeper),
        }
    }

    /// Its handles keep nothing alive any more. Returns what they kept.
    #[must_use]
    pub(crate) fn leaves(&self) -> Option<Kept> {
        self.life.upgrade().and_then(|life| life.keep(None))
    }

    pub(crate) fn is_of(&self, clock: &Clock<Ros>) -> bool {
        Arc::ptr_eq(&self.hold.0, &clock.core)
    }

    /// Whether the clock has a handle left; the registration of a handler counts as one.
    pub(crate) fn is_used(&self) -> bool {
        self.life.strong_count() > 0
    }

    pub(crate) fn change(&self, change: Change, share: Share) {
        let core = &self.hold.0;
        core.catch_up(self.queued([change]), share);
    }

    /// Queues changes without running a handler; [`Attached::catch_up`] makes them.
    pub(crate) fn queue(&self, changes: impl IntoIterator<Item = Change>) {
        drop(self.queued(changes));
    }

    /// Makes this share of the queued changes, or leaves it to the thread that runs handlers now.
    pub(crate) fn catch_up(&self, share: Share) {
        let core = &self.hold.0;
        core.catch_up(core.lock(), share);
    }

    fn queued(&self, changes: impl IntoIterator<Item = Change>) -> Locked<'_> {
        let mut state = self.hold.0.lock();
        if state.owner == self.owner {
            for change in changes {
                state.changes.put_in_order(change);
            }
        }
        state
    }
}
