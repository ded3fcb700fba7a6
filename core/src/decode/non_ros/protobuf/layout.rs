//! [`ProtobufLayout`]: a recorded descriptor set, resolved for reading: which field has which type.
//!
//! Made once for each topic. It has the types that messages of the topic can contain and no others. Types may contain
//! themselves; code that follows them needs a limit of its own. The cost is linear in the size of the definition.

use std::collections::HashMap;

use prost::Message;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{EnumDescriptorProto, FieldDescriptorProto, FileDescriptorSet};

use super::entries::has_too_many;
use super::error::LayoutError;
use super::scalar::Scalar;
use super::types::{Defined, DefinedMessage, Types};
use super::wire::MAX_NUMBER;

/// The largest descriptor set that is read. Real ones have kilobytes.
const MAX_BYTES: usize = 1 << 20;
/// These are shown as one value. Some recorders leave out their definitions.
const TIME_TYPES: [(&str, TimeType); 2] = [
    ("google.protobuf.Timestamp", TimeType::Point),
    ("google.protobuf.Duration", TimeType::Span),
];

/// The type of one element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::decode) enum Kind {
    Scalar(Scalar),
    /// A constant, by the index of its type.
    Enum(usize),
    /// A message, by the index of its type.
    Message(usize),
    Time(TimeType),
}

/// A message that is one value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::decode) enum TimeType {
    /// `google.protobuf.Timestamp`.
    Point,
    /// `google.protobuf.Duration`.
    Span,
}

/// How many elements a field has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::decode) enum Shape {
    /// Always one: if it is not written, it is zero, empty or false.
    One,
    /// One or none.
    Optional,
    Repeated,
    /// Elements with keys of this type.
    Map(Scalar),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::decode) struct FieldType {
    pub(in crate::decode) name: String,
    pub(in crate::decode) number: u32,
    /// The type of an element; of a map, of its values.
    pub(in crate::decode) kind: Kind,
    pub(in crate::decode) shape: Shape,
    /// Of the fields with the same one, a message has at most one.
    pub(in crate::decode) oneof: Option<i32>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::decode) struct MessageType {
    /// In the order of the definition.
    pub(in crate::decode) fields: Vec<FieldType>,
    /// Numbers and indexes of the fields, by number.
    by_number: Vec<(u32, usize)>,
}

impl MessageType {
    fn new(fields: Vec<FieldType>) -> Self {
        let numbers = fields.iter().map(|field| field.number);
        let mut by_number: Vec<_> = numbers.zip(0..).collect();
        by_number.sort_unstable();
        Self { fields, by_number }
    }

    /// The index of the field with this number.
    pub(in crate::decode) fn field_at(&self, number: u32) -> Option<usize> {
        let found = self.by_number.partition_point(|(known, _)| *known < number);
        let (known, at) = self.by_number.get(found)?;
        (*known == number).then_some(*at)
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::decode) struct EnumType {
    pub(in crate::decode) name: String,
    /// Names and values, in the order of the definition.
    pub(in crate::decode) constants: Vec<(String, i32)>,
}

impl EnumType {
    /// The first name of a value.
    pub(in crate::decode) fn name_of(&self, value: i128) -> Option<&str> {
        let mut constants = self.constants.iter();
        let found = constants.find(|(_, known)| i128::from(*known) == value);
        found.map(|(name, _)| name.as_str())
    }
}

/// The types of the messages of a topic; the first message is that of the payload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::decode) struct ProtobufLayout {
    pub(in crate::decode) messages: Vec<MessageType>,
    pub(in crate::decode) enums: Vec<EnumType>,
}

impl ProtobufLayout {
    /// The index of the message of the payload.
    pub(in crate::decode) const ROOT: usize = 0;

    /// The types that `root` can contain. `definition` is a `google.protobuf.FileDescriptorSet`.
    pub(in crate::decode) fn new(definition: &[u8], root: &str) -> Result<Self, LayoutError> {
        if definition.len() > MAX_BYTES {
            return Err(LayoutError::Large(definition.len()));
        }
        if has_too_many(definition) {
            return Err(LayoutError::Entries);
        }
        let set = FileDescriptorSet::decode(definition)
            .map_err(|error| LayoutError::NoDescriptorSet(error.to_string()))?;
        let mut resolver = Resolver {
            types: Types::of(&set)?,
            messages: HashMap::new(),
            enums: HashMap::new(),
            pending: Vec::new(),
            layout: Self {
                messages: Vec::new(),
                enums: Vec::new(),
            },
        };
        let Some((full, Defined::Message(message))) = resolver.types.find("", root) else {
            return Err(LayoutError::NoRoot(root.to_owned()));
        };
        resolver.message(full, message);
        let mut done = 0;
        while let Some((name, message)) = resolver.pending.get(done).cloned() {
            let fields = resolver.fields(&name, message)?;
            resolver.layout.messages[done] = MessageType::new(fields);
            done += 1;
        }
        Ok(resolver.layout)
    }

    /// The type of the payload.
    pub(in crate::decode) fn root(&self) -> &MessageType {
        &self.messages[Self::ROOT]
    }
}

/// Gives indexes to the types that are referred to.
struct Resolver<'a> {
    types: Types<'a>,
    messages: HashMap<String, usize>,
    enums: HashMap<String, usize>,
    /// The names and messages by index; the fields of the later ones are not resolved yet.
    pending: Vec<(String, DefinedMessage<'a>)>,
    layout: ProtobufLayout,
}

