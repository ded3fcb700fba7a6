//! A definition resolved for decoding: which message contains which, and the size of everything of fixed size.
//!
//! Made once for each topic by `decoder.rs`, walked by `ros_message.rs`, measured by `skip.rs`. A message comes after
//! all messages that it contains, so there are no cycles, and none is nested deeper than [`DEEPEST`]. The cost is
//! linear in the size of the definition.

use std::collections::{BTreeMap, BTreeSet};

use crate::ros::SchemaError;
use crate::ros::message_definition::{
    Array, Base, Definitions, Field as Defined, Number, PLACEHOLDER, Ros1Stamp, name,
};

/// Real definitions are nested up to about ten levels; each level takes stack.
const DEEPEST: usize = 64;
const TIMES: [&str; 2] = [
    "builtin_interfaces/msg/Time",
    "builtin_interfaces/msg/Duration",
];

/// Why messages cannot be decoded with a definition.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum LayoutError {
    #[error(transparent)]
    Schema(#[from] SchemaError),
    #[error("{} holds itself", name(.0))]
    Recursive(String),
    #[error("{} holds messages nested more than {DEEPEST} deep", name(.0))]
    Deep(String),
    #[error("`{}` is a wchar, which has no one form", name(.0))]
    WideChar(String),
}

/// How payloads are laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
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
pub(super) enum Kind {
    Number(Number),
    Text,
    WideText,
    Stamp(Stamp),
    /// A message, by its index in the layout.
    Message(usize),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) array: Array,
    /// Whether it is the field that replaces an empty field list.
    pub(super) is_placeholder: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Message {
    pub(super) fields: Vec<Field>,
    /// Its size in bytes at each of the eight start offsets modulo 8; `None` if the size depends on its content.
    pub(super) sizes: [Option<u64>; 8],
    /// A lower bound of its size: padding is not counted.
    pub(super) least: u64,
    /// How many levels of messages it has.
    height: usize,
}

/// All messages of a definition; the last one is that of the payload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Layout {
    pub(super) messages: Vec<Message>,
    pub(super) form: Form,
}

impl Layout {
    pub(super) fn new(definitions: &Definitions, form: Form) -> Result<Self, LayoutError> {
        let mut layout = Self {
            messages: Vec::new(),
            form,
        };
        let types = &definitions.types;
        let fields_of = |name: &str| {
            types
                .get(name)
                .map(Vec::as_slice)
                .ok_or_else(|| SchemaError::Missing(name.to_owned()))
        };
        let mut done: BTreeMap<&str, usize> = BTreeMap::new();
        let mut on_path: BTreeSet<&str> = BTreeSet::from([definitions.root.as_str()]);
        let mut path: Vec<(&str, usize)> = vec![(&definitions.root, 0)];
        while let Some((name, next)) = path.last_mut() {
            let name = *name;
            let fields = fields_of(name)?;
            let Some(field) = fields.get(*next) else {
                let message = layout.message(name, fields, definitions, &done)?;
                done.insert(name, layout.messages.len());
                layout.messages.push(message);
                on_path.remove(name);
                path.pop();
                continue;
            };
            *next += 1;
            if let Base::Message(nested) = &field.base
                && !is_stamp(nested, definitions)
                && !done.contains_key(nested.as_str())
            {
                if !on_path.insert(nested) {
                    return Err(LayoutError::Recursive(nested.clone()));
                }
                path.push((nested, 0));
            }
        }
        Ok(layout)
    }

    /// The index of the message of the payload.
    pub(super) fn root(&self) -> usize {
        self.messages.len() - 1
    }

    fn message(
        &self,
        name: &str,
        fields: &[Defined],
        definitions: &Definitions,
        done: &BTreeMap<&str, usize>,
    ) -> Result<Message, LayoutError> {
        let mut read = Vec::with_capacity(fields.len());
        let mut least = 0_u64;
        let mut height = 1;
        for field in fields {
            let kind = match &field.base {
                Base::Number(Number::WideChar) => {
                    return Err(LayoutError::WideChar(field.name.clone()));
                }
                Base::Number(number) => Kind::Number(*number),
                Base::Text(_) => Kind::Text,
                Base::WideText(_) => Kind::WideText,
                Base::Stamp(Ros1Stamp::Time) => Kind::Stamp(Stamp::Ros1Time),
                Base::Stamp(Ros1Stamp::Duration) => Kind::Stamp(Stamp::Ros1Duration),
                Base::Message(nested) if is_stamp(nested, definitions) => Kind::Stamp(Stamp::Ros2),
                Base::Message(nested) => {
                    let index = done[nested.as_str()];
                    height = height.max(self.messages[index].height + 1);
                    Kind::Message(index)
                }
            };
            least = least.saturating_add(match field.array {
                Array::One => self.least(kind),
                Array::Fixed(count) => count.saturating_mul(self.least(kind)),
                Array::Bounded(_) | Array::Unbounded => 4,
            });
            read.push(Field {
                name: field.name.clone(),
                kind,
                array: field.array,
                is_placeholder: field.name == PLACEHOLDER,
            });
        }
        if height > DEEPEST {
            return Err(LayoutError::Deep(name.to_owned()));
        }
        Ok(Message {
            sizes: std::array::from_fn(|phase| self.size_of_fields(&read, phase)),
            fields: read,
            least,
            height,
        })
    }
}

/// Whether a nested message is shown as one value: it has the name of a time type, and its usual fields.
fn is_stamp(name: &str, definitions: &Definitions) -> bool {
    let is_usual = |fields: &Vec<Defined>| {
        let is_one = |field: &Defined, number| {
            field.array == Array::One && field.base == Base::Number(number)
        };
        matches!(&fields[..], [sec, nanosec] if is_one(sec, Number::I32) && is_one(nanosec, Number::U32))
    };
    // Some recorders leave out the definitions of these types.
    TIMES.contains(&name) && definitions.types.get(name).is_none_or(is_usual)
}
