//! What a node of ROS 1 is to do, and what it publishes.

use std::time::Duration;

use super::rpc::uri::RpcUri;
use crate::bag::{Topic, TopicId};
use crate::ros::Durability;
use crate::transcode::NoRos1Form;
use crate::untrusted::Foreign;

/// What happens to messages for a subscriber that does not keep up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SlowSubscriber {
    /// The player waits, for the stall timeout at most.
    #[default]
    Wait,
    /// The oldest messages in its queue are dropped, as `rosbag play` does.
    DropOldest,
}

/// What becomes of ROS 2 messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Ros2Messages {
    /// They are sent as ROS 1 messages.
    #[default]
    Transcoded,
    /// They are not sent.
    LeftOut,
}

/// How a node joins a network of ROS 1.
#[derive(Clone, Debug)]
pub struct Ros1Options {
    /// The address of the master.
    pub master: RpcUri,
    /// The name or address under which other nodes reach this one. `None`: the address from which the master is
    /// reached; if that is a loopback address and the master has another name than `localhost`, that name.
    pub host: Option<String>,
    /// The name of the node, with a slash.
    pub node_name: String,
    /// What happens to messages for a subscriber that does not keep up.
    pub slow_subscriber: SlowSubscriber,
    /// How long a message waits for a subscriber that takes nothing.
    pub stall_timeout: Duration,
    /// Whether the parameter `/use_sim_time` is true as long as the node is there.
    pub use_sim_time: bool,
    /// How long a call to the master may take, or one of a master that this node serves.
    pub patience: Duration,
    /// How long the last calls to the master may take together, when the node leaves.
    pub leaving: Duration,
    /// What becomes of ROS 2 messages.
    pub ros2: Ros2Messages,
}

impl Ros1Options {
    /// A node of this name that joins the network of this master, with the usual options.
    pub fn new(master: RpcUri, node_name: impl Into<String>) -> Self {
        let node_name = node_name.into();
        Self {
            master,
            host: None,
            node_name: format!("/{}", node_name.trim_start_matches('/')),
            slow_subscriber: SlowSubscriber::default(),
            stall_timeout: Duration::from_secs(5),
            use_sim_time: false,
            patience: Duration::from_secs(3),
            leaving: Duration::from_millis(1500),
            ros2: Ros2Messages::default(),
        }
    }
}

/// A topic to be published.
#[derive(Clone, PartialEq, Debug)]
pub struct Ros1Played {
    /// The recorded topic.
    pub id: TopicId,
    /// The name under which it is published.
    pub name: String,
    /// What is recorded about it.
    pub topic: Topic,
    /// Latched if transient local, otherwise not; `None`: as recorded.
    pub durability: Option<Durability>,
}

/// A topic that is not published.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ros1Skipped {
    /// The recorded topic.
    pub id: TopicId,
    /// Its name.
    pub name: String,
    /// Why it is not published.
    pub reason: Ros1SkipReason,
}

/// Why a topic is not published.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Ros1SkipReason {
    /// Nodes of ROS 1 read only their own encoding.
    #[error("messages are `{}`, and ROS 1 nodes read only ros1", Foreign::text(.0))]
    Encoding(String),
    /// Its messages cannot be made into ROS 1 messages.
    #[error("it has no ROS 1 form: {0}")]
    NoRos1Form(NoRos1Form),
    /// The MD5 sum of its type cannot be computed.
    #[error("the MD5 sum of its type is unknown: {0}")]
    NoSum(String),
    /// A master would refuse its name.
    #[error("the name is not valid in ROS 1")]
    Name,
    /// A master would refuse its type.
    #[error("its type is not of the form PACKAGE/NAME: {}", Foreign::text(.0))]
    Type(String),
    /// Another topic of this name has another type.
    #[error("a topic of this name has another type: {}", Foreign::text(.0))]
    OtherType(String),
    /// It is a recorded `/clock`, and a clock is served.
    #[error("the clock is served here")]
    OwnClock,
    /// This node publishes its own parameters under this name.
    #[error("the node publishes its own parameters there")]
    OwnTopic,
}
