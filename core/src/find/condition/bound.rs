//! [`BoundCondition`]: a condition whose fields were found in the definition of a topic, ready to be evaluated.
//!
//! Only the fields that are needed are read, in the order of the condition, until its result is certain. The memory of
//! an evaluation is bounded, its time is linear in the size of the message.

use std::ops::ControlFlow;

use super::matched::MatchedValue;
use crate::decode::{Comparison, FieldError, FieldReader, FieldValue, Number, ValuePath};
use crate::find::pattern::Pattern;

/// How many elements are shown of a path with `[]`.
const MAX_SHOWN: usize = 8;

/// A condition on the messages of one topic. Lists have at least two elements.
#[derive(Clone, Debug)]
pub(super) enum BoundCondition {
    All(Vec<BoundCondition>),
    Any(Vec<BoundCondition>),
    Not(Box<BoundCondition>),
    Test(BoundTest),
}

/// A condition on one field.
#[derive(Clone, Debug)]
pub(super) struct BoundTest {
    pub(super) field: BoundField,
    pub(super) check: Check,
}

/// A field of the messages of one topic.
#[derive(Clone, Debug)]
pub(super) struct BoundField {
    pub(super) path: ValuePath,
    pub(super) reader: FieldReader,
}

/// What is checked of a value. A value of another kind, which only JSON can have, does not pass.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Check {
    Number(Comparison, Number),
    Bool { value: bool, is_equal: bool },
    Text { value: String, is_equal: bool },
    Contains(String),
    Matches(Pattern),
}

impl Check {
    pub(super) fn holds(&self, value: &FieldValue<'_>) -> bool {
        match (self, value) {
            (Self::Number(comparison, number), value) => {
                comparison.holds(value, *number) == Some(true)
            }
            (Self::Bool { value, is_equal }, FieldValue::Bool(found)) => {
                (found == value) == *is_equal
            }
            (Self::Text { value, is_equal }, FieldValue::Text(found)) => {
                (found == value) == *is_equal
            }
            (Self::Contains(part), FieldValue::Text(found)) => found.contains(part.as_str()),
            (Self::Matches(pattern), FieldValue::Text(found)) => pattern.is_match(found),
            _ => false,
        }
    }
}

/// A value that decided a test.
#[derive(Debug)]
pub(super) struct Witness<'c> {
    path: &'c ValuePath,
    indexes: Vec<u64>,
    pub(super) value: MatchedValue,
}

impl<'c> Witness<'c> {
    fn new(path: &'c ValuePath, indexes: &[u64], value: FieldValue<'_>) -> Self {
        Self {
            path,
            indexes: indexes.to_owned(),
            value: MatchedValue::new(path.at(indexes), value),
        }
    }
}

impl BoundCondition {
    /// Whether a message satisfies the condition. The values that decide it are added to `witnesses`.
    pub(super) fn holds<'c>(
        &'c self,
        payload: &[u8],
        witnesses: Option<&mut Vec<Witness<'c>>>,
    ) -> Result<bool, FieldError> {
        match self {
            Self::All(conditions) => is_decided(conditions, false, payload, witnesses),
            Self::Any(conditions) => is_decided(conditions, true, payload, witnesses),
            Self::Not(condition) => condition.holds(payload, witnesses).map(|holds| !holds),
            Self::Test(test) => test.holds(payload, witnesses),
        }
    }
}

/// The result of a list: `deciding` as soon as one of its conditions has this result, which is then the only witness.
fn is_decided<'c>(
    conditions: &'c [BoundCondition],
    deciding: bool,
    payload: &[u8],
    mut witnesses: Option<&mut Vec<Witness<'c>>>,
) -> Result<bool, FieldError> {
    let count =
        |witnesses: &Option<&mut Vec<Witness<'c>>>| witnesses.as_ref().map_or(0, |it| it.len());
    let before = count(&witnesses);
    for condition in conditions {
        let others = count(&witnesses);
        if condition.holds(payload, witnesses.as_deref_mut())? == deciding {
            if let Some(witnesses) = witnesses {
                witnesses.drain(before..others);
            }
            return Ok(deciding);
        }
    }
    Ok(!deciding)
}

impl BoundTest {
    fn holds<'c>(
        &'c self,
        payload: &[u8],
        mut witnesses: Option<&mut Vec<Witness<'c>>>,
    ) -> Result<bool, FieldError> {
        let path = &self.field.path;
        let is_single = !path.has_wildcard();
        let mut is_found = false;
        self.field.reader.read(payload, &mut |indexes, value| {
            is_found = self.check.holds(&value);
            if let Some(witnesses) = witnesses.as_deref_mut().filter(|_| is_found || is_single) {
                witnesses.push(Witness::new(path, indexes, value));
            }
            if is_found {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?;
        Ok(is_found)
    }
}

impl BoundField {
    /// The values to show of a message: of `[]` those of the same elements as those of a witness, if it has a value
    /// from the same array.
    pub(super) fn shown(&self, payload: &[u8], witnesses: &[Witness<'_>]) -> Vec<MatchedValue> {
        let shared = |witness: &Witness<'_>| {
            let count = self.path.shared_wildcards(witness.path);
            witness.indexes.get(..count).unwrap_or_default().to_owned()
        };
        let wanted = witnesses.iter().map(shared);
        let wanted = wanted.max_by_key(Vec::len).unwrap_or_default();
        let mut shown = Vec::new();
        // What is behind an error cannot be shown; the message has been judged already.
        let _ = self.reader.read(payload, &mut |indexes, value| {
            if indexes.starts_with(&wanted) {
                shown.push(MatchedValue::new(self.path.at(indexes), value));
            }
            if shown.len() < MAX_SHOWN {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        });
        shown
    }
}
