//! [`Session`]: the connection to the network, as one ROS node that publishes and follows topics.
//!
//! Draining waits until everything that was put has left. Closing takes the node off the ROS graph and does not
//! wait for slow subscribers.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::bag::ChunkMemory;

use super::clock::clock_topic::Clock;
use super::clock::served::ServedClock;
use super::dialect::dialects::Dialect;
use super::dialect::plan::OwnClock;
use super::error::WireError;
use super::event::{Events, WireEvent};
use super::net::connection::Connection;
use super::net::connectivity::PathState;
use super::net::env::Environment;
use super::options::{
    ClockOptions, Congestion, Played, Protocol, SendOrder, SharedMemoryUse, Skipped, WireOptions,
};
use super::publish::declare::{declare, waits};
use super::publish::drain::{Drained, LEAST_PATIENCE, drain, drain_memory};
use super::publish::shared_memory::SharedMemory;
use super::publish::shared_memory::lazy::LazyMemory;
use super::publish::wire_output::WireOutput;
use super::rmw_zenoh::graph::Graph;
use super::rmw_zenoh::node::{Node, NodeName};
use super::rmw_zenoh::ours::Via;

/// The longest wait for links to the nodes that are there, and for their tokens. Usually it takes some milliseconds. It
/// takes all of this time only if a node does not answer. A node that is still missing then may not get the first
/// messages.
const NODES_PATIENCE: Duration = Duration::from_secs(1);

/// A zenoh session. For `rmw_zenoh` it is also a ROS node once it publishes or follows its first topic. Dropping the
/// session closes it.
pub struct Session {
    // Closing takes the fields in this order.
    pub(crate) node: Node,
    pub(crate) connection: Connection,
    protocol: Protocol,
    /// One pool for all sessions of this process that were opened beside each other.
    shared_memory: Arc<LazyMemory>,
}

impl Session {
    /// Joins the network. `events` is called on zenoh's threads and must not block.
    pub fn open(
        options: &WireOptions,
        events: impl Fn(WireEvent) + Send + Sync + 'static,
    ) -> Result<Self, WireError> {
        let events = Events::new(events);
        let mut environment = Environment::read()?.sharing_memory(sharing(options)?);
        if options.sends_at_once {
            environment = environment.sending_at_once();
        }
        if options.order == SendOrder::PerTopic {
            environment = environment.overtaking();
        }
        let domain = options.domain_id.or(environment.domain_id).unwrap_or(0);
        let name = NodeName::parse(&options.node_name)?;
        let connection = Connection::open(options, &environment, &events)?;
        SharedMemory::clean_up();
        let shared_memory = Arc::new(LazyMemory::new(options.shared_memory));
        Self::on(connection, (domain, name), shared_memory, options)
    }

    /// Opens another session of this process, for another protocol, in the same place of the network: beside the same
    /// router, with the same configuration and the same shared memory. The endpoints in `options` have no effect. To be
    /// closed before `self`, which has the router. `events` is called on zenoh's threads and must not block.
    pub fn open_beside(
        &self,
        options: &WireOptions,
        events: impl Fn(WireEvent) + Send + Sync + 'static,
    ) -> Result<Self, WireError> {
        let events = Events::new(events);
        let name = NodeName::parse(&options.node_name)?;
        let connection = self.connection.open_beside(options, &events)?;
        let shared_memory = Arc::clone(&self.shared_memory);
        Self::on(connection, (self.domain_id(), name), shared_memory, options)
    }

    /// A node on a connection.
    fn on(
        connection: Connection,
        (domain, name): (u32, NodeName),
        shared_memory: Arc<LazyMemory>,
        options: &WireOptions,
    ) -> Result<Self, WireError> {
        let events = connection.events.clone();
        let node = Node::new(&connection.zenoh, domain, name, options, &events)?;
        let is_anyone_there = connection.is_answered() && node.settle(NODES_PATIENCE);
        if options.protocol == Protocol::Ros2Dds && !is_anyone_there {
            events.warn("no bridge to DDS is on the network yet".to_owned());
        }
        Ok(Self {
            node,
            connection,
            protocol: options.protocol,
            shared_memory,
        })
    }

    /// The role on the network, as text for the user: `router on tcp/127.0.0.1:7447`, `connected to
    /// tcp/localhost:7447`.
    pub fn describe(&self) -> String {
        self.connection.describe()
    }

    /// The endpoint at which programs of this host reach the router of this process, with its port:
    /// `tcp/127.0.0.1:40123`. `None` if this process is not the router.
    pub fn router_endpoint(&self) -> Option<String> {
        self.connection.router.endpoint()
    }

    /// The zenoh id of this session, as written in liveliness tokens.
    pub fn zid(&self) -> String {
        self.node.token.zid.clone()
    }

    /// The full name of this node.
    pub fn node_name(&self) -> String {
        self.node.token.node_path()
    }

    /// The ROS domain of this node.
    pub fn domain_id(&self) -> u32 {
        self.node.token.domain
    }

    /// A handle to the ROS graph.
    pub fn graph(&self) -> Graph {
        self.node.graph.clone()
    }

    /// Whether there is a connection over which puts can leave, and how often it was lost.
    pub fn path(&self) -> PathState {
        self.connection.path()
    }

    /// Whether there is a connection over which puts can leave.
    pub fn has_path(&self) -> bool {
        self.path().is_up
    }

