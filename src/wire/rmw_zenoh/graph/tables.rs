//! [`Tables`]: the tokens of other sessions, what this session publishes, and the events that follow from both.

use std::collections::{HashMap, HashSet};

use super::{Count, Wake};
use crate::ros::{Durability, ros_type};
use crate::wire::dialect::notation::Notation;
use crate::wire::dialect::plan::CLOCK;
use crate::wire::event::WireEvent;
use crate::wire::rmw_zenoh::ours::{Ours, Via};
use crate::wire::rmw_zenoh::token::{ANY_HASH, Endpoint, EntityKind, NO_HASH, Token};

pub(super) struct Tables {
    notation: Notation,
    pub(super) zid: String,
    pub(super) node: String,
    /// Whether this session's node has a token on the graph.
    pub(super) is_shown: bool,
    /// The tokens of other sessions, by key, as the main zenoh session knows them.
    pub(super) tokens: HashMap<String, Token>,
    /// The keys of the tokens that the session for blocking puts knows. A node declares a subscription before its
    /// token. So once a session knows the token, what it puts reaches the subscription.
    pub(super) at_blocking_puts: HashSet<String>,
    /// How many tokens have appeared so far.
    pub(super) appeared: u64,
    pub(super) ours: Vec<Ours>,
    pub(super) serves_clock: bool,
    /// Topics, and what to call for their new subscribers.
    pub(super) wakes: Vec<(String, Wake)>,
    pub(super) counts: Vec<(String, Count)>,
}

impl Tables {
    pub(super) fn new(notation: Notation, zid: String, node: String) -> Self {
        Self {
            notation,
            zid,
            node,
            is_shown: false,
            tokens: HashMap::new(),
            at_blocking_puts: HashSet::new(),
            appeared: 0,
            ours: Vec::new(),
            serves_clock: false,
            wakes: Vec::new(),
            counts: Vec::new(),
        }
    }

    pub(super) fn endpoints<'a>(
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
    pub(super) fn recount(&mut self, concerns: impl Fn(&str) -> bool) {
        let mut counts = std::mem::take(&mut self.counts);
        counts.retain(|(topic, count)| {
            let publishers = || self.endpoints(EntityKind::Publisher, topic).count();
            !concerns(topic) || count(publishers())
        });
        self.counts = counts;
    }

