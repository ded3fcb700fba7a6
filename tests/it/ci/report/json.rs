//! Records written and read back; files that are damaged, hostile or of a later release.

use std::fs;
use std::path::Path;

use bagplay::ci::report::{
    RecordsError, RunRecord, SCHEMA, read_lines, read_run, read_runs, to_json, to_line,
};
use serde::{Deserialize, Serialize};

use super::{failed, hostile, is_clean, passed};

/// Equal but for values that are not numbers, which are not equal to themselves.
fn assert_equal(one: &RunRecord, other: &RunRecord) {
    assert_eq!(format!("{one:?}"), format!("{other:?}"));
}

#[test]
fn a_record_comes_back_as_it_was_also_without_numbers_and_from_lines() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("run.json");
    let mut run = failed();
    let series = &mut run.divergence.as_mut().unwrap().series;
    series.1[0].1 = f64::INFINITY;
    series.1[1].1 = f64::NEG_INFINITY;
    series.0[0].1 = 0.1 + 0.2;
    for run in [&run, &passed(), &hostile()] {
        let text = to_json(run).unwrap();
        assert!(
            text.starts_with(&format!("{{\n  \"schema\": {SCHEMA},\n  \"name\": ")),
            "{text}"
        );
        fs::write(&file, text).unwrap();
        assert_equal(&read_run(&file).unwrap(), run);
        let line = to_line(run).unwrap();
        assert_eq!(line.find('\n'), Some(line.len() - 1));
        fs::write(&file, format!("{line}\n{line}")).unwrap();
        let runs = read_runs(&file).unwrap();
        assert_eq!(runs.len(), 2);
        assert_equal(&runs[1], run);
    }
}

#[test]
fn lines_of_another_kind_have_a_schema_too() {
    #[derive(Serialize, Deserialize, PartialEq, Debug)]
    struct Plan {
        digest: String,
        run: Option<RunRecord>,
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("plan.ndjson");
    let plan = Plan {
        digest: "5b9c".to_owned(),
        run: Some(passed()),
    };
    let line = to_line(&plan).unwrap();
    assert!(
        line.starts_with(r#"{"schema":1,"digest":"5b9c","#),
        "{line}"
    );
    fs::write(&file, line).unwrap();
    assert_eq!(read_lines::<Plan>(&file).unwrap(), [plan]);
}

fn error_of(file: &Path, text: &[u8]) -> String {
    fs::write(file, text).unwrap();
    let error = read_runs(file).unwrap_err();
    assert!(matches!(error, RecordsError::Record { .. }), "{error:?}");
    let error = error.to_string();
    assert!(
        is_clean(&error) && !error.contains('\n') && error.len() < 2000,
        "{error:?}"
    );
    error
}

#[test]
fn an_error_names_the_file_the_line_and_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("shard\u{1b}.ndjson");
    let name = dir.path().join("shard\\u{1b}.ndjson");
    let good = to_line(&passed()).unwrap();
    for (bad, why) in [
        (
            &b"{\"schema\":2,\"name\":\"a\"}"[..],
            "its schema is 2, this program reads up to 1: use a newer release",
        ),
        (
            b"{\"name\":\"a\"}",
            "it has no `schema`: not a record of this program",
        ),
        (
            b"{\"schema\":1}",
            "it has no `name`: not the record of a run",
        ),
        (
            b"{\"schema\":-1,\"name\":\"a\"}",
            "invalid value: integer `-1`",
        ),
        (
            b"{\"schema\":1,\"name\":\"a\",\"pacing\":\"\\u001b[2J\"}",
            "unknown variant",
        ),
        (
            b"{\"schema\":1,\"name\":\"a\",\"timeline\":[{}]}",
            "missing field `log_ns`",
        ),
        (
            b"{\"schema\":1,\"name\":\"a\",\"took_ms\":null}",
            "invalid type: null",
        ),
        (b"\xff\xfe", "expected value"),
        (b"[]", "expected struct Version"),
        (&good.as_bytes()[..good.len() / 2], "EOF while parsing"),
    ] {
        let text = [good.as_bytes(), b"\n", bad].concat();
        let error = error_of(&file, &text);
        let start = format!("{}:3: ", name.to_str().unwrap());
        assert!(error.starts_with(&start), "{error}");
        assert!(error.contains(why), "{why}: {error}");
    }
    let deep = format!(
        "{{\"schema\":1,\"name\":\"a\",\"checks\":{}",
        "[".repeat(100_000)
    );
    assert!(error_of(&file, deep.as_bytes()).contains(":1: "));
}

#[test]
fn a_line_without_an_end_is_not_read_to_its_end() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("long.ndjson");
    let sparse = fs::File::create(&file).unwrap();
    sparse.set_len(1 << 30).unwrap();
    let error = read_runs(&file).unwrap_err().to_string();
    assert!(
        error.ends_with("long.ndjson:1: longer than the 268435456 bytes that are read"),
        "{error}"
    );
    let error = read_run(&file).unwrap_err().to_string();
    assert!(
        error.ends_with("longer than the 268435456 bytes that are read"),
        "{error}"
    );
    sparse.set_len(1 << 40).unwrap();
    assert!(matches!(read_runs(&file), Err(RecordsError::Io { .. })));
}

#[test]
fn what_is_no_file_is_an_error_that_names_it() {
    let dir = tempfile::tempdir().unwrap();
    for path in [
        dir.path().to_path_buf(),
        dir.path().join("none"),
        "/dev/zero".into(),
    ] {
        let error = read_runs(&path).unwrap_err();
        assert!(matches!(error, RecordsError::Io { .. }), "{error:?}");
        assert!(
            error.to_string().starts_with(path.to_str().unwrap()),
            "{error}"
        );
    }
}

#[test]
fn members_of_a_later_release_are_ignored() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("run.json");
    fs::write(
        &file,
        r#"{"new": [1], "schema": 1, "name": "a", "ended": "complete"}"#,
    )
    .unwrap();
    let run = read_run(&file).unwrap();
    assert_eq!(run.name, "a");
}
