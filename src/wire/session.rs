//! [`Session`]: the connection to the network: zenoh sessions that act as one ROS node.
//!
//! Opening chooses the role (a peer of the nodes on this host, or a client of a router elsewhere) and never
//! waits for a router or node that is not there. If there is no router on this host, a router is opened first
//! as a session of its own, and this session joins it as it would join any router. Draining waits until
//! everything that was put has left. Closing takes the node off the ROS graph and does not wait for slow
//! subscribers.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use zenoh::Wait;
use zenoh::liveliness::LivelinessToken;
use zenoh::qos::Priority;

use crate::ros::{History, Qos, Reliability};

use super::net::connectivity::{Path, PathState};
use super::net::env::Environment;
use super::net::join::{Joined, join};
use super::net::router::RouterSlot;
use super::net::takeover::Succession;
use crate::wire::clock::clock_topic::Clock;
use crate::wire::error::WireError;
use crate::wire::event::{Events, WireEvent};
use crate::wire::net::blocking_session::Patient;
use crate::wire::options::{ClockOptions, Played, Skipped, WireOptions};
use crate::wire::publish::drain::{Drained, drain};
use crate::wire::publish::publisher::Spec;
use crate::wire::publish::wire_output::WireOutput;
use crate::wire::rmw_zenoh::advertise::{OwnClock, Planned, plan_raw, plan_ros};
use crate::wire::rmw_zenoh::graph::{CLOCK, Graph, Ours};
use crate::wire::rmw_zenoh::names::{split_node, topic_key};
use crate::wire::rmw_zenoh::token::{ANY_HASH, Endpoint, EntityKind, NO_HASH, Token};
use crate::wire::rmw_zenoh::type_hash::Flavour;
use crate::wire::rmw_zenoh::watch::{Watches, settle};

/// How long a router that accepts connections may take to complete a zenoh link.
pub(crate) const LINK_PATIENCE: Duration = Duration::from_millis(500);
const CLOCK_TYPE: &str = "rosgraph_msgs::msg::dds_::Clock_";
pub(crate) const CLOCK_HASH: &str =
    "RIHS01_692f7a66e93a3c83e71765d033b60349ba68023a8c689a79e48078bcb5c58564";

/// A zenoh session. It is also a ROS node once it publishes or follows its first ROS topic; a session that only
/// puts on plain keys is not a node. Dropping the session closes it.
pub struct Session {
    pub(crate) options: WireOptions,
    description: String,
    pub(crate) node: Token,
    next_id: AtomicU32,
    pub(crate) graph: Graph,
    pub(crate) events: Events,
    pub(crate) path: Arc<Path>,
    // Closing takes the fields in this order.
    token: Mutex<Option<LivelinessToken>>,
    watches: Option<Watches>,
    succession: Option<Succession>,
    pub(crate) zenoh: zenoh::Session,
    patient: Mutex<Option<Patient>>,
    router: RouterSlot,
    pub(crate) config: zenoh::Config,
    pub(crate) is_answered: bool,
}

impl Session {
    /// Joins the network. `events` is called on zenoh's threads and must not block.
    pub fn open(
        options: &WireOptions,
        events: impl Fn(WireEvent) + Send + Sync + 'static,
    ) -> Result<Self, WireError> {
        let events = Events::new(events);
        let environment = Environment::read()?;
        let domain = options.domain_id.or(environment.domain_id).unwrap_or(0);
        let (namespace, name) = split_node(&options.node_name)?;
        let Joined {
            zenoh,
            config,
            router,
            heir,
            description,
            is_answered,
        } = join(options, &environment, &events)?;
        let node = Token {
            domain,
            zid: zenoh.zid().to_string(),
            node_id: 0,
            entity_id: 0,
            kind: EntityKind::Node,
            enclave: "/".to_owned(),
            namespace,
            node: name,
            endpoint: None,
        };
        let graph = Graph::new(node.zid.clone(), node.node_path());
        let path = Arc::new(Path::default());
        path.add(&node.zid);
        let watches = Watches::declare(&zenoh, domain, &graph, &events, &path)?;
        if is_answered {
            path.wait(LINK_PATIENCE);
            settle(&zenoh, domain);
        }
        let watch = |heir| {
            let (path, router) = (Arc::clone(&path), router.clone());
            Succession::start(heir, path, router, events.clone())
        };
        let succession = heir.map(watch).transpose()?;
        Ok(Self {
            options: options.clone(),
            description,
            node,
            next_id: AtomicU32::new(1),
            graph,
            events,
            path,
            token: Mutex::default(),
            watches: Some(watches),
            succession,
            zenoh,
            patient: Mutex::default(),
            router,
            config,
            is_answered,
        })
    }

