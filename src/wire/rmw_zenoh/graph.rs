//! [`Graph`]: the ROS nodes and endpoints on the network, read from liveliness tokens, and events about those
//! that concern this session.
//!
//! One liveliness subscriber with history feeds it from zenoh's thread; any thread reads it through clones. The
//! lock is held only while the tables are used and is released before events are sent, so a receiver may call
//! the graph.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::ours::Ours;
use super::token::{Endpoint, EntityKind, NO_HASH, QueueDepth, Token};
use crate::ros::{dds_type, ros_type};
use crate::wire::dialect::plan::CLOCK;
use crate::wire::event::WireEvent;

/// Called when a new subscriber of a topic appears.
pub(crate) type Wake = Arc<dyn Fn() + Send + Sync>;

/// Called with the number of publishers of a topic; returns `false` when it is no longer needed.
pub(crate) type Count = Box<dyn Fn(usize) -> bool + Send + Sync>;

/// The ROS graph as this session sees it. Cheap to clone; all clones share one tables.
#[derive(Clone)]
pub struct Graph(Arc<Mutex<Tables>>);

#[derive(Default)]
struct Tables {
    zid: String,
    node: String,
    /// Whether this session's node has a token on the graph.
    is_shown: bool,
    /// The tokens of other sessions, by key.
    tokens: HashMap<String, Token>,
    /// How many tokens have appeared so far.
    appeared: u64,
    ours: Vec<Ours>,
    serves_clock: bool,
    /// Topics, and what to call for their new subscribers.
    wakes: Vec<(String, Wake)>,
    counts: Vec<(String, Count)>,
}

