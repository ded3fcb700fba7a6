//! [`Waiting`]: messages whose partner in the other recording has not been read yet.
//!
//! Payloads beyond a number of bytes are kept in a temporary file, so memory does not depend on how far the partners
//! lie apart.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

/// How many bytes of payloads are kept in memory.
const MAX_BYTES: usize = 64 << 20;
/// How many messages may wait. Each takes about a hundred bytes.
const MAX_MESSAGES: usize = 1 << 20;

/// A message, without its payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    /// Its number in its topic, from 0.
    pub(super) index: u64,
    /// In nanoseconds.
    pub(super) log_time: i64,
    /// Its `header.stamp` in nanoseconds, if it is paired by stamp and could be read.
    pub(super) stamp: Option<i128>,
}

/// Which messages can be partners: those with equal keys, in their order.
type Key = Option<i128>;

#[derive(Debug)]
struct Held {
    place: Place,
    payload: Payload,
}

#[derive(Debug)]
enum Payload {
    Memory(Vec<u8>),
    /// Offset and length.
    Spilled(u64, usize),
}

/// The messages of one topic of one recording that wait.
#[derive(Debug, Default)]
pub(super) struct Queue(BTreeMap<Key, VecDeque<Held>>);

/// Keeps payloads, and counts them.
#[derive(Debug)]
pub(super) struct Waiting {
    max_bytes: usize,
    max_messages: usize,
    bytes: usize,
    messages: usize,
    spilled: usize,
    file: Option<File>,
    /// Where the next payload is written.
    end: u64,
}

impl Default for Waiting {
    fn default() -> Self {
        Self::within(MAX_BYTES, MAX_MESSAGES)
    }
}

impl Queue {
    /// Whether no message waits for one with this key.
    pub(super) fn has_none(&self, key: Key) -> bool {
        !self.0.contains_key(&key)
    }
}

impl Waiting {
    fn within(max_bytes: usize, max_messages: usize) -> Self {
        Self {
            max_bytes,
            max_messages,
            bytes: 0,
            messages: 0,
            spilled: 0,
            file: None,
            end: 0,
        }
    }

    /// Lets a message wait. If too many are waiting, the one of this queue with the earliest stamp is given up and
    /// returned.
    pub(super) fn add(
        &mut self,
        queue: &mut Queue,
        place: Place,
        payload: &[u8],
    ) -> io::Result<Option<Place>> {
        let payload = if self.bytes.saturating_add(payload.len()) <= self.max_bytes {
            self.bytes += payload.len();
            Payload::Memory(payload.to_vec())
        } else {
            self.spill(payload)?
        };
        self.messages += 1;
        let held = Held { place, payload };
        queue.0.entry(place.stamp).or_default().push_back(held);
        if self.messages <= self.max_messages {
            return Ok(None);
        }
        let first = queue.0.keys().next().copied();
        let given_up = first.and_then(|key| self.remove(queue, key));
        Ok(given_up.map(|held| {
            self.forget(&held.payload);
            held.place
        }))
    }

    /// Takes out the message that waits for one with this key, with its payload.
    pub(super) fn take(
        &mut self,
        queue: &mut Queue,
        key: Key,
    ) -> io::Result<Option<(Place, Vec<u8>)>> {
        let Some(held) = self.remove(queue, key) else {
            return Ok(None);
        };
        self.forget(&held.payload);
        let payload = match held.payload {
            Payload::Memory(bytes) => bytes,
            Payload::Spilled(at, length) => {
                let mut bytes = vec![0; length];
                if let Some(file) = &self.file {
                    file.read_exact_at(&mut bytes, at)?;
                }
                bytes
            }
        };
        Ok(Some((held.place, payload)))
    }

