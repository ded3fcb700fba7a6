//! [`Elements`]: reads and skips the elements of a payload by the layout of its type.
//!
//! A declared count is compared with the bytes that are left before it is used. Each element that is not skipped in one
//! step counts, and their number is limited.

use std::borrow::Cow;

use crate::decode::decoded::Stop;
use crate::decode::decoder::cdr_data;
use crate::decode::field::value::FieldValue;
use crate::decode::payload_reader::PayloadReader;
use crate::decode::type_layout::{ElementType, FieldLayout, Stamp, TypeLayout, WireFormat};
use crate::ros::definition::Primitive;

/// How many elements may be processed beside one for each byte of the payload.
const MAX_STEPS: usize = 1 << 16;

/// A payload while it is read.
pub(in crate::decode::field) struct Elements<'a> {
    pub(in crate::decode::field) layout: &'a TypeLayout,
    bytes: PayloadReader<'a>,
    steps_left: usize,
}

impl<'a> Elements<'a> {
    fn new(layout: &'a TypeLayout, bytes: PayloadReader<'a>) -> Self {
        Self {
            layout,
            steps_left: MAX_STEPS.saturating_add(bytes.left()),
            bytes,
        }
    }

    /// The elements of a whole payload.
    pub(in crate::decode::field) fn of_payload(
        layout: &'a TypeLayout,
        payload: &'a [u8],
    ) -> Result<Self, Stop> {
        let bytes = match layout.wire_format {
            WireFormat::Cdr => cdr_data(payload)?,
            WireFormat::Ros1 => PayloadReader::ros1(payload),
        };
        Ok(Self::new(layout, bytes))
    }

    /// Counts a field or element that is processed.
    pub(in crate::decode::field) fn step(&mut self) -> Result<(), Stop> {
        self.steps_left = self.steps_left.checked_sub(1).ok_or(Stop::Cut)?;
        Ok(())
    }

    /// The number of elements of an array. An error if the bytes that are left cannot hold them.
    pub(in crate::decode::field) fn count(&mut self, field: &FieldLayout) -> Result<u64, Stop> {
        self.layout
            .count(&mut self.bytes, field.array, field.element_type)
    }

    /// So many elements of one byte each.
    pub(in crate::decode::field) fn bytes(&mut self, count: u64) -> Result<&'a [u8], Stop> {
        Ok(self.bytes.take(count, 1)?)
    }

    /// Skips elements.
    pub(in crate::decode::field) fn skip(
        &mut self,
        element_type: ElementType,
        count: u64,
    ) -> Result<(), Stop> {
        let phase = self.bytes.phase();
        if let Some(size) = self.layout.size_of_many(element_type, count, phase) {
            self.bytes.take(size, 1)?;
            return Ok(());
        }
        for _ in 0..count {
            self.step()?;
            match element_type {
                ElementType::Text => drop(self.text()?),
                ElementType::WideText => drop(self.wide_text()?),
                ElementType::Message(index) => {
                    let layout = self.layout;
                    self.skip_fields(&layout.messages[index].fields)?;
                }
                ElementType::Primitive(primitive) => drop(self.bytes.take(primitive.size(), 1)?),
                ElementType::Stamp(_) => drop(self.bytes.take(8, 4)?),
            }
        }
        Ok(())
    }

    /// Skips fields of a message.
    pub(in crate::decode::field) fn skip_fields(
        &mut self,
        fields: &[FieldLayout],
    ) -> Result<(), Stop> {
        for field in fields {
            self.step()?;
            let count = self.count(field);
            count
                .and_then(|count| self.skip(field.element_type, count))
                .map_err(|stop| stop.in_field(&field.name))?;
        }
        Ok(())
    }

    /// The value of one element that is no message. It is not counted: an array of a million bytes has as many steps as
    /// it has elements.
    pub(in crate::decode::field) fn value(
        &mut self,
        element_type: ElementType,
    ) -> Result<FieldValue<'a>, Stop> {
        Ok(match element_type {
            ElementType::Primitive(primitive) => self.primitive(primitive)?,
            ElementType::Stamp(stamp) => {
                let (sec, nanosec) = self.stamp(stamp)?;
                // Both have 32 bits.
                FieldValue::Time(sec * 1_000_000_000 + nanosec)
            }
            ElementType::Text => FieldValue::Text(String::from_utf8_lossy(self.text()?)),
            ElementType::WideText => {
                let raw = self.wide_text()?;
                let units = char::decode_utf16(self.bytes.wide_units(raw));
                let text = units.map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER));
                FieldValue::Text(Cow::Owned(text.collect()))
            }
            ElementType::Message(_) => unreachable!("a message is no value"),
        })
    }

    /// The length of a text: bytes, or UTF-16 units.
    pub(in crate::decode::field) fn text_length(
        &mut self,
        element_type: ElementType,
    ) -> Result<usize, Stop> {
        Ok(match element_type {
            ElementType::WideText => self.wide_text()?.len() / 4,
            _ => self.text()?.len(),
        })
    }

    /// Seconds and nanoseconds.
    pub(in crate::decode::field) fn stamp(&mut self, stamp: Stamp) -> Result<(i64, i64), Stop> {
        let bytes = &mut self.bytes;
        Ok(match stamp {
            Stamp::Ros1Time => (bytes.u32()?.into(), bytes.u32()?.into()),
            Stamp::Ros1Duration => (bytes.i32()?.into(), bytes.i32()?.into()),
            Stamp::Ros2 => (bytes.i32()?.into(), bytes.u32()?.into()),
        })
    }

    fn primitive(&mut self, primitive: Primitive) -> Result<FieldValue<'a>, Stop> {
        let bytes = &mut self.bytes;
        Ok(match primitive {
            Primitive::Bool => match bytes.array()? {
                [0] => FieldValue::Bool(false),
                [1] => FieldValue::Bool(true),
                [other] => return Err(Stop::Problem(format!("{other} is not a truth value"))),
            },
            Primitive::Byte | Primitive::U8 => integer(u8::from_le_bytes(bytes.array()?)),
            Primitive::I8 => integer(i8::from_le_bytes(bytes.array()?)),
            Primitive::I16 => integer(i16::from_le_bytes(bytes.array()?)),
            Primitive::U16 => integer(u16::from_le_bytes(bytes.array()?)),
            Primitive::I32 => integer(bytes.i32()?),
            Primitive::U32 | Primitive::WideChar => integer(bytes.u32()?),
            Primitive::I64 => integer(i64::from_le_bytes(bytes.array()?)),
            Primitive::U64 => integer(u64::from_le_bytes(bytes.array()?)),
            Primitive::F32 => FieldValue::Float32(f32::from_le_bytes(bytes.array()?)),
            Primitive::F64 => FieldValue::Float64(f64::from_le_bytes(bytes.array()?)),
        })
    }

    fn text(&mut self) -> Result<&'a [u8], Stop> {
        let length = self.bytes.u32()?;
        let raw = self.bytes.take(length.into(), 1)?;
        // CDR ends strings with a zero byte.
        Ok(match raw {
            [text @ .., 0] if self.layout.wire_format == WireFormat::Cdr => text,
            _ => raw,
        })
    }

    fn wide_text(&mut self) -> Result<&'a [u8], Stop> {
        let units = self.bytes.u32()?;
        Ok(self.bytes.take(u64::from(units) * 4, 1)?)
    }
}

fn integer<'a>(number: impl Into<i128>) -> FieldValue<'a> {
    FieldValue::Integer(number.into())
}
