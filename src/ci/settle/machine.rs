//! [`Machine`]: whether any other thread of the machine runs or is runnable.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use super::proc_text;

/// `PROC_SUPER_MAGIC` of `linux/magic.h`: a container may have another file in this place, which counts something else.
const PROC_MAGIC: u64 = 0x9fa0;

/// Counts the threads of the machine that run or are runnable, with those of the kernel: the fourth field of
/// `/proc/loadavg`. One reading takes a microsecond, however many threads there are.
///
/// The count does not prove that a thread sleeps: a thread that was woken for another processor is not counted until
/// that processor takes it. The count shows that no thread of the kernel (`ksoftirqd`) has packets of the loopback
/// network left to deliver: these threads are woken by their own processor.
#[derive(Debug)]
pub(super) struct Machine {
    /// `None`: the kernel does not report the count.
    counts: Option<File>,
}

impl Machine {
    pub(super) fn open() -> Self {
        let counts = File::open("/proc/loadavg").ok().filter(is_of_the_system);
        Self { counts }
    }

    /// Whether the calling thread is the only one that runs, and no other is runnable.
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
