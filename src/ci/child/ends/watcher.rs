//! [`Watcher`]: the thread that waits for the ends of processes.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use crossbeam_channel::Sender;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::process::{Resource, getrlimit};

use super::exit::How;
use super::handle::Handle;
use super::process_end::{Meaning, ProcessEnd};
use super::whose::Whose;
use crate::ci::child::processes::list::{Process, name_of, processes, processes_of_cgroup};
use crate::ci::child::watched::Watched;
use crate::time::{Ros, Time};

/// The longest time between two looks for new processes.
const LOOK_EVERY: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};
/// The part of the files that this process may have open which are used at most: one of eight.
const PART_OF_FILES: u64 = 8;

/// A thread that waits until it is dropped.
#[derive(Debug)]
pub(super) struct Watcher {
    /// Readable when it is to end.
    end: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Watcher {
    pub(super) fn start<'a>(
        whose: impl IntoIterator<Item = Whose<'a>>,
        at: impl Fn() -> Time<Ros> + Send + 'static,
        tell: Sender<ProcessEnd>,
    ) -> io::Result<Self> {
        let end = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let source = |whose| match whose {
            Whose::Child(child) => Source::Child(Arc::clone(child.watched())),
            Whose::Trees(roots) => Source::Trees(roots.into_iter().map(u32::cast_signed).collect()),
            Whose::Cgroup(folder) => Source::Cgroup(folder),
        };
        let mut waiting = Waiting {
            sources: whose.into_iter().map(source).collect(),
            processes: BTreeMap::new(),
            files_left: getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX) / PART_OF_FILES,
            tell,
        };
        // Here, so that what ends right after the call was there.
        waiting.look(true);
        let stop = Arc::clone(&end);
        let thread = thread::Builder::new().name("process-ends".to_owned());
        let thread = thread.spawn(move || waiting.run(&stop, at))?;
        Ok(Self {
            end,
            thread: Some(thread),
        })
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        // It cannot be full: this is the only write.
        let _ = rustix::io::write(&self.end, &1_u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            // A panic there has been reported.
            let _ = thread.join();
        }
    }
}

#[derive(Debug)]
enum Source {
    Child(Arc<Watched>),
    Trees(Vec<i32>),
    Cgroup(PathBuf),
}

impl Source {
    fn processes(&self) -> Vec<Process> {
        let mut found = match self {
            Self::Child(watched) => {
                let mut members = watched.living();
                members.retain(|process| process.id != watched.leader());
                members
            }
            Self::Trees(roots) => below(&processes(), roots),
            Self::Cgroup(folder) => processes_of_cgroup(folder),
        };
        found.retain(|process| !process.has_ended);
        found
    }

    /// What this process itself was told, as the parent of orphans.
    fn told(&self, process: &Process) -> Option<How> {
        match self {
            Self::Child(watched) => watched.result(process),
            Self::Trees(_) | Self::Cgroup(_) => None,
        }
    }

    /// Whether its processes are ended by this process because it has written too much.
    fn is_being_ended(&self) -> bool {
        matches!(self, Self::Child(watched) if watched.reached().is_some())
    }
}

/// The roots that run, and all that descend from them.
fn below(list: &[Process], roots: &[i32]) -> Vec<Process> {
    let is_root = |process: &&Process| roots.contains(&process.id);
    let mut found: Vec<Process> = list.iter().filter(is_root).cloned().collect();
    let mut next = 0;
    while let Some(parent) = found.get(next).map(|process| process.id) {
        let children = list.iter().filter(|process| process.parent == parent);
        let is_new = |process: &&Process| found.iter().all(|known| known.id != process.id);
        let new: Vec<Process> = children.filter(is_new).cloned().collect();
        found.extend(new);
        next += 1;
    }
    found
}

#[derive(Debug)]
struct Known {
    process: Process,
    /// The name of the program, which its `comm` cannot tell: that is `python3` for all nodes in Python.
    name: String,
    was_there: bool,
    handle: Handle,
}

#[derive(Debug)]
struct Waiting {
    sources: Vec<Source>,
    processes: BTreeMap<(i32, u64), Known>,
    files_left: u64,
    tell: Sender<ProcessEnd>,
}

