//! [`Node`]: this session as a node on the ROS graph: its tokens, the topics it publishes, the other nodes.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use zenoh::Wait;
use zenoh::liveliness::LivelinessToken;
use zenoh::pubsub::Subscriber;

use crate::ros::{History, Qos};

use super::advertise::{self, Planned};
use super::gid::Gid;
use super::graph::{Graph, Wake};
use super::names::{split_node, topic_key};
use super::ours::{Ours, Via};
use super::qos_chunk::DEFAULT_DEPTH;
use super::token::{ANY_HASH, Endpoint, EntityKind, NO_HASH, Token};
use super::type_hash::HashForm;
use super::watch::settle::settle;
use super::watch::tokens::{Changes, watch_tokens};
use crate::wire::dialect::interface::{Latched, MessageForm, Plan, SubscriptionSpec, TopicSpec};
use crate::wire::dialect::plan::{CLOCK, OwnClock, clock_qos};
use crate::wire::dialect::ros1_topics::Ros1Topics;
use crate::wire::error::WireError;
use crate::wire::event::Events;
use crate::wire::options::{Distro, Played, Ros1Messages, WireOptions};

const CLOCK_TYPE: &str = "rosgraph_msgs::msg::dds_::Clock_";
const CLOCK_HASH: &str = "RIHS01_692f7a66e93a3c83e71765d033b60349ba68023a8c689a79e48078bcb5c58564";

/// A type that this program publishes or follows itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnType<'a> {
    pub(crate) dds_type: &'a str,
    /// `None` if the hash is unknown.
    pub(crate) hash: Option<&'a str>,
}

/// The type of `/clock`.
pub(crate) const CLOCK_MESSAGE: OwnType<'_> = OwnType {
    dds_type: CLOCK_TYPE,
    hash: Some(CLOCK_HASH),
};

/// The name of a node, checked before anything is opened.
#[derive(Debug)]
pub(crate) struct NodeName {
    namespace: String,
    name: String,
}

impl NodeName {
    /// From `name`, `/name` or `/a/b/name`.
    pub(crate) fn parse(full: &str) -> Result<Self, WireError> {
        let (namespace, name) = split_node(full)?;
        Ok(Self { namespace, name })
    }
}

/// A service to declare.
#[derive(Debug)]
pub(crate) struct ServerSpec {
    /// The key expression of its requests.
    pub(crate) key: String,
    /// The liveliness token that announces it.
    pub(crate) token: String,
}

/// Makes the tokens of a node's endpoints. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Endpoints {
    node: Token,
    next_id: Arc<AtomicU32>,
    /// The publishers of this node.
    publishers: Arc<Mutex<HashSet<Gid>>>,
}

impl Endpoints {
    fn of(node: &Token) -> Self {
        Self {
            node: node.clone(),
            next_id: Arc::new(AtomicU32::new(1)),
            publishers: Arc::default(),
        }
    }

    /// Whether a publisher is one of this node.
    pub(crate) fn publishes(&self, gid: &Gid) -> bool {
        self.publishers().contains(gid)
    }

    /// What to declare to receive what others publish on a topic with exactly this type.
    pub(crate) fn subscription(&self, endpoint: Endpoint) -> SubscriptionSpec {
        let Endpoint {
            name,
            dds_type,
            hash,
            ..
        } = &endpoint;
        SubscriptionSpec {
            key: topic_key(self.node.domain, name, dds_type, hash),
            token: self.token(EntityKind::Subscription, endpoint),
        }
    }

    /// The token of a service client of this node.
    pub(crate) fn client(&self, name: &str, dds_type: &str, hash: &str) -> String {
        let endpoint = Endpoint {
            name: name.to_owned(),
            dds_type: dds_type.to_owned(),
            hash: hash.to_owned(),
            qos: Qos::default(),
        };
        self.token(EntityKind::Client, endpoint)
    }

    /// The domain of the node.
    pub(crate) fn domain(&self) -> u32 {
        self.node.domain
    }

