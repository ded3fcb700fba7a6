//! [`Subscriptions`]: subscriptions to topics whose publishers come and go.
//!
//! A thread waits for changes of the graph and subscribes to what publishers announce: exactly their name, type and hash. A
//! subscription stays until the end, because messages may still come when the token of their publisher is gone. Messages are
//! handed over in zenoh's thread.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use zenoh::sample::Sample;

use super::publishers::Publishers;
use super::received::{Received, bytes_of};
use super::subscription::Subscription;
use crate::ros::{History, PublishedTopic, Publisher, Qos, QosDuration, is_type_hash, ros_type};
use crate::wire::dialect::names::{check_name, normal_name};
use crate::wire::dialect::plan::CLOCK;
use crate::wire::error::WireError;
use crate::wire::event::Events;
use crate::wire::net::now::steady;
use crate::wire::rmw_zenoh::attachment::read_attachment;
use crate::wire::rmw_zenoh::gid::Gid;
use crate::wire::rmw_zenoh::graph::Graph;
use crate::wire::rmw_zenoh::node::Endpoints;
use crate::wire::rmw_zenoh::token::{Endpoint, Token};
use crate::wire::session::Session;

/// Published by every node about itself.
const OF_EVERY_NODE: [&str; 3] = [CLOCK, "/rosout", "/parameter_events"];
/// How many topics are subscribed to.
const MOST: usize = 4096;

/// What to receive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Which {
    /// The topics with these names, whoever publishes them.
    Named(Vec<String>),
    /// All topics that nodes of other sessions publish, but `/clock`, `/rosout` and `/parameter_events`.
    OfOthers,
}

/// A publisher whose messages are received.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Subscribed {
    /// The topic.
    pub topic: String,
    /// The full name of the publisher's node.
    pub node: String,
}

/// Subscriptions to what other nodes publish. They end when this is dropped, or with the session.
pub struct Subscriptions {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

type Receive = Box<dyn Fn(Received) + Send + Sync>;

struct Shared {
    which: Which,
    zenoh: zenoh::Session,
    graph: Graph,
    endpoints: Endpoints,
    events: Events,
    receive: Receive,
    state: Mutex<State>,
    changed: Condvar,
    publishers: Mutex<Publishers>,
}

#[derive(Default)]
struct State {
    /// Whether the graph has changed since the thread looked last.
    is_stale: bool,
    is_over: bool,
    /// Counts all changes.
    changes: u64,
    topics: Vec<Arc<PublishedTopic>>,
    subscribed: HashSet<Subscribed>,
}

impl Session {
    /// Receives what nodes of other sessions publish, never what this one does. `receive` is called in zenoh's threads, by one at
    /// a time for each topic: what it waits for delays all that follows on the same link.
    ///
    /// A message whose attachment is missing or malformed is received, too, without what an attachment tells.
    ///
    /// # Errors
    /// A name that zenoh cannot carry; a session that is closed.
    pub fn receive(
        &self,
        which: Which,
        receive: impl Fn(Received) + Send + Sync + 'static,
    ) -> Result<Subscriptions, WireError> {
        let which = match which {
            Which::Named(names) => Which::Named(
                names
                    .iter()
                    .map(|name| check_name(name))
                    .collect::<Result<_, _>>()?,
            ),
            Which::OfOthers => Which::OfOthers,
        };
        self.node.announce()?;
        let shared = Arc::new(Shared {
            which,
            zenoh: self.connection.zenoh.clone(),
            graph: self.node.graph.clone(),
            endpoints: self.node.endpoints.clone(),
            events: self.connection.events.clone(),
            receive: Box::new(receive),
            state: Mutex::new(State {
                is_stale: true,
                ..State::default()
            }),
            changed: Condvar::new(),
            publishers: Mutex::default(),
        });
        let told = Arc::downgrade(&shared);
        self.node.changes.tell(move || match told.upgrade() {
            Some(shared) => {
                shared.change(|state| state.is_stale = true);
                true
            }
            None => false,
        });
        let named = std::thread::Builder::new().name("subscribe".to_owned());
        let of_thread = Arc::clone(&shared);
        let thread = named.spawn(move || of_thread.follow_publishers());
        Ok(Subscriptions {
            shared,
            thread: Some(thread.map_err(WireError::Thread)?),
        })
    }
}

impl Subscriptions {
    /// The topics that are subscribed to, by their numbers.
    pub fn topics(&self) -> Vec<Arc<PublishedTopic>> {
        self.shared.state().topics.clone()
    }

