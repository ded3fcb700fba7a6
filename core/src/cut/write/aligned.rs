//! [`Aligned`]: writes a file in pieces that begin and end at multiples of their size.
//!
//! A piece is filled by whoever reads the bytes, without a copy in between, and is still in the processor's cache when
//! it is written. The system takes a third longer for pieces that begin in the middle of a page.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;

use super::behind::WriteBehind;

/// A file that is written from its start on.
#[derive(Debug)]
pub(crate) struct Aligned {
    file: File,
    /// The present piece, whatever of it is filled.
    piece: Vec<u8>,
    /// Where the next byte goes.
    at: u64,
    /// Up to where the file is written, or a piece is on its way.
    written: u64,
    /// Writes the pieces; started with the first one that is full.
    behind: Option<WriteBehind>,
}

impl Aligned {
    /// Writes to an empty file in pieces of so many bytes.
    pub(crate) fn new(file: File, size: usize) -> Self {
        Self {
            file,
            piece: vec![0; size.max(1)],
            at: 0,
            written: 0,
            behind: None,
        }
    }

    /// Where the next byte goes.
    pub(crate) fn position(&self) -> u64 {
        self.at
    }

    /// Adds bytes, at most `most` and at least one if that is not zero: `fill` fills all that it is given. Returns
    /// how many, or the error of `fill`, with which nothing is added.
    pub(crate) fn add<E>(
        &mut self,
        most: u64,
        fill: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> io::Result<Result<usize, E>> {
        let from = self.index(self.at);
        if from == 0 {
            self.pass_on()?;
        }
        let room = self.piece.get_mut(from..).unwrap_or_default();
        let length = usize::try_from(most).map_or(room.len(), |most| most.min(room.len()));
        let room = room.get_mut(..length).unwrap_or_default();
        Ok(fill(room).map(|()| {
            self.at += length as u64;
            length
        }))
    }

    /// The last bytes that were added, in one call.
    pub(crate) fn last(&self, length: usize) -> &[u8] {
        let from = self.index(self.at - length as u64);
        self.piece.get(from..from + length).unwrap_or_default()
    }

    /// Goes back to an earlier position.
    pub(crate) fn back_to(&mut self, at: u64) {
        self.at = at;
        self.written = self.written.min(at);
    }

    /// Writes what is left, and ends the file here.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        if let Some(behind) = self.behind.take() {
            behind.finish()?;
        }
        let left = self.unwritten()?;
        let bytes = self.piece.get(left).unwrap_or_default();
        self.file.write_all_at(bytes, self.written)?;
        // What was taken back may have been longer than all that follows it.
        self.file.set_len(self.at)
    }

    /// Has the present piece written, and begins another one.
    fn pass_on(&mut self) -> io::Result<()> {
        let left = self.unwritten()?;
        if left.is_empty() {
            return Ok(());
        }
        let behind = match &mut self.behind {
            Some(behind) => behind,
            None => self
                .behind
                .insert(WriteBehind::new(self.file.try_clone()?)?),
        };
        behind.write(&mut self.piece, left, self.written)?;
        self.written = self.at;
        Ok(())
    }

    /// Where the bytes that are not written yet are in the present piece.
    fn unwritten(&self) -> io::Result<Range<usize>> {
        let length = usize::try_from(self.at - self.written).map_err(io::Error::other)?;
        let from = self.index(self.written);
        Ok(from..from + length)
    }

    /// The place in its piece of a position.
    fn index(&self, at: u64) -> usize {
        usize::try_from(at % self.piece.len() as u64).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    #[test]
    fn what_is_added_and_not_taken_back_is_in_the_file() {
        for size in [1, 3, 8, 64] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("a");
            let mut out = Aligned::new(File::create(&path).unwrap(), size);
            let mut due: Vec<u8> = Vec::new();
            let mut next = 0_u8;
            let lengths = [5, 1, 0, 17, 8, 8, 3, 40, 2];
            for (turn, length) in lengths.into_iter().enumerate() {
                let mark = out.position();
                let mut left = length;
                while left > 0 {
                    let added = out.add(left, |room| {
                        for byte in room {
                            *byte = next;
                            due.push(next);
                            next = next.wrapping_add(1);
                        }
                        Ok::<(), Infallible>(())
                    });
                    let Ok(added) = added.unwrap();
                    assert!(due.ends_with(out.last(added)));
                    left -= added as u64;
                }
                let failed = out.add(9, |_| Err("no"));
                assert_eq!(failed.unwrap(), Err("no"));
                if turn % 3 == 1 {
                    out.back_to(mark);
                    due.truncate(usize::try_from(mark).unwrap());
                }
                assert_eq!(out.position(), due.len() as u64);
            }
            out.finish().unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), due, "pieces of {size}");
        }
    }
}