impl Graph {
    /// The graph as session `zid` with the node `node` sees it.
    pub(crate) fn new(zid: String, node: String) -> Self {
        Self(Arc::new(Mutex::new(Tables {
            zid,
            node,
            ..Tables::default()
        })))
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of subscriptions of other sessions to a topic with a type (`std_msgs/msg/String`), whatever
    /// their hash.
    pub fn subscribers(&self, topic: &str, ros_type: &str) -> usize {
        let Some(dds) = dds_type(ros_type) else {
            return 0;
        };
        let tables = self.tables();
        tables
            .endpoints(EntityKind::Subscription, topic)
            .filter(|(_, end)| end.dds_type == dds)
            .count()
    }

    /// The number of subscriptions that receive what this session publishes on a topic: type and hash match.
    pub fn reached(&self, topic: &str) -> usize {
        self.tables().reached(topic).count()
    }

    /// A node of another session that publishes `/clock`; `None` if there is none.
    pub fn foreign_clock(&self) -> Option<String> {
        self.publisher(CLOCK)
    }

    /// A node of another session that publishes a topic; `None` if there is none.
    pub fn publisher(&self, topic: &str) -> Option<String> {
        let tables = self.tables();
        tables
            .endpoints(EntityKind::Publisher, topic)
            .map(|(token, _)| token.node_path())
            .min()
    }

    /// The id of another session with a node of the same name as this one; `None` if there is none.
    pub fn same_node_name(&self) -> Option<String> {
        let tables = self.tables();
        let mut others = tables.tokens.values();
        others
            .find(|token| token.node_path() == tables.node)
            .map(|token| token.zid.clone())
    }

    /// The names of all nodes of other sessions, sorted.
    pub fn nodes(&self) -> Vec<String> {
        let names: BTreeSet<String> = self
            .tables()
            .tokens
            .values()
            .map(Token::node_path)
            .collect();
        names.into_iter().collect()
    }

    /// The present tokens of all other sessions.
    pub fn tokens(&self) -> Vec<Token> {
        self.tables().tokens.values().cloned().collect()
    }

    /// How many tokens of other sessions have appeared so far.
    pub(crate) fn appearances(&self) -> u64 {
        self.tables().appeared
    }

    /// The first value that `find` has for a token of another session.
    pub(crate) fn find<T>(&self, find: impl FnMut(&Token) -> Option<T>) -> Option<T> {
        self.tables().tokens.values().find_map(find)
    }

    /// Whether all endpoints on the graph have hashes in Humble's form; `false` if there are no endpoints.
    pub(crate) fn is_humble(&self) -> bool {
        let tables = self.tables();
        let mut hashes = tables
            .tokens
            .values()
            .filter_map(|token| token.endpoint.as_ref())
            .map(|end| end.hash == NO_HASH);
        hashes
            .next()
            .is_some_and(|first| first && hashes.all(|other| other))
    }

    /// The hash of a present subscription to a topic with a type.
    pub(crate) fn wanted_hash(&self, topic: &str, dds_type: &str) -> Option<String> {
        let tables = self.tables();
        let wanted = tables.endpoints(EntityKind::Subscription, topic);
        wanted
            .filter(|(_, end)| end.dds_type == dds_type && end.hash != NO_HASH)
            .map(|(_, end)| end.hash.clone())
            .min()
    }

    /// The nodes whose subscriptions receive what this session publishes on a topic, sorted.
    pub fn subscriber_nodes(&self, topic: &str) -> Vec<String> {
        let tables = self.tables();
        let names: BTreeSet<String> = tables.reached(topic).map(Token::node_path).collect();
        names.into_iter().collect()
    }

    /// Records that this session's node is on the graph. Returns events about nodes with the same name that are
    /// there already.
    pub(crate) fn show_node(&self) -> Vec<WireEvent> {
        let mut tables = self.tables();
        tables.is_shown = true;
        let same = tables
            .tokens
            .values()
            .filter(|token| tables.has_our_name(token));
        same.map(|token| WireEvent::SameNodeName {
            node: token.node_path(),
            zid: token.zid.clone(),
        })
        .collect()
    }

    /// The queues of the subscriptions with `keep_last` history that receive what this session publishes on a topic.
    pub fn depths(&self, topic: &str) -> Vec<QueueDepth> {
        let tables = self.tables();
        tables
            .reached(topic)
            .filter_map(Token::queue_depth)
            .collect()
    }

    /// Whether session `zid` has a subscription that receives what this session publishes on a topic.
    pub(crate) fn subscribes(&self, zid: &str, topic: &str) -> bool {
        self.tables().reached(topic).any(|token| token.zid == zid)
    }

    /// The names of a session's nodes, sorted.
    pub(crate) fn nodes_of(&self, zid: &str) -> Vec<String> {
        let tables = self.tables();
        let tokens = tables.tokens.values().filter(|token| token.zid == zid);
        let names: BTreeSet<String> = tokens.map(Token::node_path).collect();
        names.into_iter().collect()
    }

    /// Sets the topics that this session publishes. Returns events about endpoints that are there already.
    pub(crate) fn publish(&self, ours: Vec<Ours>, clock: Option<Wake>) -> Vec<WireEvent> {
        let mut tables = self.tables();
        tables.serves_clock = clock.is_some();
        tables.wakes = clock
            .map(|wake| (CLOCK.to_owned(), wake))
            .into_iter()
            .collect();
        tables.ours = ours;
        let events = tables
            .tokens
            .values()
            .flat_map(|token| tables.about_endpoint(token, true))
            .collect();
        drop(tables);
        events
    }

    /// Calls `count` with the number of publishers of a topic in other sessions, now and whenever it may have
    /// changed. `count` is called under the lock: it must not block or call the graph.
    pub(crate) fn count_publishers(&self, topic: &str, count: Count) {
        let mut tables = self.tables();
        // Calls every counter, so that those no longer needed are removed; on a quiet network they would
        // accumulate.
        tables.recount(|_| true);
        if count(tables.endpoints(EntityKind::Publisher, topic).count()) {
            tables.counts.push((topic.to_owned(), count));
        }
    }

    /// Adds a topic that this session publishes; `wake` is called for each new subscriber.
    pub(crate) fn publish_also(&self, ours: Ours, wake: Wake) {
        let mut tables = self.tables();
        tables.wakes.push((ours.name.clone(), wake));
        tables.ours.push(ours);
    }

    /// This session no longer publishes any topic.
    pub(crate) fn retire(&self) {
        let mut tables = self.tables();
        tables.ours.clear();
        tables.serves_clock = false;
        tables.wakes.clear();
    }

    /// A token appeared. Returns the events to send.
    pub(crate) fn appeared(&self, key: &str) -> Vec<WireEvent> {
        let Some(token) = Token::parse(key) else {
            return Vec::new();
        };
        let mut tables = self.tables();
        if token.zid == tables.zid || tables.tokens.contains_key(key) {
            return Vec::new();
        }
        let events = tables.about(&token, true);
        let publishes = token.published().map(str::to_owned);
        tables.tokens.insert(key.to_owned(), token);
        tables.appeared += 1;
        if let Some(topic) = publishes {
            tables.recount(|changed| changed == topic);
        }
        let follows = |topic: &str| {
            events.iter().any(|event| match event {
                WireEvent::ClockSubscriber { .. } => topic == CLOCK,
                WireEvent::SubscriberJoined { topic: joined, .. } => topic == joined,
                _ => false,
            })
        };
        let wakes = tables.wakes.iter().filter(|(topic, _)| follows(topic));
        let wakes: Vec<Wake> = wakes.map(|(_, wake)| Arc::clone(wake)).collect();
        drop(tables);
        for wake in wakes {
            wake();
        }
        events
    }

    /// A token disappeared. Returns the events to send.
    pub(crate) fn vanished(&self, key: &str) -> Vec<WireEvent> {
        let mut tables = self.tables();
        let Some(token) = tables.tokens.remove(key) else {
            return Vec::new();
        };
        if let Some(topic) = token.published() {
            tables.recount(|changed| changed == topic);
        }
        tables.about(&token, false)
    }
}

impl Tables {
    fn endpoints<'a>(
        &'a self,
        kind: EntityKind,
        topic: &'a str,
    ) -> impl Iterator<Item = (&'a Token, &'a Endpoint)> {
        let of_kind = self.tokens.values().filter(move |token| token.kind == kind);
        of_kind
            .filter_map(|token| Some((token, token.endpoint.as_ref()?)))
            .filter(move |(_, end)| end.name == topic)
    }

