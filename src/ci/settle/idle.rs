//! [`Idle`]: which threads run although nothing is sent to their processes.

use std::collections::BTreeMap;
use std::time::Duration;

use super::error::LookError;
use super::look::{How, Named, ThreadId};
use super::members::Processes;
use super::settling::Settling;
use super::thread_set::ThreadSet;

/// A thread counts if it runs in each window of this length. So one that runs at least 20 times a second is found.
const WINDOW: Duration = Duration::from_millis(100);
/// With fewer windows nothing is said: what begins runs for a while.
const LEAST_WINDOWS: u32 = 4;

/// Counts how often threads run while nothing is sent to their processes. To be looked at again and again meanwhile.
#[derive(Debug)]
pub struct Idle {
    set: ThreadSet,
    settling: Settling,
    threads: BTreeMap<ThreadId, Counted>,
    began: Duration,
    last: Duration,
    windows: u32,
}

/// A thread that runs by itself, for example by a timer.
#[derive(Clone, PartialEq, Debug)]
pub struct Unprompted {
    /// Which thread.
    pub thread: Named,
    /// How often it is given a processor, per second of wall time.
    pub per_second: f64,
}

#[derive(Debug)]
struct Counted {
    first: u64,
    last: u64,
    /// In how many windows it has run.
    windows: u32,
}

impl Idle {
    /// Begins to count for the threads that these processes have now.
    pub fn watch(processes: Processes) -> Result<Self, LookError> {
        let mut idle = Self {
            set: ThreadSet::new(processes, &[])?,
            settling: Settling::new(),
            threads: BTreeMap::new(),
            began: Duration::ZERO,
            last: Duration::ZERO,
            windows: 0,
        };
        let look = idle.set.look(How::Ran, &idle.settling)?;
        let slices = |ran: u64| Counted {
            first: ran,
            last: ran,
            windows: 0,
        };
        let threads = look.threads.iter();
        idle.threads
            .extend(threads.map(|seen| (seen.thread, slices(seen.ran.slices))));
        (idle.began, idle.last) = (look.ended, look.ended);
        Ok(idle)
    }

    /// Looks at the threads, if the last look is long enough ago.
    pub fn look(&mut self) -> Result<(), LookError> {
        if self.set.now().saturating_sub(self.last) < WINDOW {
            return Ok(());
        }
        let look = self.set.look(How::Ran, &self.settling)?;
        for seen in look.threads {
            if let Some(counted) = self.threads.get_mut(&seen.thread)
                && seen.ran.slices > counted.last
            {
                counted.windows += 1;
                counted.last = seen.ran.slices;
            }
        }
        self.last = look.ended;
        self.windows += 1;
        Ok(())
    }

    /// The threads that have run in each window so far. None after less than half a second.
    pub fn unprompted(&self) -> Vec<Unprompted> {
        let seconds = self.last.saturating_sub(self.began).as_secs_f64();
        if self.windows < LEAST_WINDOWS {
            return Vec::new();
        }
        let always = self.threads.iter().filter(|(_, counted)| {
            // The maximum stands for the end of a thread.
            counted.windows == self.windows && counted.last < u64::MAX
        });
        let unprompted = always.map(|(id, counted)| {
            let slices = u32::try_from(counted.last - counted.first).unwrap_or(u32::MAX);
            Unprompted {
                thread: self.set.name(*id),
                per_second: f64::from(slices) / seconds,
            }
        });
        unprompted.collect()
    }
}
