//! Connects the command line to the wires of a run: joins them, declares what is played, and explains their events.

mod densities;
mod event;
pub(crate) mod mark_book;
mod output;
mod parameters;
mod subscribers;
mod timeline;
pub(crate) mod viewers;
mod wires;

use std::iter;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use bagplay::bag::{Bag, ChunkMemory, TopicId};
use bagplay::cli::{Exit, Hints, LeftOut, Losses, Plan, PlayArgs, Wire, WireArgs, WireSummary};
use bagplay::player::{Control, Transport};
use bagplay::wire::{
    Drained, LogLine, NodeDescription, NodeFeed, PathState, PlayerServices, QueueDepth,
    ServedPlayer, Session, Severity, StateTopic, TopicState, WireOptions,
};
use crossbeam_channel::{Receiver, bounded, never};
use tracing::Level;

use super::failure::{Failure, OrExit};
use super::log::{LogRecord, LogTarget};
pub(crate) use event::NetworkEvent;
pub(crate) use output::PlayOutput;
use output::WireSink;
pub(crate) use parameters::{of_clock_server, of_player};
pub(crate) use wires::failure;
use wires::left_out::{NotCarried, leave_out};
use wires::{OneWire, Sink, ZenohWire};

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
    /// In the order of the flags.
    wires: Vec<OneWire>,
    /// What wires cannot carry, in the same order.
    left_out: Vec<Vec<NotCarried>>,
    /// Topics that no wire can carry, and that viewers receive.
    for_viewers: Vec<TopicId>,
    /// The path when the run began to observe it.
    pub(crate) initial_path: PathState,
    events: Receiver<NetworkEvent>,
}

impl Network {
    /// Joins the networks that the arguments name; none at all for `--wire null`. `adapt` may change the options of
    /// each wire.
    pub(crate) fn join(
        args: &WireArgs,
        adapt: impl Fn(WireOptions) -> WireOptions,
    ) -> Result<Self, Failure> {
        let (sender, events) = bounded(EVENTS);
        let mut network = Self {
            wires: wires::join(args, adapt, &sender)?,
            left_out: Vec::new(),
            for_viewers: Vec::new(),
            initial_path: PATH_TO_NOBODY,
            events,
        };
        network.initial_path = network.path();
        Ok(network)
    }

    /// The memory that is shared with subscribers, if any is.
    pub(crate) fn chunk_memory(&self) -> Result<Option<Arc<dyn ChunkMemory>>, Failure> {
        // All sessions share it.
        let memory = self.any_session().map(Session::chunk_memory);
        Ok(memory.transpose().or_exit(Exit::Failed)?.flatten())
    }

    /// Fails if another node already serves `/clock`.
    pub(crate) fn require_sole_clock(&self) -> Result<(), Failure> {
        match self.wires.iter().find_map(OneWire::foreign_clock) {
            None => Ok(()),
            Some(node) => {
                let error = anyhow::anyhow!(
                    "{node} publishes /clock already; hint: stop it, or play without --strict-clock"
                );
                Err(Failure::new(Exit::Failed, error))
            }
        }
    }

    /// Declares the chosen topics and the clock on all wires. Topics that no wire can carry are removed from the plan,
    /// unless viewers receive them.
    pub(crate) fn advertise(
        &mut self,
        args: &PlayArgs,
        bag: &Bag,
        plan: &mut Plan,
        hints: &Hints,
    ) -> Result<PlayOutput, Failure> {
        let (mut sinks, mut left_out) = (Vec::new(), Vec::new());
        for wire in &mut self.wires {
            let (sink, skipped) = wire.advertise(args, (bag, plan), hints)?;
            sinks.push(WireSink::new(sink, skipped.iter().map(|one| one.id)));
            left_out.push((wire.wire(), skipped));
        }
        self.for_viewers = leave_out(args, bag, plan, &left_out).or_exit(Exit::Usage)?;
        self.left_out = left_out.into_iter().map(|(_, skipped)| skipped).collect();
        Ok(PlayOutput::to(sinks))
    }

    /// Declares a clock without topics.
    pub(crate) fn advertise_clock(&mut self, hz: f64) -> Result<PlayOutput, Failure> {
        let wires = self.wires.iter_mut();
        let sinks = wires.map(|wire| {
            let sink = wire.advertise_clock(hz)?;
            Ok(WireSink::new(sink, iter::empty()))
        });
        let sinks: Result<Vec<WireSink>, Failure> = sinks.collect();
        Ok(PlayOutput::to(sinks?))
    }

