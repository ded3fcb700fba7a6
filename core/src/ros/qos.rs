//! [`Qos`]: the QoS profile of a publisher, as rosbag2 records it.
//!
//! `offered_qos_profiles` of a channel is YAML: a list of profiles, one for each publisher. The policies are the
//! integers of the middleware (metadata version below 9) or words (from version 9 on).

use std::collections::BTreeMap;
use std::fmt;

use crate::untrusted::yaml::{self, Node};

/// Whether the middleware sends lost samples again.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Reliability {
    /// It does.
    #[default]
    Reliable,
    /// It does not.
    BestEffort,
}

/// Whether a late joiner receives samples from before it joined.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Durability {
    /// It does not.
    #[default]
    Volatile,
    /// It receives the last samples: the topic is latched.
    TransientLocal,
}

/// How many samples are kept for subscribers that have not received them yet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum History {
    /// The last samples, up to this number.
    KeepLast(u32),
    /// All of them.
    KeepAll,
}

/// What proves that a publisher is alive.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Liveliness {
    /// Its running process.
    #[default]
    Automatic,
    /// Assertions by the publisher.
    ManualByTopic,
}

/// A duration in a QoS profile: seconds and nanoseconds, kept as recorded because the exact digits are sent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct QosDuration {
    /// Whole seconds.
    pub sec: u64,
    /// Additional nanoseconds.
    pub nsec: u64,
}

impl QosDuration {
    /// What the ROS middleware writes for "no limit".
    pub const INFINITE: Self = Self {
        sec: 9_223_372_036,
        nsec: 854_775_807,
    };
}

/// A QoS profile.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Qos {
    /// Reliable or best effort.
    pub reliability: Reliability,
    /// Volatile or transient local.
    pub durability: Durability,
    /// How many samples are kept.
    pub history: History,
    /// The longest time between samples that the publisher promises.
    pub deadline: QosDuration,
    /// How long a sample is valid.
    pub lifespan: QosDuration,
    /// What proves that the publisher is alive.
    pub liveliness: Liveliness,
    /// How long such a proof is valid.
    pub lease: QosDuration,
}

impl Default for Qos {
    /// The default of a publisher in rclcpp: reliable, volatile, keep last 10.
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

/// The policies that a subscriber must match: `reliable`, `best effort, transient local`.
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
    /// What a publisher of ROS 1 that latches offers in terms of QoS: its last message, also to late joiners.
    pub(crate) fn of_latching_ros1() -> Self {
        Self {
            durability: Durability::TransientLocal,
            history: History::KeepLast(1),
            ..Self::default()
        }
    }

    /// What a publisher of ROS 1 offers, by the metadata of its channel; `None` if it does not latch: then it offers
    /// nothing in particular.
    pub(crate) fn of_ros1(metadata: &BTreeMap<String, String>) -> Option<Self> {
        let latching = metadata.get("latching").map(String::as_str);
        matches!(latching, Some("1" | "true")).then(Self::of_latching_ros1)
    }

    /// Parses `offered_qos_profiles` of a channel: a YAML list with one entry for each publisher, policies as integers
    /// or as words. Missing or unknown policies get the default. Without text, or if the text is not such a list, there
    /// are no profiles.
    pub fn parse_offers(yaml: &str) -> Vec<Self> {
        if yaml.trim().is_empty() {
            return Vec::new();
        }
        let list = yaml::read(yaml).ok().flatten();
        list.map(|list| Self::offers_in(&list)).unwrap_or_default()
    }

    /// The profiles of a list of mappings; none if it is anything else.
    pub(crate) fn offers_in(list: &Node) -> Vec<Self> {
        profiles_in(list).iter().map(RecordedProfile::qos).collect()
    }
}

/// The most messages of a latched publisher that count, however many it keeps. `/rosout` keeps a thousand, and maps can
/// have megabytes each.
pub const MAX_LATCHED_MESSAGES: u32 = 10;

