//! Merging the files of shards: each case is named once, and nothing that is missing is passed over.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use bagplay::ci::report::{Check, Ended, Kind, Outcome, Overall, RunRecord, Verdict};
use bagplay::ci::suite::{
    Header, MergeError, Merged, Planned, SCHEMA, ShardFile, ShardWriter, Timings, Why, merge,
};

const SHARDS: u32 = 2;

/// A suite of four cases, `c0` to `c3`: two in each shard. The last is compared with a reference.
fn header(shard: u32, attempt: u32) -> Header {
    let case = |at: u32| Planned {
        name: format!("c{at}"),
        shard: at % SHARDS + 1,
        golden: at == 3,
    };
    Header {
        schema: SCHEMA,
        version: "1".into(),
        digest: "d".into(),
        plan: "p".into(),
        cases: (0..4).map(case).collect(),
        shard,
        shards: SHARDS,
        from: "from a test".into(),
        attempt,
    }
}

fn record(name: &str, exit_code: u8) -> RunRecord {
    let check = if exit_code == 0 {
        Check::passed(Kind::Golden, "equal")
    } else {
        Check::failed(Kind::Golden, "equal", "differs")
    };
    RunRecord {
        name: name.into(),
        exit_code,
        checks: vec![check],
        ended: Ended::Complete,
        took_ms: 1500.0,
        ..RunRecord::default()
    }
}

fn write(dir: &Path, header: Header, runs: &[(&str, u8)], why: Option<Why>) -> PathBuf {
    let mut writer = ShardWriter::create(dir, header).unwrap();
    for (name, code) in runs {
        writer.add(&record(name, *code)).unwrap();
    }
    let path = writer.path().to_owned();
    if let Some(why) = why {
        writer.finish(why).unwrap();
    }
    path
}

fn merged(dir: &Path) -> Result<Merged, MergeError> {
    merge(&ShardFile::read_all(&[dir]).unwrap())
}

fn codes(merged: &Merged) -> Vec<(&str, u8)> {
    merged
        .runs
        .iter()
        .map(|run| (run.name.as_str(), run.exit_code))
        .collect()
}

#[test]
fn whole_shards_become_one_report_with_the_worst_exit() {
    let dir = tempfile::tempdir().unwrap();
    write(
        dir.path(),
        header(2, 1),
        &[("c3", 0), ("c1", 6)],
        Some(Why::Complete),
    );
    write(
        dir.path(),
        header(1, 1),
        &[("c0", 0), ("c2", 5)],
        Some(Why::Complete),
    );
    let merged = merged(dir.path()).unwrap();
    assert_eq!(codes(&merged), [("c0", 0), ("c1", 6), ("c2", 5), ("c3", 0)]);
    assert_eq!((merged.exit, merged.problems.len()), (6, 0));
    assert_eq!((merged.digest.as_str(), merged.shards), ("d", SHARDS));
    let timings = Timings::read(&dir.path().join("1-1.ndjson")).unwrap();
    assert_eq!(
        timings,
        Timings::from([("c0".to_owned(), 1500), ("c2".to_owned(), 1500)])
    );
}

#[test]
fn what_was_not_run_is_an_error_that_names_its_shard() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), header(1, 1), &[("c0", 0)], None);
    let report = merged(dir.path()).unwrap();
    assert_eq!(codes(&report), [("c0", 0), ("c1", 1), ("c2", 1), ("c3", 1)]);
    assert_eq!(report.exit, 1);
    assert_eq!(
        report.problems,
        [
            "shard 2 of 2 is missing",
            "c1: not run: the report of shard 2 of 2 is missing",
            "c2: not run: shard 1 of 2 was killed before",
            "c3: not run: the report of shard 2 of 2 is missing",
        ]
    );
    let outcome = Outcome::of_all(&report.runs);
    assert_eq!((outcome.overall, outcome.exit_code), (Overall::Error, 1));
    let said = "not run: the report of shard 2 of 2 is missing";
    assert!(outcome.sentence.ends_with(said), "{}", outcome.sentence);
    write(
        dir.path(),
        header(2, 1),
        &[("c1", 143)],
        Some(Why::Interrupted),
    );
    let report = merged(dir.path()).unwrap();
    assert_eq!(
        codes(&report),
        [("c0", 0), ("c1", 143), ("c2", 1), ("c3", 143)]
    );
    assert_eq!(report.exit, 143);
}

