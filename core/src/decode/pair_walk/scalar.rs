//! [`Scalar`]: the value of one field that is not a message, as it is compared.

use crate::decode::payload_reader::{ByteOrder, wide_units};
use crate::decode::ros_message::stamp_text;
use crate::decode::text::{quoted, quoted_wide};
use crate::ros::definition::Primitive;

/// A value of a message.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Scalar<'a> {
    /// A truth value, as its byte.
    Bool(u8),
    /// A whole number of any size.
    Integer(i128),
    /// A number of type `float32`.
    F32(f32),
    /// A number of type `float64`.
    F64(f64),
    /// A point in time or a duration, by its two numbers.
    Stamp {
        /// Seconds.
        sec: i64,
        /// Nanoseconds; in a valid time less than a second.
        nanosec: i64,
    },
    /// A string, without the zero byte at its end.
    Text(&'a [u8]),
    /// A wide string.
    WideText(WideUnits<'a>),
}

/// The UTF-16 units of a wide string.
#[derive(Clone, Copy, Debug)]
pub struct WideUnits<'a> {
    raw: &'a [u8],
    order: ByteOrder,
}

impl<'a> WideUnits<'a> {
    /// Four bytes for each unit.
    pub(super) fn new(raw: &'a [u8], order: ByteOrder) -> Self {
        Self { raw, order }
    }
}

/// By value: the byte order does not matter.
impl PartialEq for WideUnits<'_> {
    fn eq(&self, other: &Self) -> bool {
        wide_units(self.raw, self.order).eq(wide_units(other.raw, other.order))
    }
}

impl Scalar<'_> {
    /// A number from its bytes, which are as many as its type has.
    pub(super) fn number_of(primitive: Primitive, raw: &[u8], order: ByteOrder) -> Self {
        let mut bytes = [0; 8];
        let size = raw.len().min(8);
        bytes[..size].copy_from_slice(&raw[..size]);
        if order == ByteOrder::Big {
            bytes[..size].reverse();
        }
        let [a, b, c, d, ..] = bytes;
        match primitive {
            Primitive::Bool => Self::Bool(a),
            Primitive::Byte | Primitive::U8 => Self::Integer(a.into()),
            Primitive::I8 => Self::Integer(i8::from_le_bytes([a]).into()),
            Primitive::I16 => Self::Integer(i16::from_le_bytes([a, b]).into()),
            Primitive::U16 => Self::Integer(u16::from_le_bytes([a, b]).into()),
            Primitive::I32 => Self::Integer(i32::from_le_bytes([a, b, c, d]).into()),
            Primitive::U32 | Primitive::WideChar => {
                Self::Integer(u32::from_le_bytes([a, b, c, d]).into())
            }
            Primitive::I64 => Self::Integer(i64::from_le_bytes(bytes).into()),
            Primitive::U64 => Self::Integer(u64::from_le_bytes(bytes).into()),
            Primitive::F32 => Self::F32(f32::from_le_bytes([a, b, c, d])),
            Primitive::F64 => Self::F64(f64::from_le_bytes(bytes)),
        }
    }

    /// Its value as a number; of a stamp, seconds. `None` for texts.
    #[expect(
        clippy::cast_precision_loss,
        reason = "for plots and for tolerances, which are not exact either"
    )]
    pub fn number(&self) -> Option<f64> {
        Some(match *self {
            Self::Bool(value) => value.into(),
            Self::Integer(value) => value as f64,
            Self::F32(value) => value.into(),
            Self::F64(value) => value,
            Self::Stamp { .. } => self.nanos()? as f64 / 1e9,
            Self::Text(_) | Self::WideText(_) => return None,
        })
    }

    /// The nanoseconds of a stamp.
    pub fn nanos(&self) -> Option<i128> {
        match *self {
            Self::Stamp { sec, nanosec } => {
                Some(i128::from(sec) * 1_000_000_000 + i128::from(nanosec))
            }
            _ => None,
        }
    }

    /// The distance of two values, if they are numbers or stamps (in seconds) and it is finite.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a distance for a person, and for tolerances"
    )]
    pub fn distance(&self, other: &Self) -> Option<f64> {
        let distance = match (self, other) {
            (Self::Integer(left), Self::Integer(right)) => (left - right).unsigned_abs() as f64,
            (Self::Stamp { .. }, Self::Stamp { .. }) => {
                (self.nanos()? - other.nanos()?).unsigned_abs() as f64 / 1e9
            }
            (Self::Stamp { .. }, _) | (_, Self::Stamp { .. }) => return None,
            _ => (self.number()? - other.number()?).abs(),
        };
        distance.is_finite().then_some(distance)
    }

    /// The value as `decode` shows it, in at most so many characters.
    pub fn text(&self, characters: usize) -> String {
        let mut text = match *self {
            Self::Bool(0) => "false".to_owned(),
            Self::Bool(1) => "true".to_owned(),
            Self::Bool(other) => other.to_string(),
            Self::Integer(value) => value.to_string(),
            Self::F32(value) => format!("{value:?}"),
            Self::F64(value) => format!("{value:?}"),
            Self::Stamp { sec, nanosec } => stamp_text(sec, nanosec),
            Self::Text(bytes) => return quoted(bytes, characters),
            Self::WideText(WideUnits { raw, order }) => {
                return quoted_wide(wide_units(raw, order), raw.len() / 4, characters);
            }
        };
        text.truncate(characters);
        text
    }
}
