//! `play suite` as a process. What it runs is a program that takes the command line of `play`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use predicates::prelude::*;
use predicates::str::contains;

use crate::cli::{demo, json, play, play_process, signal};
use crate::support::patience::until;
use crate::support::scripts::write_program;

const STAND_IN: &str = r#"#!/bin/sh
for word; do
    case $word in
        --report=*) report=${word#--report=} ;;
        --update-golden) updates=yes ;;
        --) shift; break ;;
    esac
    shift
done
say() {
    printf '{"schema":1,"name":"run","ended":"%s","exit_code":%s,"checks":[{"name":"a","kind":"run","verdict":"%s","reason":""}]}' \
        "$2" "$1" "$3" >"$report"
    exit "$1"
}
case $1 in
    pass) say 0 complete passed ;;
    fail) say 5 complete failed ;;
    alone) rm -r "$2"
        exit "$3" ;;
    update) [ -n "$updates" ] || say 5 complete failed
        say 0 complete passed ;;
    hang) trap 'say 143 interrupted skipped' TERM
        echo >"$2"
        while :; do sleep 0.05; done ;;
    stay) trap '' TERM
        echo $$ >"$2.new" && mv "$2.new" "$2"
        while :; do sleep 0.05; done ;;
esac
"#;

struct Place(tempfile::TempDir);

impl Place {
    fn new(cases: &[(&str, &str)]) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        let program = place.file("stand-in");
        write_program(&program, STAND_IN, 0o755);
        fs::create_dir(place.file("suite")).unwrap();
        fs::copy(demo(), place.file("suite/demo.mcap")).unwrap();
        for (name, command) in cases {
            let words: Vec<String> = command.split(' ').map(|word| format!("{word:?}")).collect();
            let text = format!(
                "bags = 'demo.mcap'\ncommand = [{}]\ntags = ['{name}']",
                words.join(", ")
            );
            fs::write(place.file(&format!("suite/{name}.toml")), text).unwrap();
        }
        place
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// `play suite` on the cases, in the folder, without variables of the systems on which these tests may run.
    fn suite(&self, more: &[&str]) -> assert_cmd::Command {
        let mut play = play();
        play.env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .current_dir(self.0.path())
            .args(["suite", "suite", "--runner", "./stand-in"])
            .args(more);
        play
    }

    /// `play suite` without a runner.
    fn without_runner(&self, words: &[&str]) -> assert_cmd::Command {
        let mut play = play();
        play.env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .current_dir(self.0.path())
            .arg("suite")
            .args(words);
        play
    }

    fn report(&self, files: &[&str]) -> assert_cmd::Command {
        let mut play = play();
        play.env_remove("GITHUB_STEP_SUMMARY")
            .current_dir(self.0.path())
            .args(["suite", "report"])
            .args(files);
        play
    }
}