    /// The token of a new endpoint.
    fn token(&self, kind: EntityKind, endpoint: Endpoint) -> String {
        let token = Token {
            entity_id: self.next_id.fetch_add(1, Ordering::Relaxed),
            kind,
            endpoint: Some(endpoint),
            ..self.node.clone()
        };
        let token = token.to_string();
        if kind == EntityKind::Publisher {
            self.publishers().insert(Gid::of(&token));
        }
        token
    }

    /// What to declare for a topic, and what subscribers have to name.
    fn publisher(&self, form: HashForm, planned: Planned) -> (TopicSpec, Ours) {
        let key_hash = if form == HashForm::Any {
            ANY_HASH
        } else {
            &planned.hash
        };
        let (name, qos) = (planned.name.clone(), planned.qos);
        let ours = Ours {
            name: name.clone(),
            dds_type: planned.dds_type.clone(),
            hash: key_hash.to_owned(),
            via: Via::Main,
        };
        let key = topic_key(self.node.domain, &name, &planned.dds_type, key_hash);
        let ids = planned.ids.clone();
        let token = self.planned(EntityKind::Publisher, planned);
        let spec = TopicSpec {
            ids,
            name,
            key,
            form: MessageForm::RmwZenoh(Gid::of(&token)),
            token: Some(token),
            offered: Some(qos),
            reliability: qos.reliability,
            latched: Latched::of(&qos, DEFAULT_DEPTH),
        };
        (spec, ours)
    }

    /// The same for the clock.
    pub(crate) fn clock(&self, form: HashForm) -> (TopicSpec, Ours) {
        self.publisher(form, own(CLOCK, CLOCK_MESSAGE, form, clock_qos()))
    }

    /// The token of a new endpoint of this node.
    fn planned(&self, kind: EntityKind, planned: Planned) -> String {
        let endpoint = Endpoint {
            name: planned.name,
            dds_type: planned.dds_type,
            hash: planned.hash,
            qos: planned.qos,
        };
        self.token(kind, endpoint)
    }

    fn publishers(&self) -> MutexGuard<'_, HashSet<Gid>> {
        self.publishers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// This session as a node. It is on the ROS graph once it is announced.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) token: Token,
    pub(crate) graph: Graph,
    pub(crate) changes: Changes,
    events: Events,
    pub(crate) endpoints: Endpoints,
    distro: Distro,
    any_type_hash: bool,
    ros1: Ros1Messages,
    announced: Mutex<Option<LivelinessToken>>,
    tokens: Option<Subscriber<()>>,
    /// The same tokens, as the session for blocking puts receives them, once it puts.
    at_blocking_puts: Mutex<Option<Subscriber<()>>>,
    zenoh: zenoh::Session,
}

