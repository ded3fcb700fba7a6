//! [`Test`]: the comparison of one value with what is expected.

use std::fmt;

use regex::Regex;

use crate::decode::FieldValue;
use crate::untrusted::Foreign;

const NANOS_PER_SEC: i64 = 1_000_000_000;

/// A number that is expected. Times are compared in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Number {
    Integer(i64),
    Float(f64),
}

impl Number {
    #[expect(clippy::cast_precision_loss, reason = "as near as a float can be")]
    pub(crate) fn as_f64(self) -> f64 {
        match self {
            Self::Integer(number) => number as f64,
            Self::Float(number) => number,
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(number) => write!(f, "{number}"),
            Self::Float(number) => write!(f, "{number:?}"),
        }
    }
}

/// How a number is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

impl Comparison {
    const fn sign(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::Greater => ">",
            Self::AtLeast => ">=",
        }
    }
}

/// What is expected of a value.
#[derive(Clone, Debug)]
pub(crate) enum Expected {
    /// A number that compares so.
    Number(Comparison, Number),
    /// A number in a closed range.
    Between(Number, Number),
    Bool {
        value: bool,
        is_equal: bool,
    },
    Text {
        value: String,
        is_equal: bool,
    },
    /// A text in which the pattern is found.
    Matches(Regex),
    /// Any number that is not infinite, and any value that is no float.
    Any,
}

/// What is expected of a value, and what is allowed besides.
#[derive(Clone, Debug)]
pub(crate) struct Test {
    pub(crate) expected: Expected,
    /// How far an equal number may be away.
    pub(crate) tolerance: f64,
    /// The same as a part of the number that is expected; the larger of both counts.
    pub(crate) relative: f64,
    /// Whether a NaN is as good as the number that is expected.
    pub(crate) nan: bool,
    /// Whether NaN and infinity are refused.
    pub(crate) finite: bool,
}

impl Test {
    /// Whether a value is as expected; an error if it cannot be compared.
    pub(crate) fn holds(&self, value: &FieldValue<'_>) -> Result<bool, String> {
        let float = match *value {
            FieldValue::Float32(value) => Some(f64::from(value)),
            FieldValue::Float64(value) => Some(value),
            _ => None,
        };
        if let Some(float) = float {
            if self.finite && !float.is_finite() {
                return Ok(false);
            }
            if float.is_nan() && self.nan {
                return Ok(true);
            }
        }
        let mismatch = |wanted: &str| Err(format!("is {}, not {wanted}", value.kind()));
        match (&self.expected, value) {
            (Expected::Any, FieldValue::Bool(_) | FieldValue::Text(_)) => mismatch("a number"),
            (Expected::Any, _) => Ok(true),
            (
                Expected::Bool {
                    value: expected,
                    is_equal,
                },
                FieldValue::Bool(found),
            ) => Ok((found == expected) == *is_equal),
            (Expected::Bool { .. }, _) => mismatch("a truth value"),
            (
                Expected::Text {
                    value: expected,
                    is_equal,
                },
                FieldValue::Text(found),
            ) => Ok((found == expected) == *is_equal),
            (Expected::Matches(pattern), FieldValue::Text(found)) => Ok(pattern.is_match(found)),
            (Expected::Text { .. } | Expected::Matches(_), _) => mismatch("a text"),
            (
                Expected::Number(..) | Expected::Between(..),
                FieldValue::Bool(_) | FieldValue::Text(_),
            ) => mismatch("a number"),
            (Expected::Number(comparison, expected), _) => {
                Ok(self.compares(value, *comparison, *expected))
            }
            (Expected::Between(low, high), _) => {
                Ok(self.compares(value, Comparison::AtLeast, *low)
                    && self.compares(value, Comparison::AtMost, *high))
            }
        }
    }