fn names(report: &Path) -> Vec<String> {
    let report = json(&fs::read(report).unwrap());
    let runs = report["runs"].as_array().unwrap().iter();
    runs.map(|run| run["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_suite_is_run_and_all_reports_are_written() {
    let place = Place::new(&[("a", "pass"), ("b", "fail"), ("c", "pass")]);
    let files = [
        "--junit",
        "j.xml",
        "--report",
        "r.json",
        "--markdown",
        "m.md",
        "--html",
        "h.html",
        "-j",
        "2",
    ];
    place
        .suite(&files)
        .env("GITHUB_STEP_SUMMARY", place.file("summary.md"))
        .assert()
        .code(5)
        .stdout(contains("1 of 3 runs failed, first b"))
        .stderr(contains("[3/3]").and(contains("shard 1/1 (the whole suite): 3 cases")));
    assert_eq!(names(&place.file("r.json")), ["a", "b", "c"]);
    for (file, part) in [
        ("j.xml", "<testsuite"),
        ("m.md", "3 runs"),
        ("h.html", "<html"),
        ("summary.md", "3 runs"),
    ] {
        let text = fs::read_to_string(place.file(file)).unwrap();
        assert!(text.contains(part), "{file}: {text}");
    }
    place
        .suite(&["--filter", "tag:a", "--filter", "c$", "--format", "json"])
        .assert()
        .code(0)
        .stdout(
            contains("\"name\":\"a\"")
                .and(contains("\"name\":\"c\""))
                .and(contains("\"name\":\"b\"").not()),
        );
}

#[test]
fn shards_are_merged_and_a_missing_one_is_named() {
    let place = Place::new(&[("a", "pass"), ("b", "pass"), ("c", "fail"), ("d", "pass")]);
    let shard = |index: &str| {
        let mut play = place.suite(&["--partition", "auto", "--out", "out"]);
        play.env("CI_NODE_INDEX", index).env("CI_NODE_TOTAL", "2");
        play
    };
    shard("1").assert().code(5).stderr(contains(
        "shard 1/2 (from GitLab: CI_NODE_INDEX=1, CI_NODE_TOTAL=2)",
    ));
    place
        .report(&["out", "--report", "r.json"])
        .assert()
        .code(1)
        .stderr(contains("shard 2 of 2 is missing").and(contains(
            "b: not run: the report of shard 2 of 2 is missing",
        )));
    assert_eq!(names(&place.file("r.json")), ["a", "b", "c", "d"]);
    shard("2").assert().code(0);
    place
        .report(&["out", "--report", "r.json"])
        .assert()
        .code(5);
    assert_eq!(names(&place.file("r.json")), ["a", "b", "c", "d"]);
    place
        .report(&["out/1-1.ndjson", "out/1-1.ndjson"])
        .assert()
        .code(2)
        .stderr(contains("shard 1, attempt 1 is there twice"));
    place
        .suite(&["--filter", "[ab]", "--out", "other"])
        .assert()
        .code(0);
    place
        .report(&["out", "other"])
        .assert()
        .code(2)
        .stderr(contains("do not belong together"));
}

#[test]
fn with_sigterm_the_runs_end_and_the_report_says_interrupted() {
    let place = Place::new(&[("a", "pass"), ("c", "pass")]);
    let sign = place.file("sign");
    let text = format!(
        "bags = 'demo.mcap'\ncommand = ['hang', '{}']",
        sign.to_str().unwrap()
    );
    fs::write(place.file("suite/b.toml"), text).unwrap();
    let mut play = play_process();
    play.current_dir(place.0.path())
        .args([
            "suite",
            "suite",
            "--runner",
            "./stand-in",
            "--report",
            "r.json",
        ])
        .env_remove("GITHUB_STEP_SUMMARY")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut play = play.spawn().unwrap();
    until("the second case runs", || sign.exists());
    signal("-TERM", &play);
    assert_eq!(play.wait().unwrap().code(), Some(143));
    let lines = fs::read_to_string(place.file("bagplay-suite/1-1.ndjson")).unwrap();
    let last = lines.lines().last().unwrap();
    assert!(last.contains(r#""why":"interrupted""#), "{last}");
    assert_eq!(names(&place.file("r.json")), ["a", "b", "c"]);
    let report = json(&fs::read(place.file("r.json")).unwrap());
    let not_run = &report["runs"][2];
    assert_eq!(not_run["ended"], "not-run", "{report}");
    let why = "not run: the suite was interrupted before";
    assert_eq!(not_run["checks"][0]["reason"], why);
    place
        .report(&["bagplay-suite"])
        .assert()
        .code(143)
        .stderr(contains("c: not run: shard 1 of 1 was interrupted before"));
}

#[test]
fn a_second_signal_ends_the_suite_at_once_and_leaves_no_run() {
    let place = Place::new(&[]);
    let sign = place.file("sign");
    let text = format!(
        "bags = 'demo.mcap'\ncommand = ['stay', '{}']",
        sign.to_str().unwrap()
    );
    fs::write(place.file("suite/a.toml"), text).unwrap();
    let mut play = play_process();
    play.current_dir(place.0.path())
        .args(["suite", "suite", "--runner", "./stand-in"])
        .env_remove("GITHUB_STEP_SUMMARY")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut play = play.spawn().unwrap();
    until("the case runs", || sign.exists());
    let run = fs::read_to_string(&sign).unwrap();
    let run = PathBuf::from(format!("/proc/{}/cmdline", run.trim()));
    let is_running = || fs::read(&run).is_ok_and(|words| !words.is_empty());
    assert!(is_running());
    // Signals of one kind that arrive together count as one.
    signal("-INT", &play);
    signal("-TERM", &play);
    assert!([130, 143].map(Some).contains(&play.wait().unwrap().code()));
    until("the run has ended", || !is_running());
}

#[test]
fn what_is_no_suite_is_a_usage_error() {
    let place = Place::new(&[("a", "pass")]);
    for (args, reason) in [
        (&["--partition", "3/2"][..], "is not a partition"),
        (&["--partition", "auto"], "no variable of the environment"),
        (&["--filter", "nothing"], "no case matches `nothing`"),
        (&["--filter", "("], "unclosed group"),
        (&["--timings", "none.json"], "none.json"),
        (&["not-there"], "not-there"),
        (&["--repeat", "0"], "--repeat"),
    ] {
        place
            .suite(args)
            .assert()
            .code(2)
            .stdout("")
            .stderr(contains(reason));
    }
    fs::write(place.file("suite/bad.toml"), "bags = 'x'\nlockstepp = true").unwrap();
    place.suite(&[]).assert().code(2).stderr(contains(
        "suite/bad.toml:2:1: there is no key `lockstepp`; is `lockstep` meant?",
    ));
    for (line, place_and_reason) in [
        ("rate = 'fast'", ":2:8: invalid value 'fast' for '--rate"),
        ("clock = -1", ":2:9: invalid value '-1' for '--clock"),
        (
            "clock-topics = '/a'\ngate = ['/a']",
            ":3:8: invalid value '/a' for '--gate",
        ),
        (
            "record-topics = ['/a b']",
            ":2:17: invalid value '/a b' for '--record-topics",
        ),
        ("rate = 1\nrate = 2", ":3:1: duplicate key `rate`"),
    ] {
        fs::write(place.file("suite/bad.toml"), format!("bags = 'x'\n{line}")).unwrap();
        let said = format!("suite/bad.toml{place_and_reason}");
        let file = place.file("suite/bad.toml");
        for words in [&["suite"][..], &["suite", "--list"], &["--scenario"]] {
            let mut play = play();
            let refused = play.args(words).arg(&file).assert().code(2);
            refused.stdout("").stderr(contains(said.as_str()));
        }
    }
    fs::write(
        place.file("suite/bad.toml"),
        "bags = 'x'\ngolden = 'none.mcap'",
    )
    .unwrap();
    place
        .suite(&[])
        .assert()
        .code(2)
        .stderr(contains("bad needs suite/none.mcap, which is not there"));
    play()
        .args(["suite"])
        .assert()
        .code(2)
        .stderr(contains("no folder of scenarios"));
    assert!(!place.file("bagplay-suite").exists(), "nothing was run");
}

#[test]
fn what_cannot_be_started_or_written_is_a_usage_error() {
    let place = Place::new(&[("a", "pass")]);
    fs::write(place.file("plain"), "").unwrap();
    for (flags, said) in [
        (&["--runner", "./nope"][..], "--runner: there is no ./nope"),
        (&["--runner", "./plain"], "--runner: ./plain cannot be run"),
        (&["--runner", "no-such-program"], "is not found in PATH"),
        (&["--out", "plain"], "--out: plain: "),
        (
            &["--update-golden"],
            "--update-golden: no case has a reference",
        ),
    ] {
        let mut suite = place.suite(&[]);
        if flags[0] == "--runner" {
            suite = place.without_runner(&["suite"]);
        }
        suite.args(flags).assert().code(2).stderr(contains(said));
    }
    // A program of the PATH.
    let mut run = place.without_runner(&["suite", "--runner", "true"]);
    run.assert().code(1).stdout(contains(
        "play ended with exit code 0, and it has written no report\n",
    ));
}

#[test]
fn reports_are_files_of_their_own() {
    let place = Place::new(&[("a", "pass")]);
    fs::write(place.file("t.ndjson"), "").unwrap();
    fs::create_dir(place.file("out")).unwrap();
    for (flags, said) in [
        (
            &["--report", "r", "--html", "./r"][..],
            "--html ./r would overwrite the file of --report",
        ),
        (
            &["--report", "t.ndjson", "--timings", "t.ndjson"],
            "would overwrite the file of --timings",
        ),
        (
            &["--out", "out", "--report", "out/1-1.ndjson"],
            "would have the name of a report of a shard",
        ),
    ] {
        place.suite(flags).assert().code(2).stderr(contains(said));
    }
    let report = ["t.ndjson", "--report", "t.ndjson"];
    let refused = place.report(&report).assert().code(2);
    refused.stderr(contains("would overwrite the report of a shard"));
}

#[test]
fn the_list_finds_what_does_not_fit_the_recordings() {
    let place = Place::new(&[]);
    for (key, said) in [
        ("start = '+1h'", "a.toml: nothing to play"),
        ("record = 'demo.mcap'", ""),
        ("gate = ['/imu -> /a', '/imu -> /a']", "same rule"),
        ("domain-id = 3", "--domain-id"),
        ("gate = ['/nowhere -> /a']", "/nowhere is not played"),
    ] {
        let text = format!("bags = 'demo.mcap'\ncommand = ['true']\n{key}");
        fs::write(place.file("suite/a.toml"), text).unwrap();
        let list = place.without_runner(&["suite", "--list"]).assert();
        let code = if said.is_empty() { 0 } else { 2 };
        list.code(code).stderr(contains(said));
    }
    let demo = place.file("suite/demo.mcap");
    let text = format!("bags = 'demo.mcap'\ncommand = ['true']\nrecord = {demo:?}");
    fs::write(place.file("suite/a.toml"), text).unwrap();
    let list = place.without_runner(&["suite", "--list"]).assert();
    list.code(2)
        .stderr(contains("--record").and(contains("would overwrite the recording")));
}

#[test]
fn the_list_shows_shards_and_runs_nothing() {
    let place = Place::new(&[("a", "pass"), ("b", "pass"), ("c", "pass")]);
    let listed = place
        .suite(&["--list", "--partition", "1/2", "--format", "json"])
        .output()
        .unwrap();
    let listed = json(&listed.stdout);
    let cases: Vec<(&str, u64)> = listed["cases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|case| {
            (
                case["name"].as_str().unwrap(),
                case["shard"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(cases, [("a", 1), ("b", 2), ("c", 1)]);
    assert!(listed["cases"][0]["secs"].as_f64().unwrap() > 1.0);
    place
        .suite(&["--list"])
        .assert()
        .code(0)
        .stdout(contains("3 cases, digest "));
    assert!(!place.file("bagplay-suite").exists(), "nothing was run");
}

#[test]
fn the_list_names_the_systems_that_stay_and_takes_the_bounds_of_scenarios() {
    let place = Place::new(&[("a", "pass")]);
    place
        .suite(&["--list"])
        .assert()
        .code(0)
        .stdout(contains("\n1 case, digest "));
    for (name, more) in [
        ("b", "restart = 'never'\nstart = '+1s'\nend = '+3s'"),
        ("c", "restart = 'never'\ngrace = '1s'"),
        ("d", "restart = 'never'\nreset = ['true']"),
    ] {
        let text = format!("bags = 'demo.mcap'\ncommand = ['pass']\n{more}");
        fs::write(place.file(&format!("suite/{name}.toml")), text).unwrap();
    }
    let listed = place.suite(&["--list", "--format", "json"]).output();
    let listed = json(&listed.unwrap().stdout);
    let systems: Vec<Option<u64>> = listed["cases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|case| case["system"].as_u64())
        .collect();
    assert_eq!(systems, [None, Some(1), Some(2), Some(1)]);
    assert_eq!(listed["cases"][1]["secs"], 2.0);
    place
        .suite(&["--list"])
        .assert()
        .stdout(contains("d  (stays on system 1)\n"));
}

#[test]
fn with_a_runner_each_run_starts_its_program_and_says_so() {
    let place = Place::new(&[]);
    let text = "bags = 'demo.mcap'\ncommand = ['pass']\nrestart = 'never'";
    fs::write(place.file("suite/a.toml"), text).unwrap();
    let done = place.suite(&["--format", "json"]).output().unwrap();
    let report = json(&done.stdout);
    assert_eq!(report["exit_code"], 0, "{report}");
    let notes = report["runs"][0]["notes"].to_string();
    assert!(notes.contains("has no effect with --runner"), "{notes}");
}

#[test]
fn bazel_is_told_that_shards_are_known() {
    let place = Place::new(&[("a", "pass"), ("b", "pass")]);
    let status = place.file("status");
    place
        .suite(&["--partition", "auto"])
        .env("TEST_SHARD_INDEX", "1")
        .env("TEST_TOTAL_SHARDS", "2")
        .env("TEST_SHARD_STATUS_FILE", &status)
        .assert()
        .code(0);
    assert!(status.exists());
    let report = fs::read_to_string(place.file("bagplay-suite/2-1.ndjson")).unwrap();
    assert!(report.contains(r#""name":"b","repetition""#), "{report}");
}

#[test]
fn other_reports_are_written_when_that_of_the_shard_cannot_be() {
    let names: Vec<String> = (10..30).map(|number| number.to_string()).collect();
    let cases: Vec<_> = names.iter().map(|name| (name.as_str(), "pass")).collect();
    let place = Place::new(&cases);
    let play = assert_cmd::cargo::cargo_bin("play");
    // No file may be longer than 8 KiB, which is enough for the summary alone.
    let done = assert_cmd::Command::new("sh")
        .args(["-c", "ulimit -f 16; exec \"$0\" \"$@\""])
        .arg(play)
        .args([
            "suite",
            "suite",
            "--runner",
            "./stand-in",
            "--markdown",
            "m.md",
        ])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .current_dir(place.0.path())
        .assert()
        .code(1)
        .stdout(contains("not run: the report of the shard is incomplete"));
    let said = String::from_utf8_lossy(&done.get_output().stderr).into_owned();
    assert!(said.contains("error:"), "{said}");
    let markdown = fs::read_to_string(place.file("m.md")).unwrap();
    assert!(
        markdown.contains("of 20 runs could not be judged"),
        "{markdown}"
    );
}

#[test]
fn a_report_that_cannot_be_written_hides_no_worse_exit() {
    // The case deletes the folder of the report.
    for (case, exit) in [("alone reports 2", 2), ("alone reports 5", 1)] {
        let place = Place::new(&[("a", case)]);
        place
            .suite(&["--html", "reports/h.html"])
            .assert()
            .code(exit)
            .stdout(contains("exit code"))
            .stderr(contains("reports/h.html cannot be written"));
    }
}

#[test]
fn a_reader_that_is_gone_hides_no_failure() {
    let place = Place::new(&[("a", "fail")]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut play = play_process();
    play.current_dir(place.0.path())
        .args(["suite", "suite", "--runner", "./stand-in"])
        .env_remove("GITHUB_STEP_SUMMARY")
        .stdout(writer)
        .stderr(Stdio::null());
    assert_eq!(play.status().unwrap().code(), Some(5));
}

#[test]
fn a_holder_of_which_nobody_would_know_ends() {
    use std::os::unix::ffi::OsStrExt as _;
    let place = Place::new(&[]);
    let odd = std::ffi::OsStr::from_bytes(b"odd-\xff");
    let mut word = std::ffi::OsString::from("--run-dir=");
    word.push(place.0.path().join(odd));
    play()
        .args(["suite", "hold-system"])
        .arg(word)
        .args(["--", "sleep", "1000"])
        .assert()
        .code(1)
        .stderr(contains("UTF-8"));
}

#[test]
fn a_shard_without_cases_passes_and_says_so() {
    let place = Place::new(&[("a", "pass"), ("b", "pass"), ("c", "pass")]);
    let said = "passed: no case belongs to this shard\n";
    place
        .suite(&["--partition", "5/8", "--markdown", "m.md"])
        .assert()
        .code(0)
        .stdout(predicates::str::starts_with(said));
    let markdown = fs::read_to_string(place.file("m.md")).unwrap();
    assert!(
        markdown.contains("no case belongs to this shard"),
        "{markdown}"
    );
}

#[test]
fn a_report_does_not_replace_a_file_that_a_case_reads() {
    let place = Place::new(&[("a", "pass")]);
    for file in ["suite/a.toml", "suite/demo.mcap"] {
        let before = fs::read(place.file(file)).ok();
        place
            .suite(&["--junit", file])
            .assert()
            .code(2)
            .stderr(contains(format!(
                "--junit {file} would overwrite a file that a reads"
            )));
        assert_eq!(fs::read(place.file(file)).ok(), before);
    }
}

#[test]
fn the_suite_stops_at_a_failure() {
    let place = Place::new(&[("a", "fail"), ("b", "pass")]);
    place
        .suite(&["--fail-fast", "-j", "1", "--report", "r.json"])
        .assert()
        .code(5)
        .stderr(contains(
            "1 case not run: another case has failed (--fail-fast)",
        ))
        .stdout(contains("\n  skipped b: "));
    assert_eq!(names(&place.file("r.json")), ["a", "b"]);
}

#[test]
fn parts_are_cut_by_name_and_weighed_by_earlier_reports() {
    let place = Place::new(&[("a", "pass"), ("b", "pass"), ("c", "pass"), ("d", "pass")]);
    let mut all = Vec::new();
    for part in ["1/2", "2/2"] {
        let file = format!("{}.json", &part[..1]);
        place
            .suite(&["--partition", &format!("hash:{part}"), "--report", &file])
            .assert()
            .code(0)
            .stderr(contains(format!("shard {part}")));
        all.extend(names(&place.file(&file)));
    }
    all.sort();
    assert_eq!(all, ["a", "b", "c", "d"]);
    place.suite(&["--junit", "j.xml"]).assert().code(0);
    let listed = place
        .suite(&["--timings", "j.xml", "--list", "--format", "json"])
        .output()
        .unwrap();
    assert!(listed.status.success());
    let listed = json(&listed.stdout);
    let secs = |listed: &serde_json::Value| {
        let cases = listed["cases"].as_array().unwrap().clone();
        let secs = cases.into_iter().map(|case| case["secs"].clone());
        secs.collect::<Vec<_>>()
    };
    let plain = place
        .suite(&["--list", "--format", "json"])
        .output()
        .unwrap();
    assert_ne!(secs(&listed), secs(&json(&plain.stdout)));
}

#[test]
fn each_run_is_told_to_write_its_reference() {
    let place = Place::new(&[]);
    let text = "bags = 'demo.mcap'\ncommand = ['update']\ngolden = 'a.mcap'";
    fs::write(place.file("suite/a.toml"), text).unwrap();
    place.suite(&[]).assert().code(2).stderr(contains(
        "a.mcap, which is not there; hint: --update-golden writes it",
    ));
    place.suite(&["--update-golden"]).assert().code(0);
}

#[test]
fn a_scenario_is_a_run_and_what_is_given_beside_it_counts() {
    let place = Place::new(&[]);
    let text = "bags = 'demo.mcap'\ncommand = ['sleep', '1000']\nwait-timeout = 0.2";
    fs::write(place.file("suite/a.toml"), text).unwrap();
    for (more, command) in [
        (&[][..], ["sleep", "1000"]),
        (&["--", "sleep", "999"], ["sleep", "999"]),
    ] {
        let mut play = play();
        play.env_remove("GITHUB_STEP_SUMMARY")
            .current_dir(place.0.path())
            .args(["--scenario", "suite/a.toml", "--isolated"])
            .args(["--run-dir", "run", "--report", "r.json"])
            .args(more)
            .assert()
            .code(4);
        let report = json(&fs::read(place.file("r.json")).unwrap());
        let said = report["child"]["command"].to_string();
        let words = serde_json::to_string(&command).unwrap();
        assert_eq!(said, words, "{report}");
    }
}
