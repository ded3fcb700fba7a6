//! [`Plan`]: the steps that turn CDR into a ROS 1 payload.
//!
//! Made once for each topic. In CDR numbers are aligned; in ROS 1 everything is packed. In the blocks of a plan,
//! neighbours that have no padding between them are one copy, so a point of three floats is twelve bytes and an array
//! of them is one block. Big-endian payloads have a plan without blocks, in which the bytes of each number
//! can be reversed.

use super::counterpart::{Counterpart, Counterparts, Fate};
use crate::ros::definition::{Array, BaseType, Field, PLACEHOLDER};

/// How many elements a step has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Count {
    Fixed(u64),
    /// As many as a number before them says.
    Declared,
}

/// Whether ROS 1 has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Use {
    Kept,
    Dropped,
}

/// One element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    /// Bytes without padding between them, which begin at a multiple of `align`. All of them are aligned if the first
    /// is. Without blocks, a number.
    Bytes { size: u64, align: usize },
    /// A string. CDR counts a zero byte at its end.
    Text,
    /// A wide string, which ROS 1 never has.
    WideText,
    /// The message with this index.
    Message(usize),
    /// The level of a log message.
    Severity,
    /// Zero bytes that only ROS 1 has.
    Zeros(u64),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Step {
    pub(super) count: Count,
    pub(super) part: Part,
    pub(super) used: Use,
    /// How many bytes of CDR an element has at least.
    pub(super) least: u64,
}

/// The steps of one message.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Program {
    pub(super) steps: Vec<Step>,
    /// How many bytes of CDR it has at least.
    least: u64,
}

/// The steps of all messages of a type; the last one is that of the payload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Plan {
    pub(super) programs: Vec<Program>,
}

impl Plan {
    pub(super) fn new(messages: &Counterparts<'_>, has_blocks: bool) -> Self {
        let mut plan = Self {
            programs: Vec::with_capacity(messages.all.len()),
        };
        for message in &messages.all {
            let program = plan.program(message, messages, has_blocks);
            plan.programs.push(program);
        }
        plan
    }

    /// The index of the message of the payload.
    pub(super) fn root(&self) -> usize {
        self.programs.len().saturating_sub(1)
    }

    fn program(
        &self,
        message: &Counterpart<'_>,
        messages: &Counterparts<'_>,
        has_blocks: bool,
    ) -> Program {
        let mut program = Program::default();
        for fate in &message.fates {
            let (field, used) = match fate {
                // The byte of ROS 2 for a message without fields.
                Fate::Kept(field) if field.name == PLACEHOLDER => (field, Use::Dropped),
                Fate::Kept(field) => (field, Use::Kept),
                Fate::Dropped(field) => (field, Use::Dropped),
                Fate::Zeros(size) => {
                    program.steps.push(Step {
                        count: Count::Fixed(1),
                        part: Part::Zeros(*size),
                        used: Use::Kept,
                        least: 0,
                    });
                    continue;
                }
                Fate::Severity => {
                    program.add(Count::Fixed(1), (Part::Severity, 1), Use::Kept, false);
                    continue;
                }
            };
            let count = match field.array {
                Array::One => Count::Fixed(1),
                Array::Fixed(count) => Count::Fixed(count),
                Array::Bounded(_) | Array::Unbounded => Count::Declared,
            };
            program.add(count, self.element(field, messages), used, has_blocks);
        }
        program
    }

    /// An element of a field, and how many bytes of CDR it has at least.
    fn element(&self, field: &Field, messages: &Counterparts<'_>) -> (Part, u64) {
        match &field.base {
            BaseType::Primitive(primitive) => {
                let size = primitive.size();
                let align = usize::try_from(size).expect("at most eight");
                (Part::Bytes { size, align }, size)
            }
            BaseType::Text(_) => (Part::Text, 4),
            BaseType::WideText(_) => (Part::WideText, 4),
            BaseType::Stamp(_) => unreachable!("in ROS 2 they are messages"),
            BaseType::Message(name) => {
                let index = messages.by_recorded[name.as_str()];
                let program = &self.programs[index];
                match program.steps[..] {
                    [
                        Step {
                            count: Count::Fixed(1),
                            part: part @ Part::Bytes { .. },
                            used: Use::Kept,
                            least,
                        },
                    ] => (part, least),
                    _ => (Part::Message(index), program.least),
                }
            }
        }
    }
}

impl Program {
    /// Adds elements of this kind and least size; with `has_blocks`, to the block before, if that is possible.
    fn add(&mut self, count: Count, (part, least): (Part, u64), used: Use, has_blocks: bool) {
        let of_all = match count {
            Count::Fixed(0) => return,
            // A message without any bytes in both formats. It may have many such messages in it.
            Count::Fixed(_) if least == 0 => return,
            Count::Fixed(count) => count.saturating_mul(least),
            Count::Declared => 4,
        };
        self.least = self.least.saturating_add(of_all);
        let step = match (count, part) {
            // A size that saturates stays larger than any payload.
            (Count::Fixed(count), Part::Bytes { size, align })
                if has_blocks && (count == 1 || size.is_multiple_of(align as u64)) =>
            {
                let size = size.saturating_mul(count);
                if let Some(Step {
                    count: Count::Fixed(1),
                    part:
                        Part::Bytes {
                            size: before,
                            align: aligned,
                        },
                    used: used_before,
                    least,
                }) = self.steps.last_mut()
                    && *used_before == used
                    && align <= *aligned
                    && before.is_multiple_of(align as u64)
                {
                    *before = before.saturating_add(size);
                    *least = *before;
                    return;
                }
                Step {
                    count: Count::Fixed(1),
                    part: Part::Bytes { size, align },
                    used,
                    least: size,
                }
            }
            _ => Step {
                count,
                part,
                used,
                least,
            },
        };
        self.steps.push(step);
    }
}
