//! [`Child`]: a program under test that runs.

use std::process;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use rustix::process::Pid;

use super::ending::{ChildEnd, Ending};
use super::ends::exit::ChildExit;
use super::error::ChildError;
use super::limits::{Reached, reached};
use super::program::Program;
use super::registry::{Start, forget};
use super::tail::Tail;
use super::wall::now;
use super::watched::{MARK, Watched, marks, new_mark};

/// How often sizes are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How many looks pass before processes are looked for, too.
const LOOKS_PER_SEARCH: u32 = 10;
/// The grace of a program that is dropped.
const DROP_GRACE: Duration = Duration::from_secs(1);

/// A program that was started. Dropping it ends it, with a grace of one second.
#[derive(Debug)]
pub struct Child {
    watched: Arc<Watched>,
    process: process::Child,
    ended: Receiver<ChildExit>,
    /// Closing it ends the thread that looks at sizes.
    looking: Option<Sender<()>>,
    threads: Vec<JoinHandle<()>>,
    is_ended: bool,
}

impl Child {
    /// Starts a program. It gets a process group of its own, no standard input, and its files for its output.
    ///
    /// On Linux this process becomes the parent of all processes below it whose own parents have ended
    /// (`PR_SET_CHILD_SUBREAPER`), so that daemons can be found. Elsewhere only the group is ended.
    pub fn start(program: &Program) -> Result<Self, ChildError> {
        #[cfg(target_os = "linux")]
        if let Err(error) = rustix::process::set_child_subreaper(Some(rustix::process::getpid())) {
            tracing::warn!("daemons that the program starts will not be found: {error}");
        }
        let mut command = program.to_command()?;
        let (limits, stdout, stderr) = (program.limits, &program.stdout, &program.stderr);
        if let Some(Reached::Disk { folder, free, .. }) = reached(limits, stdout, stderr) {
            return Err(ChildError::Disk { folder, free });
        }
        let mark = new_mark();
        command.env(MARK, marks(&mark));
        let start = Start::begin();
        let process = command.spawn().map_err(|error| program.refused(error))?;
        let id = process.id().cast_signed();
        let leader = Pid::from_raw(id).expect("a process has a number above zero");
        let watched = Arc::new(Watched::new(program.clone(), leader, mark, now()));
        start.done(&watched);
        let (sender, ended) = bounded(1);
        let (looking, stop) = bounded(0);
        let mut child = Self {
            watched,
            process,
            ended,
            looking: Some(looking),
            threads: Vec::new(),
            is_ended: false,
        };
        let watched = Arc::clone(&child.watched);
        child.spawn("child-exit", move || {
            // There is room for the only one.
            drop(sender.try_send(watched.wait()));
        })?;
        let watched = Arc::clone(&child.watched);
        child.spawn("child-limits", move || look(&watched, &stop))?;
        Ok(child)
    }

    fn spawn(&mut self, name: &str, run: impl FnOnce() + Send + 'static) -> Result<(), ChildError> {
        let thread = thread::Builder::new().name(name.to_owned()).spawn(run);
        let thread = thread.map_err(|source| ChildError::Start {
            program: self.watched.name().to_owned(),
            source,
        })?;
        self.threads.push(thread);
        Ok(())
    }

    #[cfg(target_os = "linux")]
    pub(super) const fn watched(&self) -> &Arc<Watched> {
        &self.watched
    }

    /// Its number (PID), which is also that of its group.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.watched.name()
    }

    /// Gets its end when it has ended, whenever that is: one value. After it the channel is closed.
    pub const fn ended(&self) -> &Receiver<ChildExit> {
        &self.ended
    }

    /// Its end, if it has ended.
    pub fn exit(&self) -> Option<ChildExit> {
        self.watched.exit()
    }

    /// The limit that it or a daemon of it has reached. It is ended then.
    pub fn reached(&self) -> Option<Reached> {
        self.watched.reached()
    }

    /// The last lines that it wrote, at most so many of each file.
    pub fn tail(&self, lines: usize) -> Tail {
        Tail::of(self.watched.program(), lines)
    }

    /// Ends it and everything that it started: TERM, and KILL to what is left after the grace. Returns when no process
    /// is left, ten seconds after the grace at the latest.
    pub fn end(mut self, grace: Duration) -> ChildEnd {
        self.finish(grace)
    }

    fn finish(&mut self, grace: Duration) -> ChildEnd {
        self.is_ended = true;
        // From here on daemons are killed for their output by nobody else.
        self.looking = None;
        let mut end = Ending::new(&self.watched).run(grace);
        let is_leader_left = end.left.iter().any(|left| left.id == self.process.id());
        if !is_leader_left {
            for thread in self.threads.drain(..) {
                // A thread has reported its panic itself.
                drop(thread.join());
            }
            // Only now may others get its number.
            forget(&self.watched);
            drop(self.process.wait());
        }
        end.exit = self.watched.exit();
        end
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.is_ended {
            let end = self.finish(DROP_GRACE);
            for note in end.notes() {
                tracing::warn!("{note}");
            }
        }
    }
}

/// Watches the sizes of the files, and remembers the processes, until told to stop.
fn look(watched: &Watched, stop: &Receiver<()>) {
    let mut looks = 0_u32;
    while stop.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
        let is_reached = watched.enforce_limits();
        looks = (looks + 1) % LOOKS_PER_SEARCH;
        if looks == 0 && !is_reached {
            watched.living();
        }
    }
}
