//! The processes of this machine, as `/proc` lists them. Elsewhere than on Linux there is no list.

#[cfg(target_os = "linux")]
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Read as _;
#[cfg(target_os = "linux")]
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

#[cfg(target_os = "linux")]
use rustix::process::{Pid, PidfdFlags, pidfd_open, pidfd_send_signal};
use rustix::process::{Signal, getpid};

#[cfg(target_os = "linux")]
use crate::ci::child::program::shown_name;
use crate::untrusted::Foreign;

/// The most bytes that are read of one file of `/proc`: as much as the environment of a process may have.
const MOST_BYTES: u64 = 4 << 20;

/// A process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::ci::child) struct Process {
    pub(in crate::ci::child) id: i32,
    pub(in crate::ci::child) parent: i32,
    pub(in crate::ci::child) group: i32,
    /// When it was started, in ticks since the machine was: with `id`, unlike any other process.
    pub(in crate::ci::child) started: u64,
    /// It has ended, and its parent has not asked for its result.
    pub(in crate::ci::child) has_ended: bool,
    /// Its name, at most 15 bytes, escaped.
    pub(in crate::ci::child) name: String,
}

impl Process {
    /// Sends it a signal, and not to another process that has its number by now.
    #[cfg(target_os = "linux")]
    pub(in crate::ci::child) fn signal(&self, signal: Signal) {
        if let Some(id) = Pid::from_raw(self.id)
            && let Ok(handle) = pidfd_open(id, PidfdFlags::empty())
            && process(self.id).is_some_and(|now| now.started == self.started)
        {
            // It may have ended.
            let _ = pidfd_send_signal(handle, signal);
        }
    }

    /// Without a list there are no processes but the one that leads the group.
    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::unused_self, reason = "as on Linux")]
    pub(in crate::ci::child) fn signal(&self, _: Signal) {}
}

/// All processes that this one can see.
pub(in crate::ci::child) fn processes() -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter_map(process).collect()
}

/// Kills the children of this process that execute the same program and are not among these: those that are about to
/// execute another one.
pub(in crate::ci::child) fn kill_copies_of_this(others: &[i32]) {
    let program = |id: &str| fs::read_link(Path::new("/proc").join(id).join("exe")).ok();
    let (me, mine) = (getpid().as_raw_pid(), program("self"));
    let is_copy = |process: &Process| {
        process.parent == me
            && !others.contains(&process.id)
            && mine.is_some()
            && program(&process.id.to_string()) == mine
    };
    for process in processes().iter().filter(|process| is_copy(process)) {
        process.signal(Signal::KILL);
    }
}

/// A process; `None` if there is none with this number.
pub(in crate::ci::child) fn process(id: i32) -> Option<Process> {
    parse(&read(id, "stat")?)
}

/// Whether a process that some process still waits for has ended. Elsewhere than on Linux that is not known: `false`.
pub fn has_ended(id: u32) -> bool {
    let process = process(id.cast_signed());
    cfg!(target_os = "linux") && process.is_none_or(|process| process.has_ended)
}

/// The environment with which a process began; `None` if it is another user's, or has ended. Empty for a moment while
/// the process executes another program.
pub(in crate::ci::child) fn environment(id: i32) -> Option<Vec<u8>> {
    read(id, "environ")
}

/// The value of a variable in an environment.
pub(in crate::ci::child) fn variable(environment: &[u8], name: &str) -> Option<String> {
    let mut pairs = environment.split(|byte| *byte == 0);
    let value = pairs.find_map(|pair| pair.strip_prefix(name.as_bytes())?.strip_prefix(b"="));
    value.map(|value| String::from_utf8_lossy(value).into_owned())
}

/// The processes of a control group, by its folder.
#[cfg(target_os = "linux")]
pub(in crate::ci::child) fn processes_of_cgroup(folder: &Path) -> Vec<Process> {
    let mut text = Vec::new();
    let file = File::open(folder.join("cgroup.procs"));
    // A group that cannot be read has no processes here; settling or playing reports the error.
    let _ = file.and_then(|file| file.take(MOST_BYTES).read_to_end(&mut text));
    let lines = text.split(|byte| *byte == b'\n');
    let ids = lines.filter_map(|line| std::str::from_utf8(line).ok()?.parse().ok());
    ids.filter_map(process).collect()
}

/// The name of the program that a process executes, as [`shown_name`] has it; `None` if it has ended.
#[cfg(target_os = "linux")]
pub(in crate::ci::child) fn name_of(id: i32) -> Option<String> {
    let line = read(id, "cmdline")?;
    let words = line.split(|byte| *byte == 0);
    let words: Vec<OsString> = words
        .filter(|word| !word.is_empty())
        .map(|word| OsStr::from_bytes(word).to_owned())
        .collect();
    Some(shown_name(&words)).filter(|name| !name.is_empty())
}

fn read(id: i32, file: &str) -> Option<Vec<u8>> {
    let path: PathBuf = Path::new("/proc").join(id.to_string()).join(file);
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// A line of `stat`. The second field is a name in brackets, which may hold spaces and brackets itself.
pub(in crate::ci::child) fn parse(stat: &[u8]) -> Option<Process> {
    let open = stat.iter().position(|byte| *byte == b'(')?;
    let close = stat.iter().rposition(|byte| *byte == b')')?;
    let id = std::str::from_utf8(stat.get(..open)?).ok()?;
    let fields = std::str::from_utf8(stat.get(close + 1..)?).ok()?;
    let mut fields = fields.split_ascii_whitespace();
    Some(Process {
        id: id.trim().parse().ok()?,
        has_ended: matches!(fields.next()?, "Z" | "X" | "x"),
        parent: fields.next()?.parse().ok()?,
        group: fields.next()?.parse().ok()?,
        // The 22nd of all fields.
        started: fields.nth(16)?.parse().ok()?,
        name: Foreign::bytes(stat.get(open + 1..close)?).to_string(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_of_a_real_system_is_read() {
        let line = b"30558 (a) R) (b) S 30550 30549 14659 0 -1 4194304 2850 0 3 0 1 2 3 4 20 0 1 0 987654 11 22 33";
        let process = parse(line).unwrap();
        let Process {
            id,
            parent,
            group,
            started,
            has_ended,
            name,
        } = process;
        assert_eq!(
            (id, parent, group, started),
            (30_558, 30_550, 30_549, 987_654)
        );
        assert_eq!((has_ended, name.as_str()), (false, "a) R) (b"));
        assert_eq!(
            parse(b"1 (x\x1b) Z 0 1 1 0 -1 0 0 0 0 0 0 0 0 0 0 0 0 0 5")
                .unwrap()
                .name,
            "x\\u{1b}"
        );
        assert_eq!(parse(b") ("), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_is_in_the_list_with_its_environment() {
        let me = rustix::process::getpid().as_raw_pid();
        let listed = processes();
        assert!(
            listed
                .iter()
                .any(|process| process.id == me && !process.has_ended)
        );
        let path = std::env::var_os("PATH").unwrap();
        let environment = environment(me).unwrap();
        assert_eq!(variable(&environment, "PATH").as_deref(), path.to_str());
        assert_eq!(variable(&environment, "PAT"), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in proptest::collection::vec(any::<u8>(), 0..80)) {
            prop_assert!(parse(&text).is_none_or(|process| process.id.to_string().len() <= text.len()));
        }
    }
}