impl Node {
    /// Begins to follow the graph.
    pub(crate) fn new(
        zenoh: &zenoh::Session,
        domain: u32,
        NodeName { namespace, name }: NodeName,
        options: &WireOptions,
        events: &Events,
    ) -> Result<Self, WireError> {
        let token = Token {
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
        let graph = Graph::new(token.zid.clone(), token.node_path());
        let changes = Changes::default();
        let tokens = watch_tokens(zenoh, Via::Main, domain, &graph, events, &changes)?;
        Ok(Self {
            endpoints: Endpoints::of(&token),
            token,
            graph,
            changes,
            events: events.clone(),
            distro: options.distro,
            any_type_hash: options.any_type_hash,
            ros1: options.ros1,
            announced: Mutex::default(),
            tokens: Some(tokens),
            at_blocking_puts: Mutex::default(),
            zenoh: zenoh.clone(),
        })
    }

    /// From now on also follows the tokens as `blocking_puts`, the session for blocking puts, receives them.
    pub(crate) fn puts_also_with(&self, blocking_puts: &zenoh::Session) -> Result<(), WireError> {
        let watched = || {
            let watched = self.at_blocking_puts.lock();
            watched.unwrap_or_else(PoisonError::into_inner)
        };
        let is_watched = watched().is_some();
        if !is_watched {
            let tokens = watch_tokens(
                blocking_puts,
                Via::BlockingPuts,
                self.token.domain,
                &self.graph,
                &self.events,
                &self.changes,
            )?;
            *watched() = Some(tokens);
        }
        Ok(())
    }

    /// Waits for the nodes that are there already, `patience` at most.
    pub(crate) fn settle(&self, patience: Duration) {
        settle(&self.zenoh, self.token.domain, patience);
    }

    /// Puts this node on the ROS graph, unless it is there already.
    pub(crate) fn announce(&self) -> Result<(), WireError> {
        let mut announced = self
            .announced
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if announced.is_some() {
            return Ok(());
        }
        let key = self.token.to_string();
        let token = self.zenoh.liveliness().declare_token(key.clone()).wait();
        *announced = Some(token.map_err(|source| WireError::Declare { what: key, source })?);
        drop(announced);
        for event in self.graph.show_node() {
            self.events.send(event);
        }
        Ok(())
    }

    /// Takes this node off the ROS graph.
    pub(crate) fn withdraw(&mut self) {
        let announced = self
            .announced
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(token) = announced.take() {
            // An error means that the session is already closed.
            drop(token.undeclare().wait());
        }
        self.tokens = None;
        *self
            .at_blocking_puts
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// What to declare for recorded topics, and for the clock if one is served.
    pub(crate) fn plan(&self, played: &[Played], clock: OwnClock) -> Result<Plan, WireError> {
        let form = self.hash_form();
        let recorded = Ros1Topics::of(played, self.ros1);
        let planned = advertise::plan(&recorded, clock, form, &self.graph, &self.events);
        let (planned, skipped) = planned?;
        let (topics, mut ours): (Vec<_>, Vec<_>) = planned
            .into_iter()
            .map(|one| self.endpoints.publisher(form, one))
            .unzip();
        let clock = (clock == OwnClock::Served).then(|| {
            let (clock, same) = self.endpoints.clock(form);
            ours.push(same);
            clock
        });
        Ok(Plan {
            topics,
            clock,
            skipped,
            transcoders: recorded.transcoders,
            ours,
        })
    }

    /// What to declare for a topic of this program, and what subscribers have to name.
    pub(crate) fn own_publisher(
        &self,
        name: &str,
        own: OwnType<'_>,
        qos: Qos,
    ) -> (TopicSpec, Ours) {
        let form = self.hash_form();
        self.endpoints
            .publisher(form, self::own(name, own, form, qos))
    }

    /// What to declare to follow a topic, whatever the type hash of its publisher.
    pub(crate) fn subscription(&self, name: &str, own: OwnType<'_>, qos: Qos) -> SubscriptionSpec {
        let planned = self::own(name, own, self.hash_form(), qos);
        SubscriptionSpec {
            key: topic_key(self.token.domain, name, own.dds_type, ANY_HASH),
            token: self.endpoints.planned(EntityKind::Subscription, planned),
        }
    }

    /// What to declare for a service of this node. Its key matches whatever the type hash of a client is: the response
    /// to a request for which nothing is declared would never come.
    pub(crate) fn server(&self, name: &str, dds_type: &str, hash: &str, depth: u32) -> ServerSpec {
        let own = OwnType {
            dds_type,
            hash: Some(hash),
        };
        let qos = Qos {
            history: History::KeepLast(depth),
            ..Qos::default()
        };
        let planned = self::own(name, own, self.hash_form(), qos);
        ServerSpec {
            key: topic_key(self.token.domain, name, dds_type, ANY_HASH),
            token: self.endpoints.planned(EntityKind::Server, planned),
        }
    }

    /// This session now publishes `ours` and nothing else; `clock` is called for each new subscriber of the clock.
    pub(crate) fn publishes(&self, ours: Vec<Ours>, clock: Option<Wake>) {
        for event in self.graph.publish(ours, clock) {
            self.events.send(event);
        }
    }

    /// The form of the type hashes that other nodes use.
    pub(crate) fn hash_form(&self) -> HashForm {
        HashForm::choose(self.distro, self.any_type_hash, &self.graph)
    }
}

/// A topic of this program.
fn own(name: &str, own: OwnType<'_>, form: HashForm, qos: Qos) -> Planned {
    let hash = own.hash.filter(|_| form != HashForm::Humble);
    Planned {
        ids: Vec::new(),
        name: name.to_owned(),
        dds_type: own.dds_type.to_owned(),
        hash: hash.unwrap_or(NO_HASH).to_owned(),
        qos,
    }
}
