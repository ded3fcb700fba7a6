//! [`Follower`]: subscribes to what publishers announce, as they come, and hands over what they publish.
//!
//! A thread waits for changes of the graph and subscribes to exactly the name, type and hash of a publisher. A
//! subscription stays until the end, because messages may still come when the token of their publisher was undeclared.

use std::collections::{BTreeSet, HashSet};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use zenoh::sample::Sample;

use super::admitted::{Admission, Admitted};
use super::publishers::Publishers;
use super::received::{Received, bytes_of};
use super::subscription::Subscription;
use super::which::{NotReceived, Subscribed, Which};
use crate::ros::{
    Durability, History, PublishedTopic, Publisher, Qos, QosDuration, is_type_hash, ros_type,
};
use crate::wire::dialect::names::normal_name;
use crate::wire::event::Events;
use crate::wire::rmw_zenoh::attachment::read_attachment;
use crate::wire::rmw_zenoh::graph::Graph;
use crate::wire::rmw_zenoh::node::Endpoints;
use crate::wire::rmw_zenoh::token::{Endpoint, Token};

/// How many topics are subscribed to.
const MOST: usize = 4096;
/// How many publishers are named that cannot be received.
const MOST_REFUSED: usize = 1000;
/// How many publishers are named that are received.
const MOST_NAMED: usize = 1 << 16;

/// Name, type and hash.
type SubscriptionKey = (String, String, String);

pub(super) type Receive = Box<dyn Fn(Received) + Send + Sync>;

/// What the thread and the callbacks share.
pub(super) struct Follower {
    pub(super) which: Which,
    pub(super) zenoh: zenoh::Session,
    pub(super) graph: Graph,
    pub(super) endpoints: Endpoints,
    pub(super) events: Events,
    pub(super) receive: Receive,
    pub(super) state: Mutex<State>,
    pub(super) changed: Condvar,
    pub(super) publishers: Publishers,
}

/// What is subscribed to.
#[derive(Default)]
pub(super) struct State {
    /// Whether the graph has changed since the thread looked last.
    pub(super) is_stale: bool,
    pub(super) is_over: bool,
    /// Counts all changes.
    pub(super) changes: u64,
    pub(super) topics: Vec<Arc<PublishedTopic>>,
    /// The first publishers that are received.
    pub(super) subscribed: HashSet<Subscribed>,
    /// The first publishers that cannot be received.
    pub(super) refused: BTreeSet<NotReceived>,
}

impl State {
    fn add(&mut self, taken: Result<Subscribed, NotReceived>) {
        match taken {
            Ok(one) if self.subscribed.len() < MOST_NAMED => _ = self.subscribed.insert(one),
            Err(one) if self.refused.len() < MOST_REFUSED => _ = self.refused.insert(one),
            Ok(_) | Err(_) => {}
        }
    }
}

