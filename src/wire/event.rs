//! [`WireEvent`]: what happens on the network while we are on it. Its display says what happened; what can be done
//! about it depends on the program around this.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::ros::{Durability, Qos, Reliability};
use crate::untrusted::Foreign;

/// What happens on the network. Told from zenoh's threads: a receiver hands it on and does not wait.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WireEvent {
    /// A node subscribes to a topic of ours, with the type and hash we publish.
    SubscriberJoined {
        /// The topic.
        topic: String,
        /// The node.
        node: String,
    },
    /// It does no longer.
    SubscriberLeft {
        /// The topic.
        topic: String,
        /// The node.
        node: String,
    },
    /// Whether messages of a topic of ours have anywhere to go: the data path, not the wish.
    Matching {
        /// The topic.
        topic: String,
        /// Whether a subscriber's route is up.
        matched: bool,
    },
    /// A node subscribes to the clock. The last value is sent again at once, unasked.
    ClockSubscriber {
        /// The node.
        node: String,
    },
    /// The way to the network was lost or is there again: ask [`Session::path`](crate::wire::net::session::Session::path), which has
    /// the state. While it is lost, what is put reaches nobody.
    PathChanged,
    /// The router on this host is gone, and this session's process has taken its place.
    BecameRouter {
        /// The endpoints at which it listens.
        listen: Vec<String>,
    },
    /// Somebody else publishes `/clock` while we serve it.
    ForeignClock {
        /// The node.
        node: String,
    },
    /// Somebody else publishes topics of ours. Told topic by topic, as their tokens come.
    ForeignPublisher {
        /// The topics.
        topics: Vec<String>,
        /// The node.
        node: String,
    },
    /// Another node has our name.
    SameNodeName {
        /// The name.
        node: String,
        /// The other's session.
        zid: String,
    },
    /// A node subscribes to a topic of ours with another type or hash: it gets nothing, and nothing else says so.
    TypeMismatch {
        /// The topic.
        topic: String,
        /// Our type and hash.
        ours: String,
        /// Theirs.
        theirs: String,
        /// The node.
        node: String,
        /// Whether only the hash differs.
        is_same_type: bool,
    },
    /// No type hash is known for a topic of ours: ROS 2 nodes after Humble do not receive it.
    UnknownTypeHash {
        /// The topic.
        topic: String,
        /// Its type.
        type_name: String,
        /// Why there is none.
        why: String,
    },
    /// The publishers of a topic had different profiles when it was recorded.
    MixedProfiles {
        /// The topic.
        topic: String,
        /// The profile it is published with.
        qos: Qos,
    },
    /// A put waited for the whole stall timeout, and in vain: what is sent from now on is lost to who takes nothing.
    Stalled {
        /// The topic whose message waited.
        topic: String,
        /// How long it waited.
        waited: Duration,
        /// The topic's subscribers: it was one of them, or the router they are behind.
        nodes: Vec<String>,
    },
    /// Who took nothing takes something again.
    Back {
        /// The nodes of the session that was away.
        nodes: Vec<String>,
        /// How long it took nothing.
        away: Duration,
        /// How many messages it has lost at least.
        lost: u64,
    },
    /// Anything else worth telling.
    Warning(String),
}

/// Escaped: nodes and topics of others may have any name.
impl fmt::Display for WireEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Foreign::text(&Unescaped(self).to_string()).fmt(f)
    }
}

struct Unescaped<'a>(&'a WireEvent);

impl fmt::Display for Unescaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use WireEvent as Event;
        match self.0 {
            Event::SubscriberJoined { topic, node } => write!(f, "{node} subscribes to {topic}"),
            Event::SubscriberLeft { topic, node } => {
                write!(f, "{node} no longer subscribes to {topic}")
            }
            Event::Matching {
                topic,
                matched: true,
            } => write!(f, "{topic} has a subscriber"),
            Event::Matching {
                topic,
                matched: false,
            } => write!(f, "{topic} has no subscriber"),
            Event::ClockSubscriber { node } => write!(f, "{node} follows /clock"),
            Event::PathChanged => write!(f, "the connection to the zenoh router has changed"),
            Event::BecameRouter { listen } => write!(
                f,
                "the zenoh router is gone: this player is the router now, on {}",
                listen.join(", ")
            ),
            Event::ForeignClock { node } => write!(
                f,
                "{node} publishes /clock too: time will jump to and fro for every node with use_sim_time"
            ),
            Event::ForeignPublisher { topics, node } => {
                write!(
                    f,
                    "{node} publishes {} too: subscribers get both",
                    listed(topics)
                )
            }
            Event::SameNodeName { node, zid } => write!(
                f,
                "another node is called {node} (session {zid}): ROS tools cannot tell the two apart"
            ),
            Event::TypeMismatch {
                topic,
                ours,
                theirs,
                node,
                ..
            } => write!(
                f,
                "{node} gets nothing of {topic}: it wants {theirs}, and {ours} is published"
            ),
            Event::UnknownTypeHash {
                topic,
                type_name,
                why,
            } => write!(
                f,
                "type hash of {topic} ({type_name}) is unknown: {why}; ROS 2 nodes after Humble will not receive it"
            ),
            Event::MixedProfiles { topic, qos } => write!(
                f,
                "publishers of {topic} had different QoS profiles when it was recorded; it is published {}, {}",
                if qos.reliability == Reliability::Reliable {
                    "reliable"
                } else {
                    "best effort"
                },
                if qos.durability == Durability::TransientLocal {
                    "transient local"
                } else {
                    "volatile"
                },
            ),
            Event::Stalled {
                topic,
                waited,
                nodes,
            } => {
                let whose = match &nodes[..] {
                    [] => "a subscriber".to_owned(),
                    [node] => node.clone(),
                    nodes => format!("one of {}", nodes.join(", ")),
                };
                write!(
                    f,
                    "{whose} took nothing for {:.1} s while {topic} was sent and is left behind",
                    waited.as_secs_f64()
                )
            }
            Event::Back { nodes, away, lost } => {
                let who = match &nodes[..] {
                    [] => "a subscriber".to_owned(),
                    nodes => nodes.join(", "),
                };
                let away = away.as_secs_f64();
                write!(
                    f,
                    "{who} was away for {away:.1} s and lost {lost} messages or more"
                )
            }
            Event::Warning(text) => f.write_str(text),
        }
    }
}

/// Names of topics: the first few of many.
fn listed(topics: &[String]) -> String {
    const NAMED: usize = 5;
    let named = topics.iter().take(NAMED).map(String::as_str);
    let named = named.collect::<Vec<_>>().join(", ");
    match topics.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// Where events go; cheap to clone.
#[derive(Clone)]
pub(crate) struct Events(Arc<dyn Fn(WireEvent) + Send + Sync>);

impl Events {
    pub(crate) fn new(receiver: impl Fn(WireEvent) + Send + Sync + 'static) -> Self {
        Self(Arc::new(receiver))
    }

    pub(crate) fn tell(&self, event: WireEvent) {
        (self.0)(event);
    }

    pub(crate) fn warn(&self, text: String) {
        self.tell(WireEvent::Warning(text));
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Events")
    }
}
