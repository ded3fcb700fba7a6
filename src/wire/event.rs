//! [`WireEvent`]: what happens on the network during a session. The `Display` text says what happened; what a
//! user can do about it depends on the program.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::ros::{Durability, Qos, Reliability};
use crate::untrusted::Foreign;

/// What happens on the network. Sent from zenoh's threads: the receiver must not block.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum WireEvent {
    /// A node subscribes to a topic that this session publishes, with the same type and hash.
    SubscriberJoined {
        /// The topic.
        topic: String,
        /// The node.
        node: String,
    },
    /// A node no longer subscribes to a topic that this session publishes.
    SubscriberLeft {
        /// The topic.
        topic: String,
        /// The node.
        node: String,
    },
    /// A topic of this session has a subscriber that data can reach, or has none any more. Independent of
    /// tokens.
    Matching {
        /// The topic.
        topic: String,
        /// Whether a route to a subscriber is up.
        matched: bool,
    },
    /// A node subscribes to the clock. The last value is sent to it again automatically.
    ClockSubscriber {
        /// The node.
        node: String,
    },
    /// The connection to the network was lost or is back; [`Session::path`](crate::wire::session::Session::path)
    /// has the state. While it is lost, puts reach no subscriber.
    PathChanged,
    /// The router of this host has ended, and this process has become the router.
    BecameRouter {
        /// The endpoints at which it listens.
        listen: Vec<String>,
    },
    /// This session publishes `/clock` from now on, or no longer: a command has changed it.
    OwnClock {
        /// Whether it is published now.
        is_served: bool,
    },
    /// Another node publishes `/clock` while this session serves it.
    ForeignClock {
        /// The node.
        node: String,
    },
    /// Another node publishes topics that this session publishes. Sent once per topic, when the token appears.
    ForeignPublisher {
        /// The topics.
        topics: Vec<String>,
        /// The node.
        node: String,
    },
    /// Another node has the name of this node.
    SameNodeName {
        /// The name.
        node: String,
        /// The session of the other node.
        zid: String,
    },
    /// A node subscribes to a topic with another type or hash than is published: it receives nothing and sees
    /// no error.
    TypeMismatch {
        /// The topic.
        topic: String,
        /// Type and hash that are published.
        ours: String,
        /// Type and hash of the subscription.
        theirs: String,
        /// The node.
        node: String,
        /// Whether only the hash differs.
        is_same_type: bool,
    },
    /// The type hash of a topic is unknown: ROS 2 nodes after Humble do not receive the topic.
    UnknownTypeHash {
        /// The topic.
        topic: String,
        /// Its type.
        type_name: String,
        /// Why it is unknown.
        why: String,
    },
    /// The publishers of a topic had different profiles when it was recorded.
    MixedProfiles {
        /// The topic.
        topic: String,
        /// The profile with which it is published.
        qos: Qos,
    },
    /// A put waited for the whole stall timeout and its message was dropped: from now on the stuck subscriber loses
    /// messages.
    Stalled {
        /// The topic whose message waited.
        topic: String,
        /// How long it waited.
        waited: Duration,
        /// The subscribers of the topic: one of them is stuck, or the router between.
        nodes: Vec<String>,
    },
    /// A stuck subscriber reads again.
    Back {
        /// The nodes of the session that was stuck.
        nodes: Vec<String>,
        /// How long it was stuck.
        away: Duration,
        /// How many messages it has lost, at least; 0 if that is not known.
        lost: u64,
    },
    /// The link of a subscriber closed after the subscriber had taken nothing for a second or more.
    Gone {
        /// The nodes of the session at the other end of the link.
        nodes: Vec<String>,
        /// How long the subscriber had taken nothing.
        away: Duration,
        /// How many messages it has lost, at most.
        possibly_lost: u64,
    },
    /// The network asks this program to end; the text says why.
    AskedToEnd(String),
    /// Any other warning.
    Warning(String),
}

/// Escaped, because names of nodes and topics on the network may contain anything.
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
                "the zenoh router has stopped: this player is the router now, on {}",
                listen.join(", ")
            ),
            Event::OwnClock { is_served: true } => write!(f, "/clock is published"),
            Event::OwnClock { is_served: false } => {
                write!(f, "/clock is not published any more")
            }
            Event::ForeignClock { node } => write!(
                f,
                "{node} publishes /clock too: time will jump between the two for every node with use_sim_time"
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
                "{node} gets nothing of {topic}: it subscribes to {theirs}, and {ours} is published"
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
            Event::Stalled { .. } | Event::Back { .. } | Event::Gone { .. } => self.stuck(f),
            Event::AskedToEnd(text) | Event::Warning(text) => f.write_str(text),
        }
    }
}

impl Unescaped<'_> {
    /// The text of events about stuck subscribers.
    fn stuck(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use WireEvent as Event;
        match self.0 {
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
                    "{whose} read nothing for {:.1} s while {topic} was sent: it loses all further messages until it reads again",
                    waited.as_secs_f64()
                )
            }
            Event::Back { nodes, away, lost } => {
                let who = match &nodes[..] {
                    [] => "a subscriber".to_owned(),
                    nodes => nodes.join(", "),
                };
                let away = away.as_secs_f64();
                write!(f, "{who}: reading again after {away:.1} s; ")?;
                if *lost == 0 {
                    // A session without a node does not announce its topics, so its losses cannot be counted.
                    f.write_str("how many messages it lost is not known")
                } else {
                    write!(f, "lost {} or more", messages(*lost))
                }
            }
            Event::Gone {
                nodes,
                away,
                possibly_lost,
            } => {
                let who = match &nodes[..] {
                    [] => "a subscriber".to_owned(),
                    nodes => nodes.join(", "),
                };
                write!(
                    f,
                    "{who} read nothing for {:.1} s, then its link closed: it may have lost up to {}",
                    away.as_secs_f64(),
                    messages(*possibly_lost)
                )
            }
            _ => Ok(()),
        }
    }
}

/// Names of topics: at most the first five.
fn listed(topics: &[String]) -> String {
    const NAMED: usize = 5;
    let named = topics.iter().take(NAMED).map(String::as_str);
    let named = named.collect::<Vec<_>>().join(", ");
    match topics.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// The receiver of events; cheap to clone.
#[derive(Clone)]
pub(crate) struct Events(Arc<dyn Fn(WireEvent) + Send + Sync>);

impl Events {
    pub(crate) fn new(receiver: impl Fn(WireEvent) + Send + Sync + 'static) -> Self {
        Self(Arc::new(receiver))
    }

    pub(crate) fn send(&self, event: WireEvent) {
        (self.0)(event);
    }

    pub(crate) fn warn(&self, text: String) {
        self.send(WireEvent::Warning(text));
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Events")
    }
}

fn messages(number: u64) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{number} message{s}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_losses_are_called_unknown() {
        for (nodes, lost, text) in [
            (
                vec!["/listener".to_owned()],
                1,
                "/listener: reading again after 6.0 s; lost 1 message or more",
            ),
            // No node of the ROS graph.
            (
                vec![],
                0,
                "a subscriber: reading again after 6.0 s; how many messages it lost is not known",
            ),
        ] {
            let away = Duration::from_secs(6);
            assert_eq!(WireEvent::Back { nodes, away, lost }.to_string(), text);
        }
    }
}
