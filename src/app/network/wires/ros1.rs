//! [`Ros1Wire`]: the wire of ROS 1.

use std::env;
use std::net::IpAddr;
use std::time::Duration;

use bagplay::bag::{Bag, TopicId};
use bagplay::cli::{CongestionArg, Exit, Losses, Plan, WireArgs};
use bagplay::player::Transport;
use bagplay::ros::{Durability, Qos};
use bagplay::ros1::{
    Ros1Error, Ros1Event, Ros1Monitor, Ros1Node, Ros1Options, Ros1Output, Ros1Played, Ros1Skipped,
    Ros1TopicState, Ros2Messages, RpcUri, SimTimeLeft, SlowSubscriber,
};
use bagplay::untrusted::Foreign;
use bagplay::wire::{Drained, Missed, TopicState, WireEvent};

use crate::app::failure::Failure;

/// Where a master is if the environment does not say.
const MASTER: &str = "http://localhost:11311";
const CLOCK: &str = "/clock";

/// This program as a node of ROS 1.
#[derive(Debug)]
pub(in crate::app::network) struct Ros1Wire {
    node: Ros1Node,
    counts: Ros1Counts,
}

/// Readable from any thread. Nothing is known before topics are advertised.
#[derive(Clone, Debug, Default)]
pub(in crate::app::network) struct Ros1Counts {
    monitor: Option<Ros1Monitor>,
}

impl Ros1Counts {
    /// The state of each topic, in the terms of the wires of ROS 2.
    pub(super) fn topics(&self) -> Vec<TopicState> {
        let monitor = self.monitor.as_ref();
        let topics = monitor.map(Ros1Monitor::topics).unwrap_or_default();
        topics.into_iter().map(topic_state).collect()
    }

    /// How many nodes subscribe to the clock; `None` if it is not published.
    pub(super) fn clock(&self) -> Option<usize> {
        let subscribers = self.monitor.as_ref()?.clock_subscribers()?;
        Some(subscribers.len())
    }
}

impl Ros1Wire {
    /// Joins the network of the master that the environment names.
    pub(super) fn join(
        args: &WireArgs,
        ros2: Ros2Messages,
        events: impl Fn(WireEvent) + Send + Sync + 'static,
    ) -> Result<Self, Failure> {
        let options = Ros1Options {
            ros2,
            ..options(args)?
        };
        let forward = move |event| events(as_wire_event(event));
        Ok(Self {
            node: Ros1Node::start(&options, forward).map_err(|error| failure(&error))?,
            counts: Ros1Counts::default(),
        })
    }

    pub(super) fn describe(&self) -> String {
        self.node.describe()
    }

    pub(super) fn foreign_clock(&self) -> Option<String> {
        self.node.foreign_clock()
    }

    /// Publishes the chosen topics and the clock; returns the topics that cannot be published, too.
    pub(super) fn advertise(
        &mut self,
        bag: &Bag,
        plan: &Plan,
    ) -> Result<(Ros1Output, Vec<Ros1Skipped>), Failure> {
        let chosen = plan.chosen.iter();
        let played = chosen.map(|chosen| Ros1Played {
            id: chosen.id,
            name: chosen.name.clone(),
            topic: bag.topics()[chosen.id.index()].clone(),
            durability: chosen.qos.map(|qos| qos.durability),
        });
        let played: Vec<Ros1Played> = played.collect();
        self.declare(&played, plan.options.clock.is_served())
    }

    /// Publishes a clock without topics.
    pub(super) fn advertise_clock(&mut self) -> Result<Ros1Output, Failure> {
        let (output, _) = self.declare(&[], true)?;
        Ok(output)
    }

    fn declare(
        &mut self,
        played: &[Ros1Played],
        serves_clock: bool,
    ) -> Result<(Ros1Output, Vec<Ros1Skipped>), Failure> {
        let advertised = self.node.advertise(played, serves_clock);
        let (output, monitor, skipped) = advertised.map_err(|error| failure(&error))?;
        self.counts.monitor = Some(monitor);
        Ok((output, skipped))
    }

