//! [`Contents`]: the fields of one message, sorted by their definition.
//!
//! Of repeated fields only the first elements are kept, so memory is bounded by the number of elements that are shown.

use std::collections::BTreeMap;

use super::elements::misfit;
use super::layout::{FieldType, KEY, Kind, MessageType, Shape, VALUE};
use super::scalar::Scalar;
use super::wire::{Slice, WireReader, Written};
use crate::decode::decoded::Stop;
use crate::decode::field::FieldValue;

/// The most parts in which one message is written. Writers write one.
pub(super) const MAX_PARTS: usize = 1000;

/// What is written of a field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::decode) enum Content<'a> {
    /// The value that counts: the last one.
    Value(Written<'a>),
    /// A message. It may be written in parts; what is written later counts.
    Message(Vec<Slice<'a>>),
    /// A repeated field: as many of its written fields as have the first elements.
    Elements { kept: Vec<Written<'a>>, count: u64 },
    /// A map, by its keys.
    Entries(BTreeMap<Key, Written<'a>>),
}

/// The key of an entry of a map.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in crate::decode) enum Key {
    Bool(bool),
    Integer(i128),
    Text(String),
}

impl Key {
    fn zero(key_type: Scalar) -> Self {
        match key_type {
            Scalar::Text => Self::Text(String::new()),
            Scalar::Bool => Self::Bool(false),
            _ => Self::Integer(0),
        }
    }

    fn of(value: FieldValue<'_>) -> Option<Self> {
        match value {
            FieldValue::Bool(value) => Some(Self::Bool(value)),
            FieldValue::Integer(value) => Some(Self::Integer(value)),
            FieldValue::Text(value) => Some(Self::Text(value.into_owned())),
            FieldValue::Float32(_) | FieldValue::Float64(_) | FieldValue::Time(_) => None,
        }
    }

    /// As a path names it.
    pub(in crate::decode) fn text(&self) -> String {
        match self {
            Self::Bool(value) => value.to_string(),
            Self::Integer(value) => value.to_string(),
            Self::Text(value) => value.clone(),
        }
    }
}

/// The fields of one message.
pub(in crate::decode) struct Contents<'a> {
    /// By the index of the field. What is not written is not in it.
    pub(in crate::decode) fields: BTreeMap<usize, Content<'a>>,
    /// How many fields the definition does not have.
    pub(in crate::decode) unknown: u64,
    /// How reading ended; what was read before is kept.
    pub(in crate::decode) end: Result<(), Stop>,
}

impl<'a> Contents<'a> {
    /// Reads a message, which may be written in parts. Of repeated fields the first `elements` are kept. `step` is
    /// called before each field.
    pub(in crate::decode) fn read(
        message: &MessageType,
        parts: &[Slice<'a>],
        elements: usize,
        step: &mut dyn FnMut() -> Result<(), Stop>,
    ) -> Self {
        let mut contents = Self {
            fields: BTreeMap::new(),
            unknown: 0,
            end: Ok(()),
        };
        contents.end = contents.read_all(message, parts, elements as u64, step);
        contents
    }

    fn read_all(
        &mut self,
        message: &MessageType,
        parts: &[Slice<'a>],
        elements: u64,
        step: &mut dyn FnMut() -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        // The field of each oneof that is set.
        let mut chosen: BTreeMap<i32, usize> = BTreeMap::new();
        for written in parts.iter().flat_map(|part| WireReader::new(*part)) {
            step()?;
            let written = written?;
            let Some(at) = message.field_at(written.number) else {
                self.unknown += 1;
                continue;
            };
            let field = &message.fields[at];
            if let Some(before) = field.oneof.and_then(|oneof| chosen.insert(oneof, at))
                && before != at
            {
                self.fields.remove(&before);
            }
            let present = self.fields.remove(&at);
            let content = added(present, field, written, elements)?;
            self.fields.insert(at, content);
        }
        Ok(())
    }
}

/// What is written of a field, with one more of its written fields.
fn added<'a>(
    present: Option<Content<'a>>,
    field: &FieldType,
    written: Written<'a>,
    elements: u64,
) -> Result<Content<'a>, Stop> {
    let misfit = || misfit(&field.name, written.at);
    Ok(match (field.shape, field.kind) {
        (Shape::Map(key_type), _) => {
            let (key, value) = entry(field, key_type, written)?;
            let mut entries = match present {
                Some(Content::Entries(entries)) => entries,
                _ => BTreeMap::new(),
            };
            entries.insert(key, value);
            Content::Entries(entries)
        }
        (Shape::Repeated, kind) => {
            let more = written
                .count(kind)
                .map_err(|stop| stop.in_field(&field.name))?;
            let (mut kept, count) = match present {
                Some(Content::Elements { kept, count }) => (kept, count),
                _ => (Vec::new(), 0),
            };
            if more > 0 && count < elements {
                kept.push(written);
            }
            let count = count + more;
            Content::Elements { kept, count }
        }
        (Shape::One | Shape::Optional, Kind::Message(_) | Kind::Time(_)) => {
            let part = written.message().ok_or_else(misfit)?;
            let mut parts = match present {
                Some(Content::Message(parts)) => parts,
                _ => Vec::with_capacity(1),
            };
            if parts.len() >= MAX_PARTS {
                let (at, name) = (written.at, &field.name);
                let problem = format!("byte {at}: `{name}` is written in too many parts");
                return Err(Stop::Problem(problem));
            }
            parts.push(part);
            Content::Message(parts)
        }
        (Shape::One | Shape::Optional, Kind::Scalar(_) | Kind::Enum(_)) => Content::Value(written),
    })
}

/// What is written of one field that is not repeated; `None` if it is not set.
pub(in crate::decode) fn single<'a>(
    message: &MessageType,
    field: &FieldType,
    parts: &[Slice<'a>],
) -> Result<Option<Content<'a>>, Stop> {
    let mut found = None;
    for written in parts.iter().flat_map(|part| WireReader::new(*part)) {
        let written = written?;
        if written.number == field.number {
            found = Some(added(found, field, written, 0)?);
        } else if field.oneof.is_some() {
            let other = message.field_at(written.number);
            if other.is_some_and(|other| message.fields[other].oneof == field.oneof) {
                found = None;
            }
        }
    }
    Ok(found)
}

/// Key and value of an entry of a map. What is not written is zero or empty.
pub(in crate::decode) fn entry<'a>(
    field: &FieldType,
    key_type: Scalar,
    written: Written<'a>,
) -> Result<(Key, Written<'a>), Stop> {
    let entry = written.message();
    let entry = entry.ok_or_else(|| misfit(&field.name, written.at))?;
    let mut key = Key::zero(key_type);
    let mut value = Written {
        number: VALUE,
        at: entry.at,
        value: field.kind.zero(),
    };
    for part in WireReader::new(entry) {
        let part = part?;
        match part.number {
            KEY => {
                let found = key_type.value(part.value).and_then(Key::of);
                key = found.ok_or_else(|| misfit(&field.name, part.at))?;
            }
            VALUE => value = part,
            _ => {}
        }
    }
    Ok((key, value))
}
