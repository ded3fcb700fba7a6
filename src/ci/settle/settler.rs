//! [`Settler`]: looks at threads until they have settled, and waits between the looks.

use std::time::Duration;

use super::error::{LookError, Unsettled};
use super::look::How;
use super::members::Processes;
use super::settling::{Settling, Step};
use super::thread_set::ThreadSet;
use super::watched::Gone;

/// How many looks find out which threads sleep by themselves. One could find such a thread while it runs.
const FIRST_LOOKS: u32 = 3;
const BETWEEN_FIRST_LOOKS: Duration = Duration::from_millis(10);

/// The threads have settled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settled {
    /// How many looks it took.
    pub looks: u32,
    /// The time from the call to the end of the last look.
    pub took: Duration,
    /// The processes that have ended since the last time: what was sent to them is lost or was their last.
    pub gone: Vec<Gone>,
}

/// Tells when processes have dealt with what they were sent.
///
/// It waits by sleeping, so the timer slack of the calling thread (50 µs unless it was changed) adds to each pause. A
/// thread that waits seconds for a process which computes uses about 3 % of a processor.
#[derive(Debug)]
pub struct Settler {
    set: ThreadSet,
    settling: Settling,
}

impl Settler {
    /// Looks at these processes, and at the threads of this process whose names begin with one of `own_prefixes`: those that
    /// send. See [`ThreadSet::new`].
    ///
    /// To be made when the processes have started and before anything is sent to them: it looks for 30 ms which threads
    /// sleep by themselves.
    pub fn new(processes: Processes, own_prefixes: &[&str]) -> Result<Self, LookError> {
        let mut set = ThreadSet::new(processes, own_prefixes)?;
        let mut settling = Settling::new();
        for _ in 0..FIRST_LOOKS {
            settling.learn(&set.look_for_mark(&settling)?);
            wait(BETWEEN_FIRST_LOOKS);
        }
        Ok(Self { set, settling })
    }

    /// To be called immediately before something is sent: a thread that sleeps now does not sleep because of it.
    ///
    /// If the processes have not settled since the last mark, that one stays. So several things can be sent before one
    /// [`Settler::settle`]. Takes as long as a look, and about a millisecond more if a new thread is running.
    pub fn mark(&mut self) -> Result<(), LookError> {
        while self.settling.takes_marks() {
            let look = self.set.look_for_mark(&self.settling)?;
            match self.settling.mark(&look) {
                Some(pause) => wait(pause),
                None => break,
            }
        }
        Ok(())
    }

    /// Waits until the processes have dealt with what they were sent.
    ///
    /// After `limit` this is an error that names the thread that was most often in the way; it can be called again to
    /// wait longer. A process that ends meanwhile is no error: [`Settled::gone`].
    pub fn settle(&mut self, limit: Duration) -> Result<Settled, Unsettled> {
        let began = self.set.now();
        self.settling.begin(began, limit);
        let mut how = How::Ran;
        let mut looks = 0_u32;
        loop {
            let look = self.set.look(how, &self.settling)?;
            let took = look.ended.saturating_sub(began);
            looks = looks.saturating_add(1);
            match self.settling.take(&look) {
                Step::Settled => {
                    let gone = self.set.take_gone();
                    return Ok(Settled { looks, took, gone });
                }
                Step::LookAgain { how: next, pause } => {
                    how = next;
                    wait(pause);
                }
                Step::NeverSettles { thread, why } => {
                    let thread = thread.map(|thread| self.set.name(thread));
                    return Err(Unsettled::Limit {
                        thread,
                        why,
                        looks,
                        took,
                    });
                }
            }
        }
    }

    /// The threads that are looked at.
    pub fn threads(&self) -> &ThreadSet {
        &self.set
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "nothing tells when other processes are done: they have to be looked at again"
)]
fn wait(pause: Duration) {
    if !pause.is_zero() {
        std::thread::sleep(pause);
    }
}
