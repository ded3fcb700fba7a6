//! [`Plan`]: the steps that turn a ROS 1 payload into CDR.
//!
//! Made once for each topic. In ROS 1 everything is packed; in CDR numbers are aligned. Neighbours that need no padding
//! between them become one copy, so a point of three floats is twelve bytes and an array of them is one block. A step
//! that writes and reads nothing is left out, so the work for a payload is bounded by its bytes and by those written.

use super::counterpart::{Counterpart, Counterparts, Fate};
use crate::ros::definition::{Array, BaseType, Field};

/// How many elements a step has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Count {
    Fixed(u64),
    /// As many as a number before them says, which both formats have.
    Declared,
    /// The same, but ROS 2 does not have the number.
    DeclaredAndDropped,
}

/// One element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    /// Bytes that both formats have, without padding between them. All of them are aligned if the first is.
    Bytes { size: u64, align: usize },
    /// A string. CDR counts and writes a zero byte at its end.
    Text,
    /// The message with this index.
    Message(usize),
    /// The byte of ROS 2 for a message without fields.
    Placeholder,
    /// The level of a log message.
    Severity,
    /// Bytes that ROS 2 does not have.
    Dropped(u64),
    /// A string that ROS 2 does not have.
    DroppedText,
    /// A message without any bytes in both formats.
    Nothing,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Step {
    pub(super) count: Count,
    pub(super) part: Part,
    /// How many bytes of a payload an element has at least.
    pub(super) least: u64,
}

/// The steps of one message.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Program {
    pub(super) steps: Vec<Step>,
    /// How many bytes of a payload it has at least.
    least: u64,
}

/// The steps of all messages of a type; the last one is that of the payload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Plan {
    pub(super) programs: Vec<Program>,
}

impl Plan {
    pub(super) fn new(messages: &Counterparts<'_>) -> Self {
        let mut plan = Self {
            programs: Vec::with_capacity(messages.all.len()),
        };
        for message in &messages.all {
            let program = plan.program(message, messages);
            plan.programs.push(program);
        }
        plan
    }

    /// The index of the message of the payload.
    pub(super) fn root(&self) -> usize {
        self.programs.len().saturating_sub(1)
    }

    fn program(&self, message: &Counterpart<'_>, messages: &Counterparts<'_>) -> Program {
        let mut program = Program::default();
        if message.fields.is_empty() {
            program.add(Count::Fixed(1), Part::Placeholder, 0);
        }
        for (field, fate) in &message.fields {
            let count = match field.array {
                Array::One => Count::Fixed(1),
                Array::Fixed(count) => Count::Fixed(count),
                Array::Bounded(_) | Array::Unbounded => Count::Declared,
            };
            match fate {
                Fate::Kept(_) => {
                    let (part, least) = self.part(field, messages);
                    program.add(count, part, least);
                }
                Fate::Severity(_) => program.add(Count::Fixed(1), Part::Severity, 1),
                Fate::StampKept(_) => {
                    program.add(Count::Fixed(1), Part::Dropped(4), 4);
                    program.add(Count::Fixed(1), STAMP, 8);
                    program.add(Count::Fixed(1), Part::DroppedText, 4);
                }
                Fate::Dropped => {
                    let count = match count {
                        Count::Fixed(count) => Count::Fixed(count),
                        Count::Declared | Count::DeclaredAndDropped => Count::DeclaredAndDropped,
                    };
                    let (part, least) = dropped(field);
                    program.add(count, part, least);
                }
            }
        }
        program
    }

    /// An element of a field that is kept, and how many bytes of a payload it has at least.
    fn part(&self, field: &Field, messages: &Counterparts<'_>) -> (Part, u64) {
        match &field.base {
            BaseType::Primitive(primitive) => {
                let size = primitive.size();
                let align = usize::try_from(size).expect("at most eight");
                (Part::Bytes { size, align }, size)
            }
            BaseType::Stamp(_) => (STAMP, 8),
            BaseType::Text(_) | BaseType::WideText(_) => (Part::Text, 4),
            BaseType::Message(name) => {
                let index = messages.by_recorded[name.as_str()];
                let program = &self.programs[index];
                let part = match program.steps[..] {
                    [] => Part::Nothing,
                    [
                        Step {
                            count: Count::Fixed(1),
                            part: part @ (Part::Bytes { .. } | Part::Placeholder),
                            ..
                        },
                    ] => part,
                    _ => Part::Message(index),
                };
                (part, program.least)
            }
        }
    }
}

