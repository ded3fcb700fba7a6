//! [`ReadAt`]: a recording that is read at positions, by many readers at once.
//!
//! A file, bytes in memory, or an object in a store elsewhere. Several ranges are read with few requests: those near
//! each other are read as one.

use std::fmt;
use std::io;
use std::ops::Range;

use bytes::Bytes;

/// The most bytes that several ranges may be merged to: 8 MiB. A longer range is read by itself.
const MOST_MERGED: u64 = 8 << 20;

/// A recording that is read at positions, from any thread. It does not change while it is open: if its bytes are not
/// those of the same recording any more, reads fail.
pub trait ReadAt: Send + Sync + fmt::Debug {
    /// Its length in bytes; always the same.
    fn length(&self) -> u64;

    /// A text that no other recording has, and that the same recording has whenever it is opened: device and inode of a
    /// file, or URL and version of an object. It is compared, never shown.
    fn identity(&self) -> String;

    /// What a read costs.
    fn cost(&self) -> Cost;

    /// Fills `buffer` with the bytes from `offset` on. An error if there are fewer.
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;

    /// The bytes of each range (end excluded), in the order of `ranges`. An error if one of them is not inside the
    /// recording. Ranges with at most [`Cost::gap`] bytes between them are read as one, up to 8 MiB, one after the
    /// other; an implementation may do better and read them at the same time.
    fn read_ranges(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>> {
        read_merged(self, ranges)
    }
}

/// What a read costs, beside the bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Cost {
    /// A system call: microseconds.
    Local,
    /// A request over a network: tens of milliseconds.
    Remote,
}

impl Cost {
    /// The most unused bytes between two ranges that are read with them, rather than with a second read.
    pub const fn gap(self) -> u64 {
        match self {
            Self::Local => 4 << 10,
            Self::Remote => 1 << 20,
        }
    }

    /// How many bytes at least are read at once where the next ones may be needed, too.
    pub(crate) const fn piece(self) -> usize {
        match self {
            Self::Local => 4 << 10,
            Self::Remote => 256 << 10,
        }
    }
}

/// Bytes in memory.
impl ReadAt for Bytes {
    fn length(&self) -> u64 {
        self.len() as u64
    }

    fn identity(&self) -> String {
        format!("memory {:p}", self.as_ptr())
    }

    fn cost(&self) -> Cost {
        Cost::Local
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let start = usize::try_from(offset).map_err(io::Error::other)?;
        let from = self.get(start..).and_then(|rest| rest.get(..buffer.len()));
        buffer.copy_from_slice(from.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

/// What [`ReadAt::read_ranges`] does. If a range is not inside the recording, nothing is allocated.
fn read_merged<S: ReadAt + ?Sized>(source: &S, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>> {
    let length = source.length();
    let is_inside = |range: &Range<u64>| range.start <= range.end && range.end <= length;
    if !ranges.iter().all(is_inside) {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let mut found = vec![Bytes::new(); ranges.len()];
    for (merged, members) in merged(ranges, source.cost().gap()) {
        let length = usize::try_from(merged.end - merged.start).map_err(io::Error::other)?;
        let mut buffer = vec![0; length];
        source.read_exact_at(&mut buffer, merged.start)?;
        let bytes = Bytes::from(buffer);
        for member in members {
            if let Some((range, slot)) = ranges.get(member).zip(found.get_mut(member)) {
                let [from, to] = [range.start, range.end].map(|at| at - merged.start);
                let [from, to] = [from, to].map(|at| usize::try_from(at).unwrap_or(usize::MAX));
                *slot = bytes.slice(from..to);
            }
        }
    }
    Ok(found)
}

/// The ranges to be read, in order, each with the indexes of the ranges that it covers. Two ranges are merged if at
/// most `gap` bytes lie between them.
fn merged(ranges: &[Range<u64>], gap: u64) -> Vec<(Range<u64>, Vec<usize>)> {
    let mut order: Vec<usize> = (0..ranges.len()).collect();
    order.sort_unstable_by_key(|index| ranges.get(*index).map(|range| range.start));
    let mut all: Vec<(Range<u64>, Vec<usize>)> = Vec::new();
    for index in order {
        let Some(range) = ranges.get(index).filter(|range| !range.is_empty()) else {
            continue;
        };
        if let Some((last, members)) = all.last_mut() {
            let end = range.end.max(last.end);
            let is_inside = range.end <= last.end;
            let is_near = range.start <= last.end.saturating_add(gap);
            if is_inside || (is_near && end - last.start <= MOST_MERGED) {
                last.end = end;
                members.push(index);
                continue;
            }
        }
        all.push((range.clone(), vec![index]));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_near_each_other_are_merged() {
        let most = MOST_MERGED;
        for (ranges, gap, reads) in [
            (vec![], 10, vec![]),
            (vec![(0, 0)], 10, vec![]),
            (vec![(0, 4), (14, 20)], 10, vec![((0, 20), vec![0, 1])]),
            (
                vec![(0, 4), (15, 20)],
                10,
                vec![((0, 4), vec![0]), ((15, 20), vec![1])],
            ),
            (
                vec![(14, 20), (0, 4), (2, 6)],
                10,
                vec![((0, 20), vec![1, 2, 0])],
            ),
            (vec![(0, 9), (2, 4)], 0, vec![((0, 9), vec![0, 1])]),
            (vec![(0, 4), (4, 8)], 0, vec![((0, 8), vec![0, 1])]),
            (
                vec![(0, most), (most, most + 1)],
                0,
                vec![((0, most), vec![0]), ((most, most + 1), vec![1])],
            ),
            (
                vec![(0, most + 9), (5, 6)],
                0,
                vec![((0, most + 9), vec![0, 1])],
            ),
        ] {
            let ranges: Vec<Range<u64>> = ranges.iter().map(|(from, to)| *from..*to).collect();
            let found = merged(&ranges, gap).into_iter();
            let found = found.map(|(range, members)| ((range.start, range.end), members));
            assert_eq!(found.collect::<Vec<_>>(), reads, "{ranges:?}");
        }
    }

    #[test]
    fn each_range_gets_its_bytes_and_none_outside_is_read() {
        let bytes: Bytes = (0..100).collect::<Vec<u8>>().into();
        let found = read_merged(&bytes, &[90..100, 0..3, 50..50, 2..5]).unwrap();
        assert_eq!(found, [&bytes[90..], &bytes[..3], &[], &bytes[2..5]]);
        for range in [99..101, u64::MAX - 1..u64::MAX, 101..101] {
            let error = read_merged(&bytes, &[0..1, range]).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        }
    }
}