    /// Calls the counters of the topics for which `concerns` is true, and removes those no longer needed.
    fn recount(&mut self, concerns: impl Fn(&str) -> bool) {
        let mut counts = std::mem::take(&mut self.counts);
        counts.retain(|(topic, count)| {
            let publishers = || self.endpoints(EntityKind::Publisher, topic).count();
            !concerns(topic) || count(publishers())
        });
        self.counts = counts;
    }

    /// The subscriptions that receive what this session publishes on a topic.
    fn reached<'a>(&'a self, topic: &'a str) -> impl Iterator<Item = &'a Token> {
        let is_reached = move |end: &Endpoint| {
            self.ours
                .iter()
                .any(|ours| ours.name == topic && ours.takes(end))
        };
        let subscriptions = self.endpoints(EntityKind::Subscription, topic);
        subscriptions
            .filter(move |(_, end)| is_reached(end))
            .map(|(token, _)| token)
    }

    /// The events about a token that appears or disappears.
    fn about(&self, token: &Token, is_coming: bool) -> Vec<WireEvent> {
        let node = token.node_path();
        if is_coming && self.has_our_name(token) {
            return vec![WireEvent::SameNodeName {
                node,
                zid: token.zid.clone(),
            }];
        }
        self.about_endpoint(token, is_coming)
    }

    /// Whether a token is of a node with the same full name as this session's node.
    fn has_our_name(&self, token: &Token) -> bool {
        self.is_shown && token.kind == EntityKind::Node && token.node_path() == self.node
    }

    fn about_endpoint(&self, token: &Token, is_coming: bool) -> Vec<WireEvent> {
        let Some(end) = &token.endpoint else {
            return Vec::new();
        };
        let (node, topic) = (token.node_path(), end.name.clone());
        let mut mine = self
            .ours
            .iter()
            .filter(|ours| ours.name == topic)
            .peekable();
        let Some(first) = mine.peek().copied() else {
            return Vec::new();
        };
        let is_clock = self.serves_clock && topic == CLOCK;
        let event = match (token.kind, is_coming) {
            (EntityKind::Publisher, true) if is_clock => WireEvent::ForeignClock { node },
            (EntityKind::Publisher, true) => WireEvent::ForeignPublisher {
                topics: vec![topic],
                node,
            },
            (EntityKind::Subscription, is_coming) => {
                match (mine.any(|ours| ours.takes(end)), is_coming) {
                    (true, true) if is_clock => WireEvent::ClockSubscriber { node },
                    (true, true) => WireEvent::SubscriberJoined { topic, node },
                    (true, false) if !is_clock => WireEvent::SubscriberLeft { topic, node },
                    (false, true) => WireEvent::TypeMismatch {
                        topic,
                        ours: type_and_hash(&first.dds_type, &first.hash),
                        theirs: type_and_hash(&end.dds_type, &end.hash),
                        is_same_type: first.dds_type == end.dds_type,
                        node,
                    },
                    (_, false) => return Vec::new(),
                }
            }
            _ => return Vec::new(),
        };
        vec![event]
    }
}

