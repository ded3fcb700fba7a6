//! The reports of a run: what each says of a run that failed, of hostile text, and of many runs.

mod html;
mod json;
mod junit;
mod markdown;
mod text;

use bagplay::ci::report::{
    Check, Ended, Happened, Kind, Moment, Outcome, Overall, ReadFile, RecordedFile, Reported,
    RunRecord, Spans, Verdict, read_run, to_html, to_junit, to_markdown, to_text,
};
use serde_json::Value;

/// Text that breaks out of whatever does not escape it.
const HOSTILE: &str = "</script><script>alert(1)</script>\"' onload=\"alert(2)\" <img src=x onerror=alert(3)> \
                       ]]> --> &amp; | `a` [b](http://c) @d #1 \u{1b}[2J\0\r\n# e\u{202e}\u{ffff}";

fn path_of_example() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/ci/run.json")
}

/// A run in which three of ten checks failed, with a timeline of 300 questions.
fn failed() -> RunRecord {
    let mut run = read_run(&path_of_example()).unwrap();
    let (start, _) = run.played_ns.unwrap();
    let mut add = |number: u16, what, of: &str, took_ms| {
        run.timeline.push(Moment {
            log_ns: start + i64::from(number) * 100_000_000,
            wall_ms: f64::from(number) * 14.0,
            what,
            of: of.to_owned(),
            took_ms,
        });
    };
    for number in 0..300 {
        let took = if number == 187 { 212.5 } else { 8.21 };
        add(number, Happened::Input, "/points", None);
        add(
            number,
            Happened::Answer,
            "/points -> /odom by stamp",
            Some(took),
        );
        add(number, Happened::Output, "/odom", None);
        if (124..127).contains(&number) {
            add(number, Happened::Miss, "/points -> /obstacles", None);
        }
    }
    let value = |number: u16| {
        (
            start + i64::from(number) * 100_000_000,
            f64::from(number % 7),
        )
    };
    let divergence = run.divergence.as_mut().unwrap();
    let reference: Vec<(i64, f64)> = (100..150).map(value).collect();
    let mut own = reference.clone();
    own[24].1 = f64::NAN;
    own[25].1 += 3.0;
    divergence.series = (reference, own);
    run
}

/// The same run if nothing had failed.
fn passed() -> RunRecord {
    let run = failed();
    RunRecord {
        checks: run
            .checks
            .into_iter()
            .filter(|check| check.verdict == Verdict::Passed)
            .collect(),
        timeline: run
            .timeline
            .into_iter()
            .filter(|m| m.what != Happened::Miss)
            .collect(),
        divergence: None,
        differences: Vec::new(),
        repeated: None,
        exit_code: 0,
        ..run
    }
}

fn interrupted() -> RunRecord {
    RunRecord {
        name: "stopped".to_owned(),
        ended: Ended::Interrupted,
        exit_code: 143,
        checks: Vec::new(),
        ..passed()
    }
}

fn undecided() -> RunRecord {
    let reason = "warehouse.mcap: chunk at byte 81920 is damaged";
    RunRecord {
        name: "damaged".to_owned(),
        ended: Ended::Failed,
        exit_code: 3,
        checks: vec![Check::new(Kind::Run, "recording", Verdict::Error, reason)],
        ..passed()
    }
}

/// A failed run in which every text is hostile.
fn hostile() -> RunRecord {
    fn poison(value: &mut Value) {
        match value {
            Value::String(text) => HOSTILE.clone_into(text),
            Value::Array(all) => all.iter_mut().for_each(poison),
            Value::Object(members) => {
                let words = ["pacing", "ended", "kind", "verdict", "what", "series"];
                for (name, member) in members.iter_mut() {
                    if !words.contains(&name.as_str()) || member.is_array() && name != "series" {
                        poison(member);
                    }
                }
                if let Some(Value::Object(files)) = members.get_mut("files") {
                    files.insert(HOSTILE.to_owned(), HOSTILE.into());
                }
            }
            _ => {}
        }
    }
    let run = failed();
    let mut value = serde_json::to_value(&run).unwrap();
    poison(&mut value);
    value["child"]["ended"] = HOSTILE.into();
    serde_json::from_value(value).unwrap()
}

/// Puts extreme numbers in place of all: in turn these in place of integers.
fn stretch(value: &mut Value, number: &mut usize, integers: [i64; 3]) {
    match value {
        Value::Number(old) => {
            *number += 1;
            let turn = *number % 3;
            *value = if old.is_f64() {
                [f64::MAX, f64::MIN, 1e-308][turn].into()
            } else {
                integers[turn].into()
            };
        }
        Value::Array(all) => all
            .iter_mut()
            .for_each(|one| stretch(one, number, integers)),
        Value::Object(members) => members
            .values_mut()
            .for_each(|one| stretch(one, number, integers)),
        _ => {}
    }
}

