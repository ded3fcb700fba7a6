//! [`Governor`]: the thread that tells a [`Desk`] when processes have settled and when answers are too late.

use std::io;
use std::thread::JoinHandle;
use std::time::Duration as StdDuration;

use super::desk::{Desk, Task};
use super::waits::Trouble;
use crate::ci::settle::{Settler, Unsettled};
use crate::time::Duration;

/// How long settling is waited for before the questions are looked at again.
const SLICE: StdDuration = StdDuration::from_millis(50);

/// What a governor waits for besides answers.
#[derive(Debug)]
pub struct Waiting {
    /// Tells when the processes have settled.
    pub settler: Settler,
    /// How long that may take, each time.
    pub limit: Duration,
}

/// The thread of a run that waits. Dropping it ends the thread.
#[derive(Debug)]
pub struct Governor {
    desk: Desk,
    thread: Option<JoinHandle<()>>,
}

impl Governor {
    /// Starts the thread. To be called before the player starts, and `waiting` is made when the processes under test have
    /// started.
    pub fn start(desk: &Desk, waiting: Option<Waiting>) -> io::Result<Self> {
        let own = desk.clone();
        let named = std::thread::Builder::new().name("governor".into());
        let thread = named.spawn(move || govern(&own, waiting))?;
        Ok(Self {
            desk: desk.clone(),
            thread: Some(thread),
        })
    }
}

impl Drop for Governor {
    fn drop(&mut self) {
        self.desk.end();
        if let Some(thread) = self.thread.take() {
            // It has no result; if it panicked, its guard has failed the run.
            let _ = thread.join();
        }
    }
}

/// Fails the run if the thread panics: nobody else would open the gate.
struct Guard<'a>(&'a Desk);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.fail(Trouble::Panicked);
        }
    }
}

fn govern(desk: &Desk, mut waiting: Option<Waiting>) {
    let _guard = Guard(desk);
    // The pauses between two looks are short.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1_000));
    if let Some(Waiting { settler, .. }) = &mut waiting
        && let Err(error) = settler.mark()
    {
        desk.fail(Trouble::Unsettled(error.into()));
        return;
    }
    loop {
        match (desk.next_task(), &mut waiting) {
            (Task::Over, _) => return,
            (Task::Settle(stirred), Some(waiting)) => match settle(desk, waiting) {
                Ok(Some(took)) => desk.settled(stirred, took),
                Ok(None) => {}
                Err(unsettled) => desk.fail(Trouble::Unsettled(unsettled)),
            },
            (Task::Settle(stirred), None) => desk.settled(stirred, Duration::ZERO),
        }
    }
}

/// Waits until the processes have settled, and marks that for what is sent next. `None`: the run does not wait any longer.
fn settle(desk: &Desk, waiting: &mut Waiting) -> Result<Option<Duration>, Unsettled> {
    let limit = StdDuration::from_nanos(u64::try_from(waiting.limit.as_nanos()).unwrap_or(0));
    let mut spent = StdDuration::ZERO;
    loop {
        match waiting.settler.settle(SLICE) {
            Ok(settled) => {
                for gone in &settled.gone {
                    desk.is_gone(format!("{} ({})", gone.name, gone.process));
                }
                waiting.settler.mark()?;
                return Ok(Some((spent + settled.took).into()));
            }
            Err(Unsettled::Limit { took, .. }) if spent + took < limit => {
                spent += took;
                if !desk.look() {
                    return Ok(None);
                }
            }
            Err(Unsettled::Limit {
                thread,
                why,
                looks,
                took,
            }) => {
                let took = spent + took;
                return Err(Unsettled::Limit {
                    thread,
                    why,
                    looks,
                    took,
                });
            }
            Err(error) => return Err(error),
        }
    }
}