/// The two numbers of a time or duration.
const STAMP: Part = Part::Bytes { size: 8, align: 4 };

/// An element of a field that ROS 2 does not have: a number or a text, as the rules for counterparts have it.
fn dropped(field: &Field) -> (Part, u64) {
    match &field.base {
        BaseType::Primitive(primitive) => {
            let size = primitive.size();
            (Part::Dropped(size), size)
        }
        BaseType::Stamp(_) => (Part::Dropped(8), 8),
        BaseType::Text(_) | BaseType::WideText(_) => (Part::DroppedText, 4),
        BaseType::Message(_) => unreachable!("no rule drops a message"),
    }
}

impl Program {
    fn add(&mut self, count: Count, part: Part, least: u64) {
        let of_all = match count {
            Count::Fixed(count) => count.saturating_mul(least),
            Count::Declared | Count::DeclaredAndDropped => 4,
        };
        self.least = self.least.saturating_add(of_all);
        let step = match (count, part) {
            (Count::Fixed(0), _) | (Count::Fixed(_), Part::Nothing) => return,
            // More bytes than a payload can have stay so when they are put together.
            (Count::Fixed(count), Part::Bytes { size, align })
                if count == 1 || size.is_multiple_of(align as u64) =>
            {
                let size = size.saturating_mul(count);
                if let Some(Step {
                    count: Count::Fixed(1),
                    part:
                        Part::Bytes {
                            size: before,
                            align: aligned,
                        },
                    least,
                }) = self.steps.last_mut()
                    && align <= *aligned
                    && before.is_multiple_of(align as u64)
                {
                    *before = before.saturating_add(size);
                    *least = *before;
                    return;
                }
                let least = size;
                let part = Part::Bytes { size, align };
                Step {
                    count: Count::Fixed(1),
                    part,
                    least,
                }
            }
            _ => Step { count, part, least },
        };
        self.steps.push(step);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ros::definition::{Dialect, read_message};

    fn plan(text: &str) -> Plan {
        let text = text.replace("---", &"=".repeat(80));
        let read = read_message(Dialect::Ros1ForRos2, "p/Root", text.as_bytes()).unwrap();
        Plan::new(&Counterparts::of(&read).unwrap())
    }

    fn root(text: &str) -> Vec<(Count, Part)> {
        let plan = plan(text);
        let steps = &plan.programs[plan.root()].steps;
        steps.iter().map(|step| (step.count, step.part)).collect()
    }

    fn bytes(size: u64, align: usize) -> Part {
        Part::Bytes { size, align }
    }

    #[test]
    fn what_needs_no_padding_is_one_copy() {
        let one = Count::Fixed(1);
        for (text, steps) in [
            (
                "float64 a\nfloat64[9] b\nuint32 c\nint16 d\n",
                vec![(one, bytes(86, 8))],
            ),
            (
                "uint32 a\nfloat64 b\n",
                vec![(one, bytes(4, 4)), (one, bytes(8, 8))],
            ),
            (
                "uint8 a\nuint16 b\n",
                vec![(one, bytes(1, 1)), (one, bytes(2, 2))],
            ),
            (
                "uint16 a\nuint8 b\nuint16 c\n",
                vec![(one, bytes(3, 2)), (one, bytes(2, 2))],
            ),
            (
                "time a\nduration b\nuint8[3] c\n",
                vec![(one, bytes(19, 4))],
            ),
            (
                "P[] p\n---\nMSG: p/P\nfloat32 x\nfloat32 y\n",
                vec![(Count::Declared, bytes(8, 4))],
            ),
            (
                "P[2] p\n---\nMSG: p/P\nfloat32 x\nuint8 y\n",
                vec![(Count::Fixed(2), bytes(5, 4))],
            ),
            (
                "E e\nuint8[0] n\n---\nMSG: p/E\n",
                vec![(one, Part::Placeholder)],
            ),
            (
                "N n\nN[] m\n---\nMSG: p/N\nint8[0] x\n",
                vec![(Count::Declared, Part::Nothing)],
            ),
        ] {
            assert_eq!(root(text), steps, "{text}");
        }
    }

    #[test]
    fn the_sequence_number_of_headers_is_dropped() {
        let text = "Header h\n---\nMSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id\n";
        let plan = plan(text);
        let parts: Vec<Part> = plan.programs[0]
            .steps
            .iter()
            .map(|step| step.part)
            .collect();
        assert_eq!(parts, [Part::Dropped(4), bytes(8, 4), Part::Text]);
        assert_eq!(plan.programs[1].least, 16);
    }
}