    fn compares(&self, value: &FieldValue<'_>, comparison: Comparison, expected: Number) -> bool {
        let is_exact = self.tolerance <= 0.0 && self.relative <= 0.0;
        let exact = match (value, expected) {
            (FieldValue::Integer(value), Number::Integer(number)) => {
                Some((*value, i128::from(number)))
            }
            (FieldValue::Time(nanos), Number::Integer(seconds)) => {
                let expected = i128::from(seconds) * i128::from(NANOS_PER_SEC);
                Some((i128::from(*nanos), expected))
            }
            _ => None,
        };
        if let Some((value, expected)) = exact.filter(|_| is_exact) {
            return match comparison {
                Comparison::Equal => value == expected,
                Comparison::NotEqual => value != expected,
                Comparison::Less => value < expected,
                Comparison::AtMost => value <= expected,
                Comparison::Greater => value > expected,
                Comparison::AtLeast => value >= expected,
            };
        }
        let (value, expected) = floats(value, expected);
        let is_near = || {
            let allowed = self.tolerance.max(self.relative * expected.abs());
            (value - expected).abs() <= allowed
        };
        #[expect(clippy::float_cmp, reason = "without a tolerance, equal is exact")]
        let is_equal = || value == expected || (expected.is_finite() && is_near());
        match comparison {
            Comparison::Equal => is_equal(),
            Comparison::NotEqual => !is_equal(),
            Comparison::Less => value < expected,
            Comparison::AtMost => value <= expected,
            Comparison::Greater => value > expected,
            Comparison::AtLeast => value >= expected,
        }
    }
}

/// Both as floats. Beside a value with 32 bits, the expected number is rounded to 32 bits, too: otherwise none equals 0.1.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "as near as a float can be"
)]
fn floats(value: &FieldValue<'_>, expected: Number) -> (f64, f64) {
    let number = expected.as_f64();
    match *value {
        FieldValue::Float32(value) => (f64::from(value), f64::from(number as f32)),
        FieldValue::Float64(value) => (value, number),
        FieldValue::Integer(value) => (value as f64, number),
        FieldValue::Time(nanos) => {
            let seconds = (nanos / NANOS_PER_SEC) as f64;
            (seconds + (nanos % NANOS_PER_SEC) as f64 / 1e9, number)
        }
        FieldValue::Bool(_) | FieldValue::Text(_) => (f64::NAN, number),
    }
}

impl fmt::Display for Test {
    /// As a part of a name: `== 3 ± 0.1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = |is_equal: bool| if is_equal { "==" } else { "!=" };
        match &self.expected {
            Expected::Number(comparison, number) => write!(f, "{} {number}", comparison.sign())?,
            Expected::Between(low, high) => write!(f, "between {low} and {high}")?,
            Expected::Bool { value, is_equal } => write!(f, "{} {value}", sign(*is_equal))?,
            Expected::Text { value, is_equal } => {
                write!(
                    f,
                    "{} \"{}\"",
                    sign(*is_equal),
                    Foreign::text(value).at_most(100)
                )?;
            }
            Expected::Matches(pattern) => {
                write!(
                    f,
                    "matches `{}`",
                    Foreign::text(pattern.as_str()).at_most(100)
                )?;
            }
            Expected::Any => return write!(f, "is finite"),
        }
        if self.tolerance > 0.0 {
            write!(f, " ± {}", self.tolerance)?;
        }
        if self.relative > 0.0 {
            write!(f, " ± {} %", self.relative * 100.0)?;
        }
        if self.nan {
            write!(f, " or NaN")?;
        }
        if self.finite {
            write!(f, " and finite")?;
        }
        Ok(())
    }
}

impl Test {
    /// In a sentence after `expected`.
    pub(crate) fn wanted(&self) -> String {
        let text = self.to_string();
        match text.strip_prefix("== ") {
            Some(value) => value.to_owned(),
            None if matches!(self.expected, Expected::Any) => "a finite number".to_owned(),
            None => text,
        }
    }
}
