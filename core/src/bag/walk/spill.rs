//! [`Spill`]: a temporary file for messages of open chunks that do not fit into memory.
//!
//! If chunks overlap and only a share of each can be in memory, a chunk is decompressed again when its share is used
//! up: once. Its remaining messages are then written to the file in the order of the walk, and read from there in
//! windows. So the time is proportional to the data, however little memory there is.
//!
//! The file has no name. It is removed with its cursor, and the space of a chunk is given back when the chunk has been
//! played. At most half of the free space is taken. A directory in memory (tmpfs) is not used, because the messages
//! would still be in memory. If anything fails, the cursor goes on without the file and decompresses chunks as often
//! as needed.

use std::env;
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::entries::{Entry, record_length};
use crate::bag::decompress::budget::{CountedBytes, Meter};
use crate::time::Time;
use crate::untrusted::Foreign;

/// The size of what precedes each record in the file: its time, its offset in the chunk, its length.
const HEAD: usize = 8 + 4 + 4;
/// How many bytes are written at once: 1 MiB.
const PIECE: usize = 1 << 20;
/// The type of the file system tmpfs on Linux.
#[cfg(target_os = "linux")]
const TMPFS: u64 = 0x0102_1994;

/// The system did not create, write or read the file.
#[derive(Debug, thiserror::Error)]
#[error(
    "{}: {source}; so overlapping chunks that are larger than the read-ahead are decompressed many times, which is \
     slow; hint: set TMPDIR to a directory on a disk with enough space",
    Foreign::path(dir)
)]
pub(crate) struct SpillError {
    dir: PathBuf,
    source: io::Error,
}

/// The file of one cursor, created when it is first needed.
#[derive(Debug, Default)]
pub(crate) enum Spill {
    #[default]
    Unused,
    Open {
        file: Arc<File>,
        /// Where the next chunk is written.
        end: u64,
    },
    /// It could not be created, written or read.
    Refused,
}

impl Spill {
    /// Whether the file may be used.
    pub(crate) fn is_usable(&self) -> bool {
        !matches!(self, Self::Refused)
    }

    /// Writes messages of a decompressed chunk to the file, in this order. `None` if the meter was closed meanwhile.
    /// After an error the file is used no more.
    pub(crate) fn write<'a>(
        &mut self,
        bytes: &[u8],
        entries: &(impl Iterator<Item = &'a Entry> + Clone),
        meter: &Meter,
    ) -> Result<Option<Spilled>, SpillError> {
        self.write_in(&directory(), bytes, entries, meter)
    }

    fn write_in<'a>(
        &mut self,
        dir: &Path,
        bytes: &[u8],
        entries: &(impl Iterator<Item = &'a Entry> + Clone),
        meter: &Meter,
    ) -> Result<Option<Spilled>, SpillError> {
        let written = self.try_write(dir, bytes, entries, meter);
        written.map_err(|source| self.fail_in(dir, source))
    }

    /// Uses the file no more, because of this error.
    pub(crate) fn fail(&mut self, source: io::Error) -> SpillError {
        self.fail_in(&directory(), source)
    }

    fn fail_in(&mut self, dir: &Path, source: io::Error) -> SpillError {
        *self = Self::Refused;
        let dir = dir.to_owned();
        SpillError { dir, source }
    }