    /// Publishes topics, and `/clock` if `clock` is given, in the form of the session's protocol. Topics that its
    /// subscribers cannot read are returned as skipped; a name that zenoh cannot carry is an error. Only one output at
    /// a time: the graph watches the topics of the last one.
    pub fn advertise(
        &self,
        played: &[Played],
        clock: Option<ClockOptions>,
    ) -> Result<(WireOutput, Vec<Skipped>), WireError> {
        let dialect = match self.protocol {
            Protocol::RmwZenoh | Protocol::Ros2Dds => Dialect::RosGraph(&self.node),
            Protocol::PlainKeys => Dialect::Plain,
        };
        self.advertise_in(dialect, played, clock)
    }

    /// Memory for chunks from which messages reach subscribers on this host without a copy; `None` if links do not
    /// share memory. For [`Cues::with_memory`](crate::bag::Cues::with_memory). The first call makes it. An error says
    /// that there is no room for it, and comes only with [`SharedMemoryUse::On`].
    pub fn chunk_memory(&self) -> Result<Option<Arc<dyn ChunkMemory>>, WireError> {
        let memory = self.memory()?;
        Ok(memory.map(|memory| Arc::new(memory) as Arc<dyn ChunkMemory>))
    }

    fn memory(&self) -> Result<Option<SharedMemory>, WireError> {
        if !self.connection.shares_memory() {
            return Ok(None);
        }
        self.shared_memory.get(&self.connection.events)
    }

    fn advertise_in(
        &self,
        dialect: Dialect<'_>,
        played: &[Played],
        clock: Option<ClockOptions>,
    ) -> Result<(WireOutput, Vec<Skipped>), WireError> {
        dialect.announce()?;
        let own_clock = if clock.is_some() {
            OwnClock::Served
        } else {
            OwnClock::NotServed
        };
        let mut plan = dialect.plan(played, own_clock, &self.connection.events)?;
        let served = plan.clock.as_ref().zip(clock);
        let topics = &plan.topics;
        let transcoders = &plan.transcoders;
        let memory = if topics.is_empty() {
            None
        } else {
            self.memory()?
        };
        let memory = memory.as_ref();
        let announcer = dialect.clock_announcer();
        let served_clock = |needs| ServedClock::new(needs, announcer);
        let others = (dialect.nodes(), served_clock);
        let topics = (&topics[..], transcoders);
        let output = declare(&self.connection, topics, served, others, memory)?;
        if let Some(blocking_puts) = self.connection.blocking_puts() {
            dialect.puts_also_with(&blocking_puts)?;
            let is_in_line = clock.is_some_and(|clock| clock.per_message);
            let specs = plan.topics.iter().chain(&plan.clock);
            for (ours, spec) in plan.ours.iter_mut().zip(specs) {
                if waits(spec, is_in_line) {
                    ours.via = Via::BlockingPuts;
                }
            }
        }
        let waker = output.clock.clock().map(Clock::waker);
        dialect.publishes(plan.ours, waker);
        Ok((output, plan.skipped))
    }

    /// Waits until everything that was put has left, however slowly. Gives up once nothing has moved for the stall
    /// timeout. A message in shared memory has left when all subscribers have dropped it. Call it before the output is
    /// dropped. `is_called_off` is called at least 20 times a second; `true` ends the wait.
    pub fn drain(&self, is_called_off: impl FnMut() -> bool) -> Drained {
        self.drain_with(&[], is_called_off)
    }

    /// The same for this session and those that were opened beside it.
    pub fn drain_with(&self, beside: &[&Self], mut is_called_off: impl FnMut() -> bool) -> Drained {
        let connection = &self.connection;
        let patience = LEAST_PATIENCE.max(connection.stall_timeout);
        let others = beside.iter().flat_map(|other| other.connection.sessions());
        let sessions: Vec<_> = connection.sessions().into_iter().chain(others).collect();
        let drained = drain(&sessions, &connection.router, patience, &mut is_called_off);
        let held = || self.shared_memory.held();
        match drained {
            // Sockets carry only where shared messages lie, so empty sockets do not mean that these were read.
            Drained::Whole => {
                let has_receivers = || connection.has_receivers(&sessions);
                drain_memory(held, has_receivers, patience, is_called_off)
            }
            Drained::Untaken { bytes } => Drained::Untaken {
                bytes: bytes + held(),
            },
            Drained::CalledOff { bytes } => Drained::CalledOff {
                bytes: bytes + held(),
            },
        }
    }

    /// Leaves the network: takes the node off the ROS graph, then closes the links, also if messages have not
    /// left yet. Call [`Session::drain`] first. Outputs that still exist can no longer publish.
    pub fn close(mut self) {
        self.leave();
    }

    fn leave(&mut self) {
        self.node.withdraw();
        self.connection.close();
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.leave();
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("node", &self.node_name())
            .field("zid", &self.node.token.zid)
            .field("description", &self.describe())
            .finish_non_exhaustive()
    }
}

/// Whether the session shares memory: as the option says, but never with `BlockFirst`, where `On` is an error.
fn sharing(options: &WireOptions) -> Result<SharedMemoryUse, WireError> {
    match (options.congestion, options.shared_memory) {
        (Congestion::BlockFirst, SharedMemoryUse::On) => Err(WireError::SharedMemoryAndBlockFirst),
        (Congestion::BlockFirst, _) => Ok(SharedMemoryUse::Off),
        (_, asked) => Ok(asked),
    }
}

/// The version of the zenoh library, as in `1.10.2`.
pub fn zenoh_version() -> &'static str {
    // It also has the commit, if the library was built from a repository.
    let version = zenoh::GIT_VERSION.trim_start_matches('v');
    version.split('-').next().unwrap_or(version)
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_is_a_version() {
        let parts = super::zenoh_version().split('.');
        assert!(parts.clone().all(|part| part.parse::<u32>().is_ok()));
        assert_eq!(parts.count(), 3);
    }
}
