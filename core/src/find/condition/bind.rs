//! Finds the fields of a condition in the definition of a topic, and checks that each can have what is wanted of it.

use super::bound::{BoundCondition, BoundField, BoundTest, Check};
use super::error::FindError;
use crate::bag::Topic;
use crate::decode::{
    Comparison, FieldError, FieldKind, FieldReader, FieldValue, Number, ValuePath, constants_at,
};
use crate::find::expression::syntax::{Condition, Test, Wanted};
use crate::untrusted::Foreign;

/// How many constants an error lists.
const MAX_LISTED: usize = 40;

pub(super) fn condition(topic: &Topic, condition: &Condition) -> Result<BoundCondition, FindError> {
    let all = |conditions: &[Condition]| {
        let bound = conditions.iter().map(|it| self::condition(topic, it));
        bound.collect::<Result<Vec<_>, _>>()
    };
    Ok(match condition {
        Condition::All(conditions) => BoundCondition::All(all(conditions)?),
        Condition::Any(conditions) => BoundCondition::Any(all(conditions)?),
        Condition::Not(inner) => BoundCondition::Not(Box::new(self::condition(topic, inner)?)),
        Condition::Test(test) => BoundCondition::Test(self::test(topic, test)?),
    })
}

pub(super) fn field(topic: &Topic, path: &ValuePath) -> Result<BoundField, FindError> {
    let reader = FieldReader::new(topic, path).map_err(|error| match error {
        FieldError::Definition(reason) => FindError::Undecodable {
            topic: topic.name.clone(),
            reason,
        },
        error => wrong(topic, error.to_string()),
    })?;
    let path = path.clone();
    Ok(BoundField { path, reader })
}

fn test(topic: &Topic, test: &Test) -> Result<BoundTest, FindError> {
    let field = field(topic, &test.path)?;
    let check = check(topic, test)?;
    match field.reader.kind().and_then(|kind| misfit(&check, kind)) {
        None => Ok(BoundTest { field, check }),
        Some(what) => Err(wrong(topic, format!("`{}` is {what}", test.path))),
    }
}

fn wrong(topic: &Topic, reason: String) -> FindError {
    FindError::Field {
        topic: topic.name.clone(),
        reason,
    }
}

/// What is checked; a constant becomes its value.
fn check(topic: &Topic, test: &Test) -> Result<Check, FindError> {
    Ok(match &test.wanted {
        Wanted::Number(comparison, number) => Check::Number(*comparison, *number),
        Wanted::Constant(comparison, name) => {
            let value = constant(topic, &test.path, name)?;
            let named = || format!("the constant `{name}` is {value}");
            equal(*comparison, &value)
                .ok_or_else(|| wrong(topic, format!("{}; write == or !=", named())))?
        }
        Wanted::Bool { value, is_equal } => Check::Bool {
            value: *value,
            is_equal: *is_equal,
        },
        Wanted::Text { value, is_equal } => Check::Text {
            value: value.clone(),
            is_equal: *is_equal,
        },
        Wanted::Contains(part) => Check::Contains(part.clone()),
        Wanted::Matches(pattern) => Check::Matches(pattern.clone()),
    })
}

/// The comparison with the value of a constant; `None` if such values are only equal or not.
fn equal(comparison: Comparison, value: &FieldValue<'_>) -> Option<Check> {
    let is_equal = match comparison {
        Comparison::Equal => Some(true),
        Comparison::NotEqual => Some(false),
        _ => None,
    };
    Some(match value {
        FieldValue::Bool(value) => Check::Bool {
            value: *value,
            is_equal: is_equal?,
        },
        FieldValue::Text(value) => Check::Text {
            value: value.to_string(),
            is_equal: is_equal?,
        },
        FieldValue::Integer(number) => Check::Number(comparison, Number::Integer(*number)),
        FieldValue::Time(number) => Check::Number(comparison, Number::Integer((*number).into())),
        FieldValue::Float64(number) => Check::Number(comparison, Number::Float(*number)),
        FieldValue::Float32(number) => Check::Number(comparison, Number::Float(f64::from(*number))),
    })
}

/// The value of a constant: of the message that has the field, or of a message around it.
fn constant(topic: &Topic, path: &ValuePath, name: &str) -> Result<FieldValue<'static>, FindError> {
    let types = constants_at(topic, path);
    let mut all = types.iter().flat_map(|of_type| &of_type.constants);
    if let Some((_, value)) = all.find(|(known, _)| known == name) {
        return Ok(value.clone());
    }
    let there_are = match types.first() {
        None => "the definition of its messages has no constants there".to_owned(),
        Some(of_type) => {
            let all = of_type.constants.iter().map(|(name, _)| name.as_str());
            let mut names: Vec<_> = all.take(MAX_LISTED).collect();
            if of_type.constants.len() > MAX_LISTED {
                names.push("…");
            }
            let type_name = Foreign::text(&of_type.type_name);
            format!("{type_name} has {}", Foreign::text(&names.join(", ")))
        }
    };
    let reason = format!("`{name}` is no constant: {there_are}; a text is written in quotes");
    Err(wrong(topic, reason))
}

/// Why a field of this kind can never pass the check, in words after `is`.
fn misfit(check: &Check, kind: FieldKind) -> Option<String> {
    let (fits, wanted) = match check {
        Check::Number(..) => (
            matches!(
                kind,
                FieldKind::Integer | FieldKind::Float | FieldKind::Time
            ),
            "cannot be compared with a number",
        ),
        Check::Bool { .. } => (
            kind == FieldKind::Bool,
            "cannot be compared with true or false",
        ),
        Check::Text { .. } => (kind == FieldKind::Text, "cannot be compared with a text"),
        Check::Contains(_) | Check::Matches(_) => (
            kind == FieldKind::Text,
            "cannot contain a text or match a pattern",
        ),
    };
    (!fits).then(|| format!("{} and {wanted}", kind.in_words()))
}
