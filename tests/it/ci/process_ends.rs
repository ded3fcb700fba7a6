//! The ends of processes that a program under test has started, while the program itself goes on.

use std::fs;
use std::path::PathBuf;

use bagplay::ci::child::{Child, How, Meaning, ProcessEnd, ProcessEnds, Program, Whose};
use bagplay::ci::isolation::{Earlier, RunFolder};
use bagplay::time::Time;

use crate::support::patience::{PATIENCE, until};

/// A program whose processes read a line from `gate`, and end then.
struct Run {
    folder: RunFolder,
    gate: PathBuf,
    _root: tempfile::TempDir,
}

impl Run {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let folder = RunFolder::make(root.path(), Earlier::Refuse).unwrap();
        let mut run = Self {
            folder,
            gate: PathBuf::new(),
            _root: root,
        };
        run.gate = run.gate("gate");
        run
    }

    fn gate(&self, name: &str) -> PathBuf {
        let gate = self.folder.file(name);
        let made = std::process::Command::new("mkfifo").arg(&gate).status();
        assert!(made.unwrap().success());
        gate
    }

    /// Words of a shell that wait for the gate.
    fn wait(&self) -> String {
        format!("read line < {}", self.gate.to_str().unwrap())
    }

    /// Starts a script, in which `$WAIT` writes a line and waits for the gate. Returns when it has written a line.
    fn start(&self, script: &str) -> Child {
        let script = script.replace("$WAIT", &format!("echo; {}", self.wait()));
        let child = Child::start(&Program::new(["sh", "-c", &script], &self.folder)).unwrap();
        until("its first line", || {
            !fs::read(self.folder.stdout()).unwrap().is_empty()
        });
        child
    }

    /// Lets the process go on that waits; returns when it is there.
    fn open_gate(&self) {
        fs::write(&self.gate, "\n").unwrap();
    }
}

fn watch(whose: Whose<'_>) -> ProcessEnds {
    ProcessEnds::watch([whose], || Time::from_nanos(1_500_000_000)).unwrap()
}

fn next(ends: &ProcessEnds) -> ProcessEnd {
    ends.told().recv_timeout(PATIENCE).unwrap()
}

/// `exec sleep` asks for no results: the system shows them until it has ended.
#[test]
fn a_process_of_a_launcher_that_fails_is_told_with_its_result() {
    for (end, how, meaning) in [
        ("exit 3", How::Code(3), Meaning::Failure),
        ("kill -SEGV $$", How::Signal(11), Meaning::Failure),
        ("kill -TERM $$", How::Signal(15), Meaning::Failure),
        ("exit 0", How::Code(0), Meaning::Ended),
    ] {
        let run = Run::new();
        let child = run.start(&format!("sh -c '$WAIT; {end}' & exec sleep 1000"));
        let ends = watch(Whose::Child(&child));
        run.open_gate();
        let end = next(&ends);
        assert_eq!((end.how, end.meaning()), (Some(how), meaning), "{end}");
        assert_eq!((end.name.as_str(), end.was_there), ("sh", true));
        assert!(
            end.to_string().contains(" at 1.500000000, before "),
            "{end}"
        );
        assert_eq!(ends.finish(), []);
        assert_eq!(child.exit(), None);
    }
}

#[test]
fn an_orphan_is_told_with_its_result_though_this_process_releases_it() {
    let run = Run::new();
    let child = run.start("(setsid sh -c '$WAIT; exit 7' &); exec sleep 1000");
    // The shell executes `sleep` when the process between has ended: the orphan is a child of this process then.
    let line = format!("/proc/{}/cmdline", child.id());
    until("the process is an orphan", || {
        fs::read(&line).unwrap() == b"sleep\x001000\0"
    });
    let ends = watch(Whose::Child(&child));
    run.open_gate();
    assert_eq!(next(&ends).how, Some(How::Code(7)));
}

#[test]
fn a_process_that_is_started_later_is_watched_for_crashes() {
    let run = Run::new();
    let later = run.gate("later");
    let again = run.gate("again");
    let wait_again = format!("read line < {}", again.to_str().unwrap());
    let wait = format!("read line < {}", later.to_str().unwrap());
    // The first process ends when the second gate is opened. After each end, processes are listed.
    let script = format!(
        "sh -c '$WAIT; sh -c \"echo; {wait}; kill -ABRT \\$\\$\" & {wait_again}' & exec sleep 1000"
    );
    let child = run.start(&script);
    let ends = watch(Whose::Child(&child));
    run.open_gate();
    until("the process", || {
        fs::read(run.folder.stdout()).unwrap().len() == 2
    });
    fs::write(&again, "\n").unwrap();
    let end = next(&ends);
    assert_eq!(
        (end.was_there, end.meaning()),
        (true, Meaning::Ended),
        "{end}"
    );
    fs::write(&later, "\n").unwrap();
    let end = next(&ends);
    assert_eq!(
        (end.was_there, end.how),
        (false, Some(How::Signal(6))),
        "{end}"
    );
    assert_eq!(end.meaning(), Meaning::Failure);
}

#[test]
fn a_result_that_the_parent_takes_may_be_unknown_and_the_end_is_told() {
    let run = Run::new();
    let child = run.start("sh -c '$WAIT; exit 3'; exec sleep 1000");
    let ends = watch(Whose::Child(&child));
    run.open_gate();
    let end = next(&ends);
    assert!(matches!(end.how, None | Some(How::Code(3))), "{end}");
    assert!(matches!(end.meaning(), Meaning::Failure | Meaning::Unknown));
}

#[test]
fn what_ended_before_the_watch_is_finished_is_told() {
    let run = Run::new();
    let child = run.start("sh -c '$WAIT; exit 3' & exec sleep 1000");
    let ends = watch(Whose::Child(&child));
    run.open_gate();
    until("the end of the process", || {
        let children = format!("/proc/{0}/task/{0}/children", child.id());
        let children = fs::read_to_string(children).unwrap();
        let stat = format!("/proc/{}/stat", children.trim());
        fs::read_to_string(stat).unwrap().contains(") Z ")
    });
    let ends = ends.finish();
    assert_eq!(ends.len(), 1, "{ends:?}");
    assert_eq!(ends[0].how, Some(How::Code(3)));
}

#[test]
fn processes_that_run_already_are_watched_with_all_below_them() {
    let run = Run::new();
    let child = run.start("sh -c 'sh -c \"$WAIT; exit 4\" & exec sleep 1000' & exec sleep 1000");
    let ends = watch(Whose::Trees(vec![child.id()]));
    run.open_gate();
    assert_eq!(next(&ends).how, Some(How::Code(4)));
    drop(child);
    // The roots, too: they are told by their signals, or with an unknown result.
    assert!(next(&ends).was_there);
}

#[test]
fn the_program_itself_and_what_is_ended_for_its_output_are_not_told() {
    let run = Run::new();
    // No process but these two: one that ends by itself would be told.
    let line = "0".repeat(1000);
    let script = format!("sleep 1000 & while :; do echo {line}; done");
    let mut program = Program::new(["sh", "-c", &script], &run.folder);
    program.limits.output_bytes = 1_000_000;
    let child = Child::start(&program).unwrap();
    let ends = watch(Whose::Child(&child));
    assert!(
        child
            .ended()
            .recv_timeout(PATIENCE)
            .unwrap()
            .reached
            .is_some()
    );
    drop(child);
    assert_eq!(ends.finish(), []);
}
