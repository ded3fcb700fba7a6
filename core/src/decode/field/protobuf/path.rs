//! [`ProtobufPath`]: a path as steps through the types of protobuf messages.

use crate::decode::field::error::FieldError;
use crate::decode::field::path::{Part, ValuePath};
use crate::decode::field::ros::resolve::{array, not_plain, unknown};
use crate::decode::field::value::FieldKind;
use crate::decode::non_ros::protobuf::layout::{
    EnumType, FieldType, Kind, MessageType, ProtobufLayout, Shape,
};
use crate::decode::non_ros::protobuf::scalar::Scalar;
use crate::untrusted::Foreign;

/// A step from a value into it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// From a message to the field with this index.
    Field(usize),
    /// From an array or bytes to an element; from the end if it is negative.
    Element(i64),
    /// From an array, bytes or a map to each element.
    Elements,
    /// From a map to the value of a key.
    Key(String),
    /// From an array, a map, a text or bytes to the length.
    Length,
    /// From a time to its seconds.
    Sec,
    /// From a time to its nanoseconds.
    Nanosec,
}

/// What a step has led to.
#[derive(Clone, Copy)]
enum Place<'a> {
    Message(&'a MessageType),
    Array(Kind),
    Bytes,
    Map(Kind),
    Value(Kind),
    Number,
}

/// A path that leads to plain values, found in the definition.
#[derive(Clone, Debug)]
pub(in crate::decode::field) struct ProtobufPath {
    pub(super) steps: Vec<Step>,
    kind: FieldKind,
    /// The type of constants.
    enumeration: Option<usize>,
}

impl ProtobufPath {
    pub(in crate::decode::field) fn new(
        layout: &ProtobufLayout,
        path: &ValuePath,
    ) -> Result<Self, FieldError> {
        let mut place = Place::Message(layout.root());
        let mut steps = Vec::with_capacity(path.parts().len());
        for (done, part) in path.parts().iter().enumerate() {
            let (step, next) = place.step(layout, path, done, part)?;
            steps.push(step);
            place = next;
        }
        let whole = path.parts().len();
        let (kind, enumeration) = match place {
            Place::Value(Kind::Enum(index)) => (FieldKind::Integer, Some(index)),
            Place::Value(Kind::Scalar(scalar)) => (kind_of(scalar), None),
            Place::Value(Kind::Time(_)) => (FieldKind::Time, None),
            Place::Number => (FieldKind::Integer, None),
            Place::Message(message) => return Err(not_plain(path, names(message))),
            Place::Bytes => (FieldKind::Text, None),
            Place::Array(_) => return Err(wrong(path, whole, &array(path, whole))),
            Place::Map(_) => return Err(wrong(path, whole, &map(path, whole))),
            Place::Value(Kind::Message(_)) => unreachable!("a message has a place of its own"),
        };
        Ok(Self {
            steps,
            kind,
            enumeration,
        })
    }

    pub(in crate::decode::field) const fn kind(&self) -> FieldKind {
        self.kind
    }

    /// The type of the constants that the values are.
    pub(in crate::decode::field) fn enumeration<'a>(
        &self,
        layout: &'a ProtobufLayout,
    ) -> Option<&'a EnumType> {
        self.enumeration.map(|index| &layout.enums[index])
    }
}

impl<'a> Place<'a> {
    fn of(layout: &'a ProtobufLayout, kind: Kind) -> Self {
        match kind {
            Kind::Message(index) => Self::Message(&layout.messages[index]),
            Kind::Scalar(Scalar::Bytes) => Self::Bytes,
            _ => Self::Value(kind),
        }
    }

    fn of_field(layout: &'a ProtobufLayout, field: &FieldType) -> Self {
        match field.shape {
            Shape::One | Shape::Optional => Self::of(layout, field.kind),
            Shape::Repeated => Self::Array(field.kind),
            Shape::Map(_) => Self::Map(field.kind),
        }
    }

    /// The step that a part of a path takes from here, after `done` parts.
    fn step(
        self,
        layout: &'a ProtobufLayout,
        path: &ValuePath,
        done: usize,
        part: &Part,
    ) -> Result<(Step, Self), FieldError> {
        let wrong = |what: &str| wrong(path, done, what);
        Ok(match (self, part) {
            (Self::Message(message), Part::Name(name)) => {
                let found = message.fields.iter().position(|field| field.name == *name);
                let at = found.ok_or_else(|| unknown(path, done, name, names(message)))?;
                (Step::Field(at), Self::of_field(layout, &message.fields[at]))
            }
            (Self::Array(kind), Part::Index(index)) => {
                (Step::Element(*index), Self::of(layout, kind))
            }
            (Self::Array(kind) | Self::Map(kind), Part::Every) => {
                (Step::Elements, Self::of(layout, kind))
            }
            (Self::Bytes, Part::Index(index)) => (Step::Element(*index), Self::Number),
            (Self::Bytes, Part::Every) => (Step::Elements, Self::Number),
            (
                Self::Array(_)
                | Self::Bytes
                | Self::Map(_)
                | Self::Value(Kind::Scalar(Scalar::Text)),
                Part::Name(name),
            ) if name == "length" => (Step::Length, Self::Number),
            (Self::Map(kind), Part::Name(key)) => (Step::Key(key.clone()), Self::of(layout, kind)),
            (Self::Map(_), Part::Index(_)) => return Err(wrong(&map(path, done))),
            (Self::Value(Kind::Time(_)), Part::Name(name)) => match name.as_str() {
                "sec" | "secs" | "seconds" => (Step::Sec, Self::Number),
                "nanosec" | "nsec" | "nsecs" | "nanos" => (Step::Nanosec, Self::Number),
                _ => return Err(wrong("is a time; its parts are sec and nanosec")),
            },
            (Self::Array(_) | Self::Bytes, Part::Name(_)) => return Err(wrong(&array(path, done))),
            (Self::Message(_) | Self::Value(_) | Self::Number, Part::Index(_) | Part::Every) => {
                return Err(wrong("is not an array"));
            }
            (Self::Value(_) | Self::Number, Part::Name(name)) => {
                let name = Foreign::text(name);
                return Err(wrong(&format!("is a plain value and has no part `{name}`")));
            }
        })
    }
}

fn wrong(path: &ValuePath, parts: usize, what: &str) -> FieldError {
    FieldError::Path(format!("`{}` {what}", path.first(parts)))
}

fn map(path: &ValuePath, parts: usize) -> String {
    let name = path.first(parts);
    format!("is a map: write {name}.KEY, {name}[*] or {name}.length")
}

fn names(message: &MessageType) -> impl Iterator<Item = &str> {
    message.fields.iter().map(|field| field.name.as_str())
}

const fn kind_of(scalar: Scalar) -> FieldKind {
    match scalar {
        Scalar::Bool => FieldKind::Bool,
        Scalar::Float | Scalar::Double => FieldKind::Float,
        Scalar::Text => FieldKind::Text,
        _ => FieldKind::Integer,
    }
}
