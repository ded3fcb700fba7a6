//! [`ClockWriter`]: the one handle that moves a ROS clock's time; made with the clock by [`Clock::ros`].
//!
//! It cannot be cloned. When it is dropped, the clock shows system time. A [`SimTime`](super::sim_time::SimTime) turns
//! it into an [`AttachedClock`].

use std::sync::{Arc, Weak};

use super::keep_alive::{KeepAlive, Kept};
use crate::clock::core::{Core, Locked};
use crate::clock::handle::Clock;
use crate::clock::jump::thread_marks::DeliveryId;
use crate::clock::state::change::{Change, Fallback};
use crate::clock::state::delivery_limit::DeliveryLimit;
use crate::clock::state::extrapolate::{ClockState, Extrapolation, ReceivedState};
use crate::clock::wall_clock::{Wall, WallClock};
use crate::time::{Ros, Time};

/// Moves one ROS clock. Each change takes effect before the call returns, except in a jump handler of the clock or
/// while another thread runs one: then it takes effect right after the handlers, in the order of the calls. When more
/// than 64 changes wait, times that lie between two others are dropped; when more than 128 wait, only the newest of
/// each kind is kept (of times and states, activations, deactivations): the clock is then on or off as the last of them
/// says, and has the newest time.
///
/// ```
/// # use bagplay_core as bagplay;
/// use bagplay::clock::{Clock, Fallback};
/// use bagplay::time::Time;
/// let (clock, writer) = Clock::ros(Fallback::Zero);
/// writer.activate();
/// writer.set(Time::from_secs(5));
/// assert_eq!(clock.now(), Time::from_secs(5));
/// drop(writer);
/// assert!(!clock.is_active()); // it shows system time
/// ```
#[derive(Debug)]
pub struct ClockWriter {
    clock: Clock<Ros>,
    access: WriteAccess,
}

/// The right to move the clock; when it is dropped, the clock shows system time.
#[derive(Debug)]
struct WriteAccess(Arc<Core>);

impl Drop for WriteAccess {
    fn drop(&mut self) {
        self.0.change(Change::Deactivate, DeliveryLimit::NONE);
    }
}

impl Clock<Ros> {
    /// A ROS clock and its writer. Give the writer to a [`SimTime`](super::sim_time::SimTime), or move the time with
    /// it; when it is dropped, the clock shows system time.
    pub fn ros(fallback: Fallback) -> (Self, ClockWriter) {
        Self::ros_on(Wall::Machine, fallback)
    }

    pub(crate) fn ros_on(wall: Wall, fallback: Fallback) -> (Self, ClockWriter) {
        let clock = Self::of(Core::new(wall, WallClock::System, fallback));
        let writer = ClockWriter::new(clock.clone());
        (clock, writer)
    }
}

impl ClockWriter {
    fn new(clock: Clock<Ros>) -> Self {
        let access = WriteAccess(Arc::clone(&clock.core));
        Self { clock, access }
    }

    /// The clock that this writer moves.
    pub fn clock(&self) -> Clock<Ros> {
        self.clock.clone()
    }

    /// The source drives the clock from now on, beginning with the last time that was set.
    pub fn activate(&self) {
        self.change(Change::Activate, DeliveryLimit::BOUNDED);
    }

    /// The clock shows system time from now on.
    pub fn deactivate(&self) {
        self.change(Change::Deactivate, DeliveryLimit::BOUNDED);
    }

    /// Sets the time of the source. While the source is not active, the time is kept but not shown. A first time of
    /// zero counts as no time.
    #[inline]
    pub fn set(&self, time: Time<Ros>) {
        self.change(Change::Time(time), DeliveryLimit::NONE);
    }

    /// Sets the time of the source, which moves from this call on at the factor of `state`, for at most `how.max_age`.
    pub fn set_state(&self, state: ClockState, how: Extrapolation) {
        let wall = self.clock.core.wall();
        self.change(
            Change::State(ReceivedState::now(state, how, wall)),
            DeliveryLimit::NONE,
        );
    }

