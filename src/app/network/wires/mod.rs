//! [`OneWire`]: one wire of a run, and how all of a run are joined.

pub(super) mod left_out;
mod options;
mod ros1;
mod zenoh_wire;

use std::time::Duration;

use bagplay::bag::{Bag, TopicId};
use bagplay::cli::{Exit, Hints, Losses, Plan, PlayArgs, Wire, WireArgs};
use bagplay::output::Output;
use bagplay::player::Transport;
use bagplay::ros1::Ros2Messages;
use bagplay::wire::{
    Graph, Missed, Monitor, Protocol, Ros1Messages, Session, TopicState, WireError, WireOptions,
};
use crossbeam_channel::Sender;

use super::event::NetworkEvent;
use crate::app::failure::Failure;
use left_out::NotCarried;
use options::options;
use ros1::Ros1Counts;
pub(super) use ros1::Ros1Wire;
pub(super) use zenoh_wire::ZenohWire;

const CLOCK_TYPE: &str = "rosgraph_msgs/msg/Clock";

/// Where the messages of a wire go.
pub(super) type Sink = Box<dyn Output + Send>;

/// One wire of a run.
#[derive(Debug)]
pub(super) enum OneWire {
    /// Over zenoh.
    Zenoh(Box<ZenohWire>),
    /// That of ROS 1.
    Ros1(Ros1Wire),
}

/// Joins the networks of all wires that the arguments name. The sessions over zenoh have the same place in the network.
/// `adapt` may change all options.
pub(super) fn join(
    args: &WireArgs,
    adapt: impl Fn(WireOptions) -> WireOptions,
    events: &Sender<NetworkEvent>,
) -> Result<Vec<OneWire>, Failure> {
    let named = args.wires();
    let forward = |wire| {
        let shown = (named.len() > 1).then_some(wire);
        let events = events.clone();
        move |event| {
            // The channel is full only if the main thread is stuck; losing an event is better than waiting inside
            // zenoh. The state of the path must not be missed, so it is read as a state on every event.
            let _ = events.try_send(NetworkEvent::new(shown, event));
        }
    };
    let mut wires: Vec<OneWire> = Vec::new();
    for wire in named.iter().copied() {
        let protocol = match wire {
            Wire::RmwZenoh => Protocol::RmwZenoh,
            Wire::Ros2Dds => Protocol::Ros2Dds,
            Wire::Zenoh => Protocol::PlainKeys,
            Wire::Ros1 | Wire::Null => continue,
        };
        let options = adapt(options(args, protocol));
        let session = match wires.iter().find_map(OneWire::session) {
            Some(first) => first.open_beside(&options, forward(wire)),
            None => Session::open(&options, forward(wire)),
        };
        let zenoh = ZenohWire::new(wire, session.map_err(failure)?);
        wires.push(OneWire::Zenoh(Box::new(zenoh)));
    }
    if let Some(place) = named.iter().position(|wire| *wire == Wire::Ros1) {
        let ros2 = match adapt(WireOptions::default()).ros1 {
            Ros1Messages::Transcoded => Ros2Messages::Transcoded,
            Ros1Messages::LeftOut => Ros2Messages::LeftOut,
        };
        let ros1 = Ros1Wire::join(args, ros2, forward(Wire::Ros1))?;
        wires.insert(place, OneWire::Ros1(ros1));
    }
    Ok(wires)
}

impl OneWire {
    /// Which one it is.
    pub(super) fn wire(&self) -> Wire {
        match self {
            Self::Zenoh(zenoh) => zenoh.wire,
            Self::Ros1(_) => Wire::Ros1,
        }
    }

    /// The session, of a wire over zenoh.
    pub(super) fn session(&self) -> Option<&Session> {
        match self {
            Self::Zenoh(zenoh) => Some(zenoh.session()),
            Self::Ros1(_) => None,
        }
    }

    /// The same, if this program is a node of ROS 2 there.
    pub(super) fn node(&self) -> Option<&ZenohWire> {
        match self {
            Self::Zenoh(zenoh) if zenoh.wire.is_ros2() => Some(zenoh),
            _ => None,
        }
    }

