//! [`Digest`]: one number for all outputs of a run. Equal runs have equal digests, in whatever order messages of different
//! topics or publishers arrived while playback stood at one position.
//!
//! The digest is XXH3-128 (seed 0) over one entry for each message, all numbers in little-endian byte order:
//!
//! | bytes | what |
//! |---|---|
//! | 8 | the position at which it arrived: nanoseconds, signed |
//! | 4, then as many | the length of the topic's name, and the name (UTF-8) |
//! | 4, then as many | the length of the publisher's node name, and the name |
//! | 4 | the rank of the publisher among those of its node and topic, from 0 |
//! | 8 | the length of the payload |
//! | 16 | XXH3-128 (seed 0) of the payload |
//!
//! Entries of one position are sorted by topic, node, rank, sequence number and, where those are equal or unknown, by arrival.
//! Groups of different positions follow each other as they came. Sequence numbers only order, because a publisher may have
//! published before the run; times of any wall clock are not part of it.

use std::fmt;
use std::sync::Arc;

use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use crate::ros::{PublishedTopic, Publisher};
use crate::time::{Ros, Time};

/// How many messages are sorted at a time. If more arrive at one position, the first so many are sorted on their own.
const MOST_AT_ONE_POSITION: usize = 1 << 18;

/// The digest of a run. Shown as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RunDigest(pub u128);

impl fmt::Display for RunDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// What counts of a payload: its length and its hash. Computed before anything is locked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PayloadHash {
    length: u64,
    hash: u128,
}

impl PayloadHash {
    /// Of these bytes.
    pub fn of(payload: &[u8]) -> Self {
        Self {
            length: payload.len() as u64,
            hash: xxh3_128(payload),
        }
    }
}

/// Computes the digest of a run while its outputs arrive.
pub struct Digest {
    hash: Xxh3,
    position: Time<Ros>,
    /// The messages of this position.
    group: Vec<Entry>,
    messages: u64,
}

#[derive(Debug)]
struct Entry {
    topic: Arc<PublishedTopic>,
    publisher: Publisher,
    sequence: Option<i64>,
    payload: PayloadHash,
}

impl Digest {
    /// Of no message.
    pub fn new() -> Self {
        Self {
            hash: Xxh3::new(),
            position: Time::ZERO,
            group: Vec::new(),
            messages: 0,
        }
    }

    /// Adds a message that arrived at a position. Positions rise, except after a jump.
    pub fn add(
        &mut self,
        position: Time<Ros>,
        topic: &Arc<PublishedTopic>,
        publisher: &Publisher,
        sequence: Option<i64>,
        payload: PayloadHash,
    ) {
        if position != self.position || self.group.len() >= MOST_AT_ONE_POSITION {
            self.close_group();
        }
        self.position = position;
        self.messages += 1;
        self.group.push(Entry {
            topic: Arc::clone(topic),
            publisher: publisher.clone(),
            sequence,
            payload,
        });
    }

    /// How many messages were added.
    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// The digest of all messages so far.
    pub fn finish(&mut self) -> RunDigest {
        self.close_group();
        RunDigest(self.hash.digest128())
    }

    fn close_group(&mut self) {
        let position = self.position.as_nanos().to_le_bytes();
        // Stable: what is equal stays in the order of arrival.
        self.group.sort_by(|a, b| a.order().cmp(&b.order()));
        for entry in self.group.drain(..) {
            self.hash.update(&position);
            for name in [entry.topic.name.as_str(), &entry.publisher.node] {
                let length = u32::try_from(name.len()).unwrap_or(u32::MAX);
                self.hash.update(&length.to_le_bytes());
                self.hash.update(name.as_bytes());
            }
            self.hash.update(&entry.publisher.rank.to_le_bytes());
            self.hash.update(&entry.payload.length.to_le_bytes());
            self.hash.update(&entry.payload.hash.to_le_bytes());
        }
    }
}

impl Default for Digest {
    fn default() -> Self {
        Self::new()
    }
}

