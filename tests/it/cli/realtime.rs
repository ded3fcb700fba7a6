//! `--realtime`: how the system schedules the player's thread, and whether processors sleep.

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

#[test]
fn processors_are_kept_awake_while_messages_are_due_or_the_log_says_why_not() {
    const REQUESTS: &str = "/dev/cpu_dma_latency";
    let is_permitted = fs::File::options().write(true).open(REQUESTS).is_ok();
    let mut child = start_player(&[
        "--realtime",
        "--wire",
        "null",
        "--no-tui",
        "--format",
        "json",
    ]);
    if is_permitted {
        let files = format!("/proc/{}/fd", child.id());
        until("processors that are kept awake", || {
            let open = fs::read_dir(&files).unwrap().flatten();
            open.filter_map(|file| fs::read_link(file.path()).ok())
                .any(|file| file == Path::new(REQUESTS))
        });
    } else {
        hearing(&mut child)("processors may sleep between messages");
    }
    interrupt(&child);
    summary(child, 130);
}