impl<'a> Resolver<'a> {
    fn message(&mut self, name: String, message: DefinedMessage<'a>) -> usize {
        let next = self.pending.len();
        let index = *self.messages.entry(name.clone()).or_insert(next);
        if index == next {
            self.pending.push((name, message));
            self.layout.messages.push(MessageType::new(Vec::new()));
        }
        index
    }

    fn enumeration(&mut self, name: String, found: &EnumDescriptorProto) -> usize {
        let next = self.layout.enums.len();
        let index = *self.enums.entry(name.clone()).or_insert(next);
        if index == next {
            let values = found.value.iter();
            let constants = values.map(|value| (value.name().to_owned(), value.number()));
            self.layout.enums.push(EnumType {
                name,
                constants: constants.collect(),
            });
        }
        index
    }

    /// The fields of the message with this name.
    fn fields(
        &mut self,
        scope: &str,
        owner: DefinedMessage<'a>,
    ) -> Result<Vec<FieldType>, LayoutError> {
        let fields = owner.message.field.iter();
        fields
            .map(|field| self.field(scope, owner, field))
            .collect()
    }

    fn field(
        &mut self,
        scope: &str,
        owner: DefinedMessage<'a>,
        field: &'a FieldDescriptorProto,
    ) -> Result<FieldType, LayoutError> {
        let unknown = || LayoutError::Field {
            message: owner.message.name().to_owned(),
            field: field.name().to_owned(),
        };
        let number = u32::try_from(field.number()).ok();
        let number = number.filter(|number| (1..=MAX_NUMBER).contains(number));
        let number = number.ok_or_else(unknown)?;
        let (kind, shape) = if let Some((key, entry, value)) = self.map_entry(scope, field) {
            (
                self.kind(&entry, value)?.ok_or_else(unknown)?,
                Shape::Map(key),
            )
        } else {
            let kind = self.kind(scope, field)?.ok_or_else(unknown)?;
            let has_zero = owner.has_zeros
                && !field.proto3_optional()
                && field.oneof_index.is_none()
                && !matches!(kind, Kind::Message(_) | Kind::Time(_));
            let shape = match (field.label(), has_zero) {
                (Label::Repeated, _) => Shape::Repeated,
                (_, true) => Shape::One,
                (_, false) => Shape::Optional,
            };
            (kind, shape)
        };
        Ok(FieldType {
            name: field.name().to_owned(),
            number,
            kind,
            shape,
            oneof: field.oneof_index,
        })
    }

    /// The key type, the name of the entries and their value, if these are the entries of a map.
    fn map_entry(
        &self,
        scope: &str,
        field: &FieldDescriptorProto,
    ) -> Option<(Scalar, String, &'a FieldDescriptorProto)> {
        if field.label() != Label::Repeated || scalar(field).is_some() {
            return None;
        }
        let (name, Defined::Message(entry)) = self.types.find(scope, field.type_name())? else {
            return None;
        };
        let entry = entry.message;
        if !entry.options.as_ref()?.map_entry() {
            return None;
        }
        let at = |number| {
            let mut fields = entry.field.iter();
            fields.find(|field| u32::try_from(field.number()) == Ok(number))
        };
        let (key, value) = (at(KEY)?, at(VALUE)?);
        let is_one = |field: &FieldDescriptorProto| field.label() != Label::Repeated;
        let key_type = scalar(key).filter(|key| key.is_key())?;
        (is_one(key) && is_one(value)).then_some((key_type, name, value))
    }

    /// The type of an element of a field in `scope`; `None` if it is not known.
    fn kind(
        &mut self,
        scope: &str,
        field: &'a FieldDescriptorProto,
    ) -> Result<Option<Kind>, LayoutError> {
        if let Some(scalar) = scalar(field) {
            return Ok(Some(Kind::Scalar(scalar)));
        }
        let name = field.type_name();
        if name.is_empty() {
            return Ok(None);
        }
        let found = self.types.find(scope, name);
        let full = found.as_ref().map_or(name, |(full, _)| full);
        let full = full.strip_prefix('.').unwrap_or(full);
        if let Some((_, time)) = TIME_TYPES.iter().find(|(known, _)| *known == full) {
            return Ok(Some(Kind::Time(*time)));
        }
        Ok(Some(match found {
            Some((name, Defined::Message(found))) => Kind::Message(self.message(name, found)),
            Some((name, Defined::Enum(found))) => Kind::Enum(self.enumeration(name, found)),
            None => return Err(LayoutError::Missing(name.to_owned())),
        }))
    }
}

/// The numbers of the fields of an entry of a map.
pub(in crate::decode) const KEY: u32 = 1;
pub(in crate::decode) const VALUE: u32 = 2;

fn scalar(field: &FieldDescriptorProto) -> Option<Scalar> {
    Some(match Type::try_from(field.r#type?).ok()? {
        Type::Double => Scalar::Double,
        Type::Float => Scalar::Float,
        Type::Int64 => Scalar::Int64,
        Type::Uint64 => Scalar::Uint64,
        Type::Int32 => Scalar::Int32,
        Type::Fixed64 => Scalar::Fixed64,
        Type::Fixed32 => Scalar::Fixed32,
        Type::Bool => Scalar::Bool,
        Type::String => Scalar::Text,
        Type::Bytes => Scalar::Bytes,
        Type::Uint32 => Scalar::Uint32,
        Type::Sfixed32 => Scalar::Sfixed32,
        Type::Sfixed64 => Scalar::Sfixed64,
        Type::Sint32 => Scalar::Sint32,
        Type::Sint64 => Scalar::Sint64,
        Type::Group | Type::Message | Type::Enum => return None,
    })
}
