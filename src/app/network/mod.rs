//! Connects the command line to the wire: chooses session and output, and explains their events.

mod densities;
pub(crate) mod mark_book;
mod output;
mod parameters;
mod subscribers;
mod timeline;
pub(crate) mod viewers;
mod wire_options;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use bagplay::bag::{Bag, ChunkMemory, TopicId};
use bagplay::cli::{
    Chosen, Exit, Hints, LeftOut, Losses, Plan, PlanError, PlayArgs, Wire, WireArgs,
};
use bagplay::player::{Before, Control, Transport};
use bagplay::wire::{
    ClockOptions, Drained, LogLine, Monitor, NodeDescription, NodeFeed, PathState, Played,
    PlayerServices, Protocol, QueueDepth, ServedNode, ServedPlayer, Session, Severity, SkipReason,
    Skipped, StateTopic, TopicState, WireError, WireEvent, WireOptions,
};
use crossbeam_channel::{Receiver, bounded, never};
use tracing::Level;

use super::failure::{Failure, OrExit};
use super::log::{LogRecord, LogTarget};
pub(crate) use output::PlayOutput;
pub(crate) use parameters::{of_clock_server, of_player};
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
    pub(crate) session: Option<Session>,
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
            Wire::Null => None,
        };
        let Some(protocol) = protocol else {
            return Ok(Self {
                session: None,
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
        match self
            .session
            .as_ref()
            .and_then(|session| session.graph().foreign_clock())
        {
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
        let viewers_only = leave_out(args, bag, plan, skipped, hints).or_exit(Exit::Usage)?;
        let splits = self.feed.watch(parameters::files(args, bag));
        Ok(PlayOutput::wire(output, splits).with_viewers_only(viewers_only))
    }

    /// Declares a clock without topics.
    pub(crate) fn advertise_clock(&mut self, hz: f64) -> Result<PlayOutput, Failure> {
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

    /// Offers the services of a player; only the wires of ROS 2 have services.
    pub(crate) fn serve_player(
        &self,
        plan: &Plan,
        transport: &Transport,
    ) -> Result<Option<PlayerServices>, Failure> {
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
    }

    /// Whether messages of a topic have a subscriber. Without a network there are no subscribers to wait for.
    pub(crate) fn has_subscriber(&self, topic: TopicId) -> bool {
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
        let monitor = self.monitor.as_ref();
        monitor.map(Losses::of).unwrap_or_default()
    }

    /// The topics that have a subscriber now.
    pub(crate) fn subscribed_topics(&self) -> Vec<TopicId> {
        let monitor = self.monitor.as_ref();
        monitor.map(Monitor::matched).unwrap_or_default()
    }

    /// Network events; without a network there are none.
    pub(crate) fn events(&self) -> Receiver<WireEvent> {
        match self.session {
            Some(_) => self.events.clone(),
            None => never(),
        }
    }

    /// The state of each topic on the wire.
    pub(crate) fn topics(&self) -> Vec<TopicState> {
        self.monitor
            .as_ref()
            .map(Monitor::topics)
            .unwrap_or_default()
    }

    /// The session, if it is a ROS node.
    fn ros_session(&self) -> Option<&Session> {
        self.session.as_ref().filter(|_| self.is_ros)
    }

    /// The role of this session on the network.
    pub(crate) fn describe(&self) -> Option<String> {
        self.session.as_ref().map(Session::describe)
    }

    /// Whether there is a path to the network now, and how often it was lost.
    pub(crate) fn path(&self) -> PathState {
        self.session.as_ref().map_or(PATH_TO_NOBODY, Session::path)
    }

    /// Waits until all data has been sent. Call this while the topics are still declared.
    pub(crate) fn drain(&self, is_called_off: impl FnMut() -> bool) -> Drained {
        let session = self.session.as_ref();
        session.map_or(Drained::Whole, |session| session.drain(is_called_off))
    }

    /// Leaves the network.
    pub(crate) fn leave(self) {
        drop(self.node);
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

/// Removes topics that the wire cannot carry from the plan, with one warning for each reason. If there are viewers, the
/// topics stay in the plan; returns those.
fn leave_out(
    args: &PlayArgs,
    bag: &Bag,
    plan: &mut Plan,
    skipped: Vec<Skipped>,
    hints: &Hints,
) -> Result<BTreeSet<TopicId>, PlanError> {
    const NAMED: usize = 5;
    let has_viewers = args.viewers.foxglove.is_some();
    let mut by_reason: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for one in &skipped {
        // Who has viewers does not need another wire for this topic.
        let reason = if has_viewers {
            one.reason.to_string()
        } else {
            hints.skipped(one)
        };
        let topics = by_reason.entry(reason).or_default();
        topics.push(&one.topic);
    }
    for (reason, topics) in by_reason {
        let more = topics.len().saturating_sub(NAMED);
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        let named: Vec<&str> = topics.into_iter().take(NAMED).collect();
        let named = named.join(", ");
        if has_viewers {
            tracing::info!("played for viewers alone: {named}{more}: {reason}");
        } else {
            tracing::warn!("not played: {named}{more}: {reason}");
        }
    }
    let mut viewers_only = BTreeSet::new();
    for one in skipped {
        let left_out = LeftOut {
            messages: bag.topics()[one.id.index()].message_count,
            reason: hints.skipped(&one),
            is_loss: matches!(one.reason, SkipReason::NoRos2Form(_)),
            topic: one.topic,
        };
        if has_viewers {
            plan.stop_awaiting(args, one.id, &left_out)?;
            viewers_only.insert(one.id);
        } else {
            plan.leave_out(args, one.id, left_out)?;
        }
    }
    Ok(viewers_only)
}
