//! [`Handle`]: a process that may have another parent, and how it ended, as far as the system tells.
//!
//! The result of a process belongs to its parent. Until the parent has asked for it, `/proc/PID/stat` shows it, and
//! while several threads of the process end one after the other, it is shown already. So the ends of some threads are
//! awaited, too: then there is more time.

use std::fs::File;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::exit::How;
use crate::ci::child::processes::list::{Process, environment, parse};

/// How many threads of a process are awaited besides it.
const MOST_THREADS: usize = 4;
/// `PIDFD_THREAD`, of Linux 6.9.
const OF_THREAD: PidfdFlags = PidfdFlags::from_bits_retain(0o200);
/// Longer than a line of `stat`.
const LINE: usize = 4096;
/// The place of the result among the fields after the name: it is the 52nd of all.
const RESULT: usize = 49;

/// A process whose end is awaited.
#[derive(Debug)]
pub(super) struct Handle {
    process: OwnedFd,
    threads: Vec<OwnedFd>,
    stat: File,
    /// The system shows the result to this process; otherwise it shows 0.
    is_shown: bool,
    /// The result as it was shown before the end.
    before: Option<How>,
}

impl Handle {
    /// `None` if it has ended, or its number belongs to another process by now.
    pub(super) fn open(process: &Process) -> Option<Self> {
        let handle = pidfd_open(Pid::from_raw(process.id)?, PidfdFlags::empty()).ok()?;
        let folder = Path::new("/proc").join(process.id.to_string());
        let stat = File::open(folder.join("stat")).ok()?;
        let is_same = parse(&line(&stat)?)?.started == process.started;
        is_same.then(|| Self {
            process: handle,
            threads: threads(&folder, process.id),
            stat,
            is_shown: environment(process.id).is_some(),
            before: None,
        })
    }

    /// What is ready when the process has ended.
    pub(super) fn process(&self) -> BorrowedFd<'_> {
        self.process.as_fd()
    }

    /// What is ready when a thread has ended.
    pub(super) fn threads(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.threads.iter().map(|thread| thread.as_fd())
    }

    /// How many files it keeps open.
    pub(super) fn files(&self) -> u64 {
        2 + u64::try_from(self.threads.len()).unwrap_or(u64::MAX - 2)
    }

    /// Whether the process has ended.
    pub(super) fn has_ended(&self) -> bool {
        let mut waited = [PollFd::from_borrowed_fd(self.process(), PollFlags::IN)];
        matches!(poll(&mut waited, Some(&Timespec::default())), Ok(1))
    }

    /// Some threads have ended, by their places among [`Handle::threads`]: the process may be about to end.
    pub(super) fn threads_have_ended(&mut self, ended: &[usize]) {
        let mut place = 0;
        self.threads.retain(|_| {
            place += 1;
            !ended.contains(&(place - 1))
        });
        if let Some(result) = self.result().filter(|how| *how != How::Code(0)) {
            self.before = Some(result);
        }
    }

    /// How it ended, once it has.
    pub(super) fn how(&self) -> Option<How> {
        self.result().or(self.before)
    }

    fn result(&self) -> Option<How> {
        let result = result(&line(&self.stat)?)?;
        (self.is_shown || result != How::Code(0)).then_some(result)
    }
}

fn threads(folder: &Path, process: i32) -> Vec<OwnedFd> {
    let entries = folder.join("task").read_dir().into_iter().flatten();
    let ids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let others = ids.filter(|id| *id != process);
    let handle = |id| pidfd_open(Pid::from_raw(id)?, OF_THREAD).ok();
    others.filter_map(handle).take(MOST_THREADS).collect()
}

fn line(stat: &File) -> Option<Vec<u8>> {
    let mut line = vec![0; LINE];
    let read = stat.read_at(&mut line, 0).ok()?;
    line.truncate(read);
    Some(line)
}

/// The result in a line of `stat`, as `wait` has it. `None` for a process that is stopped: then the field has the
/// signal that stopped it.
fn result(stat: &[u8]) -> Option<How> {
    let close = stat.iter().rposition(|byte| *byte == b')')?;
    let fields = std::str::from_utf8(stat.get(close + 1..)?).ok()?;
    let mut fields = fields.split_ascii_whitespace();
    let state = fields.next()?;
    let status: i32 = fields.nth(RESULT - 1)?.parse().ok()?;
    let (code, signal) = ((status >> 8) & 0xff, status & 0x7f);
    let how = if signal == 0 {
        How::Code(code)
    } else {
        How::Signal(signal)
    };
    (!matches!(state, "T" | "t")).then_some(how)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(state: &str, status: i32) -> Option<How> {
        let zeros = "0 ".repeat(RESULT - 1);
        result(format!("7 (a) b) {state} {zeros}{status}\n").as_bytes())
    }

    #[test]
    fn a_result_is_read_as_the_system_writes_it() {
        assert_eq!(shown("Z", 0), Some(How::Code(0)));
        assert_eq!(shown("Z", 3 << 8), Some(How::Code(3)));
        assert_eq!(shown("Z", 11), Some(How::Signal(11)));
        // With a core file.
        assert_eq!(shown("R", 0x0b | 0x80), Some(How::Signal(11)));
        assert_eq!(shown("T", 19), None);
        assert_eq!(result(b"7 (a) Z 0 0"), None);
    }
}
