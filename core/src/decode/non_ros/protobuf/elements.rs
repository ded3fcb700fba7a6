//! The elements of a field as they are written, by the type that the definition gives them.

use super::layout::Kind;
use super::scalar::{Scalar, low};
use super::wire::{Slice, Wire, WireReader, WireValue, Written};
use crate::decode::decoded::Stop;
use crate::decode::field::FieldValue;

impl Kind {
    /// How an element is written.
    pub(in crate::decode) const fn wire(self) -> Wire {
        match self {
            Self::Scalar(scalar) => scalar.wire(),
            Self::Enum(_) => Wire::Varint,
            Self::Message(_) | Self::Time(_) => Wire::Bytes,
        }
    }

    /// A plain value, bytes as a text; `None` if it has the wire type of another type, and for messages.
    pub(in crate::decode) fn value(self, raw: WireValue<'_>) -> Option<FieldValue<'_>> {
        match self {
            Self::Scalar(scalar) => scalar.value(raw),
            Self::Enum(_) => Scalar::Int32.value(raw),
            Self::Message(_) | Self::Time(_) => None,
        }
    }

    /// The value of a field that is not written.
    pub(in crate::decode) const fn zero(self) -> WireValue<'static> {
        match self.wire() {
            Wire::Varint => WireValue::Varint(0),
            Wire::Four => WireValue::Four([0; 4]),
            Wire::Eight => WireValue::Eight([0; 8]),
            Wire::Bytes => WireValue::Bytes(Slice { bytes: &[], at: 0 }),
        }
    }
}

impl<'a> Written<'a> {
    /// The bytes of a text, of bytes or of a message.
    pub(in crate::decode) fn bytes(self) -> Option<Slice<'a>> {
        match self.value {
            WireValue::Bytes(slice) => Some(slice),
            _ => None,
        }
    }

    /// The bytes of a message.
    pub(in crate::decode) fn message(self) -> Option<Slice<'a>> {
        match self.value {
            WireValue::Bytes(slice) | WireValue::Group(slice) => Some(slice),
            _ => None,
        }
    }

    /// The numbers that are written one after another in one field, if these elements may be.
    fn packed(self, kind: Kind) -> Option<Slice<'a>> {
        self.bytes().filter(|_| kind.wire() != Wire::Bytes)
    }

    /// How many elements of a repeated field it has. An error if it ends within a number.
    pub(in crate::decode) fn count(self, kind: Kind) -> Result<u64, Stop> {
        let Some(slice) = self.packed(kind) else {
            return Ok(1);
        };
        let (count, rest) = match kind.wire() {
            Wire::Four => (slice.bytes.len() / 4, slice.bytes.len() % 4),
            Wire::Eight => (slice.bytes.len() / 8, slice.bytes.len() % 8),
            Wire::Varint | Wire::Bytes => {
                let ends = slice.bytes.iter().filter(|byte| **byte < 0x80).count();
                let is_whole = slice.bytes.last().is_none_or(|byte| *byte < 0x80);
                (ends, usize::from(!is_whole))
            }
        };
        if rest > 0 {
            let (at, length) = (slice.at, slice.bytes.len());
            return Err(Stop::Problem(format!(
                "byte {at}: {length} bytes are not a whole number of elements"
            )));
        }
        Ok(count as u64)
    }

    /// The elements of a repeated field that it has.
    pub(in crate::decode) fn elements(self, kind: Kind) -> Elements<'a> {
        match self.packed(kind) {
            None => Elements::One(Some(Ok(self))),
            Some(slice) => Elements::Packed {
                reader: WireReader::new(slice),
                wire: kind.wire(),
                number: self.number,
            },
        }
    }
}

/// The elements that one written field has.
pub(in crate::decode) enum Elements<'a> {
    One(Option<Result<Written<'a>, Stop>>),
    Packed {
        reader: WireReader<'a>,
        wire: Wire,
        number: u32,
    },
}

impl<'a> Iterator for Elements<'a> {
    type Item = Result<Written<'a>, Stop>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::One(field) => field.take(),
            Self::Packed {
                reader,
                wire,
                number,
            } => {
                let (at, number) = (reader.at(), *number);
                let value = (!reader.is_at_end()).then(|| reader.value(*wire))?;
                Some(value.map(|value| Written { number, at, value }))
            }
        }
    }
}

/// The seconds and nanoseconds of a time, which may be written in parts.
pub(in crate::decode) fn time(parts: &[Slice<'_>]) -> Result<(i64, i32), Stop> {
    let (mut seconds, mut nanos) = (0, 0);
    for part in parts {
        for field in WireReader::new(*part) {
            let field = field?;
            match (field.number, field.value) {
                (1, WireValue::Varint(raw)) => seconds = raw.cast_signed(),
                (2, WireValue::Varint(raw)) => nanos = low(raw).cast_signed(),
                (1 | 2, _) => return Err(misfit("a time", field.at)),
                _ => {}
            }
        }
    }
    Ok((seconds, nanos))
}

/// The error for a field that has the wire type of another type.
pub(in crate::decode) fn misfit(name: &str, at: usize) -> Stop {
    Stop::Problem(format!(
        "byte {at}: `{name}` has the wire type of another type"
    ))
}
