//! [`ClockWriter`]: the one handle that moves a ROS clock's time.
//!
//! A [`SimTime`](super::sim_time::SimTime) holds one for each of its clocks. It cannot be cloned; dropping
//! it gives the clock back to the system's time.

use std::sync::Arc;

use super::change::Change;
use super::clock::Clock;
use super::core::Locked;
use super::extrapolate::{ClockState, Extrapolation, Heard};
use super::jump::HubId;
use super::point::{Ros, Time};

/// Moves one ROS clock. All moves take effect before they return, but in a jump handler of the clock or
/// beside one in another thread: then right after it, in the order of the calls.
#[derive(Debug)]
pub struct ClockWriter {
    clock: Clock<Ros>,
}

impl ClockWriter {
    pub(super) const fn new(clock: Clock<Ros>) -> Self {
        Self { clock }
    }

    /// The clock that it moves.
    pub fn clock(&self) -> Clock<Ros> {
        self.clock.clone()
    }

    /// The source drives the clock from now on; what it has said before counts (requirements T17, T18).
    pub fn activate(&self) {
        self.change(Change::Activate);
    }

    /// The clock shows system time from now on (requirement T16).
    pub fn deactivate(&self) {
        self.change(Change::Deactivate);
    }

    /// What the source says the time is. Kept, but not shown, while it is not active. A first zero is no
    /// time (requirement T20).
    pub fn set(&self, time: Time<Ros>) {
        self.change(Change::Time(time));
    }

    /// What the source says the time is and how it goes on from this call (requirement T33).
    pub fn set_state(&self, state: ClockState, how: Extrapolation) {
        let wall = self.clock.core.wall();
        self.change(Change::State(Heard::now(state, how, wall)));
    }

    /// Ends all sleeps with [`SleepError::Shutdown`](super::sleep::SleepError::Shutdown), now and later.
    pub fn shut_down(&self) {
        self.change(Change::Shut);
    }

    fn change(&self, change: Change) {
        self.clock.core.change(change);
    }
}

impl Drop for ClockWriter {
    fn drop(&mut self) {
        self.deactivate();
    }
}

/// A clock in the hands of a source, until it changes hands: what was said on behalf of the one before counts no
/// more from then on, in whichever thread it is on its way.
#[derive(Clone, Debug)]
pub(super) struct Attached {
    writer: Arc<ClockWriter>,
    owner: u64,
}

impl Attached {
    /// The clock shows system time at first, and nothing is known of the time that it showed.
    pub(super) fn new(writer: ClockWriter) -> Self {
        Self::of(Arc::new(writer))
    }

    fn of(writer: Arc<ClockWriter>) -> Self {
        let core = &writer.clock.core;
        let mut state = core.lock();
        state.owner += 1;
        let owner = state.owner;
        state.hub = None;
        state.changes.extend([Change::Deactivate, Change::Forget]);
        core.catch_up(state);
        Self { writer, owner }
    }

    /// In other hands, or in nobody's if it is dropped: as it was at first.
    #[must_use]
    pub(super) fn changes_hands(self) -> Self {
        Self::of(self.writer)
    }

    /// From now on it has the time of this hub.
    pub(super) fn joins(&self, hub: HubId) {
        self.writer.clock.core.lock().hub = Some(hub);
    }

    pub(super) fn is_of(&self, clock: &Clock<Ros>) -> bool {
        Arc::ptr_eq(&self.writer.clock.core, &clock.core)
    }

    /// Whether anybody else has the clock, or a handler of it waits for calls.
    pub(super) fn is_used(&self) -> bool {
        let core = &self.writer.clock.core;
        Arc::strong_count(core) > 1 || !core.lock().handlers.is_empty()
    }

    pub(super) fn change(&self, change: Change) {
        let core = &self.writer.clock.core;
        core.catch_up(self.queued([change]));
    }

    /// Puts changes in line, without running a handler, for [`Attached::catch_up`] to make.
    pub(super) fn queue(&self, changes: impl IntoIterator<Item = Change>) {
        drop(self.queued(changes));
    }

    /// Makes what is in line, or leaves it to the thread that runs handlers now.
    pub(super) fn catch_up(&self) {
        let core = &self.writer.clock.core;
        core.catch_up(core.lock());
    }

    fn queued(&self, changes: impl IntoIterator<Item = Change>) -> Locked<'_> {
        let mut state = self.writer.clock.core.lock();
        if state.owner == self.owner {
            state.changes.extend(changes);
        }
        state
    }
}