impl Entry {
    fn order(&self) -> (&str, &Publisher, Option<i64>) {
        (&self.topic.name, &self.publisher, self.sequence)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Digest")
            .field("messages", &self.messages)
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ros::Qos;

    /// A message: position, topic, node, rank, payload. Sequence numbers are given in the order of the list.
    type Message = (i64, u8, u8, u32, Vec<u8>);

    fn messages() -> impl Strategy<Value = Vec<Message>> {
        let message = (
            0..4_i64,
            0..3_u8,
            0..2_u8,
            0..2_u32,
            proptest::collection::vec(0..4_u8, 0..4),
        );
        proptest::collection::vec(message, 0..30).prop_map(|mut all| {
            all.sort_by_key(|(position, ..)| *position);
            all
        })
    }

    /// With sequence numbers for each publisher, the first of which is `first`.
    fn numbered(messages: &[Message], first: i64) -> Vec<(Message, Option<i64>)> {
        let mut numbers = std::collections::HashMap::new();
        let number = |message: &Message| {
            let of = numbers
                .entry((message.1, message.2, message.3))
                .or_insert(first);
            *of += 1;
            (message.clone(), Some(*of - 1))
        };
        messages.iter().map(number).collect()
    }

    fn digest(messages: &[(Message, Option<i64>)]) -> RunDigest {
        let mut digest = Digest::new();
        for ((position, topic, node, rank, payload), sequence) in messages {
            let topic = Arc::new(PublishedTopic {
                number: 0,
                name: format!("/t{topic}"),
                type_name: String::new(),
                type_hash: None,
                qos: Qos::default(),
            });
            let publisher = Publisher {
                node: format!("/n{node}").into(),
                rank: *rank,
            };
            let payload = PayloadHash::of(payload);
            digest.add(
                Time::from_nanos(*position),
                &topic,
                &publisher,
                *sequence,
                payload,
            );
        }
        digest.finish()
    }

    proptest! {
        #[test]
        fn the_order_of_arrival_within_a_position_does_not_count(
            messages in messages(), keys in proptest::collection::vec(any::<u32>(), 30)
        ) {
            let numbered = numbered(&messages, 1);
            let mut shuffled: Vec<_> = numbered.iter().cloned().zip(keys).collect();
            shuffled.sort_by_key(|((message, _), key)| (message.0, *key));
            let shuffled: Vec<_> = shuffled.into_iter().map(|(message, _)| message).collect();
            prop_assert_eq!(digest(&shuffled), digest(&numbered));
        }

        #[test]
        fn what_was_published_before_the_run_does_not_count(messages in messages(), first in 0..1000_i64) {
            prop_assert_eq!(digest(&numbered(&messages, 1)), digest(&numbered(&messages, first)));
        }

        #[test]
        fn everything_else_counts(messages in messages(), other in messages()) {
            let runs = [&messages, &other].map(|messages| {
                let mut canonical = messages.clone();
                // The order among the messages of one publisher counts: a stable sort keeps it.
                canonical.sort_by_key(|(position, topic, node, rank, _)| (*position, *topic, *node, *rank));
                (canonical, digest(&numbered(messages, 1)))
            });
            prop_assert_eq!(runs[0].0 == runs[1].0, runs[0].1 == runs[1].1);
        }

        #[test]
        fn each_change_of_one_message_counts(messages in messages(), place in any::<prop::sample::Index>(), what in 0..7) {
            prop_assume!(!messages.is_empty());
            let before = numbered(&messages, 1);
            let mut after = before.clone();
            let place = place.index(after.len());
            let (message, _) = &mut after[place];
            match what {
                // In half steps: no other message is there.
                0 => { for ((position, ..), _) in &mut after { *position *= 2; } after[place].0.0 += 1; }
                1 => message.1 += 10,
                2 => message.2 += 10,
                3 => message.3 += 10,
                4 => message.4.push(0),
                5 => message.4.insert(0, 9),
                _ => { after.remove(place); }
            }
            let mut before = before;
            if what == 0 { for ((position, ..), _) in &mut before { *position *= 2; } }
            prop_assert_ne!(digest(&before), digest(&after));
        }
    }

    #[test]
    fn the_bytes_are_those_of_the_table() {
        let message = (5, 1, 2, 3, vec![7, 8]);
        let mut bytes = Vec::new();
        bytes.extend(5_i64.to_le_bytes());
        bytes.extend([3, 0, 0, 0]);
        bytes.extend(b"/t1");
        bytes.extend([3, 0, 0, 0]);
        bytes.extend(b"/n2");
        bytes.extend(3_u32.to_le_bytes());
        bytes.extend(2_u64.to_le_bytes());
        bytes.extend(xxh3_128(&[7, 8]).to_le_bytes());
        let expected = RunDigest(xxh3_128(&bytes));
        assert_eq!(digest(&[(message, Some(77))]), expected);
        assert_eq!(digest(&[]).to_string(), "99aa06d3014798d86001c324468d497f");
    }

    #[test]
    fn messages_without_numbers_count_in_the_order_of_arrival() {
        let of = |payload| ((0, 0, 0, 0, vec![payload]), None);
        assert_ne!(digest(&[of(1), of(2)]), digest(&[of(2), of(1)]));
    }
}
