//! Programs under test: real processes, that are started, watched and ended with everything that they start.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bagplay::ci::child::{
    Child, ChildEnd, ChildError, ChildExit, Claims, How, Limits, Program, Reached, kill_all,
};
use bagplay::ci::isolation::{Earlier, RunFolder};

use crate::support::patience::{PATIENCE, until};
use crate::support::scripts::write_program;

const TERM: i32 = 15;
const KILL: i32 = 9;
/// So that a process that takes no notice of TERM does not hold up its test.
const SHORT: Duration = Duration::from_millis(50);

struct Run {
    folder: RunFolder,
    _root: tempfile::TempDir,
}

impl Run {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let folder = RunFolder::make(root.path(), Earlier::Refuse).unwrap();
        Self {
            folder,
            _root: root,
        }
    }

    fn program(&self, script: &str) -> Program {
        Program::new(["sh", "-c", script], &self.folder)
    }

    fn start(&self, script: &str) -> Child {
        Child::start(&self.program(script)).unwrap()
    }

    fn stdout(&self) -> String {
        fs::read_to_string(self.folder.stdout()).unwrap()
    }
}

fn wait(child: &Child) -> ChildExit {
    child.ended().recv_timeout(PATIENCE).unwrap()
}

/// A span for `sleep` that no other process has: by it a process is found.
fn unique() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("1000.{:07}{number:03}", std::process::id())
}

/// The command lines of all processes, with a zero byte after each word; empty for those that have ended.
fn command_lines() -> impl Iterator<Item = Vec<u8>> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok())
}

/// Whether a process has this span among its arguments.
fn runs(span: &str) -> bool {
    command_lines().any(|line| {
        let mut words = line.split(|byte| *byte == 0);
        words.any(|word| word == span.as_bytes())
    })
}

/// Waits until a process sleeps for this span: not only the one that is about to become it.
fn until_runs(span: &str) {
    until("the process", || sleeping(span) > 0);
}

/// How many processes sleep for this span.
fn sleeping(span: &str) -> usize {
    let line = format!("sleep\0{span}\0");
    let lines = command_lines();
    lines.filter(|other| other == line.as_bytes()).count()
}

fn names(end: &ChildEnd) -> Vec<&str> {
    let names = end.orphans.iter().map(|orphan| orphan.name.as_str());
    names.collect()
}

#[test]
fn an_exit_code_and_the_last_lines_are_told() {
    let run = Run::new();
    let program = run.program("echo one; echo two; printf '\\033[31mbad\\033[0m\\007' >&2; exit 3");
    let child = Child::start(&program).unwrap();
    let exit = wait(&child);
    assert_eq!((exit.how, exit.is_success()), (How::Code(3), false));
    let sentence = exit.to_string();
    assert!(
        sentence.starts_with("sh ended with exit code 3 after "),
        "{sentence}"
    );
    assert_eq!(child.exit().as_ref(), Some(&exit));
    assert!(child.ended().recv().is_err(), "there is one end");
    assert_eq!(child.tail(1).lines(), ["stdout: two", "stderr: bad\\u{7}"]);
    let end = child.end(PATIENCE);
    assert_eq!(end.exit, Some(exit));
    assert!(!end.was_running && end.outlasted.is_none() && end.notes().is_empty());
    let record = end.record(&program, 5);
    assert_eq!(record.ended, "exit code 3");
    assert_eq!(
        record.tail,
        ["stdout: one", "stdout: two", "stderr: bad\\u{7}"]
    );
    assert_eq!(record.command[..2], ["sh", "-c"]);
}

#[test]
fn a_crash_is_told_by_its_signal() {
    let run = Run::new();
    let child = run.start("kill -SEGV $$");
    let exit = wait(&child);
    assert_eq!(exit.how, How::Signal(11));
    assert!(
        exit.to_string()
            .contains("ended by signal 11 (SIGSEGV) after "),
        "{exit}"
    );
}

