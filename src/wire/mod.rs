//! ROS 2 over zenoh: the only room that knows zenoh and CDR.
//!
//! The way out: a [`Session`] joins the network as an `rmw_zenoh` node does, [`Session::advertise`] turns
//! recorded topics into publishers, and the player puts through the [`WireOutput`]. What happens on the
//! network (subscribers coming and going, a lost router, a second clock) is told as [`WireEvent`]s and can
//! be asked of the [`Graph`]. Pure codecs sit beside that, one a file, each against vectors of bytes that
//! real nodes were seen to take.

mod clock;
mod error;
mod event;
mod net;
mod options;
mod publish;
mod rmw_zenoh;

pub use clock::follow::{ClockSource, Follow};
pub use clock::payload::{CdrError, ClockBytes, check_cdr, decode_clock, encode_clock};
pub use clock::state_message::{ClockMotion, ClockStateMessage};
pub use clock::state_topic::StateTopic;
pub use error::WireError;
pub use event::WireEvent;
pub use net::connectivity::PathState;
pub use net::session::Session;
pub use options::{ClockOptions, Congestion, Distro, Played, SkipReason, Skipped, WireOptions};
pub use publish::drain::Drained;
pub use publish::monitor::{Missed, Monitor, TopicState};
pub use publish::wire_output::WireOutput;
pub use rmw_zenoh::adapt::{Adapted, Samples, adapt, latched_depth};
pub use rmw_zenoh::gid::Gid;
pub use rmw_zenoh::graph::Graph;
pub use rmw_zenoh::names::{check_name, topic_key};
pub use rmw_zenoh::qos_chunk::{decode_qos, encode_qos};
pub use rmw_zenoh::token::{Endpoint, EntityKind, Token};