    /// Ends all sleeps with [`SleepError::Shutdown`](crate::clock::waiting::on_jump::SleepError::Shutdown), now and
    /// later.
    pub fn shut_down(&self) {
        self.change(Change::Shut, DeliveryLimit::BOUNDED);
    }

    #[inline]
    fn change(&self, change: Change, limit: DeliveryLimit) {
        self.clock.core.change(change, limit);
    }
}

/// A clock that a source drives, until another source does. From then on, changes on behalf of the former source are
/// ignored, whichever thread makes them.
#[derive(Clone, Debug)]
pub(crate) struct AttachedClock {
    access: Arc<WriteAccess>,
    /// Weak, so that the time source is dropped with the last handle of the clock.
    keep_alive: Weak<KeepAlive>,
    owner: u64,
}

impl AttachedClock {
    /// The clock shows system time at first; the time that it showed before is forgotten.
    pub(crate) fn new(writer: ClockWriter) -> Self {
        let keep_alive = Arc::downgrade(&writer.clock.keep_alive);
        Self::of(Arc::new(writer.access), keep_alive)
    }

    fn of(access: Arc<WriteAccess>, keep_alive: Weak<KeepAlive>) -> Self {
        let core = &access.0;
        let mut state = core.lock();
        state.owner += 1;
        let owner = state.owner;
        state.delivery = None;
        state.queue(Change::Deactivate);
        state.queue(Change::Forget);
        core.make_queued(state, DeliveryLimit::BOUNDED);
        Self {
            access,
            keep_alive,
            owner,
        }
    }

    /// Detaches the clock from its source, in the state in which [`AttachedClock::new`] makes it. If this is dropped,
    /// no source drives it.
    #[must_use]
    pub(crate) fn detached(self) -> Self {
        Self::of(self.access, self.keep_alive)
    }

    /// From now on this delivery delivers its time, and its handles keep `keeper` alive. Returns what they kept before.
    #[must_use]
    pub(crate) fn set_delivery(&self, delivery: DeliveryId, keeper: Kept) -> Option<Kept> {
        self.access.0.lock().delivery = Some(delivery);
        match self.keep_alive.upgrade() {
            Some(keep_alive) => keep_alive.keep(Some(keeper)),
            None => Some(keeper),
        }
    }

    /// From now on its handles keep nothing alive. Returns what they kept.
    #[must_use]
    pub(crate) fn release_keeper(&self) -> Option<Kept> {
        self.keep_alive
            .upgrade()
            .and_then(|keep_alive| keep_alive.keep(None))
    }

    pub(crate) fn is_clock(&self, clock: &Clock<Ros>) -> bool {
        Arc::ptr_eq(&self.access.0, &clock.core)
    }

    /// Whether the clock has a handle left. The registration of a handler counts as one.
    pub(crate) fn has_handle(&self) -> bool {
        self.keep_alive.strong_count() > 0
    }

    #[inline]
    pub(crate) fn change(&self, change: Change, limit: DeliveryLimit) {
        let core = &self.access.0;
        core.make_queued(self.lock_and_queue([change]), limit);
    }

    /// Waits until the clock has made the changes other than times that are queued now.
    pub(crate) fn wait_until_made(&self) {
        self.access.0.wait_until_made();
    }

    /// Queues changes without running a handler; [`AttachedClock::make_queued`] makes them.
    pub(crate) fn queue(&self, changes: impl IntoIterator<Item = Change>) {
        drop(self.lock_and_queue(changes));
    }

    /// Makes the queued changes, up to the limit. If a thread runs handlers now, that thread makes them.
    pub(crate) fn make_queued(&self, limit: DeliveryLimit) {
        let core = &self.access.0;
        core.make_queued(core.lock(), limit);
    }

    /// Queues changes, unless another source drives the clock by now.
    fn lock_and_queue(&self, changes: impl IntoIterator<Item = Change>) -> Locked<'_> {
        let mut state = self.access.0.lock();
        if state.owner == self.owner {
            for change in changes {
                state.queue(change);
            }
        }
        state
    }
}
