//! [`TimeSlice`]: how long a thread that wakes may have to wait while other threads compute on all processors.
//!
//! Linux gives a processor to a thread for a slice, about 0.7 to 3 ms. A thread that wakes may have to wait until the
//! slice of the running thread ends. Since Linux 6.12 a thread can ask for a slice of its own
//! (`Documentation/scheduler/sched-eevdf.rst` of Linux). If its slice is shorter than that of the running thread, and
//! it has not used more than its share of the processor, it need not wait. A shorter slice does not change the share
//! of a thread, and the request needs no permission. Earlier versions of Linux ignore the request.

/// How long the system lets a thread run before another thread has its turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TimeSlice {
    /// The shortest, 0.1 ms: for a thread that computes little and must run on time.
    Shortest,
    /// The default of the system. A new thread inherits the slice of the thread that starts it.
    Usual,
}

impl TimeSlice {
    /// Asks the system for this slice, for this thread. Nothing changes on systems other than Linux, or if the policy
    /// of the thread is not `SCHED_OTHER`.
    pub(crate) fn ask(self) {
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

/// The slice of this thread, in nanoseconds. `None` if a thread cannot ask for one: before Linux 6.12, with a policy
/// other than `SCHED_OTHER`, or where the system does not have the call.
#[cfg(all(test, target_os = "linux"))]
pub(crate) fn nanos_of_this_thread() -> Option<u64> {
    let attributes = linux::attributes().ok()?;
    let nanos = Some(attributes.sched_runtime);
    nanos.filter(|nanos| linux::may_ask(&attributes) && *nanos > 0)
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io;

    use libc::{SCHED_OTHER, SYS_sched_getattr, SYS_sched_setattr, c_long, sched_attr};

    /// The calling thread, and no flags of the call.
    const THIS_THREAD: c_long = 0;
    const NO_FLAGS: c_long = 0;

    pub(super) fn ask(nanos: u64) -> io::Result<()> {
        let attributes = attributes()?;
        if !may_ask(&attributes) {
            return Ok(());
        }
        set(sched_attr {
            sched_runtime: nanos,
            ..attributes
        })
    }

    /// Real-time threads and those of `SCHED_IDLE` have no slice to ask for, those of `SCHED_BATCH` never run early,
    /// and for `SCHED_DEADLINE` the field has another meaning.
    pub(super) fn may_ask(attributes: &sched_attr) -> bool {
        i64::from(attributes.sched_policy) == i64::from(SCHED_OTHER)
    }

    /// How this thread is scheduled.
    pub(super) fn attributes() -> io::Result<sched_attr> {
        let mut attributes = sched_attr {
            size: size()?,
            sched_policy: 0,
            sched_flags: 0,
            sched_nice: 0,
            sched_priority: 0,
            sched_runtime: 0,
            sched_deadline: 0,
            sched_period: 0,
        };
        let (to, size) = (&raw mut attributes, size_of::<sched_attr>());
        #[expect(unsafe_code, reason = "no crate has a safe function for it")]
        // SAFETY: `to` points to `size` bytes that are valid for writes. The system writes at most that many and does
        // not keep the pointer. Every bit pattern is a valid `sched_attr`.
        let result = unsafe { libc::syscall(SYS_sched_getattr, THIS_THREAD, to, size, NO_FLAGS) };
        checked(result)?;
        Ok(attributes)
    }

    fn set(mut attributes: sched_attr) -> io::Result<()> {
        // The system may have written another size.
        attributes.size = size()?;
        let from = &raw const attributes;
        #[expect(unsafe_code, reason = "no crate has a safe function for it")]
        // SAFETY: `from` points to a `sched_attr` of `size` bytes. The system reads at most that many and does not keep
        // the pointer.
        let result = unsafe { libc::syscall(SYS_sched_setattr, THIS_THREAD, from, NO_FLAGS) };
        checked(result)
    }

    fn size() -> io::Result<u32> {
        u32::try_from(size_of::<sched_attr>()).map_err(io::Error::other)
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

    /// Where a thread cannot ask for a slice, this checks nothing.
    #[test]
    fn a_thread_has_the_slice_it_asked_for_and_hands_it_on() {
        let on_another_thread = || {
            // The tests may have been started with a slice of their own.
            TimeSlice::Usual.ask();
            let usual = nanos_of_this_thread()?;
            TimeSlice::Shortest.ask();
            let short = nanos_of_this_thread();
            let inherited = std::thread::spawn(nanos_of_this_thread);
            let inherited = inherited.join().expect("no panic");
            TimeSlice::Usual.ask();
            Some((usual, [short, inherited], nanos_of_this_thread()))
        };
        let thread = std::thread::spawn(on_another_thread);
        if let Some((usual, short, again)) = thread.join().expect("no panic") {
            assert_eq!((short, again), ([Some(100_000); 2], Some(usual)));
        }
    }
}
