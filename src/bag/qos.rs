//! [`Qos`]: a publisher's quality-of-service profile, as rosbag2 records it.
//!
//! The text in a channel's `offered_qos_profiles` is YAML: a list of profiles, one a publisher, with the
//! policies as the middleware's integers (metadata version below 9) or as words (from 9 on).

/// Whether the middleware repeats what got lost.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Reliability {
    /// It does.
    #[default]
    Reliable,
    /// It does not.
    BestEffort,
}

/// Whether a late joiner gets what was published before it came.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Durability {
    /// It does not.
    #[default]
    Volatile,
    /// It gets the last samples: the topic is latched.
    TransientLocal,
}

/// How many samples are kept for whom has not taken them yet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum History {
    /// The last so many.
    KeepLast(u32),
    /// All of them.
    KeepAll,
}

/// What proves a publisher alive.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Liveliness {
    /// The process.
    #[default]
    Automatic,
    /// The publisher says so itself.
    ManualByTopic,
}

/// A QoS time span: seconds and nanoseconds, kept as recorded because its exact digits go on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct QosDuration {
    /// Whole seconds.
    pub sec: u64,
    /// Nanoseconds on top.
    pub nsec: u64,
}

impl QosDuration {
    /// Never: what the ROS middleware writes for "no limit".
    pub const INFINITE: Self = Self {
        sec: 9_223_372_036,
        nsec: 854_775_807,
    };
}

/// A quality-of-service profile.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Qos {
    /// Reliable or best effort.
    pub reliability: Reliability,
    /// Volatile or transient local.
    pub durability: Durability,
    /// How many samples are kept.
    pub history: History,
    /// The promised longest gap between samples.
    pub deadline: QosDuration,
    /// How long a sample is worth having.
    pub lifespan: QosDuration,
    /// What proves the publisher alive.
    pub liveliness: Liveliness,
    /// How long a proof of life lasts.
    pub lease: QosDuration,
}

impl Default for Qos {
    /// What rclcpp gives a publisher: reliable, volatile, keep last 10.
    fn default() -> Self {
        Self {
            reliability: Reliability::default(),
            durability: Durability::default(),
            history: History::KeepLast(10),
            deadline: QosDuration::INFINITE,
            lifespan: QosDuration::INFINITE,
            liveliness: Liveliness::default(),
            lease: QosDuration::INFINITE,
        }
    }
}
