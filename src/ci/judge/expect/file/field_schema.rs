//! The keys of `[[expect.field]]`: a comparison with the values of a field.

use toml::de::DeValue;

use super::source::ExpectationError;
use super::table::{Form, Table, integer, number};
use crate::ci::judge::expect::rules::compare::{Expected, Test};
use crate::ci::judge::expect::rules::field::{FieldSpec, Which};
use crate::decode::{Comparison, Number};
use crate::find::Pattern;

pub(crate) const FIELD: Form = (
    "[[expect.field]]",
    &[
        "path",
        "in",
        "elements",
        "compare",
        "value",
        "tolerance",
        "relative-tolerance",
        "nan",
        "finite",
    ],
);

/// A word of `compare`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Compare {
    With(Comparison),
    Between,
    Matches,
}

const COMPARE: [(&str, Compare); 8] = [
    ("==", Compare::With(Comparison::Equal)),
    ("!=", Compare::With(Comparison::NotEqual)),
    ("<", Compare::With(Comparison::Less)),
    ("<=", Compare::With(Comparison::AtMost)),
    (">", Compare::With(Comparison::Greater)),
    (">=", Compare::With(Comparison::AtLeast)),
    ("between", Compare::Between),
    ("matches", Compare::Matches),
];

/// What is expected of a field.
pub(crate) fn field(table: &Table<'_, '_>) -> Result<FieldSpec, ExpectationError> {
    let path = table.required("path", table.parsed("path")?)?;
    let which = table.one_of(
        "in",
        &[
            ("first", Which::First),
            ("last", Which::Last),
            ("any", Which::Any),
            ("every", Which::Every),
        ],
    )?;
    let which = which.unwrap_or(Which::Every);
    let any_element = table.one_of("elements", &[("all", false), ("any", true)])?;
    let spec = FieldSpec {
        any_element: any_element.unwrap_or(which == Which::Any),
        path,
        which,
        test: test(table)?,
    };
    if any_element.is_some() && !spec.path.has_wildcard() {
        return Err(table.error_at("elements", "needs [*] in `path`"));
    }
    Ok(spec)
}

fn test(table: &Table<'_, '_>) -> Result<Test, ExpectationError> {
    let compare = table.one_of("compare", &COMPARE)?;
    let finite = table.flag("finite")?.unwrap_or(false);
    let nan = table.flag("nan")?.unwrap_or(false);
    if nan && finite {
        return Err(table.error_at("nan", "contradicts `finite = true`"));
    }
    let tolerance = table.size("tolerance")?;
    let relative = table.size("relative-tolerance")?;
    let expected = match table.get("value") {
        None if compare.is_some() => {
            return Err(table.error_at("compare", "needs a `value` to compare with"));
        }
        None if finite => Expected::Any,
        None => {
            return Err(
                table.error("nothing is expected of the field; add value, or finite = true")
            );
        }
        Some(value) => {
            let compare = compare.unwrap_or(Compare::With(Comparison::Equal));
            expected(compare, value.get_ref(), nan)
                .map_err(|what| table.error_at("value", &what))?
        }
    };
    let is_equality = matches!(
        expected,
        Expected::Number(Comparison::Equal | Comparison::NotEqual, _)
    );
    for (key, value) in [("tolerance", tolerance), ("relative-tolerance", relative)] {
        if value.is_some() && !is_equality {
            return Err(table.error_at(key, "goes with == and != and a number"));
        }
    }
    let is_number = matches!(expected, Expected::Number(..) | Expected::Between(..));
    if nan && !is_number {
        return Err(table.error_at("nan", "goes with numbers"));
    }
    Ok(Test {
        expected,
        tolerance: tolerance.unwrap_or(0.0),
        relative: relative.unwrap_or(0.0),
        nan,
        finite,
    })
}

fn expected(compare: Compare, value: &DeValue<'_>, nan: bool) -> Result<Expected, String> {
    let is_equal = match compare {
        Compare::Between => return between(value),
        Compare::Matches => {
            let pattern = value
                .as_str()
                .ok_or("is a pattern in quotes for `matches`")?;
            let pattern = Pattern::new(pattern);
            return pattern
                .map(Expected::Matches)
                .map_err(|error| error.to_string());
        }
        Compare::With(comparison) => {
            if let Some(number) = a_number(value) {
                let is_nan = number.as_f64().is_nan();
                return match (comparison, nan) {
                    _ if !is_nan => Ok(Expected::Number(comparison, number)),
                    (Comparison::Equal, true) => Ok(Expected::Number(comparison, number)),
                    _ => Err("is nan, which can be compared only by == with `nan = true`".into()),
                };
            }
            match comparison {
                Comparison::Equal => true,
                Comparison::NotEqual => false,
                _ => return Err("is a number for this comparison".to_owned()),
            }
        }
    };
    match value {
        DeValue::Boolean(value) => Ok(Expected::Bool {
            value: *value,
            is_equal,
        }),
        DeValue::String(value) => Ok(Expected::Text {
            value: value.to_string(),
            is_equal,
        }),
        _ => Err("is a number, a text, true or false".to_owned()),
    }
}

fn between(value: &DeValue<'_>) -> Result<Expected, String> {
    let bounds: Option<Vec<_>> = value.as_array().map(|bounds| {
        bounds
            .iter()
            .filter_map(|bound| a_number(bound.get_ref()))
            .collect()
    });
    match (bounds.as_deref(), value.as_array().map(|all| all.len())) {
        (Some(&[low, high]), Some(2)) if low.as_f64() <= high.as_f64() => {
            Ok(Expected::Between(low, high))
        }
        (Some(&[_, _]), Some(2)) => Err("has its larger number first".to_owned()),
        _ => Err("is a list of two numbers for `between`: [0.0, 1.5]".to_owned()),
    }
}

fn a_number(value: &DeValue<'_>) -> Option<Number> {
    match integer(value) {
        Some(integer) => Some(Number::Integer(integer.into())),
        None => number(value).map(Number::Float),
    }
}