    /// All messages of a queue, in their order.
    pub(super) fn drain(&mut self, queue: &mut Queue) -> Vec<Place> {
        let mut places = Vec::new();
        for held in std::mem::take(&mut queue.0).into_values().flatten() {
            self.messages -= 1;
            self.forget(&held.payload);
            places.push(held.place);
        }
        places.sort_unstable_by_key(|place| place.index);
        places
    }

    fn remove(&mut self, queue: &mut Queue, key: Key) -> Option<Held> {
        let of_key = queue.0.get_mut(&key)?;
        let held = of_key.pop_front();
        if of_key.is_empty() {
            queue.0.remove(&key);
        }
        self.messages -= usize::from(held.is_some());
        held
    }

    fn forget(&mut self, payload: &Payload) {
        match payload {
            Payload::Memory(bytes) => self.bytes -= bytes.len(),
            Payload::Spilled(..) => {
                self.spilled -= 1;
                // The content of the file is not needed any more: it is written from its start again.
                if self.spilled == 0 {
                    self.end = 0;
                }
            }
        }
    }

    fn spill(&mut self, payload: &[u8]) -> io::Result<Payload> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        };
        let at = self.end;
        file.write_all_at(payload, at)?;
        self.end += payload.len() as u64;
        self.spilled += 1;
        Ok(Payload::Spilled(at, payload.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(index: u64, stamp: Option<i128>) -> Place {
        Place {
            index,
            log_time: 0,
            stamp,
        }
    }

    fn take(waiting: &mut Waiting, queue: &mut Queue, key: Key) -> Option<(u64, Vec<u8>)> {
        let taken = waiting.take(queue, key).unwrap();
        taken.map(|(place, payload)| (place.index, payload))
    }

    #[test]
    fn messages_of_one_key_leave_in_their_order_from_memory_and_from_the_file() {
        for max_bytes in [0, 5, 1000] {
            let mut waiting = Waiting::within(max_bytes, 100);
            let mut queue = Queue::default();
            for round in 0..3_u8 {
                for (index, key) in [(0, Some(7)), (1, None), (2, Some(7)), (3, Some(-1))] {
                    let payload = vec![round; 2 + usize::try_from(index).unwrap()];
                    let place = place(index, key);
                    assert_eq!(waiting.add(&mut queue, place, &payload).unwrap(), None);
                }
                assert_eq!(
                    take(&mut waiting, &mut queue, Some(7)),
                    Some((0, vec![round; 2]))
                );
                assert_eq!(
                    take(&mut waiting, &mut queue, Some(7)),
                    Some((2, vec![round; 4]))
                );
                assert_eq!(take(&mut waiting, &mut queue, Some(7)), None);
                assert_eq!(
                    take(&mut waiting, &mut queue, None),
                    Some((1, vec![round; 3]))
                );
                assert_eq!(
                    take(&mut waiting, &mut queue, Some(-1)),
                    Some((3, vec![round; 5]))
                );
                assert_eq!((waiting.bytes, waiting.messages, waiting.end), (0, 0, 0));
            }
            assert_eq!(waiting.file.is_some(), max_bytes < 10);
        }
    }

    #[test]
    fn beyond_the_limit_the_earliest_stamp_is_given_up() {
        let mut waiting = Waiting::within(4, 3);
        let (mut queue, mut other) = (Queue::default(), Queue::default());
        for (index, stamp) in [(0, 30), (1, 10)] {
            let place = place(index, Some(stamp));
            assert_eq!(waiting.add(&mut queue, place, b"abc").unwrap(), None);
        }
        assert_eq!(
            waiting.add(&mut other, place(0, Some(1)), b"abc").unwrap(),
            None
        );
        let given_up = waiting.add(&mut queue, place(2, Some(20)), b"abc").unwrap();
        assert_eq!(given_up, Some(place(1, Some(10))));
        let left = waiting.drain(&mut queue);
        assert_eq!(left, [place(0, Some(30)), place(2, Some(20))]);
        assert_eq!((waiting.messages, waiting.bytes + waiting.spilled), (1, 1));
    }
}
