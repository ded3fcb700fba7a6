//! [`Densities`]: how many messages of a bag there are in each part of a range, read in the background for clients that
//! ask repeatedly.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bagplay::bag::{Bag, Outline, step_back};
use bagplay::player::Transport;
use bagplay::time::{Duration, Steady, Time, TimeRange};
use bagplay::wire::KnownDensity;
use crossbeam_channel::{Receiver, Sender, bounded};

/// The most parts of a density: more than screens have columns.
const MAX_PARTS: usize = 480;
/// The most parts of all topics together. A response has four bytes for each.
const MAX_PARTS_OF_ALL: usize = 1 << 18;
/// How many ranges are kept. The range that was requested least recently is dropped first.
const MAX_RANGES: usize = 16;
/// If no client has requested a range for this time, it is not read further.
const INTEREST: Duration = Duration::from_secs(2);
/// The shortest interval between copies of a growing density.
const COPY_INTERVAL: Duration = Duration::from_millis(100);

/// The densities of a bag.
pub(crate) struct Densities {
    shared: Arc<Shared>,
    /// Wakes the thread, which is started by the first request.
    wake: Mutex<Option<Sender<()>>>,
}

struct Shared {
    bag: Bag,
    transport: Transport,
    /// The ranges that were asked for, the last one first.
    ranges: Mutex<Vec<Known>>,
    is_over: AtomicBool,
}

struct Known {
    range: TimeRange,
    density: KnownDensity,
    asked_at: Time<Steady>,
}

impl Densities {
    /// The densities of `bag`. Intervals are measured on the clock of `transport`.
    pub(crate) fn of(bag: Bag, transport: Transport) -> Self {
        Self {
            shared: Arc::new(Shared {
                bag,
                transport,
                ranges: Mutex::default(),
                is_over: AtomicBool::new(false),
            }),
            wake: Mutex::default(),
        }
    }

    /// What is known of a range. The rest is read in the background, as long as clients request it.
    pub(crate) fn get(&self, range: TimeRange) -> KnownDensity {
        let density = self.shared.ask(range);
        if !density.is_whole {
            self.wake();
        }
        density
    }

    fn wake(&self) {
        let mut wake = self.wake.lock().unwrap_or_else(PoisonError::into_inner);
        if wake.is_none() {
            let (send, woken) = bounded(1);
            let shared = Arc::clone(&self.shared);
            let thread = std::thread::Builder::new().name("density".into());
            // Without a thread the density stays unknown; the next request tries again.
            if thread.spawn(move || shared.read_all(&woken)).is_err() {
                return;
            }
            *wake = Some(send);
        }
        if let Some(wake) = &*wake {
            // One waiting wake-up is enough.
            let _ = wake.try_send(());
        }
    }
}

impl Drop for Densities {
    fn drop(&mut self) {
        // The thread is not joined: it owns nothing that needs cleaning up, and reading a chunk may take long.
        self.shared.is_over.store(true, Ordering::Relaxed);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Vec<Known>> {
        self.ranges.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask(&self, range: TimeRange) -> KnownDensity {
        let mut ranges = self.lock();
        let at = ranges.iter().position(|known| known.range == range);
        let known = at.map(|at| ranges.remove(at)).unwrap_or(Known {
            range,
            density: KnownDensity {
                is_whole: false,
                outline: None,
            },
            asked_at: Time::MIN,
        });
        let density = known.density.clone();
        let asked_at = self.transport.now();
        ranges.insert(0, Known { asked_at, ..known });
        ranges.truncate(MAX_RANGES);
        density
    }

    fn read_all(&self, woken: &Receiver<()>) {
        step_back();
        while woken.recv().is_ok() {
            while let Some(range) = self.wanted() {
                self.read(range);
            }
        }
    }

    /// The range that was requested last, of those that are not whole yet.
    fn wanted(&self) -> Option<TimeRange> {
        let ranges = self.lock();
        let known = ranges.iter().find(|known| !known.density.is_whole)?;
        self.is_wanted(known).then_some(known.range)
    }

    fn is_wanted(&self, known: &Known) -> bool {
        let now = self.transport.now();
        !self.is_over.load(Ordering::Relaxed) && now.saturating_since(known.asked_at) < INTEREST
    }

    fn read(&self, range: TimeRange) {
        let topics = self.bag.topics().len().max(1);
        let parts = (MAX_PARTS_OF_ALL / topics).clamp(1, MAX_PARTS);
        let (mut last, mut copied_at) = (None, Time::MIN);
        let mut is_whole = true;
        self.bag.outline_within(range, parts, &mut |outline| {
            let now = self.transport.now();
            if now.saturating_since(copied_at) >= COPY_INTERVAL {
                copied_at = now;
                if !self.keep(range, Arc::new(outline.clone()), false) {
                    is_whole = false;
                    return ControlFlow::Break(());
                }
            }
            last = Some(outline.clone());
            ControlFlow::Continue(())
        });
        if is_whole {
            let last = last.unwrap_or(Outline { topics: Vec::new() });
            self.keep(range, Arc::new(last), true);
        }
    }

    /// Stores what is known of a range; returns whether it is still wanted.
    fn keep(&self, range: TimeRange, outline: Arc<Outline>, is_whole: bool) -> bool {
        let mut ranges = self.lock();
        let Some(known) = ranges.iter_mut().find(|known| known.range == range) else {
            return false;
        };
        known.density = KnownDensity {
            is_whole,
            outline: Some(outline),
        };
        let known = &*known;
        self.is_wanted(known)
    }
}

#[cfg(test)]
mod tests {
    use bagplay::player::Player;

    use super::*;

    fn densities() -> (Bag, Densities) {
        let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/demo.mcap");
        let bag = Bag::open(&[demo]).unwrap();
        (bag.clone(), Densities::of(bag, Player::new().transport()))
    }

    fn whole(densities: &Densities, range: TimeRange) -> Arc<Outline> {
        loop {
            let density = densities.get(range);
            if density.is_whole {
                return density.outline.unwrap();
            }
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_density_becomes_that_of_the_bag() {
        let (bag, densities) = densities();
        assert!(!densities.get(bag.range().unwrap()).is_whole);
        let outline = whole(&densities, bag.range().unwrap());
        assert_eq!(*outline, bag.outline(MAX_PARTS));
    }

    #[test]
    fn few_ranges_are_kept() {
        let (bag, densities) = densities();
        let start = bag.range().unwrap().start();
        for millis in 1..1000 {
            let end = start.saturating_add(Duration::from_millis(millis));
            densities.get(TimeRange::between(start, end));
        }
        assert_eq!(densities.shared.lock().len(), MAX_RANGES);
        // The thread goes on with those that are wanted.
        whole(&densities, bag.range().unwrap());
    }
}
