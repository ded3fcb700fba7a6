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

/// Messages of one size, one a millisecond, each in a chunk of its own, which zstd makes about half as large.
pub(crate) fn write_zstd(path: &Path, messages: u64, size: usize) -> anyhow::Result<()> {
    let options = mcap::WriteOptions::new()
        .compression(Some(mcap::Compression::Zstd))
        .chunk_size(Some(size as u64 / 2))
        .profile("ros2");
    let mut seed = 1_u32;
    let mut half_random = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 28) as u8
    };
    let mut payload: Vec<u8> = (0..size).map(|_| half_random()).collect();
    payload[..4].copy_from_slice(&[0, 1, 0, 0]);
    write_all(path, options, &payload, (messages, 1_000))
}

/// An uncompressed recording of `std_msgs/String` of ROS 1 with texts of a size, one a millisecond, in chunks of 4 MiB.
pub(crate) fn write_ros1(path: &Path, messages: u64, size: usize) -> anyhow::Result<()> {
    let options = mcap::WriteOptions::new()
        .compression(None)
        .chunk_size(Some(4 << 20))
        .profile("ros1");
    let mut payload = u32::try_from(size)?.to_le_bytes().to_vec();
    payload.resize(4 + size, b'7');
    let kind = ("std_msgs/String", "ros1msg", "ros1");
    write_messages(path, options, (kind, &payload), (messages, 1_000))
}

/// Messages of one payload, at a rate.
fn write_all(
    path: &Path,
    options: mcap::WriteOptions,
    payload: &[u8],
    rate: (u64, u64),
) -> anyhow::Result<()> {
    let kind = ("std_msgs/msg/String", "ros2msg", "cdr");
    write_messages(path, options, (kind, payload), rate)
}

/// The same, of a type, an encoding of definitions and one of messages.
fn write_messages(
    path: &Path,
    options: mcap::WriteOptions,
    ((kind, definitions, encoding), payload): ((&str, &str, &str), &[u8]),
    (messages, hz): (u64, u64),
) -> anyhow::Result<()> {
    let mut writer = options.create(std::io::BufWriter::new(std::fs::File::create(path)?))?;
    let schema = writer.add_schema(kind, definitions, b"string data")?;
    let metadata = std::collections::BTreeMap::new();
    let channel = writer.add_channel(schema, "/chatter", encoding, &metadata)?;
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

/// Seconds of a camera at 30 Hz with images of a size, each in its own JPEG or PNG file, and of two topics of numbers at
/// 100 Hz: `/camera`, `/a` and `/b`.
pub(crate) fn write_camera(path: &Path, seconds: u64, images: &[Vec<u8>]) -> anyhow::Result<()> {
    let file = std::io::BufWriter::new(std::fs::File::create(path)?);
    let mut writer = mcap::WriteOptions::new().profile("ros2").create(file)?;
    let metadata = std::collections::BTreeMap::new();
    let definition = b"std_msgs/Header header\nstring format\nuint8[] data\n\
        ================================================================================\n\
        MSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id\n";
    let schema = writer.add_schema("sensor_msgs/msg/CompressedImage", "ros2msg", definition)?;
    let camera = writer.add_channel(schema, "/camera", "cdr", &metadata)?;
    let schema = writer.add_schema("std_msgs/msg/Float64", "ros2msg", b"float64 data")?;
    let numbers = [
        writer.add_channel(schema, "/a", "cdr", &metadata)?,
        writer.add_channel(schema, "/b", "cdr", &metadata)?,
    ];
    let mut write = |channel_id, nanos: u64, payload: &[u8]| {
        let time = 1_700_000_000_000_000_000 + nanos;
        let header = mcap::records::MessageHeader {
            channel_id,
            sequence: 0,
            log_time: time,
            publish_time: time,
        };
        writer.write_to_known_channel(&header, payload)
    };
    for tick in 0..seconds * 300 {
        let nanos = tick * 1_000_000_000 / 300;
        if tick % 10 == 0 {
            let image = &images[usize::try_from(tick / 10)? % images.len()];
            let mut payload = vec![0, 1, 0, 0];
            // Stamp, an empty frame with its padding, and the format.
            payload.extend([0; 8]);
            payload.extend([1, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0]);
            payload.extend(b"jpeg\0\0\0\0");
            payload.extend(u32::try_from(image.len())?.to_le_bytes());
            payload.extend(image);
            write(camera, nanos, &payload)?;
        }
        if tick % 3 == 0 {
            for (channel, nth) in numbers.into_iter().zip(1_u32..) {
                let seconds = std::time::Duration::from_nanos(nanos).as_secs_f64();
                let mut payload = vec![0, 1, 0, 0];
                payload.extend((seconds * f64::from(nth)).sin().to_le_bytes());
                write(channel, nanos, &payload)?;
            }
        }
    }
    writer.finish()?;
    Ok(())
}