    fn try_write<'a>(
        &mut self,
        dir: &Path,
        bytes: &[u8],
        entries: &(impl Iterator<Item = &'a Entry> + Clone),
        meter: &Meter,
    ) -> io::Result<Option<Spilled>> {
        if let Self::Unused = self {
            let file = Arc::new(create(dir)?);
            *self = Self::Open { file, end: 0 };
        }
        let Self::Open { file, end } = self else {
            return Ok(None);
        };
        if Arc::strong_count(file) == 1 {
            // No chunk is in the file. Where single ranges cannot be given back, this gives back all.
            file.set_len(0)?;
            *end = 0;
        }
        let record = |entry: &Entry| {
            let at = entry.at as usize;
            bytes.get(at..at + record_length(bytes, entry.at))
        };
        let size = |entry: &Entry| record(entry).map_or(0, |record| (HEAD + record.len()) as u64);
        let size: u64 = entries.clone().map(size).sum();
        let free = free_space(file)?;
        if size > free / 2 {
            let why =
                format!("{size} bytes are needed, more than half of the {free} that are free");
            return Err(io::Error::new(ErrorKind::StorageFull, why));
        }
        // From here on, an error or an early end gives back what was written.
        let extent = Extent {
            file: Arc::clone(file),
            range: *end..*end + size,
        };
        let at = At {
            file,
            at: extent.range.start,
        };
        let mut out = BufWriter::with_capacity(PIECE, at);
        for entry in entries.clone() {
            if meter.is_closed() {
                return Ok(None);
            }
            let record = record(entry).unwrap_or_default();
            out.write_all(&head(entry, record.len())?)?;
            out.write_all(record)?;
        }
        out.flush()?;
        drop(out);
        *end = extent.range.end;
        let mut spilled = Spilled {
            at: extent.range.start,
            extent,
            next: None,
        };
        spilled.look_ahead()?;
        Ok(Some(spilled))
    }
}

/// Messages of one chunk in the file, from the next one on.
#[derive(Debug)]
pub(crate) struct Spilled {
    extent: Extent,
    at: u64,
    /// The next message and the length of its record; `None` at the end.
    next: Option<(Entry, u32)>,
}

/// Messages read from the file.
#[derive(Debug)]
pub(crate) struct Window {
    /// `None` if the next message does not fit; it is then the only entry.
    pub(crate) bytes: Option<CountedBytes>,
    /// The messages in the order of the walk.
    pub(crate) entries: Vec<Entry>,
}

impl Spilled {
    /// Whether there are no more messages.
    pub(crate) fn is_empty(&self) -> bool {
        self.next.is_none()
    }

    /// How many bytes [`Self::read`] reads.
    pub(crate) fn cost(&self, (most, least): (u64, usize)) -> u64 {
        let first = self
            .next
            .map_or(0, |(_, length)| HEAD as u64 + u64::from(length));
        let left = self.extent.range.end - self.at;
        if first + size_of::<Entry>() as u64 <= most {
            most.min(left)
        } else if least > 0 {
            first
        } else {
            0
        }
    }

    /// Reads the next messages: at least `least` of them, at most what fits into `most` bytes.
    pub(crate) fn read(
        &mut self,
        (most, least): (u64, usize),
        meter: &Arc<Meter>,
    ) -> io::Result<Window> {
        let permit = meter.permit(self.cost((most, least)));
        let length = usize::try_from(permit.bytes()).map_err(io::Error::other)?;
        if length == 0 {
            let entries = self.next.iter().map(|(entry, _)| *entry).collect();
            let bytes = None;
            return Ok(Window { bytes, entries });
        }
        let mut bytes = vec![0; length];
        self.extent.file.read_exact_at(&mut bytes, self.at)?;
        let mut entries = Vec::new();
        let mut at = 0;
        while let Some((entry, length)) = bytes.get(at..).and_then(parse_head) {
            let record = at + HEAD;
            let end = record + length as usize;
            let size = (end + (entries.len() + 1) * size_of::<Entry>()) as u64;
            if end > bytes.len() || (size > most && entries.len() >= least) {
                break;
            }
            let at_hand = u32::try_from(record).map_err(io::Error::other)?;
            entries.push(Entry {
                at: at_hand,
                ..entry
            });
            at = end;
        }
        if entries.is_empty() {
            return Err(ErrorKind::InvalidData.into());
        }
        self.at += at as u64;
        self.look_ahead()?;
        let bytes = Some(CountedBytes::new(bytes, permit));
        Ok(Window { bytes, entries })
    }

    /// Reads the head of the next message.
    fn look_ahead(&mut self) -> io::Result<()> {
        self.next = None;
        if self.at < self.extent.range.end {
            let mut head = [0; HEAD];
            self.extent.file.read_exact_at(&mut head, self.at)?;
            self.next = parse_head(&head);
        }
        Ok(())
    }
}

