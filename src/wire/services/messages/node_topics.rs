//! The messages of the topics that a node publishes about itself: `/parameter_events`, `/rosout`, `events/read_split`.

use serde::{Deserialize, Serialize};

use super::parameters::Parameter;
use super::service::Stamp;

/// A message type that this program publishes itself.
pub trait OwnMessage: Serialize {
    /// `package/msg/Name`.
    const TYPE: &'static str;
    /// The definition, and those of all types that it refers to, as in the schema of a recording. The type hash is
    /// computed from it.
    const DEFINITION: &'static str;
}

macro_rules! section {
    ($name:literal) => {
        concat!(
            "================================================================================\n",
            "MSG: ",
            $name,
            "\n"
        )
    };
}

macro_rules! time {
    () => {
        concat!(
            section!("builtin_interfaces/Time"),
            "int32 sec\nuint32 nanosec\n"
        )
    };
}

/// `rcl_interfaces/msg/ParameterEvent`: parameters of a node that are new or have changed.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ParameterEvent {
    /// When.
    pub stamp: Stamp,
    /// The full name of the node.
    pub node: String,
    /// Parameters that are there since now.
    pub new_parameters: Vec<Parameter>,
    /// Parameters that have another value since now.
    pub changed_parameters: Vec<Parameter>,
    /// Parameters that are gone.
    pub deleted_parameters: Vec<Parameter>,
}

impl OwnMessage for ParameterEvent {
    const TYPE: &'static str = "rcl_interfaces/msg/ParameterEvent";
    const DEFINITION: &'static str = concat!(
        "builtin_interfaces/Time stamp\nstring node\nrcl_interfaces/Parameter[] new_parameters\n",
        "rcl_interfaces/Parameter[] changed_parameters\n",
        "rcl_interfaces/Parameter[] deleted_parameters\n",
        time!(),
        section!("rcl_interfaces/Parameter"),
        "string name\nrcl_interfaces/ParameterValue value\n",
        section!("rcl_interfaces/ParameterValue"),
        "uint8 type\nbool bool_value\nint64 integer_value\nfloat64 double_value\nstring string_value\n",
        "byte[] byte_array_value\nbool[] bool_array_value\nint64[] integer_array_value\n",
        "float64[] double_array_value\nstring[] string_array_value\n",
    );
}

/// `rcl_interfaces/msg/Log`: a line of a node's log.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Log {
    /// When it was logged.
    pub stamp: Stamp,
    /// 10 debug, 20 info, 30 warning, 40 error, 50 fatal.
    pub level: u8,
    /// The name of the logger: that of the node, with dots in place of slashes.
    pub name: String,
    /// The text.
    pub msg: String,
    /// The source file, or empty.
    pub file: String,
    /// The function, or empty.
    pub function: String,
    /// The line in the source file, or 0.
    pub line: u32,
}

impl OwnMessage for Log {
    const TYPE: &'static str = "rcl_interfaces/msg/Log";
    const DEFINITION: &'static str = concat!(
        "byte DEBUG=10\nbyte INFO=20\nbyte WARN=30\nbyte ERROR=40\nbyte FATAL=50\n",
        "builtin_interfaces/Time stamp\nuint8 level\nstring name\nstring msg\nstring file\n",
        "string function\nuint32 line\n",
        time!(),
    );
}

/// `rosbag2_interfaces/msg/ReadSplitEvent`: a player has come from one file of a recording to the next.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ReadSplitEvent {
    /// The file that was played before.
    pub closed_file: String,
    /// The file that is played now.
    pub opened_file: String,
    /// The full name of the player's node.
    pub node_name: String,
}

impl OwnMessage for ReadSplitEvent {
    const TYPE: &'static str = "rosbag2_interfaces/msg/ReadSplitEvent";
    const DEFINITION: &'static str = "string closed_file\nstring opened_file\nstring node_name\n";
}

/// The definition of `rosgraph_msgs/msg/Clock`.
pub(crate) const CLOCK_DEFINITION: &str = concat!("builtin_interfaces/Time clock\n", time!());

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ros::message_hash;
    use crate::wire::services::messages::cdr::{from_cdr, to_cdr};

    #[track_caller]
    fn has_hash(name: &str, definition: &str, hash: &str) {
        let computed = message_hash(name, definition.as_bytes()).unwrap().hash;
        assert_eq!(computed, format!("RIHS01_{hash}"));
    }

    #[test]
    fn the_definitions_have_the_hashes_of_ros_2() {
        has_hash(
            ParameterEvent::TYPE,
            ParameterEvent::DEFINITION,
            "043e627780fcad87a22d225bc2a037361dba713fca6a6b9f4b869a5aa0393204",
        );
        has_hash(
            Log::TYPE,
            Log::DEFINITION,
            "e28ce254ca8abc06abf92773b74602cdbf116ed34fbaf294fb9f81da9f318eac",
        );
        has_hash(
            ReadSplitEvent::TYPE,
            ReadSplitEvent::DEFINITION,
            "6f21c9b52d788338b0775ceccb49f38e7a8baad7b954f79dd280baed91145ad7",
        );
        has_hash(
            "rosgraph_msgs/msg/Clock",
            CLOCK_DEFINITION,
            "692f7a66e93a3c83e71765d033b60349ba68023a8c689a79e48078bcb5c58564",
        );
    }

    #[test]
    fn a_split_event_has_the_bytes_of_another_encoder() {
        let event = ReadSplitEvent {
            closed_file: "a.mcap".into(),
            opened_file: "b.mcap".into(),
            node_name: "/rosbag2_player".into(),
        };
        let bytes =
            b"\0\x01\0\0\x07\0\0\0a.mcap\0\0\x07\0\0\0b.mcap\0\0\x10\0\0\0/rosbag2_player\0";
        let payload = to_cdr(&event).unwrap();
        assert_eq!(payload, bytes);
        assert_eq!(from_cdr::<ReadSplitEvent>(&payload).unwrap(), event);
    }
}
