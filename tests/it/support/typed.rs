//! MCAP files for tests with topics of several types.

use std::collections::BTreeMap;
use std::io::Cursor;

use bagplay::bag::Bag;
use mcap::records::MessageHeader;
use mcap::{WriteOptions, Writer};

use super::mcaps::bag;

/// A type: its name, the encoding of its definition, and the definition.
pub(crate) type Definition = (&'static str, &'static str, String);

/// A recording that is being written.
pub(crate) struct Typed(Writer<Cursor<Vec<u8>>>);

impl Typed {
    pub(crate) fn new() -> Self {
        let options = WriteOptions::new().profile("ros2").chunk_size(Some(4096));
        Self(Writer::with_options(Cursor::new(Vec::new()), options).unwrap())
    }

    /// Adds a topic in CDR.
    pub(crate) fn topic(&mut self, name: &str, definition: &Definition) -> u16 {
        self.encoded(name, definition, "cdr")
    }

    /// Adds a topic in another encoding.
    pub(crate) fn encoded(&mut self, name: &str, definition: &Definition, encoding: &str) -> u16 {
        let (type_name, kind, text) = definition;
        let schema = self.0.add_schema(type_name, kind, text.as_bytes()).unwrap();
        self.0
            .add_channel(schema, name, encoding, &BTreeMap::new())
            .unwrap()
    }

    /// Adds a topic without a definition.
    pub(crate) fn untyped(&mut self, name: &str, encoding: &str) -> u16 {
        self.0
            .add_channel(0, name, encoding, &BTreeMap::new())
            .unwrap()
    }

    pub(crate) fn message(&mut self, topic: u16, time: u64, payload: &[u8]) {
        let header = MessageHeader {
            channel_id: topic,
            sequence: 0,
            log_time: time,
            publish_time: time,
        };
        self.0.write_to_known_channel(&header, payload).unwrap();
    }

    pub(crate) fn write(mut self) -> Vec<u8> {
        self.0.finish().unwrap();
        self.0.into_inner().into_inner()
    }

    pub(crate) fn bag(self) -> Bag {
        bag(&self.write())
    }
}

/// A definition and those it refers to.
pub(crate) fn definition(name: &'static str, root: &str, others: &[(&str, &str)]) -> Definition {
    let other = |(name, body): &(&str, &str)| {
        let rule = "=".repeat(80);
        format!("\n{rule}\nMSG: {name}\n{body}\n")
    };
    let others: Vec<String> = others.iter().map(other).collect();
    let text = format!("{root}{}", others.concat());
    (name, "ros2msg", text)
}

const HEADER: (&str, &str) = (
    "std_msgs/Header",
    "builtin_interfaces/Time stamp\nstring frame_id",
);
const TIME: (&str, &str) = ("builtin_interfaces/Time", "int32 sec\nuint32 nanosec");
const VECTOR: (&str, &str) = ("geometry_msgs/Vector3", "float64 x\nfloat64 y\nfloat64 z");
const QUATERNION: (&str, &str) = (
    "geometry_msgs/Quaternion",
    "float64 x\nfloat64 y\nfloat64 z\nfloat64 w",
);
const POINT: (&str, &str) = ("geometry_msgs/Point", "float64 x\nfloat64 y\nfloat64 z");
const POSE: (&str, &str) = (
    "geometry_msgs/Pose",
    "Point position\nQuaternion orientation",
);

pub(crate) fn string() -> Definition {
    definition("std_msgs/msg/String", "string data", &[])
}

pub(crate) fn image() -> Definition {
    definition(
        "sensor_msgs/msg/Image",
        "std_msgs/Header header\nuint32 height\nuint32 width\nstring encoding\nuint8 is_bigendian\nuint32 step\n\
         uint8[] data",
        &[HEADER, TIME],
    )
}

#[cfg(feature = "pictures")]
pub(crate) fn compressed_image() -> Definition {
    definition(
        "sensor_msgs/msg/CompressedImage",
        "std_msgs/Header header\nstring format\nuint8[] data",
        &[HEADER, TIME],
    )
}

pub(crate) fn imu() -> Definition {
    definition(
        "sensor_msgs/msg/Imu",
        "std_msgs/Header header\n\
         geometry_msgs/Quaternion orientation\nfloat64[9] orientation_covariance\n\
         geometry_msgs/Vector3 angular_velocity\nfloat64[9] angular_velocity_covariance\n\
         geometry_msgs/Vector3 linear_acceleration\nfloat64[9] linear_acceleration_covariance",
        &[HEADER, TIME, QUATERNION, VECTOR],
    )
}

pub(crate) fn odometry() -> Definition {
    definition(
        "nav_msgs/msg/Odometry",
        "std_msgs/Header header\nstring child_frame_id\n\
         geometry_msgs/PoseWithCovariance pose\ngeometry_msgs/TwistWithCovariance twist",
        &[
            HEADER,
            TIME,
            (
                "geometry_msgs/PoseWithCovariance",
                "Pose pose\nfloat64[36] covariance",
            ),
            POSE,
            POINT,
            QUATERNION,
            (
                "geometry_msgs/TwistWithCovariance",
                "Twist twist\nfloat64[36] covariance",
            ),
            ("geometry_msgs/Twist", "Vector3 linear\nVector3 angular"),
            VECTOR,
        ],
    )
}

pub(crate) fn cloud() -> Definition {
    definition(
        "sensor_msgs/msg/PointCloud2",
        "std_msgs/Header header\nuint32 height\nuint32 width\nsensor_msgs/PointField[] fields\n\
         bool is_bigendian\nuint32 point_step\nuint32 row_step\nuint8[] data\nbool is_dense",
        &[
            HEADER,
            TIME,
            (
                "sensor_msgs/PointField",
                "uint8 INT8=1\nstring name\nuint32 offset\nuint8 datatype\nuint32 count",
            ),
        ],
    )
}
