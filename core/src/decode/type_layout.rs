//! A definition resolved for decoding: which message contains which, and the size of everything of fixed size.
//!
//! Made once for each topic by `decoder.rs`, walked by `ros_message.rs`, measured by `skip.rs`. A message comes after
//! all messages that it contains, so there are no cycles, and nesting is limited. The cost is linear in the size of the
//! definition.

use std::collections::BTreeMap;

use crate::ros::NestingError;
use crate::ros::definition::{
    Array, BaseType, Definitions, Field, PLACEHOLDER, Primitive, Ros1Stamp, children_first, name,
};

const TIME_TYPES: [&str; 2] = [
    "builtin_interfaces/msg/Time",
    "builtin_interfaces/msg/Duration",
];

/// Why messages cannot be decoded with a definition.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum LayoutError {
    #[error(transparent)]
    Nesting(#[from] NestingError),
    #[error("`{}` is a wchar, which middlewares encode in different ways", name(.0))]
    WideChar(String),
}

/// How payloads are laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WireFormat {
    /// Fields are aligned.
    Cdr,
    /// Fields are packed.
    Ros1,
}

/// A point in time or a duration, by its two numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stamp {
    /// Both are unsigned.
    Ros1Time,
    /// Both are signed.
    Ros1Duration,
    /// Seconds are signed, nanoseconds unsigned.
    Ros2,
}

/// The type of one element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ElementType {
    Primitive(Primitive),
    Text,
    WideText,
    Stamp(Stamp),
    /// A message, by its index in the layout.
    Message(usize),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct FieldLayout {
    pub(super) name: String,
    pub(super) element_type: ElementType,
    pub(super) array: Array,
    /// Whether it is the field that replaces an empty field list.
    pub(super) is_placeholder: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct MessageLayout {
    pub(super) fields: Vec<FieldLayout>,
    /// Its size in bytes at each of the eight start offsets modulo 8; `None` if the size depends on its content.
    pub(super) sizes: [Option<u64>; 8],
    /// A lower bound of its size: padding is not counted.
    pub(super) min_size: u64,
}

/// All messages of a definition; the last one is that of the payload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct TypeLayout {
    pub(super) messages: Vec<MessageLayout>,
    pub(super) wire_format: WireFormat,
}

impl TypeLayout {
    pub(super) fn new(
        definitions: &Definitions,
        wire_format: WireFormat,
    ) -> Result<Self, LayoutError> {
        let mut layout = Self {
            messages: Vec::new(),
            wire_format,
        };
        let mut done: BTreeMap<&str, usize> = BTreeMap::new();
        for (name, fields) in children_first(definitions, |name| is_stamp(name, definitions))? {
            let message = layout.message(fields, definitions, &done)?;
            done.insert(name, layout.messages.len());
            layout.messages.push(message);
        }
        Ok(layout)
    }

    /// The index of the message of the payload.
    pub(super) fn root(&self) -> usize {
        self.messages.len() - 1
    }

    fn message(
        &self,
        fields: &[Field],
        definitions: &Definitions,
        done: &BTreeMap<&str, usize>,
    ) -> Result<MessageLayout, LayoutError> {
        let mut read = Vec::with_capacity(fields.len());
        let mut min_size = 0_u64;
        for field in fields {
            let element_type = match &field.base {
                BaseType::Primitive(Primitive::WideChar) => {
                    return Err(LayoutError::WideChar(field.name.clone()));
                }
                BaseType::Primitive(primitive) => ElementType::Primitive(*primitive),
                BaseType::Text(_) => ElementType::Text,
                BaseType::WideText(_) => ElementType::WideText,
                BaseType::Stamp(Ros1Stamp::Time) => ElementType::Stamp(Stamp::Ros1Time),
                BaseType::Stamp(Ros1Stamp::Duration) => ElementType::Stamp(Stamp::Ros1Duration),
                BaseType::Message(nested) if is_stamp(nested, definitions) => {
                    ElementType::Stamp(Stamp::Ros2)
                }
                BaseType::Message(nested) => ElementType::Message(done[nested.as_str()]),
            };
            min_size = min_size.saturating_add(match field.array {
                Array::One => self.min_size(element_type),
                Array::Fixed(count) => count.saturating_mul(self.min_size(element_type)),
                Array::Bounded(_) | Array::Unbounded => 4,
            });
            read.push(FieldLayout {
                name: field.name.clone(),
                element_type,
                array: field.array,
                is_placeholder: field.name == PLACEHOLDER,
            });
        }
        Ok(MessageLayout {
            sizes: std::array::from_fn(|phase| self.size_of_fields(&read, phase)),
            fields: read,
            min_size,
        })
    }
}

/// Whether a nested message is shown as one value: it has the name of a time type, and its usual fields.
fn is_stamp(name: &str, definitions: &Definitions) -> bool {
    let is_usual = |fields: &Vec<Field>| {
        let is_one = |field: &Field, primitive| {
            field.array == Array::One && field.base == BaseType::Primitive(primitive)
        };
        matches!(&fields[..], [sec, nanosec] if is_one(sec, Primitive::I32) && is_one(nanosec, Primitive::U32))
    };
    // Some recorders leave out the definitions of these types.
    TIME_TYPES.contains(&name) && definitions.types.get(name).is_none_or(is_usual)
}
