//! MCAP framing: the records in a slice of bytes, with every length checked against the enclosing length.
//!
//! The opcodes are those of crate mcap; `parse.rs` reads the bodies, with [`Fields`].

/// The opcode and length before the body of each record.
pub(crate) const FRAME: usize = 9;
/// The channel, sequence number and two timestamps before the payload of a message.
pub(crate) const MESSAGE_HEADER: usize = 22;

/// A record that ends after its slice, or whose body is shorter than its fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Short;

/// A record inside a slice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'a> {
    pub(crate) opcode: u8,
    /// Offset of the record in the slice.
    pub(crate) at: usize,
    pub(crate) body: &'a [u8],
}

/// Iterates over the records of a slice; ends after the first record that does not fit.
#[derive(Clone, Debug)]
pub(crate) struct Records<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Records<'a> {
    #[inline]
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Offset of the next record, or of the record that does not fit.
    #[inline]
    pub(crate) fn position(&self) -> usize {
        self.at
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, Short>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.bytes.get(self.at..).filter(|rest| !rest.is_empty())?;
        let Some((opcode, body)) = split_frame(rest) else {
            self.bytes = &[];
            return Some(Err(Short));
        };
        let at = self.at;
        self.at += FRAME + body.len();
        Some(Ok(Record { opcode, at, body }))
    }
}

/// The opcode and body of the record at the start of `bytes`.
#[inline]
fn split_frame(bytes: &[u8]) -> Option<(u8, &[u8])> {
    let (frame, rest) = bytes.split_first_chunk::<FRAME>()?;
    let (opcode, length) = frame.split_first()?;
    let length = u64::from_le_bytes(length.try_into().ok()?);
    let body = rest.get(..usize::try_from(length).ok()?)?;
    Some((*opcode, body))
}

/// Reads little-endian fields from the front of a record body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl<'a> Fields<'a> {
    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Short> {
        let (head, rest) = self.0.split_first_chunk::<N>().ok_or(Short)?;
        self.0 = rest;
        Ok(*head)
    }

    #[inline]
    pub(crate) fn u16(&mut self) -> Result<u16, Short> {
        self.array().map(u16::from_le_bytes)
    }

    #[inline]
    pub(crate) fn u32(&mut self) -> Result<u32, Short> {
        self.array().map(u32::from_le_bytes)
    }

    #[inline]
    pub(crate) fn u64(&mut self) -> Result<u64, Short> {
        self.array().map(u64::from_le_bytes)
    }

    /// A block: a 32-bit length and as many bytes.
    #[inline]
    pub(crate) fn block(&mut self) -> Result<&'a [u8], Short> {
        let length = usize::try_from(self.u32()?).map_err(|_| Short)?;
        let (head, rest) = self.0.split_at_checked(length).ok_or(Short)?;
        self.0 = rest;
        Ok(head)
    }

    pub(crate) fn string(&mut self) -> Result<String, Short> {
        self.block()
            .map(|text| String::from_utf8_lossy(text).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use mcap::records::op;

    use super::*;

    #[test]
    fn a_length_beyond_the_slice_ends_the_walk() {
        for length in [1, 1 << 40, u64::MAX - 8, u64::MAX] {
            let mut bytes = vec![op::MESSAGE];
            bytes.extend(u64::to_le_bytes(length));
            let mut records = Records::new(&bytes);
            assert!(records.next().is_some_and(|record| record.is_err()));
            assert!(records.next().is_none());
            assert_eq!(records.position(), 0);
        }
    }
}
