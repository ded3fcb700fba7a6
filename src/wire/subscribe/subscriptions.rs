//! [`Subscriptions`]: subscriptions to topics whose publishers come and go.
//!
//! `follower.rs` makes them. Messages are handed over in zenoh's thread.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::follower::{Follower, State};
use super::publishers::Publishers;
use super::received::Received;
use super::which::{NotReceived, Subscribed, Which};
use crate::ros::{PublishedTopic, Qos, ros_type};
use crate::wire::dialect::names::check_name;
use crate::wire::error::WireError;
use crate::wire::net::now::steady;
use crate::wire::rmw_zenoh::token::{Endpoint, Token};
use crate::wire::session::Session;

/// Subscriptions to what other nodes publish. They end when this is dropped, or with the session.
pub struct Subscriptions {
    follower: Arc<Follower>,
    thread: Option<JoinHandle<()>>,
}

impl Session {
    /// Receives what nodes of other sessions publish, never what this one does. `receive` is called in zenoh's threads,
    /// by one at a time for each topic: what it waits for delays all that follows on the same link.
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
        let follower = Arc::new(Follower {
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
            publishers: Publishers::new(self.node.graph.clone()),
        });
        // Whoever comes from now on has published nothing before.
        follower.publishers.look();
        let told = Arc::downgrade(&follower);
        self.node.changes.tell(move || match told.upgrade() {
            Some(follower) => {
                follower.change(|state| state.is_stale = true);
                true
            }
            None => false,
        });
        let named = std::thread::Builder::new().name("subscribe".to_owned());
        let of_thread = Arc::clone(&follower);
        let thread = named.spawn(move || of_thread.follow_publishers());
        Ok(Subscriptions {
            follower,
            thread: Some(thread.map_err(WireError::Thread)?),
        })
    }
}

impl Subscriptions {
    /// The topics that are subscribed to, by their numbers.
    pub fn topics(&self) -> Vec<Arc<PublishedTopic>> {
        self.follower.state().topics.clone()
    }

    /// The publishers whose messages are received, sorted. Those that have left are among them.
    pub fn publishers(&self) -> Vec<Subscribed> {
        let mut all: Vec<_> = self.follower.state().subscribed.iter().cloned().collect();
        all.sort_unstable();
        all
    }

    /// The publishers whose messages cannot be received, sorted: the first 1000.
    pub fn not_received(&self) -> Vec<NotReceived> {
        self.follower.state().refused.iter().cloned().collect()
    }

    /// Waits until `is_so`, for `longest` at most; returns whether it is. It is asked at once and after each change of
    /// the subscriptions, without a lock.
    pub fn wait(&self, longest: Duration, mut is_so: impl FnMut(&Self) -> bool) -> bool {
        let deadline = steady().checked_add(longest);
        loop {
            let changes = self.follower.state().changes;
            if is_so(self) {
                return true;
            }
            let left = deadline.map_or(Duration::MAX, |it| it.saturating_duration_since(steady()));
            let state = self.follower.state();
            if left.is_zero() || state.is_over {
                return false;
            }
            let is_same = |state: &mut State| state.changes == changes;
            let waited = self
                .follower
                .changed
                .wait_timeout_while(state, left, is_same);
            drop(waited.unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Waits until there are more topics than `known`; returns all of them by their numbers, and `None` at the end.
    pub fn wait_for_topics(&self, known: usize) -> Option<Vec<Arc<PublishedTopic>>> {
        let state = self.follower.state();
        let is_idle = |state: &mut State| !state.is_over && state.topics.len() <= known;
        let waited = self.follower.changed.wait_while(state, is_idle);
        let state = waited.unwrap_or_else(PoisonError::into_inner);
        (!state.is_over).then(|| state.topics.clone())
    }

    /// Those who [`wait`](Self::wait) ask again.
    pub fn look_again(&self) {
        self.follower.change(|_| ());
    }

    /// Ends all waits and, soon, the subscriptions.
    pub fn end(&self) {
        self.follower.change(|state| state.is_over = true);
    }

    /// Whether they have ended.
    pub fn is_over(&self) -> bool {
        self.follower.state().is_over
    }

    /// The profiles that the present publishers of a topic offer, one for each.
    pub fn offers(&self, topic: &PublishedTopic) -> Vec<Qos> {
        let tokens = self.follower.graph.tokens();
        let mut of_topic: Vec<&Token> = tokens.iter().filter(|it| is_of(it, topic)).collect();
        of_topic.sort_unstable_by_key(|token| (token.node_path(), token.node_id, token.entity_id));
        let offered = of_topic.into_iter().filter_map(|it| it.endpoint.as_ref());
        offered.map(|endpoint| endpoint.qos).collect()
    }

    /// The nodes that publish a topic at present, sorted.
    pub fn nodes(&self, topic: &PublishedTopic) -> Vec<String> {
        let tokens = self.follower.graph.tokens();
        let of_topic = tokens.iter().filter(|token| is_of(token, topic));
        let nodes: BTreeSet<String> = of_topic.map(Token::node_path).collect();
        nodes.into_iter().collect()
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
            .field("which", &self.follower.which)
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
