//! [`WriteBehind`]: writes the pieces of a file in a thread of its own, while the next piece is filled.
//!
//! Reading a piece and computing its checksum take about as long as writing it, so two cores copy a file faster than
//! one.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, bounded};

/// How many pieces wait at most to be written.
const WAITING: usize = 3;

/// Bytes that are written at a place in the file.
#[derive(Debug)]
struct Piece {
    buffer: Vec<u8>,
    /// The part of the buffer that is written.
    range: Range<usize>,
    at: u64,
}

/// Writes pieces in the order in which they come.
#[derive(Debug)]
pub(crate) struct WriteBehind {
    /// `None` after the thread has failed, and during the drop.
    pieces: Option<Sender<Piece>>,
    /// Buffers whose bytes are written.
    written: Receiver<Vec<u8>>,
    /// How many more buffers may be made.
    vacancies: usize,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl WriteBehind {
    /// Starts the thread.
    pub(crate) fn new(file: File) -> io::Result<Self> {
        let (pieces, to_write) = bounded::<Piece>(WAITING);
        // All buffers that exist have room in it, so the thread never waits for it.
        let (done, written) = bounded(WAITING + 1);
        let named = std::thread::Builder::new().name("cut-write".to_owned());
        let thread = named.spawn(move || {
            for Piece { buffer, range, at } in to_write {
                let bytes = buffer.get(range).unwrap_or_default();
                file.write_all_at(bytes, at)?;
                if done.send(buffer).is_err() {
                    break;
                }
            }
            Ok(())
        })?;
        Ok(Self {
            pieces: Some(pieces),
            written,
            vacancies: WAITING,
            thread: Some(thread),
        })
    }

    /// Has the bytes `range` of a buffer written at a place. The buffer is then another one, of the same length and
    /// with any content. An error may be that of an earlier piece.
    pub(crate) fn write(
        &mut self,
        buffer: &mut Vec<u8>,
        range: Range<usize>,
        at: u64,
    ) -> io::Result<()> {
        let next = if self.vacancies > 0 {
            self.vacancies -= 1;
            vec![0; buffer.len()]
        } else {
            self.written.recv().map_err(|_| self.failure())?
        };
        let buffer = std::mem::replace(buffer, next);
        let piece = Piece { buffer, range, at };
        let is_sent = self
            .pieces
            .as_ref()
            .is_some_and(|it| it.send(piece).is_ok());
        is_sent.then_some(()).ok_or_else(|| self.failure())
    }

    /// Waits until everything is written. An error if something is not, also if that was reported before.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.join()
    }

    /// Why the thread has ended early.
    fn failure(&mut self) -> io::Error {
        let ended = self.join();
        ended.err().unwrap_or_else(not_written)
    }

    fn join(&mut self) -> io::Result<()> {
        self.pieces = None;
        // It is joined only after an error, or at the end.
        let thread = self.thread.take().ok_or_else(not_written)?;
        let ended = thread.join();
        ended.unwrap_or_else(|_| {
            Err(io::Error::other(
                "the thread that writes the file has panicked",
            ))
        })
    }
}

fn not_written() -> io::Error {
    io::Error::other("an earlier part of the file was not written")
}

impl Drop for WriteBehind {
    /// Waits for the thread: a cut that is given up removes its file after this.
    fn drop(&mut self) {
        // The cut has failed or was cancelled already, so this error is not reported.
        let _ = self.join();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_the_thread_ends_the_writing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        std::fs::write(&path, "").unwrap();
        let mut behind = WriteBehind::new(File::open(&path).unwrap()).unwrap();
        let mut buffer = vec![7; 10];
        let mut errors = (0..20).filter_map(|turn| {
            let written = behind.write(&mut buffer, 0..10, turn * 10);
            assert_eq!(buffer.len(), 10);
            written.err()
        });
        let first = errors.next().expect("not all pieces can wait");
        assert_eq!(first.raw_os_error(), Some(9), "{first}");
        drop(errors);
        assert!(behind.finish().is_err(), "what was not written is missing");
        assert_eq!(std::fs::read(&path).unwrap(), b"");
    }

    #[test]
    fn an_error_of_the_last_piece_is_that_of_the_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        std::fs::write(&path, "").unwrap();
        let mut behind = WriteBehind::new(File::open(&path).unwrap()).unwrap();
        behind.write(&mut vec![7; 10], 0..10, 0).unwrap();
        assert!(behind.finish().is_err());
    }
}
