//! [`Governor`]: the thread that tells a [`Desk`] when processes have settled and when answers are too late.

use std::io;
use std::thread::JoinHandle;
use std::time::Duration as StdDuration;

use super::desk::Desk;
use super::settlement::Settlement;
use super::tasks::Task;
use super::waits::{Trouble, Waiting};
use crate::player::wake_precisely;

/// How long settling is waited for before the questions are looked at again.
const SLICE: StdDuration = StdDuration::from_millis(50);

/// The thread of a run that waits. Dropping it ends the thread.
#[derive(Debug)]
pub struct Governor {
    desk: Desk,
    thread: Option<JoinHandle<()>>,
}

impl Governor {
    /// Starts the thread. To be called before the player starts, and `waiting` is made when the processes under test
    /// have started; where their threads stand by themselves is learned here.
    pub fn start(desk: &Desk, waiting: Option<Waiting>) -> io::Result<Self> {
        if let Some(waiting) = waiting {
            let mut settlement = Settlement::new(waiting);
            match settlement.mark() {
                Ok(()) => desk.settles_with(settlement),
                Err(error) => desk.fail(Trouble::Unsettled(error.into())),
            }
        } else {
            desk.without_lockstep();
        }
        desk.begins();
        let own = desk.clone();
        let named = std::thread::Builder::new().name("governor".into());
        let thread = named.spawn(move || govern(&own))?;
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

/// Fails the run if the thread panics: no other thread would open the gate.
struct Guard<'a>(&'a Desk);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.fail(Trouble::Panicked);
        }
    }
}

fn govern(desk: &Desk) {
    let _guard = Guard(desk);
    // The pauses between two looks are short.
    wake_precisely();
    while desk.next_task() == Task::Settle {
        desk.settle(SLICE);
    }
}
