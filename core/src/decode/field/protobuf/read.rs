//! [`read_protobuf`]: reads the values of a path in protobuf messages, and only what leads to them.
//!
//! A message is passed over once for each part of the path, so the work is bounded by the size of the payload times the
//! length of the path. Nothing is kept but the entries of a map, whose number is limited.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use super::path::{ProtobufPath, Step};
use crate::decode::decoded::Stop;
use crate::decode::field::value::{FieldValue, Visit};
use crate::decode::non_ros::protobuf::contents::{Content, Key, entry, single};
use crate::decode::non_ros::protobuf::elements::{Elements, misfit, time};
use crate::decode::non_ros::protobuf::layout::{
    FieldType, Kind, MessageType, ProtobufLayout, Shape,
};
use crate::decode::non_ros::protobuf::scalar::Scalar;
use crate::decode::non_ros::protobuf::wire::{Slice, WireReader, Written};

/// The most entries of a map that is read.
const MAX_ENTRIES: usize = 1 << 16;
const NANOS_PER_SEC: i128 = 1_000_000_000;

/// Visits the values of a path in a message.
pub(in crate::decode::field) fn read_protobuf(
    layout: &ProtobufLayout,
    path: &ProtobufPath,
    payload: &[u8],
    visit: &mut Visit<'_>,
) -> Result<(), Stop> {
    let whole = Slice {
        bytes: payload,
        at: 0,
    };
    let mut walk = Walk {
        layout,
        indexes: Vec::new(),
        visit,
    };
    walk.message(layout.root(), &[whole], &path.steps).map(drop)
}

/// Follows the steps of a path through a payload.
struct Walk<'l, 'v> {
    layout: &'l ProtobufLayout,
    /// The elements that `[*]` stands for at the moment.
    indexes: Vec<u64>,
    visit: &'v mut Visit<'v>,
}

type Flow = Result<ControlFlow<()>, Stop>;

const GO_ON: Flow = Ok(ControlFlow::Continue(()));

