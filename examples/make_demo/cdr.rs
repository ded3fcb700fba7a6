//! Little-endian CDR, as much of it as the demo's messages need.
//!
//! Plain CDR (XCDR1): every primitive is aligned to its own size, counted from after the four bytes of
//! the encapsulation header.

use std::time::Duration;

use anyhow::{Context, Result};

/// Bytes of one message being written.
pub(crate) struct Cdr(Vec<u8>);

/// Encapsulation: little-endian plain CDR, no options.
const HEADER: [u8; 4] = [0, 1, 0, 0];

impl Cdr {
    pub(crate) fn new() -> Self {
        Self(HEADER.to_vec())
    }

    /// The finished message.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    fn aligned<const N: usize>(&mut self, bytes: [u8; N]) {
        let body = self.0.len() - HEADER.len();
        self.0.resize(HEADER.len() + body.next_multiple_of(N), 0);
        self.0.extend(bytes);
    }

    pub(crate) fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    pub(crate) fn i32(&mut self, value: i32) {
        self.aligned(value.to_le_bytes());
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.aligned(value.to_le_bytes());
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "the field is a float32: rounding is meant"
    )]
    pub(crate) fn f32(&mut self, value: f64) {
        self.aligned((value as f32).to_le_bytes());
    }

    pub(crate) fn f64(&mut self, value: f64) {
        self.aligned(value.to_le_bytes());
    }

    pub(crate) fn f64s(&mut self, values: &[f64]) {
        for value in values {
            self.f64(*value);
        }
    }

    /// The count in front of a sequence.
    pub(crate) fn count(&mut self, count: usize) -> Result<()> {
        self.u32(u32::try_from(count).context("a sequence of more than 2³² elements")?);
        Ok(())
    }

    /// Length with the final NUL, bytes, NUL.
    pub(crate) fn string(&mut self, text: &str) -> Result<()> {
        self.count(text.len() + 1)?;
        self.0.extend(text.as_bytes());
        self.0.push(0);
        Ok(())
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.count(bytes.len())?;
        self.0.extend(bytes);
        Ok(())
    }

    /// `builtin_interfaces/Time`, since the epoch of its clock.
    pub(crate) fn time(&mut self, time: Duration) -> Result<()> {
        self.i32(i32::try_from(time.as_secs()).context("a time after 2038")?);
        self.u32(time.subsec_nanos());
        Ok(())
    }

    /// `std_msgs/Header`.
    pub(crate) fn header(&mut self, stamp: Duration, frame: &str) -> Result<()> {
        self.time(stamp)?;
        self.string(frame)
    }
}
