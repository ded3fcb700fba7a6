//! Connects the command line to the wire: chooses session and output, and explains their events.

mod densities;
mod left_out;
pub(crate) mod mark_book;
mod output;
mod parameters;
mod ros1;
mod subscribers;
mod timeline;
pub(crate) mod viewers;
mod wire_options;

use std::sync::Arc;
use std::time::Duration;

use bagplay::bag::{Bag, ChunkMemory, TopicId};
use bagplay::cli::{Chosen, Exit, Hints, Losses, Plan, PlayArgs, Wire, WireArgs};
use bagplay::player::{Before, Control, Transport};
use bagplay::wire::{
    ClockOptions, Drained, LogLine, Monitor, NodeDescription, NodeFeed, PathState, Played,
    PlayerServices, Protocol, QueueDepth, ServedNode, ServedPlayer, Session, Severity, StateTopic,
    TopicState, WireError, WireEvent, WireOptions,
};
use crossbeam_channel::{Receiver, bounded, never};
use tracing::Level;

use super::failure::{Failure, OrExit};
use super::log::{LogRecord, LogTarget};
use left_out::{NotCarried, leave_out};
pub(crate) use output::PlayOutput;
pub(crate) use parameters::{of_clock_server, of_player};
use ros1::Ros1Network;
use wire_options::options;

/// How many events may wait for the main thread. Further ones are dropped; that happens only in a flood.
const EVENTS: usize = 4096;
/// How long a run waits for links to nodes that are there at the start.
const ROUTE_PATIENCE: Duration = Duration::from_millis(500);

/// The path if there is no network: it is never lost.
const PATH_TO_NOBODY: PathState = PathState {
    is_up: true,
    losses: 0,
};

/// The network as the run sees it.
#[derive(Debug)]
pub(crate) struct Network {
    /// On the wires over zenoh.
    pub(crate) session: Option<Session>,
    /// On the wire of ROS 1.
    ros1: Option<Ros1Network>,
    /// Whether the session is a ROS node: only those have services.
    is_ros: bool,
    /// The path when the run began to observe it.
    pub(crate) initial_path: PathState,
    events: Receiver<WireEvent>,
    monitor: Option<Monitor>,
    /// What the node says about itself, also before it is served.
    feed: NodeFeed,
    node: Option<ServedNode>,
}

impl Network {
    /// Joins the network that the arguments name; none at all for `--wire null`. `adapt` may change the options of the
    /// wire.
    pub(crate) fn join(
        args: &WireArgs,
        adapt: impl FnOnce(WireOptions) -> WireOptions,
    ) -> Result<Self, Failure> {
        let (sender, events) = bounded(EVENTS);
        let protocol = match args.wire {
            Wire::RmwZenoh => Some(Protocol::RmwZenoh),
            Wire::Ros2Dds => Some(Protocol::Ros2Dds),
            Wire::Zenoh => Some(Protocol::PlainKeys),
            Wire::Ros1 | Wire::Null => None,
        };
        let Some(protocol) = protocol else {
            let is_ros1 = args.wire == Wire::Ros1;
            let ros1 = is_ros1.then(|| Ros1Network::join(args, sender));
            return Ok(Self {
                session: None,
                ros1: ros1.transpose()?,
                is_ros: false,
                initial_path: PATH_TO_NOBODY,
                events,
                monitor: None,
                feed: NodeFeed::default(),
                node: None,
            });
        };
        let options = adapt(options(args, protocol));
        let forward = move |event| {
            // The channel is full only if the main thread is stuck; losing an event is better than waiting inside
            // zenoh. The state of the path must not be missed, so it is read as a state on every event.
            let _ = sender.try_send(event);
        };
        let session = Session::open(&options, forward).map_err(failure)?;
        Ok(Self {
            initial_path: session.path(),
            session: Some(session),
            ros1: None,
            is_ros: args.wire.is_ros2(),
            events,
            monitor: None,
            feed: NodeFeed::default(),
            node: None,
        })
    }

    /// The memory that is shared with subscribers, if any is.
    pub(crate) fn chunk_memory(&self) -> Result<Option<Arc<dyn ChunkMemory>>, Failure> {
        let memory = self.session.as_ref().map(Session::chunk_memory);
        Ok(memory.transpose().or_exit(Exit::Failed)?.flatten())
    }

    /// Fails if another node already serves `/clock`.
    pub(crate) fn require_sole_clock(&self) -> Result<(), Failure> {
        let session = self.session.as_ref();
        let foreign = session.and_then(|session| session.graph().foreign_clock());
        let ros1 = || self.ros1.as_ref()?.foreign_clock();
        match foreign.or_else(ros1) {
            None => Ok(()),
            Some(node) => {
                let error = anyhow::anyhow!(
                    "{node} publishes /clock already; hint: stop it, or play without --strict-clock"
                );
                Err(Failure::new(Exit::Failed, error))
            }
        }
    }

