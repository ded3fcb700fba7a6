//! [`Graph`]: who is on the network, from the liveliness tokens, and what of it concerns us.
//!
//! One watch with history feeds it from zenoh's thread; anybody asks it through clones. The lock is held
//! for table work only and released before events are told, so a receiver may ask the graph.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::ros::History;

use super::token::{ANY_HASH, Endpoint, EntityKind, NO_HASH, Token};
use crate::ros::{dds_type, ros_type};
use crate::wire::event::WireEvent;

/// The clock's topic.
pub(crate) const CLOCK: &str = "/clock";

/// What is called when somebody begins to follow a topic.
type Wake = Arc<dyn Fn() + Send + Sync>;

/// Told how many publish a topic; false once nobody wants to know.
type Count = Box<dyn Fn(usize) -> bool + Send + Sync>;

/// A topic we publish.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Ours {
    pub(crate) name: String,
    pub(crate) dds_type: String,
    /// `*` reaches every hash.
    pub(crate) hash: String,
}

impl Ours {
    fn takes(&self, endpoint: &Endpoint) -> bool {
        self.dds_type == endpoint.dds_type && (self.hash == ANY_HASH || self.hash == endpoint.hash)
    }
}

/// The ROS graph as seen from our session. Cheap to clone; all clones see the same.
#[derive(Clone)]
pub struct Graph(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    zid: String,
    node: String,
    /// Whether that node is shown to others.
    is_shown: bool,
    /// Of other sessions, by key.
    tokens: HashMap<String, Token>,
    ours: Vec<Ours>,
    serves_clock: bool,
    /// Topics whose new subscribers are told of, and who is told.
    wakes: Vec<(String, Wake)>,
    counts: Vec<(String, Count)>,
}

