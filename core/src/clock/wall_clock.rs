//! [`Wall`]: the clocks of the machine. No other file of the module `clock` reads them.
//!
//! Each [`Clock`](super::handle::Clock) has a wall. System and steady clocks show its time, and so do ROS clocks while
//! no source is active. The wall of a [`TestClock`](super::test_clock::TestClock) is moved by hand and notifies its
//! clocks.

use std::sync::{Arc, PoisonError, Weak};
use std::time::{SystemTime, UNIX_EPOCH};

use super::sync::{AtomicBool, AtomicI64, Mutex, MutexGuard, Ordering};
use crate::time::{Duration, Ros, Steady, System, Time};

/// Which of the machine's clocks a clock shows when no source drives it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WallClock {
    /// The system clock, or the steady clock if there is none.
    System,
    Steady,
}

/// The system clock and the steady clock: those of the machine, or two that are moved by hand.
#[derive(Clone, Debug)]
pub(crate) enum Wall {
    Machine,
    Manual(Arc<Manual>),
}

/// A clock that is notified when its manual wall has moved.
pub(crate) trait WallObserver: Send + Sync {
    fn wall_moved(&self);
}

/// The machine's clocks, moved by hand.
#[derive(Default)]
pub(crate) struct Manual {
    steady: AtomicI64,
    system: AtomicI64,
    lacks_system: AtomicBool,
    observers: Mutex<Vec<Weak<dyn WallObserver>>>,
}

impl Wall {
    /// The steady clock: never earlier than a previous result. Counts from the boot of the machine if the system
    /// provides that.
    #[inline]
    pub(crate) fn steady(&self) -> Time<Steady> {
        match self {
            Self::Machine => since_boot(),
            Self::Manual(manual) => Time::from_nanos(manual.steady.load(Ordering::SeqCst)),
        }
    }

    /// The system clock; `None` if there is none. A date before 1970 means that it was never set.
    #[expect(
        clippy::disallowed_methods,
        reason = "here the instants of the time library come from"
    )]
    #[inline]
    pub(crate) fn system(&self) -> Option<Time<System>> {
        match self {
            Self::Machine => SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .ok()
                .map(|since| Time::from_nanos(Duration::from(since).as_nanos())),
            Self::Manual(manual) => (!manual.lacks_system.load(Ordering::SeqCst))
                .then(|| Time::from_nanos(manual.system.load(Ordering::SeqCst))),
        }
    }

    /// The time of this clock, as ROS time.
    pub(crate) fn read(&self, wall_clock: WallClock) -> Time<Ros> {
        match (wall_clock, self) {
            (WallClock::System, _) => self
                .system()
                .map_or_else(|| self.read(WallClock::Steady), Time::assume_ros),
            (WallClock::Steady, _) => Time::from_nanos(self.steady().as_nanos()),
        }
    }

    /// Whether the wall moves only by hand.
    pub(crate) const fn is_manual(&self) -> bool {
        matches!(self, Self::Manual(_))
    }

    /// Registers an observer, which is notified whenever a manual wall has moved.
    pub(crate) fn add_observer(&self, observer: Weak<dyn WallObserver>) {
        if let Self::Manual(manual) = self {
            manual.lock().push(observer);
        }
    }
}

impl Manual {
    /// Moves both clocks on by `span`, at most to the end of the range.
    pub(crate) fn pass(&self, span: Duration) {
        for clock in [&self.steady, &self.system] {
            let later = |nanos: i64| Some(nanos.saturating_add(span.as_nanos()));
            let _before = clock.fetch_update(Ordering::SeqCst, Ordering::SeqCst, later);
        }
        self.notify_observers();
    }

    /// Sets the system's date; `None` removes the system clock.
    pub(crate) fn set_system(&self, date: Option<Time<System>>) {
        if let Some(date) = date {
            self.system.store(date.as_nanos(), Ordering::SeqCst);
        }
        self.lacks_system.store(date.is_none(), Ordering::SeqCst);
        self.notify_observers();
    }

    fn notify_observers(&self) {
        let observers: Vec<_> = {
            let mut all = self.lock();
            all.retain(|observer| observer.strong_count() > 0);
            all.iter().filter_map(Weak::upgrade).collect()
        };
        for observer in observers {
            observer.wall_moved();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Weak<dyn WallObserver>>> {
        self.observers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Manual {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let nanos = |clock: &AtomicI64| Duration::from_nanos(clock.load(Ordering::SeqCst));
        f.debug_struct("Manual")
            .field("steady", &nanos(&self.steady))
            .field("system", &nanos(&self.system))
            .finish_non_exhaustive()
    }
}

#[cfg(unix)]
#[inline]
fn since_boot() -> Time<Steady> {
    let at = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Time::from_nanos(at.tv_sec * 1_000_000_000 + at.tv_nsec)
}

/// The standard library does not say where its clock starts, so this counts from the first motion.
#[cfg(not(unix))]
#[expect(
    clippy::disallowed_methods,
    reason = "here the instants of the time library come from"
)]
#[inline]
fn since_boot() -> Time<Steady> {
    static FIRST: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    let first = FIRST.get_or_init(std::time::Instant::now);
    Time::from_nanos(Duration::from(first.elapsed()).as_nanos())
}
