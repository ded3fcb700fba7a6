//! [`Ros1Event`]: what happens on a network of ROS 1. The `Display` text says what happened.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::untrusted::Foreign;

/// What happens on the network. Sent from several threads: the receiver must not block.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Ros1Event {
    /// A node has connected to a topic.
    SubscriberJoined {
        /// The topic.
        topic: String,
        /// The node.
        node: String,
    },
    /// A node has closed its connection to a topic.
    SubscriberLeft {
        /// The topic.
        topic: String,
        /// The node.
        node: String,
        /// How many messages waited for it: it has ended in the middle, or was killed.
        waiting: usize,
    },
    /// A node expects another type: it is refused.
    TypeMismatch {
        /// The topic.
        topic: String,
        /// Type and MD5 sum that are published.
        ours: String,
        /// Type and MD5 sum that the node expects.
        theirs: String,
        /// The node.
        node: String,
    },
    /// A message has waited for the whole stall timeout and is dropped: from now on the node loses messages.
    Stalled {
        /// The topic.
        topic: String,
        /// The node that took nothing.
        node: String,
        /// How long the message waited.
        waited: Duration,
    },
    /// A node that was stuck takes messages again.
    Back {
        /// The topic.
        topic: String,
        /// The node.
        node: String,
        /// How long it took nothing after it had lost the first message.
        away: Duration,
        /// How many messages it has lost.
        lost: u64,
    },
    /// This node publishes `/clock` from now on, or no longer: a command has changed it.
    OwnClock {
        /// Whether it is published now.
        is_served: bool,
    },
    /// `/clock` is served, and the parameter `/use_sim_time` is not true: nodes that start do not follow it.
    SimTimeOff,
    /// Another node publishes `/clock` while this one serves it.
    ForeignClock {
        /// The node.
        node: String,
    },
    /// The master does not answer, or answers again.
    Master {
        /// Whether it answers.
        is_there: bool,
    },
    /// The master asks this node to end: another node has registered under its name.
    Shutdown {
        /// The reason that the master gives.
        reason: String,
    },
    /// Any other warning.
    Warning(String),
}

/// Escaped, because names of nodes may contain anything.
impl fmt::Display for Ros1Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Foreign::text(&self.unescaped()).fmt(f)
    }
}

impl Ros1Event {
    fn unescaped(&self) -> String {
        match self {
            Self::SubscriberJoined { topic, node } => format!("{node} subscribes to {topic}"),
            Self::SubscriberLeft {
                topic,
                node,
                waiting,
            } => match waiting {
                0 => format!("{node} no longer subscribes to {topic}"),
                1 => {
                    format!("{node} closed its connection to {topic} while a message waited for it")
                }
                many => format!(
                    "{node} closed its connection to {topic} while {many} messages waited for it"
                ),
            },
            Self::TypeMismatch {
                topic,
                ours,
                theirs,
                node,
            } => format!(
                "{node} gets nothing of {topic}: it subscribes to {theirs}, and {ours} is published"
            ),
            Self::Stalled {
                topic,
                node,
                waited,
            } => format!(
                "{node} read nothing for {:.1} s while {topic} was sent: it loses all further messages until it reads again",
                waited.as_secs_f64()
            ),
            Self::Back {
                topic,
                node,
                away,
                lost,
            } => format!(
                "{node}: reading {topic} again after {:.1} s; lost {lost} message{}",
                away.as_secs_f64(),
                if *lost == 1 { "" } else { "s" }
            ),
            Self::OwnClock { is_served: true } => "/clock is published".to_owned(),
            Self::OwnClock { is_served: false } => "/clock is not published any more".to_owned(),
            Self::SimTimeOff => {
                "the parameter /use_sim_time is not true: nodes that start do not follow /clock"
                    .to_owned()
            }
            Self::ForeignClock { node } => format!(
                "{node} publishes /clock too: time will jump between the two for every node with use_sim_time"
            ),
            Self::Master { is_there: false } => {
                "the master of ROS 1 does not answer: no new subscriber can find this player"
                    .to_owned()
            }
            Self::Master { is_there: true } => "the master of ROS 1 answers again".to_owned(),
            Self::Shutdown { reason } => {
                format!("the master of ROS 1 asks this player to end: {reason}")
            }
            Self::Warning(text) => text.clone(),
        }
    }
}

/// The receiver of events; cheap to clone.
#[derive(Clone)]
pub(crate) struct Events(Arc<dyn Fn(Ros1Event) + Send + Sync>);

impl Events {
    pub(crate) fn new(receiver: impl Fn(Ros1Event) + Send + Sync + 'static) -> Self {
        Self(Arc::new(receiver))
    }

    pub(crate) fn send(&self, event: Ros1Event) {
        (self.0)(event);
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Events")
    }
}
