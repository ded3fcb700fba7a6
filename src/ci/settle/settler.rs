//! [`Settler`]: looks at threads until they have settled, and waits between the looks.

use std::time::{Duration, Instant};

use super::error::{LookError, Unsettled};
use super::look::How;
use super::members::Processes;
use super::settling::{Settling, Step};
use super::thread_set::ThreadSet;
use super::watched::Gone;

/// How many looks find out which threads sleep by themselves. One could find such a thread while it runs.
const FIRST_LOOKS: u32 = 3;
const BETWEEN_FIRST_LOOKS: Duration = Duration::from_millis(10);
/// The pause before the first look while something runs on the machine.
const FIRST_PAUSE: Duration = Duration::from_micros(50);

/// The threads have settled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settled {
    /// How many looks it took.
    pub looks: u32,
    /// The time from the call to the end of the last look.
    pub took: Duration,
    /// How much the processes have dealt with, as [`Settler::settle_all`] counts it.
    pub stirred: u64,
    /// Whether a thread of the processes has run since the mark. If it never has, they are not those that receive what
    /// is sent.
    pub has_run: bool,
    /// The processes that have ended since the last time: what was sent to them is lost or was their last.
    pub gone: Vec<Gone>,
}

/// Tells when processes have dealt with what they were sent.
///
/// It waits by sleeping; the timer slack of the calling thread (50 µs unless it was changed) may add to each pause. A
/// thread that waits seconds for a process which computes uses about 3 % of a processor.
#[derive(Debug)]
pub struct Settler {
    set: ThreadSet,
    settling: Settling,
    pauses: Pauses,
}

impl Settler {
    /// Looks at these processes, and at the threads of this process whose names begin with one of `own_prefixes`: those
    /// that send. See [`ThreadSet::new`].
    ///
    /// To be made when the processes have started and before anything is sent to them: it looks for 30 ms which threads
    /// sleep by themselves.
    pub fn new(processes: Processes, own_prefixes: &[&str]) -> Result<Self, LookError> {
        let mut set = ThreadSet::new(processes, own_prefixes)?;
        let mut settling = Settling::new();
        for _ in 0..FIRST_LOOKS {
            settling.learn(&set.look_for_mark(&settling)?);
            sleep(BETWEEN_FIRST_LOOKS);
        }
        Ok(Self {
            set,
            settling,
            pauses: Pauses::default(),
        })
    }

