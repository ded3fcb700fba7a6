//! `play find`: its arguments, what it prints, its exit codes.

use std::io::{BufRead as _, BufReader};
use std::path::Path;

use assert_cmd::Command;
use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::{contains, starts_with};

use super::{play, play_process};
use crate::support::cdr::Cdr;
use crate::support::mcaps::{Files, place};
use crate::support::typed::{Typed, definition};

const SECOND: u64 = 1_000_000_000;
const START: u64 = 1_700_000_000 * SECOND;

fn entry(level: u8, msg: &str) -> Vec<u8> {
    Cdr::little().u8(level).f64(f64::NAN).text(msg).done()
}

/// A message each second, of levels 0, 10, 20 and so on.
fn log(messages: u64) -> Typed {
    let mut file = Typed::new();
    let of = definition(
        "p/msg/Log",
        "uint8 ERROR=40\nuint8 level\nfloat64 x\nstring msg",
        &[],
    );
    let topic = file.topic("/log", &of);
    let other = file.topic("/\u{1b}[2J", &of);
    file.message(other, START, &entry(200, "\u{1b}]0;x\u{7}"));
    for second in 0..messages {
        let level = u8::try_from(second % 6 * 10).unwrap();
        let text = format!("message {second}");
        file.message(topic, START + second * SECOND, &entry(level, &text));
    }
    file
}

fn file(messages: u64) -> Files {
    Files::of([log(messages).write()])
}

fn find(files: &Files, words: &[&str]) -> Command {
    let mut find = play();
    find.env("TZ", "UTC")
        .arg("find")
        .args(&files.paths)
        .args(words);
    find
}

#[test]
fn a_line_has_the_time_the_topic_and_the_values() {
    let files = file(9);
    find(&files, &["/log level >= ERROR show msg"])
        .assert()
        .code(0)
        .stdout(
            "2023-11-14 22:13:24.000 UTC  +00:04.000  /log  level = 40, msg = \"message 4\"\n\
             2023-11-14 22:13:25.000 UTC  +00:05.000  /log  level = 50, msg = \"message 5\"\n",
        )
        .stderr("2 hits: 9 messages searched\n");
}

