//! MCAP files for tests, written with crate mcap into a temporary directory.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::PathBuf;

use bagplay::bag::{Bag, Message, Selection};
use bagplay::time::{Ros, Time};
use mcap::records::MessageHeader;
use mcap::{Compression, WriteOptions, Writer};

/// A message to be written.
#[derive(Clone, Debug)]
pub struct Note {
    /// Index into the list of topics.
    pub topic: usize,
    pub time: u64,
    pub payload: Vec<u8>,
}

impl Note {
    pub fn new(topic: usize, time: u64, payload: impl Into<Vec<u8>>) -> Self {
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
pub struct TopicSpec {
    pub name: String,
    pub metadata: BTreeMap<String, String>,
}

impl TopicSpec {
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
        }
    }

    pub fn with(mut self, key: &str, value: &str) -> Self {
        self.metadata.insert(key.to_owned(), value.to_owned());
        self
    }
}

/// What is written and how. A chunk ends after every `chunk` messages.
#[derive(Clone)]
pub struct Spec {
    pub topics: Vec<TopicSpec>,
    pub chunks: Vec<Vec<Note>>,
    pub compression: Option<Compression>,
    pub options: WriteOptions,
}

impl Spec {
    pub fn new(chunks: Vec<Vec<Note>>) -> Self {
        let most = chunks.iter().flatten().map(|note| note.topic).max();
        let names = (0..=most.unwrap_or(0)).map(|i| TopicSpec::named(&format!("/t{i}")));
        Self {
            topics: names.collect(),
            chunks,
            compression: None,
            options: WriteOptions::new().profile("ros2").library("test"),
        }
    }

    pub fn compression(self, compression: Option<Compression>) -> Self {
        Self {
            compression,
            ..self
        }
    }

    pub fn options(self, change: impl FnOnce(WriteOptions) -> WriteOptions) -> Self {
        Self {
            options: change(self.options),
            ..self
        }
    }

    /// The file's bytes.
    pub fn write(&self) -> Vec<u8> {
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

/// Files that are gone with it.
pub struct Files {
    pub dir: tempfile::TempDir,
    pub paths: Vec<PathBuf>,
}

impl Files {
    pub fn of<'a>(files: impl IntoIterator<Item = impl Into<Cow<'a, [u8]>>>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut paths = Vec::new();
        for (i, bytes) in files.into_iter().enumerate() {
            let path = dir.path().join(format!("{i}.mcap"));
            std::fs::write(&path, &*bytes.into()).unwrap();
            paths.push(path);
        }
        Self { dir, paths }
    }

    pub fn bag(&self) -> Bag {
        Bag::open(&self.paths).unwrap()
    }
}

/// Opens one file's bytes; the directory must outlive the bag's use only until it is open.
pub fn bag(bytes: &[u8]) -> Bag {
    Files::of([bytes]).bag()
}

pub fn all(bag: &Bag) -> Selection {
    Selection::all(bag)
}

pub fn at(nanos: u64) -> Time<Ros> {
    Time::from_mcap(nanos)
}

/// The payloads as text, for short assertions.
pub fn texts(messages: &[Message]) -> Vec<String> {
    let text = |message: &Message| String::from_utf8_lossy(&message.payload).into_owned();
    messages.iter().map(text).collect()
}
