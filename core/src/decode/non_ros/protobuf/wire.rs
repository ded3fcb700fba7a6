//! [`WireReader`]: the fields of one message in the order in which they are written, without their definition.
//!
//! The format is that of <https://protobuf.dev/programming-guides/encoding/>. Nothing is copied, and every length is
//! compared with the bytes that are left. A nested message is passed in one step.

use crate::decode::decoded::Stop;
use crate::decode::payload_reader::TooShort;

/// The largest number of a field.
pub(in crate::decode) const MAX_NUMBER: u32 = (1 << 29) - 1;
/// How deep groups may be nested that are passed in one step.
const MAX_GROUPS: usize = 64;

/// A part of a payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::decode) struct Slice<'a> {
    pub(in crate::decode) bytes: &'a [u8],
    /// Its offset in the payload.
    pub(in crate::decode) at: usize,
}

/// How a value is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::decode) enum Wire {
    Varint,
    Four,
    Eight,
    Bytes,
}

/// A value as it is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::decode) enum WireValue<'a> {
    Varint(u64),
    Four([u8; 4]),
    Eight([u8; 8]),
    /// Text, bytes, a message, or numbers one after another.
    Bytes(Slice<'a>),
    /// A message between a start tag and an end tag, an old form.
    Group(Slice<'a>),
}

/// A field as it is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::decode) struct Written<'a> {
    pub(in crate::decode) number: u32,
    /// The offset of the field in the payload.
    pub(in crate::decode) at: usize,
    pub(in crate::decode) value: WireValue<'a>,
}

/// The fields of one message.
#[derive(Clone, Debug)]
pub(in crate::decode) struct WireReader<'a> {
    slice: Slice<'a>,
    next: usize,
}

impl<'a> WireReader<'a> {
    pub(in crate::decode) fn new(slice: Slice<'a>) -> Self {
        Self { slice, next: 0 }
    }

    pub(in crate::decode) fn is_at_end(&self) -> bool {
        self.next >= self.slice.bytes.len()
    }

    /// The offset in the payload.
    pub(in crate::decode) fn at(&self) -> usize {
        self.slice.at + self.next
    }

    /// The next value, written in this way.
    pub(in crate::decode) fn value(&mut self, wire: Wire) -> Result<WireValue<'a>, Stop> {
        Ok(match wire {
            Wire::Varint => WireValue::Varint(self.varint()?),
            Wire::Four => WireValue::Four(self.array()?),
            Wire::Eight => WireValue::Eight(self.array()?),
            Wire::Bytes => {
                let length = self.varint()?;
                WireValue::Bytes(self.take(length)?)
            }
        })
    }

    fn field(&mut self) -> Result<Written<'a>, Stop> {
        let at = self.at();
        let (number, kind) = self.tag()?;
        let value = match wire_of(kind) {
            Some(wire) => self.value(wire).map_err(|stop| in_field(stop, number))?,
            None if kind == START_GROUP => WireValue::Group(self.group(number)?),
            None => return Err(no_field(at)),
        };
        Ok(Written { number, at, value })
    }

    /// The number of a field and how it is written.
    fn tag(&mut self) -> Result<(u32, u64), Stop> {
        let at = self.at();
        let tag = self.varint()?;
        match u32::try_from(tag >> 3) {
            Ok(number @ 1..=MAX_NUMBER) => Ok((number, tag & 7)),
            _ => Err(no_field(at)),
        }
    }

    /// What is between the start tag that was read and the end tag of this group.
    fn group(&mut self, number: u32) -> Result<Slice<'a>, Stop> {
        let start = self.next;
        let mut open = vec![number];
        loop {
            let (mark, at) = (self.next, self.at());
            let (number, kind) = self.tag()?;
            match (wire_of(kind), kind) {
                (Some(wire), _) => drop(self.value(wire)?),
                (None, START_GROUP) if open.len() < MAX_GROUPS => open.push(number),
                (None, END_GROUP) if open.pop() == Some(number) => {
                    if open.is_empty() {
                        return Ok(Slice {
                            bytes: &self.slice.bytes[start..mark],
                            at: self.slice.at + start,
                        });
                    }
                }
                _ => return Err(no_field(at)),
            }
        }
    }

    fn varint(&mut self) -> Result<u64, Stop> {
        let start = self.at();
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            let bits = u64::from(byte & 0x7f);
            value |= bits << shift;
            if byte < 0x80 {
                // The last byte has room for one bit only.
                if shift == 63 && bits > 1 {
                    break;
                }
                return Ok(value);
            }
        }
        let problem = format!("byte {start}: a number has more than 64 bits");
        Err(Stop::Problem(problem))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Stop> {
        let taken = self.take(N as u64)?;
        Ok(taken.bytes.try_into().expect("as many as were asked for"))
    }

    fn take(&mut self, length: u64) -> Result<Slice<'a>, Stop> {
        let (at, rest) = (self.at(), &self.slice.bytes[self.next..]);
        let taken = usize::try_from(length)
            .ok()
            .and_then(|length| rest.get(..length));
        let bytes = taken.ok_or(TooShort {
            at,
            needed: length,
            left: rest.len(),
        })?;
        self.next += bytes.len();
        Ok(Slice { bytes, at })
    }
}

impl<'a> Iterator for WireReader<'a> {
    type Item = Result<Written<'a>, Stop>;

    /// Nothing follows an error.
    fn next(&mut self) -> Option<Self::Item> {
        if self.is_at_end() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.next = self.slice.bytes.len();
        }
        Some(field)
    }
}

const START_GROUP: u64 = 3;
const END_GROUP: u64 = 4;

fn wire_of(kind: u64) -> Option<Wire> {
    Some(match kind {
        0 => Wire::Varint,
        1 => Wire::Eight,
        2 => Wire::Bytes,
        5 => Wire::Four,
        _ => return None,
    })
}

fn no_field(at: usize) -> Stop {
    Stop::Problem(format!("byte {at}: no field begins here"))
}

fn in_field(stop: Stop, number: u32) -> Stop {
    match stop {
        Stop::TooShort(TooShort { at, needed, left }) => Stop::Problem(format!(
            "byte {at}: field number {number} needs {needed} bytes, {left} are left"
        )),
        other => other,
    }
}
