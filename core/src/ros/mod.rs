//! What ROS 2 defines for topics: QoS profiles, message definitions, type hashes, names of types.

#[doc(hidden)]
pub mod definition;
mod names;
mod publisher;
mod qos;
mod qos_offers;
mod qos_overrides;
#[cfg(feature = "type-hashes")]
mod rihs01;
mod type_description;
mod type_text;

pub use definition::{NestingError, SchemaError};
#[cfg(feature = "find")]
pub use names::nearest_topic;
pub use names::{dds_type, is_same_topic, is_tf_static, is_type_hash, ros_type, unreachable_name};
pub use publisher::{PublishedTopic, Publisher};
pub(crate) use qos::kept_by_latched;
pub use qos::{
    Durability, History, Liveliness, MAX_LATCHED_MESSAGES, Qos, QosDuration, Reliability,
};
pub(crate) use qos_offers::WrittenQos;
pub use qos_overrides::{QosOverrides, QosOverridesError};
#[cfg(feature = "type-hashes")]
pub use rihs01::{ComputedHash, message_hash, service_hash};
pub use type_description::{
    FieldDescription, FieldType, IndividualTypeDescription, TypeDescription, definition_texts,
};
pub use type_text::join_definitions;
