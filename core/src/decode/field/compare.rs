//! [`Comparison`]: how the value of a field compares with a [`Number`].

use std::cmp::Ordering;
use std::fmt;

use super::value::FieldValue;

const NANOS_PER_SEC: i64 = 1_000_000_000;
/// The smallest float above all `i128`.
const ABOVE_I128: f64 = 170_141_183_460_469_231_731_687_303_715_884_105_728.0;

/// A number with which values are compared. Times are compared with it in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Number {
    /// A whole number.
    Integer(i128),
    /// Any other number.
    Float(f64),
}

impl Number {
    /// The nearest float.
    #[expect(clippy::cast_precision_loss, reason = "as near as a float can be")]
    pub const fn as_f64(self) -> f64 {
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

/// How a value compares with a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comparison {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    Greater,
    /// `>=`
    AtLeast,
}

impl Comparison {
    /// As it is written.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::Greater => ">",
            Self::AtLeast => ">=",
        }
    }

    /// Whether a value compares so with a number. Whole numbers are compared exactly, also with a float. Beside a value
    /// with 32 bits the number is rounded to 32 bits, otherwise no such value would equal 0.1. For NaN only
    /// [`Comparison::NotEqual`] holds. `None` if the value is a truth value or a text.
    pub fn holds(self, value: &FieldValue<'_>, number: Number) -> Option<bool> {
        order(value, number).map(|order| self.accepts(order))
    }

    /// Whether it holds for values in this order; `None`: one of them is NaN.
    const fn accepts(self, order: Option<Ordering>) -> bool {
        match (self, order) {
            (Self::NotEqual, None) => true,
            (_, None) => false,
            (Self::Equal, Some(order)) => order.is_eq(),
            (Self::NotEqual, Some(order)) => order.is_ne(),
            (Self::Less, Some(order)) => order.is_lt(),
            (Self::AtMost, Some(order)) => order.is_le(),
            (Self::Greater, Some(order)) => order.is_gt(),
            (Self::AtLeast, Some(order)) => order.is_ge(),
        }
    }
}

/// The order of a value and a number, if they have one.
#[expect(clippy::option_option, reason = "no number, and NaN")]
fn order(value: &FieldValue<'_>, number: Number) -> Option<Option<Ordering>> {
    Some(match (value, number) {
        (FieldValue::Bool(_) | FieldValue::Text(_), _) => return None,
        (FieldValue::Integer(value), Number::Integer(number)) => Some(value.cmp(&number)),
        (FieldValue::Integer(value), Number::Float(number)) => order_with_float(*value, number),
        (FieldValue::Time(nanos), Number::Integer(seconds)) => {
            let number = seconds.saturating_mul(NANOS_PER_SEC.into());
            Some(i128::from(*nanos).cmp(&number))
        }
        _ => {
            let (value, number) = as_floats(value, number)?;
            value.partial_cmp(&number)
        }
    })
}

/// The exact order of a whole number and a float; `None` for NaN.
fn order_with_float(integer: i128, float: f64) -> Option<Ordering> {
    if float.is_nan() {
        return None;
    }
    if float >= ABOVE_I128 {
        return Some(Ordering::Less);
    }
    if float < -ABOVE_I128 {
        return Some(Ordering::Greater);
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "it is whole and in the range"
    )]
    let whole = float.trunc() as i128;
    let by_fraction = || 0.0_f64.partial_cmp(&float.fract());
    match integer.cmp(&whole) {
        Ordering::Equal => by_fraction(),
        order => Some(order),
    }
}

impl FieldValue<'_> {
    /// The value and a number as floats; beside a value with 32 bits the number is rounded to 32 bits. Times are in
    /// seconds. `None` for truth values and texts.
    pub fn as_floats(&self, number: Number) -> Option<(f64, f64)> {
        as_floats(self, number)
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "as near as a float can be"
)]
fn as_floats(value: &FieldValue<'_>, number: Number) -> Option<(f64, f64)> {
    let number = number.as_f64();
    Some(match *value {
        FieldValue::Float32(value) => (f64::from(value), f64::from(number as f32)),
        FieldValue::Float64(value) => (value, number),
        FieldValue::Integer(value) => (value as f64, number),
        FieldValue::Time(nanos) => {
            let seconds = (nanos / NANOS_PER_SEC) as f64;
            (
                seconds + (nanos % NANOS_PER_SEC) as f64 / NANOS_PER_SEC as f64,
                number,
            )
        }
        FieldValue::Bool(_) | FieldValue::Text(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: [Comparison; 6] = [
        Comparison::Equal,
        Comparison::NotEqual,
        Comparison::Less,
        Comparison::AtMost,
        Comparison::Greater,
        Comparison::AtLeast,
    ];

    fn holds(comparison: Comparison, value: &FieldValue<'_>, number: Number) -> bool {
        comparison.holds(value, number).unwrap()
    }

    #[test]
    fn a_whole_number_and_a_float_are_compared_exactly() {
        // As a float it would equal the next number.
        let value = FieldValue::Integer((1 << 53) + 1);
        let float = Number::Float(9_007_199_254_740_992.0);
        assert!(holds(Comparison::Greater, &value, float));
        assert!(holds(Comparison::NotEqual, &value, float));
        let two = FieldValue::Integer(2);
        assert!(holds(Comparison::Greater, &two, Number::Float(1.5)));
        assert!(holds(Comparison::Less, &two, Number::Float(2.5)));
        assert!(holds(Comparison::Equal, &two, Number::Float(2.0)));
        let minus = FieldValue::Integer(-2);
        assert!(holds(Comparison::Greater, &minus, Number::Float(-2.5)));
        assert!(holds(Comparison::Less, &minus, Number::Float(-1.5)));
        for (float, is_less) in [(f64::INFINITY, true), (1e300, true), (-1e300, false)] {
            let found = holds(Comparison::Less, &two, Number::Float(float));
            assert_eq!(found, is_less, "{float}");
        }
        let largest = FieldValue::Integer(u64::MAX.into());
        assert!(holds(
            Comparison::Equal,
            &largest,
            Number::Integer(u64::MAX.into())
        ));
        assert!(holds(
            Comparison::Greater,
            &largest,
            Number::Integer(i64::MAX.into())
        ));
    }

    #[test]
    fn truth_values_and_texts_are_no_numbers() {
        for value in [FieldValue::Bool(true), FieldValue::Text("1".into())] {
            for comparison in ALL {
                assert_eq!(comparison.holds(&value, Number::Integer(1)), None);
            }
        }
    }

    #[test]
    fn nan_differs_from_everything() {
        let (nan, one) = (FieldValue::Float64(f64::NAN), FieldValue::Integer(1));
        for comparison in ALL {
            let differs = comparison == Comparison::NotEqual;
            assert_eq!(holds(comparison, &nan, Number::Integer(1)), differs);
            assert_eq!(holds(comparison, &one, Number::Float(f64::NAN)), differs);
        }
    }

    proptest! {
        #[test]
        fn a_small_whole_number_compares_with_a_float_as_floats_do(value: i32, number: f64) {
            let floats = f64::from(value);
            let found = ALL.map(|it| holds(it, &FieldValue::Integer(value.into()), Number::Float(number)));
            #[expect(clippy::float_cmp, reason = "exactly that is the rule")]
            let expected = [
                floats == number, floats != number, floats < number,
                floats <= number, floats > number, floats >= number,
            ];
            prop_assert_eq!(found, expected);
        }
    }
}
