//! [`Repeat::judge`]: the verdict on all repetitions, with the first divergence of two of them.

use super::digests::{Repeat, Repetition, short};
use super::racing::Facts;
use crate::bag::{Bag, BagError, Direction, Selection, StartAt};
use crate::ci::judge::compare::{CompareError, Comparison, Rules, compare};
use crate::ci::report::{Check, Divergence, Kind, Verdict};
use crate::time::{Ros, Time};
use crate::untrusted::Foreign;

/// The name of the check.
const NAME: &str = "all repetitions have equal outputs";

/// What was sent: the recordings that were played, and which of their topics.
#[derive(Clone, Debug)]
pub struct Sent<'a> {
    /// The recordings.
    pub bag: &'a Bag,
    /// The topics of them that were sent.
    pub topics: &'a Selection,
}

/// The verdict on repetitions.
#[derive(Clone, PartialEq, Debug)]
pub struct RepeatVerdict {
    /// Whether all are equal.
    pub check: Check,
    /// In what two of them differ, whose recordings have to be kept. `None` if all are equal.
    pub comparison: Option<Comparison>,
    /// Their first divergence, with the input before it and what may have raced.
    pub divergence: Option<Divergence>,
}

/// Why two repetitions could not be compared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RepeatError {
    /// The recording of the outputs of a run cannot be read.
    #[error("run {number}: {reason}")]
    Unreadable {
        /// The run.
        number: u32,
        /// Why.
        reason: BagError,
    },
    /// They cannot be compared.
    #[error(transparent)]
    Compare(#[from] CompareError),
}

impl Repeat {
    /// Compares the digests. If they are not all equal, compares the recordings of two runs: one of the most frequent
    /// digest, which counts as the reference, and one of the next.
    pub fn judge(&self, sent: &Sent<'_>, facts: &Facts) -> Result<RepeatVerdict, RepeatError> {
        let Some((usual, other)) = self.differing() else {
            let (verdict, reason) = match self.runs() {
                [] => (Verdict::Skipped, "no run reached its end".to_owned()),
                [_] => (Verdict::Skipped, "there is one run only".to_owned()),
                [run, ..] => {
                    let (all, digest) = (self.runs().len(), short(&run.digest));
                    (
                        Verdict::Passed,
                        format!("{all} of {all} runs gave {digest}"),
                    )
                }
            };
            return Ok(RepeatVerdict {
                check: Check::new(Kind::Repeat, NAME, verdict, reason),
                comparison: None,
                divergence: None,
            });
        };
        let open = |run: &Repetition| {
            Bag::open(&[&run.outputs]).map_err(|reason| RepeatError::Unreadable {
                number: run.number,
                reason,
            })
        };
        let mut comparison = compare(&open(usual)?, &open(other)?, &Rules::of_repetitions())?;
        let numbers = (usual.number, other.number);
        let (usual, other) = (format!("run {}", numbers.0), format!("run {}", numbers.1));
        let divergence = comparison.first.take().map(|first| {
            let mut divergence = Divergence {
                between: format!("{usual} and {other}"),
                repetitions: Some(numbers),
                ..first
            };
            divergence.input = last_input(sent, &divergence);
            divergence.racing = facts.racing(&divergence);
            divergence
        });
        (comparison.reference, comparison.run) = (usual, other);
        comparison.sides = ["first", "second"];
        comparison.first.clone_from(&divergence);
        let reason = match &divergence {
            Some(divergence) => format!("{}; {}", self.flake_rate(), sentence(divergence)),
            None => format!(
                "{}; but all their fields are equal: what differs is the order of messages of different publishers, or bytes that change no value",
                self.flake_rate()
            ),
        };
        Ok(RepeatVerdict {
            check: Check::failed(Kind::Repeat, NAME, reason),
            comparison: Some(comparison),
            divergence,
        })
    }
}

/// The last message that was sent before the divergence: at the earlier of its two times or before.
fn last_input(sent: &Sent<'_>, divergence: &Divergence) -> Option<(String, i64)> {
    let (a, b) = divergence.times_ns;
    let time = a.into_iter().chain(b).min()?;
    let at = StartAt::At(Time::from_nanos(time));
    let before = sent.bag.cursor(sent.topics, at, Direction::Reverse);
    let message = before.flatten().next()?;
    let topic = sent.bag.topics().get(message.topic.index())?;
    Some((topic.name.clone(), message.log_time.as_nanos()))
}

/// Which topic diverges first, at which input, and what may be the cause.
fn sentence(divergence: &Divergence) -> String {
    let Divergence {
        between,
        topic,
        index,
        field,
        values: (usual, other),
        input,
        racing,
        ..
    } = divergence;
    let topic = Foreign::text(topic);
    let what = match divergence.times_ns {
        (Some(_), None) => "only in the first".to_owned(),
        (None, Some(_)) => "only in the second".to_owned(),
        _ => format!("`{field}` is {usual} and {other}"),
    };
    let input = input.as_ref().map_or(String::new(), |(topic, time)| {
        let time = Time::<Ros>::from_nanos(*time);
        format!(", after the input {} of {time}", Foreign::text(topic))
    });
    let racing = racing.first().map_or(String::new(), |it| format!("; {it}"));
    format!("{between} diverge first in {topic}, message {index}: {what}{input}{racing}")
}
