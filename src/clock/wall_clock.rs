//! [`Wall`]: the clocks of the machine, the only file of this room that reads them.
//!
//! A [`Clock`](super::handle::Clock) rests on one: it is what system and steady clocks show, and ROS
//! clocks while no source is active. The one that a [`TestClock`](super::test_clock::TestClock) makes is
//! moved by hand and tells those who rest on it.

use std::sync::{Arc, PoisonError, Weak};
use std::time::{SystemTime, UNIX_EPOCH};

use super::sync::{AtomicBool, AtomicI64, Mutex, MutexGuard, Ordering};
use crate::time::{Duration, Ros, Steady, System, Time};

/// Which of the machine's clocks a clock shows when no source drives it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rest {
    /// The system clock; the steady one where there is none (requirement T13).
    System,
    Steady,
}

#[derive(Clone, Debug)]
pub(crate) enum Wall {
    Machine,
    Manual(Arc<Manual>),
}

/// Whoever has to look again when a manual wall has moved.
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
    /// Never before an earlier answer. Counts from the start of the machine where the system says so
    /// (requirement T14).
    pub(crate) fn steady(&self) -> Time<Steady> {
        match self {
            Self::Machine => since_boot(),
            Self::Manual(manual) => Time::from_nanos(manual.steady.load(Ordering::SeqCst)),
        }
    }

    /// `None` if there is no system clock: where it is set before 1970, it was never set at all.
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

    /// What a clock shows that rests on this wall.
    pub(crate) fn read(&self, rest: Rest) -> Time<Ros> {
        match (rest, self) {
            (Rest::System, _) => self
                .system()
                .map_or_else(|| self.read(Rest::Steady), Time::assume_ros),
            (Rest::Steady, _) => Time::from_nanos(self.steady().as_nanos()),
        }
    }

    /// Whether waiting for it means waiting for somebody to move it.
    pub(crate) const fn is_manual(&self) -> bool {
        matches!(self, Self::Manual(_))
    }

    /// `who` is told whenever a manual wall has moved.
    pub(crate) fn notify(&self, who: Weak<dyn Resting>) {
        if let Self::Manual(manual) = self {
            manual.lock().push(who);
        }
    }
}

impl Manual {
    /// Both clocks go on by `span`, each as far as the end of its range.
    pub(crate) fn pass(&self, span: Duration) {
        for clock in [&self.steady, &self.system] {
            let later = |nanos: i64| Some(nanos.saturating_add(span.as_nanos()));
            let _before = clock.fetch_update(Ordering::SeqCst, Ordering::SeqCst, later);
        }
        self.tell();
    }

    /// Somebody sets the system's date.
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

/// The standard library hides where its clock starts: counted from the first reading.
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