fn type_and_hash(dds_type: &str, hash: &str) -> String {
    match hash {
        NO_HASH => format!("{} (no type hash: ROS 2 Humble)", ros_type(dds_type)),
        _ => format!("{} ({hash})", ros_type(dds_type)),
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tables = self.tables();
        f.debug_struct("Graph")
            .field("zid", &tables.zid)
            .field("node", &tables.node)
            .field("tokens", &tables.tokens.len())
            .field("ours", &tables.ours)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::super::token::ANY_HASH;
    use super::*;

    fn token(kind: &str, name: &str, hash: &str) -> String {
        format!(
            "@ros2_lv/0/other/0/7/{kind}/%/%/them/{name}/std_msgs::msg::dds_::String_/{hash}/::,10:,:,:,,"
        )
    }

    fn graph() -> Graph {
        let graph = Graph::new("me".to_owned(), "/player".to_owned());
        let ours = |name: &str| Ours {
            name: name.to_owned(),
            dds_type: "std_msgs::msg::dds_::String_".to_owned(),
            hash: "H".to_owned(),
        };
        assert!(
            graph
                .publish(vec![ours("/a"), ours(CLOCK)], Some(Arc::new(|| ())))
                .is_empty()
        );
        graph
    }

    #[test]
    fn tokens_become_events_and_counts() {
        let graph = graph();
        let (topic, node) = ("/a".to_owned(), "/them".to_owned());
        let sub = token("MS", "%a", "H");
        assert_eq!(
            graph.appeared(&sub),
            [WireEvent::SubscriberJoined {
                topic: topic.clone(),
                node: node.clone()
            }]
        );
        assert!(graph.appeared(&sub).is_empty(), "reported once");
        assert_eq!(graph.subscriber_nodes("/a"), ["/them"]);
        assert_eq!(
            (
                graph.reached("/a"),
                graph.subscribers("/a", "std_msgs/msg/String")
            ),
            (1, 1)
        );
        assert_eq!(
            graph.vanished(&sub),
            [WireEvent::SubscriberLeft {
                topic: topic.clone(),
                node: node.clone()
            }]
        );
        assert!(graph.vanished(&sub).is_empty());
        assert_eq!(
            graph.appeared(&token("MP", "%a", "H")),
            [WireEvent::ForeignPublisher {
                topics: vec![topic],
                node: node.clone()
            }]
        );
        assert_eq!(
            graph.appeared(&token("MP", "%clock", "H")),
            [WireEvent::ForeignClock { node: node.clone() }]
        );
        assert_eq!(graph.foreign_clock(), Some(node.clone()));
        assert_eq!(
            graph.appeared(&token("MS", "%clock", "H")),
            [WireEvent::ClockSubscriber { node }]
        );
        assert!(
            graph.appeared(&token("MS", "%b", "H")).is_empty(),
            "not ours"
        );
        assert_eq!(graph.nodes(), ["/them"]);
    }

    #[test]
    fn a_subscription_with_another_hash_is_reported_and_not_counted() {
        let graph = graph();
        let events = graph.appeared(&token("MS", "%a", "TypeHashNotSupported"));
        let [WireEvent::TypeMismatch { ours, theirs, .. }] = &events[..] else {
            panic!("{events:?}");
        };
        assert_eq!(ours, "std_msgs/msg/String (H)");
        assert_eq!(theirs, "std_msgs/msg/String (no type hash: ROS 2 Humble)");
        assert_eq!(
            (
                graph.reached("/a"),
                graph.subscribers("/a", "std_msgs/msg/String")
            ),
            (0, 1)
        );
        assert!(graph.is_humble());
    }

    #[test]
    fn own_tokens_are_ignored_and_nodes_of_the_same_name_are_reported() {
        let graph = graph();
        assert!(graph.appeared("@ros2_lv/0/me/0/0/NN/%/%/player").is_empty());
        assert_eq!(graph.same_node_name(), None);
        // No warning about the name while this session's node is not on the graph.
        let events = graph.appeared("@ros2_lv/0/third/0/0/NN/%/%/player");
        assert_eq!(events, []);
        let events = graph.show_node();
        assert!(matches!(&events[..], [WireEvent::SameNodeName { zid, .. }] if zid == "third"));
        graph.vanished("@ros2_lv/0/third/0/0/NN/%/%/player");
        let events = graph.appeared("@ros2_lv/0/other/0/0/NN/%/%/player");
        assert!(matches!(&events[..], [WireEvent::SameNodeName { zid, .. }] if zid == "other"));
        assert_eq!(graph.same_node_name().as_deref(), Some("other"));
    }

    #[test]
    fn a_counter_that_is_no_longer_needed_is_removed() {
        let graph = graph();
        for _ in 0..3 {
            let wanted = Arc::new(());
            let asked = Arc::downgrade(&wanted);
            let count = move |_| asked.upgrade().is_some();
            graph.count_publishers(CLOCK, Box::new(count));
            assert_eq!(graph.tables().counts.len(), 1);
        }
    }

    #[test]
    fn subscriptions_from_before_the_first_output_are_reported_with_it() {
        let graph = Graph::new("me".to_owned(), "/player".to_owned());
        assert!(graph.appeared(&token("MS", "%a", "H")).is_empty());
        let dds_type = "std_msgs::msg::dds_::String_".to_owned();
        let any = Ours {
            name: "/a".to_owned(),
            dds_type,
            hash: ANY_HASH.to_owned(),
        };
        assert_eq!(graph.publish(vec![any], None).len(), 1);
        graph.retire();
        assert!(graph.vanished(&token("MS", "%a", "H")).is_empty());
    }
}