    /// Offers the services of a player.
    pub(super) fn serve_player(&self, transport: &Transport) -> Result<(), Failure> {
        self.node
            .serve_player(transport)
            .map_err(|error| failure(&error))
    }

    pub(super) fn wait_for_connections(&self, longest: Duration) {
        if let Some(monitor) = &self.counts.monitor {
            self.node.wait_for_connections(monitor, longest);
        }
    }

    pub(super) fn counts(&self) -> Ros1Counts {
        self.counts.clone()
    }

    /// The topics with a subscriber that is connected.
    pub(super) fn subscribed_topics(&self) -> Vec<TopicId> {
        let monitor = self.counts.monitor.as_ref();
        monitor.map(Ros1Monitor::matched).unwrap_or_default()
    }

    /// How many nodes are connected to a topic.
    pub(super) fn subscriber_count(&self, topic: TopicId) -> usize {
        let states = self.counts.topics();
        let state = states.iter().find(|state| state.ids.contains(&topic));
        state.map_or(0, |state| state.subscribers)
    }

    /// The nodes that are connected to a topic, sorted.
    pub(super) fn subscriber_nodes(&self, topic: &str) -> Vec<String> {
        let monitor = self.counts.monitor.as_ref();
        let topics = monitor.map(Ros1Monitor::topics).unwrap_or_default();
        let of_topic = topics.into_iter().filter(|state| state.name == topic);
        let mut nodes: Vec<String> = of_topic.flat_map(|state| state.subscribers).collect();
        nodes.sort_unstable();
        nodes
    }

    pub(super) fn losses(&self) -> Losses {
        // A subscriber of the clock that does not keep up misses times and gets the last ones.
        Losses::of_topics(&self.counts.topics(), Missed::default())
    }

    /// Waits until all messages have been sent.
    pub(in crate::app::network) fn drain(
        &self,
        mut is_called_off: impl FnMut() -> bool,
    ) -> Drained {
        let mut was_called_off = false;
        let bytes = self.node.drain(|| {
            was_called_off = was_called_off || is_called_off();
            was_called_off
        });
        match bytes {
            0 => Drained::Whole,
            bytes if was_called_off => Drained::CalledOff { bytes },
            bytes => Drained::Untaken { bytes },
        }
    }

    /// Leaves the network. A warning says what stays at the master: nobody reads events any more. It comes before the
    /// last messages, which may take longer than the process waits.
    pub(super) fn leave(mut self) {
        let left = self.node.leave();
        if !left.is_empty() {
            let restore = left.sim_time.as_ref().map(|left| match left {
                SimTimeLeft::NotTaken => "rosparam delete /use_sim_time",
                SimTimeLeft::OtherPlayer { .. } => {
                    "rosparam delete /use_sim_time if that player has ended"
                }
            });
            let cleanup = (!left.registered.is_empty()).then_some("rosnode cleanup");
            let hints: Vec<&str> = restore.into_iter().chain(cleanup).collect();
            tracing::warn!("{left}; hint: {}", hints.join(", "));
        }
    }

    /// The nodes for which messages wait, sorted.
    pub(super) fn late_nodes(&self) -> Vec<String> {
        self.node.late_nodes()
    }
}

