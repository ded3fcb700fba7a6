//! [`Side`]: one of the two payloads, read in order. [`Work`] bounds what is done with both.

use super::scalar::{Scalar, WideUnits};
use crate::decode::decoded::Stop;
use crate::decode::decoder::cdr_data;
use crate::decode::payload_reader::{ByteOrder, PayloadReader};
use crate::decode::type_layout::{ElementType, FieldLayout, Stamp, TypeLayout, WireFormat};
use crate::ros::definition::Primitive;

/// How many fields and elements may still be processed.
#[derive(Debug)]
pub(super) struct Work(u64);

impl Work {
    /// More than any payload of this size needs, whose fields have bytes; fields without bytes could be without end.
    pub(super) fn for_bytes(bytes: usize) -> Self {
        Self((bytes as u64).saturating_mul(8).saturating_add(1 << 16))
    }

    pub(super) fn step(&mut self) -> Result<(), Stop> {
        self.0 = self.0.checked_sub(1).ok_or(Stop::Cut)?;
        Ok(())
    }
}

/// A payload and a position in it.
#[derive(Clone, Debug)]
pub(super) struct Side<'a> {
    pub(super) layout: &'a TypeLayout,
    bytes: PayloadReader<'a>,
}

impl<'a> Side<'a> {
    /// At the first field. An error if the payload does not have the wire format of the layout.
    pub(super) fn new(layout: &'a TypeLayout, payload: &'a [u8]) -> Result<Self, Stop> {
        let bytes = match layout.wire_format {
            WireFormat::Cdr => cdr_data(payload)?,
            WireFormat::Ros1 => PayloadReader::ros1(payload),
        };
        Ok(Self { layout, bytes })
    }

    /// The fields of a message of the layout.
    pub(super) fn fields(&self, index: usize) -> &'a [FieldLayout] {
        &self.layout.messages[index].fields
    }

    pub(super) fn left(&self) -> usize {
        self.bytes.left()
    }

    pub(super) fn order(&self) -> ByteOrder {
        self.bytes.order()
    }

    pub(super) fn phase(&self) -> usize {
        self.bytes.phase()
    }

    /// The bytes that are left.
    pub(super) fn rest(&mut self) -> Result<&'a [u8], Stop> {
        let left = self.bytes.left() as u64;
        Ok(self.bytes.take(left, 1)?)
    }

    /// The bytes of elements, with their padding; `None` if their size depends on their content.
    pub(super) fn raw(
        &mut self,
        element_type: ElementType,
        count: u64,
    ) -> Result<Option<&'a [u8]>, Stop> {
        let phase = self.bytes.phase();
        match self.layout.size_of_many(element_type, count, phase) {
            Some(size) => Ok(Some(self.bytes.take(size, 1)?)),
            None => Ok(None),
        }
    }

    /// The bytes of numbers, without the padding before them.
    pub(super) fn numbers(&mut self, primitive: Primitive, count: u64) -> Result<&'a [u8], Stop> {
        let all = self.raw(ElementType::Primitive(primitive), count)?;
        let all = all.unwrap_or_default();
        let size = usize::try_from(primitive.size().saturating_mul(count)).unwrap_or(usize::MAX);
        Ok(&all[all.len().saturating_sub(size)..])
    }

    /// The number of elements of a field. An error if the bytes that are left cannot hold them.
    pub(super) fn count(&mut self, field: &FieldLayout) -> Result<u64, Stop> {
        self.layout
            .count(&mut self.bytes, field.array, field.element_type)
    }

    /// The next value; `None` for a message, which is not read.
    pub(super) fn scalar(&mut self, element_type: ElementType) -> Result<Option<Scalar<'a>>, Stop> {
        Ok(Some(match element_type {
            ElementType::Primitive(primitive) => {
                let size = primitive.size();
                let align = usize::try_from(size).unwrap_or(8);
                let raw = self.bytes.take(size, align)?;
                Scalar::number_of(primitive, raw, self.bytes.order())
            }
            ElementType::Stamp(stamp) => {
                let bytes = &mut self.bytes;
                let (sec, nanosec) = match stamp {
                    Stamp::Ros1Time => (bytes.u32()?.into(), bytes.u32()?.into()),
                    Stamp::Ros1Duration => (bytes.i32()?.into(), bytes.i32()?.into()),
                    Stamp::Ros2 => (bytes.i32()?.into(), bytes.u32()?.into()),
                };
                Scalar::Stamp { sec, nanosec }
            }
            ElementType::Text => Scalar::Text(self.text()?),
            ElementType::WideText => {
                let units = self.bytes.u32()?;
                let raw = self.bytes.take(u64::from(units) * 4, 1)?;
                Scalar::WideText(WideUnits::new(raw, self.bytes.order()))
            }
            ElementType::Message(_) => return Ok(None),
        }))
    }

    fn text(&mut self) -> Result<&'a [u8], Stop> {
        let length = self.bytes.u32()?;
        let raw = self.bytes.take(length.into(), 1)?;
        // CDR ends strings with a zero byte.
        Ok(match (raw, self.layout.wire_format) {
            ([text @ .., 0], WireFormat::Cdr) => text,
            _ => raw,
        })
    }

    /// Passes a field.
    pub(super) fn skip_field(&mut self, field: &FieldLayout, work: &mut Work) -> Result<(), Stop> {
        let count = self.count(field)?;
        self.skip(field.element_type, count, work)
    }

    /// Passes elements.
    pub(super) fn skip(
        &mut self,
        element_type: ElementType,
        count: u64,
        work: &mut Work,
    ) -> Result<(), Stop> {
        if self.raw(element_type, count)?.is_some() {
            return Ok(());
        }
        for _ in 0..count {
            work.step()?;
            match element_type {
                ElementType::Message(index) => {
                    for field in self.fields(index) {
                        work.step()?;
                        self.skip_field(field, work)?;
                    }
                }
                other => drop(self.scalar(other)?),
            }
        }
        Ok(())
    }
}
