//! Arbitrary bytes as a recording: opened, walked in both directions, with every query of a bag.
//!
//! The first byte of an input selects how the others are treated, so that one input is tested in several ways: see
//! [`Treatment`].

#![no_main]

mod linear;
mod mutation;

use std::collections::BTreeMap;

use bagplay::bag::{
    Bag, DamageKind, Direction, Key, MessageOrder, Opening, Selection, StartAt, TopicId,
};
use bagplay::time::{Ros, Time, TimeRange};
use bytes::Bytes;
use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use linear::Content;

/// More messages than this are not walked.
const MOST_MESSAGES: usize = 20_000;
/// What a small chunk may decompress to: what the reader believes at most of files this small.
const LARGEST_CHUNK: u64 = 128 << 20;
const MAGIC: &[u8] = b"\x89MCAP0\r\n";

/// What the first byte says.
struct Treatment {
    order: MessageOrder,
    /// The bytes are the records of a chunk that is not compressed, in a file without an index.
    is_chunk: bool,
    /// The end is left out, so that the file has to be read through.
    is_unfinished: bool,
    /// What a walk may hold.
    held: u64,
}

impl Treatment {
    fn of(byte: u8) -> Self {
        Self {
            order: if byte & 1 == 0 {
                MessageOrder::Received
            } else {
                MessageOrder::Sent
            },
            is_chunk: byte & 2 != 0,
            is_unfinished: byte & 4 != 0,
            held: [64 << 20, 4000, 300, 0][usize::from(byte >> 3) % 4],
        }
    }

    fn file(&self, bytes: &[u8]) -> Bytes {
        let mut file = if self.is_chunk {
            chunk(bytes)
        } else {
            bytes.to_vec()
        };
        if self.is_unfinished {
            file.truncate(file.len().saturating_sub(37));
        }
        file.into()
    }
}

/// A file that has the bytes behind a possible magic as the records of its only chunk.
fn chunk(bytes: &[u8]) -> Vec<u8> {
    let bytes = bytes.strip_prefix(MAGIC).unwrap_or(bytes);
    let size = bytes.len() as u64;
    let mut file = [MAGIC, &[6], &(40 + size).to_le_bytes()].concat();
    // Times that are wrong for almost anything, no checksum, no compression.
    for field in [10, 20, size] {
        file.extend(u64::to_le_bytes(field));
    }
    file.extend([0; 8]);
    file.extend(size.to_le_bytes());
    file.extend(bytes);
    // No summary, no index.
    file.extend([&[2], &20_u64.to_le_bytes()[..], &[0; 20], MAGIC].concat());
    file
}

/// What one walk yields.
struct Walk {
    keys: Vec<Key>,
    damage: BTreeMap<DamageKind, usize>,
}

impl Walk {
    fn is_whole(&self) -> bool {
        self.keys.len() < MOST_MESSAGES
    }
}

fn walk(bag: &Bag, direction: Direction, range: TimeRange, held: u64) -> Walk {
    let from = match direction {
        Direction::Forward => StartAt::At(Time::MIN),
        Direction::Reverse => StartAt::At(Time::MAX),
    };
    let mut walk = Walk {
        keys: Vec::new(),
        damage: BTreeMap::new(),
    };
    let cursor = bag.cursor_within(&Selection::all(bag), from, direction, range);
    let mut cursor = cursor.holding(held);
    while walk.is_whole() {
        match cursor.next() {
            Some(Ok(message)) => {
                assert!(message.topic.index() < bag.topics().len());
                assert!(range.contains(message.key.time));
                walk.keys.push(message.key);
            }
            Some(Err(damage)) => *walk.damage.entry(damage.kind).or_default() += 1,
            None => break,
        }
    }
    // The first chunk is held whole whatever its size, another one is in the making; beside each is
    // the list of its messages.
    let peak = cursor.usage().peak_bytes;
    assert!(peak <= held + 3 * LARGEST_CHUNK, "{peak} bytes alive");
    walk
}

