//! What the wire is told: [`WireOptions`], [`Played`], [`ClockOptions`]; and what it could not do: [`Skipped`].

use std::path::PathBuf;
use std::time::Duration;

use crate::bag::{Topic, TopicId};
use crate::ros::Qos;
use crate::untrusted::Foreign;

/// What happens to a message of a reliable topic that a subscriber's link has no room for.
///
/// Messages of best effort topics are always dropped then, unless each comes with its clock. zenoh 1.10 reports a drop to nobody (its
/// `put` returns `Ok` either way, statistics are per link and need another build of it), so messages
/// dropped by congestion are *not* in any count of ours.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Congestion {
    /// Wait, at most the stall timeout; then whoever takes nothing misses what is sent until it takes something again.
    /// (As a client, whose one link is that to its router, zenoh closes and opens that again instead.)
    #[default]
    Block,
    /// Wait for one message at a time, drop those behind it.
    BlockFirst,
    /// Drop after a millisecond, as a ROS 2 node with a `keep_last` publisher does.
    Drop,
}

/// Which form of type hash the ROS 2 nodes on the network use.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Distro {
    /// As the nodes that are there: Humble's form if there are only Humble nodes, else RIHS01.
    #[default]
    Auto,
    /// No type hashes.
    Humble,
    /// RIHS01, as all after Humble.
    Jazzy,
    /// As Jazzy.
    Kilted,
    /// As Jazzy.
    Lyrical,
    /// As Jazzy.
    Rolling,
}

/// How to join the network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WireOptions {
    /// The ROS domain; `None` = `ROS_DOMAIN_ID`, else 0.
    pub domain_id: Option<u32>,
    /// Our node's name, with its namespace if it has one: `rosbag2_player`, `/robot1/player`.
    pub node_name: String,
    /// Endpoints to connect to, as `tcp/192.168.1.5:7447`; empty = look for a router on this host.
    pub connect: Vec<String>,
    /// Endpoints to listen on. Without `connect` a router of ours listens there.
    pub listen: Vec<String>,
    /// The port on loopback at which the router of this host is looked for, and at which we are it if none is there.
    pub router_port: u16,
    /// A zenoh configuration file (JSON5); `None` = `ZENOH_SESSION_CONFIG_URI`, else built in.
    pub config_file: Option<PathBuf>,
    /// What happens to messages of reliable topics when there is no room.
    pub congestion: Congestion,
    /// How long a subscriber may take nothing before playback goes on without it.
    pub stall_timeout: Duration,
    /// The form of type hashes.
    pub distro: Distro,
    /// Publish for every hash of a type at once. Nodes whose definition differs get bytes they cannot read.
    pub any_type_hash: bool,
}

impl Default for WireOptions {
    fn default() -> Self {
        Self {
            domain_id: None,
            node_name: "rosbag2_player".to_owned(),
            connect: Vec::new(),
            listen: Vec::new(),
            router_port: 7447,
            config_file: None,
            congestion: Congestion::default(),
            stall_timeout: Duration::from_secs(5),
            distro: Distro::default(),
            any_type_hash: false,
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
    /// What the recording knows of it.
    pub topic: Topic,
    /// The profile to publish with; `None` = the recorded ones, adapted.
    pub qos: Option<Qos>,
}

/// How `/clock` is served.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct ClockOptions {
    /// Ticks a second of wall time; `None` without periodic ticks.
    pub hz: Option<f64>,
    /// Whether a clock precedes messages with their stamp: then it shares their priority, so that no
    /// link lets a message overtake its clock.
    pub per_message: bool,
}

/// A topic that is not on the wire.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Skipped {
    /// Which topic of the recording: several may come to share a name, and only this one is left out.
    pub id: TopicId,
    /// Its recorded name.
    pub topic: String,
    /// Why.
    pub reason: SkipReason,
}

/// Why a topic is not on the wire.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, thiserror::Error)]
pub enum SkipReason {
    /// Its name cannot be a zenoh key.
    #[error("zenoh cannot carry its name: {0}")]
    Name(&'static str),
    /// It is a recorded `/clock`, and a clock is served.
    #[error("the clock is served here")]
    OwnClock,
    /// ROS 2 nodes read only CDR.
    #[error("its messages are `{}`, and ROS 2 nodes read only cdr", Foreign::text(.0))]
    Encoding(String),
    /// Its type cannot be one of ROS 2.
    #[error("its type `{}` is no ROS 2 type", Foreign::text(.0))]
    Type(String),
}
