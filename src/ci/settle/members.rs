//! [`Processes`]: the processes that are looked at, and which threads they have.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::error::LookError;
use super::look::{MOST_THREADS, State, ThreadId};
use super::proc_file::{absent_is_none, read_whole};
use super::proc_text;

/// The most bytes that are read of a list of threads or processes: each has at most ten digits and a separator.
pub(super) const MOST_TEXT: usize = 64 * MOST_THREADS;

/// Which processes are looked at. This process is never one of them; for its threads see
/// [`ThreadSet::new`](super::ThreadSet::new).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Processes {
    /// The processes of a process group, by its number (PGID).
    Group(u32),
    /// These processes (PIDs), and what they start. A process whose parent ends before it was seen (a daemon) is not
    /// found: use a cgroup for such programs.
    Tree(Vec<u32>),
    /// As `Tree`, for processes that this process has started, and with daemons: the kernel makes daemons children of
    /// the first thread of this process, which has to be a child subreaper
    /// ([`Child::start`](crate::ci::child::Child::start) makes it one). All other children of that thread belong to the
    /// set, too.
    Started(Vec<u32>),
    /// The threads of a control group (version 2), by its folder, without groups below it.
    Cgroup(PathBuf),
}

/// The threads of a set, as they are listed now.
#[derive(Debug)]
pub(super) struct Lister {
    processes: Processes,
    /// The beginnings of the names of threads of this process that belong to the set.
    own_prefixes: Vec<Vec<u8>>,
    /// The file whose text changes with the set, and its last text: the threads of a cgroup, or the children of the
    /// first thread of this process.
    changes: Option<(File, Vec<u8>)>,
    text: Vec<u8>,
}

impl Lister {
    pub(super) fn new(processes: Processes, own_prefixes: &[&str]) -> Result<Self, LookError> {
        if !cfg!(target_os = "linux") {
            return Err(LookError::Unsupported);
        }
        let needs = [
            ("schedstat", "CONFIG_SCHED_INFO", true),
            ("children", "CONFIG_PROC_CHILDREN", !is_cgroup(&processes)),
        ];
        for (file, option, is_needed) in needs {
            if is_needed && !Path::new("/proc/thread-self").join(file).exists() {
                return Err(LookError::Kernel { file, option });
            }
        }
        if let Processes::Tree(roots) | Processes::Started(roots) = &processes
            && roots.contains(&own()?.process)
        {
            return Err(LookError::Own);
        }
        let changes = match changes_of(&processes)? {
            Some(path) => match File::open(&path) {
                Ok(file) => Some((file, Vec::new())),
                Err(error) => return Err(LookError::Read { path, error }),
            },
            None => None,
        };
        Ok(Self {
            processes,
            own_prefixes: own_prefixes
                .iter()
                .map(|prefix| prefix.as_bytes().to_vec())
                .collect(),
            changes,
            text: Vec::new(),
        })
    }

    /// Whether processes are found as children of others.
    pub(super) fn follows_children(&self) -> bool {
        !is_cgroup(&self.processes)
    }

    /// Whether the threads of the cgroup, or the children of this process, have changed since they were listed.
    pub(super) fn has_changed(&mut self) -> Result<bool, LookError> {
        let Some((file, last)) = &self.changes else {
            return Ok(false);
        };
        read_changes(file, &mut self.text, &self.processes)?;
        Ok(self.text != *last)
    }

    /// All threads that exist now. `known` are processes of the set that still exist.
    pub(super) fn list(&mut self, known: &[u32]) -> Result<BTreeSet<ThreadId>, LookError> {
        let me = own()?;
        let mut found = Found::default();
        if let Some((file, last)) = &mut self.changes {
            read_changes(file, last, &self.processes)?;
        }
        let listed = self.changes.as_ref().map_or(&[][..], |(_, last)| last);
        match &mut self.processes {
            Processes::Group(group) => {
                for process in numbers(Path::new("/proc"))? {
                    if process != me.process && group_of(process)? == Some(*group) {
                        found.add_all(process, &threads_of(process)?)?;
                    }
                }
            }
            Processes::Tree(roots) | Processes::Started(roots) => {
                // From here on they are known, as long as they exist: their numbers may be given to others.
                for root in std::mem::take(roots) {
                    if threads_of(root)?.is_empty() {
                        return Err(LookError::NoProcess(root));
                    }
                    found.add_tree(root, &mut self.text)?;
                }
                // The children of this process are none of the set.
                for &process in known.iter().filter(|process| **process != me.process) {
                    found.add_tree(process, &mut self.text)?;
                }
                for process in proc_text::ids(listed) {
                    found.add_tree(process, &mut self.text)?;
                }
            }
            Processes::Cgroup(_) => {
                for thread in proc_text::ids(listed) {
                    let process = process_of(thread)?.filter(|id| *id != me.process);
                    let stat = stat_of(thread)?.filter(|stat| stat.state != State::Ended);
                    if let (Some(process), Some(_)) = (process, stat) {
                        found.add(ThreadId { process, thread })?;
                    }
                }
            }
        }
        if !self.own_prefixes.is_empty() {
            let is_named = |name: Vec<u8>| {
                let mut prefixes = self.own_prefixes.iter();
                prefixes.any(|prefix| name.starts_with(prefix))
            };
            for thread in threads_of(me.process)? {
                let id = ThreadId { thread, ..me };
                if id != me && name_of(id)?.is_some_and(is_named) {
                    found.add(id)?;
                }
            }
        }
        Ok(found.threads)
    }
}

