//! [`Test`]: the comparison of one value with what is expected.

use std::fmt;

use crate::decode::{Comparison, FieldValue, Number};
use crate::find::Pattern;
use crate::untrusted::Foreign;

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
    Matches(Pattern),
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
                Expected::Any | Expected::Number(..) | Expected::Between(..),
                FieldValue::Bool(_) | FieldValue::Text(_),
            ) => mismatch("a number"),
            (Expected::Any, _) => Ok(true),
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
        let is_near = || {
            let Some((value, expected)) = value.as_floats(expected) else {
                return false;
            };
            let allowed = self.tolerance.max(self.relative * expected.abs());
            expected.is_finite() && (value - expected).abs() <= allowed
        };
        let holds = |comparison: Comparison| comparison.holds(value, expected) == Some(true);
        let is_exact = self.tolerance <= 0.0 && self.relative <= 0.0;
        match comparison {
            Comparison::Equal if !is_exact => holds(comparison) || is_near(),
            Comparison::NotEqual if !is_exact => holds(comparison) && !is_near(),
            _ => holds(comparison),
        }
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn test(expected: Expected) -> Test {
        Test {
            expected,
            tolerance: 0.0,
            relative: 0.0,
            nan: false,
            finite: false,
        }
    }

    fn number(comparison: Comparison, number: impl Into<f64>) -> Test {
        test(Expected::Number(comparison, Number::Float(number.into())))
    }

    const ALL: [Comparison; 6] = [
        Comparison::Equal,
        Comparison::NotEqual,
        Comparison::Less,
        Comparison::AtMost,
        Comparison::Greater,
        Comparison::AtLeast,
    ];

    #[test]
    fn whole_numbers_and_times_are_compared_exactly() {
        let large = i64::MAX;
        let exact = |comparison| test(Expected::Number(comparison, Number::Integer(large.into())));
        let next = FieldValue::Integer(i128::from(large) + 1);
        assert_eq!(exact(Comparison::Equal).holds(&next), Ok(false));
        assert_eq!(exact(Comparison::Greater).holds(&next), Ok(true));
        let second = |nanos: i64| {
            let expected = Expected::Number(Comparison::Equal, Number::Integer(1_700_000_000));
            test(expected).holds(&FieldValue::Time(1_700_000_000_000_000_000 + nanos))
        };
        assert_eq!((second(0), second(1)), (Ok(true), Ok(false)));
        let half = number(Comparison::Equal, 1.5);
        assert_eq!(half.holds(&FieldValue::Time(1_500_000_000)), Ok(true));
    }

    #[test]
    fn a_float_with_32_bits_equals_the_number_that_it_is_written_as() {
        let equal = number(Comparison::Equal, 0.1);
        assert_eq!(equal.holds(&FieldValue::Float32(0.1)), Ok(true));
        assert_eq!(
            equal.holds(&FieldValue::Float64(f64::from(0.1_f32))),
            Ok(false)
        );
        let at_most = number(Comparison::AtMost, 0.1);
        assert_eq!(at_most.holds(&FieldValue::Float32(0.1)), Ok(true));
    }

    #[test]
    fn nan_compares_with_nothing_unless_it_is_allowed() {
        for comparison in ALL {
            let strict = number(comparison, 1.0);
            let lenient = Test {
                nan: true,
                ..strict.clone()
            };
            let nan = FieldValue::Float64(f64::NAN);
            let differs = comparison == Comparison::NotEqual;
            assert_eq!(strict.holds(&nan), Ok(differs), "{strict}");
            assert_eq!(lenient.holds(&nan), Ok(true), "{lenient}");
        }
        let is_nan = Test {
            nan: true,
            ..number(Comparison::Equal, f64::NAN)
        };
        assert_eq!(is_nan.holds(&FieldValue::Float32(f32::NAN)), Ok(true));
        assert_eq!(is_nan.holds(&FieldValue::Float32(1.0)), Ok(false));
    }

    #[test]
    fn infinity_equals_itself_and_is_not_finite() {
        let far = Test {
            tolerance: 1.0,
            ..number(Comparison::Equal, f64::INFINITY)
        };
        assert_eq!(far.holds(&FieldValue::Float64(f64::INFINITY)), Ok(true));
        assert_eq!(far.holds(&FieldValue::Float64(f64::MAX)), Ok(false));
        let finite = Test {
            finite: true,
            ..test(Expected::Any)
        };
        for (value, holds) in [(1.0, true), (f64::INFINITY, false), (f64::NAN, false)] {
            assert_eq!(
                finite.holds(&FieldValue::Float64(value)),
                Ok(holds),
                "{value}"
            );
        }
        let below = Test {
            finite: true,
            ..number(Comparison::Less, 5.0)
        };
        assert_eq!(
            below.holds(&FieldValue::Float64(f64::NEG_INFINITY)),
            Ok(false)
        );
    }

    #[test]
    fn values_of_another_kind_are_not_compared() {
        let word = || Expected::Text {
            value: "map".into(),
            is_equal: true,
        };
        let pattern = || Expected::Matches(Pattern::new("^m").unwrap());
        let flag = || Expected::Bool {
            value: true,
            is_equal: false,
        };
        let one = || Expected::Number(Comparison::Equal, Number::Integer(1));
        let map = FieldValue::Text("map".into());
        for (expected, value, holds) in [
            (word(), map.clone(), Some(true)),
            (pattern(), map.clone(), Some(true)),
            (pattern(), FieldValue::Text("amp".into()), Some(false)),
            (flag(), FieldValue::Bool(false), Some(true)),
            (one(), map.clone(), None),
            (one(), FieldValue::Bool(true), None),
            (word(), FieldValue::Integer(1), None),
            (pattern(), FieldValue::Time(1), None),
            (flag(), map, None),
        ] {
            let test = test(expected);
            assert_eq!(test.holds(&value).ok(), holds, "{test}: {value}");
        }
    }

    proptest! {
        #[test]
        fn an_equal_number_is_within_the_larger_tolerance(
            value in -1e6..1e6_f64, expected in -1e6..1e6_f64,
            tolerance in 0.0..1e6_f64, relative in 0.0..2.0_f64,
        ) {
            let equal = Test { tolerance, relative, ..number(Comparison::Equal, expected) };
            let differs = Test { tolerance, relative, ..number(Comparison::NotEqual, expected) };
            let distance = (value - expected).abs();
            let is_near = distance <= tolerance || distance <= relative * expected.abs();
            let value = FieldValue::Float64(value);
            prop_assert_eq!(equal.holds(&value), Ok(is_near));
            prop_assert_eq!(differs.holds(&value), Ok(!is_near));
        }

        #[test]
        fn comparisons_agree_with_those_of_numbers(value: i64, expected: i64) {
            let results = ALL.map(|comparison| {
                let test = test(Expected::Number(comparison, Number::Integer(expected.into())));
                test.holds(&FieldValue::Integer(value.into())).unwrap()
            });
            let numbers = [
                value == expected, value != expected, value < expected,
                value <= expected, value > expected, value >= expected,
            ];
            prop_assert_eq!(results, numbers);
            let between = Expected::Between(Number::Integer(expected.into()), Number::Integer(i64::MAX.into()));
            prop_assert_eq!(test(between).holds(&FieldValue::Integer(value.into())), Ok(value >= expected));
        }
    }
}