    /// Publishes the player's state on `~/clock_state`, if that was requested. Only the wires of ROS 2 have this topic.
    pub(crate) fn serve_state(
        &self,
        is_requested: bool,
        plan: &Plan,
        transport: &Transport,
    ) -> Result<Vec<StateTopic>, Failure> {
        let clock = &plan.options.clock;
        let is_served = is_requested && clock.is_served();
        let sessions = self.node_sessions().filter(|_| is_served);
        let serve = |session: &Session| match plan.options.control {
            Control::Full => session.serve_state(transport, clock.shift),
            Control::StopOnly => session.serve_followed_state(transport),
        };
        sessions
            .map(|session| serve(session).map_err(failure))
            .collect()
    }

    /// Offers the services of a player, on the wires of ROS.
    pub(crate) fn serve_player(
        &self,
        plan: &Plan,
        transport: &Transport,
    ) -> Result<Vec<PlayerServices>, Failure> {
        for wire in &self.wires {
            wire.serve_ros1_player(transport)?;
        }
        let topics = plan.chosen.iter();
        let served = ServedPlayer {
            recording: plan.options.recording,
            shift: plan.options.clock.shift,
            topics: topics.map(|topic| (topic.name.clone(), topic.id)).collect(),
        };
        let serve = |session: &Session| session.serve_player(transport, served.clone());
        self.node_sessions()
            .map(|session| serve(session).map_err(failure))
            .collect()
    }

    /// Waits a moment for links to the nodes that are there, so that they get the first message.
    pub(crate) fn wait_for_routes(&self) {
        for wire in &self.wires {
            wire.wait_for_routes(ROUTE_PATIENCE);
        }
    }

    /// Whether messages of a topic have a subscriber, on any wire. Without a network there are no subscribers to wait
    /// for.
    pub(crate) fn has_subscriber(&self, topic: TopicId) -> bool {
        let mut wires = self.wires.iter();
        self.wires.is_empty() || wires.any(|wire| wire.has_subscriber(topic))
    }

    /// The nodes that subscribe to a topic with a limited history (keep last), and their depths.
    pub(crate) fn depths(&self, topic: &str) -> Vec<QueueDepth> {
        let sessions = self.wires.iter().filter_map(OneWire::session);
        sessions
            .flat_map(|session| session.graph().depths(topic))
            .collect()
    }

    /// Adds to the nodes of ROS 2 their parameters, descriptions of types, and topics for the log and other events.
    pub(crate) fn serve_node(
        &mut self,
        description: &NodeDescription,
        transport: &Transport,
        log_target: &LogTarget,
    ) -> Result<(), Failure> {
        let mut nodes: Vec<_> = self
            .wires
            .iter_mut()
            .filter_map(OneWire::node_mut)
            .collect();
        let feeds: Vec<NodeFeed> = nodes.iter().map(|node| node.feed().clone()).collect();
        if !feeds.is_empty() {
            // Before the nodes are served, so that what was logged before is published first.
            log_target.log.copy_to(Box::new(move |record| {
                if let Some(line) = rosout_line(record) {
                    for feed in &feeds {
                        feed.log(line.clone());
                    }
                }
            }));
        }
        for node in &mut nodes {
            node.serve_node(transport, description.clone())?;
        }
        Ok(())
    }

    /// What subscribers are known to have missed.
    pub(crate) fn losses(&self) -> Losses {
        Losses::of_all(self.wires.iter().map(OneWire::losses))
    }

    /// What was sent on each wire, if there are several.
    pub(crate) fn by_wire(&self, bag: &Bag) -> Vec<WireSummary> {
        if self.wires.len() < 2 {
            return Vec::new();
        }
        let none = Vec::new();
        let left_out = self.left_out.iter().chain(iter::repeat(&none));
        let wires = self.wires.iter().zip(left_out);
        wires
            .map(|(wire, left_out)| {
                let left_out = left_out.iter().map(|one| {
                    let left_out = one.left_out(bag);
                    // Viewers have received it.
                    let is_loss = left_out.is_loss && !self.for_viewers.contains(&one.id);
                    LeftOut {
                        is_loss,
                        ..left_out
                    }
                });
                let missed = wire.missed_clock();
                WireSummary::new(wire.wire(), &wire.topics(), missed, left_out.collect())
            })
            .collect()
    }

    /// Whether any topic has a subscriber now.
    pub(crate) fn has_subscribed_topics(&self) -> bool {
        let mut wires = self.wires.iter();
        wires.any(|wire| !wire.subscribed_topics().is_empty())
    }