#[test]
fn the_environment_and_the_folder_are_those_that_were_given() {
    let run = Run::new();
    let elsewhere = tempfile::tempdir().unwrap();
    let mut program = run.program("echo \"$NAME\"; pwd -P; cat; echo end");
    program.environment = vec![("NAME".into(), "a b".into())];
    program.directory = Some(elsewhere.path().to_path_buf());
    let child = Child::start(&program).unwrap();
    // `cat` ends at once: there is no standard input.
    assert!(wait(&child).is_success());
    let folder = elsewhere.path().canonicalize().unwrap();
    assert_eq!(
        run.stdout(),
        format!("a b\n{}\nend\n", folder.to_str().unwrap())
    );
}

#[test]
fn term_ends_the_program_and_its_group() {
    let run = Run::new();
    let (one, two) = (unique(), unique());
    let child = run.start(&format!("sleep {one} & exec sleep {two}"));
    until_runs(&one);
    until_runs(&two);
    assert_eq!(child.exit(), None);
    let end = child.end(PATIENCE);
    assert!(end.was_running && end.outlasted.is_none());
    assert_eq!(end.exit.as_ref().unwrap().how, How::Signal(TERM));
    // The one in the background got its TERM with the group.
    assert_eq!(end.notes(), [""; 0]);
    assert!(!runs(&one) && !runs(&two));
}

#[test]
fn a_program_that_ignores_term_is_killed_after_the_grace() {
    let run = Run::new();
    let span = unique();
    let child = run.start(&format!(
        "trap '' TERM; sleep {span} & while :; do wait; done"
    ));
    until_runs(&span);
    let end = child.end(SHORT);
    assert_eq!(end.outlasted, Some(SHORT));
    assert_eq!(end.exit.as_ref().unwrap().how, How::Signal(KILL));
    // The trap is inherited, too.
    assert_eq!(names(&end), ["sleep"]);
    assert!(
        end.notes()[0].contains("sh did not end within 0.1 s of SIGTERM"),
        "{:?}",
        end.notes()
    );
    assert!(!runs(&span) && end.left.is_empty());
}

#[test]
fn an_end_that_nobody_has_noticed_yet_is_still_its_own() {
    for _ in 0..20 {
        let run = Run::new();
        let child = run.start("exit 3");
        let stat = format!("/proc/{}/stat", child.id());
        until("its end", || {
            fs::read_to_string(&stat).unwrap().contains(") Z ")
        });
        let end = child.end(PATIENCE);
        assert!(!end.was_running);
        assert_eq!(end.exit.unwrap().how, How::Code(3));
    }
}

#[test]
fn a_stopped_program_is_killed() {
    let run = Run::new();
    let child = run.start("kill -STOP $$");
    let stat = format!("/proc/{}/stat", child.id());
    until("it stands", || {
        fs::read_to_string(&stat).unwrap().contains(" T ")
    });
    let end = child.end(SHORT);
    assert_eq!(end.exit.unwrap().how, How::Signal(KILL));
}

#[test]
fn what_outlives_the_program_is_ended_and_named() {
    let run = Run::new();
    let span = unique();
    let child = run.start(&format!("sleep {span} & exit 0"));
    assert!(wait(&child).is_success());
    until_runs(&span);
    let end = child.end(PATIENCE);
    assert!(!end.was_running && end.exit.as_ref().unwrap().is_success());
    assert_eq!(names(&end), ["sleep"]);
    let note = end.notes().remove(0);
    assert!(
        note.starts_with("sh left processes behind, which were ended: sleep ("),
        "{note}"
    );
    assert!(!runs(&span));
}

#[test]
fn a_daemon_that_left_the_group_is_ended_and_named() {
    let run = Run::new();
    let (daemon, program) = (unique(), unique());
    let child = run.start(&format!("(setsid sleep {daemon} &); exec sleep {program}"));
    until_runs(&daemon);
    until_runs(&program);
    let end = child.end(PATIENCE);
    assert!(end.was_running && end.outlasted.is_none());
    assert_eq!(names(&end), ["sleep"]);
    assert!(!runs(&daemon) && !runs(&program));
}

