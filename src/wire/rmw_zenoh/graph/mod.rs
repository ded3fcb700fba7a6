//! [`Graph`]: the ROS nodes and endpoints on the network, read from liveliness tokens, and events about those
//! that concern this session.
//!
//! Liveliness subscribers with history feed it from zenoh's threads: one of the main zenoh session and, if reliable
//! topics are published, one of the session for blocking puts. Any thread reads it through clones. The
//! lock is held only while the tables are used and is released before events are sent, so a receiver may call
//! the graph.

mod tables;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::ours::{Ours, Via};
use super::token::{EntityKind, NO_HASH, QueueDepth, Token};
use crate::ros::{dds_type, is_type_hash};
use crate::wire::dialect::notation::Notation;
use crate::wire::dialect::plan::CLOCK;
use crate::wire::event::WireEvent;
use tables::Tables;

/// Called when a subscription of a topic begins to be reached.
pub(crate) type Wake = Arc<dyn Fn() + Send + Sync>;

/// Called with the number of publishers of a topic; returns `false` when it is no longer needed.
pub(crate) type Count = Box<dyn Fn(usize) -> bool + Send + Sync>;

/// The ROS graph as this session sees it. Cheap to clone; all clones share one table.
#[derive(Clone)]
pub struct Graph(Arc<Mutex<Tables>>);

