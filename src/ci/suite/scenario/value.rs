//! [`Value`]: what stands behind a key, with its place in the file; `${NAME}` in it is replaced.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::DeValue;

/// A reason, and the place that it is about.
pub(super) type Refused = (Range<usize>, String);

/// The longest text that a value may have after replacement, in bytes.
const LONGEST: usize = 64 << 10;

/// One text, number or switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Scalar {
    Switch(bool),
    /// Numbers are kept as they are written.
    Text(String),
}

impl Scalar {
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Switch(true) => "true",
            Self::Switch(false) => "false",
            Self::Text(text) => text,
        }
    }
}

/// What stands behind a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Value {
    One(Scalar),
    List(Vec<(Range<usize>, Scalar)>),
}

/// What `${NAME}` stands for.
pub(super) trait Parameters {
    /// The value of a parameter; an error if there is none, in words.
    fn value(&mut self, name: &str) -> Result<Scalar, String>;
}

impl Value {
    pub(super) fn of(value: &Spanned<DeValue<'_>>) -> Result<Self, Refused> {
        match value.get_ref() {
            DeValue::Array(values) => {
                let each = |value: &Spanned<DeValue<'_>>| Ok((value.span(), scalar(value)?));
                let values: Result<Vec<_>, Refused> = values.iter().map(each).collect();
                Ok(Self::List(values?))
            }
            _ => scalar(value).map(Self::One),
        }
    }

    /// The same with the values of parameters in their places.
    pub(super) fn filled(&self, parameters: &mut impl Parameters) -> Result<Self, String> {
        Ok(match self {
            Self::One(value) => Self::One(filled(value, parameters)?),
            Self::List(values) => {
                let each = |(span, value): &(Range<usize>, Scalar)| {
                    Ok((span.clone(), filled(value, parameters)?))
                };
                Self::List(values.iter().map(each).collect::<Result<_, String>>()?)
            }
        })
    }
}

/// A table of scalars.
pub(super) fn table(
    value: &Spanned<DeValue<'_>>,
) -> Result<BTreeMap<String, (Range<usize>, Scalar)>, Refused> {
    let Some(table) = value.get_ref().as_table() else {
        return Err((value.span(), "this is not a table".into()));
    };
    let each = |(name, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
        let name: &str = std::borrow::Cow::as_ref(name.get_ref());
        Ok((name.to_owned(), (value.span(), scalar(value)?)))
    };
    table.iter().map(each).collect()
}

pub(super) fn scalar(value: &Spanned<DeValue<'_>>) -> Result<Scalar, Refused> {
    let refuse = |reason: &str| Err((value.span(), reason.to_owned()));
    match value.get_ref() {
        DeValue::String(text) => Ok(Scalar::Text(text.clone().into_owned())),
        DeValue::Integer(number) if number.radix() == 10 => {
            Ok(Scalar::Text(number.as_str().to_owned()))
        }
        DeValue::Integer(_) => refuse("numbers are written in decimal digits here"),
        DeValue::Float(number) => Ok(Scalar::Text(number.as_str().to_owned())),
        DeValue::Boolean(is_on) => Ok(Scalar::Switch(*is_on)),
        DeValue::Datetime(_) => refuse("a time is written as a text, in quotes"),
        DeValue::Array(_) => refuse("a list in a list has no meaning here"),
        DeValue::Table(_) => refuse("a table has no meaning here"),
    }
}

/// `${NAME}` alone has the value and its type; within a text it has the text of the value. `$${` stands for `${`.
fn filled(value: &Scalar, parameters: &mut impl Parameters) -> Result<Scalar, String> {
    let Scalar::Text(text) = value else {
        return Ok(value.clone());
    };
    if let Some(name) = text.strip_prefix("${").and_then(|it| it.strip_suffix('}'))
        && !name.contains(['$', '}'])
    {
        return parameters.value(name);
    }
    let mut whole = String::new();
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once("${") {
        if let Some(before) = before.strip_suffix('$') {
            whole.extend([before, "${"]);
            rest = after;
            continue;
        }
        let (name, after) = after
            .split_once('}')
            .ok_or("`${` has no `}`; write `$${` for the characters themselves")?;
        whole.push_str(before);
        whole.push_str(parameters.value(name)?.text());
        if whole.len() > LONGEST {
            return Err(format!("this is longer than {LONGEST} bytes"));
        }
        rest = after;
    }
    whole.push_str(rest);
    Ok(Scalar::Text(whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Known;

    impl Parameters for Known {
        fn value(&mut self, name: &str) -> Result<Scalar, String> {
            match name {
                "on" => Ok(Scalar::Switch(true)),
                "rate" => Ok(Scalar::Text("2".into())),
                _ => Err(format!("no `{name}`")),
            }
        }
    }

    #[test]
    fn parameters_are_replaced_and_keep_their_type_when_alone() {
        let text = |text: &str| Scalar::Text(text.to_owned());
        for (written, meant) in [
            ("${on}", Ok(Scalar::Switch(true))),
            ("a${on}", Ok(text("atrue"))),
            ("${rate}", Ok(text("2"))),
            ("x${rate}y${rate}", Ok(text("x2y2"))),
            ("$${rate}", Ok(text("${rate}"))),
            ("$$${rate}", Ok(text("$${rate}"))),
            ("cost: $5 {a}", Ok(text("cost: $5 {a}"))),
            ("${b}", Err("no `b`".to_owned())),
            ("${}", Err("no ``".to_owned())),
        ] {
            assert_eq!(filled(&text(written), &mut Known), meant, "{written}");
        }
        let open = filled(&text("a ${rate"), &mut Known).unwrap_err();
        assert!(open.contains("has no `}`"), "{open}");
        let long = filled(&text(&"${rate}".repeat(LONGEST + 1)), &mut Known);
        assert!(long.unwrap_err().contains("longer than"));
    }
}
