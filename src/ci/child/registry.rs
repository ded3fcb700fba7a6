//! The programs of this process that run or are being started, for a process that has to end at once.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::ending::{BETWEEN_QUIET_LOOKS, UNCLEAR_LOOKS};
use super::processes::list::kill_copies_of_this;
use super::wall::pause;
use super::watched::Watched;

/// How long programs are waited for that are being started: one whose file is on a disk that does not answer may take
/// for ever.
const LONGEST_START: Duration = Duration::from_millis(200);

#[derive(Debug)]
struct Registry {
    /// Those that run, by the numbers of their processes.
    running: BTreeMap<i32, Arc<Watched>>,
    /// How many are being started.
    starting: usize,
    /// How often all were to be killed.
    kills: u64,
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry {
    running: BTreeMap::new(),
    starting: 0,
    kills: 0,
});
static STARTED: Condvar = Condvar::new();

fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Kills all programs that run, with their daemons, and those that are being started. It does not wait for their ends:
/// it is for a process that must end at once.
pub fn kill_all() {
    let mut registry = registry();
    registry.kills += 1;
    kill(registry.running.values());
    if registry.starting > 0 {
        // A program that is being started is a copy of this process until the system has opened its file.
        let running: Vec<i32> = registry.running.keys().copied().collect();
        kill_copies_of_this(&running);
        // The thread that is starting a program kills it then.
        let is_starting = |registry: &mut Registry| registry.starting > 0;
        drop(STARTED.wait_timeout_while(registry, LONGEST_START, is_starting));
    }
}

/// Kills programs with their daemons. One that is about to execute another program may not be known as a daemon for a
/// moment, so this looks again while that is not clear.
fn kill<'a>(programs: impl Iterator<Item = &'a Arc<Watched>>) {
    let programs: Vec<_> = programs.collect();
    for _ in 0..UNCLEAR_LOOKS {
        let mut is_clear = true;
        for watched in &programs {
            let look = watched.look();
            watched.kill(&look.members);
            is_clear &= look.is_clear;
        }
        if is_clear {
            break;
        }
        pause(BETWEEN_QUIET_LOOKS);
    }
}

/// A program that has ended and is about to be released: others may get its number.
pub(super) fn forget(watched: &Watched) {
    registry().running.remove(&watched.leader());
}

/// A program that is being started. No lock is held meanwhile.
#[derive(Debug)]
pub(super) struct Start {
    /// How often all had been killed before.
    kills: u64,
}

impl Start {
    pub(super) fn begin() -> Self {
        let mut registry = registry();
        registry.starting += 1;
        Self {
            kills: registry.kills,
        }
    }

    /// It runs. It is killed at once if all were to be killed meanwhile.
    pub(super) fn done(self, watched: &Arc<Watched>) {
        let mut registry = registry();
        registry
            .running
            .insert(watched.leader(), Arc::clone(watched));
        if registry.kills != self.kills {
            kill(std::iter::once(watched));
        }
        drop(registry);
    }
}

impl Drop for Start {
    fn drop(&mut self) {
        registry().starting -= 1;
        STARTED.notify_all();
    }
}
