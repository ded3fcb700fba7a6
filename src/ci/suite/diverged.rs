//! [`name_difference`]: in what the outputs of the repetitions of a case first differ.

use std::path::Path;

use crate::bag::{Bag, Selection, TopicId};
use crate::ci::judge::compare::Comparison;
use crate::ci::judge::repeat::{Facts, Repeat, RepeatVerdict, Repetition, Sent};
use crate::ci::report::{Ended, Kind, RunRecord};
use crate::ci::suite::scenario::Case;

/// The repetitions that came to their end. What others have recorded is a part of it.
pub(in crate::ci::suite) fn recorded(records: &[RunRecord]) -> Repeat {
    let mut repeat = Repeat::default();
    let complete = |record: &&RunRecord| record.ended == Ended::Complete;
    for record in records.iter().filter(complete) {
        if let (Some(digest), Some(outputs)) = (&record.digest, record.files.get("outputs")) {
            repeat.add(Repetition {
                number: record.repetition,
                digest: digest.clone(),
                outputs: Path::new(&record.folder).join(outputs),
            });
        }
    }
    repeat
}

/// If the outputs differ: says in the record of all repetitions which message is the first that differs, after which
/// input, and what may be the cause.
pub(in crate::ci::suite) fn name_difference(case: &Case, runs: &Repeat, record: &mut RunRecord) {
    if runs.differing().is_none() {
        return;
    }
    let said = match judge(case, runs, record) {
        Ok(verdict) => {
            let comparison = verdict.comparison.iter();
            record.differences = comparison.flat_map(Comparison::differences).collect();
            record.divergence = verdict.divergence.or(record.divergence.take());
            verdict.check.reason
        }
        Err(error) => format!("they cannot be compared: {error}"),
    };
    let checks = record.checks.iter_mut().rev();
    for check in checks.filter(|it| it.kind == Kind::Repeat).take(1) {
        check.reason = format!("{}; {said}", check.reason);
    }
}

fn judge(case: &Case, runs: &Repeat, record: &RunRecord) -> Result<RepeatVerdict, String> {
    let bag = Bag::open(&case.bags).map_err(|error| error.to_string())?;
    let topics = (0..).zip(bag.topics());
    let is_sent = |name: &str| record.inputs.iter().any(|input| input.topic == name);
    let sent = topics.filter(|(_, topic)| is_sent(&topic.name));
    let topics = Selection::of(sent.map(|(id, _)| TopicId(id)), &bag);
    let in_flight = case.values("in-flight").next();
    let in_flight = in_flight.and_then(|number| number.to_str()?.parse().ok());
    let sent = Sent {
        bag: &bag,
        topics: &topics,
    };
    let facts = Facts::of(record, in_flight.unwrap_or(1));
    runs.judge(&sent, &facts).map_err(|error| error.to_string())
}
