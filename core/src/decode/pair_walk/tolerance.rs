//! [`Tolerance`]: how much two numbers may differ and still count as equal.

use super::scalar::Scalar;

/// How much numbers may differ. Two numbers are equal if their distance is at most `absolute`, or at most `relative`
/// times the larger of their magnitudes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Tolerance {
    /// The largest distance, in the unit of the field; of a stamp, in seconds.
    pub absolute: f64,
    /// The largest distance as a share of the larger magnitude. It does not hold for stamps.
    pub relative: f64,
    /// Whether NaN equals NaN. It equals nothing else.
    pub nan_equal: bool,
}

impl Tolerance {
    /// Numbers have to be equal; NaN equals NaN.
    pub const EXACT: Self = Self {
        absolute: 0.0,
        relative: 0.0,
        nan_equal: true,
    };

    /// Whether two values are equal. Zero and minus zero are, infinities of one sign are; truth values and texts are
    /// equal if they are the same.
    pub fn allows(self, left: &Scalar<'_>, right: &Scalar<'_>) -> bool {
        match (left, right) {
            (Scalar::Text(left), Scalar::Text(right)) => left == right,
            (Scalar::WideText(left), Scalar::WideText(right)) => left == right,
            (Scalar::Bool(left), Scalar::Bool(right)) => left == right,
            (Scalar::Stamp { .. }, Scalar::Stamp { .. }) => {
                left.nanos() == right.nanos()
                    || left
                        .distance(right)
                        .is_some_and(|distance| distance <= self.absolute)
            }
            _ => match (left.number(), right.number()) {
                (Some(a), Some(b)) if a.is_nan() || b.is_nan() => {
                    self.nan_equal && a.is_nan() && b.is_nan()
                }
                (Some(a), Some(b)) => {
                    let is_same_infinity = a.is_infinite() && a.total_cmp(&b).is_eq();
                    is_same_infinity
                        || left.distance(right).is_some_and(|distance| {
                            distance <= self.absolute
                                || distance <= self.relative * a.abs().max(b.abs())
                        })
                }
                _ => false,
            },
        }
    }
}

impl Default for Tolerance {
    fn default() -> Self {
        Self::EXACT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAN: f64 = f64::NAN;
    const INF: f64 = f64::INFINITY;

    #[test]
    fn numbers_are_equal_within_either_tolerance() {
        let within = |absolute, relative, a, b| {
            let tolerance = Tolerance {
                absolute,
                relative,
                ..Tolerance::EXACT
            };
            let forth = tolerance.allows(&Scalar::F64(a), &Scalar::F64(b));
            assert_eq!(forth, tolerance.allows(&Scalar::F64(b), &Scalar::F64(a)));
            forth
        };
        for (absolute, relative, a, b, equal) in [
            (0.0, 0.0, 1.0, 1.0, true),
            (0.0, 0.0, 0.0, -0.0, true),
            (0.0, 0.0, 1.0, 1.0 + f64::EPSILON, false),
            (0.5, 0.0, 1.0, 1.5, true),
            (0.5, 0.0, 1.0, 1.6, false),
            (0.0, 0.1, 100.0, 90.0, true),
            (0.0, 0.1, 100.0, 89.0, false),
            (0.0, 0.1, 1e-300, -1e-300, false),
            (1e9, 1e9, INF, 1.0, false),
            (1e9, 1e9, INF, -INF, false),
            (0.0, 0.0, INF, INF, true),
            (1e9, 1e9, f64::MAX, -f64::MAX, false),
            (0.0, 0.0, NAN, NAN, true),
            (1e9, 1e9, NAN, 1.0, false),
            (1e9, 1e9, NAN, INF, false),
        ] {
            assert_eq!(within(absolute, relative, a, b), equal, "{a} {b}");
        }
        let strict = Tolerance {
            nan_equal: false,
            ..Tolerance::EXACT
        };
        assert!(!strict.allows(&Scalar::F64(NAN), &Scalar::F64(NAN)));
        assert!(!strict.allows(&Scalar::F32(f32::NAN), &Scalar::F32(f32::NAN)));
    }

    #[test]
    fn whole_numbers_are_compared_exactly_however_large() {
        let (a, b) = (
            Scalar::Integer(i128::from(u64::MAX)),
            Scalar::Integer(i128::from(u64::MAX - 1)),
        );
        assert!(!Tolerance::EXACT.allows(&a, &b));
        assert!(Tolerance::EXACT.allows(&a, &a));
        let one = Tolerance {
            absolute: 1.0,
            ..Tolerance::EXACT
        };
        assert!(one.allows(&a, &b));
        assert!(!one.allows(&Scalar::Bool(0), &Scalar::Bool(1)));
    }

    #[test]
    fn stamps_have_a_tolerance_in_seconds_and_no_relative_one() {
        let stamp = |sec, nanosec| Scalar::Stamp { sec, nanosec };
        let half = Tolerance {
            absolute: 0.5,
            relative: 1.0,
            nan_equal: true,
        };
        assert!(half.allows(&stamp(1, 900_000_000), &stamp(2, 400_000_000)));
        assert!(!half.allows(&stamp(1, 900_000_000), &stamp(2, 400_000_001)));
        assert!(Tolerance::EXACT.allows(&stamp(1, 0), &stamp(1, 0)));
        assert!(!Tolerance::EXACT.allows(&stamp(1, 0), &stamp(1, 1)));
        assert!(!half.allows(&stamp(1, 0), &Scalar::Integer(1)));
    }
}
