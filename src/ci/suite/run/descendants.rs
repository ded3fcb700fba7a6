//! [`kill_tree`]: ends a process with everything that it has started.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

/// The most processes that are ended.
const MOST: usize = 10_000;

/// Sends KILL to a child of this process that was not waited for and, on Linux, to all its descendants. Descendants
/// that have left the tree because their parents ended are not found.
pub(super) fn kill_tree(root: Pid) {
    let mut all = vec![root];
    let mut at = 0;
    while let Some(pid) = all.get(at).copied().filter(|_| all.len() < MOST) {
        // Stopped first, so that it starts no further process.
        let _ = kill_process(pid, Signal::STOP);
        all.extend(children(pid));
        at += 1;
    }
    for pid in all {
        // It may have ended meanwhile.
        let _ = kill_process(pid, Signal::KILL);
    }
}

fn children(pid: Pid) -> Vec<Pid> {
    let pid = pid.as_raw_nonzero();
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    let of_thread = |thread: fs::DirEntry| fs::read_to_string(thread.path().join("children")).ok();
    let lists: Vec<String> = threads.flatten().filter_map(of_thread).collect();
    let numbers = lists.iter().flat_map(|list| list.split_whitespace());
    let pids = numbers.filter_map(|number| number.parse().ok().and_then(Pid::from_raw));
    pids.collect()
}