    /// The same, to change it.
    pub(super) fn node_mut(&mut self) -> Option<&mut ZenohWire> {
        match self {
            Self::Zenoh(zenoh) if zenoh.wire.is_ros2() => Some(zenoh),
            _ => None,
        }
    }

    /// The role of this program on the network.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Zenoh(zenoh) => zenoh.session().describe(),
            Self::Ros1(ros1) => ros1.describe(),
        }
    }

    /// Another node that publishes `/clock`.
    pub(super) fn foreign_clock(&self) -> Option<String> {
        match self {
            Self::Zenoh(zenoh) => zenoh.session().graph().foreign_clock(),
            Self::Ros1(ros1) => ros1.foreign_clock(),
        }
    }

    /// Declares the chosen topics and the clock; returns the topics that this wire cannot carry, too.
    pub(super) fn advertise(
        &mut self,
        args: &PlayArgs,
        (bag, plan): (&Bag, &Plan),
        hints: &Hints,
    ) -> Result<(Sink, Vec<NotCarried>), Failure> {
        match self {
            Self::Zenoh(zenoh) => {
                let (output, skipped) = zenoh.advertise(args, (bag, plan), hints)?;
                let skipped = skipped.iter().map(|one| NotCarried::of(one, hints));
                Ok((Box::new(output), skipped.collect()))
            }
            Self::Ros1(ros1) => {
                let (output, skipped) = ros1.advertise(bag, plan)?;
                let skipped = skipped.iter().map(NotCarried::of_ros1);
                Ok((Box::new(output), skipped.collect()))
            }
        }
    }

    /// Declares a clock without topics.
    pub(super) fn advertise_clock(&mut self, hz: f64) -> Result<Sink, Failure> {
        Ok(match self {
            Self::Zenoh(zenoh) => Box::new(zenoh.advertise_clock(hz)?),
            Self::Ros1(ros1) => Box::new(ros1.advertise_clock()?),
        })
    }

    /// Offers the services of a player of ROS 1.
    pub(super) fn serve_ros1_player(&self, transport: &Transport) -> Result<(), Failure> {
        match self {
            Self::Zenoh(_) => Ok(()),
            Self::Ros1(ros1) => ros1.serve_player(transport),
        }
    }

    /// Waits for links to the nodes that are there, for this long at most.
    pub(super) fn wait_for_routes(&self, longest: Duration) {
        match self {
            Self::Zenoh(zenoh) => zenoh.wait_for_routes(longest),
            Self::Ros1(ros1) => ros1.wait_for_connections(longest),
        }
    }

    /// Whether messages of a topic can reach a subscriber.
    pub(super) fn has_subscriber(&self, topic: TopicId) -> bool {
        match self {
            Self::Zenoh(zenoh) => zenoh.has_subscriber(topic),
            Self::Ros1(ros1) => ros1.subscribed_topics().contains(&topic),
        }
    }

    /// The topics with a subscriber.
    pub(super) fn subscribed_topics(&self) -> Vec<TopicId> {
        match self {
            Self::Zenoh(zenoh) => {
                let monitor = zenoh.monitor.as_ref();
                monitor.map(Monitor::matched).unwrap_or_default()
            }
            Self::Ros1(ros1) => ros1.subscribed_topics(),
        }
    }

    /// How many subscribers a topic has; `name` is its name on the network.
    pub(super) fn subscriber_count(&self, topic: TopicId, name: &str) -> usize {
        match self {
            Self::Zenoh(zenoh) if zenoh.wire.is_ros2() => zenoh.session().graph().reached(name),
            // Plain subscribers cannot be counted: there are some or none.
            Self::Zenoh(zenoh) => usize::from(zenoh.has_subscriber(topic)),
            Self::Ros1(ros1) => ros1.subscriber_count(topic),
        }
    }

    /// The nodes that receive what this program publishes on a topic.
    pub(super) fn subscriber_nodes(&self, topic: &str) -> Vec<String> {
        match self {
            Self::Zenoh(zenoh) => zenoh.session().graph().subscriber_nodes(topic),
            Self::Ros1(ros1) => ros1.subscriber_nodes(topic),
        }
    }

    /// Whether another node subscribes to `/clock`.
    pub(super) fn has_clock_subscriber(&self) -> bool {
        let count = match self {
            Self::Zenoh(zenoh) => zenoh.clock_subscribers(),
            Self::Ros1(ros1) => ros1.counts().clock(),
        };
        count.is_some_and(|count| count > 0)
    }

    /// What subscribers are known to have missed.
    pub(super) fn losses(&self) -> Losses {
        match self {
            Self::Zenoh(zenoh) => zenoh.losses(),
            Self::Ros1(ros1) => ros1.losses(),
        }
    }

    /// What subscribers of the clock are known to have missed.
    pub(super) fn missed_clock(&self) -> Missed {
        match self {
            Self::Zenoh(zenoh) => {
                let monitor = zenoh.monitor.as_ref();
                monitor.and_then(Monitor::clock).unwrap_or_default()
            }
            // A subscriber of the clock that does not keep up misses times and gets the last ones.
            Self::Ros1(_) => Missed::default(),
        }
    }

    /// The state of each topic.
    pub(super) fn topics(&self) -> Vec<TopicState> {
        self.counts().topics()
    }

    /// The numbers of subscribers, readable from any thread.
    pub(super) fn counts(&self) -> WireCounts {
        match self {
            Self::Zenoh(zenoh) => WireCounts::Zenoh {
                monitor: zenoh.monitor.clone(),
                graph: zenoh.wire.is_ros2().then(|| zenoh.session().graph()),
            },
            Self::Ros1(ros1) => WireCounts::Ros1(ros1.counts()),
        }
    }

    /// The nodes that have not taken the last messages, where the wire knows them.
    pub(super) fn late_nodes(&self) -> Vec<String> {
        match self {
            Self::Zenoh(_) => Vec::new(),
            Self::Ros1(ros1) => ros1.late_nodes(),
        }
    }

    /// The wire of ROS 1.
    pub(super) fn ros1(&self) -> Option<&Ros1Wire> {
        match self {
            Self::Zenoh(_) => None,
            Self::Ros1(ros1) => Some(ros1),
        }
    }

    /// Leaves the network. `sink` was the output to this wire, if there was one.
    pub(super) fn leave(self, sink: Option<Sink>) {
        drop(sink);
        match self {
            Self::Zenoh(zenoh) => zenoh.leave(),
            Self::Ros1(ros1) => ros1.leave(),
        }
    }
}

