//! The sizes of the parts of a layout, so that what is not shown can be skipped in one step.
//!
//! In CDR the size of a part depends only on its start offset modulo 8, so eight sizes are enough. Padding in an array
//! of elements of fixed size repeats after at most eight elements, so the size of the array is a multiplication.

use super::decoded::Stop;
use super::payload_reader::PayloadReader;
use super::type_layout::{ElementType, FieldLayout, TypeLayout, WireFormat};
use crate::ros::definition::Array;

impl TypeLayout {
    /// A lower bound of the size of an element: padding is not counted.
    pub(super) fn min_size(&self, element_type: ElementType) -> u64 {
        match element_type {
            ElementType::Primitive(primitive) => primitive.size(),
            ElementType::Text | ElementType::WideText => 4,
            ElementType::Stamp(_) => 8,
            ElementType::Message(index) => self.messages[index].min_size,
        }
    }

    /// The number of elements of an array, which is read if the array has no fixed length. An error if the bytes that
    /// are left cannot hold them.
    pub(super) fn count(
        &self,
        bytes: &mut PayloadReader<'_>,
        array: Array,
        element_type: ElementType,
    ) -> Result<u64, Stop> {
        let count = match array {
            Array::One => 1,
            Array::Fixed(count) => count,
            Array::Unbounded => u64::from(bytes.u32()?),
            Array::Bounded(bound) => {
                let count = u64::from(bytes.u32()?);
                if count > bound {
                    let problem = format!("{count} elements where at most {bound} are allowed");
                    return Err(Stop::Problem(problem));
                }
                count
            }
        };
        let needed = count.saturating_mul(self.min_size(element_type));
        if needed > bytes.left() as u64 {
            return Err(bytes.too_short(needed).into());
        }
        Ok(count)
    }

    /// The size of `count` elements from `phase` on, including padding. `None` if it depends on their content, or is
    /// larger than a `u64`.
    pub(super) fn size_of_many(
        &self,
        element_type: ElementType,
        count: u64,
        phase: usize,
    ) -> Option<u64> {
        let mut total = 0_u64;
        let mut done = 0_u64;
        let mut seen: [Option<(u64, u64)>; 8] = [None; 8];
        while done < count {
            let at = advanced(phase, total);
            if let Some((done_then, total_then)) = seen[at] {
                let period = done - done_then;
                let repeats = (count - done) / period;
                total = total.checked_add(repeats.checked_mul(total - total_then)?)?;
                done += repeats * period;
                seen = [None; 8];
                continue;
            }
            seen[at] = Some((done, total));
            total = total.checked_add(self.size_of_one(element_type, at)?)?;
            done += 1;
        }
        Some(total)
    }

    /// The size of all fields of a message.
    pub(super) fn size_of_fields(&self, fields: &[FieldLayout], phase: usize) -> Option<u64> {
        fields.iter().try_fold(0_u64, |total, field| {
            let count = match field.array {
                Array::One => 1,
                Array::Fixed(count) => count,
                Array::Bounded(_) | Array::Unbounded => return None,
            };
            let at = advanced(phase, total);
            total.checked_add(self.size_of_many(field.element_type, count, at)?)
        })
    }

    fn size_of_one(&self, element_type: ElementType, phase: usize) -> Option<u64> {
        match element_type {
            ElementType::Primitive(primitive) => {
                Some(self.padding(phase, primitive.size()) + primitive.size())
            }
            ElementType::Stamp(_) => Some(self.padding(phase, 4) + 8),
            ElementType::Text | ElementType::WideText => None,
            ElementType::Message(index) => self.messages[index].sizes[phase],
        }
    }

    fn padding(&self, phase: usize, align: u64) -> u64 {
        let phase = phase as u64;
        match self.wire_format {
            WireFormat::Cdr => phase.next_multiple_of(align) - phase,
            WireFormat::Ros1 => 0,
        }
    }
}

fn advanced(phase: usize, total: u64) -> usize {
    (phase + usize::try_from(total % 8).expect("less than eight")) % 8
}