/// A part of the file; given back to the file system when it is dropped.
#[derive(Debug)]
struct Extent {
    file: Arc<File>,
    range: Range<u64>,
}

impl Drop for Extent {
    fn drop(&mut self) {
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::{FallocateFlags, fallocate};
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            let length = self.range.end - self.range.start;
            // Not every file system can do this. The space is then given back with that of other chunks.
            let _ = fallocate(&self.file, flags, self.range.start, length);
        }
    }
}

/// Writes to a file from a position on.
struct At<'a> {
    file: &'a File,
    at: u64,
}

impl Write for At<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write_at(bytes, self.at)?;
        self.at += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn head(entry: &Entry, length: usize) -> io::Result<[u8; HEAD]> {
    let length = u32::try_from(length).map_err(io::Error::other)?;
    let mut head = [0; HEAD];
    let (time, rest) = head.split_at_mut(8);
    let (record, size) = rest.split_at_mut(4);
    time.copy_from_slice(&entry.time.as_nanos().to_le_bytes());
    record.copy_from_slice(&entry.record.to_le_bytes());
    size.copy_from_slice(&length.to_le_bytes());
    Ok(head)
}

/// The entry at the start of `bytes` and the length of its record.
fn parse_head(bytes: &[u8]) -> Option<(Entry, u32)> {
    let (time, rest) = bytes.split_first_chunk()?;
    let (record, rest) = rest.split_first_chunk()?;
    let (length, _) = rest.split_first_chunk()?;
    let entry = Entry {
        time: Time::from_nanos(i64::from_le_bytes(*time)),
        record: u32::from_le_bytes(*record),
        at: 0,
    };
    Some((entry, u32::from_le_bytes(*length)))
}

/// `TMPDIR`; without it `/tmp`, or `/var/tmp` if only that is on a disk.
fn directory() -> PathBuf {
    let dir = env::temp_dir();
    let other = Path::new("/var/tmp");
    let is_in_memory = |dir: &Path| File::open(dir).is_ok_and(|dir| is_in_memory(&dir));
    let is_better = env::var_os("TMPDIR").is_none() && is_in_memory(&dir) && !is_in_memory(other);
    if is_better { other.to_owned() } else { dir }
}

fn create(dir: &Path) -> io::Result<File> {
    let file = tempfile::tempfile_in(dir)?;
    if is_in_memory(&file) {
        return Err(io::Error::other("temporary files are in memory there"));
    }
    Ok(file)
}

#[cfg(target_os = "linux")]
fn is_in_memory(file: &File) -> bool {
    rustix::fs::fstatfs(file).is_ok_and(|facts| u64::try_from(facts.f_type) == Ok(TMPFS))
}

#[cfg(not(target_os = "linux"))]
fn is_in_memory(_: &File) -> bool {
    false
}

