//! ROS 2 over zenoh: the only module that uses zenoh and writes CDR.
//!
//! A [`Session`] joins the network as an `rmw_zenoh` node does, or as a bridge to DDS. [`Session::advertise`] turns
//! recorded topics into publishers, and the player sends through the [`WireOutput`]. Changes on the network
//! (subscribers that come and go, a lost router, a second clock) are reported as [`WireEvent`]s; the [`Graph`] has the
//! present state. The codecs are pure functions, one file each, tested against byte vectors that real nodes accept.

mod clock;
mod dialect;
mod error;
mod event;
mod net;
mod options;
mod publish;
mod rmw_zenoh;
pub mod services;
mod session;
mod subscribe;

pub use clock::follow::{ClockSource, Follow};
pub use clock::payload::{ClockBytes, decode_clock, encode_clock};
pub use clock::state_message::{ClockMotion, ClockStateMessage};
pub use clock::state_topic::StateTopic;
pub use clock::watch::{ClockServer, ClockTick, ClockWatch};
pub use dialect::check_cdr::{CdrError, check_cdr};

pub use dialect::adapt::{Adapted, Samples, adapt, latched_depth};
pub use dialect::dialects::not_carried;
pub use dialect::names::check_name;
pub use error::WireError;
pub use event::WireEvent;
pub use net::connectivity::PathState;
pub use options::{
    BridgeNamespace, ClockOptions, Congestion, Distro, NoNamespace, Played, Protocol, Ros1Messages,
    SendOrder, SharedMemoryUse, SkipReason, Skipped, SourceStamps, WireOptions,
};
pub use publish::drain::Drained;
pub use publish::monitor::{Missed, Monitor, TopicState};
pub use publish::wire_output::WireOutput;
pub use rmw_zenoh::gid::Gid;
pub use rmw_zenoh::graph::Graph;
pub use rmw_zenoh::names::topic_key;
pub use rmw_zenoh::qos_chunk::{decode_qos, encode_qos};
pub use rmw_zenoh::token::{Endpoint, EntityKind, QueueDepth, Token};
pub use services::client::attached::Attached;
pub use services::client::caller::{CallError, ServiceClient};
pub use services::client::found_player::FoundPlayer;
pub use services::client::observe::News;
pub use services::client::player::PlayerClient;
pub use services::client::player_view::PlayerView;
pub use services::client::remote_recording::{RemoteRecording, RemoteTopic};
pub use services::client::request_error::RequestError;
pub use services::node::feed::{LogLine, NodeFeed, PlayedFile, Severity, SplitWatch};
pub use services::node::parameters::NodeParameter;
pub use services::node::served::{NodeDescription, ServedNode};
pub use services::server::served::{PlayerServices, ServedPlayer, Services};
pub use services::server::timeline::{
    FoundText, KnownDensity, ServedTimeline, ServedTopic, TimelineSource,
};
pub use session::{Session, zenoh_version};
pub use subscribe::described::{DescribeError, TypeDescriptions};
pub use subscribe::received::Received;
pub use subscribe::subscriptions::Subscriptions;
pub use subscribe::which::{NotReceived, Subscribed, Which};