#[test]
fn cases_that_fail_fast_left_out_are_skipped_and_the_failure_decides() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), header(1, 1), &[("c0", 5)], Some(Why::FailFast));
    write(
        dir.path(),
        header(2, 1),
        &[("c1", 0), ("c3", 0)],
        Some(Why::Complete),
    );
    let merged = merged(dir.path()).unwrap();
    assert_eq!((merged.exit, merged.problems.len()), (5, 0));
    assert_eq!(merged.runs[2].checks[0].verdict, Verdict::Skipped);
}

/// The first attempt was killed after `c0` had passed; in the second, `c0` failed for another reason and the rest was
/// left out.
#[test]
fn a_case_that_was_never_run_fails_although_no_case_has_failed() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), header(1, 1), &[("c0", 0)], None);
    write(dir.path(), header(1, 1), &[("c0", 1)], Some(Why::FailFast));
    write(
        dir.path(),
        header(2, 1),
        &[("c1", 0), ("c3", 0)],
        Some(Why::Complete),
    );
    let merged = merged(dir.path()).unwrap();
    assert_eq!(merged.exit, 1, "{:?}", codes(&merged));
    assert_eq!(codes(&merged), [("c0", 0), ("c1", 0), ("c2", 1), ("c3", 0)]);
    assert_eq!(
        merged.problems,
        ["not run, although no case has failed: c2"]
    );
    let outcome = Outcome::of_all(&merged.runs);
    assert_eq!((outcome.overall, outcome.exit_code), (Overall::Error, 1));
}

#[test]
fn the_last_attempt_counts_but_does_not_hide_a_failure() {
    let dir = tempfile::tempdir().unwrap();
    write(
        dir.path(),
        header(1, 1),
        &[("c0", 5), ("c2", 143)],
        Some(Why::Interrupted),
    );
    write(
        dir.path(),
        header(1, 1),
        &[("c0", 0), ("c2", 0)],
        Some(Why::Complete),
    );
    write(
        dir.path(),
        header(2, 1),
        &[("c1", 0), ("c3", 0)],
        Some(Why::Complete),
    );
    assert!(
        dir.path().join("1-2.ndjson").exists(),
        "the first attempt is kept"
    );
    let merged = merged(dir.path()).unwrap();
    assert_eq!(codes(&merged), [("c0", 5), ("c1", 0), ("c2", 0), ("c3", 0)]);
    assert_eq!((merged.exit, merged.problems.len()), (5, 0));
    assert_eq!(
        merged.runs[0].notes,
        ["failed in attempt 1 and passed in attempt 2: the failure counts"]
    );
    assert_eq!(merged.runs[2].notes, ["this is of attempt 2"]);
}