    /// The role on the network, as text for the user: `router on tcp/127.0.0.1:7447`, `connected to
    /// tcp/localhost:7447`.
    pub fn describe(&self) -> String {
        let router = self.router.describe();
        router.unwrap_or_else(|| self.description.clone())
    }

    /// The zenoh id of this session, as written in liveliness tokens.
    pub fn zid(&self) -> String {
        self.node.zid.clone()
    }

    /// The full name of this node.
    pub fn node_name(&self) -> String {
        self.node.node_path()
    }

    /// The ROS domain of this node.
    pub fn domain_id(&self) -> u32 {
        self.node.domain
    }

    /// A handle to the ROS graph.
    pub fn graph(&self) -> Graph {
        self.graph.clone()
    }

    /// Whether there is a connection over which puts can leave, and how often it was lost.
    pub fn path(&self) -> PathState {
        self.path.state()
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
        self.show_node()?;
        let flavour = self.flavour();
        let own_clock = if clock.is_some() {
            OwnClock::Served
        } else {
            OwnClock::NotServed
        };
        let (planned, skipped) = plan_ros(played, own_clock, flavour, &self.graph, &self.events)?;
        let mut ours: Vec<Ours> = Vec::new();
        let mut output = self.output(&planned, clock, |planned| {
            let key_hash = if flavour == Flavour::Any {
                ANY_HASH
            } else {
                &planned.hash
            };
            ours.push(Ours {
                name: planned.name.clone(),
                dds_type: planned.dds_type.clone(),
                hash: key_hash.to_owned(),
            });
            self.ros_spec(planned, key_hash)
        })?;
        if let Some(options) = clock {
            let hash = if flavour == Flavour::Humble {
                NO_HASH
            } else {
                CLOCK_HASH
            };
            let clock = clock_topic(hash);
            let key_hash = if flavour == Flavour::Any {
                ANY_HASH
            } else {
                hash
            };
            let spec = self.ros_spec(&clock, key_hash);
            output.clock = Some(self.clock(&output, spec, options)?);
            ours.push(Ours {
                name: clock.name,
                dds_type: clock.dds_type,
                hash: key_hash.to_owned(),
            });
        }
        let waker = output.clock.as_ref().map(Clock::waker);
        for event in self.graph.publish(ours, waker) {
            self.events.tell(event);
        }
        Ok((output, skipped))
    }

    /// Puts this node on the ROS graph, unless it is there already.
    pub(crate) fn show_node(&self) -> Result<(), WireError> {
        let mut shown = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.is_some() {
            return Ok(());
        }
        let key = self.node.to_string();
        let token = self.zenoh.liveliness().declare_token(key.clone()).wait();
        *shown = Some(token.map_err(|source| WireError::Declare { what: key, source })?);
        drop(shown);
        for event in self.graph.show_node() {
            self.events.tell(event);
        }
        Ok(())
    }

    pub(crate) fn flavour(&self) -> Flavour {
        Flavour::choose(self.options.distro, self.options.any_type_hash, &self.graph)
    }

