//! [`Session`]: the connection to the network, as one ROS node that publishes and follows topics.
//!
//! Draining waits until everything that was put has left. Closing takes the node off the ROS graph and does not
//! wait for slow subscribers.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::bag::ChunkMemory;

use super::clock::clock_topic::Clock;
use super::dialect::dialects::Dialect;
use super::dialect::plan::OwnClock;
use super::error::WireError;
use super::event::{Events, WireEvent};
use super::net::connection::Connection;
use super::net::connectivity::PathState;
use super::net::env::Environment;
use super::options::{ClockOptions, Played, SharedMemoryUse, Skipped, WireOptions};
use super::publish::declare::declare;
use super::publish::drain::{Drained, drain, drain_memory};
use super::publish::shared_memory::SharedMemory;
use super::publish::wire_output::WireOutput;
use super::rmw_zenoh::graph::Graph;
use super::rmw_zenoh::node::{Node, NodeName};

/// How long it may take until this process has links to the nodes that are there, and their tokens. It takes some milliseconds,
/// on a busy machine more; all of this time only if a node does not answer, or cannot be reached from here. A node that is still
/// missing then may not get the first messages.
const TOKENS_PATIENCE: Duration = Duration::from_secs(1);

/// A zenoh session. It is also a ROS node once it publishes or follows its first ROS topic; a session that only
/// puts on plain keys is not a node. Dropping the session closes it.
pub struct Session {
    // Closing takes the fields in this order.
    pub(crate) node: Node,
    pub(crate) connection: Connection,
    shared_memory: Option<SharedMemory>,
}

impl Session {
    /// Joins the network. `events` is called on zenoh's threads and must not block.
    pub fn open(
        options: &WireOptions,
        events: impl Fn(WireEvent) + Send + Sync + 'static,
    ) -> Result<Self, WireError> {
        let events = Events::new(events);
        let mut environment = Environment::read()?.sharing_memory(options.shared_memory);
        if options.sends_at_once {
            environment = environment.sending_at_once();
        }
        let domain = options.domain_id.or(environment.domain_id).unwrap_or(0);
        let name = NodeName::parse(&options.node_name)?;
        let connection = Connection::open(options, &environment, &events)?;
        let node = Node::new(&connection.zenoh, domain, name, options, &events)?;
        let shared_memory = shared_memory(options, &connection)?;
        if connection.is_answered() {
            node.settle(TOKENS_PATIENCE);
        }
        Ok(Self {
            node,
            connection,
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

    /// Publishes topics, and `/clock` if `clock` is given, on the ROS graph. Topics that ROS 2 nodes cannot
    /// read are returned as skipped; a name that zenoh cannot carry is an error. Only one output at a time: the
    /// graph watches the topics of the last one.
    pub fn advertise(
        &self,
        played: &[Played],
        clock: Option<ClockOptions>,
    ) -> Result<(WireOutput, Vec<Skipped>), WireError> {
        self.advertise_in(Dialect::RmwZenoh(&self.node), played, clock)
    }

    /// Publishes topics on plain keys, for subscribers that are not ROS 2 nodes. The key is the topic's name
    /// without its first slash, the payload is the recorded bytes in their own encoding. There are no
    /// liveliness tokens and no attachments. The clock, if served, is CDR on the key `clock`.
    pub fn advertise_raw(
        &self,
        played: &[Played],
        clock: Option<ClockOptions>,
    ) -> Result<(WireOutput, Vec<Skipped>), WireError> {
        self.advertise_in(Dialect::Plain, played, clock)
    }

    /// Memory for chunks from which messages reach subscribers on this host without a copy; `None` if links do not share
    /// memory. For [`Cues::with_memory`](crate::bag::Cues::with_memory).
    pub fn chunk_memory(&self) -> Option<Arc<dyn ChunkMemory>> {
        let memory = self.shared_memory.clone()?;
        Some(Arc::new(memory))
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
        let plan = dialect.plan(played, own_clock, &self.connection.events)?;
        let served = plan.clock.as_ref().zip(clock);
        let memory = self.shared_memory.as_ref();
        let topics = &plan.topics;
        let output = declare(&self.connection, topics, served, dialect.nodes(), memory)?;
        if let Some(blocking_puts) = self.connection.blocking_puts() {
            dialect.puts_also_with(&blocking_puts)?;
        }
        let waker = output.clock.as_ref().map(Clock::waker);
        dialect.publishes(plan.ours, waker);
        Ok((output, plan.skipped))
    }

    /// Waits until everything that was put has left, however slowly. Gives up once nothing has moved for the
    /// stall timeout. Messages in shared memory have left when subscribers have dropped them. Call it before the output is dropped. `is_called_off` is called at least 20 times a
    /// second; `true` ends the wait.
    pub fn drain(&self, is_called_off: impl FnMut() -> bool) -> Drained {
        let connection = &self.connection;
        let patience = connection.stall_timeout;
        let mut is_called_off = is_called_off;
        let drained = drain(
            &connection.sessions(),
            &connection.router,
            patience,
            &mut is_called_off,
        );
        let Some(memory) = &self.shared_memory else {
            return drained;
        };
        // What the sockets carry is only where the messages are.
        match drained {
            Drained::Whole => drain_memory(|| memory.held(), patience, is_called_off),
            Drained::Untaken { bytes } => Drained::Untaken {
                bytes: bytes + memory.held(),
            },
            Drained::CalledOff { bytes } => Drained::CalledOff {
                bytes: bytes + memory.held(),
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

/// The memory to share, if links share memory. If the system has none, only the option that asks for it makes that an error.
fn shared_memory(
    options: &WireOptions,
    connection: &Connection,
) -> Result<Option<SharedMemory>, WireError> {
    SharedMemory::clean_up();
    if !connection.shares_memory() {
        return Ok(None);
    }
    match SharedMemory::open(&connection.events) {
        Ok(memory) => Ok(Some(memory)),
        Err(error) if options.shared_memory == SharedMemoryUse::On => Err(error),
        Err(error) => {
            connection.events.warn(error.to_string());
            Ok(None)
        }
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
