//! Mutations that keep most of a recording valid: whole records moved, fields set to extreme values.

use libfuzzer_sys::fuzzer_mutate;

/// Opcode and length before each record's body.
const FRAME: usize = 9;
const MAGIC: usize = 8;
const EDGES: [u64; 12] = [
    0,
    1,
    7,
    9,
    22,
    1 << 20,
    1 << 31,
    (1 << 32) - 1,
    1 << 40,
    1 << 63,
    u64::MAX - 8,
    u64::MAX,
];

/// Numbers that look random and are the same for the same seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end.max(1) as u64) as usize
    }
}

/// Changes the first `size` bytes of an input and returns how many it has then, at most `most`.
pub(crate) fn mutate(data: &mut [u8], size: usize, most: usize, seed: u32) -> usize {
    let mut numbers = Numbers(u64::from(seed) * 2 + 1);
    for _ in 0..8 {
        numbers.below(1);
    }
    let records = match data.get(1..size) {
        Some(file) if numbers.below(2) == 0 => records(file),
        _ => Vec::new(),
    };
    if records.is_empty() {
        return fuzzer_mutate(data, size, most);
    }
    let (at, length) = records[numbers.below(records.len())];
    let (to, _) = records[numbers.below(records.len())];
    // The first byte of an input is not of the file.
    let (at, to) = (1 + at, 1 + to);
    let mut changed = data[..size].to_vec();
    match numbers.below(6) {
        0 => drop(changed.drain(at..at + length)),
        1 => {
            let record = changed[at..at + length].to_vec();
            changed.splice(to..to, record);
        }
        2 => {
            let record: Vec<u8> = changed.drain(at..at + length).collect();
            let to = if to > at {
                at.max(to.saturating_sub(length))
            } else {
                to
            };
            changed.splice(to..to, record);
        }
        3 => changed.truncate(at + numbers.below(length)),
        4 => {
            let width = [2, 4, 8][numbers.below(3)];
            let field = at + numbers.below(length.min(96));
            let edge = match numbers.below(EDGES.len() + 3) {
                n if n < EDGES.len() => EDGES[n],
                // An offset or a length that something does have.
                n if n == EDGES.len() => to as u64 - 1,
                n if n == EDGES.len() + 1 => length as u64,
                _ => numbers.below(size) as u64,
            };
            let end = (field + width).min(changed.len());
            changed[field..end].copy_from_slice(&edge.to_le_bytes()[..end - field]);
        }
        // The first bytes of a body: ids and stamps that another record has.
        _ => {
            let (from, into) = (to + FRAME, at + FRAME);
            let width = 40.min(size - from).min(size - into);
            changed.copy_within(from..from + width, into);
        }
    }
    if changed.len() > most {
        return fuzzer_mutate(data, size, most);
    }
    data[..changed.len()].copy_from_slice(&changed);
    changed.len()
}

/// Where the records of a file are and how long they are, as far as they follow each other.
fn records(file: &[u8]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut at = MAGIC;
    while let Some(frame) = file.get(at..).and_then(|rest| rest.first_chunk::<FRAME>()) {
        let body = u64::from_le_bytes(frame[1..].try_into().expect("eight of nine bytes"));
        let length = usize::try_from(body)
            .ok()
            .and_then(|it| it.checked_add(FRAME));
        let Some(length) = length.filter(|length| *length <= file.len() - at) else {
            break;
        };
        found.push((at, length));
        if frame[0] == 0x06 {
            // Into a chunk, as if it were not compressed, to change what it holds too.
            let inside = at + FRAME + 8 + 8 + 8 + 4 + 4;
            let name = file
                .get(inside - 4..inside)
                .map_or(0, |name| name[0].into());
            found.extend(loose(file, inside + name + 8, at + length));
        }
        at += length;
    }
    found
}

fn loose(file: &[u8], mut at: usize, end: usize) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    while let Some(frame) = file
        .get(at..end)
        .and_then(|rest| rest.first_chunk::<FRAME>())
    {
        let body = u64::from_le_bytes(frame[1..].try_into().expect("eight of nine bytes"));
        let length = usize::try_from(body)
            .ok()
            .and_then(|it| it.checked_add(FRAME));
        let Some(length) = length.filter(|length| *length <= end - at) else {
            break;
        };
        found.push((at, length));
        at += length;
    }
    found
}
