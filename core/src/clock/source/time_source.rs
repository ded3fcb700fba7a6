//! [`TimeSource`]: what provides the time; [`Feed`]: where a source puts it.
//!
//! The `/clock` subscription is a time source; a simulator in the same process or a GPS receiver can be others. A
//! source is started when its time is wanted, and then feeds it from any thread; a
//! [`SimTime`](super::sim_time::SimTime) delivers it to the clocks. The source that feeds the time of the machine's own
//! clocks is here as well.

use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::delivery::{Delivery, DeliveryItem};
use crate::clock::state::extrapolate::{ClockState, Extrapolation, ReceivedState};
use crate::clock::wall_clock::{Wall, WallClock};
use crate::time::{Duration, Ros, Speed, Steady, Time};

/// A source of time.
///
/// ```
/// # use bagplay_core as bagplay;
/// use bagplay::clock::{Feed, SimTime, SourceError, TimeSource};
/// use bagplay::time::Time;
///
/// /// Feeds one time when it starts.
/// struct Fixed(Time<bagplay::time::Ros>);
///
/// impl TimeSource for Fixed {
///     fn start(&mut self, feed: &Feed) -> Result<(), SourceError> {
///         feed.time(self.0);
///         Ok(())
///     }
///
///     fn stop(&mut self) {}
/// }
///
/// let sim = SimTime::new(Fixed(Time::from_secs(7)));
/// sim.enable()?;
/// assert_eq!(sim.clock().now(), Time::from_secs(7));
/// # Ok::<(), SourceError>(())
/// ```
///
/// [`SimTime`](super::sim_time::SimTime) calls these methods one at a time, and delivers nothing meanwhile. They must
/// not wait for a thread that feeds: that thread may have made the call, from a jump handler. A panic in a method
/// continues in the caller; the source is then off.
pub trait TimeSource: Send {
    /// The time is wanted: feed it from now on. It may be fed within this call.
    ///
    /// # Errors
    /// If the source cannot start; the clocks then stay as they are, whatever was fed in this call.
    fn start(&mut self, feed: &Feed) -> Result<(), SourceError>;

    /// The time is no longer wanted; what is fed now is ignored. Also called before the source is dropped with the last
    /// clock, and then never by a thread that runs handlers of its clocks: that call may wait for the source's own
    /// thread.
    fn stop(&mut self);

    /// Called once, before any other method: a source on a network begins to count the publishers of the time
    /// ([`Feed::publishers`]), whether the time is wanted or not.
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
#[non_exhaustive]
pub enum SourceError {
    /// It feeds system time on a machine without a system clock.
    #[error("this machine has no system clock\nhint: use the steady clock's source")]
    NoSystemClock,
    /// A reason of the source's own.
    #[error("the time source cannot start")]
    Failed(#[source] Box<dyn Error + Send + Sync>),
}

/// Where a source puts the time. Clones feed the same clocks. Feeding has no effect while sim time is off, after the
/// source was replaced, and when the clocks are gone. [`SimTime::fed`](super::sim_time::SimTime::fed) has an example.
#[derive(Clone, Debug)]
pub struct Feed {
    delivery: Weak<Delivery>,
    source: u64,
}

impl Feed {
    pub(crate) fn new(delivery: &Arc<Delivery>, source: u64) -> Self {
        Self {
            delivery: Arc::downgrade(delivery),
            source,
        }
    }

    /// The time is `time`, until the next call. While handlers run, newer times replace those that wait. While fewer
    /// than 64 times wait, no step back is lost, but several in a row may be delivered as one.
    pub fn time(&self, time: Time<Ros>) {
        self.put(DeliveryItem::Time(time));
    }

    /// The time is that of `state`, and moves from this call on at the factor of `state`, for at most `how.max_age`.
    /// With [`Feed::time`] it stands still between two calls.
    ///
    /// ```
    /// # use bagplay_core as bagplay;
    /// use bagplay::clock::{ClockState, Extrapolation, SimTime, TestClock};
    /// use bagplay::time::{Duration, Speed, Time};
    /// let test = TestClock::new(Time::from_secs(1));
    /// let (sim, feed) = SimTime::fed_on_test_clock(&test);
    /// sim.enable()?;
    /// let double = ClockState::new(Time::from_secs(50), Some(Speed::from_f64(2.0)?));
    /// feed.state(double, Extrapolation::for_at_most(Duration::from_secs(5)));
    /// test.pass(Duration::from_secs(1));
    /// assert_eq!(sim.clock().now(), Time::from_secs(52));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn state(&self, state: ClockState, how: Extrapolation) {
        self.state_since(state, how, self.steady_now());
    }

    /// As [`Feed::state`], for a state that was received earlier, at `since` by [`Feed::steady_now`]: for a source that
    /// keeps what it receives until a thread of its own feeds it.
    pub fn state_since(&self, state: ClockState, how: Extrapolation, since: Time<Steady>) {
        if let Some(wall) = self.wall() {
            self.put(DeliveryItem::State(ReceivedState::at(
                state, how, since, &wall,
            )));
        }
    }

    /// The time of the steady clock by which states are extrapolated.
    pub fn steady_now(&self) -> Time<Steady> {
        self.wall().unwrap_or(Wall::Machine).steady()
    }

    /// Reports how many publishers of the time there are now. More than one breaks the rule that there is one clock
    /// server; one while sim time is off is ignored, which may be unintended. Each of these is logged once as a
    /// complaint.
    pub fn publishers(&self, count: usize) {
        self.put(DeliveryItem::Publishers(count));
    }

    /// Reports a message that should have carried the time and could not be read. It is counted
    /// ([`SimTime::malformed`](super::sim_time::SimTime::malformed)) and logged once as a complaint.
    pub fn malformed(&self) {
        if let Some(delivery) = self.delivery.upgrade() {
            delivery.malformed(self.source);
        }
    }

    fn put(&self, item: DeliveryItem) {
        if let Some(delivery) = self.delivery.upgrade() {
            delivery.feed(self.source, item);
        }
    }

    fn wall(&self) -> Option<Wall> {
        self.delivery
            .upgrade()
            .map(|delivery| delivery.wall().clone())
    }
}

/// A source that stores its feed for the caller as soon as it is attached. Used by
/// [`SimTime::fed`](super::sim_time::SimTime::fed).
#[derive(Debug)]
pub(crate) struct FedByHand(pub(crate) Arc<Mutex<Option<Feed>>>);

impl TimeSource for FedByHand {
    fn start(&mut self, _: &Feed) -> Result<(), SourceError> {
        Ok(())
    }

    fn stop(&mut self) {}

    fn attached(&mut self, feed: &Feed) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(feed.clone());
    }
}

/// A source that feeds nothing. [`SimTime::process`](super::sim_time::SimTime::process) begins with it.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSource;

impl TimeSource for NoSource {
    fn start(&mut self, _: &Feed) -> Result<(), SourceError> {
        Ok(())
    }

    fn stop(&mut self) {}
}

/// The machine's own clocks as a source. It feeds one state, which is extrapolated at factor 1 by the steady clock; so
/// it needs no thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MachineSource {
    /// Starts at the time of the system clock; does not follow when the date is set.
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
            Self::Steady => wall.read(WallClock::Steady),
        };
        let state = ClockState::new(time, Some(Speed::NORMAL));
        feed.state(state, Extrapolation::for_at_most(Duration::MAX));
        Ok(())
    }

    fn stop(&mut self) {}
}
