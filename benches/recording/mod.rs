//! Recordings of messages at a constant rate, for benchmarks.

#![allow(dead_code, reason = "each benchmark uses a part of it")]

use std::path::Path;

/// As many tiny messages, at a rate.
pub(crate) fn write(path: &Path, messages: u64, hz: u64) -> anyhow::Result<()> {
    let payload = [0, 1, 0, 0, 5, 0, 0, 0, b'd', b'a', b't', b'a', 0];
    write_all(path, mcap::WriteOptions::new(), &payload, (messages, hz))
}

/// An uncompressed recording of messages of one size, one a millisecond, in chunks of a size.
pub(crate) fn write_sized(
    path: &Path,
    messages: u64,
    size: usize,
    chunk: u64,
) -> anyhow::Result<()> {
    let options = mcap::WriteOptions::new()
        .compression(None)
        .chunk_size(Some(chunk))
        .profile("ros2");
    let mut payload = vec![7_u8; size];
    payload[..4].copy_from_slice(&[0, 1, 0, 0]);
    write_all(path, options, &payload, (messages, 1_000))
}

/// Messages of one payload, at a rate.
fn write_all(
    path: &Path,
    options: mcap::WriteOptions,
    payload: &[u8],
    (messages, hz): (u64, u64),
) -> anyhow::Result<()> {
    let mut writer = options.create(std::io::BufWriter::new(std::fs::File::create(path)?))?;
    let schema = writer.add_schema("std_msgs/msg/String", "ros2msg", b"string data")?;
    let metadata = std::collections::BTreeMap::new();
    let channel = writer.add_channel(schema, "/chatter", "cdr", &metadata)?;
    for n in 0..messages {
        let time = 1_700_000_000_000_000_000 + n * 1_000_000_000 / hz;
        let header = mcap::records::MessageHeader {
            channel_id: channel,
            sequence: 0,
            log_time: time,
            publish_time: time,
        };
        writer.write_to_known_channel(&header, payload)?;
    }
    writer.finish()?;
    Ok(())
}