    /// Declares the chosen topics and the clock on the network. Topics that it cannot carry are removed from the plan,
    /// unless viewers receive them.
    pub(crate) fn advertise(
        &mut self,
        args: &PlayArgs,
        bag: &Bag,
        plan: &mut Plan,
        hints: &Hints,
    ) -> Result<PlayOutput, Failure> {
        if let Some(ros1) = &mut self.ros1 {
            let (output, skipped) = ros1.advertise(bag, plan)?;
            let skipped = skipped.iter().map(NotCarried::of_ros1).collect();
            let viewers_only = leave_out(args, bag, plan, skipped).or_exit(Exit::Usage)?;
            return Ok(PlayOutput::ros1(output).with_viewers_only(viewers_only));
        }
        let Some(session) = &self.session else {
            return Ok(PlayOutput::null());
        };
        let played: Vec<Played> = plan
            .chosen
            .iter()
            .map(|chosen| played(chosen, bag))
            .collect();
        let clock = plan.options.clock.is_served().then(|| ClockOptions {
            hz: args.clock.clock,
            per_message: plan.options.clock.before != Before::None
                || !plan.options.clock.steps.is_empty(),
        });
        let advertised = session.advertise(&played, clock);
        let (output, skipped) = advertised.map_err(|error| match hints.error(&error) {
            Some(hint) => Failure::new(Exit::Usage, anyhow::anyhow!("{error}; hint: {hint}")),
            None => failure(error),
        })?;
        self.monitor = Some(output.monitor());
        let skipped = skipped.iter().map(|one| NotCarried::of(one, hints));
        let viewers_only = leave_out(args, bag, plan, skipped.collect()).or_exit(Exit::Usage)?;
        let splits = self.feed.watch(parameters::files(args, bag));
        Ok(PlayOutput::wire(output, splits).with_viewers_only(viewers_only))
    }

    /// Declares a clock without topics.
    pub(crate) fn advertise_clock(&mut self, hz: f64) -> Result<PlayOutput, Failure> {
        if let Some(ros1) = &mut self.ros1 {
            return ros1.advertise_clock().map(PlayOutput::ros1);
        }
        let Some(session) = &self.session else {
            return Ok(PlayOutput::null());
        };
        let clock = ClockOptions {
            hz: Some(hz),
            per_message: false,
        };
        let (output, _) = session.advertise(&[], Some(clock)).map_err(failure)?;
        self.monitor = Some(output.monitor());
        Ok(PlayOutput::wire(output, self.feed.watch(Vec::new())))
    }

    /// Publishes the player's state on `~/clock_state`, if that was requested. Only the wires of ROS 2 have this topic.
    pub(crate) fn serve_state(
        &self,
        is_requested: bool,
        plan: &Plan,
        transport: &Transport,
    ) -> Result<Option<StateTopic>, Failure> {
        let clock = &plan.options.clock;
        let is_served = is_requested && clock.is_served();
        let session = self.ros_session().filter(|_| is_served);
        let serve = |session: &Session| match plan.options.control {
            Control::Full => session.serve_state(transport, clock.shift),
            Control::StopOnly => session.serve_followed_state(transport),
        };
        session.map(serve).transpose().map_err(failure)
    }

    /// Offers the services of a player, on the wires of ROS.
    pub(crate) fn serve_player(
        &self,
        plan: &Plan,
        transport: &Transport,
    ) -> Result<Option<PlayerServices>, Failure> {
        if let Some(ros1) = &self.ros1 {
            ros1.serve_player(transport)?;
            return Ok(None);
        }
        let session = self.ros_session();
        let topics = plan.chosen.iter();
        let served = ServedPlayer {
            recording: plan.options.recording,
            shift: plan.options.clock.shift,
            topics: topics.map(|topic| (topic.name.clone(), topic.id)).collect(),
        };
        let serve = |session: &Session| session.serve_player(transport, served);
        session.map(serve).transpose().map_err(failure)
    }

    /// Waits a moment for links to the nodes that are there, so that they get the first message.
    pub(crate) fn wait_for_routes(&self) {
        if let Some(monitor) = &self.monitor {
            monitor.wait_for_routes(ROUTE_PATIENCE);
        }
        if let Some(ros1) = &self.ros1 {
            ros1.wait_for_connections(ROUTE_PATIENCE);
        }
    }

