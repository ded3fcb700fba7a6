//! [`SimTime`]: one time source, the clocks it drives, and whether it does (`use_sim_time`).
//!
//! What the source feeds is handed to the clocks, and their handlers run, in the thread that feeds it, or in one
//! that delivers already: one that is in a call of a [`SimTime`] which changes something, or one that was started to
//! deliver what waited when such a call returned. How: `delivery.rs`.

use std::ops::Deref;
use std::panic::resume_unwind;
use std::sync::{Arc, OnceLock, PoisonError};

use super::complaint::Complaint;
use super::keep_alive::Kept;
use super::switch::{Ran, Switch};
use super::time_source::{ByHand, Feed, NoSource, SourceError, TimeSource};
use super::writer::{Attached, ClockWriter};
use crate::clock::handle::Clock;
use crate::clock::jump::handler_threads;
use crate::clock::state::change::Fallback;
use crate::clock::sync;
use crate::clock::test_clock::TestClock;
use crate::clock::wall_clock::Wall;
use crate::time::Ros;

/// A time source and its clocks (requirement T25).
///
/// Jump handlers run in the thread that feeds, enables, disables or replaces the source; hold no lock in these calls
/// that a handler takes. A thread that feeds also delivers what others feed meanwhile, until nothing waits. The other
/// calls deliver what waits when they begin, and once more what has arrived meanwhile; if values still wait then, a new
/// thread delivers the rest. So these calls return even if the handlers are slower than the source.
/// [`SimTime::attach`], [`SimTime::hand_over`] and [`SimTime::release`] run handlers of that clock alone; the other
/// calls run none.
///
/// Clones are one and the same. Off at first, as the parameter `use_sim_time` is: the clocks show system time (T16,
/// T18).
///
/// It goes on as long as there is one, or anything of its clocks: a clock, a timer, a rate, a registered handler. When
/// the last is dropped, the source is stopped and dropped: by the thread that drops it, or by a new thread if that one
/// runs jump handlers, of whichever clock.
#[derive(Clone, Debug)]
pub struct SimTime {
    switch: Arc<SourceOwner>,
}

/// Exists as long as anybody has a clock of the hub, or may ask for one.
#[derive(Debug)]
struct SourceOwner(Arc<Switch>);

impl Deref for SourceOwner {
    type Target = Switch;

    fn deref(&self) -> &Switch {
        &self.0
    }
}

impl Drop for SourceOwner {
    /// The source is stopped and dropped. Its code may wait for its own threads: for one that feeds, which may be this
    /// one, and for one that waits until the handlers of any clock are done. So a thread that feeds these clocks, or
    /// that runs handlers, leaves it to a new thread.
    fn drop(&mut self) {
        let switch = Arc::clone(&self.0);
        let close = move || {
            let stopped = switch.switch_off();
            let gone = switch.exchange(Box::new(NoSource)).map(drop);
            if stopped.and(gone).is_err() {
                tracing::error!("a time source panicked as it was stopped or dropped");
            }
        };
        if handler_threads::is_handling() || self.0.hub.may_be_served_here() {
            sync::spawn("clock-close", close);
        } else {
            close();
        }
    }
}

impl SimTime {
    /// `source` is told to start by [`SimTime::enable`].
    pub fn new(source: impl TimeSource + 'static) -> Self {
        Self::on(Wall::Machine, Box::new(source))
    }

    /// On the machine of a test clock.
    pub fn on_test_clock(test: &TestClock, source: impl TimeSource + 'static) -> Self {
        Self::on(test.wall(), Box::new(source))
    }

    /// The one of this process (requirement T40), for code that is not handed one. Its source says nothing
    /// until [`SimTime::replace_source`].
    pub fn process() -> Self {
        static PROCESS: OnceLock<SimTime> = OnceLock::new();
        PROCESS.get_or_init(|| Self::new(NoSource)).clone()
    }

    /// One whose time is fed by hand: by a simulator in this process, or by a test. Off at first, as any; what is fed
    /// while it is off is forgotten.
    ///
    /// ```
    /// use bagplay::clock::SimTime;
    /// use bagplay::time::Time;
    /// let (sim, feed) = SimTime::fed();
    /// sim.enable()?;
    /// let clock = sim.clock();
    /// feed.time(Time::from_secs(5));
    /// assert_eq!(clock.now(), Time::from_secs(5));
    /// # Ok::<(), bagplay::clock::SourceError>(())
    /// ```
    pub fn fed() -> (Self, Feed) {
        Self::fed_on(Wall::Machine)
    }

