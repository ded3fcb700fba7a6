//! Running cases: each is a process, and each way in which it may end becomes a record.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use bagplay::ci::report::{Ended, Outcome, Overall, RunRecord, Verdict};
use bagplay::ci::suite::{CaseList, Event, Finished, Runner, Why};
use crossbeam_channel::{Receiver, bounded, never};

use super::stand_in::Place;
use crate::support::patience::{PATIENCE, until};

fn runner(place: &Place) -> Runner {
    Runner {
        program: place.program(),
        more: Vec::new(),
        folder: place.path().join("runs"),
        holder: None,
        jobs: 2,
        repeat: 1,
        fail_fast: false,
        timeout: None,
        grace: PATIENCE,
    }
}

fn run(
    runner: &Runner,
    cases: &CaseList,
    stop: &Receiver<u8>,
) -> (Finished<u8>, BTreeMap<String, RunRecord>) {
    let list: Vec<_> = cases.cases().iter().collect();
    let mut records = BTreeMap::new();
    let (mut now, mut most) = (0, 0);
    let finished = runner.run(&list, stop, &mut |event| {
        match event {
            Event::Started { .. } => {
                now += 1;
                most = most.max(now);
            }
            Event::RunEnded { .. } => now -= 1,
            Event::CaseEnded { case, record } => {
                assert_eq!(record.name, list[case].name);
                let before = records.insert(record.name.clone(), record.clone());
                assert!(before.is_none(), "a case ends once");
            }
        }
        Ok(())
    });
    let finished = finished.unwrap();
    assert!(most <= runner.jobs, "{most} at once");
    assert_eq!(finished.cases, records.len());
    (finished, records)
}

#[test]
fn each_end_of_a_run_becomes_a_record() {
    let place = Place::new();
    let cases = place.cases(&[
        ("pass", "pass"),
        ("fail", "fail"),
        ("lie", "lie"),
        ("broken", "broken"),
        ("empty", "empty"),
        ("newer", "newer"),
        ("usage", "nothing-known"),
        ("unreadable", "silent 3"),
        ("gate", "silent 4"),
        ("panicked", "silent 101"),
        ("crash", "crash"),
        ("variable", "variable"),
    ]);
    let (finished, records) = run(&runner(&place), &cases, &never());
    assert_eq!((finished.why, finished.cases), (Why::Complete, 12));
    let expected = [
        ("pass", 0, ""),
        ("fail", 5, ""),
        ("lie", 1, "play ended with exit code 0, but its report"),
        ("newer", 1, "its schema is 99"),
        ("broken", 1, "its report cannot be used: "),
        (
            "empty",
            1,
            "it has no `schema`: not a record of this program",
        ),
        (
            "usage",
            2,
            "play ended with exit code 2, and it has written no report; it said: words behind: stand-in nothing-known",
        ),
        ("unreadable", 3, "it said: no report from here"),
        ("gate", 4, "exit code 4"),
        ("panicked", 101, "exit code 101"),
        ("crash", 1, "play ended with signal 11"),
        ("variable", 0, ""),
    ];
    for (name, code, reason) in expected {
        let record = &records[name];
        assert_eq!(record.exit_code, code, "{record:?}");
        let reasons: Vec<&str> = record
            .checks
            .iter()
            .map(|check| check.reason.as_str())
            .collect();
        assert!(
            reasons.iter().any(|it| it.contains(reason)),
            "{name}: {reasons:?}"
        );
        let is_bad = record
            .checks
            .iter()
            .any(|check| check.verdict > Verdict::Skipped);
        assert_eq!(is_bad, code != 0, "{name}");
    }
}

#[test]
fn a_run_that_fails_after_its_report_was_written_does_not_pass() {
    let place = Place::new();
    let cases = place.cases(&[
        ("failed", "dirty 1"),
        ("unknown", "dirty 77"),
        ("verdict", "dirty 5"),
        ("terminated", "dirty 143"),
    ]);
    let (_, records) = run(&runner(&place), &cases, &never());
    for (name, code, overall) in [
        ("failed", 1, Overall::Error),
        ("unknown", 77, Overall::Error),
        ("verdict", 5, Overall::Failed),
        ("terminated", 143, Overall::Interrupted),
    ] {
        let record = &records[name];
        let outcome = Outcome::of(record);
        let found = (record.exit_code, outcome.overall);
        assert_eq!(found, (code, overall), "{record:?}");
        let check = record.checks.last().unwrap();
        assert!(check.verdict > Verdict::Skipped, "{record:?}");
        let ended = format!("play ended with exit code {code}, but its report says");
        assert!(check.reason.starts_with(&ended), "{}", check.reason);
    }
    let sentence = Outcome::of(&records["failed"]).sentence;
    let said = "; it said: the network cannot be removed";
    assert!(sentence.ends_with(said), "{sentence}");
}