    /// The subscriptions that name what this session publishes on a topic, with the keys of their tokens and the
    /// session that puts the messages for them.
    pub(super) fn wanted<'a>(
        &'a self,
        topic: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a Token, Via)> {
        self.tokens.iter().filter_map(move |(key, token)| {
            let is_subscription = token.kind == EntityKind::Subscription;
            // By name first: this is asked for each topic, and there may be thousands of topics and tokens.
            let end = token.endpoint.as_ref();
            let end = end.filter(|end| is_subscription && end.name == topic)?;
            let ours = self.ours_for(end)?;
            Some((key.as_str(), token, ours.via))
        })
    }

    /// The wanted subscriptions that are reached.
    pub(super) fn reached<'a>(&'a self, topic: &'a str) -> impl Iterator<Item = &'a Token> {
        let wanted = self.wanted(topic);
        let reached = wanted.filter(|(key, _, via)| self.is_reached(key, *via));
        reached.map(|(_, token, _)| token)
    }

    /// Whether the session that puts the messages knows of a token that the main one knows.
    pub(super) fn is_reached(&self, key: &str, via: Via) -> bool {
        via == Via::Main || self.at_blocking_puts.contains(key)
    }

    /// What this session publishes that a subscription names.
    fn ours_for(&self, end: &Endpoint) -> Option<&Ours> {
        let mut ours = self.ours.iter();
        ours.find(|ours| ours.name == end.name && ours.takes(end))
    }

    /// The main session knows a token. Returns the events.
    pub(super) fn add(&mut self, key: &str) -> Vec<WireEvent> {
        let Some(token) = self.notation.read(key) else {
            return Vec::new();
        };
        if token.zid == self.zid || self.tokens.contains_key(key) {
            return Vec::new();
        }
        let events = self.about(key, &token, true);
        let publishes = token.published().map(str::to_owned);
        self.tokens.insert(key.to_owned(), token);
        self.appeared += 1;
        if let Some(topic) = publishes {
            self.recount(|changed| changed == topic);
        }
        events
    }

    /// The main session no longer knows a token. Returns the events.
    pub(super) fn remove(&mut self, key: &str) -> Vec<WireEvent> {
        let Some(token) = self.tokens.remove(key) else {
            return Vec::new();
        };
        if let Some(topic) = token.published() {
            self.recount(|changed| changed == topic);
        }
        self.about(key, &token, false)
    }

    /// The session for blocking puts knows a token. Returns the events.
    pub(super) fn add_at_blocking_puts(&mut self, key: &str) -> Vec<WireEvent> {
        let token = self.notation.read(key);
        let is_of_other = token.is_some_and(|token| token.zid != self.zid);
        if !is_of_other || !self.at_blocking_puts.insert(key.to_owned()) {
            return Vec::new();
        }
        self.about_blocking_puts(key, true)
    }

    /// The session for blocking puts no longer knows a token. Returns the events.
    pub(super) fn remove_at_blocking_puts(&mut self, key: &str) -> Vec<WireEvent> {
        if !self.at_blocking_puts.contains(key) {
            return Vec::new();
        }
        let events = self.about_blocking_puts(key, false);
        self.at_blocking_puts.remove(key);
        events
    }

    /// The events about a subscription that begins or ceases to be reached by blocking puts, if the main session knows
    /// it.
    fn about_blocking_puts(&self, key: &str, is_coming: bool) -> Vec<WireEvent> {
        let token = self.tokens.get(key);
        let end = token.and_then(|token| token.endpoint.as_ref());
        let Some((token, end)) = token.zip(end) else {
            return Vec::new();
        };
        let via = self.ours_for(end).map(|ours| ours.via);
        if token.kind == EntityKind::Subscription && via == Some(Via::BlockingPuts) {
            self.about_endpoint(key, token, is_coming)
        } else {
            Vec::new()
        }
    }

    /// The events about a token that appears or disappears.
    fn about(&self, key: &str, token: &Token, is_coming: bool) -> Vec<WireEvent> {
        let node = token.node_path();
        if is_coming && self.has_our_name(token) {
            return vec![WireEvent::SameNodeName {
                node,
                zid: token.zid.clone(),
            }];
        }
        self.about_endpoint(key, token, is_coming)
    }

    /// Whether a token is of a node with the same full name as this session's node.
    pub(super) fn has_our_name(&self, token: &Token) -> bool {
        self.is_shown && token.kind == EntityKind::Node && token.node_path() == self.node
    }

    /// The events about the endpoint of a token, if it has one and this session publishes its topic.
    pub(super) fn about_endpoint(
        &self,
        key: &str,
        token: &Token,
        is_coming: bool,
    ) -> Vec<WireEvent> {
        let Some(end) = &token.endpoint else {
            return Vec::new();
        };
        let (node, topic) = (token.node_path(), end.name.clone());
        let Some(first) = self.ours.iter().find(|ours| ours.name == topic) else {
            return Vec::new();
        };
        let ours = self.ours_for(end);
        let is_clock = self.serves_clock && topic == CLOCK;
        let event = match (token.kind, is_coming) {
            (EntityKind::Publisher, true) if is_clock => WireEvent::ForeignClock { node },
            (EntityKind::Publisher, true) => WireEvent::ForeignPublisher {
                topics: vec![topic],
                node,
            },
            (EntityKind::Subscription, is_coming) => match (ours, is_coming) {
                (Some(ours), _) if !self.is_reached(key, ours.via) => return Vec::new(),
                (Some(_), true) if is_clock => WireEvent::ClockSubscriber { node },
                (Some(_), true) => WireEvent::SubscriberJoined { topic, node },
                (Some(_), false) if !is_clock => WireEvent::SubscriberLeft { topic, node },
                (None, true) => WireEvent::TypeMismatch {
                    topic,
                    ours: type_and_hash(&first.dds_type, &first.hash),
                    theirs: type_and_hash(&end.dds_type, &end.hash),
                    is_same_type: first.dds_type == end.dds_type,
                    node,
                },
                (_, false) => return Vec::new(),
            },
            _ => return Vec::new(),
        };
        let warning = is_coming
            .then(|| self.about_durability(token, end))
            .flatten();
        [Some(event), warning].into_iter().flatten().collect()
    }

    /// A warning, if a bridge has a subscriber on DDS that gets nothing, or whose durability keeps later ones from
    /// getting anything: a bridge makes the DDS writer of a latched topic for its first subscriber.
    fn about_durability(&self, token: &Token, end: &Endpoint) -> Option<WireEvent> {
        let is_subscription = token.kind == EntityKind::Subscription;
        let ours = self.ours_for(end).filter(|_| is_subscription)?;
        let is_latched = end.qos.durability == Durability::TransientLocal;
        if !self.notation.first_reader_decides() || is_latched == ours.is_latched {
            return None;
        }
        let topic = &end.name;
        Some(WireEvent::Warning(if is_latched {
            format!(
                "{topic} is not latched, but a subscriber on DDS asks for transient local: it receives nothing, unless \
                 it started before this program"
            )
        } else {
            format!(
                "{topic} is latched, but its first subscriber on DDS is volatile: later ones behind the same bridge \
                 that ask for transient local receive nothing"
            )
        }))
    }
}

fn type_and_hash(dds_type: &str, hash: &str) -> String {
    match hash {
        NO_HASH => format!("{} (no type hash: ROS 2 Humble)", ros_type(dds_type)),
        ANY_HASH => ros_type(dds_type),
        _ => format!("{} ({hash})", ros_type(dds_type)),
    }
}
