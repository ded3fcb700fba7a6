//! Reads a payload from its start: alignment, byte order, and no read past the end.

use crate::ros::definition::Primitive;

/// The byte order of numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ByteOrder {
    Big,
    Little,
}

/// What a payload is too short for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("byte {at}: {needed} bytes are needed, {left} are left")]
pub(super) struct TooShort {
    /// Offset in the payload.
    pub(super) at: usize,
    pub(super) needed: u64,
    pub(super) left: usize,
}

/// A payload and a position in it.
#[derive(Clone, Debug)]
pub(super) struct PayloadReader<'a> {
    data: &'a [u8],
    at: usize,
    /// How many bytes of the payload precede `data`.
    before: usize,
    order: ByteOrder,
    /// The largest alignment; 1 if nothing is aligned.
    aligned_to: usize,
}

impl<'a> PayloadReader<'a> {
    /// Aligned as in CDR, relative to the end of the four-byte header, which is not part of `data`.
    pub(super) fn cdr(data: &'a [u8], order: ByteOrder) -> Self {
        Self {
            data,
            at: 0,
            before: 4,
            order,
            aligned_to: 8,
        }
    }

    /// Not aligned, little-endian.
    pub(super) fn ros1(data: &'a [u8]) -> Self {
        Self {
            data,
            at: 0,
            before: 0,
            order: ByteOrder::Little,
            aligned_to: 1,
        }
    }

    /// The byte order of its numbers.
    pub(super) fn order(&self) -> ByteOrder {
        self.order
    }

    pub(super) fn left(&self) -> usize {
        self.data.len() - self.at
    }

    /// The position modulo 8, the largest alignment.
    pub(super) fn phase(&self) -> usize {
        self.at % 8
    }

    /// The error if `needed` bytes are needed here.
    pub(super) fn too_short(&self, needed: u64) -> TooShort {
        TooShort {
            at: self.before + self.at,
            needed,
            left: self.left(),
        }
    }

    /// The next `size` bytes, after padding.
    pub(super) fn take(&mut self, size: u64, align: usize) -> Result<&'a [u8], TooShort> {
        let start = self.at.next_multiple_of(align.min(self.aligned_to));
        let taken = usize::try_from(size)
            .ok()
            .and_then(|size| self.data.get(start..start.checked_add(size)?))
            .ok_or_else(|| self.too_short(size))?;
        self.at = start + taken.len();
        Ok(taken)
    }

    /// The bytes of a number, in little-endian order.
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], TooShort> {
        let taken = self.take(N as u64, N)?;
        let mut bytes: [u8; N] = taken.try_into().expect("as many as were asked for");
        if self.order == ByteOrder::Big {
            bytes.reverse();
        }
        Ok(bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, TooShort> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn i32(&mut self) -> Result<i32, TooShort> {
        self.array().map(i32::from_le_bytes)
    }

    /// UTF-16 units; ROS 2 writes each in four bytes.
    pub(super) fn wide_units(&self, raw: &'a [u8]) -> impl Iterator<Item = u16> + use<'a> {
        wide_units(raw, self.order)
    }

    /// A number as text. Floats have the shortest form that parses to the same value.
    pub(super) fn primitive(&mut self, primitive: Primitive) -> Result<String, TooShort> {
        Ok(match primitive {
            Primitive::Bool => match self.array::<1>()? {
                [0] => "false".to_owned(),
                [1] => "true".to_owned(),
                [other] => other.to_string(),
            },
            Primitive::Byte | Primitive::U8 => u8::from_le_bytes(self.array()?).to_string(),
            Primitive::I8 => i8::from_le_bytes(self.array()?).to_string(),
            Primitive::I16 => i16::from_le_bytes(self.array()?).to_string(),
            Primitive::U16 => u16::from_le_bytes(self.array()?).to_string(),
            Primitive::I32 => self.i32()?.to_string(),
            Primitive::U32 | Primitive::WideChar => self.u32()?.to_string(),
            Primitive::I64 => i64::from_le_bytes(self.array()?).to_string(),
            Primitive::U64 => u64::from_le_bytes(self.array()?).to_string(),
            Primitive::F32 => format!("{:?}", f32::from_le_bytes(self.array()?)),
            Primitive::F64 => format!("{:?}", f64::from_le_bytes(self.array()?)),
        })
    }
}

/// UTF-16 units of which each takes four bytes.
pub(super) fn wide_units(raw: &[u8], order: ByteOrder) -> impl Iterator<Item = u16> + use<'_> {
    raw.chunks_exact(4).map(move |unit| match order {
        ByteOrder::Little => u16::from_le_bytes([unit[0], unit[1]]),
        ByteOrder::Big => u16::from_be_bytes([unit[2], unit[3]]),
    })
}
