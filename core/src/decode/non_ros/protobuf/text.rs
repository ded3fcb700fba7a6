//! Protobuf messages as lines, in the order of their definition.
//!
//! What is not written is shown as zero or empty if the definition says that it is; fields that may be missing are left
//! out. Only what is shown is unpacked, and each field that is read counts in `Limits::steps`.

use std::collections::BTreeMap;

use super::contents::{Content, Contents, Key};
use super::elements::{misfit, time};
use super::layout::{FieldType, Kind, ProtobufLayout, Shape, TimeType};
use super::scalar::Scalar;
use super::wire::{Slice, WireValue, Written};
use crate::decode::decoded::{Decoded, Limits, LineWriter, PayloadFormat, Stop};
use crate::decode::field::FieldValue;
use crate::decode::text::{BoundedText, quoted};
use crate::untrusted::Foreign;

/// The greatest depth to which messages are followed; each level takes stack. A type may contain itself.
const MAX_DEPTH: usize = 64;
/// The most characters of a key that a path cannot have.
const MAX_KEY: usize = 100;

/// Decodes a message.
pub(in crate::decode) fn decode(
    layout: &ProtobufLayout,
    payload: &[u8],
    limits: Limits,
) -> Decoded {
    let mut out = LineWriter::new(limits);
    let whole = Slice {
        bytes: payload,
        at: 0,
    };
    let mut decoder = ProtobufText {
        layout,
        out: &mut out,
    };
    let end = decoder.message(ProtobufLayout::ROOT, &[whole], 0);
    out.finish(PayloadFormat::Protobuf, end)
}

/// A message while it is shown.
struct ProtobufText<'a> {
    layout: &'a ProtobufLayout,
    out: &'a mut LineWriter,
}