#[test]
fn a_program_that_cannot_be_started_fails_every_case() {
    let place = Place::new();
    let runner = Runner {
        program: place.path().join("not-there"),
        ..runner(&place)
    };
    let cases = place.cases(&[("a", "pass"), ("b", "pass"), ("c", "pass")]);
    let (finished, records) = run(&runner, &cases, &never());
    assert_eq!((finished.why, records.len()), (Why::Complete, 3));
    assert!(
        records["a"].checks[0]
            .reason
            .contains("not-there cannot be started")
    );
    assert_eq!(records["a"].exit_code, 1);
}

#[test]
fn a_run_that_takes_too_long_is_asked_to_end_and_has_failed() {
    let place = Place::new();
    let sign = place.path().join("sign");
    let cases = place.cases_with(
        &[("slow", &format!("hang {}", sign.to_str().unwrap()))],
        "timeout = 0.3",
    );
    let (_, records) = run(&runner(&place), &cases, &never());
    let record = &records["slow"];
    assert_eq!((record.exit_code, record.ended), (4, Ended::Failed));
    assert!(record.checks.iter().any(|check| {
        check
            .reason
            .starts_with("the run took longer than its time limit")
    }));
}

#[test]
fn a_report_that_was_there_before_a_run_is_not_its_report() {
    let place = Place::new();
    let cases = place.cases(&[("crash", "crash")]);
    let runner = runner(&place);
    let own = runner.folder.join(cases.cases()[0].folder());
    fs::create_dir_all(&own).unwrap();
    let stale = r#"{"name":"of another","ended":"complete","exit_code":0,"notes":["stale"]}"#;
    fs::write(own.join("report.json"), stale).unwrap();
    let (_, records) = run(&runner, &cases, &never());
    let record = &records["crash"];
    assert!(!record.notes.contains(&"stale".to_owned()), "{record:?}");
    assert!(record.checks[0].reason.contains("it has written no report"));
}

#[test]
#[cfg(target_os = "linux")]
fn a_run_that_does_not_end_is_killed_with_what_it_has_started() {
    first_at_its_sign(|place, limit, sign| {
        let cases = place.cases(&[("deaf", &format!("deaf {}", sign.to_str().unwrap()))]);
        let runner = Runner {
            timeout: Some(Duration::from_secs(limit)),
            grace: Duration::from_millis(200),
            ..runner(place)
        };
        let (_, records) = run(&runner, &cases, &never());
        let sleeper = fs::read_to_string(sign).ok()?;
        let time_limit = format!("its time limit ({limit} s)");
        let is_told = |reason: &str| reason.contains(&time_limit) && reason.contains("was killed");
        let checks = &records["deaf"].checks;
        assert!(
            checks.iter().any(|check| is_told(&check.reason)),
            "{checks:?}"
        );
        until("the process below it is gone", || {
            let stat = fs::read_to_string(format!("/proc/{}/stat", sleeper.trim()));
            stat.map_or(true, |stat| stat.contains(") Z "))
        });
        Some(())
    });
}

/// Judges runs with longer and longer time limits, in seconds, until one has written its sign, and so was ready for
/// TERM, before it was asked to end. `judge` returns `None` for the others.
fn first_at_its_sign(judge: impl Fn(&Place, u64, &Path) -> Option<()>) {
    let judged = [1, 8, 60].into_iter().find_map(|limit| {
        let place = Place::new();
        judge(&place, limit, &place.path().join("sign"))
    });
    judged.expect("a run that has written its sign");
}

#[test]
fn an_interruption_ends_what_runs_and_starts_nothing_more() {
    let place = Place::new();
    let sign = place.path().join("sign");
    let hang = format!("hang {}", sign.to_str().unwrap());
    let cases = place.cases(&[("a", "pass"), ("b", &hang), ("c", "pass"), ("d", "pass")]);
    let runner = Runner {
        jobs: 1,
        ..runner(&place)
    };
    let (stopper, stop) = bounded(1);
    let asking = std::thread::spawn(move || {
        until("the second case runs", || sign.exists());
        stopper.send(143).unwrap();
    });
    let (finished, records) = run(&runner, &cases, &stop);
    asking.join().unwrap();
    assert_eq!((finished.why, finished.cases), (Why::Interrupted, 2));
    assert_eq!(finished.stopped_by, Some(143));
    assert_eq!((records["a"].exit_code, records["b"].exit_code), (0, 143));
    assert_eq!(records["b"].ended, Ended::Interrupted);
}

