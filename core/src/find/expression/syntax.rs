//! [`Expression`]: a topic, a condition on the fields of its messages, and what is shown of those that satisfy it.
//!
//! Displayed, it is an expression that means the same.

use std::fmt;

use super::token::{is_plain_word, quoted};
use crate::decode::{Comparison, Number, ValuePath};
use crate::find::pattern::Pattern;

/// The words of the language that are no names of fields.
pub(super) const RESERVED: [&str; 4] = ["and", "or", "not", "show"];

/// Which messages are searched for.
#[derive(Clone, PartialEq, Debug)]
pub struct Expression {
    pub(in crate::find) topics: Topics,
    pub(in crate::find) condition: Condition,
    /// What is shown of a message that satisfies the condition, in addition to the values that decide it.
    pub(in crate::find) shown: Vec<ValuePath>,
}

/// The topics that are searched.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::find) enum Topics {
    Named(String),
    /// All whose whole names match.
    Matching(Pattern),
}

/// A condition. Lists have at least two elements.
#[derive(Clone, PartialEq, Debug)]
pub(in crate::find) enum Condition {
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Not(Box<Condition>),
    Test(Test),
}

/// A condition on one field: that its value, or the value of any of its elements, is as wanted.
#[derive(Clone, PartialEq, Debug)]
pub(in crate::find) struct Test {
    pub(in crate::find) path: ValuePath,
    pub(in crate::find) wanted: Wanted,
}

/// What is wanted of a value.
#[derive(Clone, PartialEq, Debug)]
pub(in crate::find) enum Wanted {
    Number(Comparison, Number),
    /// A number, a truth value or a text that the definition of the message names.
    Constant(Comparison, String),
    Bool {
        value: bool,
        is_equal: bool,
    },
    Text {
        value: String,
        is_equal: bool,
    },
    Contains(String),
    Matches(Pattern),
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.topics, self.condition)?;
        for (index, path) in self.shown.iter().enumerate() {
            let before = if index == 0 { " show" } else { "," };
            write!(f, "{before} {path}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Topics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) if is_plain_word(name) => f.write_str(name),
            Self::Named(name) => f.write_str(&quoted(name)),
            Self::Matching(pattern) => write!(f, "=~ {}", quoted(pattern.as_str())),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All(conditions) => joined(f, conditions, " and "),
            Self::Any(conditions) => joined(f, conditions, " or "),
            Self::Not(condition) => {
                f.write_str("not ")?;
                part(f, condition)
            }
            Self::Test(test) => test.fmt(f),
        }
    }
}

fn joined(f: &mut fmt::Formatter<'_>, conditions: &[Condition], word: &str) -> fmt::Result {
    for (index, condition) in conditions.iter().enumerate() {
        if index > 0 {
            f.write_str(word)?;
        }
        part(f, condition)?;
    }
    Ok(())
}

