//! [`Scalar`]: the types of plain values, and what their values are.

use super::wire::{Wire, WireValue};
use crate::decode::field::FieldValue;

/// The type of a plain value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::decode) enum Scalar {
    Double,
    Float,
    Int32,
    Int64,
    Uint32,
    Uint64,
    Sint32,
    Sint64,
    Fixed32,
    Fixed64,
    Sfixed32,
    Sfixed64,
    Bool,
    Text,
    Bytes,
}

impl Scalar {
    /// Whether a map may have keys of this type.
    pub(in crate::decode) const fn is_key(self) -> bool {
        !matches!(self, Self::Double | Self::Float | Self::Bytes)
    }

    /// How values of this type are written.
    pub(in crate::decode) const fn wire(self) -> Wire {
        match self {
            Self::Int32
            | Self::Int64
            | Self::Uint32
            | Self::Uint64
            | Self::Sint32
            | Self::Sint64
            | Self::Bool => Wire::Varint,
            Self::Float | Self::Fixed32 | Self::Sfixed32 => Wire::Four,
            Self::Double | Self::Fixed64 | Self::Sfixed64 => Wire::Eight,
            Self::Text | Self::Bytes => Wire::Bytes,
        }
    }

    /// A value of this type, bytes as a text; `None` if it has the wire type of another type.
    pub(in crate::decode) fn value(self, raw: WireValue<'_>) -> Option<FieldValue<'_>> {
        Some(match (self, raw) {
            (Self::Double, WireValue::Eight(raw)) => FieldValue::Float64(f64::from_le_bytes(raw)),
            (Self::Float, WireValue::Four(raw)) => FieldValue::Float32(f32::from_le_bytes(raw)),
            (Self::Int32, WireValue::Varint(raw)) => integer(low(raw).cast_signed()),
            (Self::Int64, WireValue::Varint(raw)) => integer(raw.cast_signed()),
            (Self::Uint32, WireValue::Varint(raw)) => integer(low(raw)),
            (Self::Uint64, WireValue::Varint(raw)) => integer(raw),
            (Self::Sint32, WireValue::Varint(raw)) => {
                let raw = low(raw);
                integer((raw >> 1).cast_signed() ^ -(raw & 1).cast_signed())
            }
            (Self::Sint64, WireValue::Varint(raw)) => {
                integer((raw >> 1).cast_signed() ^ -(raw & 1).cast_signed())
            }
            (Self::Fixed32, WireValue::Four(raw)) => integer(u32::from_le_bytes(raw)),
            (Self::Fixed64, WireValue::Eight(raw)) => integer(u64::from_le_bytes(raw)),
            (Self::Sfixed32, WireValue::Four(raw)) => integer(i32::from_le_bytes(raw)),
            (Self::Sfixed64, WireValue::Eight(raw)) => integer(i64::from_le_bytes(raw)),
            (Self::Bool, WireValue::Varint(raw)) => FieldValue::Bool(raw != 0),
            (Self::Text | Self::Bytes, WireValue::Bytes(raw)) => {
                FieldValue::Text(String::from_utf8_lossy(raw.bytes))
            }
            _ => return None,
        })
    }
}

/// Integers of 32 bits are written with 64.
pub(in crate::decode) fn low(raw: u64) -> u32 {
    u32::try_from(raw & 0xffff_ffff).expect("it has 32 bits")
}

fn integer<'a>(number: impl Into<i128>) -> FieldValue<'a> {
    FieldValue::Integer(number.into())
}
