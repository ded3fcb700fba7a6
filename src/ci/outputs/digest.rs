//! [`Digest`]: one number for all outputs of a run. Equal runs have equal digests, in whatever order messages of
//! different topics or publishers arrived while playback stood at one position.
//!
//! The digest is XXH3-128 (seed 0) over one entry for each position, topic and node that has messages there. All
//! numbers are in little-endian byte order; a text is its length in 4 bytes and its bytes in UTF-8:
//!
//! | bytes | what |
//! |---|---|
//! | 8 | the position at which they arrived: nanoseconds, signed |
//! | text | the topic's name |
//! | text | the type, `package/msg/Name` |
//! | text | the type hash; empty if it is unknown |
//! | text | the full name of the publisher's node |
//! | 4 | the number of publishers |
//! | 8 | for each publisher: the number of its messages, and for each of those |
//! | 8, 16 | the length of the payload, and XXH3-128 (seed 0) of the payload |
//!
//! Entries of one position are sorted by topic, type, type hash and node. Messages of one publisher are sorted by
//! sequence number and, where it is equal or unknown, by arrival. Several publishers of one node name and topic, which
//! may be in several processes, are sorted by the lengths and hashes of their messages at this position: no identity of
//! theirs is the same in each run. Groups of different positions follow each other as they came. Sequence numbers only
//! order, because a publisher may have published before the run; times of any wall clock are not part of it.

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
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
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
        let mut group = std::mem::take(&mut self.group);
        // Stable: what is equal stays in the order of arrival.
        group.sort_by(|a, b| a.order().cmp(&b.order()));
        for of_node in group.chunk_by(|a, b| a.names() == b.names()) {
            let publishers = of_node.chunk_by(|a, b| a.publisher.gid == b.publisher.gid);
            let payloads = |one: &[Entry]| one.iter().map(|it| it.payload).collect();
            let mut publishers: Vec<Vec<PayloadHash>> = publishers.map(payloads).collect();
            publishers.sort_unstable();
            self.close_node(of_node[0].names(), &publishers);
        }
        group.clear();
        self.group = group;
    }

    fn close_node(&mut self, names: [&str; 4], publishers: &[Vec<PayloadHash>]) {
        let hash = &mut self.hash;
        hash.update(&self.position.as_nanos().to_le_bytes());
        for name in names {
            let length = u32::try_from(name.len()).unwrap_or(u32::MAX);
            hash.update(&length.to_le_bytes());
            hash.update(name.as_bytes());
        }
        let number = u32::try_from(publishers.len()).unwrap_or(u32::MAX);
        hash.update(&number.to_le_bytes());
        for messages in publishers {
            hash.update(&(messages.len() as u64).to_le_bytes());
            for payload in messages {
                hash.update(&payload.length.to_le_bytes());
                hash.update(&payload.hash.to_le_bytes());
            }
        }
    }
}

impl Default for Digest {
    fn default() -> Self {
        Self::new()
    }
}

impl Entry {
    /// Topic, type, type hash, node.
    fn names(&self) -> [&str; 4] {
        let PublishedTopic {
            name,
            type_name,
            type_hash,
            ..
        } = &*self.topic;
        let type_hash = type_hash.as_deref().unwrap_or_default();
        [name, type_name, type_hash, &self.publisher.node]
    }

