//! The recordings that are read.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use anyhow::{Context, Result, bail};
use mcap::records::MessageHeader;
use mcap::{Compression, WriteOptions, Writer};

/// A small fast random number generator: the same file every time.
pub(crate) struct Noise(pub(crate) u64);

impl Noise {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// The compressions that are asked for: that of `BAGPLAY_BENCH_COMPRESSION`, otherwise zstd and lz4.
pub(crate) fn compressions() -> Result<Vec<(&'static str, Option<Compression>)>> {
    let zstd = ("zstd", Some(Compression::Zstd));
    let lz4 = ("lz4", Some(Compression::Lz4));
    Ok(
        match std::env::var("BAGPLAY_BENCH_COMPRESSION").as_deref() {
            Ok("lz4") => vec![lz4],
            Ok("none") => vec![("none", None)],
            Ok("zstd") => vec![zstd],
            Ok(other) => bail!("unknown compression {other}"),
            Err(_) => vec![zstd, lz4],
        },
    )
}

/// 30 Hz images of 1 MB with three noisy bits a byte, 200 Hz of 320 bytes, 100 Hz of 100 bytes, and latched ones that
/// repeat 10 times a second.
pub(crate) fn write(
    path: &Path,
    bytes: u64,
    is_indexed: bool,
    compression: Option<Compression>,
) -> Result<()> {
    let options = WriteOptions::new().compression(compression);
    let options = options.chunk_size(Some(768 << 10)).profile("ros2");
    let options = options.emit_message_indexes(is_indexed);
    let mut writer = Writer::with_options(BufWriter::new(File::create(path)?), options)?;
    let schema = writer.add_schema("std_msgs/msg/String", "ros2msg", b"string data")?;
    let mut channel = |name| writer.add_channel(schema, name, "cdr", &[].into());
    let (image, imu, tf) = (channel("/image")?, channel("/imu")?, channel("/tf")?);
    let latched = channel("/tf_static")?;
    let mut noise = Noise(0x9e37_79b9_7f4a_7c15);
    let image_data: Vec<u8> = (0..1_040_000 / 8)
        .flat_map(|_| (noise.next() & 0x0707_0707_0707_0707).to_le_bytes())
        .collect();
    let mut raw = 0;
    for tick in 0_u64.. {
        let mut put = |id, sizes: std::ops::Range<usize>| -> Result<()> {
            let header = MessageHeader {
                channel_id: id,
                sequence: 0,
                log_time: tick * 5_000_000,
                publish_time: tick * 5_000_000,
            };
            let data = image_data
                .get(sizes)
                .context("sizes are below the image's")?;
            raw += data.len() as u64;
            Ok(writer.write_to_known_channel(&header, data)?)
        };
        put(imu, 0..320)?;
        if tick % 2 == 0 {
            put(tf, 0..100)?;
        }
        if tick % 20 == 0 {
            put(latched, 0..400)?;
        }
        if tick % 7 == 0 {
            let from = usize::try_from(tick % 1000)?;
            put(image, from..image_data.len())?;
        }
        // An estimate: three of eight bits of the images are noise.
        let file = if compression.is_some() { raw / 2 } else { raw };
        if file > bytes {
            break;
        }
    }
    writer.finish()?;
    Ok(())
}
