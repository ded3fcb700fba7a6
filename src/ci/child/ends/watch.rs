//! [`ProcessEnds`]: the ends of the processes under test, as events. Linux tells them; elsewhere there are none.

use std::io;

use crossbeam_channel::{Receiver, bounded};

use super::process_end::ProcessEnd;
use super::whose::Whose;
use crate::time::{Ros, Time};

#[cfg(target_os = "linux")]
use super::watcher::Watcher;

/// How many ends wait for their receiver. More are dropped: any failure among the first ones ends the run.
const KEPT: usize = 1024;

/// Watches processes under test until it is dropped.
#[derive(Debug)]
pub struct ProcessEnds {
    told: Receiver<ProcessEnd>,
    #[cfg(target_os = "linux")]
    watcher: Option<Watcher>,
}

impl ProcessEnds {
    /// Begins to watch the processes that run now; others are found within a second of their start. `at` gives the log
    /// time at which playback is.
    ///
    /// # Errors
    /// The thread that waits cannot be started.
    #[cfg(target_os = "linux")]
    pub fn watch<'a>(
        whose: impl IntoIterator<Item = Whose<'a>>,
        at: impl Fn() -> Time<Ros> + Send + 'static,
    ) -> io::Result<Self> {
        let (tell, told) = bounded(KEPT);
        let watcher = Some(Watcher::start(whose, at, tell)?);
        Ok(Self { told, watcher })
    }

    /// Watches nothing: there is no list of processes.
    ///
    /// # Errors
    /// None.
    #[cfg(not(target_os = "linux"))]
    pub fn watch<'a>(
        _: impl IntoIterator<Item = Whose<'a>>,
        _: impl Fn() -> Time<Ros> + Send + 'static,
    ) -> io::Result<Self> {
        let (_, told) = bounded(KEPT);
        Ok(Self { told })
    }

    /// Gets the ends that mean something for the run.
    pub const fn told(&self) -> &Receiver<ProcessEnd> {
        &self.told
    }

    /// Stops watching. Returns the ends that came before and were not received yet.
    #[cfg_attr(not(target_os = "linux"), expect(unused_mut, reason = "as on Linux"))]
    pub fn finish(mut self) -> Vec<ProcessEnd> {
        #[cfg(target_os = "linux")]
        drop(self.watcher.take());
        self.told.try_iter().collect()
    }
}
