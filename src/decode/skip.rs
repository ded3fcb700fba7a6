//! The sizes of the parts of a layout, so that what is not shown can be skipped in one step.
//!
//! In CDR the size of a part depends only on its start offset modulo 8, so eight sizes are enough. Padding in an array
//! of elements of fixed size repeats after at most eight elements, so the size of the array is a multiplication.

use super::type_layout::{Field, Form, Kind, Layout};
use crate::ros::message_definition::{Array, Number};

impl Layout {
    /// A lower bound of the size of an element: padding is not counted.
    pub(super) fn least(&self, kind: Kind) -> u64 {
        match kind {
            Kind::Number(number) => size_of(number),
            Kind::Text | Kind::WideText => 4,
            Kind::Stamp(_) => 8,
            Kind::Message(index) => self.messages[index].least,
        }
    }

    /// The size of `count` elements from `phase` on, including padding. `None` if it depends on their content, or is
    /// larger than a `u64`.
    pub(super) fn size_of_many(&self, kind: Kind, count: u64, phase: usize) -> Option<u64> {
        let mut total = 0_u64;
        let mut done = 0_u64;
        let mut seen: [Option<(u64, u64)>; 8] = [None; 8];
        while done < count {
            let at = advanced(phase, total);
            if let Some((done_then, total_then)) = seen[at] {
                let lap = done - done_then;
                let laps = (count - done) / lap;
                total = total.checked_add(laps.checked_mul(total - total_then)?)?;
                done += laps * lap;
                seen = [None; 8];
                continue;
            }
            seen[at] = Some((done, total));
            total = total.checked_add(self.size_of_one(kind, at)?)?;
            done += 1;
        }
        Some(total)
    }

    /// The size of all fields of a message.
    pub(super) fn size_of_fields(&self, fields: &[Field], phase: usize) -> Option<u64> {
        fields.iter().try_fold(0_u64, |total, field| {
            let count = match field.array {
                Array::One => 1,
                Array::Fixed(count) => count,
                Array::Bounded(_) | Array::Unbounded => return None,
            };
            let at = advanced(phase, total);
            total.checked_add(self.size_of_many(field.kind, count, at)?)
        })
    }

    fn size_of_one(&self, kind: Kind, phase: usize) -> Option<u64> {
        match kind {
            Kind::Number(number) => Some(self.padding(phase, size_of(number)) + size_of(number)),
            Kind::Stamp(_) => Some(self.padding(phase, 4) + 8),
            Kind::Text | Kind::WideText => None,
            Kind::Message(index) => self.messages[index].sizes[phase],
        }
    }

    fn padding(&self, phase: usize, align: u64) -> u64 {
        let phase = phase as u64;
        match self.form {
            Form::Cdr => phase.next_multiple_of(align) - phase,
            Form::Ros1 => 0,
        }
    }
}

pub(super) fn size_of(number: Number) -> u64 {
    match number {
        Number::Bool | Number::Byte | Number::I8 | Number::U8 => 1,
        Number::I16 | Number::U16 => 2,
        Number::I32 | Number::U32 | Number::F32 | Number::WideChar => 4,
        Number::I64 | Number::U64 | Number::F64 => 8,
    }
}

fn advanced(phase: usize, total: u64) -> usize {
    (phase + usize::try_from(total % 8).expect("less than eight")) % 8
}