/// How many messages the latched publishers of a channel keep together, from its `offered_qos_profiles`. A publisher
/// whose history the recorder could not see counts as one.
pub(crate) fn kept_by_latched(yaml: &str) -> usize {
    let list = yaml::read(yaml).ok().flatten();
    let profiles = list.as_deref().map(profiles_in).unwrap_or_default();
    let depths = profiles
        .iter()
        .filter(|it| it.policy("durability").is(1, "transient_local"))
        .map(RecordedProfile::kept_messages);
    depths.fold(0_usize, usize::saturating_add).max(1)
}

fn profiles_in(list: &Node) -> Vec<RecordedProfile<'_>> {
    let profile = |node| RecordedProfile::of(node);
    let items = list.items().unwrap_or_default().iter();
    let profiles: Option<_> = items.map(|item| profile(item)).collect();
    profiles.unwrap_or_default()
}

/// A profile as it is written: a mapping of policies. Unknown ones are ignored.
struct RecordedProfile<'a>(&'a Node);

/// A policy: the integer of the middleware, or a word. Anything else, for example a negative number, counts as missing.
#[derive(Clone, Copy)]
struct Policy<'a>(Option<&'a Node>);

impl<'a> RecordedProfile<'a> {
    /// Null is a profile without policies.
    fn of(node: &'a Node) -> Option<Self> {
        let is_profile = node.is_null() || node.entries().is_some();
        is_profile.then_some(Self(node))
    }

    fn policy(&self, name: &str) -> Policy<'a> {
        Policy(self.0.get(name))
    }

    fn kept_messages(&self) -> usize {
        let most = MAX_LATCHED_MESSAGES as usize;
        let history = self.policy("history");
        if history.is(2, "keep_all") {
            return most;
        }
        let depth = self.policy("depth").number();
        let depth = depth.filter(|_| history.is(1, "keep_last"));
        depth.map_or(1, |depth| {
            usize::try_from(depth).unwrap_or(most).clamp(1, most)
        })
    }

    fn qos(&self) -> Qos {
        let default = Qos::default();
        let history = self.policy("history");
        let depth = match self.policy("depth").number() {
            // Zero means "system default", which is 10 in rclcpp.
            None | Some(0) => default.history,
            Some(depth) => History::KeepLast(u32::try_from(depth).unwrap_or(u32::MAX)),
        };
        Qos {
            reliability: if self.policy("reliability").is(2, "best_effort") {
                Reliability::BestEffort
            } else {
                default.reliability
            },
            durability: if self.policy("durability").is(1, "transient_local") {
                Durability::TransientLocal
            } else {
                default.durability
            },
            // Recorders on DDS cannot see the history: they write "unknown" and a meaningless depth.
            history: if history.is(2, "keep_all") {
                History::KeepAll
            } else if history.is(1, "keep_last") {
                depth
            } else {
                default.history
            },
            deadline: self.duration("deadline"),
            lifespan: self.duration("lifespan"),
            liveliness: if self.policy("liveliness").is(3, "manual_by_topic") {
                Liveliness::ManualByTopic
            } else {
                default.liveliness
            },
            lease: self.duration("liveliness_lease_duration"),
        }
    }

    /// "No limit" is written in many ways: missing, zero, or the largest value of the middleware or of the wire format.
    /// A value of more than 68 years counts as no limit.
    fn duration(&self, name: &str) -> QosDuration {
        let span = self.0.get(name);
        let part = |name| Policy(span.and_then(|span| span.get(name))).number();
        let (sec, nsec) = (part("sec"), part("nsec").unwrap_or(0));
        match (sec, nsec) {
            (None | Some(0), 0) | (Some(2_147_483_647..), _) => QosDuration::INFINITE,
            (sec, nsec) => QosDuration {
                sec: sec.unwrap_or(0),
                nsec,
            },
        }
    }
}

impl Policy<'_> {
    fn number(self) -> Option<u64> {
        self.0.and_then(Node::quoted_integer)
    }

    fn is(self, number: u64, word: &str) -> bool {
        let text = self.0.and_then(Node::text);
        text.is_some_and(|text| text.eq_ignore_ascii_case(word)) || self.number() == Some(number)
    }
}
