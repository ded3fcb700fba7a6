//! [`Frame`]: the opcode and length of a record in a file, read without its body.
//!
//! Used where a file is read record by record. The length is the declared one; [`Frame::end`] checks that it fits.

use super::record::{FRAME, Fields};
use super::window::Window;

/// The frame of a record: its opcode and the declared length of its body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) opcode: u8,
    pub(crate) at: u64,
    /// The declared length of its body.
    pub(crate) length: u64,
}

impl Frame {
    pub(crate) fn read(window: &mut Window<'_>, at: u64) -> Option<Self> {
        let bytes = window.get(at, FRAME).ok()?;
        let (opcode, length) = bytes.split_first()?;
        Some(Self {
            opcode: *opcode,
            at,
            length: Fields(length).u64().ok()?,
        })
    }

    pub(crate) fn body(self) -> u64 {
        self.at + FRAME as u64
    }

    /// Where the next record begins, if this one ends by `to`.
    pub(crate) fn end(self, to: u64) -> Option<u64> {
        let end = self.at.checked_add(FRAME as u64)?.checked_add(self.length);
        end.filter(|end| *end <= to)
    }
}