    /// To be called immediately before something is sent: a thread that sleeps now does not sleep because of it.
    ///
    /// If the processes have not settled since the last mark, that one stays. So several things can be sent before one
    /// [`Settler::settle`]. Takes as long as a look; if a new thread is running or waits for a processor, until it is
    /// known where that one stands, at most about half a second.
    pub fn mark(&mut self) -> Result<(), LookError> {
        while self.settling.takes_marks() {
            let look = self.set.look_for_mark(&self.settling)?;
            match self.settling.mark(&look) {
                Some(pause) => self.pauses.wait(pause),
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
        self.wait(Duration::ZERO, limit, || 0, false)
    }

    /// The same while more may be sent or come: `stirred` counts that, and [`Settled::stirred`] is how much of it the
    /// processes have dealt with. The end is a [mark](Settler::mark) for what is sent next.
    ///
    /// `waited` is how long the caller has waited in earlier calls for the same: pauses between looks grow with it.
    pub fn settle_all(
        &mut self,
        waited: Duration,
        limit: Duration,
        stirred: impl FnMut() -> u64,
    ) -> Result<Settled, Unsettled> {
        self.wait(waited, limit, stirred, true)
    }

    fn wait(
        &mut self,
        waited: Duration,
        limit: Duration,
        mut stirred: impl FnMut() -> u64,
        is_mark: bool,
    ) -> Result<Settled, Unsettled> {
        let began = self.set.now();
        let limit = limit.saturating_add(waited);
        self.settling.begin(began.saturating_sub(waited), limit);
        let mut how = How::Ran;
        let mut looks = 0_u32;
        let mut dealt_with = 0;
        if !self.set.is_machine_idle() {
            // A process works on what was sent: a look now would only find that it runs.
            self.pauses.wait_for(FIRST_PAUSE, &self.set);
        }
        loop {
            let before = stirred();
            let look = self.set.look(how, &self.settling)?;
            let took = look.ended.saturating_sub(began);
            looks = looks.saturating_add(1);
            let step = self.settling.take(&look);
            if self.settling.begins_anew() {
                dealt_with = before;
            }
            match step {
                Step::Settled => {
                    let mut seen = look.threads.iter().enumerate();
                    let has_run = seen.any(|(index, seen)| {
                        let is_own = seen.thread.process == std::process::id();
                        !is_own && self.settling.has_run(index, seen.thread, seen.ran)
                    });
                    if is_mark {
                        // A proof is as good a look for it as any other, and this one is made.
                        self.settling.mark(&look);
                    }
                    return Ok(Settled {
                        looks,
                        took,
                        stirred: dealt_with,
                        has_run,
                        gone: self.set.take_gone(),
                    });
                }
                Step::LookAgain { how: next, pause } => {
                    how = next;
                    match how {
                        // A look at one thread costs no more than reading whether the machine is idle.
                        How::Suspect(_) => self.pauses.wait(pause),
                        How::Ran | How::Proof => self.pauses.wait_for(pause, &self.set),
                    }
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

/// Pauses that end on time: a thread sleeps longer than it asks for, so it asks for less, and spins for the rest of a
/// short pause. It always sleeps first, because a message in delivery may need the processor on which this thread runs.
#[derive(Debug, Default)]
struct Pauses {
    /// How much longer sleeping took than it was asked to.
    late: Duration,
}

/// The most by which a pause is cut short.
const MOST_LATE: Duration = Duration::from_micros(60);
/// The longest spin.
const LONGEST_SPIN: Duration = Duration::from_micros(15);
/// The longest pause that may end with a spin: longer pauses need not be that exact.
const SHORT_PAUSE: Duration = Duration::from_micros(100);

/// Into how many parts a pause is divided at most. After each part, the machine is checked for being idle.
const GLANCES: u32 = 3;
/// The shortest part, except for the last one.
const BETWEEN_GLANCES: Duration = Duration::from_micros(20);

impl Pauses {
    /// A pause before a look. It ends early when nothing else runs on the machine: then the threads may have settled.
    fn wait_for(&mut self, pause: Duration, set: &ThreadSet) {
        let part = (pause / GLANCES).max(BETWEEN_GLANCES);
        let mut left = pause;
        while !left.is_zero() {
            let next = part.min(left);
            self.wait(next);
            left = left.saturating_sub(next);
            if set.is_machine_idle() {
                return;
            }
        }
    }

    fn wait(&mut self, pause: Duration) {
        if pause.is_zero() {
            return;
        }
        let began = now();
        let asked = pause.saturating_sub(self.late);
        sleep(asked.max(Duration::from_nanos(1)));
        let slept = began.elapsed();
        self.learn(slept.saturating_sub(asked));
        if pause <= SHORT_PAUSE && pause.saturating_sub(slept) <= LONGEST_SPIN {
            while began.elapsed() < pause {
                std::hint::spin_loop();
            }
        }
    }

    /// Follows the time by which sleeping is late at least: later ones were held up by something else.
    fn learn(&mut self, late: Duration) {
        let late = late.min(MOST_LATE);
        self.late = if late < self.late {
            late
        } else {
            self.late + late.saturating_sub(self.late) / 16
        };
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "nothing tells when other processes are done: they have to be looked at again"
)]
fn sleep(pause: Duration) {
    std::thread::sleep(pause);
}

#[expect(
    clippy::disallowed_methods,
    reason = "the pauses between looks are in wall time"
)]
fn now() -> Instant {
    Instant::now()
}