/// A part of another condition.
fn part(f: &mut fmt::Formatter<'_>, condition: &Condition) -> fmt::Result {
    match condition {
        Condition::All(_) | Condition::Any(_) => write!(f, "({condition})"),
        Condition::Not(_) | Condition::Test(_) => write!(f, "{condition}"),
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = |is_equal: bool| if is_equal { "==" } else { "!=" };
        write!(f, "{} ", self.path)?;
        match &self.wanted {
            Wanted::Number(comparison, number) => write!(f, "{} {number}", comparison.sign()),
            Wanted::Constant(comparison, name) => write!(f, "{} {name}", comparison.sign()),
            Wanted::Bool { value, is_equal } => write!(f, "{} {value}", sign(*is_equal)),
            Wanted::Text { value, is_equal } => {
                write!(f, "{} {}", sign(*is_equal), quoted(value))
            }
            Wanted::Contains(part) => write!(f, "contains {}", quoted(part)),
            Wanted::Matches(pattern) => write!(f, "=~ {}", quoted(pattern.as_str())),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn paths() -> impl Strategy<Value = ValuePath> {
        let name = "[a-z_][a-z0-9_]{0,6}".prop_filter("a word of the language", |name| {
            !RESERVED.contains(&name.as_str())
        });
        let part = (
            name,
            prop::option::of(prop_oneof![
                Just("[]".to_owned()),
                (-3..9_i64).prop_map(|index| format!("[{index}]")),
            ]),
        );
        let part = part.prop_map(|(name, index)| name + &index.unwrap_or_default());
        prop::collection::vec(part, 1..4).prop_map(|parts| parts.join(".").parse().unwrap())
    }

    fn comparisons() -> impl Strategy<Value = Comparison> {
        prop::sample::select(vec![
            Comparison::Equal,
            Comparison::NotEqual,
            Comparison::Less,
            Comparison::AtMost,
            Comparison::Greater,
            Comparison::AtLeast,
        ])
    }

    fn numbers() -> impl Strategy<Value = Number> {
        let float = any::<f64>().prop_filter("nothing equals NaN", |float| !float.is_nan());
        prop_oneof![
            any::<i64>().prop_map(|number| Number::Integer(number.into())),
            any::<u64>().prop_map(|number| Number::Integer(number.into())),
            float.prop_map(Number::Float),
            Just(Number::Float(f64::INFINITY)),
            Just(Number::Float(f64::NEG_INFINITY)),
        ]
    }

    fn patterns() -> impl Strategy<Value = Pattern> {
        let text = any::<String>().prop_map(|text| regex::escape(&text));
        prop_oneof![text, Just(r#"(?i)\bA "\d+\.\t'\\"#.to_owned())]
            .prop_map(|text| Pattern::new(&text).unwrap())
    }

    fn wanted() -> impl Strategy<Value = Wanted> {
        prop_oneof![
            (comparisons(), numbers()).prop_map(|(it, number)| Wanted::Number(it, number)),
            (comparisons(), "[A-Z_][A-Z0-9_]{0,8}")
                .prop_map(|(it, name)| Wanted::Constant(it, name)),
            any::<(bool, bool)>().prop_map(|(value, is_equal)| Wanted::Bool { value, is_equal }),
            any::<(String, bool)>().prop_map(|(value, is_equal)| Wanted::Text { value, is_equal }),
            any::<String>().prop_map(Wanted::Contains),
            patterns().prop_map(Wanted::Matches),
        ]
    }

    fn conditions() -> impl Strategy<Value = Condition> {
        let test = (paths(), wanted());
        let test = test.prop_map(|(path, wanted)| Condition::Test(Test { path, wanted }));
        test.prop_recursive(5, 24, 4, |inner| {
            let several = || prop::collection::vec(inner.clone(), 2..4);
            prop_oneof![
                several().prop_map(Condition::All),
                several().prop_map(Condition::Any),
                inner.clone().prop_map(|it| Condition::Not(Box::new(it))),
            ]
        })
    }

    fn topics() -> impl Strategy<Value = Topics> {
        prop_oneof![
            "/[a-z_/0-9]{0,12}".prop_map(Topics::Named),
            "[^\0]{1,12}".prop_map(Topics::Named),
            patterns().prop_map(Topics::Matching),
        ]
    }

    proptest! {
        #[test]
        fn an_expression_is_parsed_from_what_it_shows(
            topics in topics(),
            condition in conditions(),
            shown in prop::collection::vec(paths(), 0..3),
        ) {
            let expression = Expression { topics, condition, shown };
            let text = expression.to_string();
            prop_assert!(!text.contains(char::is_control), "{:?}", text);
            let parsed: Result<Expression, _> = text.parse();
            prop_assert_eq!(parsed.map_err(|error| error.to_string()), Ok(expression));
        }

        #[test]
        fn any_text_is_an_expression_or_has_an_error_of_three_lines(text in "[ -~üa\u{1b}\u{202e}]{0,60}") {
            match text.parse::<Expression>() {
                Ok(expression) => prop_assert_eq!(expression.to_string().parse(), Ok(expression)),
                Err(error) => {
                    let shown = error.to_string();
                    prop_assert_eq!(shown.split('\n').count(), 3, "{}", shown);
                    let is_wrong = |c: char| c != '\n' && c.is_control();
                    prop_assert!(!shown.contains(is_wrong), "{:?}", shown);
                    prop_assert!(text.is_char_boundary(error.at()));
                }
            }
        }
    }
}
