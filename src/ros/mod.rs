//! What ROS 2 says of topics: QoS profiles, message definitions, type hashes.

pub(crate) mod definition;
mod qos;
mod rihs01;

pub use definition::SchemaError;
pub use qos::{Durability, History, Liveliness, MOST_KEPT, Qos, QosDuration, Reliability};
pub(crate) use qos::{Profile, latched_depth};
pub use rihs01::{Computed, message_hash, service_hash};