#[test]
fn a_run_has_the_time_to_end_that_its_scenario_names() {
    let without_grace = |place: &Place| Runner {
        grace: Duration::ZERO,
        ..runner(place)
    };
    // After its time limit.
    first_at_its_sign(|place, limit, sign| {
        let hang = format!("hang {}", sign.to_str().unwrap());
        let keys = format!("timeout = {limit}\ngrace = '60s'");
        let cases = place.cases_with(&[("slow", &hang)], &keys);
        let (_, records) = run(&without_grace(place), &cases, &never());
        if !sign.exists() {
            return None;
        }
        let record = &records["slow"];
        assert_eq!(record.exit_code, 4);
        assert_eq!(record.checks[0].name, "a", "its report is lost: {record:?}");
        let reason = &record.checks.last().unwrap().reason;
        assert!(!reason.contains("was killed"), "{reason}");
        Some(())
    });
    // After a signal.
    let place = Place::new();
    let sign = place.path().join("sign");
    let hang = format!("hang {}", sign.to_str().unwrap());
    let cases = place.cases_with(&[("slow", &hang)], "grace = '60s'");
    let (stopper, stop) = bounded(1);
    let asking = std::thread::spawn(move || {
        until("the case runs", || sign.exists());
        stopper.send(143).unwrap();
    });
    let (_, records) = run(&without_grace(&place), &cases, &stop);
    asking.join().unwrap();
    let record = &records["slow"];
    assert_eq!((record.exit_code, record.ended), (143, Ended::Interrupted));
    assert_eq!(record.notes, Vec::<String>::new());
}

#[test]
fn after_a_failure_no_more_cases_are_started_if_that_is_wanted() {
    let place = Place::new();
    let cases = place.cases(&[("a", "pass"), ("b", "fail"), ("c", "pass"), ("d", "pass")]);
    let fast = Runner {
        jobs: 1,
        fail_fast: true,
        ..runner(&place)
    };
    let (finished, records) = run(&fast, &cases, &never());
    assert_eq!((finished.why, finished.cases), (Why::FailFast, 2));
    assert!(records.contains_key("a") && records.contains_key("b"));
    // If the last one fails, nothing was left out.
    let cases = place.cases(&[("a", "pass"), ("b", "fail")]);
    let (finished, _) = run(&fast, &cases, &never());
    assert_eq!(finished.why, Why::Complete);
}

#[test]
fn repetitions_give_the_rate_of_failure_and_show_different_outputs() {
    let place = Place::new();
    let sign = place.path().join("sign");
    let cases = place.cases(&[
        ("equal", "pass"),
        ("flaky", &format!("once {}", sign.to_str().unwrap())),
        ("random", "random"),
    ]);
    let runner = Runner {
        repeat: 4,
        ..runner(&place)
    };
    let (_, records) = run(&runner, &cases, &never());
    let last = |name: &str| records[name].checks.last().unwrap().reason.clone();
    assert_eq!(
        (records["equal"].exit_code, last("equal").as_str()),
        (0, "0 of 4 runs failed (0 %)")
    );
    assert_eq!(
        (records["flaky"].exit_code, last("flaky").as_str()),
        (5, "1 of 4 runs failed (25 %)")
    );
    assert_eq!(records["random"].exit_code, 5);
    assert_eq!(last("random"), "4 runs have 4 different outputs");
    assert_eq!(records["random"].repeated.as_ref().unwrap().runs, 4);
    for file in ["equal/1/report.json", "equal/4/play.log"] {
        assert!(place.path().join("runs").join(file).exists(), "{file}");
    }
}

#[test]
fn if_what_happens_cannot_be_told_everything_ends() {
    let place = Place::new();
    let sign = place.path().join("sign");
    let cases = place.cases(&[
        ("a", "pass"),
        ("b", &format!("hang {}", sign.to_str().unwrap())),
    ]);
    let list: Vec<_> = cases.cases().iter().collect();
    let full = || std::io::Error::from(std::io::ErrorKind::StorageFull);
    let told = runner(&place).run(&list, &never::<u8>(), &mut |event| match event {
        Event::CaseEnded { .. } => Err(full()),
        _ => Ok(()),
    });
    assert_eq!(told.unwrap_err().to_string(), full().to_string());
}
