//! Recordings with ROS 1 messages beside others.

use std::collections::BTreeMap;
use std::io::Cursor;

use mcap::records::MessageHeader;
use mcap::{Compression, WriteOptions, Writer};

/// A channel: its topic, schema, encoding and metadata.
pub(crate) struct ChannelSpec<'a> {
    pub(crate) topic: &'a str,
    /// Name, encoding and text.
    pub(crate) schema: (&'a str, &'a str, &'a str),
    pub(crate) encoding: &'a str,
    pub(crate) metadata: &'a [(&'a str, &'a str)],
}

impl<'a> ChannelSpec<'a> {
    /// A channel of ROS 1 messages.
    pub(crate) fn ros1(topic: &'a str, name: &'a str, text: &'a str) -> Self {
        Self {
            topic,
            schema: (name, "ros1msg", text),
            encoding: "ros1",
            metadata: &[],
        }
    }
}

/// A file of profile `ros1` with these channels, and messages: channel, log time, payload. Three messages make a chunk.
pub(crate) fn ros1_file(channels: &[ChannelSpec<'_>], messages: &[(usize, u64, &[u8])]) -> Vec<u8> {
    let options = WriteOptions::new().profile("ros1").chunk_size(None);
    let options = options.compression(Some(Compression::Lz4));
    let mut writer = Writer::with_options(Cursor::new(Vec::new()), options).unwrap();
    let mut ids = Vec::new();
    for channel in channels {
        let (name, encoding, text) = channel.schema;
        let schema = writer.add_schema(name, encoding, text.as_bytes()).unwrap();
        let metadata = channel.metadata.iter();
        let metadata: BTreeMap<String, String> = metadata
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        let id = writer.add_channel(schema, channel.topic, channel.encoding, &metadata);
        ids.push(id.unwrap());
    }
    for (sequence, (channel, time, payload)) in (0..).zip(messages) {
        let header = MessageHeader {
            channel_id: ids[*channel],
            sequence,
            log_time: *time,
            publish_time: time - 1,
        };
        writer.write_to_known_channel(&header, payload).unwrap();
        if sequence % 3 == 2 {
            writer.flush().unwrap();
        }
    }
    writer.finish().unwrap();
    writer.into_inner().into_inner()
}

/// A ROS 1 `std_msgs/String`.
pub(crate) fn string(text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len()).unwrap();
    [&length.to_le_bytes(), text.as_bytes()].concat()
}

/// The same in CDR.
pub(crate) fn cdr_string(text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len()).unwrap() + 1;
    [
        &[0, 1, 0, 0],
        &length.to_le_bytes()[..],
        text.as_bytes(),
        &[0],
    ]
    .concat()
}
