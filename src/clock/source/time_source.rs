//! [`TimeSource`]: who says what time it is, and [`Feed`]: to whom.
//!
//! The `/clock` subscription is one, a simulator in the same process or a GPS receiver may be others. A
//! source is told when it is wanted and then feeds, from whatever thread it likes; a
//! [`SimTime`](super::sim_time::SimTime) hands what it says to the clocks. What the machine's own clocks
//! feed is here as well (requirement T38).

use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::delivery::{Action, Delivery};
use crate::clock::state::extrapolate::{ClockState, Extrapolation, Heard};
use crate::clock::wall_clock::{Rest, Wall};
use crate::time::{Duration, Ros, Speed, Steady, Time};

/// Something that knows the time (requirements T25, T40, T41).
///
/// [`SimTime`](super::sim_time::SimTime) calls these one at a time, never beside each other, and hands on nothing
/// meanwhile. They must not wait for a thread that feeds: it may be the one that asks, from a jump handler. A panic
/// in them goes on in who made that call; the source is then off.
pub trait TimeSource: Send {
    /// Time is wanted: from now on feed it. Feeding right here is allowed.
    ///
    /// # Errors
    /// If it cannot; the clocks then stay as they are, whatever was fed here.
    fn start(&mut self, feed: &Feed) -> Result<(), SourceError>;

    /// Time is wanted no more; what is fed now is ignored. Also called before the source is dropped with the last
    /// clock, and then by no thread that runs handlers of its clocks: so that call may wait for the source's own thread.
    fn stop(&mut self);

    /// Called once, before anything else: a source on a network begins to count who publishes the time
    /// ([`Feed::publishers`]), wanted or not.
    fn attached(&mut self, feed: &Feed) {
        let _ = feed;
    }
}

impl<S: TimeSource + ?Sized> TimeSource for Box<S> {
    fn start(&mut self, feed: &Feed) -> Result<(), SourceError> {
        (**self).start(feed)
    }

    fn stop(&mut self) {
        (**self).stop();
    }

    fn attached(&mut self, feed: &Feed) {
        (**self).attached(feed);
    }
}

/// Why a source cannot start.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// It publishes system time on a machine without a system clock (requirement T13).
    #[error("this machine has no system clock\nhint: use the steady clock's source")]
    NoSystemClock,
    /// Its own reason.
    #[error("the time source cannot start")]
    Failed(#[source] Box<dyn Error + Send + Sync>),
}

/// Where a source says what time it is. Clones feed the same clocks; after the source was replaced, or its
/// clocks are gone, they feed nobody.
#[derive(Clone, Debug)]
pub struct Feed {
    hub: Weak<Delivery>,
    source: u64,
}

impl Feed {
    pub(crate) fn new(hub: &Arc<Delivery>, source: u64) -> Self {
        Self {
            hub: Arc::downgrade(hub),
            source,
        }
    }

    /// It is `time`, and stays so until the next call (requirement T17). While handlers run, times that wait are
    /// passed over for newer ones, but so that each step back is told of, as one with those that follow right on.
    pub fn time(&self, time: Time<Ros>) {
        self.act(Action::Time(time));
    }

    /// It is as `state` says, and goes on so from this call (requirement T33). With [`Feed::time`] the time would
    /// stand between two calls.
    pub fn state(&self, state: ClockState, how: Extrapolation) {
        self.state_since(state, how, self.stopwatch());
    }

    /// The same for a state that came earlier, `since` by [`Feed::stopwatch`]: for a source that keeps what it
    /// receives until a thread of its own feeds it.
    pub fn state_since(&self, state: ClockState, how: Extrapolation, since: Time<Steady>) {
        if let Some(wall) = self.wall() {
            self.act(Action::State(Heard::at(state, how, since, &wall)));
        }
    }

    /// The steady clock that states go on by.
    pub fn stopwatch(&self) -> Time<Steady> {
        self.wall().unwrap_or(Wall::Machine).steady()
    }

    /// So many publish the time now. More than one is against the rule that there is one clock server
    /// (requirement T27); one while the time is not wanted may mean that somebody forgot to want it (T22).
    /// Each is complained of once.
    pub fn publishers(&self, count: usize) {
        self.act(Action::Publishers(count));
    }

    /// Something came that should have said the time, and could not be read. It is counted
    /// ([`SimTime::malformed`](super::sim_time::SimTime::malformed)) and complained of once.
    pub fn malformed(&self) {
        if let Some(hub) = self.hub.upgrade() {
            hub.malformed(self.source);
        }
    }

    fn act(&self, action: Action) {
        if let Some(hub) = self.hub.upgrade() {
            hub.act(self.source, action);
        }
    }

    fn wall(&self) -> Option<Wall> {
        self.hub.upgrade().map(|hub| hub.wall().clone())
    }
}

/// Gives its feed away as soon as there is one. What [`SimTime::fed`](super::sim_time::SimTime::fed) has.
#[derive(Debug)]
pub(crate) struct ByHand(pub(crate) Arc<Mutex<Option<Feed>>>);

impl TimeSource for ByHand {
    fn start(&mut self, _: &Feed) -> Result<(), SourceError> {
        Ok(())
    }

    fn stop(&mut self) {}

    fn attached(&mut self, feed: &Feed) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(feed.clone());
    }
}

/// Says nothing. What [`SimTime::process`](super::sim_time::SimTime::process) begins with.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSource;

impl TimeSource for NoSource {
    fn start(&mut self, _: &Feed) -> Result<(), SourceError> {
        Ok(())
    }

    fn stop(&mut self) {}
}

/// The machine's own clocks as a source (requirement T38). It says once what time it is and that it goes
/// on at factor 1, by the steady clock; so it needs no thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MachineSource {
    /// Starts at the system clock's time; does not follow when its date is set.
    System,
    /// The steady clock.
    Steady,
}

impl TimeSource for MachineSource {
    fn start(&mut self, feed: &Feed) -> Result<(), SourceError> {
        let Some(wall) = feed.wall() else {
            return Ok(());
        };
        let time = match self {
            Self::System => wall
                .system()
                .ok_or(SourceError::NoSystemClock)?
                .assume_ros(),
            Self::Steady => wall.read(Rest::Steady),
        };
        let state = ClockState::new(time, Some(Speed::NORMAL));
        feed.state(state, Extrapolation::for_at_most(Duration::MAX));
        Ok(())
    }

    fn stop(&mut self) {}
}
