//! [`TestClock`]: all three clocks of a machine, moved by hand; for tests of this library and of programs that use it.
//!
//! Time passes only when a test moves it, so a test neither waits nor depends on the speed of the machine. Threads that
//! sleep on its clocks wake when the time is moved to their deadline.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::handle::Clock;
use super::wall_clock::{Manual, Wall};
use crate::clock::source::writer::ClockWriter;
use crate::clock::state::change::Fallback;
use crate::clock::timers::timer_set::Timers;
use crate::time::{Duration, Kind, Ros, Steady, System, Time};

/// A machine whose clocks stand still until they are moved. Its ROS clock is active.
///
/// ```
/// # use bagplay_core as bagplay;
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
    /// The ROS clock is active and shows `start`; with a start of zero it is not started. The steady clock shows 1,000
    /// s, the system clock 1,000,000 s.
    pub fn new(start: Time<Ros>) -> Self {
        Self::with_fallback(start, Fallback::Zero)
    }

    /// As [`TestClock::new`], with the given fallback.
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

    /// The writer of the ROS clock, for everything that the methods of this type do not do.
    pub const fn writer(&self) -> &ClockWriter {
        &self.writer
    }

    /// Sets the time of the source; a jump if it differs from the time before.
    pub fn set(&self, time: Time<Ros>) {
        self.writer.set(time);
    }

    /// Moves all clocks forward by `span`; the ROS clock only if it is active and not paused. A ROS clock that is
    /// extrapolated moves by itself and is not set. Does nothing if the span is negative: [`TestClock::rewind`] sets
    /// the time back.
    pub fn advance(&self, span: Duration) {
        let span = span.max(Duration::ZERO);
        let ros = self.ros();
        let moves = ros.core.read_shown(|shown, _| shown.motion.moves());
        self.pass(span);
        if !moves
            && !self.is_paused.load(Ordering::SeqCst)
            && let (true, Ok(now)) = (ros.is_active(), ros.try_now())
        {
            self.set(now.saturating_add(span));
        }
    }

    /// Sets the source back by `span`; the machine's clocks do not move.
    pub fn rewind(&self, span: Duration) {
        self.set(self.ros().now().saturating_sub(span));
    }

    /// From now on [`TestClock::advance`] does not move the ROS clock.
    pub fn pause(&self) {
        self.is_paused.store(true, Ordering::SeqCst);
    }

    /// Ends a pause.
    pub fn resume(&self) {
        self.is_paused.store(false, Ordering::SeqCst);
    }

    /// Moves the machine's own clocks forward, while the source feeds nothing. Does nothing if the span is negative; a
    /// clock that reaches [`Time::MAX`] stops there.
    pub fn pass(&self, span: Duration) {
        self.manual.pass(span.max(Duration::ZERO));
    }

    /// Sets the system's date; `None` removes the system clock.
    pub fn set_system(&self, date: Option<Time<System>>) {
        self.manual.set_system(date);
    }

    /// Serves what is due, then advances by `span` from deadline to deadline, so that each tick is served exactly when
    /// it is due. Each step is a nanosecond or more, also while ticks are due that were missed before. A timer with a
    /// period of zero is due at every instant; it is served once after each step.
    pub fn drive<K: Kind>(&self, timers: &mut Timers<K>, span: Duration) {
        let (mut left, least) = (span, Duration::from_nanos(1));
        timers.run_due();
        while left > Duration::ZERO {
            let until = timers.time_until_next_step().unwrap_or(left);
            let step = until.max(least).min(left);
            self.advance(step);
            left = left.saturating_sub(step);
            timers.run_due();
        }
    }

    /// Returns once `count` threads wait on `clock`: in a sleep, for a timer, or in a `now()` that waits for the
    /// handlers of a jump. A thread that was woken no longer counts as waiting, even before it has run.
    ///
    /// # Panics
    /// If they do not within 30 s of real time, so that a test fails instead of hanging.
    pub fn wait_asleep<K: Kind>(&self, clock: &Clock<K>, count: usize) {
        let came = clock
            .core
            .wait_asleep(count, Duration::from_secs(30).to_std());
        assert!(came, "{count} threads did not come to wait on {clock:?}");
    }

    /// How often threads that waited on `clock` have been woken so far.
    pub fn wakeups<K: Kind>(&self, clock: &Clock<K>) -> u64 {
        clock.core.wakeups()
    }

    /// Returns whether `count` threads waited on the ROS clock at some moment within `limit` of real time.
    pub fn are_asleep(&self, count: usize, limit: Duration) -> bool {
        self.ros().core.wait_asleep(count, limit.to_std())
    }

    /// The first time that a thread waits for on the ROS clock.
    pub fn first_wait(&self) -> Option<Time<Ros>> {
        self.ros().core.first_wait()
    }

    pub(crate) fn wall(&self) -> Wall {
        Wall::Manual(Arc::clone(&self.manual))
    }
}
