//! [`TimeSlice`]: how soon a thread runs when it wakes while other threads compute on all processors.
//!
//! Linux gives a processor to each thread for a slice, 0.7 to 2.8 ms, and a thread that wakes waits for the end of the
//! slice of another one. Since Linux 6.12 a thread can ask for a slice of its own. If that is shorter than the slice of
//! the thread that runs, it runs at once (`Documentation/scheduler/sched-eevdf.rst` of Linux). Its share of the
//! processor stays the same, and it needs no permission. Earlier versions of Linux ignore the request.

/// How long the system lets this thread run before another thread has its turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimeSlice {
    /// The shortest, 0.1 ms: for a thread that does little, at the right time.
    Shortest,
    /// As threads have it by default. A thread has the slice of the thread that started it until it asks for another.
    Usual,
}

impl TimeSlice {
    /// Asks the system for it, for this thread. On systems other than Linux, and for a thread in real time, nothing
    /// changes.
    pub fn ask(self) {
        #[cfg(target_os = "linux")]
        if let Err(error) = linux::ask(self.nanos()) {
            tracing::debug!("a thread keeps its time slice: {error}");
        }
    }

    /// In nanoseconds; 0 stands for the default of the system.
    #[cfg(target_os = "linux")]
    fn nanos(self) -> u64 {
        match self {
            Self::Shortest => 100_000,
            Self::Usual => 0,
        }
    }
}

/// The slice of this thread, in nanoseconds.
#[cfg(all(test, target_os = "linux"))]
pub(crate) fn nanos_of_this_thread() -> u64 {
    let attributes = linux::attributes().expect("Linux has the call");
    attributes.sched_runtime
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io;

    use libc::{SCHED_OTHER, SYS_sched_getattr, SYS_sched_setattr, c_long, sched_attr};

    /// The calling thread, and no flags of the call.
    const THIS_THREAD: c_long = 0;
    const NO_FLAGS: c_long = 0;

    pub(super) fn ask(nanos: u64) -> io::Result<()> {
        let mut attributes = attributes()?;
        // The field has another meaning for all other policies.
        if i64::from(attributes.sched_policy) != i64::from(SCHED_OTHER) {
            return Ok(());
        }
        attributes.sched_runtime = nanos;
        set(&attributes)
    }

    /// How this thread is scheduled.
    pub(super) fn attributes() -> io::Result<sched_attr> {
        let size = u32::try_from(size_of::<sched_attr>()).map_err(io::Error::other)?;
        let mut attributes = sched_attr {
            size,
            sched_policy: 0,
            sched_flags: 0,
            sched_nice: 0,
            sched_priority: 0,
            sched_runtime: 0,
            sched_deadline: 0,
            sched_period: 0,
        };
        let to = &raw mut attributes;
        #[expect(unsafe_code, reason = "no crate has a safe function for it")]
        // SAFETY: the system writes at most `size` bytes to `to`, any of which are valid, and does not keep it.
        let result = unsafe { libc::syscall(SYS_sched_getattr, THIS_THREAD, to, size, NO_FLAGS) };
        checked(result)?;
        Ok(attributes)
    }

    fn set(attributes: &sched_attr) -> io::Result<()> {
        let from = &raw const *attributes;
        #[expect(unsafe_code, reason = "no crate has a safe function for it")]
        // SAFETY: the system reads the `size` bytes of `attributes`, and does not keep the pointer.
        let result = unsafe { libc::syscall(SYS_sched_setattr, THIS_THREAD, from, NO_FLAGS) };
        checked(result)
    }

    fn checked(result: c_long) -> io::Result<()> {
        if result == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Before Linux 6.12 the system tells no slice, and each is 0.
    #[test]
    fn a_thread_has_the_slice_it_asked_for_and_hands_it_on() {
        let on_another_thread = || {
            let usual = nanos_of_this_thread();
            TimeSlice::Shortest.ask();
            let short = nanos_of_this_thread();
            let inherited = std::thread::spawn(nanos_of_this_thread)
                .join()
                .expect("no panic");
            TimeSlice::Usual.ask();
            (usual, [short, inherited], nanos_of_this_thread())
        };
        let thread = std::thread::spawn(on_another_thread);
        let (usual, short, again) = thread.join().expect("no panic");
        let expected = if usual == 0 { 0 } else { 100_000 };
        assert_eq!((short, again), ([expected; 2], usual));
    }
}