#[test]
fn a_daemon_that_ignores_term_is_killed_though_its_program_has_ended() {
    let run = Run::new();
    let span = unique();
    let script = format!("(setsid sh -c 'trap \"\" TERM; sleep {span}; true' &)");
    let child = run.start(&script);
    wait(&child);
    until_runs(&span);
    let end = child.end(SHORT);
    assert_eq!(end.outlasted, None, "the program itself had ended");
    let mut names = names(&end);
    names.sort_unstable();
    assert_eq!(names, ["sh", "sleep"]);
    assert!(!runs(&span) && end.left.is_empty());
}

#[test]
fn a_daemon_that_is_started_on_term_is_ended_too() {
    let run = Run::new();
    let (daemon, ready) = (unique(), unique());
    let child = run.start(&format!(
        "trap '(setsid sleep {daemon} &) ; exit 7' TERM; sleep {ready} & while :; do wait; done"
    ));
    until_runs(&ready);
    let end = child.end(PATIENCE);
    assert_eq!(end.exit.as_ref().unwrap().how, How::Code(7));
    assert!(!runs(&daemon) && !runs(&ready));
}

#[test]
fn a_program_does_not_end_the_daemons_of_another() {
    let (run, other) = (Run::new(), Run::new());
    let (ours, theirs) = (unique(), unique());
    let child = run.start(&format!("(setsid sleep {ours} &)"));
    let stays = other.start(&format!("(setsid sleep {theirs} &)"));
    until_runs(&ours);
    until_runs(&theirs);
    child.end(PATIENCE);
    assert!(!runs(&ours) && runs(&theirs));
    stays.end(PATIENCE);
    assert!(!runs(&theirs));
}

#[test]
fn a_program_that_is_dropped_is_ended() {
    let run = Run::new();
    let (daemon, program) = (unique(), unique());
    let child = run.start(&format!(
        "(setsid sleep {daemon} &); trap '' TERM; sleep {program}; :"
    ));
    until_runs(&daemon);
    until_runs(&program);
    drop(child);
    assert!(!runs(&daemon) && !runs(&program));
}

#[test]
fn closed_outputs_hold_up_nothing() {
    let run = Run::new();
    let span = unique();
    let child = run.start(&format!(
        "exec >&- 2>&-; sleep {span} & kill -STOP $$; exit 5"
    ));
    until_runs(&span);
    assert_eq!(child.exit(), None);
    let stat = format!("/proc/{}/stat", child.id());
    until("it stands", || {
        fs::read_to_string(&stat).unwrap().contains(" T ")
    });
    let continued = std::process::Command::new("kill")
        .args(["-CONT", &child.id().to_string()])
        .status();
    assert!(continued.unwrap().success());
    assert_eq!(wait(&child).how, How::Code(5));
    assert_eq!(names(&child.end(PATIENCE)), ["sleep"]);
}

#[test]
fn a_flood_of_output_ends_the_program() {
    let run = Run::new();
    let mut program = run.program("while :; do head -c 100000 /dev/zero >&2; sleep 0.01; done");
    program.limits = Limits {
        output_bytes: 1_000_000,
        free_bytes: 0,
    };
    let child = Child::start(&program).unwrap();
    let exit = wait(&child);
    let Some(Reached::Output { file, bytes, limit }) = &exit.reached else {
        panic!("{exit:?}");
    };
    assert!(file == "stderr.log" && *bytes > *limit && *limit == 1_000_000);
    let sentence = exit.to_string();
    assert!(
        sentence.contains(" MiB to stderr.log, more than the limit of 0.9 MiB"),
        "{sentence}"
    );
    let end = child.end(PATIENCE);
    assert!(!end.was_running);
    assert!(end.record(&program, 0).ended.contains("stderr.log"));
}

