//! What is printed at the end of a run.

use bagplay::ci::report::{Repeated, RunRecord, to_text};

use super::{failed, hostile, interrupted, is_clean, passed, undecided};

#[test]
fn a_run_that_failed_is_told_in_a_screen() {
    let text = to_text(&[failed()]);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.len() <= 25, "{text}");
    assert!(
        lines[0].starts_with("failed: warehouse: /points -> /obstacles: 3 of 300"),
        "{text}"
    );
    for expected in [
        "  FAILED  /odom: pose.pose.position.z within 0.1 of 0: message 124 at 12.400 s has 0.1873",
        "  skipped repetitions are equal: the first run failed",
        "  6,301 sent, 597 received, paced by lockstep and gates, in 4.21 s",
        "  gate /points -> /odom by stamp: 300 of 300 answered, 2 not asked for, p50 8.21 ms, p99 31.7 ms, max 212 ms",
        "  digest of the outputs: a41f09c2b7d85e6310fe92c47ab0d1e5",
        "  first difference: /odom message 124 pose.pose.position.z: 0.01831224906 in the reference",
        "  differs: /odom pose.pose.position.z: 176 times",
        "  repetitions: 3 of 10 runs failed, 2 different digests",
        "  | [WARN] [odometry_node]: falling back to the motion prior",
        "outputs.mcap (outputs)",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    assert!(!text.contains("passed"), "{text}");
}

#[test]
fn a_run_that_passed_says_so_first() {
    let text = to_text(&[passed()]);
    assert!(
        text.starts_with("passed: warehouse: all 6 checks hold\n"),
        "{text}"
    );
}

#[test]
fn a_message_that_one_side_lacks_is_called_missing() {
    let mut run = failed();
    for (times, said) in [
        ((Some(1), None), "message 124 is missing in this run"),
        ((None, Some(1)), "message 124 is not in the reference"),
    ] {
        let divergence = run.divergence.as_mut().unwrap();
        divergence.field.clear();
        divergence.values = Default::default();
        divergence.times_ns = times;
        let text = to_text(std::slice::from_ref(&run));
        let line = format!("  first difference: /odom {said}\n");
        assert!(text.contains(&line), "{text}");
    }
}

#[test]
fn long_lists_are_counted_and_hostile_text_is_escaped() {
    let mut run = failed();
    let check = run.checks[3].clone();
    run.checks.extend(vec![check; 500]);
    let text = to_text(&[run]);
    assert!(text.lines().count() <= 32, "{text}");
    assert!(text.contains("\n  and 496 more checks\n"), "{text}");
    let text = to_text(&[hostile()]);
    assert!(is_clean(&text), "{text:?}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 401),
        "{text}"
    );
}

#[test]
fn a_suite_names_the_folder_of_each_run_that_did_not_pass() {
    let in_folder = |run: RunRecord, folder: &str| RunRecord {
        folder: folder.to_owned(),
        ..run
    };
    let text = to_text(&[
        in_folder(passed(), "/out/passed"),
        in_folder(failed(), "/out/failed"),
        in_folder(undecided(), "/out/\u{1b}[2J"),
        in_folder(interrupted(), ""),
    ]);
    let lines: Vec<&str> = text.lines().collect();
    let folders: Vec<&str> = lines
        .iter()
        .copied()
        .filter(|line| line.contains("files in"))
        .collect();
    assert_eq!(folders.len(), 2, "{text}");
    let after = |name: &str| {
        let at = lines.iter().position(|line| line.starts_with(name));
        lines[at.unwrap() + 1]
    };
    assert_eq!(after("  failed "), "    files in /out/failed");
    assert_eq!(after("  error "), "    files in /out/\\u{1b}[2J");
}

#[test]
fn a_suite_names_its_worst_runs_first() {
    let text = to_text(&[passed(), interrupted(), undecided(), failed(), passed()]);
    let starts: Vec<&str> = text
        .lines()
        .map(|line| line.split(':').next().unwrap())
        .collect();
    let expected = [
        "interrupted",
        "  interrupted stopped",
        "  error damaged",
        "  failed warehouse",
        "  2 of 5 runs passed in 21.1 s",
    ];
    assert_eq!(starts, expected, "{text}");
    assert_eq!(to_text(&[]).lines().next(), Some("error: there is no run"));
}

#[test]
fn a_suite_tells_how_often_a_repeated_case_failed() {
    let repeated = Some(Repeated {
        runs: 3,
        failed: 1,
        digests: [("a".to_owned(), 2), ("b".to_owned(), 1)].into(),
    });
    let run = RunRecord {
        repeated,
        ..failed()
    };
    let text = to_text(&[passed(), run]);
    let line = text.lines().find(|line| line.starts_with("  failed "));
    let rate = " (1 of 3 runs failed, 2 different digests)";
    assert!(line.is_some_and(|line| line.ends_with(rate)), "{text}");
}