impl Waiting {
    fn run(mut self, end: &OwnedFd, at: impl Fn() -> Time<Ros>) {
        let mut is_over = false;
        while !is_over {
            is_over = self.wait(end);
            let mut ends = self.take_ended(&at);
            // A launcher may have ended because of one that was ended by a signal: that one first.
            ends.sort_by_key(|end| !matches!(end.how, Some(How::Signal(_))));
            if !is_over {
                self.look(false);
            }
            for end in ends {
                drop(self.tell.try_send(end));
            }
        }
    }

    /// Adds the processes that are new.
    fn look(&mut self, was_there: bool) {
        let found = self.sources.iter().flat_map(Source::processes);
        for process in found.collect::<Vec<_>>() {
            let key = (process.id, process.started);
            if self.processes.contains_key(&key) {
                continue;
            }
            let Some(handle) = Handle::open(&process) else {
                continue;
            };
            let files = handle.files();
            if files > self.files_left {
                tracing::debug!("process {} is not watched: too many files", process.id);
                continue;
            }
            self.files_left -= files;
            let known = Known {
                name: name_of(process.id).unwrap_or_else(|| process.name.clone()),
                process,
                was_there,
                handle,
            };
            self.processes.insert(key, known);
        }
    }

    /// Waits until something has ended, or a look is due. Returns whether this thread is to end.
    fn wait(&mut self, end: &OwnedFd) -> bool {
        let mut waited = vec![PollFd::from_borrowed_fd(end.as_fd(), PollFlags::IN)];
        for known in self.processes.values() {
            let threads = known.handle.threads();
            waited.extend(threads.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        }
        let processes = self.processes.values().map(|known| known.handle.process());
        waited.extend(processes.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        // An interruption, or too little memory: the next look is a little earlier.
        let _ = poll(&mut waited, Some(&LOOK_EVERY));
        let mut ready = waited.iter().map(|one| !one.revents().is_empty());
        let is_over = ready.next().unwrap_or(false);
        let ready: Vec<bool> = ready.collect();
        drop(waited);
        let mut from = 0;
        for known in self.processes.values_mut() {
            let to = from + known.handle.threads().count();
            let ended: Vec<usize> = (0..to - from).filter(|at| ready[from + at]).collect();
            if !ended.is_empty() {
                self.files_left += u64::try_from(ended.len()).unwrap_or(0);
                known.handle.threads_have_ended(&ended);
            }
            from = to;
        }
        is_over
    }

    /// Takes out the processes that have ended, and says how as far as that means something.
    fn take_ended(&mut self, at: &impl Fn() -> Time<Ros>) -> Vec<ProcessEnd> {
        let ended = |(key, known): (&(i32, u64), &Known)| known.handle.has_ended().then_some(*key);
        let ended: Vec<_> = self.processes.iter().filter_map(ended).collect();
        let ended: Vec<Known> = ended
            .iter()
            .filter_map(|key| self.processes.remove(key))
            .collect();
        let mut ends = Vec::new();
        for known in ended {
            let how = known.handle.how();
            let told = || self.sources.iter().find_map(|it| it.told(&known.process));
            let how = how.or_else(told);
            self.files_left += known.handle.files();
            let end = ProcessEnd {
                id: known.process.id.unsigned_abs(),
                name: known.name,
                how,
                at: at(),
                was_there: known.was_there,
            };
            if end.meaning() != Meaning::Nothing && !self.sources.iter().any(Source::is_being_ended)
            {
                ends.push(end);
            }
        }
        ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_and_what_descends_from_them_are_watched() {
        let process = |id, parent| Process {
            id,
            parent,
            group: id,
            started: 1,
            has_ended: false,
            name: String::new(),
        };
        let list = [(4, 3), (3, 2), (2, 1), (5, 1), (6, 5), (1, 6)].map(|(id, up)| process(id, up));
        let found =
            |roots: &[i32]| -> Vec<i32> { below(&list, roots).iter().map(|one| one.id).collect() };
        assert_eq!(found(&[3, 6, 9]), [3, 6, 4, 1, 2, 5]);
        assert_eq!(found(&[4]), [4]);
    }
}
