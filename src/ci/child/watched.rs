//! [`Watched`]: what all threads know of a program that runs, and how its processes are found and signalled.

#[cfg(target_os = "linux")]
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, getpid, kill_process_group, waitid};

use super::ends::exit::{ChildExit, How};
use super::limits::{Reached, reached};
use super::processes::list::{Process, environment, process, processes, variable};
use super::processes::members::{Found, Mark, Members};
use super::program::{Claims, Program};
use super::wall::now;

/// The variable that marks the processes of a program: the marks of this program, and of those around it.
pub(super) const MARK: &str = "BAGPLAY_CHILD";
const SEPARATOR: char = ':';

/// A program that runs, or has ended and is still a child of this process.
#[derive(Debug)]
pub(super) struct Watched {
    program: Program,
    name: String,
    leader: Pid,
    /// As in [`Process::started`].
    leader_started: u64,
    mark: String,
    began: Instant,
    members: Mutex<Members>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    exit: Option<ChildExit>,
    reached: Option<Reached>,
    /// The results of orphans that were released, the last ones: number, when it was started, and result.
    #[cfg(target_os = "linux")]
    results: VecDeque<(i32, u64, How)>,
}

/// How many results of orphans are kept.
#[cfg(target_os = "linux")]
const RESULTS_KEPT: usize = 1000;

/// A mark that no other program of this process has.
pub(super) fn new_mark() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{}-{number}", getpid().as_raw_pid())
}

/// The value of [`MARK`] for a program: below the programs that this process is part of.
pub(super) fn marks(mark: &str) -> String {
    match std::env::var(MARK) {
        Ok(outer) if !outer.is_empty() => format!("{outer}{SEPARATOR}{mark}"),
        _ => mark.to_owned(),
    }
}