impl Walk<'_, '_> {
    fn message(&mut self, message: &MessageType, parts: &[Slice<'_>], steps: &[Step]) -> Flow {
        let [Step::Field(at), steps @ ..] = steps else {
            unreachable!("a path goes from a message to a field");
        };
        let field = &message.fields[*at];
        let flow = match field.shape {
            Shape::Repeated => self.array(field, parts, steps),
            Shape::Map(key_type) => self.map(field, key_type, parts, steps),
            Shape::One | Shape::Optional => match single(message, field, parts)? {
                Some(Content::Message(parts)) => self.nested(field, &parts, steps),
                Some(Content::Value(written)) => self.element(field, written, steps),
                None if field.shape == Shape::One => self.element(field, zero(field), steps),
                _ => GO_ON,
            },
        };
        flow.map_err(|stop| stop.in_field(&field.name))
    }

    fn nested(&mut self, field: &FieldType, parts: &[Slice<'_>], steps: &[Step]) -> Flow {
        if let Kind::Message(index) = field.kind {
            let layout = self.layout;
            return self.message(&layout.messages[index], parts, steps);
        }
        let (seconds, nanos) = time(parts)?;
        let value = match steps.first() {
            Some(Step::Sec) => FieldValue::Integer(seconds.into()),
            Some(_) => FieldValue::Integer(nanos.into()),
            None => {
                let total = i128::from(seconds) * NANOS_PER_SEC + i128::from(nanos);
                let total = i64::try_from(total).map_err(|_| {
                    let name = &field.name;
                    Stop::Problem(format!("`{name}` is too far from 1970: {seconds} s"))
                })?;
                FieldValue::Time(total)
            }
        };
        Ok(self.visit(value))
    }

    fn array(&mut self, field: &FieldType, parts: &[Slice<'_>], steps: &[Step]) -> Flow {
        let Some((step, steps)) = steps.split_first() else {
            unreachable!("a path goes from an array to its elements or its length");
        };
        match step {
            Step::Elements => {
                for (at, element) in (0..).zip(elements(field, parts)) {
                    let element = element?;
                    let flow = self.at(at, |walk| walk.element(field, element, steps))?;
                    if flow.is_break() {
                        return Ok(flow);
                    }
                }
                GO_ON
            }
            Step::Element(index) => {
                let Some(at) = position(*index, || count(field, parts))? else {
                    return GO_ON;
                };
                for (here, element) in (0..).zip(elements(field, parts)) {
                    let element = element?;
                    if here == at {
                        return self.element(field, element, steps);
                    }
                }
                GO_ON
            }
            _ => Ok(self.visit(FieldValue::Integer(count(field, parts)?.into()))),
        }
    }

    fn map(
        &mut self,
        field: &FieldType,
        key_type: Scalar,
        parts: &[Slice<'_>],
        steps: &[Step],
    ) -> Flow {
        let Some((step, steps)) = steps.split_first() else {
            unreachable!("a path goes from a map to its values or its length");
        };
        let all = written(field, parts).map(|written| entry(field, key_type, written?));
        if let Step::Key(name) = step {
            let mut found = None;
            for entry in all {
                let (key, value) = entry?;
                if key.text() == *name {
                    found = Some(value);
                }
            }
            return match found {
                Some(value) => self.element(field, value, steps),
                None => GO_ON,
            };
        }
        // Of several entries with one key the last one counts.
        let mut entries: BTreeMap<Key, Written<'_>> = BTreeMap::new();
        for entry in all {
            let (key, value) = entry?;
            entries.insert(key, value);
            if entries.len() > MAX_ENTRIES {
                return Err(Stop::Cut);
            }
        }
        if *step == Step::Length {
            return Ok(self.visit(FieldValue::Integer(entries.len() as i128)));
        }
        for (at, value) in (0..).zip(entries.into_values()) {
            let flow = self.at(at, |walk| walk.element(field, value, steps))?;
            if flow.is_break() {
                return Ok(flow);
            }
        }
        GO_ON
    }

    fn element(&mut self, field: &FieldType, written: Written<'_>, steps: &[Step]) -> Flow {
        let misfit = || misfit(&field.name, written.at);
        match (field.kind, steps.first()) {
            (Kind::Message(_) | Kind::Time(_), _) => {
                let part = written.message().ok_or_else(misfit)?;
                self.nested(field, &[part], steps)
            }
            (Kind::Scalar(Scalar::Bytes | Scalar::Text), Some(step)) => {
                let bytes = written.bytes().ok_or_else(misfit)?.bytes;
                self.bytes(bytes, step)
            }
            (kind, _) => {
                let value = kind.value(written.value).ok_or_else(misfit)?;
                Ok(self.visit(value))
            }
        }
    }

    fn bytes(&mut self, bytes: &[u8], step: &Step) -> Flow {
        let value = |byte: u8| FieldValue::Integer(byte.into());
        match step {
            Step::Elements => {
                for (at, byte) in (0..).zip(bytes) {
                    let flow = self.at(at, |walk| Ok(walk.visit(value(*byte))))?;
                    if flow.is_break() {
                        return Ok(flow);
                    }
                }
                GO_ON
            }
            Step::Element(index) => {
                let at = position(*index, || Ok(bytes.len() as u64))?;
                let at = at.and_then(|at| usize::try_from(at).ok());
                match at.and_then(|at| bytes.get(at)) {
                    Some(byte) => Ok(self.visit(value(*byte))),
                    None => GO_ON,
                }
            }
            _ => Ok(self.visit(FieldValue::Integer(bytes.len() as i128))),
        }
    }

    /// Within the element that `[*]` stands for.
    fn at(&mut self, index: u64, within: impl FnOnce(&mut Self) -> Flow) -> Flow {
        self.indexes.push(index);
        let flow = within(self);
        self.indexes.pop();
        flow
    }

    fn visit(&mut self, value: FieldValue<'_>) -> ControlFlow<()> {
        (self.visit)(&self.indexes, value)
    }
}

/// The written fields of a repeated field.
fn written<'a>(
    field: &FieldType,
    parts: &[Slice<'a>],
) -> impl Iterator<Item = Result<Written<'a>, Stop>> {
    let all = parts.iter().flat_map(|part| WireReader::new(*part));
    all.filter(|written| !matches!(written, Ok(other) if other.number != field.number))
}

fn elements<'a>(
    field: &FieldType,
    parts: &[Slice<'a>],
) -> impl Iterator<Item = Result<Written<'a>, Stop>> {
    written(field, parts).flat_map(|written| match written {
        Ok(written) => written.elements(field.kind),
        Err(stop) => Elements::One(Some(Err(stop))),
    })
}

fn count(field: &FieldType, parts: &[Slice<'_>]) -> Result<u64, Stop> {
    let counts = written(field, parts).map(|written| written?.count(field.kind));
    counts.sum()
}

/// The place from the start of an element; `None` if there is none before the start.
fn position(index: i64, count: impl FnOnce() -> Result<u64, Stop>) -> Result<Option<u64>, Stop> {
    match u64::try_from(index) {
        Ok(index) => Ok(Some(index)),
        Err(_) => Ok(count()?.checked_sub(index.unsigned_abs())),
    }
}

fn zero(field: &FieldType) -> Written<'static> {
    Written {
        number: field.number,
        at: 0,
        value: field.kind.zero(),
    }
}
