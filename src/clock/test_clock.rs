//! [`TestClock`]: all three clocks of a machine, moved by hand; for your tests as for ours.
//!
//! No time passes unless somebody says so, thus a test with it neither waits nor depends on how fast the
//! machine is. Threads that sleep on its clocks wake when the time is moved to their deadline.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::handle::Clock;
use super::wall_clock::{Manual, Wall};
use crate::clock::source::writer::ClockWriter;
use crate::clock::state::change::Fallback;
use crate::clock::timers::timer_set::Timers;
use crate::time::{Duration, Kind, Ros, Steady, System, Time};

/// A machine whose clocks stand until they are moved. Its ROS clock is active.
///
/// ```
/// use bagplay::time::{Duration, Time};
/// use bagplay::clock::TestClock;
/// let test = TestClock::new(Time::from_nanos(5));
/// let clock = test.ros();
/// test.advance(Duration::from_nanos(2));
/// assert_eq!(clock.now(), Time::from_nanos(7));
/// test.rewind(Duration::from_nanos(6)); // a backward jump
/// assert_eq!(clock.now(), Time::from_nanos(1));
/// ```
#[derive(Debug)]
pub struct TestClock {
    manual: Arc<Manual>,
    writer: ClockWriter,
    is_paused: AtomicBool,
}

impl TestClock {
    /// The ROS clock is active and shows `start`; with a start of zero it is not started (requirement
    /// T20). The steady clock shows 1,000 s, the system clock 1,000,000 s.
    pub fn new(start: Time<Ros>) -> Self {
        Self::with_fallback(start, Fallback::Zero)
    }

    /// The same with another fallback.
    pub fn with_fallback(start: Time<Ros>, fallback: Fallback) -> Self {
        let manual = Arc::new(Manual::default());
        manual.pass(Duration::from_secs(1_000));
        manual.set_system(Some(Time::from_nanos(1_000_000_000_000_000)));
        let (_, writer) = Clock::ros_on(Wall::Manual(Arc::clone(&manual)), fallback);
        writer.set(start);
        writer.activate();
        Self {
            manual,
            writer,
            is_paused: AtomicBool::new(false),
        }
    }

    /// The ROS clock.
    pub fn ros(&self) -> Clock<Ros> {
        self.writer.clock()
    }

    /// A system clock of this machine.
    pub fn system(&self) -> Clock<System> {
        Clock::system_on(self.wall())
    }

    /// A steady clock of this machine.
    pub fn steady(&self) -> Clock<Steady> {
        Clock::steady_on(self.wall())
    }

    /// Another ROS clock on this machine, not active.
    pub fn another_ros(&self, fallback: Fallback) -> (Clock<Ros>, ClockWriter) {
        Clock::ros_on(self.wall(), fallback)
    }

    /// What moves the ROS clock, for all that is not said here.
    pub const fn writer(&self) -> &ClockWriter {
        &self.writer
    }

    /// The source says `time`; a jump if it is another than before.
    pub fn set(&self, time: Time<Ros>) {
        self.writer.set(time);
    }

    /// All clocks go on by `span`, the ROS clock unless it is paused or rests on the system clock; one that
    /// goes on by itself does just that. Nothing if the span is negative: [`TestClock::rewind`] goes back.
    pub fn advance(&self, span: Duration) {
        let span = span.max(Duration::ZERO);
        let ros = self.ros();
        let moves = ros.core.look(|shown, _| shown.reading.moves());
        self.pass(span);
        if !moves
            && !self.is_paused.load(Ordering::SeqCst)
            && let (true, Ok(now)) = (ros.is_active(), ros.try_now())
        {
            self.set(now.saturating_add(span));
        }
    }

    /// The source goes back by `span`; the machine's clocks do not.
    pub fn rewind(&self, span: Duration) {
        self.set(self.ros().now().saturating_sub(span));
    }

    /// [`TestClock::advance`] leaves the ROS clock where it is from now on.
    pub fn pause(&self) {
        self.is_paused.store(true, Ordering::SeqCst);
    }

    /// Ends a pause.
    pub fn resume(&self) {
        self.is_paused.store(false, Ordering::SeqCst);
    }

    /// Time passes on the machine's own clocks, and nothing is heard of the source. Nothing if the span is
    /// negative; a clock that gets to [`Time::MAX`] stands there.
    pub fn pass(&self, span: Duration) {
        self.manual.pass(span.max(Duration::ZERO));
    }

    /// Somebody sets the system's date; `None` takes the system clock away (requirement T13).
    pub fn set_system(&self, date: Option<Time<System>>) {
        self.manual.set_system(date);
    }

    /// Serves what is due, then advances by `span` from deadline to deadline, so that each tick is served right when
    /// it is due; at least a nanosecond at a time, for ticks that were missed before. A timer with a period of zero
    /// is due at every instant: it is served once at each of these stops.
    pub fn drive<K: Kind>(&self, timers: &mut Timers<K>, span: Duration) {
        let (mut left, least) = (span, Duration::from_nanos(1));
        timers.run_due();
        while left > Duration::ZERO {
            let until = timers.time_until_stop().unwrap_or(left);
            let step = until.max(least).min(left);
            self.advance(step);
            left = left.saturating_sub(step);
            timers.run_due();
        }
    }

    /// Returns once `count` threads wait on `clock`: asleep, for a timer, or in a `now()` that waits for
    /// the handlers of a jump. Who was woken does not wait, also before it has run.
    ///
    /// # Panics
    /// If they do not within 30 s of real time, so that a test fails in place of hanging.
    pub fn wait_asleep<K: Kind>(&self, clock: &Clock<K>, count: usize) {
        let came = clock
            .core
            .wait_asleep(count, Duration::from_secs(30).to_std());
        assert!(came, "no {count} threads came to wait on {clock:?}");
    }

    /// How often threads that waited on `clock` were woken so far.
    pub fn wakeups<K: Kind>(&self, clock: &Clock<K>) -> u64 {
        clock.core.wakeups()
    }

    pub(crate) fn wall(&self) -> Wall {
        Wall::Manual(Arc::clone(&self.manual))
    }
}