#[test]
fn a_daemon_that_floods_is_ended_though_its_program_has_ended() {
    let run = Run::new();
    let span = unique();
    let gate = run.folder.file("gate");
    let made = std::process::Command::new("mkfifo").arg(&gate).status();
    assert!(made.unwrap().success());
    let mut program = run.program(&format!(
        "(setsid sh -c 'read line < {}; while :; do head -c 100000 /dev/zero; sleep 0.01; done' {span} &)",
        gate.to_str().unwrap()
    ));
    program.limits.output_bytes = 1_000_000;
    let child = Child::start(&program).unwrap();
    assert!(wait(&child).is_success());
    // The daemon begins when the program has ended.
    fs::write(&gate, "\n").unwrap();
    until("the limit", || child.reached().is_some());
    until("its end", || !runs(&span));
}

/// In memory, where few others write.
#[test]
fn a_program_that_fills_the_disk_is_ended() {
    const MIB: u64 = 1 << 20;
    let root = tempfile::tempdir_in("/dev/shm").unwrap();
    let folder = RunFolder::make(root.path(), Earlier::Refuse).unwrap();
    // Others free space meanwhile, so it writes until it is ended: 2 GiB at most.
    let fill = "for n in $(seq 1024); do head -c 2M /dev/zero >> big; sleep 0.01; done";
    let mut program = Program::new(["sh", "-c", fill], &folder);
    program.directory = Some(folder.path().to_path_buf());
    let mut started = None;
    until("enough space", || {
        let disk = rustix::fs::statvfs(folder.path()).unwrap();
        program.limits.free_bytes = (disk.f_bavail * disk.f_frsize).saturating_sub(12 * MIB);
        started = match Child::start(&program) {
            // Others have taken space since.
            Err(ChildError::Disk { .. }) => None,
            child => Some(child.unwrap()),
        };
        started.is_some()
    });
    let child = started.unwrap();
    let exit = wait(&child);
    let Some(Reached::Disk { free, limit, .. }) = exit.reached else {
        panic!("{exit:?}");
    };
    assert!(free < limit && limit == program.limits.free_bytes);
    let path = folder.path().to_str().unwrap();
    let sentence = exit.to_string();
    assert!(
        sentence.starts_with("sh was ended after ")
            && sentence.contains(path)
            && sentence.contains(" are free"),
        "{sentence}"
    );
}

#[test]
fn nothing_is_started_on_a_disk_that_is_full_already() {
    let run = Run::new();
    let mut program = run.program("true");
    program.limits.free_bytes = u64::MAX;
    let error = Child::start(&program).unwrap_err();
    assert!(
        matches!(error, ChildError::Disk { .. }) && !error.is_usage(),
        "{error}"
    );
}

#[test]
fn what_cannot_be_started_is_refused_in_a_plain_sentence() {
    let run = Run::new();
    let file = |name: &str, text: &str, mode: u32| {
        let path = run.folder.file(name);
        write_program(&path, text, mode);
        path.to_str().unwrap().to_owned()
    };
    let refused = |program: &str| {
        let error = Child::start(&Program::new([program], &run.folder)).unwrap_err();
        assert!(error.is_usage(), "{error:?}");
        error.to_string()
    };
    assert_eq!(
        refused("no-such-program"),
        "the program `no-such-program` is not found in PATH"
    );
    assert_eq!(
        refused("./no\nwhere"),
        "the program `./no\\nwhere` is not found"
    );
    let text = file("text", "hello", 0o644);
    assert!(refused(&text).ends_with("permission denied; hint: chmod +x"));
    let interpreter = file("script", "#!/no/such/shell\n", 0o755);
    assert!(refused(&interpreter).ends_with("its first line names is not found"));
    let garbage = file("garbage", "\x01\x02\x03\x04", 0o755);
    assert!(refused(&garbage).contains("no program of this system"));
    let folder = run.folder.path().to_str().unwrap();
    assert!(refused(folder).ends_with("it is a directory"));
}

