//! The values of a field in JSON, which has no number for "not a number" and the infinities: they are strings there.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Values of a field by log time. They need not be finite.
pub type Series = Vec<(i64, f64)>;

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Number {
    Finite(f64),
    Named(Name),
}

#[derive(Serialize, Deserialize)]
enum Name {
    #[serde(rename = "NaN")]
    Nan,
    #[serde(rename = "Infinity")]
    Above,
    #[serde(rename = "-Infinity")]
    Below,
}

impl From<f64> for Number {
    fn from(number: f64) -> Self {
        if number.is_finite() {
            Self::Finite(number)
        } else if number.is_nan() {
            Self::Named(Name::Nan)
        } else if number > 0.0 {
            Self::Named(Name::Above)
        } else {
            Self::Named(Name::Below)
        }
    }
}

impl From<Number> for f64 {
    fn from(number: Number) -> Self {
        match number {
            Number::Finite(number) => number,
            Number::Named(Name::Nan) => Self::NAN,
            Number::Named(Name::Above) => Self::INFINITY,
            Number::Named(Name::Below) => Self::NEG_INFINITY,
        }
    }
}

pub(super) fn serialize<S: Serializer>(
    (reference, run): &(Series, Series),
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let form = |series: &Series| -> Vec<(i64, Number)> {
        series
            .iter()
            .map(|&(at, value)| (at, value.into()))
            .collect()
    };
    (form(reference), form(run)).serialize(serializer)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<(Series, Series), D::Error> {
    let (reference, run) = <(Vec<(i64, Number)>, Vec<(i64, Number)>)>::deserialize(deserializer)?;
    let value = |series: Vec<(i64, Number)>| -> Series {
        let values = series.into_iter();
        values.map(|(at, number)| (at, number.into())).collect()
    };
    Ok((value(reference), value(run)))
}
