//! [`SimTime`]: one time source, the clocks that it drives, and the switch that turns it on (`use_sim_time`).
//!
//! A value that the source feeds is delivered to the clocks, and their handlers run, in the thread that feeds it or in
//! a thread that is already delivering: one inside a call of a [`SimTime`] that changes something, or one that was
//! started to deliver what was still queued when such a call returned. See `delivery.rs`.

use std::ops::Deref;
use std::panic::resume_unwind;
use std::sync::{Arc, OnceLock, PoisonError};

use super::complaint::Complaint;
use super::keep_alive::Kept;
use super::switch::{Caught, Switch};
use super::time_source::{FedByHand, Feed, NoSource, SourceError, TimeSource};
use super::writer::{AttachedClock, ClockWriter};
use crate::clock::handle::Clock;
use crate::clock::jump::thread_marks;
use crate::clock::state::change::Fallback;
use crate::clock::sync;
use crate::clock::test_clock::TestClock;
use crate::clock::wall_clock::Wall;
use crate::time::Ros;

/// A time source and its clocks.
///
/// ```no_run
/// # use bagplay_core as bagplay;
/// use bagplay::clock::{OnJump, SimTime, TimeSource};
///
/// /// `source` is, for example, what `bagplay::wire::Session::clock_source` returns.
/// fn follow(source: impl TimeSource + 'static) -> Result<(), Box<dyn std::error::Error>> {
///     let sim = SimTime::new(source);
///     let clock = sim.clock();
///     sim.enable()?; // like `use_sim_time` of a ROS node
///     clock.wait_started(OnJump::Continue)?;
///     println!("it is {}", clock.now());
///     Ok(())
/// }
/// ```
///
/// [`SimTime::fed`] is for a time that the program itself feeds.
///
/// Jump handlers run in the thread that feeds, enables, disables or replaces the source; hold no lock in these calls
/// that a handler takes. A thread that feeds also delivers what others feed meanwhile, until the queue is empty. The
/// other calls deliver what is queued when they begin, and once more what has arrived meanwhile; if values are still
/// queued then, a new thread delivers the rest. So these calls return even if the handlers are slower than the source.
/// [`SimTime::attach`], [`SimTime::hand_over`] and [`SimTime::release`] run handlers of that clock alone; the other
/// calls run none.
///
/// Clones are the same instance. It is off at first, like the parameter `use_sim_time`: the clocks show system time.
///
/// It lives as long as a clone of it or a handle of one of its clocks exists: a clock, a timer, a rate, a registered
/// handler. When the last of these is dropped, the source is stopped and dropped: by the thread that drops it, or by a
/// new thread if that one runs jump handlers of any clock.
#[derive(Clone, Debug)]
pub struct SimTime {
    switch: Arc<SourceOwner>,
}

/// Lives as long as a clock of the delivery has a handle, or a [`SimTime`] exists.
#[derive(Debug)]
struct SourceOwner(Arc<Switch>);

impl Deref for SourceOwner {
    type Target = Switch;

    fn deref(&self) -> &Switch {
        &self.0
    }
}

impl Drop for SourceOwner {
    /// Stops and drops the source. Its code may wait for its own threads: for one that feeds, which may be this one, or
    /// for one that waits until the handlers of some clock are done. So a thread that delivers to these clocks or runs
    /// handlers leaves the work to a new thread.
    fn drop(&mut self) {
        let switch = Arc::clone(&self.0);
        let close = move || {
            let stopped = switch.switch_off();
            let dropped = switch.replace_without_wait(Box::new(NoSource)).map(drop);
            if stopped.and(dropped).is_err() {
                tracing::error!("a time source panicked as it was stopped or dropped");
            }
        };
        if thread_marks::runs_handlers() || self.0.delivery.may_deliver_here() {
            sync::spawn("clock-close", close);
        } else {
            close();
        }
    }
}

impl SimTime {
    /// Sim time is off at first: [`SimTime::enable`] starts `source`.
    pub fn new(source: impl TimeSource + 'static) -> Self {
        Self::on(Wall::Machine, Box::new(source))
    }

    /// As [`SimTime::new`], on the machine of a test clock.
    pub fn on_test_clock(test: &TestClock, source: impl TimeSource + 'static) -> Self {
        Self::on(test.wall(), Box::new(source))
    }

    /// The instance of this process, for code that is not given one. Its source feeds nothing until
    /// [`SimTime::replace_source`].
    pub fn process() -> Self {
        static PROCESS: OnceLock<SimTime> = OnceLock::new();
        PROCESS.get_or_init(|| Self::new(NoSource)).clone()
    }

    /// An instance whose time is fed by hand, by a simulator in this process or by a test. Like any other it is off at
    /// first; what is fed while it is off is ignored.
    ///
    /// ```
    /// # use bagplay_core as bagplay;
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