    /// Publishes topics on plain keys, for subscribers that are not ROS 2 nodes. The key is the topic's name
    /// without its first slash, the payload is the recorded bytes in their own encoding. There are no
    /// liveliness tokens and no attachments. The clock, if served, is CDR on the key `clock`.
    pub fn advertise_raw(
        &self,
        played: &[Played],
        clock: Option<ClockOptions>,
    ) -> Result<(WireOutput, Vec<Skipped>), WireError> {
        let own_clock = if clock.is_some() {
            OwnClock::Served
        } else {
            OwnClock::NotServed
        };
        let (planned, skipped) = plan_raw(played, own_clock, &self.events)?;
        let spec = |planned: &Planned| Spec {
            key: planned.name.trim_start_matches('/').to_owned(),
            token: None,
            qos: planned.qos,
            congestion: self.options.congestion,
            priority: Priority::Data,
            waits: planned.qos.reliability == Reliability::Reliable,
        };
        let mut output = self.output(&planned, clock, spec)?;
        if let Some(options) = clock {
            let spec = spec(&clock_topic(""));
            let clock = self.clock(&output, spec, options)?;
            clock.answer_matches()?;
            output.clock = Some(clock);
        }
        Ok((output, skipped))
    }

    /// Waits until everything that was put has left, however slowly. Gives up once nothing has moved for the
    /// stall timeout. Call it before the output is dropped. `is_called_off` is called at least 20 times a
    /// second; `true` ends the wait.
    pub fn drain(&self, is_called_off: impl FnMut() -> bool) -> Drained {
        let patience = self.options.stall_timeout;
        let second = self.patient().as_ref().map(|patient| patient.zenoh.clone());
        let sessions: Vec<_> = std::iter::once(self.zenoh.clone()).chain(second).collect();
        drain(&sessions, &self.router, patience, is_called_off)
    }

    /// Leaves the network: takes the node off the ROS graph, then closes the links, also if messages have not
    /// left yet. Call [`Session::drain`] first. Outputs that still exist can no longer publish.
    pub fn close(mut self) {
        self.shut();
    }

    fn shut(&mut self) {
        let shown = self.token.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(token) = shown.take() {
            // An error means that the session is already closed.
            drop(token.undeclare().wait());
        }
        if self.watches.take().is_some() {
            self.succession = None;
            let patience = self.options.stall_timeout.max(Duration::from_millis(100));
            let second = self.patient().take();
            let second = second.map(|second| second.zenoh.close().timeout(patience).wait());
            let main = self.zenoh.close().timeout(patience).wait();
            // The router is closed last, because other sessions are reached through it.
            let closed = [second.unwrap_or(Ok(())), main, self.router.close(patience)];
            for error in closed.into_iter().filter_map(Result::err) {
                self.events.warn(format!(
                    "not everything was sent when the session closed: {error}"
                ));
            }
        }
    }

    pub(crate) fn patient(&self) -> MutexGuard<'_, Option<Patient>> {
        self.patient.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn ros_spec(&self, planned: &Planned, key_hash: &str) -> Spec {
        let token = Token {
            entity_id: self.next_id.fetch_add(1, Ordering::Relaxed),
            kind: EntityKind::Publisher,
            endpoint: Some(Endpoint {
                name: planned.name.clone(),
                dds_type: planned.dds_type.clone(),
                hash: planned.hash.clone(),
                qos: planned.qos,
            }),
            ..self.node.clone()
        };
        Spec {
            key: topic_key(self.node.domain, &planned.name, &planned.dds_type, key_hash),
            token: Some(token),
            qos: planned.qos,
            congestion: self.options.congestion,
            priority: Priority::Data,
            waits: planned.qos.reliability == Reliability::Reliable,
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.shut();
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("node", &self.node.node_path())
            .field("zid", &self.node.zid)
            .field("description", &self.description)
            .finish_non_exhaustive()
    }
}

/// `/clock`, with the QoS profile that ROS 2 uses for it.
pub(crate) fn clock_topic(hash: &str) -> Planned {
    Planned {
        ids: Vec::new(),
        name: CLOCK.to_owned(),
        dds_type: CLOCK_TYPE.to_owned(),
        hash: hash.to_owned(),
        qos: Qos {
            reliability: Reliability::BestEffort,
            history: History::KeepLast(1),
            ..Qos::default()
        },
    }
}