#[test]
fn a_case_with_a_reference_does_not_pass_without_a_comparison() {
    let dir = tempfile::tempdir().unwrap();
    write(
        dir.path(),
        header(1, 1),
        &[("c0", 0), ("c2", 0)],
        Some(Why::Complete),
    );
    let mut writer = ShardWriter::create(dir.path(), header(2, 1)).unwrap();
    writer.add(&record("c1", 0)).unwrap();
    writer
        .add(&RunRecord {
            checks: Vec::new(),
            ..record("c3", 0)
        })
        .unwrap();
    writer.finish(Why::Complete).unwrap();
    let merged = merged(dir.path()).unwrap();
    assert_eq!((merged.exit, merged.runs[3].exit_code), (5, 5));
    assert!(
        merged.runs[3].checks[0]
            .reason
            .contains("nothing was compared")
    );
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let refused = |change: &dyn Fn(&mut Header), runs: &[(&str, u8)]| {
        let dir = tempfile::tempdir().unwrap();
        write(
            dir.path(),
            header(1, 1),
            &[("c0", 0), ("c2", 0)],
            Some(Why::Complete),
        );
        let mut other = header(2, 1);
        change(&mut other);
        write(dir.path(), other, runs, Some(Why::Complete));
        merged(dir.path()).unwrap_err().to_string()
    };
    for (change, reason) in [
        (
            &(|it: &mut Header| it.digest = "e".into()) as &dyn Fn(&mut Header),
            "of different suites",
        ),
        (
            &|it: &mut Header| it.plan = "q".into(),
            "cut the suite differently",
        ),
        (
            &|it: &mut Header| it.shards = 3,
            "different numbers of shards",
        ),
        (
            &|it: &mut Header| it.cases[3].name = "c4".into(),
            "of different suites",
        ),
        (
            &|it: &mut Header| it.cases[3].shard = 1,
            "cut the suite differently",
        ),
    ] {
        let error = refused(change, &[]);
        assert!(error.contains(reason), "{error}");
        assert!(
            error.contains("1-1.ndjson") && error.contains("2-1.ndjson"),
            "{error}"
        );
    }
    for runs in [&[("c0", 0)][..], &[("c1", 0), ("c1", 0)], &[("x", 0)]] {
        let error = refused(&|_| (), runs);
        assert!(
            error.contains("is no case of this shard, or is there twice"),
            "{error}"
        );
    }
    let dir = tempfile::tempdir().unwrap();
    let file = write(dir.path(), header(1, 1), &[], Some(Why::Complete));
    let twice = merge(&ShardFile::read_all(&[&file, &file]).unwrap()).unwrap_err();
    assert!(matches!(
        twice,
        MergeError::Double {
            shard: 1,
            attempt: 1,
            ..
        }
    ));
    assert_eq!(merge(&[]).unwrap_err(), MergeError::None);
    let empty = tempfile::tempdir().unwrap();
    let error = ShardFile::read_all(&[empty.path()])
        .unwrap_err()
        .to_string();
    assert!(error.contains("no report of a shard"), "{error}");
}

#[test]
fn what_a_killed_process_leaves_is_read_and_hostile_lines_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = write(dir.path(), header(1, 1), &[("c0", 0)], None);
    let append = |text: &str| {
        let mut file = OpenOptions::new().append(true).open(&file).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    };
    append("{\"run\":{\"name\":\"c2\"");
    let cut = ShardFile::read_all(&[&file]).unwrap();
    assert_eq!((cut[0].runs.len(), cut[0].end), (1, None));
    append("\n");
    let refused = |file: &Path| ShardFile::read_all(&[file]).unwrap_err().to_string();
    assert!(refused(&file).contains("1-1.ndjson: line 3: this is not of a shard"));
    let whole = write(dir.path(), header(2, 1), &[("c1", 0)], Some(Why::Complete));
    let text = fs::read_to_string(&whole).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let newer = lines[0].replace("\"schema\":1", "\"schema\":2");
    for (text, reason) in [
        (String::new(), "the file is empty"),
        ("\u{1b}[2J\n".into(), "line 1: this is not of a shard"),
        (
            lines[1].to_owned() + "\n",
            "line 1: the file of a shard begins",
        ),
        (
            newer,
            "line 1: it has schema 2, this program reads schema 1",
        ),
        (
            r#"{"suite":{"schema":2,"shape":"new"}}"#.into(),
            "line 1: it has schema 2",
        ),
        (
            lines[0].replace("\"shard\":2,\"shards\"", "\"shard\":3,\"shards\""),
            "contradicts itself",
        ),
        (lines[0].replace("\"c0\"", "\"c9\""), "contradicts itself"),
        (
            format!("{}\n{}\n", lines[0], lines[0]),
            "line 2: the file of a shard begins",
        ),
        (
            format!("{}\n{}\n", lines[0], lines[2]),
            "the last line gives another number of cases",
        ),
        (
            format!("{text}{}\n", lines[1]),
            "line 4: nothing follows the end",
        ),
        ("[".repeat(100_000), "line 1: "),
    ] {
        fs::write(&whole, &text).unwrap();
        let error = refused(&whole);
        assert!(error.contains(reason), "{error}");
        assert!(!error.contains(char::is_control), "{error:?}");
    }
    fs::write(&whole, b"\xff\xfe\n").unwrap();
    assert!(refused(&whole).contains("line 1: "));
}
