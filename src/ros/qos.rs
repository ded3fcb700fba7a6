//! [`Qos`]: a publisher's quality-of-service profile, as rosbag2 records it.
//!
//! The text in a channel's `offered_qos_profiles` is YAML: a list of profiles, one a publisher, with the
//! policies as the middleware's integers (metadata version below 9) or as words (from 9 on).

use std::fmt;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::untrusted::yaml;

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

/// `reliable`, `best effort, transient local`: what a subscriber has to fit.
impl fmt::Display for Qos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.reliability {
            Reliability::Reliable => "reliable",
            Reliability::BestEffort => "best effort",
        })?;
        match self.durability {
            Durability::Volatile => Ok(()),
            Durability::TransientLocal => f.write_str(", transient local"),
        }
    }
}

/// `keep last 10`, `keep all`.
impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::KeepLast(depth) => write!(f, "keep last {depth}"),
            Self::KeepAll => f.write_str("keep all"),
        }
    }
}

impl Qos {
    /// The profiles in a channel's `offered_qos_profiles`: a YAML list, one entry a publisher, with
    /// the policies as integers or as words. What is missing or not known reads as the default; no
    /// text, and text that is not such a list, as no profiles.
    pub fn parse_offers(yaml: &str) -> Vec<Self> {
        if yaml.trim().is_empty() {
            return Vec::new();
        }
        let profiles = yaml::read::<Vec<Profile>>(yaml).unwrap_or_default();
        profiles.iter().map(Profile::qos).collect()
    }
}

/// How many messages of a latched publisher count at most, however many it kept: `/rosout` keeps a thousand,
/// and maps can take megabytes each.
pub const MOST_KEPT: u32 = 10;

/// How many messages the latched ones among a channel's publishers keep together, one each where the
/// recorder could not see their history: in a channel's `offered_qos_profiles`.
pub(crate) fn kept_by_latched(yaml: &str) -> usize {
    let profiles = yaml::read::<Vec<Profile>>(yaml).unwrap_or_default();
    let is_local = |it: &&Profile| it.durability.is(1, "transient_local");
    let depths = profiles.iter().filter(is_local).map(Profile::kept);
    depths.fold(0_usize, usize::saturating_add).max(1)
}

/// A profile as it is written.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct Profile {
    history: Word,
    depth: Word,
    reliability: Word,
    durability: Word,
    deadline: Span,
    lifespan: Span,
    liveliness: Word,
    liveliness_lease_duration: Span,
}

/// A policy: the middleware's number or its word.
#[derive(Deserialize, Default)]
#[serde(untagged)]
enum Word {
    Number(u64),
    Text(String),
    #[default]
    Nothing,
    /// Anything else, a negative number for example, says nothing either.
    Other(IgnoredAny),
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Span {
    sec: Word,
    nsec: Word,
}

impl Profile {
    fn kept(&self) -> usize {
        let most = MOST_KEPT as usize;
        if self.history.is(2, "keep_all") {
            return most;
        }
        let depth = self.depth.number();
        let depth = depth.filter(|_| self.history.is(1, "keep_last"));
        depth.map_or(1, |depth| {
            usize::try_from(depth).unwrap_or(most).clamp(1, most)
        })
    }

    pub(crate) fn qos(&self) -> Qos {
        let default = Qos::default();
        let depth = match self.depth.number() {
            // Zero is "as the system likes", which is 10 for rclcpp.
            None | Some(0) => default.history,
            Some(depth) => History::KeepLast(u32::try_from(depth).unwrap_or(u32::MAX)),
        };
        Qos {
            reliability: if self.reliability.is(2, "best_effort") {
                Reliability::BestEffort
            } else {
                default.reliability
            },
            durability: if self.durability.is(1, "transient_local") {
                Durability::TransientLocal
            } else {
                default.durability
            },
            // Recorders on DDS cannot see the history: "unknown", with a depth that means nothing.
            history: if self.history.is(2, "keep_all") {
                History::KeepAll
            } else if self.history.is(1, "keep_last") {
                depth
            } else {
                default.history
            },
            deadline: self.deadline.duration(),
            lifespan: self.lifespan.duration(),
            liveliness: if self.liveliness.is(3, "manual_by_topic") {
                Liveliness::ManualByTopic
            } else {
                default.liveliness
            },
            lease: self.liveliness_lease_duration.duration(),
        }
    }
}

impl Word {
    fn number(&self) -> Option<u64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(text) => text.trim().parse().ok(),
            Self::Nothing | Self::Other(_) => None,
        }
    }

    fn is(&self, number: u64, word: &str) -> bool {
        match self {
            Self::Text(text) if text.eq_ignore_ascii_case(word) => true,
            _ => self.number() == Some(number),
        }
    }
}

impl Span {
    /// "No limit" has many spellings: nothing, zero, the middleware's and the wire's largest values.
    /// No promise of more than 68 years is meant as one.
    fn duration(&self) -> QosDuration {
        let (sec, nsec) = (self.sec.number(), self.nsec.number().unwrap_or(0));
        match (sec, nsec) {
            (None | Some(0), 0) | (Some(2_147_483_647..), _) => QosDuration::INFINITE,
            (sec, nsec) => QosDuration {
                sec: sec.unwrap_or(0),
                nsec,
            },
        }
    }
}
