//! [`Wall`]: the clocks of the machine. No other file of the module `clock` reads them.
//!
//! A [`Clock`](super::handle::Clock) rests on a wall: system and steady clocks show it, and so do ROS clocks while no
//! source is active. The wall of a [`TestClock`](super::test_clock::TestClock) is moved by hand and notifies the clocks
//! that rest on it.

use std::sync::{Arc, PoisonError, Weak};
use std::time::{SystemTime, UNIX_EPOCH};

use super::sync::{AtomicBool, AtomicI64, Mutex, MutexGuard, Ordering};
use crate::time::{Duration, Ros, Steady, System, Time};

/// Which of the machine's clocks a clock shows when no source drives it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rest {
    /// The system clock, or the steady clock if there is none.
    System,
    Steady,
}

#[derive(Clone, Debug)]
pub(crate) enum Wall {
    Machine,
    Manual(Arc<Manual>),
}

/// Is notified when a manual wall has moved, and checks its waiters again.
pub(crate) trait Resting: Send + Sync {
    fn wall_moved(&self);
}

/// The machine's clocks, moved by hand.
#[derive(Default)]
pub(crate) struct Manual {
    steady: AtomicI64,
    system: AtomicI64,
    lacks_system: AtomicBool,
    resting: Mutex<Vec<Weak<dyn Resting>>>,
}

impl Wall {
    /// Never earlier than a previous result. Counts from the boot of the machine if the system provides that.
    pub(crate) fn steady(&self) -> Time<Steady> {
        match self {
            Self::Machine => since_boot(),
            Self::Manual(manual) => Time::from_nanos(manual.steady.load(Ordering::SeqCst)),
        }
    }

    /// `None` if there is no system clock: a date before 1970 means that it was never set.
    #[expect(
        clippy::disallowed_methods,
        reason = "here the instants of the time library come from"
    )]
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

    /// The time of a clock that rests on this wall.
    pub(crate) fn read(&self, rest: Rest) -> Time<Ros> {
        match (rest, self) {
            (Rest::System, _) => self
                .system()
                .map_or_else(|| self.read(Rest::Steady), Time::assume_ros),
            (Rest::Steady, _) => Time::from_nanos(self.steady().as_nanos()),
        }
    }

    /// Whether the wall moves only by hand.
    pub(crate) const fn is_manual(&self) -> bool {
        matches!(self, Self::Manual(_))
    }

    /// Registers `who`, which is notified whenever a manual wall has moved.
    pub(crate) fn notify(&self, who: Weak<dyn Resting>) {
        if let Self::Manual(manual) = self {
            manual.lock().push(who);
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
        self.tell();
    }

    /// Sets the system's date; `None` removes the system clock.
    pub(crate) fn set_system(&self, date: Option<Time<System>>) {
        if let Some(date) = date {
            self.system.store(date.as_nanos(), Ordering::SeqCst);
        }
        self.lacks_system.store(date.is_none(), Ordering::SeqCst);
        self.tell();
    }

    fn tell(&self) {
        let resting: Vec<_> = {
            let mut all = self.lock();
            all.retain(|who| who.strong_count() > 0);
            all.iter().filter_map(Weak::upgrade).collect()
        };
        for who in resting {
            who.wall_moved();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Weak<dyn Resting>>> {
        self.resting.lock().unwrap_or_else(PoisonError::into_inner)
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
fn since_boot() -> Time<Steady> {
    let at = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Time::from_nanos(at.tv_sec * 1_000_000_000 + at.tv_nsec)
}

/// The standard library does not say where its clock starts, so this counts from the first reading.
#[cfg(not(unix))]
#[expect(
    clippy::disallowed_methods,
    reason = "here the instants of the time library come from"
)]
fn since_boot() -> Time<Steady> {
    static FIRST: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    let first = FIRST.get_or_init(std::time::Instant::now);
    Time::from_nanos(Duration::from(first.elapsed()).as_nanos())
}
