//! [`resolve`]: a path as steps through the layout of a type, so that reading needs no names.

use crate::decode::field::error::FieldError;
use crate::decode::field::path::{Part, ValuePath};
use crate::decode::field::value::FieldKind;
use crate::decode::type_layout::{ElementType, FieldLayout, TypeLayout};
use crate::ros::definition::{Array, Primitive};
use crate::untrusted::Foreign;

/// The most fields that an error lists.
const MAX_LISTED: usize = 40;

/// A step from a value into it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::decode::field) enum Step {
    /// From a message to the field with this index.
    Field(usize),
    /// From an array to an element; from its end if it is negative.
    Element(i64),
    /// From an array to each element.
    Elements,
    /// From an array or a text to its length.
    Length,
    /// From a time to its seconds.
    Sec,
    /// From a time to its nanoseconds.
    Nanosec,
}

/// What a step has led to.
#[derive(Clone, Copy)]
enum Place<'a> {
    Message(usize),
    Array(&'a FieldLayout),
    Value(ElementType),
    /// A number that has no parts.
    Part,
}

impl<'a> Place<'a> {
    fn of(element_type: ElementType) -> Self {
        match element_type {
            ElementType::Message(index) => Self::Message(index),
            _ => Self::Value(element_type),
        }
    }

    fn of_field(field: &'a FieldLayout) -> Self {
        match field.array {
            Array::One => Self::of(field.element_type),
            _ => Self::Array(field),
        }
    }
}

/// The steps of a path that leads to plain values, and the kind of these.
pub(in crate::decode::field) fn resolve(
    layout: &TypeLayout,
    path: &ValuePath,
) -> Result<(Vec<Step>, FieldKind), FieldError> {
    let mut place = Place::Message(layout.root());
    let mut steps = Vec::with_capacity(path.parts().len());
    for (done, part) in path.parts().iter().enumerate() {
        let wrong = |what: String| FieldError::Path(format!("`{}` {what}", path.first(done)));
        let (step, next) = match (place, part) {
            (Place::Message(index), Part::Name(name)) => {
                let fields = &layout.messages[index].fields;
                let found = fields.iter().position(|field| field.name == *name);
                let found = found.filter(|at| !fields[*at].is_placeholder);
                let at = found.ok_or_else(|| unknown(path, done, name, names(fields)))?;
                (Step::Field(at), Place::of_field(&fields[at]))
            }
            (Place::Array(field), Part::Index(index)) => {
                if let Some(count) = beyond(*index, field.array) {
                    return Err(wrong(format!(
                        "has {count} elements, there is no [{index}]"
                    )));
                }
                (Step::Element(*index), Place::of(field.element_type))
            }
            (Place::Array(field), Part::Every) => (Step::Elements, Place::of(field.element_type)),
            (Place::Array(_), Part::Name(name)) if name == "length" => (Step::Length, Place::Part),
            (Place::Value(ElementType::Text | ElementType::WideText), Part::Name(name))
                if name == "length" =>
            {
                (Step::Length, Place::Part)
            }
            (Place::Value(ElementType::Stamp(_)), Part::Name(name)) => match name.as_str() {
                "sec" | "secs" => (Step::Sec, Place::Part),
                "nanosec" | "nsec" | "nsecs" => (Step::Nanosec, Place::Part),
                _ => return Err(wrong("is a time; its parts are sec and nanosec".to_owned())),
            },
            (Place::Array(_), Part::Name(_)) => return Err(wrong(array(path, done))),
            (Place::Message(_) | Place::Value(_) | Place::Part, Part::Index(_) | Part::Every) => {
                return Err(wrong("is not an array".to_owned()));
            }
            (Place::Value(_) | Place::Part, Part::Name(name)) => {
                let name = Foreign::text(name);
                return Err(wrong(format!("is a plain value and has no part `{name}`")));
            }
        };
        steps.push(step);
        place = next;
    }
    match place {
        Place::Value(element_type) => Ok((steps, kind(element_type))),
        Place::Part => Ok((steps, FieldKind::Integer)),
        Place::Array(_) => {
            let what = array(path, path.parts().len());
            Err(FieldError::Path(format!("`{path}` {what}")))
        }
        Place::Message(index) => Err(not_plain(path, names(&layout.messages[index].fields))),
    }
}

/// The kind of an element that is no message.
fn kind(element_type: ElementType) -> FieldKind {
    match element_type {
        ElementType::Primitive(Primitive::Bool) => FieldKind::Bool,
        ElementType::Primitive(Primitive::F32 | Primitive::F64) => FieldKind::Float,
        ElementType::Primitive(_) => FieldKind::Integer,
        ElementType::Text | ElementType::WideText => FieldKind::Text,
        ElementType::Stamp(_) => FieldKind::Time,
        ElementType::Message(_) => unreachable!("a message is no value"),
    }
}

/// The number of elements, if the index is known to be outside.
fn beyond(index: i64, array: Array) -> Option<u64> {
    let needed = if index < 0 {
        index.unsigned_abs()
    } else {
        index.unsigned_abs().saturating_add(1)
    };
    match array {
        Array::Fixed(count) | Array::Bounded(count) if needed > count => Some(count),
        _ => None,
    }
}

/// What to write after the path of an array.
pub(in crate::decode::field) fn array(path: &ValuePath, parts: usize) -> String {
    let name = path.first(parts);
    format!("is an array: write {name}[0], {name}[*] or {name}.length")
}

/// The error for a part that is none of these fields.
pub(in crate::decode::field) fn unknown<'n>(
    path: &ValuePath,
    parts: usize,
    name: &str,
    fields: impl Iterator<Item = &'n str>,
) -> FieldError {
    let owner = match parts {
        0 => "the message".to_owned(),
        _ => format!("`{}`", path.first(parts)),
    };
    let name = Foreign::text(name).at_most(100);
    let fields = listed(fields);
    FieldError::Path(format!(
        "{owner} has no field `{name}`; its fields are {fields}"
    ))
}

/// The error for a path that leads to a message with these fields.
pub(in crate::decode::field) fn not_plain<'n>(
    path: &ValuePath,
    fields: impl Iterator<Item = &'n str>,
) -> FieldError {
    let fields = listed(fields);
    FieldError::Path(format!(
        "`{path}` is a message; name one of its fields: {fields}"
    ))
}

fn names(fields: &[FieldLayout]) -> impl Iterator<Item = &str> {
    let fields = fields.iter().filter(|field| !field.is_placeholder);
    fields.map(|field| field.name.as_str())
}

fn listed<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let mut names: Vec<_> = names.take(MAX_LISTED + 1).collect();
    if names.is_empty() {
        return "none".to_owned();
    }
    if names.len() > MAX_LISTED {
        names[MAX_LISTED] = "…";
    }
    Foreign::text(&names.join(", ")).to_string()
}