#[derive(Default)]
struct Found {
    threads: BTreeSet<ThreadId>,
    processes: BTreeSet<u32>,
}

impl Found {
    fn add(&mut self, thread: ThreadId) -> Result<(), LookError> {
        self.threads.insert(thread);
        if self.threads.len() > MOST_THREADS {
            return Err(LookError::TooManyThreads);
        }
        Ok(())
    }

    fn add_all(&mut self, process: u32, threads: &[u32]) -> Result<(), LookError> {
        let mut threads = threads.iter();
        threads.try_for_each(|&thread| self.add(ThreadId { process, thread }))
    }

    /// A process, and all that descend from it.
    fn add_tree(&mut self, root: u32, text: &mut Vec<u8>) -> Result<(), LookError> {
        let mut pending = vec![root];
        while let Some(process) = pending.pop() {
            if !self.processes.insert(process) {
                continue;
            }
            let threads = threads_of(process)?;
            self.add_all(process, &threads)?;
            for thread in threads {
                let path = path_of(ThreadId { process, thread }).join("children");
                if read_text(&path, text)?.is_some() {
                    pending.extend(proc_text::ids(text));
                }
            }
            if pending.len() > MOST_THREADS {
                return Err(LookError::TooManyThreads);
            }
        }
        Ok(())
    }
}

/// This thread, as `/proc` numbers it.
pub(super) fn own() -> Result<ThreadId, LookError> {
    let path = PathBuf::from("/proc/thread-self");
    let link = fs::read_link(&path);
    let numbers = link.map(|link| {
        let mut parts = link.iter().filter_map(|part| part.to_str()?.parse().ok());
        (parts.next(), parts.next())
    });
    match numbers {
        Ok((Some(process), Some(thread))) => Ok(ThreadId { process, thread }),
        Ok(_) => Err(LookError::Unsupported),
        Err(error) => Err(LookError::Read { path, error }),
    }
}

/// The name of a thread, at most 15 bytes. `None` if it has ended.
pub(super) fn name_of(thread: ThreadId) -> Result<Option<Vec<u8>>, LookError> {
    let mut name = Vec::new();
    let path = path_of(thread).join("comm");
    Ok(read_text(&path, &mut name)?.map(|()| name.trim_ascii_end().to_vec()))
}

fn is_cgroup(processes: &Processes) -> bool {
    matches!(processes, Processes::Cgroup(_))
}

/// The file whose text changes with the set, if there is one.
fn changes_of(processes: &Processes) -> Result<Option<PathBuf>, LookError> {
    Ok(match processes {
        Processes::Cgroup(folder) => Some(folder.join("cgroup.threads")),
        Processes::Started(_) => {
            let process = own()?.process;
            let first = ThreadId {
                process,
                thread: process,
            };
            Some(path_of(first).join("children"))
        }
        Processes::Group(_) | Processes::Tree(_) => None,
    })
}

fn path_of(ThreadId { process, thread }: ThreadId) -> PathBuf {
    format!("/proc/{process}/task/{thread}").into()
}

/// The threads of a process; none if it has ended, even if its parent has not asked for its result.
fn threads_of(process: u32) -> Result<Vec<u32>, LookError> {
    let threads = numbers(&Path::new("/proc").join(process.to_string()).join("task"))?;
    let has_ended =
        threads == [process] && stat_of(process)?.is_none_or(|stat| stat.state == State::Ended);
    Ok(if has_ended { Vec::new() } else { threads })
}

fn group_of(process: u32) -> Result<Option<u32>, LookError> {
    Ok(stat_of(process)?.map(|stat| stat.group))
}

fn stat_of(process: u32) -> Result<Option<proc_text::Stat>, LookError> {
    let mut text = Vec::new();
    let path = Path::new("/proc").join(process.to_string()).join("stat");
    Ok(read_text(&path, &mut text)?.and_then(|()| proc_text::stat(&text)))
}

fn process_of(thread: u32) -> Result<Option<u32>, LookError> {
    let mut text = Vec::new();
    let path = Path::new("/proc").join(thread.to_string()).join("status");
    Ok(read_text(&path, &mut text)?.and_then(|()| proc_text::process_of(&text)))
}

/// The entries of a folder that are numbers; none if the folder no longer exists.
fn numbers(folder: &Path) -> Result<Vec<u32>, LookError> {
    let read = || -> io::Result<Vec<u32>> {
        let mut numbers = Vec::new();
        for entry in fs::read_dir(folder)? {
            numbers.extend(
                entry?
                    .file_name()
                    .to_str()
                    .and_then(|name| name.parse::<u32>().ok()),
            );
        }
        Ok(numbers)
    };
    or_path(absent_is_none(read()), folder).map(Option::unwrap_or_default)
}

fn read_text(path: &Path, text: &mut Vec<u8>) -> Result<Option<()>, LookError> {
    let read = File::open(path).and_then(|file| read_whole(&file, text, MOST_TEXT));
    or_path(absent_is_none(read), path)
}

fn read_changes(file: &File, text: &mut Vec<u8>, processes: &Processes) -> Result<(), LookError> {
    match read_whole(file, text, MOST_TEXT) {
        Ok(()) => Ok(()),
        Err(error) => Err(LookError::Read {
            path: changes_of(processes)?.unwrap_or_default(),
            error,
        }),
    }
}

fn or_path<T>(read: io::Result<T>, path: &Path) -> Result<T, LookError> {
    read.map_err(|error| LookError::Read {
        path: path.to_path_buf(),
        error,
    })
}