impl Follower {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state();
        change(&mut state);
        state.changes += 1;
        drop(state);
        self.changed.notify_all();
    }

    /// Subscribes to what publishers announce, until the end.
    pub(super) fn follow_publishers(self: &Arc<Self>) {
        let mut subscriptions = Admitted::new(MOST);
        // Of the last look.
        let mut known: HashSet<Token> = HashSet::new();
        loop {
            let state = self.state();
            let is_idle = |state: &mut State| !state.is_over && !state.is_stale;
            let waited = self.changed.wait_while(state, is_idle);
            let mut state = waited.unwrap_or_else(PoisonError::into_inner);
            if state.is_over {
                return;
            }
            state.is_stale = false;
            drop(state);
            let tokens = self.publishers.look();
            let is_new = |token: &&Token| !known.contains(token) && self.wants(token);
            let new = tokens.iter().filter(is_new);
            let taken: Vec<_> = new
                .filter_map(|token| self.take(token, &mut subscriptions))
                .collect();
            if !taken.is_empty() {
                self.change(|state| taken.into_iter().for_each(|one| state.add(one)));
            }
            known = tokens.into_iter().collect();
        }
    }

    /// Subscribes to what a publisher announces, if that was not done for another one.
    fn take(
        self: &Arc<Self>,
        token: &Token,
        subscriptions: &mut Admitted<SubscriptionKey, Result<Subscription, String>>,
    ) -> Option<Result<Subscribed, NotReceived>> {
        let endpoint = token.endpoint.as_ref()?;
        let Endpoint {
            name,
            dds_type,
            hash,
            ..
        } = endpoint.clone();
        let key = (name, dds_type, hash);
        let declare = |number| self.subscribe(endpoint, number);
        let too_many = || format!("only the first {MOST} topics are received");
        let declared = match subscriptions.admit(key, declare) {
            Admission::Is(Ok(_)) => Ok(()),
            Admission::Is(Err(why)) => Err(why.clone()),
            Admission::Refused { is_first } => {
                if is_first {
                    self.events.warn(too_many());
                }
                Err(too_many())
            }
        };
        let (topic, node) = (endpoint.name.clone(), token.node_path());
        Some(match declared {
            Ok(()) => Ok(Subscribed { topic, node }),
            Err(why) => Err(NotReceived { topic, node, why }),
        })
    }

    fn wants(&self, token: &Token) -> bool {
        let published = token.published();
        published.is_some_and(|topic| self.which.receives(topic))
    }

    /// Subscribes to what a publisher announces; the reason, with a warning, if that is not possible.
    fn subscribe(
        self: &Arc<Self>,
        published: &Endpoint,
        number: usize,
    ) -> Result<Subscription, String> {
        let Endpoint {
            name,
            dds_type,
            hash,
            qos,
        } = published;
        // A token may contain what cannot be part of a key, or would match more than one.
        let is_chunk = |text: &str| !text.contains(['/', '*', '$', '?', '#']);
        if normal_name(name).as_ref() != Ok(name) || !is_chunk(dds_type) || !is_chunk(hash) {
            let why = format!("zenoh cannot carry that name ({dds_type}, {hash})");
            self.events.warn(format!("{name} is not received: {why}"));
            return Err(why);
        }
        let topic = Arc::new(PublishedTopic {
            number,
            name: name.clone(),
            type_name: ros_type(dds_type),
            type_hash: Some(hash.clone()).filter(|hash| is_type_hash(hash)),
            qos: *qos,
        });
        let endpoint = Endpoint {
            qos: requested(qos),
            ..published.clone()
        };
        let spec = self.endpoints.subscription(endpoint);
        // Known before its first message comes.
        self.change(|state| state.topics.push(Arc::clone(&topic)));
        // The callback must not keep alive what keeps the subscription alive.
        let follower = Arc::downgrade(self);
        let receive = move |sample: &Sample| {
            if let Some(follower) = follower.upgrade() {
                follower.receive(&topic, sample);
            }
        };
        // This publisher, or another one of the topic.
        let is_latched = self.graph.find(|token| {
            token.published()?;
            let other = token.endpoint.as_ref()?;
            let is_same = (&other.name, &other.dds_type, &other.hash) == (name, dds_type, hash);
            let is_latched = other.qos.durability == Durability::TransientLocal;
            (is_same && is_latched).then_some(())
        });
        match Subscription::declare(&self.zenoh, &spec, is_latched.is_some(), receive) {
            Ok(subscription) => Ok(subscription),
            Err(error) => {
                self.events.warn(format!("{name} is not received: {error}"));
                Err(error.to_string())
            }
        }
    }

    fn receive(&self, topic: &Arc<PublishedTopic>, sample: &Sample) {
        let attachment = sample.attachment().map(|it| it.to_bytes());
        let attached = attachment.and_then(|bytes| read_attachment(&bytes));
        let publisher = match attached {
            // Also what this node has sent through its second session.
            Some(attached) if self.endpoints.publishes(&attached.sender) => return,
            Some(attached) => self.publishers.find(&attached.sender),
            None => Publisher::unknown(),
        };
        (self.receive)(Received {
            topic: Arc::clone(topic),
            publisher,
            sequence: attached.map(|it| it.sequence),
            source_time: attached.map(|it| it.unix_nanos),
            payload: bytes_of(sample.payload()),
        });
    }
}

/// The profile of a subscription that receives everything of a publisher with this one.
fn requested(offered: &Qos) -> Qos {
    Qos {
        history: History::KeepAll,
        deadline: QosDuration::INFINITE,
        lifespan: QosDuration::INFINITE,
        lease: QosDuration::INFINITE,
        ..*offered
    }
}