/// The subscribers on a wire, readable from any thread.
#[derive(Clone, Debug)]
pub(super) enum WireCounts {
    Zenoh {
        /// Known once topics are advertised.
        monitor: Option<Monitor>,
        /// Of the nodes of ROS 2; `None` with plain keys, where subscribers do not announce themselves.
        graph: Option<Graph>,
    },
    Ros1(Ros1Counts),
}

impl WireCounts {
    /// The state of each topic.
    pub(super) fn topics(&self) -> Vec<TopicState> {
        match self {
            Self::Zenoh { monitor, .. } => {
                let monitor = monitor.as_ref();
                monitor.map(Monitor::topics).unwrap_or_default()
            }
            Self::Ros1(counts) => counts.topics(),
        }
    }

    /// How many nodes subscribe to the clock; `None` if there is none, or if it is not known.
    pub(super) fn clock(&self) -> Option<usize> {
        match self {
            Self::Zenoh { monitor, graph } => {
                let has_clock = monitor.as_ref().is_some_and(Monitor::has_clock);
                let graph = graph.as_ref().filter(|_| has_clock);
                graph.map(|graph| graph.subscribers("/clock", CLOCK_TYPE))
            }
            Self::Ros1(counts) => counts.clock(),
        }
    }
}

/// Distinguishes usage errors from failures.
pub(crate) fn failure(error: WireError) -> Failure {
    let exit = match error {
        WireError::Name { .. }
        | WireError::NodeName(_)
        | WireError::Endpoint { .. }
        | WireError::Environment { .. }
        | WireError::ConfigFile { .. }
        | WireError::Setting { .. }
        | WireError::SharedMemoryAndBlockFirst => Exit::Usage,
        _ => Exit::Failed,
    };
    Failure::new(exit, error)
}
