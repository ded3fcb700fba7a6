//! MCAP files for tests, written with crate mcap into a temporary directory.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use bagplay::bag::{Bag, Message, Selection, TopicId};
use bagplay::time::{Ros, Time};
use mcap::records::MessageHeader;
use mcap::{Compression, WriteOptions, Writer};

/// A message to be written.
#[derive(Clone, Debug)]
pub(crate) struct Note {
    /// Index into the list of topics.
    pub(crate) topic: usize,
    pub(crate) time: u64,
    pub(crate) payload: Vec<u8>,
}

impl Note {
    pub(crate) fn new(topic: usize, time: u64, payload: impl Into<Vec<u8>>) -> Self {
        let payload = payload.into();
        Self {
            topic,
            time,
            payload,
        }
    }
}

/// A topic to be written: name and channel metadata.
#[derive(Clone, Debug, Default)]
pub(crate) struct TopicSpec {
    pub(crate) name: String,
    pub(crate) metadata: BTreeMap<String, String>,
}

impl TopicSpec {
    pub(crate) fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
        }
    }

    pub(crate) fn with(mut self, key: &str, value: &str) -> Self {
        self.metadata.insert(key.to_owned(), value.to_owned());
        self
    }
}

/// A file to be written: its topics, the messages of each chunk, and the options of writing.
#[derive(Clone)]
pub(crate) struct Spec {
    pub(crate) topics: Vec<TopicSpec>,
    pub(crate) chunks: Vec<Vec<Note>>,
    pub(crate) compression: Option<Compression>,
    pub(crate) options: WriteOptions,
}

impl Spec {
    pub(crate) fn new(chunks: Vec<Vec<Note>>) -> Self {
        let most = chunks.iter().flatten().map(|note| note.topic).max();
        let names = (0..=most.unwrap_or(0)).map(|i| TopicSpec::named(&format!("/t{i}")));
        Self {
            topics: names.collect(),
            chunks,
            compression: None,
            options: WriteOptions::new().profile("ros2").library("test"),
        }
    }

    pub(crate) fn compression(self, compression: Option<Compression>) -> Self {
        Self {
            compression,
            ..self
        }
    }

    pub(crate) fn options(self, change: impl FnOnce(WriteOptions) -> WriteOptions) -> Self {
        Self {
            options: change(self.options),
            ..self
        }
    }

    /// The file's bytes.
    pub(crate) fn write(&self) -> Vec<u8> {
        let options = self.options.clone().chunk_size(None);
        let options = options.compression(self.compression);
        let mut writer = Writer::with_options(Cursor::new(Vec::new()), options).unwrap();
        let schema = writer
            .add_schema("std_msgs/msg/String", "ros2msg", b"string data")
            .unwrap();
        let add = |topic: &TopicSpec| {
            writer
                .add_channel(schema, &topic.name, "cdr", &topic.metadata)
                .unwrap()
        };
        let ids: Vec<u16> = self.topics.iter().map(add).collect();
        for chunk in &self.chunks {
            for (sequence, note) in (0..).zip(chunk) {
                let header = MessageHeader {
                    channel_id: ids[note.topic],
                    sequence,
                    log_time: note.time,
                    publish_time: note.time,
                };
                writer
                    .write_to_known_channel(&header, &note.payload)
                    .unwrap();
            }
            writer.flush().unwrap();
        }
        writer.finish().unwrap();
        writer.into_inner().into_inner()
    }
}

/// Files that are removed when this is dropped.
pub(crate) struct Files {
    _dir: tempfile::TempDir,
    pub(crate) paths: Vec<PathBuf>,
}

impl Files {
    pub(crate) fn of<'a>(files: impl IntoIterator<Item = impl Into<Cow<'a, [u8]>>>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut paths = Vec::new();
        for (i, bytes) in files.into_iter().enumerate() {
            let path = dir.path().join(format!("{i}.mcap"));
            std::fs::write(&path, &*bytes.into()).unwrap();
            paths.push(path);
        }
        Self { _dir: dir, paths }
    }

    pub(crate) fn bag(&self) -> Bag {
        Bag::open(&self.paths).unwrap()
    }
}

/// Opens a file with these bytes. The file is removed as soon as it is open.
pub(crate) fn bag(bytes: &[u8]) -> Bag {
    Files::of([bytes]).bag()
}

pub(crate) fn all(bag: &Bag) -> Selection {
    Selection::all(bag)
}

pub(crate) fn at(nanos: u64) -> Time<Ros> {
    Time::from_mcap(nanos)
}

/// The payloads as text, for short assertions.
pub(crate) fn texts(messages: &[Message]) -> Vec<String> {
    let text = |message: &Message| String::from_utf8_lossy(&message.payload).into_owned();
    messages.iter().map(text).collect()
}

/// The id of the topic of this name.
pub(crate) fn topic_id(bag: &Bag, name: &str) -> TopicId {
    let index = bag.topics().iter().position(|topic| topic.name == name);
    TopicId(u32::try_from(index.unwrap()).unwrap())
}

/// Pseudo-random bytes that no codec makes smaller; `size` is a multiple of 8.
pub(crate) fn incompressible(seed: u64, size: usize) -> Vec<u8> {
    let mut state = seed | 1;
    let word = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    (0..size / 8).flat_map(word).collect()
}

/// The bytes of a record.
pub(crate) fn record(opcode: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u64).to_le_bytes();
    [&[opcode], &length[..], body].concat()
}

/// A record in a file: opcode, position, length of its body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) opcode: u8,
    pub(crate) at: usize,
    pub(crate) body: usize,
}

/// The records of an undamaged file; chunks are not opened.
pub(crate) fn places(bytes: &[u8]) -> Vec<Place> {
    let mut places = Vec::new();
    let mut at = 8;
    while at + 9 < bytes.len() - 8 {
        let length = u64::from_le_bytes(bytes[at + 1..at + 9].try_into().unwrap());
        let body = usize::try_from(length).unwrap();
        let opcode = bytes[at];
        places.push(Place { opcode, at, body });
        at += 9 + body;
    }
    places
}

/// The nth record with that opcode.
pub(crate) fn place(bytes: &[u8], opcode: u8, n: usize) -> Place {
    let places = places(bytes);
    *places.iter().filter(|p| p.opcode == opcode).nth(n).unwrap()
}

/// A named pipe; opening it blocks until the other end is opened.
pub(crate) fn make_pipe(path: &Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status();
    assert!(made.unwrap().success());
}