fn options(args: &WireArgs) -> Result<Ros1Options, Failure> {
    let set = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let master = set("ROS_MASTER_URI").unwrap_or_else(|| MASTER.to_owned());
    let master: RpcUri = master.parse().map_err(|error| {
        let error = anyhow::anyhow!("ROS_MASTER_URI: {error}");
        Failure::new(Exit::Usage, error)
    })?;
    let address = set("ROS_IP");
    if let Some(address) = &address
        && address.parse::<IpAddr>().is_err()
    {
        let address = Foreign::text(address);
        let error = anyhow::anyhow!("ROS_IP: `{address}` is not an IP address");
        return Err(Failure::new(Exit::Usage, error));
    }
    let name = set("ROS_HOSTNAME");
    // Also an IP address, as nodes of ROS 1 take it.
    let is_name = |name: &String| {
        name.parse::<IpAddr>().is_ok() || format!("http://{name}:1/").parse::<RpcUri>().is_ok()
    };
    if let Some(name) = name.as_ref().filter(|name| !is_name(name)) {
        let name = Foreign::text(name);
        let error = anyhow::anyhow!("ROS_HOSTNAME: `{name}` is no name of a host");
        return Err(Failure::new(Exit::Usage, error));
    }
    Ok(Ros1Options {
        host: name.or(address),
        slow_subscriber: match args.congestion {
            CongestionArg::Block => SlowSubscriber::Wait,
            // `block-first` is refused with the other arguments.
            CongestionArg::BlockFirst | CongestionArg::Drop => SlowSubscriber::DropOldest,
        },
        stall_timeout: args.stall_timeout.to_std(),
        use_sim_time: args.use_sim_time,
        ..Ros1Options::new(master, &args.node_name)
    })
}

fn failure(error: &Ros1Error) -> Failure {
    let exit = match error {
        Ros1Error::NodeName(_) | Ros1Error::Address { .. } => Exit::Usage,
        _ => Exit::Failed,
    };
    let hint = match error {
        Ros1Error::Address { .. } => "; hint: ROS_HOSTNAME, or else ROS_IP, says it",
        Ros1Error::NoMaster { .. } => {
            "; hint: start roscore there, or set ROS_MASTER_URI to an address of this machine"
        }
        _ => "",
    };
    Failure::new(exit, anyhow::anyhow!("{error}{hint}"))
}

fn topic_state(topic: Ros1TopicState) -> TopicState {
    let durability = if topic.is_latched {
        Durability::TransientLocal
    } else {
        Durability::Volatile
    };
    TopicState {
        ids: topic.ids,
        name: topic.name,
        qos: Some(Qos {
            durability,
            ..Qos::default()
        }),
        sent: topic.sent,
        bytes: topic.bytes,
        dropped: topic.dropped,
        first_problem: topic.first_problem,
        missed: Missed {
            stalled: topic.stalled,
            lost: topic.lost,
            possibly_lost: 0,
        },
        has_match: !topic.subscribers.is_empty(),
        subscribers: topic.subscribers.len(),
    }
}

/// An event in the terms of the wires of ROS 2.
fn as_wire_event(event: Ros1Event) -> WireEvent {
    match event {
        Ros1Event::SubscriberJoined { topic, node } if topic == CLOCK => {
            WireEvent::ClockSubscriber { node }
        }
        Ros1Event::SubscriberJoined { topic, node } => WireEvent::SubscriberJoined { topic, node },
        Ros1Event::SubscriberLeft {
            topic,
            node,
            waiting: 0,
        } => WireEvent::SubscriberLeft { topic, node },
        Ros1Event::Stalled {
            topic,
            node,
            waited,
        } => WireEvent::Stalled {
            topic,
            waited,
            nodes: vec![node],
        },
        Ros1Event::ForeignClock { node } => WireEvent::ForeignClock { node },
        Ros1Event::OwnClock { is_served } => WireEvent::OwnClock { is_served },
        Ros1Event::Shutdown { ref reason } if reason.contains("same name") => {
            WireEvent::AskedToEnd(format!("{event}; hint: --node-name"))
        }
        Ros1Event::Shutdown { .. } => WireEvent::AskedToEnd(event.to_string()),
        Ros1Event::SimTimeOff => {
            WireEvent::Warning(format!("{event}; hint: --use-sim-time sets it for the run"))
        }
        Ros1Event::UnknownHost { .. } => WireEvent::Warning(format!(
            "{event}; hint: ROS_HOSTNAME, or else ROS_IP, says how nodes reach it"
        )),
        Ros1Event::NoConnections {
            is_want_of_files: true,
            ..
        } => WireEvent::Warning(format!(
            "{event}; hint: raise the limit of open files, for example ulimit -n 4096"
        )),
        event => WireEvent::Warning(event.to_string()),
    }
}
