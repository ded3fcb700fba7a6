//! Carries out a [`Plan`]: reads a ROS 1 payload from its start to its end and appends CDR.

use super::error::{Fault, Problem};
use super::plan::{Count, Part, Plan, Step};

/// Plain CDR, little-endian.
const ENCAPSULATION: [u8; 4] = [0, 1, 0, 0];
/// The result of a payload of `n` bytes has at most `4 n` bytes and this. Padding and zero bytes at most double it;
/// more comes only from messages without fields, which have no byte in ROS 1 and one in CDR.
const FOR_EMPTY_MESSAGES: usize = 64 << 10;
/// The levels of log messages in ROS 1 and in ROS 2.
const SEVERITIES: [(u8, u8); 5] = [(1, 10), (2, 20), (4, 30), (8, 40), (16, 50)];

impl Plan {
    /// Appends the CDR of a payload. After an error, what was appended is of no use.
    pub(super) fn run(&self, payload: &[u8], into: &mut Vec<u8>) -> Result<(), Fault> {
        // Most messages grow by little more than this.
        into.reserve(payload.len() + payload.len() / 16 + 32);
        into.extend_from_slice(&ENCAPSULATION);
        let most = payload.len().saturating_mul(4);
        let mut walk = Walk {
            plan: self,
            payload,
            at: 0,
            start: into.len(),
            into,
            most: most.saturating_add(FOR_EMPTY_MESSAGES),
        };
        walk.message(self.root())?;
        match walk.left() {
            0 => Ok(()),
            left => Err((walk.at, Problem::TooLong { left })),
        }
    }
}

struct Walk<'a> {
    plan: &'a Plan,
    payload: &'a [u8],
    at: usize,
    into: &'a mut Vec<u8>,
    /// Where the data begin to which alignment refers.
    start: usize,
    /// How many bytes of data there may be.
    most: usize,
}

impl<'a> Walk<'a> {
    fn left(&self) -> usize {
        self.payload.len() - self.at
    }

    fn too_short(&self, needed: u64) -> Fault {
        let left = self.left();
        (self.at, Problem::TooShort { needed, left })
    }

    /// The next bytes of the payload.
    fn take(&mut self, size: u64) -> Result<&'a [u8], Fault> {
        let taken = usize::try_from(size)
            .ok()
            .and_then(|size| self.payload.get(self.at..self.at.checked_add(size)?))
            .ok_or_else(|| self.too_short(size))?;
        self.at += taken.len();
        Ok(taken)
    }

    fn u32(&mut self) -> Result<u32, Fault> {
        let bytes = self.take(4)?.try_into().expect("four bytes");
        Ok(u32::from_le_bytes(bytes))
    }

    /// Pads to a multiple of `align`, then appends bytes.
    fn put(&mut self, bytes: &[u8], align: usize) -> Result<(), Fault> {
        let written = self.into.len() - self.start;
        let padded = written.next_multiple_of(align);
        if padded.saturating_add(bytes.len()) > self.most {
            return Err((self.at, Problem::TooLarge { most: self.most }));
        }
        self.into.resize(self.start + padded, 0);
        self.into.extend_from_slice(bytes);
        Ok(())
    }

    fn message(&mut self, index: usize) -> Result<(), Fault> {
        let plan = self.plan;
        for step in &plan.programs[index].steps {
            self.step(*step)?;
        }
        Ok(())
    }

    fn step(&mut self, Step { count, part, least }: Step) -> Result<(), Fault> {
        let count = match count {
            Count::Fixed(1) => return self.part(part),
            Count::Fixed(count) => count,
            Count::Declared => {
                let count = self.u32()?;
                self.put(&count.to_le_bytes(), 4)?;
                count.into()
            }
            Count::DeclaredAndDropped => self.u32()?.into(),
        };
        let needed = count.saturating_mul(least);
        if needed > self.left() as u64 {
            return Err(self.too_short(needed));
        }
        if count == 0 || part == Part::Nothing {
            return Ok(());
        }
        match part {
            // No padding between the elements.
            Part::Bytes { size, align } if size.is_multiple_of(align as u64) => {
                let bytes = self.take(needed)?;
                self.put(bytes, align)
            }
            Part::Dropped(_) => self.take(needed).map(drop),
            _ => (0..count).try_for_each(|_| self.part(part)),
        }
    }

    fn part(&mut self, part: Part) -> Result<(), Fault> {
        match part {
            Part::Bytes { size, align } => {
                let bytes = self.take(size)?;
                self.put(bytes, align)
            }
            Part::Text => self.text(),
            Part::Message(index) => self.message(index),
            Part::Placeholder => self.put(&[0], 1),
            Part::Severity => {
                let level = self.take(1)?;
                let known = SEVERITIES.iter().find(|(ros1, _)| *ros1 == level[0]);
                self.put(&[known.map_or(level[0], |(_, ros2)| *ros2)], 1)
            }
            Part::Dropped(size) => self.take(size).map(drop),
            Part::DroppedText => {
                let length = self.u32()?;
                self.take(length.into()).map(drop)
            }
            Part::Nothing => Ok(()),
        }
    }

    fn text(&mut self) -> Result<(), Fault> {
        let length = self.u32()?;
        let text = self.take(length.into())?;
        let Some(with_end) = length.checked_add(1) else {
            return Err((self.at, Problem::TooLarge { most: self.most }));
        };
        self.put(&with_end.to_le_bytes(), 4)?;
        self.put(text, 1)?;
        self.put(&[0], 1)
    }
}
