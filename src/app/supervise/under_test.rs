//! [`UnderTest`]: what a run against a program under test watches besides the network.

use bagplay::ci::child::{ChildExit, Meaning, ProcessEnd};
use bagplay::ci::drive::Trouble;
use bagplay::cli::Exit;
use crossbeam_channel::{Receiver, never};

/// The events of a run against a program under test. Without one there are none.
#[derive(Debug)]
pub(crate) struct UnderTest {
    /// The program has ended.
    pub(crate) ended: Receiver<ChildExit>,
    /// The run cannot go on.
    pub(crate) troubles: Receiver<Trouble>,
    /// Processes that the program has started have ended.
    pub(crate) process_ends: Receiver<ProcessEnd>,
    /// Whether a process with an unknown result fails the run.
    pub(crate) is_strict: bool,
    /// Why it ended, if that was the reason.
    pub(crate) reason: Option<String>,
    /// What else is to be said about processes that have ended.
    pub(crate) notes: Vec<String>,
}

impl UnderTest {
    /// Takes the end of a process. Returns whether it fails the run.
    pub(crate) fn fails(&mut self, end: &ProcessEnd) -> bool {
        let fails = match end.meaning() {
            Meaning::Failure => true,
            Meaning::Unknown => self.is_strict,
            Meaning::Ended | Meaning::Nothing => false,
        };
        if fails {
            tracing::error!("{end}");
            self.reason.get_or_insert(end.to_string());
        } else if end.meaning() != Meaning::Nothing {
            tracing::warn!("{end}");
            self.notes.push(end.to_string());
        }
        fails
    }

    /// Takes the ends of processes that have come. Returns whether one of them fails the run.
    pub(crate) fn takes_failure(&mut self) -> bool {
        let ends: Vec<ProcessEnd> = self.process_ends.try_iter().collect();
        self.takes_any_failure(&ends)
    }

    /// The same for ends that were received.
    pub(crate) fn takes_any_failure(&mut self, ends: &[ProcessEnd]) -> bool {
        // All of them: those that fail nothing are noted.
        ends.iter().filter(|end| self.fails(end)).count() > 0
    }
}

impl Default for UnderTest {
    fn default() -> Self {
        Self {
            ended: never(),
            troubles: never(),
            process_ends: never(),
            is_strict: false,
            reason: None,
            notes: Vec::new(),
        }
    }
}

/// The exit code of a run that ends because of its trouble.
pub(crate) fn exit_of(trouble: &Trouble) -> Exit {
    match trouble {
        Trouble::Missed(_) | Trouble::Unsettled(_) => Exit::Timeout,
        Trouble::Panicked => Exit::Failed,
    }
}
