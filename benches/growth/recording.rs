//! The recordings: sparse ones with large messages, and small ones with many topics or files.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

use mcap::WriteOptions;
use mcap::records::MessageHeader;

use super::Failure;

const START: u64 = 1_700_000_000_000_000_000;
/// Between two messages, in nanoseconds.
const PERIOD: u64 = 1_000_000;
/// Of a message of a sparse recording.
const LARGE: usize = 1_000_000;
/// Of a message of a recording with many topics or files.
const SMALL: usize = 100;
/// From here on, zeros are left out of the file.
const HOLE: usize = 4_096;

/// A file whose long runs of zeros are holes.
struct Sparse {
    file: BufWriter<File>,
}

impl Write for Sparse {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if bytes.len() < HOLE || bytes.iter().any(|byte| *byte != 0) {
            return self.file.write(bytes);
        }
        let size = i64::try_from(bytes.len()).map_err(std::io::Error::other)?;
        let end = self.file.seek(SeekFrom::Current(size))?;
        // The writer also seeks from the end of the file.
        self.file.get_ref().set_len(end)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

impl Seek for Sparse {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.file.seek(to)
    }
}

/// A recording of a size in MB: chunks of one message of a megabyte each. Its payload is a hole. The
/// result is the number of messages.
pub(crate) fn sparse(path: &Path, megabytes: u64) -> Result<u64, Failure> {
    let options = WriteOptions::new()
        .compression(None)
        .chunk_size(Some(500_000))
        .calculate_chunk_crcs(false)
        .calculate_data_section_crc(false)
        .profile("ros2");
    let file = BufWriter::new(File::create(path)?);
    let mut writer = options.create(Sparse { file })?;
    let schema = writer.add_schema("std_msgs/msg/String", "ros2msg", b"string data")?;
    let channel = writer.add_channel(schema, "/large", "cdr", &BTreeMap::new())?;
    let payload = vec![0; LARGE];
    for n in 0..megabytes {
        writer.write_to_known_channel(&header(channel, n), &payload)?;
    }
    writer.finish()?;
    Ok(megabytes)
}

/// Small messages of several topics in turn, in one file or several in a folder. The result is the number of messages.
pub(crate) fn write(folder: &Path, topics: u64, files: u64, messages: u64) -> Result<u64, Failure> {
    let mut payload = vec![7; SMALL];
    payload[..4].copy_from_slice(&[0, 1, 0, 0]);
    let of_each = messages / files;
    for file in 0..files {
        let path = folder.join(format!("recording_{file}.mcap"));
        let options = WriteOptions::new()
            .compression(None)
            .chunk_size(Some(1 << 20))
            .profile("ros2");
        let mut writer = options.create(BufWriter::new(File::create(path)?))?;
        let schema = writer.add_schema("std_msgs/msg/String", "ros2msg", b"string data")?;
        let channels: Vec<u16> = (0..topics)
            .map(|topic| {
                let name = format!("/robot_{}/topic_{topic}", topic / 100);
                writer.add_channel(schema, &name, "cdr", &BTreeMap::new())
            })
            .collect::<Result<_, _>>()?;
        let numbers = file * of_each..(file + 1) * of_each;
        for (n, channel) in numbers.zip(channels.iter().cycle()) {
            writer.write_to_known_channel(&header(*channel, n), &payload)?;
        }
        writer.finish()?;
    }
    Ok(of_each * files)
}

fn header(channel_id: u16, number: u64) -> MessageHeader {
    let time = START + number * PERIOD;
    MessageHeader {
        channel_id,
        sequence: 0,
        log_time: time,
        publish_time: time,
    }
}
