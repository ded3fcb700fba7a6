//! Decodes a ROS message: walks over its fields in order and shows or skips each of them.
//!
//! Everything of fixed size is skipped in one step; the rest is skipped element by element, and each element counts in
//! `Limits::steps`. A declared count is compared with the bytes that are left before it is used.

use super::decoded::{LineWriter, Stop};
use super::payload_reader::PayloadReader;
use super::text::{BoundedText, quoted, quoted_wide};
use super::type_layout::{ElementType, FieldLayout, Stamp, TypeLayout};
use crate::ros::definition::Array;

/// A message while it is decoded.
pub(super) struct RosDecoder<'a> {
    layout: &'a TypeLayout,
    bytes: PayloadReader<'a>,
    out: &'a mut LineWriter,
    /// CDR ends strings with a zero byte.
    is_terminated: bool,
}

impl<'a> RosDecoder<'a> {
    pub(super) fn cdr(
        layout: &'a TypeLayout,
        bytes: PayloadReader<'a>,
        out: &'a mut LineWriter,
    ) -> Self {
        Self {
            layout,
            bytes,
            out,
            is_terminated: true,
        }
    }

    pub(super) fn ros1(
        layout: &'a TypeLayout,
        bytes: PayloadReader<'a>,
        out: &'a mut LineWriter,
    ) -> Self {
        Self {
            is_terminated: false,
            ..Self::cdr(layout, bytes, out)
        }
    }

    /// Walks over the whole payload. At most `padding` bytes may be left over.
    pub(super) fn decode_all(mut self, padding: usize) -> Result<(), Stop> {
        self.message(self.layout.root(), 0)?;
        let left = self.bytes.left();
        if left > padding {
            return Err(Stop::Problem(format!(
                "{left} bytes are left after the last field"
            )));
        }
        Ok(())
    }

    fn message(&mut self, index: usize, depth: usize) -> Result<(), Stop> {
        let layout = self.layout;
        for field in &layout.messages[index].fields {
            self.out.step()?;
            self.field(field, depth)
                .map_err(|stop| stop.in_field(&field.name))?;
        }
        Ok(())
    }

    fn field(&mut self, field: &FieldLayout, depth: usize) -> Result<(), Stop> {
        let name = &field.name;
        match (field.array, field.element_type) {
            _ if field.is_placeholder => self.skip(field.element_type, 1),
            (Array::One, ElementType::Message(index)) => self.nested(name, index, depth),
            (Array::One, element_type) => {
                let value = self.value(element_type)?;
                self.out.line(depth, name, value)
            }
            (array, element_type) => {
                let count = self.layout.count(&mut self.bytes, array, element_type)?;
                match element_type {
                    ElementType::Message(index) => self.messages(name, index, count, depth),
                    _ => self.values(name, element_type, count, depth),
                }
            }
        }
    }

    fn nested(&mut self, name: &str, index: usize, depth: usize) -> Result<(), Stop> {
        if depth < self.out.limits.depth {
            self.out.line(depth, name, String::new())?;
            return self.message(index, depth + 1);
        }
        self.out.line(depth, name, "…".to_owned())?;
        self.out.is_cut = true;
        self.skip(ElementType::Message(index), 1)
    }

    fn messages(&mut self, name: &str, index: usize, count: u64, depth: usize) -> Result<(), Stop> {
        let value = match count {
            0 => "[]".to_owned(),
            _ => format!("{count} in all"),
        };
        self.out.line(depth, name, value)?;
        let limits = self.out.limits;
        let is_too_deep = depth.saturating_add(2) > limits.depth;
        let shown = if is_too_deep {
            0
        } else {
            at_most(count, limits.elements)
        };
        for element in 0..shown {
            self.out.step()?;
            self.out
                .line(depth + 1, &format!("[{element}]"), String::new())?;
            self.message(index, depth + 2)?;
        }
        if is_too_deep && count > 0 {
            self.out.is_cut = true;
        } else if shown < count {
            let more = format!("{} more", count - shown);
            self.out.line(depth + 1, "…", more)?;
        }
        self.skip(ElementType::Message(index), count - shown)
    }

