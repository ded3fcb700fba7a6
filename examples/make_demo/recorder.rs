//! Writes the session as rosbag2's recorder does: profile, channel metadata, its two metadata records.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use mcap::records::{MessageHeader, Metadata};
use mcap::{Compression, WriteOptions};

use crate::drive::Recorded;
use crate::topics::{self, Topic};

/// Small, so that the demo has several chunks.
const CHUNK_SIZE: u64 = 192 * 1024;
/// What "no message yet" looks like in rosbag2: the largest `i64`.
const NEVER: Duration = Duration::from_nanos(i64::MAX.unsigned_abs());

/// Writes `messages` to a new file at `path`.
pub(crate) fn write(path: &Path, messages: &[Recorded]) -> Result<()> {
    let file = std::fs::File::create(path)
        .with_context(|| format!("cannot write {}", path.to_string_lossy()))?;
    // The library's name has no version in it and there is one compression thread, so that the file
    // stays the same in the next release and on another machine.
    let mut writer = WriteOptions::new()
        .profile("ros2")
        .library("bagplay make_demo")
        .compression(Some(Compression::Zstd))
        .compression_threads(0)
        .compression_level(9)
        .chunk_size(Some(CHUNK_SIZE))
        .create(BufWriter::new(file))?;
    writer.write_metadata(&metadata(&[]))?;
    let mut ids = BTreeMap::new();
    for topic in topics::ALL {
        let schema = writer.add_schema(topic.type_name, "ros2msg", topic.definition.as_bytes())?;
        let channel = BTreeMap::from([
            ("offered_qos_profiles".to_owned(), topic.qos_profiles()),
            ("topic_type_hash".to_owned(), topic.hash.to_owned()),
        ]);
        ids.insert(
            topic.name,
            writer.add_channel(schema, topic.name, "cdr", &channel)?,
        );
    }
    for message in messages {
        let header = MessageHeader {
            channel_id: ids[message.topic.name],
            sequence: 0,
            log_time: u64::try_from(message.received.as_nanos())?,
            publish_time: u64::try_from(message.sent.as_nanos())?,
        };
        writer.write_to_known_channel(&header, &message.data)?;
    }
    writer.write_metadata(&metadata(messages))?;
    writer.finish()?;
    writer.into_inner().flush()?;
    Ok(())
}

/// rosbag2's record about the file itself. It is written twice: with no messages when the file is
/// opened, and with all of them at the end.
fn metadata(messages: &[Recorded]) -> Metadata {
    let start = messages.iter().map(|m| m.received).min();
    let end = messages.iter().map(|m| m.received).max();
    let duration = end
        .unwrap_or_default()
        .saturating_sub(start.unwrap_or_default());
    let start = start.unwrap_or(NEVER).as_nanos();
    let (duration, count) = (duration.as_nanos(), messages.len());
    let topics = if messages.is_empty() {
        "  []\n".to_owned()
    } else {
        topics::ALL
            .iter()
            .fold(String::new(), |text, topic| text + &about(topic, messages))
    };
    let text = format!(
        "version: 9\nstorage_identifier: mcap\n\
         duration:\n  nanoseconds: {duration}\n\
         starting_time:\n  nanoseconds_since_epoch: {start}\n\
         message_count: {count}\n\
         topics_with_message_count:\n{topics}\
         compression_format: \"\"\ncompression_mode: \"\"\n\
         relative_file_paths:\n  - demo.mcap\n\
         files:\n  - path: demo.mcap\n    \
         starting_time:\n      nanoseconds_since_epoch: {start}\n    \
         duration:\n      nanoseconds: {duration}\n    \
         message_count: {count}\n\
         custom_data: ~\nros_distro: jazzy"
    );
    Metadata {
        name: "rosbag2".to_owned(),
        metadata: BTreeMap::from([("serialized_metadata".to_owned(), text)]),
    }
}

/// One topic's entry.
fn about(topic: &Topic, messages: &[Recorded]) -> String {
    let count = messages
        .iter()
        .filter(|m| m.topic.name == topic.name)
        .count();
    let Topic {
        name,
        type_name,
        hash,
        ..
    } = topic;
    let mut text = format!(
        "  - topic_metadata:\n      name: {name}\n      type: {type_name}\n      \
         serialization_format: cdr\n      offered_qos_profiles:\n"
    );
    for line in topic.qos_profiles().lines() {
        let _ = writeln!(text, "        {line}");
    }
    let _ = writeln!(
        text,
        "      type_description_hash: {hash}\n    message_count: {count}"
    );
    text
}
