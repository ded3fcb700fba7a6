//! [`SystemProcess`]: the process that holds a system under test while several cases use it.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use super::case_process::running;
use super::descendants::kill_tree;
use super::wall::now;
use crate::ci::child::ChildExit;
use crate::ci::suite::system::{Held, Lines, Over, Said};

/// How long it may take to start the system.
const LONGEST_START: Duration = Duration::from_secs(60);
/// How long a process of `play` may take to end after the grace of its program.
pub(super) const LONGEST_END: Duration = Duration::from_secs(30);

/// What happens to the process.
#[derive(Debug)]
pub(super) enum News {
    /// It says something.
    Said(Said),
    /// It has ended.
    Gone,
}

/// The process, which runs or has ended.
#[derive(Debug)]
pub(super) struct SystemProcess {
    child: Child,
    pid: Pid,
    /// It ends when this is closed.
    open: Option<ChildStdin>,
    pub(super) log: PathBuf,
    /// What is known of the system once it has been started.
    pub(super) held: Option<Held>,
    /// The end of its program.
    pub(super) exit: Option<ChildExit>,
    pub(super) over: Over,
    /// When it is killed, because it has not started the system in time or does not end.
    pub(super) deadline: Option<Instant>,
    /// Whether it was killed at `deadline`.
    is_late: bool,
    grace: Duration,
}

impl SystemProcess {
    /// Starts it; `news` gets what happens to it, with this number.
    pub(super) fn start(
        mut command: Command,
        log: &Path,
        grace: Duration,
        (number, news): (u64, Sender<(u64, News)>),
    ) -> io::Result<Self> {
        if let Some(own) = log.parent() {
            fs::create_dir_all(own)?;
        }
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(log)?)
            .env_remove("GITHUB_STEP_SUMMARY")
            .process_group(0)
            .spawn()?;
        let pid = Pid::from_child(&child);
        running().push(pid);
        let (open, stdout) = (child.stdin.take(), child.stdout.take());
        let mut process = Self {
            child,
            pid,
            open,
            log: log.to_owned(),
            held: None,
            exit: None,
            over: Over::default(),
            deadline: now().checked_add(LONGEST_START),
            is_late: false,
            grace,
        };
        let watch = move || {
            for said in stdout.into_iter().flat_map(Lines::new).flatten() {
                let _ = news.send((number, News::Said(said)));
            }
            // It keeps its number until it is waited for.
            while let Err(rustix::io::Errno::INTR) = waitid(
                WaitId::Pid(pid),
                WaitIdOptions::EXITED | WaitIdOptions::NOWAIT,
            ) {}
            let _ = news.send((number, News::Gone));
        };
        match thread::Builder::new().name("system".into()).spawn(watch) {
            Ok(_) => Ok(process),
            Err(error) => {
                process.kill();
                let _ = process.wait();
                Err(error)
            }
        }
    }

    /// Whether cases can use it.
    pub(super) const fn is_up(&self) -> bool {
        self.held.is_some() && self.exit.is_none() && self.open.is_some()
    }

    /// Notes that it has started the system, which has no time limit.
    pub(super) fn has_started(&mut self, held: Held) {
        self.held = Some(held);
        if !self.is_ending() {
            self.deadline = None;
        }
    }

    /// The time limit of the start, if it was killed before it had started the system.
    pub(super) fn start_took_too_long(&self) -> Option<Duration> {
        let is_late = self.is_late && self.held.is_none() && !self.is_ending();
        is_late.then_some(LONGEST_START)
    }

    /// Whether it was asked to end the system.
    pub(super) const fn is_ending(&self) -> bool {
        self.open.is_none()
    }

    /// Asks it to end the system.
    pub(super) fn end(&mut self, now: Instant) {
        if self.open.take().is_some() {
            self.deadline = now.checked_add(self.grace.saturating_add(LONGEST_END));
        }
    }

    /// Ends it with everything below it.
    pub(super) fn kill(&mut self) {
        self.deadline = None;
        self.is_late = true;
        kill_tree(self.pid);
    }

    /// How it has ended.
    pub(super) fn wait(&mut self) -> io::Result<ExitStatus> {
        running().retain(|pid| *pid != self.pid);
        self.child.wait()
    }
}

#[cfg(test)]
mod tests {
    use crossbeam_channel::bounded;

    use super::*;

    #[test]
    fn a_system_has_a_limit_of_time_until_it_has_started() {
        let folder = tempfile::tempdir().unwrap();
        let (news, gone) = bounded(8);
        let start = || {
            let mut command = Command::new("sleep");
            command.arg("1000");
            let log = folder.path().join("system.log");
            SystemProcess::start(command, &log, Duration::ZERO, (1, news.clone())).unwrap()
        };
        let mut process = start();
        assert!(process.deadline.is_some());
        process.kill();
        assert!(matches!(gone.recv(), Ok((1, News::Gone))));
        process.wait().unwrap();
        assert_eq!(process.start_took_too_long(), Some(LONGEST_START));
        let mut process = start();
        process.has_started(Held::default());
        assert_eq!(process.deadline, None);
        process.end(now());
        assert!(process.deadline.is_some());
        process.kill();
        assert!(matches!(gone.recv(), Ok((1, News::Gone))));
        process.wait().unwrap();
        assert_eq!(process.start_took_too_long(), None);
    }
}
