//! Nodes of ROS 1: its own protocols (TCPROS and XML-RPC), publisher side. No program of ROS is needed.
//!
//! A [`Ros1Node`] joins the network of a master, or is the master if there is none. [`Ros1Node::advertise`] turns
//! recorded topics into topics of the node, and the player sends through the [`Ros1Output`]. What happens on the
//! network is reported as [`Ros1Event`]s.
//!
//! Each subscriber has a connection and a queue of its own. The player waits for a slow one, or drops its oldest
//! messages, as [`SlowSubscriber`] says.

mod data;
mod error;
mod event;
mod master;
mod node;
mod options;
mod publish;
mod rpc;
mod services;
mod slave;
mod system;

pub use data::md5::md5_of;
pub use error::Ros1Error;
pub use event::Ros1Event;
pub use master::left::{Ros1Left, SimTimeLeft};
pub use node::Ros1Node;
pub use options::{
    Ros1Options, Ros1Played, Ros1SkipReason, Ros1Skipped, Ros2Messages, SlowSubscriber,
};
pub use publish::monitor::{Ros1Monitor, Ros1TopicState};
pub use publish::output::Ros1Output;
pub use publish::plan::not_carried;
pub use rpc::error::RpcError;
pub use rpc::uri::RpcUri;
