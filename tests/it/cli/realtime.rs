//! `--realtime`: how the system schedules the player's thread.

use std::fs;
use std::path::Path;

use crate::support::network::{hearing, interrupt, start_player, summary};
use crate::support::patience::until;

/// The scheduling policy of a thread, by the number of the kernel: 0 is the usual one, 1 `SCHED_FIFO`.
fn policy(task: &Path) -> Option<u32> {
    let stat = fs::read_to_string(task.join("stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    // The first field after the name is the third one.
    fields.split_whitespace().nth(41 - 3)?.parse().ok()
}

/// The threads of a process whose policy is `SCHED_FIFO`.
fn in_real_time(pid: u32) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let paths = tasks.flatten().map(|task| task.path());
    let chosen = paths.filter(|task| policy(task) == Some(1));
    chosen
        .map(|task| fs::read_to_string(task.join("comm")).unwrap_or_default())
        .map(|name| name.trim_end().to_owned())
        .collect()
}

#[test]
fn the_player_alone_runs_in_real_time_or_the_log_says_why_not() {
    let may_run = std::process::Command::new("chrt")
        .args(["--fifo", "10", "true"])
        .output()
        .is_ok_and(|chrt| chrt.status.success());
    let mut child = start_player(&[
        "--realtime",
        "--start-paused",
        "--wire",
        "null",
        "--no-tui",
        "--format",
        "json",
    ]);
    let pid = child.id();
    if may_run {
        until("real time", || in_real_time(pid) == ["player"]);
    } else {
        hearing(&mut child)("the player may not run in real time");
        assert_eq!(in_real_time(pid), [""; 0]);
    }
    interrupt(&child);
    summary(child, 130);
}
