//! [`Match`]: that a message satisfies a condition, and the values by which it does.

use std::fmt;

use crate::decode::FieldValue;
use crate::find::char_start::char_start;

/// The longest text of a value that is kept, in bytes.
const MAX_TEXT: usize = 64 << 10;

/// A message that satisfies a condition.
#[derive(Clone, PartialEq, Debug)]
pub struct Match {
    /// The first expression whose condition it satisfies, by its place among the expressions.
    pub expression: usize,
    /// The values that decide it: of each field its value, of `[]` the first that is as wanted. Without `not` in the
    /// condition these are the values that were searched for.
    pub decided_by: Vec<MatchedValue>,
    /// The values that the expression wants to see (`show`).
    pub shown: Vec<MatchedValue>,
}

/// A value in a message.
#[derive(Clone, PartialEq, Debug)]
pub struct MatchedValue {
    /// The path of the field, with the indexes of its elements; fit for a terminal.
    pub field: String,
    /// The value. Of a text at most 64 KiB are kept.
    pub value: FieldValue<'static>,
    /// Whether the text was longer.
    pub is_cut: bool,
}

impl MatchedValue {
    pub(super) fn new(field: String, value: FieldValue<'_>) -> Self {
        let mut is_cut = false;
        let value = match value {
            FieldValue::Text(text) => {
                is_cut = text.len() > MAX_TEXT;
                let kept = &text[..char_start(&text, MAX_TEXT)];
                FieldValue::Text(kept.to_owned().into())
            }
            FieldValue::Bool(value) => FieldValue::Bool(value),
            FieldValue::Integer(value) => FieldValue::Integer(value),
            FieldValue::Float32(value) => FieldValue::Float32(value),
            FieldValue::Float64(value) => FieldValue::Float64(value),
            FieldValue::Time(value) => FieldValue::Time(value),
        };
        Self {
            field,
            value,
            is_cut,
        }
    }
}

impl fmt::Display for MatchedValue {
    /// `level = 40`; a text is quoted, escaped and shortened.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", self.field, self.value)
    }
}

impl Match {
    /// A short text about the message: the values that the expression wants to see, without their names if there is
    /// only one, or else those that decide it. On one line, fit for a terminal.
    pub fn text(&self) -> String {
        match self.shown.as_slice() {
            [] => joined(&self.decided_by),
            [only] => only.value.to_string(),
            several => joined(several),
        }
    }

    /// All values: those that decide, then those that the expression wants to see besides.
    pub fn values(&self) -> impl Iterator<Item = &MatchedValue> {
        let is_new = |value: &&MatchedValue| {
            let mut known = self.decided_by.iter();
            !known.any(|known| known.field == value.field)
        };
        self.decided_by
            .iter()
            .chain(self.shown.iter().filter(is_new))
    }
}

fn joined(values: &[MatchedValue]) -> String {
    let values: Vec<_> = values.iter().map(MatchedValue::to_string).collect();
    values.join(", ")
}