impl Graph {
    /// Of session `zid`, whose node is `node`.
    pub(crate) fn new(zid: String, node: String) -> Self {
        Self(Arc::new(Mutex::new(State {
            zid,
            node,
            ..State::default()
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many subscriptions of other sessions there are for a topic with a type (`std_msgs/msg/String`),
    /// whatever their hash.
    pub fn subscribers(&self, topic: &str, ros_type: &str) -> usize {
        let Some(dds) = dds_type(ros_type) else {
            return 0;
        };
        let state = self.state();
        state
            .endpoints(EntityKind::Subscription, topic)
            .filter(|(_, end)| end.dds_type == dds)
            .count()
    }

    /// How many subscriptions get what we publish on a topic: type and hash are ours.
    pub fn reached(&self, topic: &str) -> usize {
        self.state().reached(topic).count()
    }

    /// A node of another session that publishes `/clock`, if there is one.
    pub fn foreign_clock(&self) -> Option<String> {
        self.publisher(CLOCK)
    }

    /// A node of another session that publishes a topic, if there is one.
    pub fn publisher(&self, topic: &str) -> Option<String> {
        let state = self.state();
        state
            .endpoints(EntityKind::Publisher, topic)
            .map(|(token, _)| token.node_path())
            .min()
    }

    /// A node of another session with our name: its session, if there is one.
    pub fn same_node_name(&self) -> Option<String> {
        let state = self.state();
        let mut others = state.tokens.values();
        others
            .find(|token| token.node_path() == state.node)
            .map(|token| token.zid.clone())
    }

    /// The names of all nodes of other sessions, sorted.
    pub fn nodes(&self) -> Vec<String> {
        let names: BTreeSet<String> = self.state().tokens.values().map(Token::node_path).collect();
        names.into_iter().collect()
    }

    /// All tokens of other sessions that are there now.
    pub fn tokens(&self) -> Vec<Token> {
        self.state().tokens.values().cloned().collect()
    }

    /// Whether the nodes that are there use Humble's form of hashes, and none another.
    pub(crate) fn is_humble(&self) -> bool {
        let state = self.state();
        let mut hashes = state
            .tokens
            .values()
            .filter_map(|token| token.endpoint.as_ref())
            .map(|end| end.hash == NO_HASH);
        hashes
            .next()
            .is_some_and(|first| first && hashes.all(|other| other))
    }

    /// The hash that a live subscription of a topic and type asks for.
    pub(crate) fn wanted_hash(&self, topic: &str, dds_type: &str) -> Option<String> {
        let state = self.state();
        let wanted = state.endpoints(EntityKind::Subscription, topic);
        wanted
            .filter(|(_, end)| end.dds_type == dds_type && end.hash != NO_HASH)
            .map(|(_, end)| end.hash.clone())
            .min()
    }

    /// The nodes that subscribe to a topic with our type and hash, sorted.
    pub(crate) fn subscriber_nodes(&self, topic: &str) -> Vec<String> {
        let state = self.state();
        let names: BTreeSet<String> = state.reached(topic).map(Token::node_path).collect();
        names.into_iter().collect()
    }

    /// From now on our node is shown to others. What is to be told about those who are there already.
    pub(crate) fn show_node(&self) -> Vec<WireEvent> {
        let mut state = self.state();
        state.is_shown = true;
        let same = state
            .tokens
            .values()
            .filter(|token| state.has_our_name(token));
        same.map(|token| WireEvent::SameNodeName {
            node: token.node_path(),
            zid: token.zid.clone(),
        })
        .collect()
    }

    /// The subscriptions that get what we publish on a topic and keep only its last messages: node and depth.
    pub fn depths(&self, topic: &str) -> Vec<(String, u32)> {
        let state = self.state();
        let depth = |token: &Token| match token.endpoint.as_ref()?.qos.history {
            // As the system likes.
            History::KeepLast(0) => Some(super::qos_chunk::DEFAULT_DEPTH),
            History::KeepLast(depth) => Some(depth),
            History::KeepAll => None,
        };
        let subscriptions = state.reached(topic);
        subscriptions
            .filter_map(|token| Some((token.node_path(), depth(token)?)))
            .collect()
    }

    /// Whether session `zid` has a subscription that gets what we publish on a topic.
    pub(crate) fn subscribes(&self, zid: &str, topic: &str) -> bool {
        self.state().reached(topic).any(|token| token.zid == zid)
    }

    /// The names of a session's nodes, sorted.
    pub(crate) fn nodes_of(&self, zid: &str) -> Vec<String> {
        let state = self.state();
        let tokens = state.tokens.values().filter(|token| token.zid == zid);
        let names: BTreeSet<String> = tokens.map(Token::node_path).collect();
        names.into_iter().collect()
    }

    /// From now on these topics are ours. What is to be told about those who are there already.
    pub(crate) fn publish(&self, ours: Vec<Ours>, clock: Option<Wake>) -> Vec<WireEvent> {
        let mut state = self.state();
        state.serves_clock = clock.is_some();
        state.wakes = clock
            .map(|wake| (CLOCK.to_owned(), wake))
            .into_iter()
            .collect();
        state.ours = ours;
        let events = state
            .tokens
            .values()
            .flat_map(|token| state.about_endpoint(token, true))
            .collect();
        drop(state);
        events
    }

    /// Tells how many nodes of other sessions publish a topic, now and whenever that may have changed.
    /// `tell` is called under the lock: it hands on and asks nothing.
    pub(crate) fn count_publishers(&self, topic: &str, tell: Count) {
        let mut state = self.state();
        // Who wants to know no more says so when told: on a quiet network they would gather.
        state.recount(|_| true);
        if tell(state.endpoints(EntityKind::Publisher, topic).count()) {
            state.counts.push((topic.to_owned(), tell));
        }
    }

    /// From now on this topic is ours too, and `wake` is called for each new subscriber.
    pub(crate) fn publish_also(&self, ours: Ours, wake: Wake) {
        let mut state = self.state();
        state.wakes.push((ours.name.clone(), wake));
        state.ours.push(ours);
    }

    /// Nothing is ours any more.
    pub(crate) fn retire(&self) {
        let mut state = self.state();
        state.ours.clear();
        state.serves_clock = false;
        state.wakes.clear();
    }

    /// A token appeared. What is to be told.
    pub(crate) fn appeared(&self, key: &str) -> Vec<WireEvent> {
        let Some(token) = Token::parse(key) else {
            return Vec::new();
        };
        let mut state = self.state();
        if token.zid == state.zid || state.tokens.contains_key(key) {
            return Vec::new();
        }
        let events = state.about(&token, true);
        let publishes = token.published().map(str::to_owned);
        state.tokens.insert(key.to_owned(), token);
        if let Some(topic) = publishes {
            state.recount(|changed| changed == topic);
        }
        let follows = |topic: &str| {
            events.iter().any(|event| match event {
                WireEvent::ClockSubscriber { .. } => topic == CLOCK,
                WireEvent::SubscriberJoined { topic: joined, .. } => topic == joined,
                _ => false,
            })
        };
        let wakes = state.wakes.iter().filter(|(topic, _)| follows(topic));
        let wakes: Vec<Wake> = wakes.map(|(_, wake)| Arc::clone(wake)).collect();
        drop(state);
        for wake in wakes {
            wake();
        }
        events
    }

    /// A token is gone. What is to be told.
    pub(crate) fn vanished(&self, key: &str) -> Vec<WireEvent> {
        let mut state = self.state();
        let Some(token) = state.tokens.remove(key) else {
            return Vec::new();
        };
        if let Some(topic) = token.published() {
            state.recount(|changed| changed == topic);
        }
        state.about(&token, false)
    }
}

impl State {
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

    /// Tells the counts of the topics that `concerns`, and forgets who does not want to know.
    fn recount(&mut self, concerns: impl Fn(&str) -> bool) {
        let mut counts = std::mem::take(&mut self.counts);
        counts.retain(|(topic, tell)| {
            let count = || self.endpoints(EntityKind::Publisher, topic).count();
            !concerns(topic) || tell(count())
        });
        self.counts = counts;
    }

    /// The subscriptions that get what we publish on a topic.
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

    /// What a token that comes or goes means to us.
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

    /// Whether it is a node that others cannot tell from ours.
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
        let state = self.state();
        f.debug_struct("Graph")
            .field("zid", &state.zid)
            .field("node", &state.node)
            .field("tokens", &state.tokens.len())
            .field("ours", &state.ours)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
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
        assert!(graph.appeared(&sub).is_empty(), "told once");
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
    fn another_hash_is_told_and_not_counted() {
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
    fn our_own_tokens_are_nobody_and_our_name_is_ours() {
        let graph = graph();
        assert!(graph.appeared("@ros2_lv/0/me/0/0/NN/%/%/player").is_empty());
        assert_eq!(graph.same_node_name(), None);
        // Nobody is mistaken for a node that is not shown.
        let events = graph.appeared("@ros2_lv/0/third/0/0/NN/%/%/player");
        assert_eq!(events, []);
        let told = graph.show_node();
        assert!(matches!(&told[..], [WireEvent::SameNodeName { zid, .. }] if zid == "third"));
        graph.vanished("@ros2_lv/0/third/0/0/NN/%/%/player");
        let events = graph.appeared("@ros2_lv/0/other/0/0/NN/%/%/player");
        assert!(matches!(&events[..], [WireEvent::SameNodeName { zid, .. }] if zid == "other"));
        assert_eq!(graph.same_node_name().as_deref(), Some("other"));
    }

    #[test]
    fn who_wants_no_count_any_more_is_forgotten() {
        let graph = graph();
        for _ in 0..3 {
            let wanted = Arc::new(());
            let asked = Arc::downgrade(&wanted);
            let tell = move |_| asked.upgrade().is_some();
            graph.count_publishers(CLOCK, Box::new(tell));
            assert_eq!(graph.state().counts.len(), 1);
        }
    }

    #[test]
    fn what_is_there_when_we_begin_is_told_then() {
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
