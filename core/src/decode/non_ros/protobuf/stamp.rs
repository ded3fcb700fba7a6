//! [`StampPlace`]: where messages of a type have the time of what they describe.

use super::contents::MAX_PARTS;
use super::elements::time;
use super::layout::{Kind, MessageType, ProtobufLayout, Shape, TimeType};
use super::wire::{Slice, WireReader};

/// The names of the field.
const NAMES: [&str; 2] = ["timestamp", "stamp"];
/// The message that has it, if it is not the whole message.
const HEADER: &str = "header";

/// A field of the message, or of its header, by number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(in crate::decode) struct StampPlace {
    header: Option<u32>,
    stamp: u32,
}

impl StampPlace {
    /// `timestamp` or `stamp`, of the message or else of its `header`; it has to be a `google.protobuf.Timestamp`.
    pub(in crate::decode) fn of(layout: &ProtobufLayout) -> Option<Self> {
        let root = layout.root();
        if let Some(stamp) = stamp_of(root) {
            return Some(Self {
                header: None,
                stamp,
            });
        }
        let mut fields = root.fields.iter();
        let header = fields.find(|field| field.name == HEADER && field.shape == Shape::Optional)?;
        let Kind::Message(at) = header.kind else {
            return None;
        };
        Some(Self {
            header: Some(header.number),
            stamp: stamp_of(&layout.messages[at])?,
        })
    }

    /// Seconds and nanoseconds in a payload; `None` if it has no stamp or cannot be read.
    pub(in crate::decode) fn read(self, payload: &[u8]) -> Option<(i64, i32)> {
        let whole = Slice {
            bytes: payload,
            at: 0,
        };
        let within = match self.header {
            Some(number) => parts(&[whole], number)?,
            None => vec![whole],
        };
        time(&parts(&within, self.stamp)?).ok()
    }
}

fn stamp_of(message: &MessageType) -> Option<u32> {
    NAMES.iter().find_map(|name| {
        let mut fields = message.fields.iter();
        let found = fields.find(|field| {
            let type_of = (field.kind, field.shape);
            field.name == *name && type_of == (Kind::Time(TimeType::Point), Shape::Optional)
        });
        found.map(|field| field.number)
    })
}

/// The parts in which the field with this number is written; `None` if it is not, or cannot be read.
fn parts<'a>(within: &[Slice<'a>], number: u32) -> Option<Vec<Slice<'a>>> {
    let mut found = Vec::new();
    for written in within.iter().flat_map(|part| WireReader::new(*part)) {
        let written = written.ok()?;
        if written.number == number {
            if found.len() >= MAX_PARTS {
                return None;
            }
            found.push(written.message()?);
        }
    }
    (!found.is_empty()).then_some(found)
}
