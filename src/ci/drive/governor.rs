//! [`Governor`]: the thread that tells a [`Desk`] when processes have settled and when answers are too late.

use std::io;
use std::thread::JoinHandle;
use std::time::Duration as StdDuration;

use super::desk::Desk;
use super::tasks::{Task, Unsettling};
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
    /// How long that may take, each time: from when something is sent until they have settled and nothing new has come.
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
        desk.begins();
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
    loop {
        match (desk.next_task(), &mut waiting) {
            (Task::Over, _) => return,
            (Task::Settle(it), Some(waiting)) if it.is_restless && it.waited > waiting.limit => {
                desk.is_restless(it.waited);
            }
            (Task::Settle(it), Some(waiting)) => match settle(desk, waiting, &it) {
                Ok(Some(took)) => desk.settled(it.stirred, took),
                Ok(None) => {}
                Err(unsettled) => desk.fail(Trouble::Unsettled(unsettled)),
            },
            (Task::Settle(it), None) => desk.settled(it.stirred, Duration::ZERO),
        }
    }
}

/// Waits until the processes have settled, and marks that for what is sent next. `None`: the run does not wait any longer.
fn settle(
    desk: &Desk,
    waiting: &mut Waiting,
    of: &Unsettling,
) -> Result<Option<Duration>, Unsettled> {
    let (limit, before) = (waiting.limit.to_std(), of.waited.to_std());
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
            Err(Unsettled::Limit {
                thread, why, took, ..
            }) if before + spent + took < limit => {
                spent += took;
                let thread = thread.map_or_else(String::new, |thread| format!("{thread}: "));
                if !desk.look(format!("{thread}{why}")) {
                    return Ok(None);
                }
            }
            Err(Unsettled::Limit {
                thread,
                why,
                looks,
                took,
            }) => {
                let took = before + spent + took;
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
