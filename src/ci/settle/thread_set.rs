//! [`ThreadSet`]: the threads of some processes, and the looks at them.

use std::time::{Duration, Instant};

use super::error::LookError;
use super::look::{How, Look, Named, Ran, Seen, State, ThreadId};
use super::machine::Machine;
use super::members::{self, Lister, MOST_TEXT, Processes};
use super::proc_file::Keep;
use super::settling::Settling;
use super::watched::{Gone, Process, Thread};

/// Looks at the threads of some processes.
///
/// The files of a thread are opened once and then read again and again; if a look finds that threads or processes have
/// come or gone, they are listed again. A look allocates nothing unless that is so. At most half of the files that the
/// system allows this process are kept open (five for each thread); beyond that they are opened for each look.
#[derive(Debug)]
pub struct ThreadSet {
    machine: Machine,
    lister: Lister,
    keep: Keep,
    processes: Vec<Process>,
    threads: Vec<Thread>,
    /// One for each thread.
    seen: Vec<Seen>,
    gone: Vec<Gone>,
    /// A thread has ended since they were listed.
    is_stale: bool,
    origin: Instant,
    children: Vec<u8>,
}

impl ThreadSet {
    /// The threads of `processes`, and the threads of this process whose names begin with one of `own_prefixes`: those
    /// that send (zenoh's begin with `tx-`). Before they have written, a receiver cannot have been woken. The calling
    /// thread is not one of them. Threads of this process that get such a name later may be missed: open the session
    /// first.
    pub fn new(processes: Processes, own_prefixes: &[&str]) -> Result<Self, LookError> {
        let group = match &processes {
            Processes::Group(group) => Some(*group),
            _ => None,
        };
        let mut set = Self {
            machine: Machine::open(),
            lister: Lister::new(processes, own_prefixes)?,
            keep: Keep::new(),
            processes: Vec::new(),
            threads: Vec::new(),
            seen: Vec::new(),
            gone: Vec::new(),
            is_stale: false,
            origin: now(),
            children: Vec::new(),
        };
        set.list()?;
        let me = members::own()?.process;
        match group {
            Some(group) if set.processes.iter().all(|process| process.id == me) => {
                Err(LookError::NoGroup(group))
            }
            _ => Ok(set),
        }
    }

    /// How many threads there were at the last look.
    pub fn len(&self) -> usize {
        self.threads.len()
    }

    /// Whether all processes have ended.
    pub fn is_empty(&self) -> bool {
        self.threads.is_empty()
    }

    /// The time since the set was made: the clock of its looks.
    pub fn now(&self) -> Duration {
        self.origin.elapsed()
    }

    /// Whether no other thread of the machine runs or is runnable. False if the kernel does not report this.
    pub(super) fn is_machine_idle(&self) -> bool {
        self.machine.is_idle()
    }

    /// The processes that have ended since the last call.
    pub fn take_gone(&mut self) -> Vec<Gone> {
        std::mem::take(&mut self.gone)
    }