    /// As [`SimTime::fed`], on the machine of a test clock.
    pub fn fed_on_test_clock(test: &TestClock) -> (Self, Feed) {
        Self::fed_on(test.wall())
    }

    fn fed_on(wall: Wall) -> (Self, Feed) {
        let slot = Arc::default();
        let sim = Self::on(wall, Box::new(FedByHand(Arc::clone(&slot))));
        let feed = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
        (
            sim,
            feed.expect("a source gets its feed when it is attached"),
        )
    }

    fn on(wall: Wall, source: Box<dyn TimeSource>) -> Self {
        let (switch, attached) = Switch::new(wall, source);
        let switch = Arc::new(SourceOwner(switch));
        or_resume_panic(attached);
        Self { switch }
    }

    /// A new clock that the source drives.
    pub fn clock(&self) -> Clock<Ros> {
        self.clock_with(Fallback::Zero)
    }

    /// As [`SimTime::clock`], with the given fallback.
    pub fn clock_with(&self, fallback: Fallback) -> Clock<Ros> {
        let (clock, writer) = Clock::ros_on(self.switch.delivery.wall().clone(), fallback);
        self.attach(writer);
        clock
    }

    /// The source drives this clock, too, beginning with the last time that it fed; what the clock showed before is
    /// forgotten. (Clocks of other kinds have no writer.)
    pub fn attach(&self, writer: ClockWriter) {
        self.attach_clock(&AttachedClock::new(writer));
    }

    fn attach_clock(&self, clock: &AttachedClock) {
        let keeper: Kept = Arc::<SourceOwner>::clone(&self.switch);
        drop(self.switch.delivery.attach(clock, keeper));
    }

    /// Detaches the clock: it shows system time from now on. Does nothing if the clock is not attached here.
    pub fn release(&self, clock: &Clock<Ros>) {
        if let Some(clock) = self.switch.delivery.detach(clock) {
            let kept = clock.release_keeper();
            drop((clock.detached(), kept));
        }
    }

    /// Attaches this clock to another source. Does nothing if the clock is not attached here.
    pub fn hand_over(&self, clock: &Clock<Ros>, to: &Self) {
        if let Some(clock) = self.switch.delivery.detach(clock) {
            to.attach_clock(&clock.detached());
        }
    }

    /// Switches sim time on: the source starts and drives the clocks. Does nothing if it is on. The clocks have changed
    /// when this returns; if it is called in a jump handler, they change right after the handlers.
    ///
    /// # Errors
    /// If the source cannot start; sim time is then off.
    pub fn enable(&self) -> Result<(), SourceError> {
        or_resume_panic(self.switch.enable())
    }

    /// Switches sim time off: the clocks show system time. Does nothing if it is off. The clocks have changed when this
    /// returns, even if another thread is running their handlers: the call waits for that thread, so those handlers
    /// must not wait for the caller. If it is called in a jump handler, the clocks change right after the handlers.
    pub fn disable(&self) {
        or_resume_panic(self.switch.disable());
    }

    /// Whether sim time is on. A source's own code may call this; within its `start` the answer is no.
    pub fn is_enabled(&self) -> bool {
        self.switch.is_on()
    }

    /// Replaces the source of all these clocks. If sim time is on, the clocks see one source deactivated and the other
    /// activated.
    ///
    /// # Errors
    /// If the new source cannot start; sim time is then off.
    pub fn replace_source(&self, source: impl TimeSource + 'static) -> Result<(), SourceError> {
        or_resume_panic(self.switch.replace(Box::new(source)))
    }

    /// Ends all sleeps on these clocks with
    /// [`SleepError::Shutdown`](crate::clock::waiting::on_jump::SleepError::Shutdown), now and later. This includes
    /// clocks that are attached later, and clocks that are detached later. They show the time as before. (Sleeps on
    /// system and steady clocks are ended by a [`Cancel`](crate::clock::waiting::cancel::Cancel).)
    pub fn shut_down(&self) {
        self.switch.delivery.shut_down();
    }

    /// How many publishers of the time there are, as reported by the source.
    pub fn publishers(&self) -> usize {
        self.switch.delivery.publishers()
    }

    /// How many messages could not be read, as reported by the source.
    pub fn malformed(&self) -> u64 {
        self.switch.delivery.malformed_count()
    }

    /// All complaints about the current source so far.
    pub fn complaints(&self) -> Vec<Complaint> {
        self.switch.delivery.complaints()
    }
}

/// Resumes a panic of the source in the caller.
fn or_resume_panic<T>(ran: Caught<T>) -> T {
    ran.unwrap_or_else(|panic| resume_unwind(panic))
}