    fn values(
        &mut self,
        name: &str,
        element_type: ElementType,
        count: u64,
        depth: usize,
    ) -> Result<(), Stop> {
        let limits = self.out.limits;
        let mut line = BoundedText::new("[", limits.characters, &format!(", … {count} in all]"));
        let mut taken = 0;
        while taken < at_most(count, limits.elements) {
            self.out.step()?;
            let value = self.value(element_type)?;
            taken += 1;
            let comma = if taken > 1 { ", " } else { "" };
            if !line.push(&format!("{comma}{value}")) {
                break;
            }
        }
        if taken < count {
            line.cut();
        }
        self.skip(element_type, count - taken)?;
        self.out.line(depth, name, line.end("]"))
    }

    fn value(&mut self, element_type: ElementType) -> Result<String, Stop> {
        let characters = self.out.limits.characters;
        Ok(match element_type {
            ElementType::Primitive(primitive) => {
                let mut text = self.bytes.primitive(primitive)?;
                text.truncate(characters);
                text
            }
            ElementType::Stamp(stamp) => {
                let mut text = self.stamp(stamp)?;
                text.truncate(characters);
                text
            }
            ElementType::Text => quoted(self.text()?, characters),
            ElementType::WideText => {
                let raw = self.wide_text()?;
                quoted_wide(self.bytes.wide_units(raw), raw.len() / 4, characters)
            }
            ElementType::Message(_) => unreachable!("a message is no value"),
        })
    }

    fn text(&mut self) -> Result<&'a [u8], Stop> {
        let length = self.bytes.u32()?;
        let raw = self.bytes.take(length.into(), 1)?;
        Ok(match raw {
            [text @ .., 0] if self.is_terminated => text,
            _ => raw,
        })
    }

    fn wide_text(&mut self) -> Result<&'a [u8], Stop> {
        let units = self.bytes.u32()?;
        Ok(self.bytes.take(u64::from(units) * 4, 1)?)
    }

    fn stamp(&mut self, stamp: Stamp) -> Result<String, Stop> {
        let bytes = &mut self.bytes;
        let (sec, nanosec) = match stamp {
            Stamp::Ros1Time => (bytes.u32()?.into(), bytes.u32()?.into()),
            Stamp::Ros1Duration => (bytes.i32()?.into(), bytes.i32()?.into()),
            Stamp::Ros2 => (bytes.i32()?.into(), bytes.u32()?.into()),
        };
        let (sec, nanosec): (i64, i64) = (sec, nanosec);
        Ok(stamp_text(sec, nanosec))
    }

    /// Skips elements.
    fn skip(&mut self, element_type: ElementType, count: u64) -> Result<(), Stop> {
        let phase = self.bytes.phase();
        if let Some(size) = self.layout.size_of_many(element_type, count, phase) {
            self.bytes.take(size, 1)?;
            return Ok(());
        }
        for _ in 0..count {
            self.out.step()?;
            match element_type {
                ElementType::Text => drop(self.text()?),
                ElementType::WideText => drop(self.wide_text()?),
                ElementType::Message(index) => self.skip_message(index)?,
                ElementType::Primitive(primitive) => drop(self.bytes.take(primitive.size(), 1)?),
                ElementType::Stamp(_) => drop(self.bytes.take(8, 4)?),
            }
        }
        Ok(())
    }

    fn skip_message(&mut self, index: usize) -> Result<(), Stop> {
        let layout = self.layout;
        for field in &layout.messages[index].fields {
            self.out.step()?;
            let count = self
                .layout
                .count(&mut self.bytes, field.array, field.element_type);
            count
                .and_then(|count| self.skip(field.element_type, count))
                .map_err(|stop| stop.in_field(&field.name))?;
        }
        Ok(())
    }
}

fn at_most(count: u64, limit: usize) -> u64 {
    count.min(limit as u64)
}

/// Seconds with nine decimals; if the two numbers are not a valid time, both as they are.
pub(super) fn stamp_text(sec: i64, nanosec: i64) -> String {
    if !(0..1_000_000_000).contains(&nanosec) {
        return format!("{sec} s {nanosec} ns");
    }
    let total = sec * 1_000_000_000 + nanosec;
    let (sign, total) = (if total < 0 { "-" } else { "" }, total.unsigned_abs());
    format!(
        "{sign}{}.{:09}",
        total / 1_000_000_000,
        total % 1_000_000_000
    )
}
