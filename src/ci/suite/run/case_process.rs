//! [`CaseProcess`]: the process of one run of a case.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use super::descendants::kill_tree;
use crate::ci::suite::system::{SystemOfCase, Told, write_line};

/// The processes of cases that run, and those that hold systems.
static RUNNING: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

pub(super) fn running() -> MutexGuard<'static, Vec<Pid>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a child of this process has ended, also if it was not waited for.
fn has_ended(pid: Pid) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    !matches!(waitid(WaitId::Pid(pid), options), Ok(None))
}

/// Kills the runs of all cases, and all systems, with everything that they have started, and waits for nothing: for a
/// process that must end at once.
pub fn kill_all() {
    for pid in running().iter() {
        kill_tree(*pid);
    }
}

/// The process of one run, which runs or has ended.
#[derive(Debug)]
pub(super) struct CaseProcess {
    child: Child,
    pid: Pid,
    /// The place of the case in the list, and the number of the repetition.
    pub(super) case: usize,
    pub(super) repetition: u32,
    pub(super) files: RunFiles,
    pub(super) began: Instant,
    /// The longest time that the run may take.
    pub(super) limit: Option<Duration>,
    /// When it is asked to end, or ended.
    pub(super) deadline: Option<Instant>,
    pub(super) ending: Ending,
    /// The number of its system among those of the suite, if it is on one that stays.
    pub(super) chain: Option<u64>,
    news: Option<ChildStdin>,
}

/// The files of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct RunFiles {
    /// The folder of the run, which `play` makes.
    pub(super) folder: PathBuf,
    pub(super) report: PathBuf,
    /// What `play` says.
    pub(super) log: PathBuf,
}

impl RunFiles {
    /// The files of a run whose own folder this is.
    pub(super) fn in_folder(folder: &Path) -> Self {
        Self {
            folder: folder.join("run"),
            report: folder.join("report.json"),
            log: folder.join("play.log"),
        }
    }
}

/// How far a process was brought to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Ending {
    /// It has run longer than it may.
    pub(super) is_late: bool,
    pub(super) is_asked: bool,
    pub(super) is_killed: bool,
}

impl CaseProcess {
    /// Starts it. When it has ended, `ended` gets its number among all runs.
    pub(super) fn start(
        mut command: Command,
        (case, repetition): (usize, u32),
        files: RunFiles,
        (began, deadline): (Instant, Option<Instant>),
        (number, ended): (u64, Sender<u64>),
        system: Option<(u64, SystemOfCase)>,
    ) -> io::Result<Self> {
        if let Some(own) = files.log.parent() {
            fs::create_dir_all(own)?;
        }
        // The report of an earlier run in this folder must not be taken for that of this run.
        match fs::remove_file(&files.report) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let log = File::create(&files.log)?;
        // A group of its own: ctrl-C reaches it once, through this process.
        let stdin = if system.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        };
        let mut child = command
            .stdin(stdin)
            .stdout(log.try_clone()?)
            .stderr(log)
            .env_remove("GITHUB_STEP_SUMMARY")
            .process_group(0)
            .spawn()?;
        let pid = Pid::from_child(&child);
        running().push(pid);
        let news = child.stdin.take();
        let mut process = Self {
            news,
            chain: system.as_ref().map(|(chain, _)| *chain),
            child,
            pid,
            case,
            repetition,
            files,
            began,
            limit: deadline.map(|deadline| deadline.saturating_duration_since(began)),
            deadline,
            ending: Ending::default(),
        };
        if let Some((_, system)) = system {
            process.tell(&Told::System(system));
        }
        // It only sees that the process has ended; the process keeps its number until it is waited for.
        let watch = move || {
            while let Err(rustix::io::Errno::INTR) = waitid(
                WaitId::Pid(pid),
                WaitIdOptions::EXITED | WaitIdOptions::NOWAIT,
            ) {}
            let _ = ended.send(number);
        };
        let watching = thread::Builder::new().name("case".into()).spawn(watch);
        match watching {
            Ok(_) => Ok(process),
            Err(error) => {
                process.kill_and_wait();
                Err(error)
            }
        }
    }

    /// Tells it something of its system.
    pub(super) fn tell(&mut self, told: &Told) {
        if let Some(news) = &mut self.news {
            // It may have ended.
            let _ = write_line(news, told);
        }
    }

    /// Asks it to end; it is killed if it has not after `grace`.
    pub(super) fn ask_to_end(&mut self, now: Instant, grace: Duration) {
        if !self.ending.is_asked {
            self.ending.is_asked = true;
            let _ = kill_process(self.pid, Signal::TERM);
            self.deadline = now.checked_add(grace);
        }
    }

    /// Its time is over.
    pub(super) fn take_next_step(&mut self, now: Instant, grace: Duration) {
        if has_ended(self.pid) {
            // In time: only that it has ended was not dealt with yet.
            self.deadline = None;
        } else if self.ending.is_asked {
            self.ending.is_killed = true;
            self.deadline = None;
            kill_tree(self.pid);
        } else {
            self.ending.is_late = true;
            self.ask_to_end(now, grace);
        }
    }

    /// How it has ended.
    pub(super) fn wait(&mut self) -> io::Result<ExitStatus> {
        // While it is listed, its number is that of no other process: it is taken off before it is waited for.
        running().retain(|pid| *pid != self.pid);
        self.child.wait()
    }

    fn kill_and_wait(mut self) {
        kill_tree(self.pid);
        let _ = self.wait();
    }
}

#[cfg(test)]
mod tests {
    use crossbeam_channel::{Receiver, bounded};

    use super::super::wall::now;
    use super::*;

    fn start(folder: &Path, words: [&str; 2]) -> (CaseProcess, Receiver<u64>) {
        let mut command = Command::new(words[0]);
        command.arg(words[1]);
        let (ended, endings) = bounded(1);
        let files = RunFiles::in_folder(folder);
        let times = (now(), Some(now()));
        let started = CaseProcess::start(command, (0, 1), files, times, (7, ended), None);
        (started.unwrap(), endings)
    }

    #[test]
    fn a_run_that_has_ended_is_not_late() {
        let folder = tempfile::tempdir().unwrap();
        let (mut process, endings) = start(folder.path(), ["sleep", "0"]);
        // It has ended, and the deadline has passed, before either is dealt with.
        assert_eq!(endings.recv(), Ok(7));
        process.take_next_step(now(), Duration::ZERO);
        assert_eq!(
            (process.ending, process.deadline),
            (Ending::default(), None)
        );
        assert!(process.wait().unwrap().success());
    }

    #[test]
    fn a_run_that_ends_when_it_is_asked_is_not_killed() {
        let folder = tempfile::tempdir().unwrap();
        let (mut process, endings) = start(folder.path(), ["sleep", "1000"]);
        process.take_next_step(now(), Duration::ZERO);
        assert_eq!(endings.recv(), Ok(7));
        process.take_next_step(now(), Duration::ZERO);
        let Ending {
            is_late,
            is_asked,
            is_killed,
        } = process.ending;
        assert_eq!((is_late, is_asked, is_killed), (true, true, false));
        process.wait().unwrap();
    }
}
