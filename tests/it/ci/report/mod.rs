//! The reports of a run: what each says of a run that failed, of hostile text, and of many runs.

mod html;
mod json;
mod junit;
mod markdown;
mod text;

use bagplay::ci::report::{Check, Ended, Happened, Kind, Moment, RunRecord, Verdict, read_run};
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

/// Whether there is a character that a terminal or a browser could take for more than text.
fn is_clean(text: &str) -> bool {
    let is_bad = |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{202e}' | '\u{ffff}');
    !text.contains(is_bad)
}
