//! The input of the wire: [`WireOptions`], [`Played`], [`ClockOptions`]; and the topics it leaves out:
//! [`Skipped`].

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use crate::bag::{Topic, TopicId};
use crate::ros::Qos;
use crate::untrusted::Foreign;

/// What happens to a message of a reliable topic when a subscriber's link has no room for it.
///
/// Messages of best-effort topics are always dropped then, except with [`ClockOptions::per_message`]. zenoh
/// 1.10 does not report a drop (`put` returns `Ok` in both cases; its statistics are per link and need a
/// special build). So messages dropped by congestion are *not* counted anywhere in this program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Congestion {
    /// Wait, for the stall timeout at most; then a stuck subscriber misses what is sent until it reads again.
    /// (A client has only the link to its router: there zenoh closes the link and opens it again instead.)
    #[default]
    Block,
    /// Wait with one message at a time, and drop those behind it.
    BlockFirst,
    /// Drop after a millisecond, as a ROS 2 node with a `keep_last` publisher does.
    Drop,
}

/// What the source timestamps of the messages of a recording show. ROS 2 nodes see it as
/// `message_info.source_timestamp`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum SourceStamps {
    /// When they are sent, by the system clock of this machine.
    #[default]
    Wall,
    /// Their log time: executors and filters can order the messages of several topics by it.
    Log,
}

/// Which order of the messages of a recording holds on the network.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum SendOrder {
    /// That of the recording, over all topics of one reliability.
    #[default]
    AllTopics,
    /// That of each topic, and a clock that is sent before a message stays before it. Large messages (from 64 KiB on)
    /// and those after them on the same topic have a thread and a lower priority of their own, so small messages of
    /// other topics do not wait for them. After a jump, large messages from before it may arrive behind the clock.
    ///
    /// Links have a send buffer of 64 KiB unless the zenoh configuration sets `transport/link/tcp/so_sndbuf`. Over a
    /// network with long round trips they carry less.
    PerTopic,
}

/// Whether large messages leave through memory that is shared with subscribers on this host.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum SharedMemoryUse {
    /// As the zenoh configuration of the session says (`transport/shared_memory/enabled`). Without a configuration
    /// file: no. If a file does not say it, zenoh's default holds: yes. Never with [`Congestion::BlockFirst`].
    #[default]
    Auto,
    /// Yes, to subscribers that use it too; an error with [`Congestion::BlockFirst`].
    On,
    /// No.
    Off,
}

/// For whom a session publishes, and in which form.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Protocol {
    /// For ROS 2 nodes with `rmw_zenoh`, as a node of theirs.
    #[default]
    RmwZenoh,
    /// For ROS 2 nodes on DDS, behind bridges (`zenoh-bridge-ros2dds`). They see the bridge as the node.
    Ros2Dds,
    /// For subscribers that are not ROS 2 nodes, on plain keys. The key is the topic's name without its first slash,
    /// the payload is the recorded bytes in their own encoding. There are no liveliness tokens and no attachments. The
    /// clock, if served, is CDR on the key `clock`.
    PlainKeys,
}

/// The namespace of bridges to DDS, as in their configuration: `/`, or names of ROS each after a slash, such as
/// `/bot1`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct BridgeNamespace(String);

/// A text is no [`BridgeNamespace`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a namespace begins with a slash and has letters, digits, `_`, and `/` between names")]
pub struct NoNamespace;

impl BridgeNamespace {
    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for BridgeNamespace {
    /// `/`.
    fn default() -> Self {
        Self("/".to_owned())
    }
}

impl FromStr for BridgeNamespace {
    type Err = NoNamespace;

    fn from_str(text: &str) -> Result<Self, NoNamespace> {
        let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let is_name = |name: &str| !name.is_empty() && name.chars().all(is_of_name);
        let names = text.strip_prefix('/').ok_or(NoNamespace)?;
        let is_namespace = names.is_empty() || names.split('/').all(is_name);
        is_namespace
            .then(|| Self(text.to_owned()))
            .ok_or(NoNamespace)
    }
}

/// Which form of type hash the ROS 2 nodes on the network use.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Distro {
    /// As the nodes on the network: Humble's form if there are only Humble nodes, otherwise RIHS01.
    #[default]
    Auto,
    /// No type hashes.
    Humble,
    /// RIHS01, as in all releases after Humble.
    Jazzy,
    /// As Jazzy.
    Kilted,
    /// As Jazzy.
    Lyrical,
    /// As Jazzy.
    Rolling,
}

/// What becomes of recorded ROS 1 messages on the ROS graph.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Ros1Messages {
    /// They are sent as CDR, with the ROS 2 form of their type, if the recorded definition has one.
    #[default]
    Transcoded,
    /// They are not sent.
    LeftOut,
}