    /// Whether messages of a topic have a subscriber. Without a network there are no subscribers to wait for.
    pub(crate) fn has_subscriber(&self, topic: TopicId) -> bool {
        if let Some(ros1) = &self.ros1 {
            return ros1.subscribed_topics().contains(&topic);
        }
        self.monitor
            .as_ref()
            .is_none_or(|monitor| monitor.is_ready(topic))
    }

    /// The nodes that subscribe to a topic with a limited history (keep last), and their depths.
    pub(crate) fn depths(&self, topic: &str) -> Vec<QueueDepth> {
        let session = self.session.as_ref();
        session.map_or_else(Vec::new, |session| session.graph().depths(topic))
    }

    /// Adds to the node its parameters, descriptions of types, and topics for the log and other events. Only the
    /// wires of ROS 2 have nodes.
    pub(crate) fn serve_node(
        &mut self,
        description: NodeDescription,
        transport: &Transport,
        log_target: &LogTarget,
    ) -> Result<(), Failure> {
        let Some(session) = self.ros_session() else {
            return Ok(());
        };
        let node = session.serve_node(transport, description, &self.feed);
        self.node = Some(node.map_err(failure)?);
        let feed = self.feed.clone();
        log_target.log.copy_to(Box::new(move |record| {
            if let Some(line) = rosout_line(record) {
                feed.log(line);
            }
        }));
        Ok(())
    }

    /// What subscribers are known to have missed.
    pub(crate) fn losses(&self) -> Losses {
        if let Some(ros1) = &self.ros1 {
            return ros1.losses();
        }
        let monitor = self.monitor.as_ref();
        monitor.map(Losses::of).unwrap_or_default()
    }

    /// The topics that have a subscriber now.
    pub(crate) fn subscribed_topics(&self) -> Vec<TopicId> {
        if let Some(ros1) = &self.ros1 {
            return ros1.subscribed_topics();
        }
        let monitor = self.monitor.as_ref();
        monitor.map(Monitor::matched).unwrap_or_default()
    }

    /// Network events; without a network there are none.
    pub(crate) fn events(&self) -> Receiver<WireEvent> {
        if self.session.is_none() && self.ros1.is_none() {
            return never();
        }
        self.events.clone()
    }

    /// The state of each topic on the wire.
    pub(crate) fn topics(&self) -> Vec<TopicState> {
        if let Some(ros1) = &self.ros1 {
            return ros1.topics();
        }
        let monitor = self.monitor.as_ref();
        monitor.map(Monitor::topics).unwrap_or_default()
    }

    /// The session, if it is a ROS node.
    fn ros_session(&self) -> Option<&Session> {
        self.session.as_ref().filter(|_| self.is_ros)
    }

    /// The role of this session on the network.
    pub(crate) fn describe(&self) -> Option<String> {
        let ros1 = self.ros1.as_ref().map(Ros1Network::describe);
        self.session.as_ref().map(Session::describe).or(ros1)
    }

    /// Whether there is a path to the network now, and how often it was lost.
    pub(crate) fn path(&self) -> PathState {
        self.session.as_ref().map_or(PATH_TO_NOBODY, Session::path)
    }

    /// Waits until all data has been sent. Call this while the topics are still declared.
    pub(crate) fn drain(&self, is_called_off: impl FnMut() -> bool) -> Drained {
        if let Some(ros1) = &self.ros1 {
            return ros1.drain(is_called_off);
        }
        let session = self.session.as_ref();
        session.map_or(Drained::Whole, |session| session.drain(is_called_off))
    }

    /// The nodes that have not taken the last messages, where the wire knows them.
    pub(crate) fn late_nodes(&self) -> Vec<String> {
        let ros1 = self.ros1.as_ref();
        ros1.map(Ros1Network::late_nodes).unwrap_or_default()
    }

    /// Leaves the network.
    pub(crate) fn leave(self) {
        drop((self.node, self.ros1));
        if let Some(session) = self.session {
            session.close();
        }
    }
}

/// The line for `/rosout`; `None` if it is not a warning or an error of this program.
fn rosout_line(record: LogRecord) -> Option<LogLine> {
    let severity = match record.level {
        Level::ERROR => Severity::Error,
        Level::WARN => Severity::Warning,
        _ => return None,
    };
    record.is_ours.then(|| LogLine {
        unix_nanos: i64::try_from(record.at.as_nanosecond()).unwrap_or(0),
        severity,
        text: record.text,
    })
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

fn played(chosen: &Chosen, bag: &Bag) -> Played {
    let topic = bag.topics()[chosen.id.index()].clone();
    Played {
        id: chosen.id,
        name: chosen.name.clone(),
        topic,
        qos: chosen.qos,
    }
}
