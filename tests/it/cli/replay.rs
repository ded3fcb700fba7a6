//! Runs with verdicts as processes: which exit code each case has. No program under test is needed for these.

use std::path::Path;

use predicates::prelude::*;
use predicates::str::contains;

use crate::cli::{demo, json, play, play_process, signal};
use crate::support::patience::until;

/// `play` at full speed with a recording of the outputs, in a folder, on a network of its own.
fn run(folder: &Path, bag: &Path, more: &[&str]) -> assert_cmd::assert::Assert {
    let mut play = play();
    play.env_remove("GITHUB_STEP_SUMMARY")
        .current_dir(folder)
        .arg(bag)
        .args(["--isolated", "--rate", "max", "--record", "out.mcap"])
        .args(["--run-dir", "run", "--format", "json"])
        .args(more);
    play.assert()
}

/// The first half of a recording.
fn cut(folder: &Path) -> std::path::PathBuf {
    let cut = folder.join("cut.mcap");
    let bytes = std::fs::read(demo()).unwrap();
    std::fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    cut
}

#[test]
fn damage_of_what_is_played_is_said_and_with_strict_has_the_exit_code_of_a_recording() {
    let dir = tempfile::tempdir().unwrap();
    let bag = cut(dir.path());
    let lenient = run(dir.path(), &bag, &[]).code(0);
    let report = json(&lenient.get_output().stdout);
    let said = "1 damaged place in the recording";
    assert_eq!(report["notes"][0], said, "{report}");
    let strict = run(dir.path(), &bag, &["--strict"]).code(3);
    let report = json(&strict.get_output().stdout);
    assert_eq!(report["exit_code"], 3);
    let check = &report["checks"][0];
    assert_eq!(check["kind"], "recording");
    assert_eq!(check["reason"], format!("{said} (--strict)"));
    let whole = run(dir.path(), &demo(), &["--strict"]).code(0);
    assert!(!json(&whole.get_output().stdout).to_string().contains(said));
}

#[test]
fn a_report_that_cannot_be_written_is_an_error_before_the_run() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file"), "").unwrap();
    std::fs::create_dir(dir.path().join("folder")).unwrap();
    for (flag, file, why) in [
        ("--junit", "file/junit.xml", "File exists"),
        ("--html", "folder", "is a directory"),
        ("--report", "/proc/none/report.json", "No such file"),
    ] {
        run(dir.path(), &demo(), &[flag, file])
            .code(2)
            .stderr(contains(flag).and(contains(file)).and(contains(why)));
    }
    let outputs = dir.path().join("run/outputs.mcap");
    assert!(!outputs.exists(), "something was played");
}

#[test]
fn folders_of_reports_are_made_and_reports_replace_earlier_ones_as_a_whole() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a/b/report.json");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "earlier").unwrap();
    run(
        dir.path(),
        &demo(),
        &["--report", "a/b/report.json", "--junit", "c/junit.xml"],
    )
    .code(0);
    assert_eq!(json(&std::fs::read(&file).unwrap())["exit_code"], 0);
    let names = |folder: &str| {
        let entries = std::fs::read_dir(dir.path().join(folder)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name());
        names.collect::<Vec<_>>()
    };
    assert_eq!(names("a/b"), ["report.json"], "no temporary file is left");
    assert_eq!(names("c"), ["junit.xml"]);
}

#[test]
fn a_signal_ends_a_run_whose_recording_is_digested() {
    let dir = tempfile::tempdir().unwrap();
    let bag = dir.path().join("bag");
    std::fs::create_dir(&bag).unwrap();
    std::fs::copy(demo(), bag.join("demo.mcap")).unwrap();
    // It takes no place on the disk, and minutes to read.
    let large = std::fs::File::create(bag.join("large.bin")).unwrap();
    large.set_len(1 << 40).unwrap();
    let mut run = play_process();
    run.current_dir(dir.path())
        .env_remove("GITHUB_STEP_SUMMARY")
        .args(["bag", "--isolated", "--rate", "max", "--run-dir", "run"])
        .args(["--format", "json"]);
    let child = run.spawn().unwrap();
    let outputs = dir.path().join("run/outputs.mcap");
    // Recorded to the end: the run is over.
    until("the end of the run", || {
        std::fs::read(&outputs).is_ok_and(|bytes| bytes.len() > 100)
    });
    signal("-INT", &child);
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130));
    let report = json(&ended.stdout);
    assert_eq!(report["ended"], "interrupted");
    assert_eq!(report["recordings"].as_array().unwrap().len(), 2);
    assert!(report["recordings"][1]["xxh3_128"].is_null(), "{report}");
}