impl Watched {
    /// `leader` is a child of this process that was started at `began` with this mark.
    pub(super) fn new(program: Program, leader: Pid, mark: String, began: Instant) -> Self {
        let started = process(leader.as_raw_pid()).map_or(0, |process| process.started);
        let members = Members::new(getpid().as_raw_pid(), leader.as_raw_pid());
        Self {
            name: program.name(),
            program,
            leader,
            leader_started: started,
            mark,
            began,
            members: Mutex::new(members),
            state: Mutex::default(),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) const fn program(&self) -> &Program {
        &self.program
    }

    /// The process that was started, and its group.
    pub(super) const fn leader(&self) -> i32 {
        self.leader.as_raw_pid()
    }

    pub(super) fn exit(&self) -> Option<ChildExit> {
        self.state().exit.clone()
    }

    /// Whether the process that was started runs, also if its end has not been noticed yet.
    pub(super) fn is_running(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        matches!(waitid(WaitId::Pid(self.leader), options), Ok(None))
    }

    /// Waits until the process that was started has ended. Its number stays taken, so that no other process and no
    /// other group gets it.
    pub(super) fn wait(&self) -> ChildExit {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let how = loop {
            match waitid(WaitId::Pid(self.leader), options) {
                Err(rustix::io::Errno::INTR) => {}
                Ok(status) => break status.as_ref().and_then(How::of),
                Err(_) => break None,
            }
        };
        let after = now().saturating_duration_since(self.began);
        let mut state = self.state();
        let exit = ChildExit {
            name: self.name.clone(),
            how: how.unwrap_or(How::Unknown),
            after,
            reached: state.reached.clone(),
        };
        state.exit = Some(exit.clone());
        exit
    }

    /// The processes of the program that run.
    pub(super) fn living(&self) -> Vec<Process> {
        self.look().members
    }

    /// The same, and whether there are none but these. Those that have ended and have no other parent left are
    /// released.
    pub(super) fn look(&self) -> Found {
        let leader = self.leader();
        if !cfg!(target_os = "linux") {
            let members = self.leader_alone().into_iter().collect();
            let is_clear = true;
            return Found { members, is_clear };
        }
        let mut members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = members.find(&processes(), |process| self.mark_of(process));
        let me = getpid().as_raw_pid();
        let is_ours = |process: &Process| process.parent == me && process.id != leader;
        let ended = found.members.iter().filter(|process| process.has_ended);
        for process in ended.filter(|process| is_ours(process)) {
            if let Some(id) = Pid::from_raw(process.id) {
                let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
                let status = waitid(WaitId::Pid(id), options).ok().flatten();
                self.keep_result(process, status.as_ref().and_then(How::of));
            }
        }
        // Only now: a thread that finds a process released finds its result, too.
        drop(members);
        found.members.retain(|process| !process.has_ended);
        found
    }

    #[cfg(target_os = "linux")]
    fn keep_result(&self, process: &Process, how: Option<How>) {
        if let Some(how) = how {
            let results = &mut self.state().results;
            results.truncate(RESULTS_KEPT - 1);
            results.push_front((process.id, process.started, how));
        }
    }

    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::unused_self, reason = "as on Linux")]
    fn keep_result(&self, _: &Process, _: Option<How>) {}

    /// How a process ended that this process has released as its last parent.
    #[cfg(target_os = "linux")]
    pub(super) fn result(&self, process: &Process) -> Option<How> {
        drop(self.members.lock().unwrap_or_else(PoisonError::into_inner));
        let state = self.state();
        let mut results = state.results.iter();
        let found =
            results.find(|(id, started, _)| (*id, *started) == (process.id, process.started));
        found.map(|(_, _, how)| *how)
    }

    /// Where there is no list of processes.
    fn leader_alone(&self) -> Option<Process> {
        self.exit().is_none().then(|| Process {
            id: self.leader(),
            parent: getpid().as_raw_pid(),
            group: self.leader(),
            started: 0,
            has_ended: false,
            name: self.name.clone(),
        })
    }

    fn mark_of(&self, process: &Process) -> Mark {
        let Some(environment) = environment(process.id) else {
            return Mark::NotOurs;
        };
        let is_later = process.started >= self.leader_started;
        let marks = variable(&environment, MARK);
        // Of this process itself, if it is part of a program.
        let outer = std::env::var(MARK).ok();
        let is_claimed = self.program.claims == Claims::AllChildren
            && is_later
            && (marks.is_none() || marks == outer);
        let has_mark = |marks: &String| marks.split(SEPARATOR).any(|mark| mark == self.mark);
        if is_claimed || marks.as_ref().is_some_and(has_mark) {
            Mark::Ours
        } else if environment.is_empty() && is_later {
            // It has none, or is about to get it.
            Mark::Unclear
        } else {
            Mark::NotOurs
        }
    }

    /// Ends the program at once if it has reached a limit, also its daemons. Returns whether it has.
    pub(super) fn enforce_limits(&self) -> bool {
        if self.state().reached.is_none() {
            let program = &self.program;
            let Some(reached) = reached(program.limits, &program.stdout, &program.stderr) else {
                return false;
            };
            tracing::warn!("{} is ended, because {reached}", self.name);
            self.state().reached = Some(reached);
        }
        self.kill(&self.living());
        true
    }

    /// The limit that it has reached.
    pub(super) fn reached(&self) -> Option<Reached> {
        self.state().reached.clone()
    }

    /// Sends KILL to the group and to these.
    pub(super) fn kill(&self, living: &[Process]) {
        self.signal_group(Signal::KILL);
        for process in living {
            process.signal(Signal::KILL);
        }
    }

    /// The group is this program's as long as the process that was started has not been released. Where SIGCHLD is
    /// ignored, the system releases it by itself; then the members of the group are left to the search for processes.
    /// Returns whether the group was this program's.
    pub(super) fn signal_group(&self, signal: Signal) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        let is_held = waitid(WaitId::Pid(self.leader), options).is_ok();
        if is_held {
            // All of them may have ended.
            let _ = kill_process_group(self.leader, signal);
        }
        is_held
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