/// Both ways see the same messages, in the opposite order, and the same damage.
fn agree(forward: &Walk, reverse: &Walk, is_ordered: bool) {
    if !forward.is_whole() || !reverse.is_whole() {
        return;
    }
    assert_eq!(forward.keys.len(), reverse.keys.len());
    assert_eq!(forward.damage, reverse.damage);
    let (mut there, mut back) = (forward.keys.clone(), reverse.keys.clone());
    back.reverse();
    if !is_ordered {
        there.sort_unstable();
        back.sort_unstable();
    }
    assert!(
        there.windows(2).all(|pair| pair[0] < pair[1]),
        "not in order, or twice"
    );
    assert_eq!(there, back);
}

fn read(data: &[u8]) {
    let Some((first, bytes)) = data.split_first() else {
        return;
    };
    let treatment = Treatment::of(*first);
    let opening = Opening {
        order: treatment.order,
        ..Opening::default()
    };
    let file = treatment.file(bytes);
    let Ok(bag) = Bag::from_bytes_with("x.mcap", file.clone(), &opening) else {
        return;
    };
    let forward = walk(&bag, Direction::Forward, TimeRange::ALL, treatment.held);
    let reverse = walk(&bag, Direction::Reverse, TimeRange::ALL, treatment.held);
    let is_ordered = !forward.damage.contains_key(&DamageKind::Times);
    agree(&forward, &reverse, is_ordered);
    if forward.is_whole() && forward.damage.is_empty() && bag.damage().is_empty() {
        match linear::content(&file) {
            Content::Sound(count) => {
                assert_eq!(forward.keys.len(), count, "some are lost without a word");
            }
            Content::Broken => panic!("a broken record is passed over without a word"),
            Content::Unknown => {}
        }
    }
    if forward.is_whole() {
        alone(&bag, &forward);
    }
    let third = |n: usize| {
        forward
            .keys
            .get(forward.keys.len() * n / 3)
            .map_or(Time::ZERO, |key: &Key| key.time)
    };
    let (low, high) = (third(1), third(2));
    if is_ordered && forward.is_whole() && low <= high {
        part(
            &bag,
            &forward,
            TimeRange::between(low, high),
            treatment.held,
        );
    }
    for at in [Time::MIN, low, high, Time::MAX] {
        latched(&bag, at);
    }
    let outline = bag.outline(50);
    assert_eq!(outline.topics.len(), bag.topics().len());
    for topic in outline.topics {
        assert!(
            topic
                .density
                .iter()
                .all(|count| count.is_finite() && *count >= 0.0)
        );
    }
    let _ = bag.check();
    let _ = bag.damaged_parts();
    for damage in bag.damage() {
        assert!(damage.to_string().starts_with("x.mcap: "), "{damage}");
    }
}

/// What is found where every chunk is opened is found where indexes say which chunks to open.
fn alone(bag: &Bag, whole: &Walk) {
    let mut found = 0;
    for id in (0..).map(TopicId).take(bag.topics().len().min(64)) {
        let topics = Selection::of([id], bag);
        let walk = bag.cursor(&topics, StartAt::At(Time::MIN), Direction::Forward);
        found += walk.filter(Result::is_ok).count();
    }
    if bag.topics().len() <= 64 {
        assert_eq!(
            found,
            whole.keys.len(),
            "one topic alone has other messages"
        );
    }
}

/// A range is a part of the whole walk.
fn part(bag: &Bag, whole: &Walk, range: TimeRange, held: u64) {
    let forward = walk(bag, Direction::Forward, range, held);
    let reverse = walk(bag, Direction::Reverse, range, held);
    let inside = whole.keys.iter().filter(|key| range.contains(key.time));
    assert!(forward.keys.iter().eq(inside));
    assert!(forward.keys.iter().eq(reverse.keys.iter().rev()));
}

fn latched(bag: &Bag, at: Time<Ros>) {
    let (messages, _) = bag.latched(&Selection::all(bag), at);
    assert!(messages.windows(2).all(|pair| pair[0].key < pair[1].key));
    for message in messages {
        assert!(message.key.time <= at);
        assert!(bag.topics()[message.topic.index()].is_latched);
    }
}

fuzz_target!(|data: &[u8]| read(data));

fuzz_mutator!(|data: &mut [u8], size: usize, most: usize, seed: u32| {
    mutation::mutate(data, size, most, seed)
});
