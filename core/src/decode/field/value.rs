//! [`FieldValue`]: the value of one field, with the type that the message gives it.

use std::borrow::Cow;
use std::fmt;
use std::ops::ControlFlow;

use crate::decode::text::quoted;
use crate::time::Duration;

/// The longest text that is shown, in characters.
const MAX_SHOWN: usize = 120;

/// The kind of a value, as the definition of the message gives it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FieldKind {
    /// A truth value.
    Bool,
    /// A whole number or a length.
    Integer,
    /// A number of 32 or 64 bits that may have a fraction.
    Float,
    /// A text.
    Text,
    /// A point in time or a duration.
    Time,
}

impl FieldKind {
    /// In words, with their article.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Bool => "a truth value",
            Self::Integer | Self::Float => "a number",
            Self::Text => "a text",
            Self::Time => "a time",
        }
    }
}

/// Receives each value, with the indexes of the elements that `[*]` stands for.
pub(super) type Visit<'v> = dyn FnMut(&[u64], FieldValue<'_>) -> ControlFlow<()> + 'v;

/// The value of a field.
#[derive(Clone, PartialEq, Debug)]
pub enum FieldValue<'a> {
    /// A truth value.
    Bool(bool),
    /// A whole number of any size and sign, or a length.
    Integer(i128),
    /// A number with 32 bits.
    Float32(f32),
    /// A number with 64 bits.
    Float64(f64),
    /// A text; bytes that are not UTF-8 are replaced by `U+FFFD`.
    Text(Cow<'a, str>),
    /// A point in time or a duration, in nanoseconds.
    Time(i64),
}

impl FieldValue<'_> {
    /// Its kind, in words.
    pub const fn kind(&self) -> &'static str {
        let kind = match self {
            Self::Bool(_) => FieldKind::Bool,
            Self::Integer(_) => FieldKind::Integer,
            Self::Float32(_) | Self::Float64(_) => FieldKind::Float,
            Self::Text(_) => FieldKind::Text,
            Self::Time(_) => FieldKind::Time,
        };
        kind.in_words()
    }
}

impl fmt::Display for FieldValue<'_> {
    /// Floats have the shortest form that parses to the same value, times are in seconds. Texts are quoted, escaped and
    /// shortened.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => write!(f, "{value}"),
            Self::Integer(value) => write!(f, "{value}"),
            Self::Float32(value) => write!(f, "{value:?}"),
            Self::Float64(value) => write!(f, "{value:?}"),
            Self::Text(value) => f.write_str(&quoted(value.as_bytes(), MAX_SHOWN)),
            Self::Time(nanos) => write!(f, "{}", Duration::from_nanos(*nanos)),
        }
    }
}
