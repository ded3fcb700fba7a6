//! Recordings that are not files: read through [`ReadAt`], with the number of requests counted.

use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use bagplay::bag::{Bag, BagError, Cost, Direction, Message, Opening, ReadAt, StartAt};
use bagplay::time::Time;
use bagplay::untrusted::FileName;
use bytes::Bytes;

use crate::support::mcaps::{Files, Note, Spec, TopicSpec, all};

/// An object in a store elsewhere.
#[derive(Debug)]
struct Object {
    bytes: Bytes,
    requests: Mutex<Vec<Range<u64>>>,
    is_gone: bool,
}

impl Object {
    fn of(bytes: &[u8]) -> Arc<Self> {
        Arc::new(Self {
            bytes: Bytes::copy_from_slice(bytes),
            requests: Mutex::default(),
            is_gone: false,
        })
    }

    /// The requests since the last call.
    fn requests(&self) -> Vec<Range<u64>> {
        std::mem::take(&mut self.requests.lock().unwrap())
    }
}

impl ReadAt for Object {
    fn length(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn identity(&self) -> String {
        "store://logs/a.mcap version 1".to_owned()
    }

    fn cost(&self) -> Cost {
        Cost::Remote
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let range = offset..offset + buffer.len() as u64;
        self.requests.lock().unwrap().push(range);
        if self.is_gone {
            return Err(io::Error::other("503 Slow Down"));
        }
        self.bytes.read_exact_at(buffer, offset)
    }
}

fn open(object: &Arc<Object>) -> Result<Bag, BagError> {
    let bytes: Arc<dyn ReadAt> = Arc::clone(object) as _;
    let name = FileName::from("store://logs/a\u{1b}.mcap");
    Bag::open_sources([(name, bytes)], &Opening::default())
}

/// What a message is, without the place in its file.
fn contents(bag: &Bag, direction: Direction) -> Vec<(u32, u64, u32, Bytes)> {
    let start = match direction {
        Direction::Forward => Time::MIN,
        Direction::Reverse => Time::MAX,
    };
    let message = |it: Message| {
        let time = it.log_time.to_mcap();
        (it.topic.0, time, it.sequence, it.payload)
    };
    bag.cursor(&all(bag), StartAt::At(start), direction)
        .map(|it| message(it.expect("no damage")))
        .collect()
}

/// Chunks of 64 KiB in two topics, and a summary section of at least so many bytes.
fn spec(chunks: u64, summary: usize) -> Spec {
    let chunk = |n: u64| {
        let note = |i: u64| {
            Note::new(
                (i % 2) as usize,
                1000 * n + i,
                vec![i.to_le_bytes()[0]; 8 << 10],
            )
        };
        (0..8).map(note).collect()
    };
    let spec = Spec::new((0..chunks).map(chunk).collect());
    let topics = ["/a", "/b"].map(|name| TopicSpec::named(name).with("x", &"x".repeat(summary)));
    Spec {
        topics: topics.to_vec(),
        ..spec
    }
}

/// Both bags have the same topics and messages, in both directions.
fn assert_same(remote: &Bag, file: &Bag) {
    assert!(remote.damage().is_empty(), "{:?}", remote.damage());
    assert_eq!(remote.range(), file.range());
    assert_eq!(remote.message_count(), file.message_count());
    let names = |bag: &Bag| -> Vec<String> {
        let topics = bag.topics().iter();
        topics.map(|topic| topic.name.clone()).collect()
    };
    assert_eq!(names(remote), names(file));
    for direction in [Direction::Forward, Direction::Reverse] {
        assert_eq!(contents(remote, direction), contents(file, direction));
    }
}

#[test]
fn a_small_object_is_read_with_one_request() {
    let file = spec(3, 0).write();
    let object = Object::of(&file);
    let remote = open(&object).unwrap();
    assert_same(&remote, &Files::of([&file[..]]).bag());
    let whole = 0..file.len() as u64;
    assert_eq!(object.requests(), vec![whole; 1]);
}

#[test]
fn a_large_object_is_opened_with_two_requests_and_each_chunk_read_with_one() {
    let file = spec(40, 0).write();
    let length = file.len() as u64;
    let object = Object::of(&file);
    let remote = open(&object).unwrap();
    assert_eq!(
        object.requests(),
        [0..64 << 10, length - (256 << 10)..length]
    );
    let messages = contents(&remote, Direction::Forward);
    assert_eq!(messages.len(), 40 * 8);
    let requests = object.requests();
    // The last chunks are in memory.
    assert!((35..=40).contains(&requests.len()), "{}", requests.len());
    let is_ordered = requests.windows(2).all(|it| it[0].end <= it[1].start);
    assert!(is_ordered, "{requests:?}");
    assert_same(&remote, &Files::of([&file[..]]).bag());
}

#[test]
fn a_summary_section_that_is_larger_takes_at_most_two_requests_more() {
    let file = spec(40, 400 << 10).write();
    let object = Object::of(&file);
    let remote = open(&object).unwrap();
    let requests = object.requests();
    assert!(requests.len() <= 4, "{requests:?}");
    assert_same(&remote, &Files::of([&file[..]]).bag());
}

#[test]
fn an_object_without_a_summary_section_is_read_through() {
    let mut file = spec(40, 0).write();
    file.truncate(file.len() - 8);
    let object = Object::of(&file);
    let remote = open(&object).unwrap();
    let files = Files::of([&file[..]]);
    let local = files.bag();
    let details = |bag: &Bag| -> Vec<String> {
        let damage = bag.damage().iter();
        damage.map(|damage| damage.detail.clone()).collect()
    };
    assert_eq!(details(&remote), details(&local));
    assert!(!details(&remote).is_empty());
    assert_eq!(
        contents(&remote, Direction::Forward),
        contents(&local, Direction::Forward)
    );
}

#[test]
fn a_store_that_fails_is_named_with_the_object() {
    let object = Arc::new(Object {
        bytes: Bytes::from(spec(1, 0).write()),
        requests: Mutex::default(),
        is_gone: true,
    });
    let error = open(&object).unwrap_err();
    assert_eq!(
        error.to_string(),
        "store://logs/a\\u{1b}.mcap: byte 0: cannot be read"
    );
    let cause = std::error::Error::source(&error).unwrap();
    assert_eq!(cause.to_string(), "503 Slow Down");
}

#[test]
fn two_sources_of_one_object_have_the_same_identity() {
    let object = Object::of(&spec(1, 0).write());
    let bags = [open(&object).unwrap(), open(&object).unwrap()];
    let [first, second] = bags.each_ref().map(|bag| &bag.files()[0]);
    assert_eq!(first.identity, second.identity);
    assert_eq!(first.name.as_str(), "store://logs/a\u{1b}.mcap");
    let file = spec(1, 0).write();
    let files = Files::of([&file[..], &file[..]]).bag();
    assert_ne!(files.files()[0].identity, files.files()[1].identity);
}
