//! What ROS 2 says of topics: QoS profiles, message definitions, type hashes.

pub(crate) mod message_definition;
mod qos;
#[cfg(feature = "wire")]
mod rihs01;

pub use message_definition::SchemaError;
pub use qos::{Durability, History, Liveliness, MOST_KEPT, Qos, QosDuration, Reliability};
pub(crate) use qos::{Profile, latched_depth};
#[cfg(feature = "wire")]
pub use rihs01::{Computed, message_hash, service_hash};
