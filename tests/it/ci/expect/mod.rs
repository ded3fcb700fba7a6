//! Expectations: files, right and wrong, and recordings judged by them.

mod files;
mod judged;
mod page;
mod recorded;
mod transforms;
mod windows;

use bagplay::bag::Bag;
use bagplay::ci::judge::expect::{Expectations, Judged};
use bagplay::ci::report::{Check, Kind, Verdict};

/// Seconds in nanoseconds.
const S: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;
/// The log time at which the recordings start.
const START: u64 = 1_700_000_000 * S;

fn parse(text: &str) -> Expectations {
    Expectations::parse(text, "expect.toml").unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The one check of a file.
fn check(text: &str, run: &Judged<'_>) -> Check {
    let mut checks = parse(text).judge(run);
    assert_eq!(checks.len(), 1, "{checks:?}");
    let check = checks.remove(0);
    assert_eq!(check.kind, Kind::Expectation);
    check
}

/// What is expected of one topic, judged: the verdict and the reason.
fn judged(keys: &str, outputs: &Bag) -> (Verdict, String) {
    judged_of("/odom", keys, &Judged::recording(outputs))
}

fn judged_of(topic: &str, keys: &str, run: &Judged<'_>) -> (Verdict, String) {
    let check = check(&format!("[[expect]]\ntopic = '{topic}'\n{keys}\n"), run);
    (check.verdict, check.reason)
}