impl Graph {
    /// The graph as session `zid` with the node `node` sees it.
    pub(crate) fn new(notation: Notation, zid: String, node: String) -> Self {
        Self(Arc::new(Mutex::new(Tables::new(notation, zid, node))))
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

    /// The number of subscriptions that receive what this session publishes on a topic: type and hash match, and the
    /// zenoh session that puts its messages knows of them.
    pub fn reached(&self, topic: &str) -> usize {
        self.tables().reached(topic).count()
    }

    /// Whether [`Graph::reached`] has all subscriptions to a topic whose type and hash match.
    pub(crate) fn are_all_reached(&self, topic: &str) -> bool {
        let tables = self.tables();
        let mut wanted = tables.wanted(topic);
        wanted.all(|(key, _, via)| tables.is_reached(key, via))
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
            .filter(|(_, end)| end.dds_type == dds_type && is_type_hash(&end.hash))
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
            .iter()
            .flat_map(|(key, token)| tables.about_endpoint(key, token, true))
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

    /// This session publishes the clock, too; `wake` is called for each new subscriber. Returns events about endpoints
    /// that are there already.
    pub(crate) fn publish_clock(&self, ours: Ours, wake: Wake) -> Vec<WireEvent> {
        let mut tables = self.tables();
        tables.serves_clock = true;
        tables.wakes.push((CLOCK.to_owned(), wake));
        tables.ours.push(ours);
        let of_clock = |token: &&Token| token.endpoint.as_ref().is_some_and(|it| it.name == CLOCK);
        let tokens = tables.tokens.iter();
        let events = tokens
            .filter(|(_, token)| of_clock(token))
            .flat_map(|(key, token)| tables.about_endpoint(key, token, true));
        events.collect()
    }

    /// This session no longer publishes the clock.
    pub(crate) fn retire_clock(&self) {
        let mut tables = self.tables();
        tables.serves_clock = false;
        tables.wakes.retain(|(topic, _)| topic != CLOCK);
        tables.ours.retain(|ours| ours.name != CLOCK);
    }

    /// This session no longer publishes any topic.
    pub(crate) fn retire(&self) {
        let mut tables = self.tables();
        tables.ours.clear();
        tables.serves_clock = false;
        tables.wakes.clear();
    }

    /// A token appeared. Returns the events to send.
    pub(crate) fn appeared(&self, key: &str, via: Via) -> Vec<WireEvent> {
        let mut tables = self.tables();
        let events = match via {
            Via::Main => tables.add(key),
            Via::BlockingPuts => tables.add_at_blocking_puts(key),
        };
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
    pub(crate) fn vanished(&self, key: &str, via: Via) -> Vec<WireEvent> {
        let mut tables = self.tables();
        match via {
            Via::Main => tables.remove(key),
            Via::BlockingPuts => tables.remove_at_blocking_puts(key),
        }
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
        let graph = Graph::new(
            Notation::RmwZenoh { domain: 0 },
            "me".to_owned(),
            "/player".to_owned(),
        );
        let ours = |name: &str| Ours {
            name: name.to_owned(),
            dds_type: "std_msgs::msg::dds_::String_".to_owned(),
            hash: "H".to_owned(),
            via: Via::Main,
            is_latched: false,
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
            graph.appeared(&sub, Via::Main),
            [WireEvent::SubscriberJoined {
                topic: topic.clone(),
                node: node.clone()
            }]
        );
        assert!(graph.appeared(&sub, Via::Main).is_empty(), "reported once");
        assert_eq!(graph.subscriber_nodes("/a"), ["/them"]);
        assert_eq!(
            (
                graph.reached("/a"),
                graph.subscribers("/a", "std_msgs/msg/String")
            ),
            (1, 1)
        );
        assert_eq!(
            graph.vanished(&sub, Via::Main),
            [WireEvent::SubscriberLeft {
                topic: topic.clone(),
                node: node.clone()
            }]
        );
        assert!(graph.vanished(&sub, Via::Main).is_empty());
        assert_eq!(
            graph.appeared(&token("MP", "%a", "H"), Via::Main),
            [WireEvent::ForeignPublisher {
                topics: vec![topic],
                node: node.clone()
            }]
        );
        assert_eq!(
            graph.appeared(&token("MP", "%clock", "H"), Via::Main),
            [WireEvent::ForeignClock { node: node.clone() }]
        );
        assert_eq!(graph.foreign_clock(), Some(node.clone()));
        assert_eq!(
            graph.appeared(&token("MS", "%clock", "H"), Via::Main),
            [WireEvent::ClockSubscriber { node }]
        );
        assert!(
            graph
                .appeared(&token("MS", "%b", "H"), Via::Main)
                .is_empty(),
            "not ours"
        );
        assert_eq!(graph.nodes(), ["/them"]);
    }

    #[test]
    fn a_subscription_with_another_hash_is_reported_and_not_counted() {
        let graph = graph();
        let events = graph.appeared(&token("MS", "%a", "TypeHashNotSupported"), Via::Main);
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
        assert!(
            graph
                .appeared("@ros2_lv/0/me/0/0/NN/%/%/player", Via::Main)
                .is_empty()
        );
        assert_eq!(graph.same_node_name(), None);
        // No warning about the name while this session's node is not on the graph.
        let events = graph.appeared("@ros2_lv/0/third/0/0/NN/%/%/player", Via::Main);
        assert_eq!(events, []);
        let events = graph.show_node();
        assert!(matches!(&events[..], [WireEvent::SameNodeName { zid, .. }] if zid == "third"));
        graph.vanished("@ros2_lv/0/third/0/0/NN/%/%/player", Via::Main);
        let events = graph.appeared("@ros2_lv/0/other/0/0/NN/%/%/player", Via::Main);
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

    /// A graph of a session that publishes `/a` and the clock, each with the session for blocking puts.
    fn graph_of_blocking_puts() -> Graph {
        let graph = graph();
        let mut ours = graph.tables().ours.clone();
        for ours in &mut ours {
            ours.via = Via::BlockingPuts;
        }
        assert_eq!(graph.publish(ours, Some(Arc::new(|| ()))), []);
        graph
    }

    #[test]
    fn a_subscription_is_reached_while_both_sessions_know_it() {
        let (key, blocking) = (token("MS", "%a", "H"), Via::BlockingPuts);
        let count = |graph: &Graph| (graph.reached("/a"), graph.are_all_reached("/a"));
        let joins = |events: &[WireEvent]| matches!(events, [WireEvent::SubscriberJoined { .. }]);
        let leaves = |events: &[WireEvent]| matches!(events, [WireEvent::SubscriberLeft { .. }]);
        for order in [[Via::Main, blocking], [blocking, Via::Main]] {
            let graph = graph_of_blocking_puts();
            assert_eq!(graph.appeared(&key, order[0]), []);
            assert_eq!(count(&graph), (0, order[0] == blocking));
            assert!(joins(&graph.appeared(&key, order[1])));
            assert_eq!(graph.appeared(&key, blocking), [], "reported once");
            assert_eq!(count(&graph), (1, true));
            assert!(leaves(&graph.vanished(&key, order[0])));
            assert_eq!(count(&graph), (0, order[0] == Via::Main));
            assert_eq!(graph.vanished(&key, order[1]), []);
        }
        // Of what cannot be reached, each session tells, but only the main one is asked.
        let graph = graph_of_blocking_puts();
        let other = token("MS", "%a", "H2");
        assert_eq!(graph.appeared(&other, Via::Main).len(), 1);
        assert_eq!(graph.appeared(&other, blocking), []);
        assert_eq!(graph.vanished(&other, blocking), []);
    }

    #[test]
    fn a_topic_of_the_main_session_needs_no_other_to_reach_its_subscriptions() {
        let (graph, key) = (graph(), token("MS", "%a", "H"));
        let events = graph.appeared(&key, Via::Main);
        assert!(matches!(&events[..], [WireEvent::SubscriberJoined { .. }]));
        assert_eq!(
            (graph.reached("/a"), graph.are_all_reached("/a")),
            (1, true)
        );
        assert_eq!(graph.appeared(&key, Via::BlockingPuts), []);
        assert_eq!(graph.vanished(&key, Via::BlockingPuts), []);
        assert_eq!(graph.reached("/a"), 1);
    }

    #[test]
    fn a_subscriber_of_the_clock_is_reported_when_the_session_that_puts_it_knows_it() {
        let graph = graph_of_blocking_puts();
        let key = token("MS", "%clock", "H");
        assert_eq!(graph.appeared(&key, Via::Main), []);
        let events = graph.appeared(&key, Via::BlockingPuts);
        assert!(
            matches!(&events[..], [WireEvent::ClockSubscriber { .. }]),
            "{events:?}"
        );
    }

    #[test]
    fn subscriptions_from_before_the_first_output_are_reported_with_it() {
        let graph = Graph::new(
            Notation::RmwZenoh { domain: 0 },
            "me".to_owned(),
            "/player".to_owned(),
        );
        assert!(
            graph
                .appeared(&token("MS", "%a", "H"), Via::Main)
                .is_empty()
        );
        let dds_type = "std_msgs::msg::dds_::String_".to_owned();
        let any = Ours {
            name: "/a".to_owned(),
            dds_type,
            hash: ANY_HASH.to_owned(),
            via: Via::Main,
            is_latched: false,
        };
        assert_eq!(graph.publish(vec![any], None).len(), 1);
        graph.retire();
        assert!(
            graph
                .vanished(&token("MS", "%a", "H"), Via::Main)
                .is_empty()
        );
    }
}
