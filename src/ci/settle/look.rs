//! [`Look`]: what `/proc` says about some threads, read one after the other.

use std::fmt;
use std::time::Duration;

use crate::untrusted::Foreign;

/// The most threads that are looked at.
pub const MOST_THREADS: usize = 10_000;

/// A thread of a process, by the numbers that the system gives both.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ThreadId {
    /// The number of the process (PID).
    pub process: u32,
    /// The number of the thread (TID).
    pub thread: u32,
}

/// A thread with the names that it and its process have. Names of threads have at most 15 bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Named {
    /// Which thread.
    pub id: ThreadId,
    /// The name of the thread.
    pub thread: String,
    /// The name of the process: that of its first thread.
    pub process: String,
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (thread, process) = (Foreign::text(&self.thread), Foreign::text(&self.process));
        let id = self.id;
        write!(
            f,
            "thread \"{thread}\" ({}) of process \"{process}\" ({})",
            id.thread, id.process
        )
    }
}

/// How much a thread has run since it was started, from `/proc/PID/task/TID/schedstat`.
///
/// Two equal values mean that the thread was not given a processor in between and did not leave one: `slices` counts
/// when it is given one; `nanos` grows when it leaves it, and at each tick of the system's timer.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Ran {
    /// The time on a processor, in nanoseconds (first number).
    pub nanos: u64,
    /// How often it was given a processor (third number).
    pub slices: u64,
}

/// What a thread does, from the third field of `/proc/PID/task/TID/stat`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// It runs or is runnable (`R`), or `/proc` has a letter that is not known here.
    Runs,
    /// It waits for a device and cannot be interrupted (`D`).
    WaitsForDevice,
    /// It was stopped, by a signal or by a debugger (`T`, `t`).
    Stopped,
    /// It waits for something (`S`, and idle threads of the system).
    Waits,
    /// It has ended (`Z`, `X`).
    Ended,
}

/// One thread as a look has seen it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seen {
    /// Which thread.
    pub thread: ThreadId,
    /// How much it has run.
    pub ran: Ran,
    /// What it does; `None` if that was not read.
    pub state: Option<State>,
    /// Whether it stands in `nanosleep` or `clock_nanosleep`; `None` if that was not read or cannot be told.
    pub sleeps: Option<bool>,
}

/// What a look reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum How {
    /// Of all threads how much they have run. The cheapest look.
    Ran,
    /// The proof: first which threads there are, then of all threads what they do, then of all how much they have
    /// run, in this order.
    Proof,
    /// What this one thread does.
    Suspect(ThreadId),
}

/// What was read of the threads, in the order of [`How`].
#[derive(Clone, Copy, Debug)]
pub struct Look<'a> {
    /// What was read.
    pub how: How,
    /// When the first thread was read, on any clock that does not jump.
    pub began: Duration,
    /// When the last thread had been read, on the same clock.
    pub ended: Duration,
    /// Whether, after the last reading, the kernel counted no running or runnable thread on the whole machine except
    /// the one that looks. False if the kernel does not report this, and in looks for a mark.
    pub is_idle: bool,
    /// The threads were listed again, because some had begun or ended. A list that is read while threads end may miss
    /// others, so it counts only when the next look finds it complete.
    pub is_new_list: bool,
    /// Each thread once, in any order; with [`How::Suspect`] that thread, or none if it has ended.
    pub threads: &'a [Seen],
}

/// Why a thread is not settled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// It computes: it was found running or runnable.
    Runs,
    /// It is woken again and again.
    RunsAgain,
    /// It waits for a device.
    WaitsForDevice,
    /// It was stopped.
    Stopped,
    /// It has run since the mark and now stands in `nanosleep`.
    Sleeps,
    /// It was started, or others were, again and again.
    IsNew,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Runs => "it runs without a pause",
            Self::RunsAgain => "it runs again and again",
            Self::WaitsForDevice => "it waits for a device",
            Self::Stopped => "it is stopped",
            Self::Sleeps => "it sleeps after it was sent something",
            Self::IsNew => "threads are started again and again",
        })
    }
}
