//! [`UnderTest`]: what a run against a program under test watches besides the network.

use bagplay::ci::child::ChildExit;
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
    /// Why it ended, if that was the reason.
    pub(crate) reason: Option<String>,
}

impl Default for UnderTest {
    fn default() -> Self {
        Self {
            ended: never(),
            troubles: never(),
            reason: None,
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
