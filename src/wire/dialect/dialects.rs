//! [`Dialect`]: the ways to put ROS topics on zenoh.
//!
//! A dialect decides everything that subscribers see: key expressions, liveliness tokens, the reliability and
//! history of puts, the form of messages, and who counts as a subscriber. A new dialect is a variant here and in
//! the enums of `interface.rs`; the compiler names every place that has to decide.

use super::interface::{Nodes, Plan};
use super::notation::Notation;
use super::own_clock::ClockAnnouncer;
use super::plain;
use super::plan::OwnClock;
use super::ros1_topics::Ros1Topics;
use crate::bag::{Topic, TopicId};
use crate::wire::error::WireError;
use crate::wire::event::Events;
use crate::wire::options::{Played, Protocol, Ros1Messages, Skipped};
use crate::wire::rmw_zenoh::advertise;
use crate::wire::rmw_zenoh::graph::Wake;
use crate::wire::rmw_zenoh::node::Node;
use crate::wire::rmw_zenoh::ours::Ours;

/// The topics of a recording that a protocol cannot carry under their own names, with the reasons. ROS 1 topics count
/// in their ROS 2 form where subscribers are ROS 2 nodes.
pub fn not_carried(protocol: Protocol, topics: &[Topic]) -> Vec<Skipped> {
    let played = (0..).zip(topics).map(|(id, topic)| Played {
        id: TopicId(id),
        name: topic.name.clone(),
        topic: topic.clone(),
        qos: None,
    });
    let played: Vec<Played> = played.collect();
    let for_nodes = |notation| {
        let topics = Ros1Topics::of(&played, Ros1Messages::Transcoded);
        advertise::grouped(&topics, OwnClock::NotServed, &notation).1
    };
    match protocol {
        Protocol::RmwZenoh => for_nodes(Notation::RmwZenoh { domain: 0 }),
        Protocol::Ros2Dds => for_nodes(Notation::Ros2Dds {
            namespace: "/".into(),
        }),
        Protocol::PlainKeys => plain::grouped(&played, OwnClock::NotServed).1,
    }
}

/// A dialect, as this session speaks it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Dialect<'a> {
    /// As a node of ROS 2, in the notation of the node.
    RosGraph(&'a Node),
    /// Plain keys, for subscribers that are not ROS 2 nodes.
    Plain,
}

impl Dialect<'_> {
    /// Announces this session to the others, unless it is announced already.
    pub(crate) fn announce(self) -> Result<(), WireError> {
        match self {
            Self::RosGraph(node) => node.announce(),
            Self::Plain => Ok(()),
        }
    }

    /// What to declare for recorded topics, and for the clock if one is served.
    pub(crate) fn plan(
        self,
        played: &[Played],
        clock: OwnClock,
        events: &Events,
    ) -> Result<Plan, WireError> {
        match self {
            Self::RosGraph(node) => node.plan(played, clock),
            Self::Plain => plain::plan(played, clock, events),
        }
    }

    /// The other nodes.
    pub(crate) fn nodes(self) -> Nodes {
        match self {
            Self::RosGraph(node) => Nodes::RosGraph(node.graph.clone()),
            Self::Plain => Nodes::Unannounced,
        }
    }

    /// How to make known a clock that begins or ends later.
    pub(crate) fn clock_announcer(self) -> ClockAnnouncer {
        match self {
            Self::RosGraph(node) => ClockAnnouncer::RosGraph {
                endpoints: Box::new(node.endpoints.clone()),
                form: node.hash_form(),
                graph: node.graph.clone(),
            },
            Self::Plain => ClockAnnouncer::Plain,
        }
    }

    /// Messages are also put with a second session, `blocking_puts`.
    pub(crate) fn puts_also_with(self, blocking_puts: &zenoh::Session) -> Result<(), WireError> {
        match self {
            Self::RosGraph(node) => node.puts_also_with(blocking_puts),
            Self::Plain => Ok(()),
        }
    }

    /// This session now publishes `ours` and nothing else; `clock` is called for each new subscriber of the clock.
    pub(crate) fn publishes(self, ours: Vec<Ours>, clock: Option<Wake>) {
        match self {
            Self::RosGraph(node) => node.publishes(ours, clock),
            Self::Plain => {}
        }
    }
}