/// A run with the largest and smallest numbers that there are.
fn extreme() -> RunRecord {
    let run = failed();
    let mut value = serde_json::to_value(&run).unwrap();
    stretch(&mut value["timeline"], &mut 0, [i64::MAX, i64::MIN, 0]);
    stretch(
        &mut value["divergence"]["series"],
        &mut 0,
        [i64::MAX, i64::MIN, 0],
    );
    stretch(&mut value["gates"], &mut 0, [i64::MAX, 1, 0]);
    let mut run: RunRecord = serde_json::from_value(value).unwrap();
    for input in &mut run.inputs {
        (input.messages, input.bytes, input.lost) = (u64::MAX, u64::MAX, u64::MAX);
    }
    for gate in &mut run.gates {
        (gate.answered, gate.missed) = (u64::MAX, u64::MAX);
        gate.latency.p99 = f64::INFINITY;
        gate.latency.p50 = f64::NAN;
    }
    RunRecord {
        played_ns: Some((i64::MAX, i64::MIN)),
        took_ms: f64::NAN,
        began_unix_ns: i64::MIN,
        ..run
    }
}

#[test]
fn no_number_is_too_large_for_any_report() {
    for run in [extreme(), RunRecord::default()] {
        for runs in [vec![run.clone()], vec![run.clone(), run.clone()]] {
            assert!(is_clean(&to_text(&runs)));
            assert!(is_clean(&to_markdown(&runs, 1 << 20)));
            assert!(to_junit(&runs).unwrap().len() > 100);
            let page = to_html(&runs);
            for nothing in ["NaN", "inf%", "-nan"] {
                assert!(!page.contains(&format!("{nothing}\"")), "{nothing}");
            }
        }
    }
}

/// Whether there is a character that a terminal or a browser could take for more than text.
fn is_clean(text: &str) -> bool {
    let is_bad = |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{202e}' | '\u{ffff}');
    !text.contains(is_bad)
}

/// A report identifies its case list, so that two reports can be recognised as reports of one suite.
#[test]
fn every_report_of_a_suite_has_the_digest_of_its_case_list() {
    let digest = "00c0ffee00b7d85e6310fe92c47ab0d1";
    for runs in [vec![passed()], vec![passed(), failed()]] {
        let of_suite = Reported::of_suite(&runs, digest);
        let junit = |reported| String::from_utf8(to_junit::<'_>(reported).unwrap()).unwrap();
        let with: [String; 3] = [
            junit(of_suite),
            to_markdown(of_suite, 1 << 20),
            to_html(of_suite),
        ];
        let without = [
            junit(Reported::from(&runs)),
            to_markdown(&runs, 1 << 20),
            to_html(&runs),
        ];
        for (with, without) in with.iter().zip(&without) {
            assert!(with.contains(digest), "{with}");
            assert!(!without.contains(digest) && !without.contains("case list"));
        }
        let property = format!("<property name=\"suite\" value=\"{digest}\"/>");
        assert_eq!(with[0].matches(&property).count(), runs.len());
    }
}

#[test]
fn a_shard_without_cases_has_passed_in_every_report() {
    let digest = "00c0ffee00b7d85e6310fe92c47ab0d1";
    let shard = Reported::of_empty_shard(digest);
    let sentence = "no case belongs to this shard";
    let outcome = Outcome::of_all(shard);
    assert_eq!((outcome.overall, outcome.exit_code), (Overall::Passed, 0));
    assert_eq!(outcome.sentence, sentence);
    let first = format!("passed: {sentence}\n");
    assert!(to_text(shard).starts_with(&first));
    let markdown = to_markdown(shard, 1 << 20);
    assert!(markdown.contains(&format!("Passed: {sentence}\n")));
    let html = to_html(shard);
    assert!(html.contains("<title>passed: ") && html.contains(sentence));
    let junit = String::from_utf8(to_junit(shard).unwrap()).unwrap();
    junit::assert_valid(&roxmltree::Document::parse(&junit).unwrap());
    let suite = format!(r#"<testsuite name="{sentence}" tests="0" failures="0" errors="0""#);
    assert!(junit.contains(&suite), "{junit}");
    // Other reports without a run are errors.
    for nothing in [Reported::of_suite(&[], digest), Reported::from(&[])] {
        assert_eq!(Outcome::of_all(nothing).overall, Overall::Error);
    }
}

#[test]
fn what_was_read_and_how_late_messages_were_is_in_the_reports() {
    let words = |line: &str| line.split(' ').map(str::to_owned).collect();
    let digest = "0ddba11000000000000000000000cafe";
    let mut run = RunRecord {
        command_line: words("play --scenario run.toml"),
        effective_command_line: words("play a.mcap --rate=2"),
        versions: [("zenoh".to_owned(), "9.8.7".to_owned())].into(),
        lateness: Some(Spans {
            count: 12,
            p50: 0.25,
            p99: 1.5,
            max: 2.5,
        }),
        ..passed()
    };
    run.read_files = vec![ReadFile {
        what: "expect".to_owned(),
        file: RecordedFile {
            name: "expect.toml".to_owned(),
            bytes: 7,
            xxh3_128: Some(digest.to_owned()),
        },
    }];
    let junit = String::from_utf8(to_junit(&[run.clone()]).unwrap()).unwrap();
    for (name, value) in [
        ("effective_command_line", "play a.mcap --rate=2"),
        ("lateness", "p50 0.250 ms, p99 1.50 ms, max 2.50 ms"),
        ("version.zenoh", "9.8.7"),
        (
            "expect",
            &format!("expect.toml (7 bytes, XXH3-128 {digest})"),
        ),
    ] {
        let property = format!("<property name=\"{name}\" value=\"{value}\"/>");
        assert!(junit.contains(&property), "{property}: {junit}");
    }
    assert!(to_html(&[run.clone()]).contains(digest));
    assert!(to_markdown(&[run], 1 << 20).contains("| lateness | p50 0.250 ms"));
}
