//! ROS 2 over zenoh: the only room that knows zenoh and CDR.
//!
//! The way out: a [`Session`] joins the network as an `rmw_zenoh` node does, [`Session::advertise`] turns
//! recorded topics into publishers, and the player puts through the [`WireOutput`]. What happens on the
//! network (subscribers coming and going, a lost router, a second clock) is told as [`WireEvent`]s and can
//! be asked of the [`Graph`]. Pure codecs sit beside that, one a file, each against vectors of bytes that
//! real nodes were seen to take.

mod adapt;
mod advertise;
mod attachment;
mod cdr;
mod clock;
mod clock_state;
mod clocks;
mod config;
mod drain;
mod endpoint;
mod env;
mod error;
mod event;
mod gid;
mod graph;
mod join;
mod monitor;
mod names;
mod now;
mod options;
mod output;
mod outputs;
mod path;
mod patient;
mod probe;
mod publisher;
mod qos;
mod rihs01;
mod router;
mod send_buffers;
mod session;
mod stalls;
mod state_topic;
mod succession;
mod time_source;
mod token;
mod type_hash;
mod watch;

pub use crate::decode::SchemaError;
pub use adapt::{Adapted, Samples, adapt, is_tf_static, latched_depth};
pub use cdr::{CdrError, ClockBytes, check_cdr, decode_clock, encode_clock};
pub use clock_state::{ClockMotion, ClockStateMessage};
pub use drain::Drained;
pub use error::WireError;
pub use event::WireEvent;
pub use gid::Gid;
pub use graph::Graph;
pub use monitor::{Missed, Monitor, TopicState};
pub use names::{check_name, dds_type, ros_type, topic_key};
pub use options::{ClockOptions, Congestion, Distro, Played, SkipReason, Skipped, WireOptions};
pub use output::WireOutput;
pub use path::PathState;
pub use qos::{decode_qos, encode_qos};
pub use rihs01::{Computed, message_hash, service_hash};
pub use session::Session;
pub use state_topic::StateTopic;
pub use time_source::{ClockSource, Follow};
pub use token::{Endpoint, EntityKind, Token};
