//! [`Endpoints`]: what to declare for the topics and services of a node.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::ros::{Durability, Qos};
use crate::wire::dialect::interface::{Latched, MessageForm, SubscriptionSpec, TopicSpec};
use crate::wire::dialect::notation::Notation;
use crate::wire::dialect::plan::{CLOCK, clock_qos};
use crate::wire::rmw_zenoh::advertise::Planned;
use crate::wire::rmw_zenoh::gid::Gid;
use crate::wire::rmw_zenoh::ours::{Ours, Via};
use crate::wire::rmw_zenoh::qos_chunk::DEFAULT_DEPTH;
use crate::wire::rmw_zenoh::token::{ANY_HASH, Endpoint, EntityKind, NO_HASH, Token};
use crate::wire::rmw_zenoh::type_hash::HashForm;

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
    notation: Notation,
    next_id: Arc<AtomicU32>,
    /// The publishers of this node.
    publishers: Arc<Mutex<HashSet<Gid>>>,
}

impl Endpoints {
    pub(super) fn of(node: &Token, notation: Notation) -> Self {
        Self {
            node: node.clone(),
            notation,
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
            key: self.notation.key(name, dds_type, hash),
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
        let token = self.notation.write(&token);
        if kind == EntityKind::Publisher {
            self.publishers().insert(Gid::of(&token));
        }
        token
    }

    /// What to declare for a topic, and what subscribers have to name.
    pub(super) fn publisher(&self, form: HashForm, planned: Planned) -> (TopicSpec, Ours) {
        let key_hash = if form == HashForm::Any || !self.notation.names_types() {
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
            is_latched: qos.durability == Durability::TransientLocal,
        };
        let key = self.notation.key(&name, &planned.dds_type, key_hash);
        let ids = planned.ids.clone();
        let token = self.planned(EntityKind::Publisher, planned);
        let spec = TopicSpec {
            ids,
            name,
            key,
            form: if self.notation.has_attachments() {
                MessageForm::RmwZenoh(Gid::of(&token))
            } else {
                MessageForm::Cdr
            },
            token: self.notation.announces(&qos).then_some(token),
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
    pub(super) fn planned(&self, kind: EntityKind, planned: Planned) -> String {
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

/// A topic of this program.
pub(super) fn own(name: &str, own: OwnType<'_>, form: HashForm, qos: Qos) -> Planned {
    let hash = own.hash.filter(|_| form != HashForm::Humble);
    Planned {
        ids: Vec::new(),
        name: name.to_owned(),
        dds_type: own.dds_type.to_owned(),
        hash: hash.unwrap_or(NO_HASH).to_owned(),
        qos,
    }
}