impl ProtobufText<'_> {
    fn max_depth(&self) -> usize {
        self.out.limits.depth.min(MAX_DEPTH)
    }

    fn message(&mut self, index: usize, parts: &[Slice<'_>], depth: usize) -> Result<(), Stop> {
        let message = &self.layout.messages[index];
        let limits = self.out.limits;
        let out = &mut *self.out;
        let contents = Contents::read(message, parts, limits.elements, &mut || out.step());
        // Without the rest of the message its counts are too small.
        let is_whole = contents.end.is_ok();
        for (at, field) in message.fields.iter().enumerate() {
            match (contents.fields.get(&at), field.shape) {
                (Some(content), _) => self
                    .field(field, content, is_whole, depth)
                    .map_err(|stop| stop.in_field(&field.name))?,
                (None, _) if !is_whole => {}
                (None, Shape::Optional) => {}
                (None, Shape::Repeated | Shape::Map(_)) => {
                    self.out.line(depth, &field.name, "[]".to_owned())?;
                }
                (None, Shape::One) => {
                    let value = self.value(field, zero(field))?;
                    self.out.line(depth, &field.name, value)?;
                }
            }
        }
        if contents.unknown > 0 {
            let fields = if contents.unknown == 1 {
                "field"
            } else {
                "fields"
            };
            let note = format!("{} {fields} without a definition", contents.unknown);
            self.out.line(depth, "…", note)?;
        }
        contents.end
    }

    fn field(
        &mut self,
        field: &FieldType,
        content: &Content<'_>,
        is_whole: bool,
        depth: usize,
    ) -> Result<(), Stop> {
        match (content, field.kind) {
            (Content::Value(written), _) => {
                let value = self.value(field, *written)?;
                self.out.line(depth, &field.name, value)
            }
            (Content::Message(parts), Kind::Message(index)) => {
                if depth < self.max_depth() {
                    self.out.line(depth, &field.name, String::new())?;
                    return self.message(index, parts, depth + 1);
                }
                self.out.is_cut = true;
                self.out.line(depth, &field.name, "…".to_owned())
            }
            (Content::Message(parts), _) => {
                let value = self.time(field, parts)?;
                self.out.line(depth, &field.name, value)
            }
            (Content::Elements { kept, count }, Kind::Message(index)) => {
                let elements = kept.iter().enumerate();
                let named = elements.map(|(at, written)| (format!("[{at}]"), *written));
                let total = Total {
                    count: *count,
                    is_whole,
                };
                self.children(field, Some(index), named.collect(), total, depth)
            }
            (Content::Elements { kept, count }, _) => {
                let total = Total {
                    count: *count,
                    is_whole,
                };
                self.values(field, kept, total, depth)
            }
            (Content::Entries(entries), _) => self.entries(field, entries, is_whole, depth),
        }
    }

    fn entries(
        &mut self,
        field: &FieldType,
        entries: &BTreeMap<Key, Written<'_>>,
        is_whole: bool,
        depth: usize,
    ) -> Result<(), Stop> {
        let shown = entries.iter().take(self.out.limits.elements);
        let named = shown.map(|(key, value)| (key_name(key), *value));
        let index = match field.kind {
            Kind::Message(index) => Some(index),
            _ => None,
        };
        let total = Total {
            count: entries.len() as u64,
            is_whole,
        };
        self.children(field, index, named.collect(), total, depth)
    }

    /// The lines of elements below that of their field. `index` is the type of messages.
    fn children(
        &mut self,
        field: &FieldType,
        index: Option<usize>,
        named: Vec<(String, Written<'_>)>,
        total: Total,
        depth: usize,
    ) -> Result<(), Stop> {
        self.out.line(depth, &field.name, total.text())?;
        let needed = depth.saturating_add(if index.is_some() { 2 } else { 1 });
        if needed > self.max_depth() {
            self.out.is_cut = true;
            return Ok(());
        }
        let shown = named.len() as u64;
        for (name, written) in named {
            self.out.step()?;
            if let Some(index) = index {
                let part = written.message();
                let part = part.ok_or_else(|| misfit(&field.name, written.at))?;
                self.out.line(depth + 1, &name, String::new())?;
                self.message(index, &[part], depth + 2)?;
            } else {
                let value = self.value(field, written)?;
                self.out.line(depth + 1, &name, value)?;
            }
        }
        if shown < total.count {
            let more = format!("{} more", total.count - shown);
            self.out.line(depth + 1, "…", more)?;
        }
        Ok(())
    }

    /// An array of plain values on one line.
    fn values(
        &mut self,
        field: &FieldType,
        kept: &[Written<'_>],
        total: Total,
        depth: usize,
    ) -> Result<(), Stop> {
        let limits = self.out.limits;
        let mut line = BoundedText::new("[", limits.characters, &format!(", … {}]", total.text()));
        let mut taken = 0;
        let elements = kept.iter().flat_map(|written| written.elements(field.kind));
        for element in elements.take(limits.elements) {
            self.out.step()?;
            let element = element?;
            let value = match (field.kind, element.bytes()) {
                (Kind::Scalar(Scalar::Bytes), Some(raw)) => quoted(raw.bytes, limits.characters),
                _ => self.value(field, element)?,
            };
            taken += 1;
            let comma = if taken > 1 { ", " } else { "" };
            if !line.push(&format!("{comma}{value}")) {
                break;
            }
        }
        if taken < total.count {
            line.cut();
        }
        self.out.line(depth, &field.name, line.end("]"))
    }

    /// An element that is no message.
    fn value(&mut self, field: &FieldType, written: Written<'_>) -> Result<String, Stop> {
        let characters = self.out.limits.characters;
        let misfit = || misfit(&field.name, written.at);
        let mut text = match (field.kind, written.value) {
            (Kind::Time(_), _) => {
                let part = written.message().ok_or_else(misfit)?;
                return self.time(field, &[part]);
            }
            (Kind::Scalar(Scalar::Bytes), WireValue::Bytes(raw)) => {
                return Ok(self.bytes(raw.bytes));
            }
            (Kind::Scalar(Scalar::Text), WireValue::Bytes(raw)) => {
                return Ok(quoted(raw.bytes, characters));
            }
            (kind, raw) => match (kind, kind.value(raw).ok_or_else(misfit)?) {
                (Kind::Enum(index), FieldValue::Integer(number)) => {
                    match self.layout.enums[index].name_of(number) {
                        Some(name) => return Ok(named(name, number, characters)),
                        None => number.to_string(),
                    }
                }
                (_, value) => value.to_string(),
            },
        };
        text.truncate(characters);
        Ok(text)
    }

    fn time(&mut self, field: &FieldType, parts: &[Slice<'_>]) -> Result<String, Stop> {
        let (seconds, nanos) = time(parts).map_err(|stop| stop.in_field(&field.name))?;
        let mut text = time_text(field.kind, seconds, nanos);
        text.truncate(self.out.limits.characters);
        Ok(text)
    }

    /// In quotes if they are text, else as an array of numbers.
    fn bytes(&self, bytes: &[u8]) -> String {
        let limits = self.out.limits;
        if is_text(bytes, limits.characters) {
            return quoted(bytes, limits.characters);
        }
        let note = format!(", … {} in all]", bytes.len());
        let mut line = BoundedText::new("[", limits.characters, &note);
        for (at, byte) in bytes.iter().take(limits.elements).enumerate() {
            let comma = if at > 0 { ", " } else { "" };
            if !line.push(&format!("{comma}{byte}")) {
                break;
            }
        }
        if limits.elements < bytes.len() {
            line.cut();
        }
        line.end("]")
    }
}

/// Whether the beginning, as long as it may be shown, is UTF-8 without control characters other than white space.
fn is_text(bytes: &[u8], characters: usize) -> bool {
    let shown = &bytes[..bytes.len().min(characters.saturating_mul(4))];
    let is_refused = |c: char| c.is_control() && !c.is_whitespace();
    let text = match std::str::from_utf8(shown) {
        Ok(text) => text,
        // The last character may be cut.
        Err(error) if error.error_len().is_none() && shown.len() < bytes.len() => {
            std::str::from_utf8(&shown[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return false,
    };
    !text.is_empty() && !text.contains(is_refused)
}

/// How many elements a field has; more if the message was not read to its end.
#[derive(Clone, Copy)]
struct Total {
    count: u64,
    is_whole: bool,
}

impl Total {
    fn text(self) -> String {
        match (self.count, self.is_whole) {
            (0, true) => "[]".to_owned(),
            (count, true) => format!("{count} in all"),
            (count, false) => format!("{count} or more"),
        }
    }
}

fn zero(field: &FieldType) -> Written<'static> {
    Written {
        number: field.number,
        at: 0,
        value: field.kind.zero(),
    }
}

/// A key as a path has it; in brackets if a path cannot have it.
fn key_name(key: &Key) -> String {
    let text = key.text();
    let is_refused = |c: char| ".[]\"".contains(c) || c.is_whitespace() || c.is_control();
    if text.is_empty() || text == "length" || text.contains(is_refused) {
        return format!("[{}]", quoted(text.as_bytes(), MAX_KEY));
    }
    text
}

/// The name of a constant and its value.
fn named(name: &str, number: i128, characters: usize) -> String {
    let mut text = BoundedText::new("", characters, "…");
    text.push(&format!("{} ({number})", Foreign::text(name).at_most(100)));
    text.end("")
}

/// Seconds with nine decimals; if the two numbers are not a valid time, both as they are.
fn time_text(kind: Kind, seconds: i64, nanos: i32) -> String {
    let is_valid = match kind {
        Kind::Time(TimeType::Span) => nanos.unsigned_abs() < 1_000_000_000,
        _ => (0..1_000_000_000).contains(&nanos),
    };
    if !is_valid {
        return format!("{seconds} s {nanos} ns");
    }
    let total = i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
    let (sign, total) = (if total < 0 { "-" } else { "" }, total.unsigned_abs());
    format!(
        "{sign}{}.{:09}",
        total / 1_000_000_000,
        total % 1_000_000_000
    )
}
