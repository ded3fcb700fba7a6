//! What is sent: the topics and messages of a scenario, and its recording.
//!
//! The log time of a message is in its payload, so that a subscriber can tell which one arrived.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use anyhow::{Context, Result};
use mcap::records::MessageHeader;
use mcap::{Compression, WriteOptions, Writer};

const SECOND: u64 = 1_000_000_000;
const START: u64 = 1_700_000_000 * SECOND;
const QOS: &str =
    "- history: keep_last\n  depth: 10\n  reliability: reliable\n  durability: volatile\n";
/// The length of the text of a string: 69 bytes with its header, its length and its end.
const TEXT: usize = 60;
const IMAGE_BYTES: u32 = 1_000_000;
/// `std_msgs/Header`, `builtin_interfaces/Time`.
const HEADER: &str = "================================================================================\n\
    MSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id\n\
    ================================================================================\n\
    MSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n";
const GEOMETRY: &str = "================================================================================\n\
    MSG: geometry_msgs/Quaternion\nfloat64 x 0\nfloat64 y 0\nfloat64 z 0\nfloat64 w 1\n\
    ================================================================================\n\
    MSG: geometry_msgs/Vector3\nfloat64 x\nfloat64 y\nfloat64 z\n";

#[derive(Clone, Copy)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) topics: &'static [Topic],
    compression: Option<Compression>,
    chunk_bytes: u64,
}

#[derive(Clone, Copy)]
pub(crate) struct Topic {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    hz: u64,
    /// From the start of the recording to its first message, in nanoseconds.
    offset: u64,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Text,
    Image,
    Imu,
}

const fn topic(name: &'static str, kind: Kind, hz: u64, offset: u64) -> Topic {
    Topic {
        name,
        kind,
        hz,
        offset,
    }
}

pub(crate) const SCENARIOS: [Scenario; 2] = [
    Scenario {
        name: "small",
        topics: &[
            topic("/t0", Kind::Text, 200, 0),
            topic("/t1", Kind::Text, 200, 1_000_000),
            topic("/t2", Kind::Text, 200, 2_000_000),
            topic("/t3", Kind::Text, 200, 3_000_000),
            topic("/t4", Kind::Text, 200, 4_000_000),
        ],
        compression: None,
        chunk_bytes: 1 << 20,
    },
    Scenario {
        name: "image",
        topics: &[
            topic("/imu", Kind::Imu, 200, 0),
            topic("/image", Kind::Image, 30, 1_000_000),
        ],
        compression: Some(Compression::Zstd),
        chunk_bytes: 4 << 20,
    },
];

impl Scenario {
    pub(crate) fn named(name: &str) -> Option<Self> {
        SCENARIOS.into_iter().find(|it| it.name == name)
    }

    /// The topic (by its place in `topics`) and the log time of each message, in the order of time.
    pub(crate) fn schedule(&self, seconds: u64) -> Vec<(usize, u64)> {
        let of_topic = |(at, topic): (usize, &Topic)| {
            let Topic { hz, offset, .. } = *topic;
            (0..seconds * hz).map(move |n| (at, START + offset + n * SECOND / hz))
        };
        let mut all: Vec<_> = self.topics.iter().enumerate().flat_map(of_topic).collect();
        all.sort_by_key(|(_, time)| *time);
        all
    }

    pub(crate) fn write(&self, path: &Path, seconds: u64) -> Result<()> {
        let options = WriteOptions::new()
            .compression(self.compression)
            .chunk_size(Some(self.chunk_bytes))
            .profile("ros2");
        let mut writer = Writer::with_options(BufWriter::new(File::create(path)?), options)?;
        let mut channels = Vec::new();
        for topic in self.topics {
            let kind = topic.kind;
            let definition = kind.definition();
            let schema = writer.add_schema(kind.type_name(), "ros2msg", definition.as_bytes())?;
            let metadata = [
                ("offered_qos_profiles".to_owned(), QOS.to_owned()),
                ("topic_type_hash".to_owned(), kind.type_hash().to_owned()),
            ];
            channels.push(writer.add_channel(schema, topic.name, "cdr", &metadata.into())?);
        }
        let mut payloads = Payloads::new();
        for (at, time) in self.schedule(seconds) {
            let header = MessageHeader {
                channel_id: channels[at],
                sequence: 0,
                log_time: time,
                publish_time: time,
            };
            let payload = payloads.of(self.topics[at].kind, time)?;
            writer.write_to_known_channel(&header, payload)?;
        }
        writer.finish()?;
        Ok(())
    }
}

impl Topic {
    /// The key of its messages in domain 0, without the type hash.
    pub(crate) fn key(&self) -> String {
        format!("0{}/{}", self.name, self.kind.dds_name())
    }