#[test]
fn a_file_that_cannot_be_written_is_named() {
    let run = Run::new();
    let mut program = run.program("true");
    program.stderr = Path::new("/nowhere/stderr.log").to_path_buf();
    let error = Child::start(&program).unwrap_err();
    assert!(matches!(error, ChildError::Log { .. }) && !error.is_usage());
    assert_eq!(error.to_string(), "cannot write /nowhere/stderr.log");
}

/// What would end the processes of other tests is tried in a program of its own: this one, started once more.
const PROGRAM: &str = "BAGPLAY_CHILD_PROGRAM";
const ENTRY: &str = "ci::child::alone_in_a_process_everything_is_ended";

#[test]
fn alone_in_a_process_everything_is_ended() {
    if let Ok(name) = std::env::var(PROGRAM) {
        match name.as_str() {
            "unmarked" => end_unmarked_daemon(),
            "at once" => end_all_at_once(),
            "no results" => end_without_result(),
            other => panic!("{other}"),
        }
        return;
    }
    for name in ["unmarked", "at once", "no results"] {
        let run = Run::new();
        let this = std::env::current_exe().unwrap();
        let this = this.to_str().unwrap();
        let mut words = vec![this, ENTRY, "--exact", "--nocapture"];
        if name == "no results" {
            words.splice(0..0, ["env", "--ignore-signal=CHLD"]);
        }
        let mut program = Program::new(words, &run.folder);
        program.environment = vec![(PROGRAM.into(), name.into())];
        let child = Child::start(&program).unwrap();
        let exit = wait(&child);
        assert!(
            exit.is_success(),
            "{name}: {exit}: {:?}",
            child.tail(20).lines()
        );
        assert_eq!(child.end(PATIENCE).notes(), [""; 0], "{name}");
    }
}

/// A daemon that has cleared its environment.
fn end_unmarked_daemon() {
    let run = Run::new();
    let span = unique();
    let mut program = run.program(&format!("(env -i setsid sleep {span} &)"));
    program.claims = Claims::AllChildren;
    let child = Child::start(&program).unwrap();
    wait(&child);
    until_runs(&span);
    assert_eq!(names(&child.end(PATIENCE)), ["sleep"]);
    assert!(!runs(&span));
}

fn end_all_at_once() {
    let run = Run::new();
    let (one, two, daemon) = (unique(), unique(), unique());
    let start = |span| {
        run.start(&format!(
            "trap '' TERM; (setsid sleep {daemon} &) ; sleep {span}; :"
        ))
    };
    let children = [&one, &two].map(start);
    until_runs(&one);
    until_runs(&two);
    until("both daemons", || sleeping(&daemon) == 2);
    kill_all();
    for child in &children {
        assert_eq!(wait(child).how, How::Signal(KILL));
    }
    until("their ends", || {
        !runs(&one) && !runs(&two) && !runs(&daemon)
    });
}

/// With SIGCHLD ignored, the system tells no results.
fn end_without_result() {
    let run = Run::new();
    let child = run.start("exit 3");
    let exit = wait(&child);
    assert_eq!((exit.how, exit.is_success()), (How::Unknown, false));
    let end = child.end(PATIENCE);
    assert!(!end.was_running && end.left.is_empty());
    let span = unique();
    let child = run.start(&format!("exec sleep {span}"));
    until_runs(&span);
    assert!(child.end(PATIENCE).was_running && !runs(&span));
    // As soon as the program has ended, its group belongs to no program.
    let child = run.start(&format!("sleep {span} & exit 0"));
    wait(&child);
    until_runs(&span);
    let end = child.end(PATIENCE);
    assert_eq!(names(&end), ["sleep"]);
    assert!(end.left.is_empty() && !runs(&span));
}