#[test]
fn json_has_a_line_for_each_hit_and_one_for_the_totals() {
    let files = file(9);
    let lines = |words: &[&str]| -> Vec<serde_json::Value> {
        let out = find(&files, words)
            .args(["--format", "json"])
            .assert()
            .code(0);
        let out = String::from_utf8(out.get_output().stdout.clone()).unwrap();
        out.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let time = START + 5 * SECOND;
    let totals = serde_json::json!({
        "schema": 1, "hits": 1, "messages": 9, "ended": "end", "unreadable": [], "damage": []
    });
    assert_eq!(
        lines(&["/log level > 60", "/log level > 40 show x"]),
        [
            serde_json::json!({
                "schema": 1, "time_ns": time, "topic": "/log", "expression": 1,
                "values": [{"field": "level", "value": 50}, {"field": "x", "value": "NaN"}]
            }),
            totals.clone()
        ]
    );
    assert_eq!(lines(&["/log level > 40", "--count"]), [totals]);
}

#[test]
fn the_exit_code_tells_hits_from_none_and_from_errors() {
    let files = file(9);
    for (words, code, said) in [
        (&["/log level == 40"][..], 0, "1 hit: 9 messages searched"),
        (&["/log level == 41"], 5, "no hits: 9 messages searched"),
        (&["/log level ="], 2, "`=` is no operator; write =="),
        (
            &["/logs level == 40"],
            2,
            "no topic `/logs` in the recording; did you mean /log?",
        ),
        (
            &["/log lvl == 40"],
            2,
            "/log: the message has no field `lvl`; its fields are level, x, msg",
        ),
        (
            &["/log level == 40", "--start", "+1h"],
            2,
            "nothing to search: the start",
        ),
        (&["/log level == 40", "--limit", "0"], 2, "0 is not in 1.."),
        (
            &[],
            2,
            "there is no expression; write one in quotes after the recordings",
        ),
        (&["missing.mcap", "/log level == 40"], 3, "missing.mcap"),
    ] {
        find(&files, words)
            .assert()
            .code(code)
            .stderr(contains(said));
    }
    let mut raw = Typed::new();
    raw.untyped("/raw", "protobuf");
    let files = Files::of([raw.write()]);
    find(&files, &["/raw x == 1"])
        .assert()
        .code(3)
        .stderr(contains(
            "/raw: its messages cannot be searched: `protobuf`",
        ));
}

#[test]
fn an_error_in_an_expression_shows_its_place() {
    let expected = "error: expected an operator (== != < <= > >= contains =~); found `40`\n  \
        /log level 40\n             ^\n";
    find(&file(1), &["/log level 40"])
        .assert()
        .code(2)
        .stdout("")
        .stderr(starts_with(expected).and(contains("Usage: play find")));
    // Its escapes do not reach the terminal.
    find(&file(1), &["/log level \u{1b}[2J"])
        .assert()
        .code(2)
        .stderr(contains("/log level \\u{1b}[2J").and(contains("\u{1b}").not()));
}

#[test]
fn the_search_is_limited_in_time_and_number() {
    let files = file(30);
    for (words, count, said) in [
        (&["--count"][..], "30", "30 hits: 30 messages"),
        (
            &["--count", "--limit", "7"],
            "7",
            "7 hits: 7 messages searched, the rest was not (--limit)",
        ),
        (&["--count", "--start", "+10s"], "20", "20 messages"),
        (
            &["--count", "--start", "+10s", "--end", "+12s"],
            "3",
            "3 messages",
        ),
        (&["--count", "--end", "-10s"], "20", "20 messages"),
    ] {
        let words = [&["/log level >= 0"], words].concat();
        let out = find(&files, &words).assert().code(0);
        out.stdout(format!("{count}\n")).stderr(contains(said));
    }
    let out = find(&files, &["/log level >= 0", "--limit", "2"]).assert();
    let out = String::from_utf8(out.get_output().stdout.clone()).unwrap();
    assert_eq!(out.lines().count(), 2);
}

#[test]
fn recordings_come_first_and_may_have_spaces_in_their_names() {
    let files = Files::of([log(9).write(), log(9).write()]);
    find(&files, &["/log level == 40", "/log level == 50", "--count"])
        .assert()
        .code(0)
        .stdout("4\n");
    let folder = files.paths[0].parent().unwrap();
    std::fs::rename(&files.paths[0], folder.join("my drive.mcap")).unwrap();
    let mut find = play();
    find.current_dir(folder);
    find.args([
        "find",
        "1.mcap",
        "my drive.mcap",
        "/log level == 40",
        "--count",
    ]);
    find.assert().code(0).stdout("2\n");
    // The first word is a recording in any case.
    let mut find = play();
    find.current_dir(folder);
    find.args(["find", "no drive.mcap", "/log level == 40"]);
    find.assert().code(3).stderr(contains("no drive.mcap"));
}

#[test]
fn foreign_text_is_escaped() {
    let files = file(1);
    let text = ["=~ \".*J\" msg contains \"x\""];
    let out = find(&files, &text).assert().code(0);
    out.stdout(contains("/\\u{1b}[2J  msg = \"\\u{1b}]0;x\\u{7}\"\n"));
    let json = find(&files, &text)
        .args(["--format", "json"])
        .assert()
        .code(0);
    json.stdout(contains("\u{1b}").not().and(contains("\"/\\u001b[2J\"")));
    let count = find(&files, &["=~ \".*\" level == 200", "--count"]).assert();
    count.code(0).stdout("1\n");
}

#[test]
fn damage_is_reported_and_nothing_is_not_certain_then() {
    let whole = log(2000).write();
    // The compressed data of a chunk in the middle.
    let chunk = place(&whole, 6, 5);
    let mut damaged = whole.clone();
    damaged[chunk.at + 9 + chunk.body - 20] ^= 0x55;
    let files = Files::of([damaged]);
    find(&files, &["/log level == 40", "--count"])
        .assert()
        .code(0)
        .stderr(contains("warning: ").and(contains("hits: ")));
    find(&files, &["/log level == 41", "--count"])
        .assert()
        .code(3)
        .stdout("0\n")
        .stderr(contains("warning: ").and(contains("no hits in what could be read")));
}

#[test]
fn messages_without_their_type_are_reported_once_for_each_topic() {
    let mut log = log(3);
    let of = definition("p/msg/T", "string a", &[]);
    let topic = log.topic("/short", &of);
    for second in 0..3 {
        log.message(topic, START + second * SECOND, &[0, 1, 0, 0, 9]);
    }
    let files = Files::of([log.write()]);
    let said = "warning: /short: 3 messages do not match their type, the first at \
        2023-11-14 22:13:20.000 UTC  +00:00.000: byte 4:";
    find(&files, &["/short a == \"x\""])
        .assert()
        .code(3)
        .stderr(contains(said));
    let out = find(
        &files,
        &["/short a == \"x\"", "/log level == 0", "--format", "json"],
    );
    let out = { out }.assert().code(0);
    let out = String::from_utf8(out.get_output().stdout.clone()).unwrap();
    let totals: serde_json::Value = serde_json::from_str(out.lines().last().unwrap()).unwrap();
    assert_eq!(totals["unreadable"][0]["topic"], "/short");
    assert_eq!(totals["unreadable"][0]["messages"], 3);
    assert_eq!(totals["unreadable"][0]["time_ns"], START);
}

#[test]
fn a_reader_that_leaves_ends_the_search_quietly() {
    let files = file(20_000);
    let mut find = play_process();
    let path: &Path = &files.paths[0];
    find.arg("find").arg(path).arg("/log level >= 0 show msg");
    let mut find = find.spawn().unwrap();
    let mut first = String::new();
    BufReader::new(find.stdout.take().unwrap())
        .read_line(&mut first)
        .unwrap();
    assert!(first.contains("message 0"), "{first}");
    let out = find.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(0));
    let said = String::from_utf8(out.stderr).unwrap();
    assert!(!said.contains("error"), "{said}");
}

#[test]
fn topics_that_a_pattern_leaves_out_are_named_up_to_a_number() {
    let mut log = log(3);
    for number in 0..20 {
        log.untyped(&format!("/raw{number:02}"), "protobuf");
    }
    let files = Files::of([log.write()]);
    let words = ["=~ \"/raw.*|/log\" level == 10", "--count"];
    let said = "warning: left out /raw07: its messages cannot be searched: \
        `protobuf` without a definition is not decoded\nwarning: left out 12 more\n";
    find(&files, &words).assert().code(0).stderr(contains(said));
}
