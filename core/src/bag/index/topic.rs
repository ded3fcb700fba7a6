//! [`Topic`]: what a recording contains about a topic: type, schema, encoding, offered QoS, type hash, counts.

use bytes::Bytes;

use crate::ros::Qos;

/// The definition of a message type, as recorded.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Schema {
    /// The name of the type; for ROS 2 `package/msg/Name`.
    pub name: String,
    /// The encoding of `data`: `ros2msg`, `ros2idl`, `ros1msg`, `jsonschema`, `protobuf`, …
    pub encoding: String,
    /// The definition; empty if the recorder did not find it.
    pub data: Bytes,
}

/// A topic of a bag. Channels with the same name, type and encoding are one topic, also in several files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Topic {
    /// The name as recorded.
    pub name: String,
    /// The message type; `None` for channels without a schema.
    pub schema: Option<Schema>,
    /// The encoding of payloads: `cdr`, `ros1`, `json`, …
    pub encoding: String,
    /// The QoS profiles that its publishers offered, one for each publisher, as far as recorded; of ROS 1 publishers
    /// those that latched.
    pub offered_qos: Vec<Qos>,
    /// The RIHS01 hash of its type, if a valid one was recorded.
    pub type_hash: Option<String>,
    /// The MD5 sum of its type, by which ROS 1 nodes recognise it, if a valid one was recorded.
    pub ros1_md5: Option<String>,
    /// Whether a late joiner receives its last messages (transient local, ROS 1 latching).
    pub is_latched: bool,
    /// The number of recorded messages; `None` if the file does not give it.
    pub message_count: Option<u64>,
}

impl Topic {
    /// The name of the type; empty for topics without a schema.
    pub fn type_name(&self) -> &str {
        self.schema.as_ref().map_or("", |schema| &schema.name)
    }
}
