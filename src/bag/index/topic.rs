//! [`Topic`]: what a recording knows of a topic: type, schema, encoding, offered QoS, type hash, counts.

use bytes::Bytes;

use crate::ros::Qos;

/// The definition of a message type, as recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Schema {
    /// The type's name, for ROS 2 `package/msg/Name`.
    pub name: String,
    /// How `data` is written: `ros2msg`, `ros2idl`, `ros1msg`, `jsonschema`, `protobuf`, …
    pub encoding: String,
    /// The definition itself; empty if the recorder did not find it.
    pub data: Bytes,
}

/// A topic of a bag. Channels with the same name, type and encoding, also of several files, are one topic.
#[derive(Clone, Debug)]
pub struct Topic {
    /// The name as recorded.
    pub name: String,
    /// The message type, `None` for schemaless channels.
    pub schema: Option<Schema>,
    /// How payloads are written: `cdr`, `ros1`, `json`, …
    pub encoding: String,
    /// The profiles its publishers offered, one a publisher, as far as recorded.
    pub offered_qos: Vec<Qos>,
    /// The RIHS01 hash of its type, if one was recorded that means anything.
    pub type_hash: Option<String>,
    /// Whether its last messages belong to a late joiner (transient local, ROS 1 latching).
    pub is_latched: bool,
    /// How many messages were recorded; `None` if the file does not say.
    pub message_count: Option<u64>,
}

impl Topic {
    /// The type's name, empty for schemaless topics.
    pub fn type_name(&self) -> &str {
        self.schema.as_ref().map_or("", |schema| &schema.name)
    }
}