    fn order(&self) -> ([&str; 4], [u8; 16], Option<i64>) {
        (self.names(), self.publisher.gid, self.sequence)
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

    /// A message: position, topic, node, number of the publisher in its node, payload. Sequence numbers are given in
    /// the order of the list.
    type Message = (i64, u8, u8, u8, Vec<u8>);

    fn messages() -> impl Strategy<Value = Vec<Message>> {
        let message = (
            0..4_i64,
            0..3_u8,
            0..2_u8,
            0..3_u8,
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

    fn topic(number: u8) -> PublishedTopic {
        PublishedTopic {
            number: 0,
            name: format!("/t{number}"),
            type_name: "a/msg/B".to_owned(),
            type_hash: None,
            qos: Qos::default(),
        }
    }

    fn digest_of(
        messages: &[(Message, Option<i64>)],
        topic: impl Fn(u8) -> PublishedTopic,
        gid: impl Fn(&Message) -> [u8; 16],
    ) -> RunDigest {
        let mut digest = Digest::new();
        for (message, sequence) in messages {
            let (position, number, node, _, payload) = message;
            let publisher = Publisher {
                node: format!("/n{node}").into(),
                gid: gid(message),
                was_there: false,
            };
            digest.add(
                Time::from_nanos(*position),
                &Arc::new(topic(*number)),
                &publisher,
                *sequence,
                PayloadHash::of(payload),
            );
        }
        digest.finish()
    }

    /// The identity of a publisher; `salt` stands for the run.
    fn gid(message: &Message, salt: u8) -> [u8; 16] {
        let (_, topic, node, publisher, _) = message;
        xxh3_128(&[*topic, *node, *publisher, salt]).to_le_bytes()
    }

    fn digest(messages: &[(Message, Option<i64>)]) -> RunDigest {
        digest_of(messages, topic, |message| gid(message, 0))
    }

    /// What counts, as the head of this file says it: by position, topic and node the lists of its publishers.
    fn canonical(messages: &[Message]) -> impl PartialEq + std::fmt::Debug {
        use std::collections::BTreeMap;
        let mut all: BTreeMap<_, BTreeMap<u8, Vec<Vec<u8>>>> = BTreeMap::new();
        for (position, topic, node, publisher, payload) in messages {
            let of_node = all.entry((*position, *topic, *node)).or_default();
            of_node.entry(*publisher).or_default().push(payload.clone());
        }
        let sorted = all.into_iter().map(|(place, publishers)| {
            let mut lists: Vec<_> = publishers.into_values().collect();
            lists.sort_unstable();
            (place, lists)
        });
        sorted.collect::<Vec<_>>()
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
        fn which_identities_publishers_have_does_not_count(messages in messages(), salt in 1..100_u8) {
            let numbered = numbered(&messages, 1);
            prop_assert_eq!(digest_of(&numbered, topic, |message| gid(message, salt)), digest(&numbered));
        }

        #[test]
        fn what_was_published_before_the_run_does_not_count(messages in messages(), first in 0..1000_i64) {
            prop_assert_eq!(digest(&numbered(&messages, 1)), digest(&numbered(&messages, first)));
        }

        #[test]
        fn everything_else_counts(messages in messages(), other in messages()) {
            let runs = [&messages, &other];
            let [one, two] = runs.map(|messages| (canonical(messages), digest(&numbered(messages, 1))));
            prop_assert_eq!(one.0 == two.0, one.1 == two.1);
        }

        #[test]
        fn each_change_of_one_message_counts(messages in messages(), place in any::<prop::sample::Index>(), what in 0..6) {
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
                3 => message.4.push(0),
                4 => message.4.insert(0, 9),
                _ => { after.remove(place); }
            }
            let mut before = before;
            if what == 0 { for ((position, ..), _) in &mut before { *position *= 2; } }
            prop_assert_ne!(digest(&before), digest(&after));
        }
    }

    #[test]
    fn the_bytes_are_those_of_the_table() {
        let message = |publisher, payload| (5, 1, 2, publisher, payload);
        let messages = [
            (message(3, vec![7, 8]), Some(77)),
            (message(4, vec![9]), Some(5)),
            (message(3, vec![]), Some(78)),
        ];
        let hashed = |topic: fn(u8) -> PublishedTopic, type_hash: &[u8]| {
            let mut bytes = Vec::new();
            bytes.extend(5_i64.to_le_bytes());
            for text in [b"/t1".as_slice(), b"a/msg/B", type_hash, b"/n2"] {
                bytes.extend(u32::try_from(text.len()).unwrap().to_le_bytes());
                bytes.extend(text);
            }
            bytes.extend(2_u32.to_le_bytes());
            // The shorter payload comes first.
            for payloads in [[&[9_u8][..]].as_slice(), &[&[7, 8], &[]]] {
                bytes.extend((payloads.len() as u64).to_le_bytes());
                for payload in payloads {
                    bytes.extend((payload.len() as u64).to_le_bytes());
                    bytes.extend(xxh3_128(payload).to_le_bytes());
                }
            }
            let expected = RunDigest(xxh3_128(&bytes));
            assert_eq!(
                digest_of(&messages, topic, |message| gid(message, 0)),
                expected
            );
        };
        hashed(topic, b"");
        hashed(
            |number| PublishedTopic {
                type_hash: Some("RIHS01_x".to_owned()),
                ..topic(number)
            },
            b"RIHS01_x",
        );
        assert_eq!(digest(&[]).to_string(), "99aa06d3014798d86001c324468d497f");
    }

    #[test]
    fn another_type_is_another_run() {
        let messages = [((0, 0, 0, 0, vec![1]), Some(1))];
        let of = |type_name: &str, type_hash: Option<&str>| {
            let topic = |number| PublishedTopic {
                type_name: type_name.to_owned(),
                type_hash: type_hash.map(str::to_owned),
                ..topic(number)
            };
            digest_of(&messages, topic, |message| gid(message, 0))
        };
        let all = [
            of("a/msg/A", None),
            of("a/msg/B", None),
            of("a/msg/B", Some("RIHS01_1")),
            of("a/msg/B", Some("RIHS01_2")),
        ];
        for (n, one) in all.iter().enumerate() {
            assert!(all[..n].iter().all(|other| other != one), "{n}");
        }
    }

    #[test]
    fn messages_without_numbers_count_in_the_order_of_arrival() {
        let of = |payload| ((0, 0, 0, 0, vec![payload]), None);
        assert_ne!(digest(&[of(1), of(2)]), digest(&[of(2), of(1)]));
    }
}