    /// The publishers whose messages are received, sorted. Those that have left are among them.
    pub fn publishers(&self) -> Vec<Subscribed> {
        let mut all: Vec<_> = self.shared.state().subscribed.iter().cloned().collect();
        all.sort();
        all
    }

    /// Waits until `is_so`, for `longest` at most; returns whether it is. It is asked at once and after each change of the
    /// subscriptions, without a lock.
    pub fn wait(&self, longest: Duration, mut is_so: impl FnMut(&Self) -> bool) -> bool {
        let deadline = steady().checked_add(longest);
        loop {
            let changes = self.shared.state().changes;
            if is_so(self) {
                return true;
            }
            let left = deadline.map_or(Duration::MAX, |it| it.saturating_duration_since(steady()));
            let state = self.shared.state();
            if left.is_zero() || state.is_over {
                return false;
            }
            let is_same = |state: &mut State| state.changes == changes;
            let waited = self.shared.changed.wait_timeout_while(state, left, is_same);
            drop(waited.unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Waits until there are more topics than `known`; returns all of them by their numbers, and `None` at the end.
    pub fn wait_for_topics(&self, known: usize) -> Option<Vec<Arc<PublishedTopic>>> {
        let state = self.shared.state();
        let is_idle = |state: &mut State| !state.is_over && state.topics.len() <= known;
        let waited = self.shared.changed.wait_while(state, is_idle);
        let state = waited.unwrap_or_else(PoisonError::into_inner);
        (!state.is_over).then(|| state.topics.clone())
    }

    /// Those who [`wait`](Self::wait) ask again.
    pub fn look_again(&self) {
        self.shared.change(|_| ());
    }

    /// Ends all waits and, soon, the subscriptions.
    pub fn end(&self) {
        self.shared.change(|state| state.is_over = true);
    }

    /// Whether they have ended.
    pub fn is_over(&self) -> bool {
        self.shared.state().is_over
    }

    /// The profiles that the present publishers of a topic offer, one for each.
    pub fn offers(&self, topic: &PublishedTopic) -> Vec<Qos> {
        let tokens = self.shared.graph.tokens();
        let mut of_topic: Vec<&Token> = tokens.iter().filter(|it| is_of(it, topic)).collect();
        of_topic.sort_by_key(|token| (token.node_path(), token.node_id, token.entity_id));
        let offered = of_topic.into_iter().filter_map(|it| it.endpoint.as_ref());
        offered.map(|endpoint| endpoint.qos).collect()
    }

    /// The nodes that publish a topic at present, sorted.
    pub fn nodes(&self, topic: &PublishedTopic) -> Vec<String> {
        let tokens = self.shared.graph.tokens();
        let of_topic = tokens.iter().filter(|token| is_of(token, topic));
        let mut nodes: Vec<String> = of_topic.map(Token::node_path).collect();
        nodes.sort();
        nodes.dedup();
        nodes
    }
}

impl Drop for Subscriptions {
    fn drop(&mut self) {
        self.end();
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != std::thread::current().id()
        {
            // It ends with its present step. A panic there has been reported.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Subscriptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscriptions")
            .field("which", &self.shared.which)
            .field("publishers", &self.publishers())
            .finish_non_exhaustive()
    }
}

/// Whether a token is of a publisher of this topic.
fn is_of(token: &Token, topic: &PublishedTopic) -> bool {
    let is_same = |endpoint: &Endpoint| {
        ros_type(&endpoint.dds_type) == topic.type_name
            && topic
                .type_hash
                .as_ref()
                .is_none_or(|hash| *hash == endpoint.hash)
    };
    token.published() == Some(&topic.name) && token.endpoint.as_ref().is_some_and(is_same)
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state();
        change(&mut state);
        state.changes += 1;
        drop(state);
        self.changed.notify_all();
    }

    /// Subscribes to what publishers announce, until the end.
    fn follow_publishers(self: &Arc<Self>) {
        let mut subscriptions: HashMap<(String, String, String), Option<Subscription>> =
            HashMap::new();
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
            let tokens = self.look();
            for token in tokens.iter().filter(|token| self.wants(token)) {
                let Some(endpoint) = token.endpoint.as_ref() else {
                    continue;
                };
                let Endpoint {
                    name,
                    dds_type,
                    hash,
                    ..
                } = endpoint.clone();
                let is_full = subscriptions.len() >= MOST;
                let key = (name, dds_type, hash);
                let subscription = match subscriptions.get(&key) {
                    Some(subscription) => subscription,
                    None if is_full => continue,
                    None => {
                        let declared = self.subscribe(endpoint, subscriptions.len());
                        if subscriptions.len() + 1 == MOST {
                            self.events
                                .warn(format!("only the first {MOST} topics are received"));
                        }
                        subscriptions.entry(key).or_insert(declared)
                    }
                };
                if subscription.is_some() {
                    let subscribed = Subscribed {
                        topic: endpoint.name.clone(),
                        node: token.node_path(),
                    };
                    self.change(|state| _ = state.subscribed.insert(subscribed));
                }
            }
        }
    }

    /// The present tokens, by session and entity, after their publishers have been noted.
    fn look(&self) -> Vec<Token> {
        let mut tokens = self.graph.tokens();
        tokens.sort_by(|a, b| (&a.zid, a.entity_id).cmp(&(&b.zid, b.entity_id)));
        self.publishers().add(&tokens);
        tokens
    }

    fn publishers(&self) -> MutexGuard<'_, Publishers> {
        self.publishers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn wants(&self, token: &Token) -> bool {
        let published = token.published();
        published.is_some_and(|topic| match &self.which {
            Which::Named(names) => names.iter().any(|name| name == topic),
            Which::OfOthers => !OF_EVERY_NODE.contains(&topic),
        })
    }

    /// Subscribes to what a publisher announces; `None`, with a warning, if that is not possible.
    fn subscribe(self: &Arc<Self>, published: &Endpoint, number: usize) -> Option<Subscription> {
        let Endpoint {
            name,
            dds_type,
            hash,
            qos,
        } = published;
        // A token may contain what cannot be part of a key, or would match more than one.
        let is_chunk = |text: &str| !text.contains(['/', '*', '$', '?', '#']);
        if normal_name(name).as_ref() != Ok(name) || !is_chunk(dds_type) || !is_chunk(hash) {
            self.events.warn(format!(
                "{name} ({dds_type}, {hash}) cannot be received: zenoh cannot carry that name"
            ));
            return None;
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
        let shared = Arc::downgrade(self);
        let receive = move |sample: &Sample| {
            if let Some(shared) = shared.upgrade() {
                shared.receive(&topic, sample);
            }
        };
        match Subscription::declare(&self.zenoh, &spec, qos, receive) {
            Ok(subscription) => Some(subscription),
            Err(error) => {
                self.events.warn(format!("{name} is not received: {error}"));
                None
            }
        }
    }

    fn receive(&self, topic: &Arc<PublishedTopic>, sample: &Sample) {
        let attachment = sample.attachment().map(|it| it.to_bytes());
        let attached = attachment.and_then(|bytes| read_attachment(&bytes));
        let publisher = match attached {
            // Also what this node has sent through its second session.
            Some(attached) if self.endpoints.publishes(&attached.sender) => return,
            Some(attached) => self.publisher(&attached.sender),
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

    fn publisher(&self, gid: &Gid) -> Publisher {
        let known = self.publishers().get(gid).cloned();
        known.unwrap_or_else(|| {
            // A message may come before this thread's turn to look at the token of its publisher.
            if self.state().is_stale {
                self.look();
            }
            let found = self.publishers().get(gid).cloned();
            found.unwrap_or_else(Publisher::unknown)
        })
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
