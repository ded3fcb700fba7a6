//! [`Node`]: this session as a node on the ROS graph: its tokens, the topics it publishes, the other nodes.

mod endpoints;

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use zenoh::Wait;
use zenoh::liveliness::LivelinessToken;
use zenoh::pubsub::Subscriber;

use crate::ros::{History, Qos};

use super::advertise;
use super::graph::{Graph, Wake};
use super::names::split_node;
use super::ours::{Ours, Via};
use super::token::{ANY_HASH, EntityKind, Token};
use super::type_hash::HashForm;
use super::watch::settle::settle;
use super::watch::tokens::{Changes, watch_tokens};
use crate::wire::dialect::interface::{Plan, SubscriptionSpec, TopicSpec};
use crate::wire::dialect::notation::Notation;
use crate::wire::dialect::plan::OwnClock;
use crate::wire::dialect::ros1_topics::Ros1Topics;
use crate::wire::error::WireError;
use crate::wire::event::Events;
use crate::wire::options::{Distro, Played, Protocol, Ros1Messages, WireOptions};
pub(crate) use endpoints::{CLOCK_MESSAGE, Endpoints, OwnType, ServerSpec};

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

/// This session as a node. It is on the ROS graph once it is announced, if its notation announces nodes.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) token: Token,
    notation: Notation,
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
        let notation = match options.protocol {
            // A session with plain keys is no node, but it sees the nodes of its domain.
            Protocol::RmwZenoh | Protocol::PlainKeys => Notation::RmwZenoh { domain },
            Protocol::Ros2Dds => Notation::Ros2Dds {
                namespace: options.bridge_namespace.as_str().into(),
            },
        };
        let graph = Graph::new(notation.clone(), token.zid.clone(), token.node_path());
        let changes = Changes::default();
        let tokens = watch_tokens(zenoh, Via::Main, &notation, &graph, events, &changes)?;
        Ok(Self {
            endpoints: Endpoints::of(&token, notation.clone()),
            notation,
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
                &self.notation,
                &self.graph,
                &self.events,
                &self.changes,
            )?;
            *watched() = Some(tokens);
        }
        Ok(())
    }

    /// Waits for the nodes that are there already, `patience` at most. Returns whether there is one.
    pub(crate) fn settle(&self, patience: Duration) -> bool {
        settle(&self.zenoh, &self.notation, patience)
    }

    /// Puts this node on the ROS graph, unless it is there already.
    pub(crate) fn announce(&self) -> Result<(), WireError> {
        let mut announced = self
            .announced
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if announced.is_some() || !self.notation.announces_nodes() {
            return Ok(());
        }
        let key = self.notation.write(&self.token);
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
        let graph = (&self.graph, &self.notation);
        let planned = advertise::plan(&recorded, clock, form, graph, &self.events);
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
            .publisher(form, endpoints::own(name, own, form, qos))
    }

    /// What to declare to follow a topic, whatever the type hash of its publisher.
    pub(crate) fn subscription(&self, name: &str, own: OwnType<'_>, qos: Qos) -> SubscriptionSpec {
        let planned = endpoints::own(name, own, self.hash_form(), qos);
        SubscriptionSpec {
            key: self.notation.key(name, own.dds_type, ANY_HASH),
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
        let planned = endpoints::own(name, own, self.hash_form(), qos);
        ServerSpec {
            key: self.notation.key(name, dds_type, ANY_HASH),
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