    /// The same on the machine of a test clock.
    pub fn fed_on_test_clock(test: &TestClock) -> (Self, Feed) {
        Self::fed_on(test.wall())
    }

    fn fed_on(wall: Wall) -> (Self, Feed) {
        let slot = Arc::default();
        let sim = Self::on(wall, Box::new(ByHand(Arc::clone(&slot))));
        let feed = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
        (
            sim,
            feed.expect("a source is told its feed as it is attached"),
        )
    }

    fn on(wall: Wall, source: Box<dyn TimeSource>) -> Self {
        let (switch, attached) = Switch::new(wall, source);
        let switch = Arc::new(SourceOwner(switch));
        come_of(attached);
        Self { switch }
    }

    /// A new clock that the source drives.
    pub fn clock(&self) -> Clock<Ros> {
        self.clock_with(Fallback::Zero)
    }

    /// A new clock with another fallback.
    pub fn clock_with(&self, fallback: Fallback) -> Clock<Ros> {
        let (clock, writer) = Clock::ros_on(self.switch.hub.wall().clone(), fallback);
        self.attach(writer);
        clock
    }

    /// The source drives this clock, too, from what it said last on; what it showed before is forgotten.
    /// (Clocks of other kinds have no writer.)
    pub fn attach(&self, writer: ClockWriter) {
        self.attach_in_hand(&Attached::new(writer));
    }

    fn attach_in_hand(&self, clock: &Attached) {
        let keeper: Kept = Arc::<SourceOwner>::clone(&self.switch);
        drop(self.switch.hub.attach(clock, keeper));
    }

    /// The clock is left to the system's time; nothing if it is not of these.
    pub fn release(&self, clock: &Clock<Ros>) {
        if let Some(clock) = self.switch.hub.take(clock) {
            let kept = clock.leaves();
            drop((clock.changes_hands(), kept));
        }
    }

    /// Another source drives this clock from now on (requirement T40); nothing if it is not of these.
    pub fn hand_over(&self, clock: &Clock<Ros>, to: &Self) {
        if let Some(clock) = self.switch.hub.take(clock) {
            to.attach_in_hand(&clock.changes_hands());
        }
    }

    /// Sim time is on: the source starts and drives the clocks. Nothing if it is on. The clocks have changed when this
    /// returns; in a handler they do right after it.
    ///
    /// # Errors
    /// If the source cannot start; sim time then is off.
    pub fn enable(&self) -> Result<(), SourceError> {
        come_of(self.switch.enable())
    }

    /// Sim time is off: the clocks show system time. Nothing if it is off. The clocks have changed when this returns,
    /// also where another thread runs their handlers and changes them (so that one does not wait for who calls this);
    /// in a handler they do right after it.
    pub fn disable(&self) {
        come_of(self.switch.disable());
    }

    /// Whether sim time is on. A source's own code may ask, too; in its `start` it is not.
    pub fn is_enabled(&self) -> bool {
        self.switch.is_on()
    }

    /// Another source for all these clocks (requirements T40, T41). If sim time is on, they see one source
    /// go and another come.
    ///
    /// # Errors
    /// If the new source cannot start; sim time then is off.
    pub fn replace_source(&self, source: impl TimeSource + 'static) -> Result<(), SourceError> {
        come_of(self.switch.replace(Box::new(source)))
    }

    /// Ends all sleeps on these clocks with [`SleepError::Shutdown`](crate::clock::waiting::on_jump::SleepError::Shutdown), now and
    /// later, also on clocks that join later or have left since. They show the time as before. (What sleeps on system
    /// and steady clocks is ended by a [`Cancel`](crate::clock::waiting::cancel::Cancel).)
    pub fn shut_down(&self) {
        self.switch.hub.shut_down();
    }

    /// How many publish the time, as far as the source says.
    pub fn publishers(&self) -> usize {
        self.switch.hub.publishers()
    }

    /// How many messages the source could not read, as far as it says.
    pub fn malformed(&self) -> u64 {
        self.switch.hub.malformed_count()
    }

    /// What was complained of so far, of this source.
    pub fn complaints(&self) -> Vec<Complaint> {
        self.switch.hub.complaints()
    }
}

/// A panic of the source goes on in who called.
fn come_of<T>(ran: Ran<T>) -> T {
    ran.unwrap_or_else(|panic| resume_unwind(panic))
}