    /// Whether this process may know of every thread where it stands. If not, a thread that sleeps in a callback looks
    /// settled. The system tells it of processes that this process has started, and of others of the same user unless
    /// that is restricted (`kernel.yama.ptrace_scope`).
    pub fn sees_sleeps(&self) -> Result<bool, LookError> {
        for thread in &self.threads {
            if thread.sleeps()? == (None, false) && thread.state()? != State::Ended {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The processes that are stopped, by a signal or by a debugger: a thread of each.
    pub fn stopped(&self) -> Result<Vec<Named>, LookError> {
        let mut stopped: Vec<Named> = Vec::new();
        for thread in &self.threads {
            let is_known = |known: &Named| known.id.process == thread.id.process;
            if !stopped.iter().any(is_known) && thread.state()? == State::Stopped {
                stopped.push(self.name(thread.id));
            }
        }
        Ok(stopped)
    }

    /// The names of a thread, as they are now if it still exists.
    pub fn name(&self, id: ThreadId) -> Named {
        let current = |thread, last: Option<&String>| {
            let name = members::name_of(ThreadId { thread, ..id }).ok().flatten();
            let name = name.map(|name| String::from_utf8_lossy(&name).into_owned());
            name.or_else(|| last.cloned()).unwrap_or_default()
        };
        let thread = self.threads.iter().find(|thread| thread.id == id);
        let process = self.processes.iter().find(|known| known.id == id.process);
        Named {
            id,
            thread: current(id.thread, thread.map(|thread| &thread.name)),
            process: current(id.process, process.map(|process| &process.name)),
        }
    }

    /// Reads what `how` says. `settling` tells of which threads a proof has to read where they stand.
    pub fn look(&mut self, how: How, settling: &Settling) -> Result<Look<'_>, LookError> {
        let began = self.now();
        for seen in &mut self.seen {
            (seen.state, seen.sleeps) = (None, None);
        }
        let is_new_list = match how {
            How::Ran => self.is_stale,
            How::Proof => self.is_stale || self.has_changed()?,
            How::Suspect(_) => false,
        };
        if is_new_list {
            self.list()?;
        }
        let mut range = 0..self.threads.len();
        match how {
            How::Ran => self.read_ran()?,
            How::Proof => {
                self.read_states(settling)?;
                self.read_ran()?;
            }
            How::Suspect(id) => {
                let index = self.threads.iter().position(|thread| thread.id == id);
                range = index.map_or(0..0, |index| index..index + 1);
                if let Some(index) = index {
                    let (seen, thread) = (&mut self.seen[index], &self.threads[index]);
                    thread.read_state(seen)?;
                    if !is_busy(seen.state) {
                        thread.read_place(seen)?;
                    }
                    self.is_stale |= seen.state == Some(State::Ended);
                }
            }
        }
        Ok(Look {
            how,
            began,
            ended: self.now(),
            is_idle: self.machine.is_idle(),
            is_new_list,
            threads: &self.seen[range],
        })
    }

    /// A look for [`Settling::mark`]: how much all threads have run, and where those stand of which it
    /// [asks](Settling::asks_where).
    pub fn look_for_mark(&mut self, settling: &Settling) -> Result<Look<'_>, LookError> {
        let Look {
            began, is_new_list, ..
        } = self.look(How::Ran, settling)?;
        for (index, (seen, thread)) in self.seen.iter_mut().zip(&self.threads).enumerate() {
            if settling.asks_where(index, seen.thread, seen.ran) {
                thread.read_place(seen)?;
            }
        }
        Ok(Look {
            how: How::Ran,
            began,
            ended: self.now(),
            is_idle: false,
            is_new_list,
            threads: &self.seen,
        })
    }

    fn read_ran(&mut self) -> Result<(), LookError> {
        for (seen, thread) in self.seen.iter_mut().zip(&mut self.threads) {
            let before = seen.ran;
            let ran = thread.ran()?;
            let has_ended = ran.is_none() || (self.is_stale && seen.state == Some(State::Ended));
            self.is_stale |= has_ended;
            // Of a thread that has ended not what it was before: it has run to its end.
            let at_the_end = Ran {
                nanos: u64::MAX,
                slices: u64::MAX,
            };
            seen.ran = ran.filter(|_| !has_ended).unwrap_or(at_the_end);
            if seen.state.is_some() {
                thread.keep_wait(before, seen);
            }
        }
        Ok(())
    }

    /// Reads until a thread is found that is not settled: the others do not matter then.
    fn read_states(&mut self, settling: &Settling) -> Result<(), LookError> {
        for (seen, thread) in self.seen.iter_mut().zip(&self.threads) {
            thread.read_state_again(seen)?;
            if is_busy(seen.state) {
                return Ok(());
            }
            let is_first = seen.thread.process == seen.thread.thread;
            if seen.state == Some(State::Ended) && is_first {
                // The whole process has ended, unless it has other threads.
                let process = seen.thread.process;
                let process = self.processes.iter().find(|known| known.id == process);
                self.is_stale |= process.is_none_or(|process| process.links <= 3);
            }
        }
        for (index, (seen, thread)) in self.seen.iter_mut().zip(&self.threads).enumerate() {
            if settling.has_run(index, seen.thread, seen.ran) {
                thread.read_place(seen)?;
                if is_busy(seen.state) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Whether threads or processes have come or gone since they were listed.
    fn has_changed(&mut self) -> Result<bool, LookError> {
        for process in self.processes.iter().filter(|process| process.links > 0) {
            if process.folder.links()? != Some(process.links) {
                return Ok(true);
            }
        }
        for (thread, seen) in self.threads.iter_mut().zip(&self.seen) {
            if let Some(children) = &thread.children
                && thread.had_children_at != Some(seen.ran)
            {
                let read = children.read_all(&mut self.children, MOST_TEXT)?;
                if read.is_none() || self.children != thread.had_children {
                    return Ok(true);
                }
                thread.had_children_at = Some(seen.ran);
            }
        }
        self.lister.has_changed()
    }

    /// Lists the threads again. What might change meanwhile is read before, so that a later look finds it changed.
    fn list(&mut self) -> Result<(), LookError> {
        self.is_stale = false;
        for thread in &mut self.threads {
            if let Some(children) = &thread.children {
                children.read_all(&mut thread.had_children, MOST_TEXT)?;
                thread.had_children_at = None;
            }
        }
        let mut alive = Vec::with_capacity(self.processes.len());
        for process in &mut self.processes {
            process.links = process.folder.links()?.unwrap_or(0);
            // A folder has two links of its own. Without others the process has ended, and its number may be given to
            // another one.
            if process.links > 2 {
                alive.push(process.id);
            }
        }
        let listed = self.lister.list(&alive)?;

        let mut before = std::mem::take(&mut self.threads).into_iter().peekable();
        for id in listed {
            while let Some(thread) = before.next_if(|thread| thread.id < id) {
                thread.close(&mut self.keep);
            }
            if let Some(thread) = before.next_if(|thread| thread.id == id) {
                if thread.ran()?.is_some() {
                    self.threads.push(thread);
                    continue;
                }
                thread.close(&mut self.keep);
            }
            let follows_children = self.lister.follows_children();
            self.threads
                .extend(Thread::open(id, follows_children, &mut self.keep)?);
        }
        before.for_each(|thread| thread.close(&mut self.keep));
        self.seen.clear();
        self.seen.extend(self.threads.iter().map(|thread| Seen {
            thread: thread.id,
            ran: Ran::default(),
            state: None,
            sleeps: None,
        }));
        self.list_processes(&alive)
    }

    fn list_processes(&mut self, alive: &[u32]) -> Result<(), LookError> {
        let (own, has_whole) = (members::own()?.process, self.lister.follows_children());
        let mut before = std::mem::take(&mut self.processes);
        // Threads are in the order of their processes.
        for threads in self.threads.chunk_by(|a, b| a.id.process == b.id.process) {
            let id = threads[0].id.process;
            let known = before
                .iter()
                .position(|known| known.id == id && alive.contains(&id));
            let process = match known {
                Some(index) => Some(before.swap_remove(index)),
                None => Process::open(id, &mut self.keep)?,
            };
            self.processes.extend(process.map(|mut process| {
                if id == own {
                    // Not all of its threads are in the set: it is enough that their number stays. If it was not read
                    // before they were listed, they are listed once more.
                    process.links = process.links.max(1);
                } else if has_whole {
                    process.links = 2 + threads.len() as u64;
                } else {
                    // The cgroup tells.
                    process.links = 0;
                }
                process
            }));
        }
        for process in before {
            self.gone.extend(process.close(&mut self.keep)?);
        }
        Ok(())
    }
}

/// Whether this state alone says that the thread is not settled.
fn is_busy(state: Option<State>) -> bool {
    matches!(
        state,
        Some(State::Runs | State::WaitsForDevice | State::Stopped)
    )
}

#[expect(
    clippy::disallowed_methods,
    reason = "looks are made in wall time, and their rule gets it as an argument"
)]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a process that may have few files open at once.
    #[cfg(target_os = "linux")]
    #[test]
    fn files_that_may_not_be_kept_open_are_opened_for_each_look() {
        let mut child = std::process::Command::new("sleep")
            .arg("100")
            .spawn()
            .unwrap();
        let mut set = ThreadSet::new(Processes::Tree(vec![child.id()]), &[]).unwrap();
        let mut settling = Settling::new();
        settling.mark(&set.look_for_mark(&settling).unwrap());
        for thread in std::mem::take(&mut set.threads) {
            thread.close(&mut set.keep);
        }
        let all = std::mem::replace(&mut set.keep, Keep::none());
        let kept = |set: &ThreadSet| set.threads.iter().all(Thread::is_kept);
        for (keep, is_kept) in [(Keep::none(), false), (all, true)] {
            set.keep = keep;
            set.threads.clear();
            set.list().unwrap();
            assert_eq!(kept(&set), is_kept);
            let look = set.look(How::Proof, &settling).unwrap();
            let [seen] = look.threads else {
                panic!("{look:?}");
            };
            assert!(seen.ran.slices > 0, "{seen:?}");
            // It may still be starting: it runs then, or waits for a device.
            assert!(seen.state.is_some(), "{seen:?}");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        set.look(How::Proof, &settling).unwrap();
        set.look(How::Proof, &settling).unwrap();
        assert!(set.is_empty());
    }

    /// What a thread does is read from another file while it has not run.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_thread_that_has_not_run_since_a_proof_is_seen_as_before_and_then_as_it_changes() {
        use rustix::process::{Pid, Signal, kill_process};

        let mut child = std::process::Command::new("sleep")
            .arg("100")
            .spawn()
            .unwrap();
        let pid = Pid::from_child(&child);
        let mut set = ThreadSet::new(Processes::Tree(vec![child.id()]), &[]).unwrap();
        let settling = Settling::new();
        let mut until = |state| {
            loop {
                let look = set.look(How::Proof, &settling).unwrap();
                match look.threads.first() {
                    Some(seen) if seen.state == Some(state) => return *seen,
                    seen => assert!(look.ended < Duration::from_secs(60), "{seen:?}"),
                }
            }
        };
        let first = until(State::Waits);
        for _ in 0..3 {
            assert_eq!(until(State::Waits), first);
        }
        kill_process(pid, Signal::STOP).unwrap();
        until(State::Stopped);
        kill_process(pid, Signal::CONT).unwrap();
        until(State::Waits);
        child.kill().unwrap();
        until(State::Ended);
        child.wait().unwrap();
    }
}
