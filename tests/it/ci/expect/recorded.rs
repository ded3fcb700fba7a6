//! Recordings of topics with types of their own, and payloads in CDR.

use std::collections::BTreeMap;
use std::io::Cursor;

use bagplay::bag::Bag;
use mcap::records::MessageHeader;
use mcap::{WriteOptions, Writer};

/// The parts of `nav_msgs/msg/Odometry` that tests use.
pub(crate) const ODOMETRY: (&str, &str) = (
    "nav_msgs/msg/Odometry",
    "std_msgs/Header header\nstring child_frame_id\ngeometry_msgs/Point position\nfloat32[] ranges\nuint8 status\n\
     ================================================================================\n\
     MSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id\n\
     ================================================================================\n\
     MSG: geometry_msgs/Point\nfloat64 x\nfloat64 y\nfloat64 z\n",
);
/// `tf2_msgs/msg/TFMessage`.
pub(crate) const TRANSFORMS: (&str, &str) = (
    "tf2_msgs/msg/TFMessage",
    "geometry_msgs/TransformStamped[] transforms\n\
     ================================================================================\n\
     MSG: geometry_msgs/TransformStamped\nstd_msgs/Header header\nstring child_frame_id\nTransform transform\n\
     ================================================================================\n\
     MSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id\n\
     ================================================================================\n\
     MSG: geometry_msgs/Transform\nVector3 translation\nQuaternion rotation\n\
     ================================================================================\n\
     MSG: geometry_msgs/Vector3\nfloat64 x\nfloat64 y\nfloat64 z\n\
     ================================================================================\n\
     MSG: geometry_msgs/Quaternion\nfloat64 x\nfloat64 y\nfloat64 z\nfloat64 w\n",
);

/// A payload in little-endian CDR.
#[derive(Clone, Debug)]
pub(crate) struct Cdr(Vec<u8>);

impl Cdr {
    pub(crate) fn new() -> Self {
        Self(vec![0, 1, 0, 0])
    }

    fn number(mut self, bytes: &[u8]) -> Self {
        let behind = (self.0.len() - 4) % bytes.len();
        if behind > 0 {
            self.0.extend(vec![0; bytes.len() - behind]);
        }
        self.0.extend(bytes);
        self
    }

    pub(crate) fn u8(self, number: u8) -> Self {
        self.number(&[number])
    }

    pub(crate) fn u32(self, number: u32) -> Self {
        self.number(&number.to_le_bytes())
    }

    pub(crate) fn f32(self, number: f32) -> Self {
        self.number(&number.to_le_bytes())
    }

    pub(crate) fn f64(self, number: f64) -> Self {
        self.number(&number.to_le_bytes())
    }

    pub(crate) fn text(self, text: &str) -> Self {
        let mut cdr = self.u32(u32::try_from(text.len() + 1).unwrap());
        cdr.0.extend(text.as_bytes());
        cdr.0.push(0);
        cdr
    }

    /// A `std_msgs/Header` with a stamp in nanoseconds.
    pub(crate) fn header(self, stamp: u64, frame: &str) -> Self {
        let (sec, nanosec) = (stamp / 1_000_000_000, stamp % 1_000_000_000);
        let cdr = self.u32(u32::try_from(sec).unwrap());
        cdr.u32(u32::try_from(nanosec).unwrap()).text(frame)
    }

    pub(crate) fn end(self) -> Vec<u8> {
        self.0
    }
}

/// A payload of [`ODOMETRY`].
pub(crate) fn odometry(stamp: u64, x: f64, ranges: &[f32], status: u8) -> Vec<u8> {
    let cdr = Cdr::new().header(stamp, "odom").text("base_link");
    let cdr = cdr.f64(x).f64(0.0).f64(0.0);
    let cdr = cdr.u32(u32::try_from(ranges.len()).unwrap());
    let cdr = ranges.iter().fold(cdr, |cdr, range| cdr.f32(*range));
    cdr.u8(status).end()
}

/// A payload of [`TRANSFORMS`]: parent, child, stamp in nanoseconds.
pub(crate) fn transforms(all: &[(&str, &str, u64)]) -> Vec<u8> {
    let cdr = Cdr::new().u32(u32::try_from(all.len()).unwrap());
    let add = |cdr: Cdr, (parent, child, stamp): &(&str, &str, u64)| {
        let cdr = cdr.header(*stamp, parent).text(child);
        (0..7).fold(cdr, |cdr, _| cdr.f64(0.0))
    };
    all.iter().fold(cdr, add).end()
}

/// A recording in memory.
pub(crate) struct Recording {
    writer: Writer<Cursor<Vec<u8>>>,
    channels: BTreeMap<String, u16>,
}

impl Recording {
    pub(crate) fn new() -> Self {
        let options = WriteOptions::new().profile("ros2").compression(None);
        Self {
            writer: Writer::with_options(Cursor::new(Vec::new()), options).unwrap(),
            channels: BTreeMap::new(),
        }
    }

    /// A topic in CDR with this type: name and definition.
    pub(crate) fn topic(self, name: &str, (type_name, text): (&str, &str)) -> Self {
        self.encoded(name, (type_name, "ros2msg", text), "cdr")
    }

    /// A topic in any encoding; its schema is name, encoding and text.
    pub(crate) fn encoded(
        mut self,
        name: &str,
        schema: (&str, &str, &str),
        encoding: &str,
    ) -> Self {
        let (type_name, schema_encoding, text) = schema;
        let schema = self
            .writer
            .add_schema(type_name, schema_encoding, text.as_bytes());
        let channel = self
            .writer
            .add_channel(schema.unwrap(), name, encoding, &BTreeMap::new());
        self.channels.insert(name.to_owned(), channel.unwrap());
        self
    }

    /// Adds a message; `time` is its log time in nanoseconds.
    pub(crate) fn message(&mut self, topic: &str, time: u64, payload: &[u8]) {
        let header = MessageHeader {
            channel_id: self.channels[topic],
            sequence: 0,
            log_time: time,
            publish_time: time,
        };
        self.writer
            .write_to_known_channel(&header, payload)
            .unwrap();
    }

    pub(crate) fn bytes(mut self) -> Vec<u8> {
        self.writer.finish().unwrap();
        self.writer.into_inner().into_inner()
    }

    pub(crate) fn bag(self) -> Bag {
        Bag::from_bytes("test.mcap", self.bytes().into()).unwrap()
    }
}