/// How to join the network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WireOptions {
    /// For whom to publish.
    pub protocol: Protocol,
    /// The namespace of the bridges to DDS; only for [`Protocol::Ros2Dds`].
    pub bridge_namespace: BridgeNamespace,
    /// The ROS domain; `None`: from `ROS_DOMAIN_ID`, otherwise 0.
    pub domain_id: Option<u32>,
    /// The name of this node, with its namespace if it has one: `rosbag2_player`, `/robot1/player`.
    pub node_name: String,
    /// Endpoints to connect to, such as `tcp/192.168.1.5:7447`; empty: look for a router on this host.
    pub connect: Vec<String>,
    /// Endpoints to listen on. Without `connect`, a router of this process listens there.
    pub listen: Vec<String>,
    /// The loopback port at which to look for the router of this host, and to listen as the router if there is
    /// none.
    pub router_port: u16,
    /// A zenoh configuration file (JSON5); `None`: from `ZENOH_SESSION_CONFIG_URI`, otherwise built in.
    pub config_file: Option<PathBuf>,
    /// Beside a router of this process on a free loopback port, and connected to nothing else: `connect`, `listen`,
    /// `router_port` and `config_file` are not looked at, and of the environment only what does not lead elsewhere.
    pub is_isolated: bool,
    /// With `is_isolated`: the endpoint of the isolated router of another process, beside which to be instead.
    pub isolated_router: Option<String>,
    /// What happens to messages of reliable topics when a link has no room.
    pub congestion: Congestion,
    /// How long a subscriber may be stuck before playback continues without it.
    pub stall_timeout: Duration,
    /// The form of type hashes.
    pub distro: Distro,
    /// Publish for every hash of a type. Nodes with another definition receive bytes that they cannot read.
    pub any_type_hash: bool,
    /// What becomes of recorded ROS 1 messages.
    pub ros1: Ros1Messages,
    /// What the source timestamps of messages show.
    pub source_stamps: SourceStamps,
    /// Which order of the messages holds.
    pub order: SendOrder,
    /// Whether large messages leave through shared memory.
    pub shared_memory: SharedMemoryUse,
    /// Whether each message is sent at once. Otherwise zenoh may hold a small one back for a millisecond, while none of
    /// its threads runs, so that more of them go together.
    pub sends_at_once: bool,
}

impl Default for WireOptions {
    fn default() -> Self {
        Self {
            protocol: Protocol::default(),
            bridge_namespace: BridgeNamespace::default(),
            domain_id: None,
            node_name: "rosbag2_player".to_owned(),
            connect: Vec::new(),
            listen: Vec::new(),
            router_port: 7447,
            config_file: None,
            is_isolated: false,
            isolated_router: None,
            congestion: Congestion::default(),
            stall_timeout: Duration::from_secs(5),
            distro: Distro::default(),
            any_type_hash: false,
            ros1: Ros1Messages::default(),
            source_stamps: SourceStamps::default(),
            order: SendOrder::default(),
            shared_memory: SharedMemoryUse::default(),
            sends_at_once: false,
        }
    }
}

/// A topic to put on the wire.
#[derive(Clone, Debug)]
pub struct Played {
    /// Which topic of the recording.
    pub id: TopicId,
    /// Its name on the wire.
    pub name: String,
    /// Its properties in the recording.
    pub topic: Topic,
    /// The profile to publish with; `None`: adapted from the recorded ones.
    pub qos: Option<Qos>,
}

/// How `/clock` is served.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct ClockOptions {
    /// Ticks per second of wall time; `None`: no periodic ticks.
    pub hz: Option<f64>,
    /// Whether a clock is sent before messages, with their time. The clock then has their priority, so that no
    /// link lets a message overtake its clock.
    pub per_message: bool,
}

/// A topic that is not published.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Skipped {
    /// Which topic of the recording. Others with the same name may be published.
    pub id: TopicId,
    /// Its recorded name.
    pub topic: String,
    /// The reason.
    pub reason: SkipReason,
}

/// Why a topic is not published.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SkipReason {
    /// Its name cannot be a zenoh key.
    #[error("zenoh cannot carry such a name: {0}")]
    Name(&'static str),
    /// ROS 2 forbids its name, and nodes on DDS have no others.
    #[error("ROS 2 has no such names: {0}")]
    RosName(&'static str),
    /// Another topic of this name has another type, and subscribers could not tell their messages apart.
    #[error("a topic of this name has another type: {}", Foreign::text(.0))]
    OtherType(String),
    /// It is a recorded `/clock`, and a clock is served.
    #[error("the clock is served here")]
    OwnClock,
    /// ROS 2 nodes read only CDR.
    #[error("messages are `{}`, and ROS 2 nodes read only cdr", Foreign::text(.0))]
    Encoding(String),
    /// Its ROS 1 messages have no ROS 2 form.
    #[error("`ros1` messages that cannot be transcoded: {0}")]
    NoRos2Form(String),
    /// Its type is not a ROS 2 type.
    #[error("the type `{}` is no ROS 2 type", Foreign::text(.0))]
    Type(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_of_bridges_is_names_of_ros() {
        for text in ["/", "/bot1", "/fleet_2/bot1"] {
            let namespace: BridgeNamespace = text.parse().unwrap();
            assert_eq!(namespace.as_str(), text);
        }
        assert_eq!(BridgeNamespace::default().as_str(), "/");
        for text in ["", "bot1", "//", "/bot1/", "/a//b", "/a b", "/a*", "/ä"] {
            assert_eq!(text.parse::<BridgeNamespace>(), Err(NoNamespace), "{text}");
        }
    }
}
