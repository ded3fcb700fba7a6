//! Carries out a [`Plan`]: reads CDR from its start to its end and appends a ROS 1 payload.

use super::plan::{Count, Part, Plan, Step, Use};
use crate::transcode::error::{Fault, Problem};

/// How many bytes may be left after the last field: writers pad to a multiple of up to eight.
const MAX_PADDING: usize = 7;
/// The levels of log messages in ROS 2 and in ROS 1.
const SEVERITIES: [(u8, u8); 5] = [(10, 1), (20, 2), (30, 4), (40, 8), (50, 16)];

/// The plans of a type for both byte orders.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Plans {
    /// With blocks.
    pub(super) little: Plan,
    /// Without.
    pub(super) big: Plan,
}

impl Plans {
    /// Appends the ROS 1 form of a payload. After an error, what was appended is of no use.
    pub(super) fn run(&self, payload: &[u8], into: &mut Vec<u8>) -> Result<(), Fault> {
        let Some((encapsulation, data)) = payload.split_first_chunk::<4>() else {
            let left = payload.len();
            return Err((0, Problem::TooShort { needed: 4, left }));
        };
        let is_big = match encapsulation {
            [0, 0, ..] => true,
            [0, 1, ..] => false,
            [a, b, ..] => return Err((0, Problem::Encapsulation([*a, *b]))),
        };
        // A header has four bytes more, and strings one less.
        into.reserve(payload.len() + 64);
        let plan = if is_big { &self.big } else { &self.little };
        let mut walk = Walk {
            plan,
            data,
            at: 0,
            is_big,
            into,
        };
        walk.message(plan.root(), Use::Kept)?;
        match walk.left() {
            0..=MAX_PADDING => Ok(()),
            left => Err((walk.offset(), Problem::TooLong { left })),
        }
    }
}

struct Walk<'a> {
    plan: &'a Plan,
    /// What follows the encapsulation; alignment refers to its start.
    data: &'a [u8],
    at: usize,
    is_big: bool,
    into: &'a mut Vec<u8>,
}

impl<'a> Walk<'a> {
    fn left(&self) -> usize {
        self.data.len().saturating_sub(self.at)
    }

    /// Where in the payload.
    fn offset(&self) -> usize {
        self.at.min(self.data.len()) + 4
    }

    fn too_short(&self, needed: u64) -> Fault {
        let left = self.left();
        (self.offset(), Problem::TooShort { needed, left })
    }

    /// The next bytes, after padding.
    fn take(&mut self, size: u64, align: usize) -> Result<&'a [u8], Fault> {
        self.at = self.at.next_multiple_of(align);
        let taken = usize::try_from(size)
            .ok()
            .and_then(|size| self.data.get(self.at..self.at.checked_add(size)?))
            .ok_or_else(|| self.too_short(size))?;
        self.at += taken.len();
        Ok(taken)
    }

    fn u32(&mut self) -> Result<u32, Fault> {
        let bytes = self.take(4, 4)?.try_into().expect("four bytes");
        Ok(if self.is_big {
            u32::from_be_bytes(bytes)
        } else {
            u32::from_le_bytes(bytes)
        })
    }

    fn put(&mut self, bytes: &[u8], used: Use) {
        if used == Use::Kept {
            self.into.extend_from_slice(bytes);
        }
    }

    fn message(&mut self, index: usize, used: Use) -> Result<(), Fault> {
        let plan = self.plan;
        for step in &plan.programs[index].steps {
            let dropped = used == Use::Dropped;
            let used = if dropped { Use::Dropped } else { step.used };
            self.step(step, used)?;
        }
        Ok(())
    }

    fn step(&mut self, step: &Step, used: Use) -> Result<(), Fault> {
        let count = match step.count {
            Count::Fixed(1) => return self.part(step.part, used),
            Count::Fixed(count) => count,
            Count::Declared => {
                let count = self.u32()?;
                self.put(&count.to_le_bytes(), used);
                count.into()
            }
        };
        // Messages without any bytes in both formats.
        if step.least == 0 {
            return Ok(());
        }
        let needed = count.saturating_mul(step.least);
        if needed > self.left() as u64 {
            return Err(self.too_short(needed));
        }
        match step.part {
            // No padding between the elements, and nothing to reverse.
            Part::Bytes { size, align }
                if size.is_multiple_of(align as u64) && (!self.is_big || size == 1) =>
            {
                if count > 0 {
                    let bytes = self.take(needed, align)?;
                    self.put(bytes, used);
                }
                Ok(())
            }
            part => (0..count).try_for_each(|_| self.part(part, used)),
        }
    }

    fn part(&mut self, part: Part, used: Use) -> Result<(), Fault> {
        match part {
            Part::Bytes { size, align } => {
                let bytes = self.take(size, align)?;
                if self.is_big && used == Use::Kept {
                    self.into.extend(bytes.iter().rev());
                } else {
                    self.put(bytes, used);
                }
            }
            Part::Text => {
                let length = self.u32()?;
                let text = self.take(length.into(), 1)?;
                let text = text.strip_suffix(&[0]).unwrap_or(text);
                let length = u32::try_from(text.len()).expect("not longer than it was");
                self.put(&length.to_le_bytes(), used);
                self.put(text, used);
            }
            Part::WideText => {
                let length = self.u32()?;
                self.take(u64::from(length).saturating_mul(4), 1)?;
            }
            Part::Message(index) => self.message(index, used)?,
            Part::Severity => {
                let level = self.take(1, 1)?[0];
                let known = SEVERITIES.iter().find(|(ros2, _)| *ros2 == level);
                self.put(&[known.map_or(level, |(_, ros1)| *ros1)], used);
            }
            Part::Zeros(size) => {
                if used == Use::Kept {
                    let size = usize::try_from(size).expect("some bytes");
                    self.into.resize(self.into.len() + size, 0);
                }
            }
        }
        Ok(())
    }
}