/// How many bytes this process may still write to the file system of the file.
fn free_space(file: &File) -> io::Result<u64> {
    let facts = rustix::fs::fstatvfs(file)?;
    Ok(facts.f_bavail.saturating_mul(facts.f_frsize))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    /// A chunk of records of `size` bytes, and the entries of all of them.
    fn chunk(count: u32, size: u32) -> (Vec<u8>, Vec<Entry>) {
        let mut bytes = Vec::new();
        let mut entries = Vec::new();
        for number in 0..count {
            let at = u32::try_from(bytes.len()).unwrap();
            let time = Time::from_nanos(-7 + i64::from(number));
            let record = at;
            entries.push(Entry { time, record, at });
            bytes.push(5);
            bytes.extend(u64::from(size - 9).to_le_bytes());
            bytes.resize(bytes.len() + size as usize - 9, number.to_le_bytes()[0]);
        }
        (bytes, entries)
    }

    fn write(spill: &mut Spill, bytes: &[u8], entries: &[Entry]) -> Spilled {
        let meter = Meter::unbounded();
        let written = spill.write(bytes, &entries.iter(), &meter).unwrap();
        written.unwrap()
    }

    #[test]
    fn what_is_written_is_read_in_windows_of_any_size() {
        let (bytes, entries) = chunk(20, 1000);
        let meter = Meter::unbounded();
        for most in [0, 1, 31, 1031, 1032, 2500, 100_000] {
            let mut spill = Spill::default();
            let mut spilled = write(&mut spill, &bytes, &entries);
            let mut found = Vec::new();
            let mut least = 0;
            while !spilled.is_empty() {
                let cost = spilled.cost((most, least));
                let window = spilled.read((most, least), &meter).unwrap();
                least = usize::from(window.bytes.is_none());
                let Some(read) = window.bytes else {
                    // The next message is known and does not fit.
                    assert!(most < 1032, "{most}");
                    assert_eq!(window.entries[0].record, entries[found.len()].record);
                    assert_eq!((cost, window.entries.len()), (0, 1));
                    continue;
                };
                assert_eq!(read.bytes.len() as u64, cost);
                assert!(cost <= most.max(1016), "{most}: {cost}");
                for entry in window.entries {
                    let record = entry.record as usize;
                    let at = entry.at as usize;
                    assert_eq!(read.bytes[at..at + 1000], bytes[record..record + 1000]);
                    found.push((entry.time, entry.record));
                }
            }
            let due: Vec<_> = entries.iter().map(|it| (it.time, it.record)).collect();
            assert_eq!(found, due, "{most}");
        }
        assert_eq!(meter.usage().live_bytes, 0);
    }

    #[test]
    fn the_space_of_a_chunk_is_given_back_with_it() {
        let (bytes, entries) = chunk(100, 40_000);
        let mut spill = Spill::default();
        let first = write(&mut spill, &bytes, &entries);
        let second = write(&mut spill, &bytes, &entries);
        let Spill::Open { file, .. } = &spill else {
            panic!("{spill:?}");
        };
        let file = Arc::clone(file);
        let used = || file.metadata().unwrap().blocks() * 512;
        assert!(used() >= 8_000_000);
        drop(first);
        assert!(used() < 5_000_000, "{}", used());
        drop(second);
        assert!(used() < 1_000_000, "{}", used());
        let least = file.metadata().unwrap().len();
        drop(file);
        // With no chunk left, writing begins at the start again.
        let _third = write(&mut spill, &bytes, &entries);
        let Spill::Open { end, .. } = spill else {
            panic!("{spill:?}");
        };
        assert_eq!(end, least / 2);
    }

    #[test]
    fn a_closed_walk_writes_nothing_more_and_keeps_nothing() {
        let (bytes, entries) = chunk(100, 40_000);
        let mut spill = Spill::default();
        let meter = Meter::unbounded();
        meter.close();
        let written = spill.write(&bytes, &entries.iter(), &meter).unwrap();
        assert!(written.is_none());
        let Spill::Open { file, end } = spill else {
            panic!("{spill:?}");
        };
        assert_eq!((end, file.metadata().unwrap().blocks()), (0, 0));
    }

    #[test]
    fn an_error_is_told_with_the_place_and_the_file_is_used_no_more() {
        let (bytes, entries) = chunk(2, 1000);
        let meter = Meter::unbounded();
        let device = Arc::new(File::options().write(true).open("/dev/full").unwrap());
        let full = Spill::Open {
            // Used twice, as if there were another chunk in it.
            file: Arc::clone(&device),
            end: 1,
        };
        let gone = Path::new("/nowhere/\n");
        for (mut spill, said) in [
            (full, "No space left on device"),
            (Spill::default(), "No such file or directory"),
        ] {
            let error = spill.write_in(gone, &bytes, &entries.iter(), &meter);
            let text = error.unwrap_err().to_string();
            assert!(text.starts_with("/nowhere/\\n: "), "{text}");
            assert!(text.contains(said) && text.contains("TMPDIR"), "{text}");
            assert!(!spill.is_usable());
            let nothing = spill.write_in(gone, &bytes, &entries.iter(), &meter);
            assert!(nothing.unwrap().is_none());
        }
    }
}