    /// The topics that have a subscriber over zenoh now, each with the number of its wire: as in the arguments, from 0.
    pub(crate) fn subscribed_over_zenoh(&self) -> Vec<(usize, TopicId)> {
        let wires = self.wires.iter().enumerate();
        let wires = wires.filter(|(_, wire)| wire.session().is_some());
        let topics = wires.flat_map(|(number, wire)| {
            let topics = wire.subscribed_topics().into_iter();
            topics.map(move |topic| (number, topic))
        });
        topics.collect()
    }

    /// Network events; without a network there are none.
    pub(crate) fn events(&self) -> Receiver<NetworkEvent> {
        if self.wires.is_empty() {
            return never();
        }
        self.events.clone()
    }

    /// The state of each topic, one wire after the other.
    pub(crate) fn topics(&self) -> Vec<TopicState> {
        self.wires.iter().flat_map(OneWire::topics).collect()
    }

    /// The session on the wire of `rmw_zenoh`: the only one on which clocks are followed, and programs tested.
    pub(crate) fn session(&self) -> Option<&Session> {
        let mut wires = self.wires.iter();
        let wire = wires.find(|wire| wire.wire() == Wire::RmwZenoh);
        wire.and_then(OneWire::session)
    }

    /// The first session.
    fn any_session(&self) -> Option<&Session> {
        self.wires.iter().find_map(OneWire::session)
    }

    /// The sessions that are nodes of ROS 2.
    fn node_sessions(&self) -> impl Iterator<Item = &Session> {
        let nodes = self.wires.iter().filter_map(OneWire::node);
        nodes.map(ZenohWire::session)
    }

    /// The role of this program on the network of each wire.
    pub(crate) fn descriptions(&self) -> Vec<String> {
        let one = |wire: &OneWire| {
            let description = wire.describe();
            if self.wires.len() > 1 {
                format!("{}: {description}", wire.wire())
            } else {
                description
            }
        };
        self.wires.iter().map(one).collect()
    }

    /// Whether there is a path to the network of zenoh now, and how often it was lost. All sessions share it.
    pub(crate) fn path(&self) -> PathState {
        self.any_session().map_or(PATH_TO_NOBODY, Session::path)
    }

    /// Waits until all data has been sent, on all wires. Call this while the topics are still declared.
    pub(crate) fn drain(&self, mut is_called_off: impl FnMut() -> bool) -> Drained {
        let mut sessions = self.wires.iter().filter_map(OneWire::session);
        let over_zenoh = sessions.next().map_or(Drained::Whole, |first| {
            let beside: Vec<&Session> = sessions.collect();
            first.drain_with(&beside, &mut is_called_off)
        });
        let ros1 = self.wires.iter().filter_map(OneWire::ros1);
        let drained = ros1.map(|ros1| ros1.drain(&mut is_called_off));
        drained.fold(over_zenoh, Drained::and)
    }

    /// The nodes that have not taken the last messages, where the wire knows them; with the wire, if there are several.
    pub(crate) fn late_nodes(&self) -> Vec<String> {
        let is_several = self.wires.len() > 1;
        let late = |wire: &OneWire| {
            let (name, nodes) = (wire.wire(), wire.late_nodes().into_iter());
            let nodes = nodes.map(|node| {
                if is_several {
                    format!("{name}: {node}")
                } else {
                    node
                }
            });
            nodes.collect::<Vec<_>>()
        };
        self.wires.iter().flat_map(late).collect()
    }

    /// Leaves the network; `out` was the output to it.
    pub(crate) fn leave(mut self, out: PlayOutput) {
        self.leave_with(out.into_sinks());
    }

    /// Leaves all wires at the same time, except the first one over zenoh, which may have the router of the others: it
    /// is left last. `sinks` are the outputs to the wires, in their order, if there are any.
    fn leave_with(&mut self, sinks: Vec<Sink>) {
        let sinks = sinks
            .into_iter()
            .map(Some)
            .chain(iter::repeat_with(|| None));
        let mut wires: Vec<(OneWire, Option<Sink>)> = self.wires.drain(..).zip(sinks).collect();
        let has_session = |(wire, _): &(OneWire, Option<Sink>)| wire.session().is_some();
        let first = wires.iter().position(has_session);
        let last = first.map(|first| wires.remove(first));
        thread::scope(|scope| {
            for (wire, sink) in wires {
                let leave = move || wire.leave(sink);
                // If the thread cannot be started, both are dropped here, which leaves the wire, too.
                let named = thread::Builder::new().name("leave-wire".to_owned());
                drop(named.spawn_scoped(scope, leave));
            }
        });
        if let Some((wire, sink)) = last {
            wire.leave(sink);
        }
    }
}

impl Drop for Network {
    /// After an error, too, wires are left in the right order.
    fn drop(&mut self) {
        self.leave_with(Vec::new());
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
