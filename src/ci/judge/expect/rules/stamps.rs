//! Whether the stamps of a topic ascend.

use std::fmt;
use std::ops::ControlFlow;

use crate::ci::judge::expect::rule::{Outcome, Role, Rule, Scope, Seen, counted};
use crate::ci::judge::expect::values::{Readers, unreadable};
use crate::decode::{FieldValue, ValuePath};
use crate::time::Duration;

/// The order that is expected.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct StampsSpec {
    /// The field of the stamps.
    pub(crate) path: ValuePath,
    /// Whether equal stamps are refused.
    pub(crate) is_strict: bool,
}

impl fmt::Display for StampsSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let strictly = if self.is_strict { "strictly " } else { "" };
        write!(f, "{} {strictly}ascending", self.path)
    }
}

pub(crate) struct Stamps {
    is_strict: bool,
    scope: Scope,
    readers: Readers,
    messages: u64,
    compared: u64,
    last: Option<i64>,
    end: Option<Outcome>,
}

impl Stamps {
    pub(crate) fn new(spec: &StampsSpec, scope: Scope, readers: Readers) -> Self {
        Self {
            is_strict: spec.is_strict,
            scope,
            readers,
            messages: 0,
            compared: 0,
            last: None,
            end: None,
        }
    }

    /// What is wrong with the next value.
    fn next(
        (last, is_strict): (&mut Option<i64>, bool),
        value: &FieldValue<'_>,
    ) -> Option<Result<String, String>> {
        let FieldValue::Time(stamp) = *value else {
            return Some(Err(format!("is {}, not a time", value.kind())));
        };
        let last = last.replace(stamp)?;
        if stamp > last || (stamp == last && !is_strict) {
            return None;
        }
        let (stamp, last) = (Duration::from_nanos(stamp), Duration::from_nanos(last));
        let expected = if is_strict {
            "a later one"
        } else {
            "no earlier one"
        };
        Some(Ok(format!(
            "= {stamp} after {last}, {expected} is expected"
        )))
    }
}

impl Rule for Stamps {
    fn message(&mut self, _: Role, seen: &Seen) {
        if self.end.is_some() || !self.scope.window.contains(seen.at) {
            return;
        }
        self.messages += 1;
        let Self { readers, scope, .. } = self;
        let at = scope.at(seen.at);
        let read = readers.read(seen, &mut |indexes, value| {
            self.compared += 1;
            let Some(wrong) = Self::next((&mut self.last, self.is_strict), &value) else {
                return ControlFlow::Continue(());
            };
            let place = readers.path().at(indexes);
            let says = |what| scope.says(format!("{place} {what}, at {at}"));
            self.end = Some(match wrong {
                Ok(what) => Outcome::Fails(says(what)),
                Err(what) => Outcome::Unknown(says(what)),
            });
            ControlFlow::Break(())
        });
        if let Err(error) = read {
            self.end.get_or_insert(unreadable(scope, &error, &at));
        }
    }

    fn finish(self: Box<Self>) -> Outcome {
        match self.end {
            Some(end) => end,
            None if self.messages == 0 => Outcome::NoMessage,
            None if self.compared == 0 => {
                let what = format!("no message has a value of {}", self.readers.path());
                Outcome::Fails(self.scope.says(what))
            }
            None => Outcome::Holds(self.scope.says(counted(self.compared, "stamp"))),
        }
    }
}
