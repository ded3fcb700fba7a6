//! [`Machine`]: whether any other thread of the machine runs or is about to.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use super::proc_text;

/// `PROC_SUPER_MAGIC` of `linux/magic.h`: a container may have another file in this place, which counts something else.
const PROC_MAGIC: u64 = 0x9fa0;

/// Counts the threads of the machine that run or are runnable, those of the system too: the fourth number of
/// `/proc/loadavg`. One reading takes a microsecond, however many threads there are.
///
/// It is no proof that a thread sleeps: one that was woken for a processor that has yet to take it is not counted. It tells that
/// no thread of the system has packets of the loopback network left to deliver (`ksoftirqd`): those are woken by their own
/// processor.
#[derive(Debug)]
pub(super) struct Machine {
    /// `None`: the system does not tell.
    counts: Option<File>,
}

impl Machine {
    pub(super) fn open() -> Self {
        let counts = File::open("/proc/loadavg").ok().filter(is_of_the_system);
        Self { counts }
    }

    /// Whether the thread that asks is the only one that runs, and none waits for a processor.
    pub(super) fn is_idle(&self) -> bool {
        let mut buffer = [0; 96];
        let read = |file: &File| file.read_at(&mut buffer, 0).ok();
        let length = self.counts.as_ref().and_then(read).unwrap_or(0);
        proc_text::runnable(&buffer[..length]) == Some(1)
    }
}

#[cfg(target_os = "linux")]
fn is_of_the_system(file: &File) -> bool {
    let facts = rustix::fs::fstatfs(file);
    facts.is_ok_and(|facts| u64::try_from(facts.f_type) == Ok(PROC_MAGIC))
}

#[cfg(not(target_os = "linux"))]
fn is_of_the_system(_: &File) -> bool {
    false
}