    /// How a node announces a subscription with a queue of 100: name, type, hash, QoS.
    pub(crate) fn token(&self) -> String {
        let name = self.name.replace('/', "%");
        let (kind, hash) = (self.kind.dds_name(), self.kind.type_hash());
        format!("{name}/{kind}/{hash}/::,100:,:,:,,")
    }
}

impl Kind {
    fn type_name(self) -> &'static str {
        match self {
            Self::Text => "std_msgs/msg/String",
            Self::Image => "sensor_msgs/msg/Image",
            Self::Imu => "sensor_msgs/msg/Imu",
        }
    }

    fn dds_name(self) -> String {
        let name = self.type_name().replace("/msg/", "::msg::dds_::");
        format!("{name}_")
    }

    pub(crate) fn type_hash(self) -> &'static str {
        match self {
            Self::Text => "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18",
            Self::Image => {
                "RIHS01_d31d41a9a4c4bc8eae9be757b0beed306564f7526c88ea6a4588fb9582527d47"
            }
            Self::Imu => "RIHS01_7d9a00ff131080897a5ec7e26e315954b8eae3353c3f995c55faf71574000b5b",
        }
    }

    fn definition(self) -> String {
        match self {
            Self::Text => "string data\n".to_owned(),
            Self::Image => format!(
                "std_msgs/Header header\nuint32 height\nuint32 width\nstring encoding\nuint8 is_bigendian\n\
                 uint32 step\nuint8[] data\n{HEADER}"
            ),
            Self::Imu => format!(
                "std_msgs/Header header\ngeometry_msgs/Quaternion orientation\n\
                 float64[9] orientation_covariance\ngeometry_msgs/Vector3 angular_velocity\n\
                 float64[9] angular_velocity_covariance\ngeometry_msgs/Vector3 linear_acceleration\n\
                 float64[9] linear_acceleration_covariance\n{HEADER}{GEOMETRY}"
            ),
        }
    }

    /// The log time that a payload was made with.
    pub(crate) fn log_time(self, payload: &[u8]) -> Option<u64> {
        if self == Self::Text {
            let text = std::str::from_utf8(payload.get(8..)?).ok()?;
            return text.split(' ').next()?.parse().ok();
        }
        let number = |at: usize| {
            Some(u32::from_le_bytes(
                payload.get(at..at + 4)?.try_into().ok()?,
            ))
        };
        Some(u64::from(number(4)?) * SECOND + u64::from(number(8)?))
    }
}

/// Makes payloads. The one that was made last is overwritten, because an image is large.
pub(crate) struct Payloads {
    buffer: Vec<u8>,
    pixels: Vec<u8>,
}

impl Payloads {
    pub(crate) fn new() -> Self {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        // Half noise, half black: zstd makes half of it.
        let pixels = (0..IMAGE_BYTES).map(|at| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            if at < IMAGE_BYTES / 2 {
                state.to_le_bytes()[3]
            } else {
                0
            }
        });
        Self {
            buffer: Vec::new(),
            pixels: pixels.collect(),
        }
    }

    /// A message in CDR.
    pub(crate) fn of(&mut self, kind: Kind, time: u64) -> Result<&[u8]> {
        let out = &mut self.buffer;
        out.clear();
        out.extend([0, 1, 0, 0]);
        if kind == Kind::Text {
            let text = format!("{time} {}", "x".repeat(TEXT));
            put_text(out, text.get(..TEXT).context("a long text")?)?;
            return Ok(out);
        }
        out.extend(u32::try_from(time / SECOND)?.to_le_bytes());
        out.extend(u32::try_from(time % SECOND)?.to_le_bytes());
        put_text(out, "cam")?;
        if kind == Kind::Imu {
            align(out, 8);
            out.extend([0; 37 * 8]);
            return Ok(out);
        }
        for number in [1000, IMAGE_BYTES / 1000] {
            out.extend(number.to_le_bytes());
        }
        put_text(out, "mono8")?;
        out.push(0);
        align(out, 4);
        for number in [IMAGE_BYTES / 1000, IMAGE_BYTES] {
            out.extend(number.to_le_bytes());
        }
        out.extend(&self.pixels);
        Ok(out)
    }
}

fn put_text(out: &mut Vec<u8>, text: &str) -> Result<()> {
    align(out, 4);
    out.extend(u32::try_from(text.len() + 1)?.to_le_bytes());
    out.extend(text.as_bytes());
    out.push(0);
    Ok(())
}

/// Fills up to a multiple of `size`, counted from the end of the four bytes before the message.
fn align(out: &mut Vec<u8>, size: usize) {
    while !(out.len() - 4).is_multiple_of(size) {
        out.push(0);
    }
}
