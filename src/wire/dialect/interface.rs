//! What `publish` and `clock` know of a dialect: topics to declare, the form of their messages, and who subscribes.
//!
//! A dialect gives these values; nothing else outside its own folder depends on it. They are enums and plain
//! values, because the functions of [`MessageForm`] are called for every message: no allocation, no call through a
//! table.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::bag::TopicId;
use crate::output::Delivery;
use crate::ros::{Durability, History, Qos, Reliability};
use crate::transcode::{TranscodeError, Transcoder};
use crate::wire::dialect::check_cdr::{CdrError, check_cdr};
use crate::wire::options::Skipped;
use crate::wire::rmw_zenoh::attachment::{LENGTH, attachment};
use crate::wire::rmw_zenoh::gid::Gid;
use crate::wire::rmw_zenoh::graph::{Count, Graph};
use crate::wire::rmw_zenoh::ours::Ours;

/// How often a reliable latched publisher sends its last sequence number again, if it has changed.
const HEARTBEAT: Duration = Duration::from_millis(500);
/// How many samples a `keep_all` publisher keeps for late joiners; the number must be limited.
const KEEP_ALL_CACHE: usize = 1000;

/// A topic to declare on zenoh.
#[derive(Clone, Debug)]
pub(crate) struct TopicSpec {
    /// The recorded topics that are published on it.
    pub(crate) ids: Vec<TopicId>,
    /// Its name, as users know it.
    pub(crate) name: String,
    /// The key expression to put on.
    pub(crate) key: String,
    /// The liveliness token that announces the publisher; `None`: it is not announced.
    pub(crate) token: Option<String>,
    /// The QoS profile that subscribers see; `None` if they see none.
    pub(crate) offered: Option<Qos>,
    pub(crate) reliability: Reliability,
    /// What late joiners receive; `None`: nothing.
    pub(crate) latched: Option<Latched>,
    pub(crate) form: MessageForm,
}

/// The samples that a latched publisher keeps for late joiners.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Latched {
    pub(crate) samples: usize,
    /// How often the last sequence number is sent again; `None`: never.
    pub(crate) heartbeat: Option<Duration>,
}

impl Latched {
    /// By the rules of `rmw_zenoh`, where a depth of 0 means `default_depth`; `None` if the topic is volatile.
    pub(crate) fn of(qos: &Qos, default_depth: u32) -> Option<Self> {
        (qos.durability == Durability::TransientLocal).then(|| Self {
            samples: match qos.history {
                History::KeepLast(0) => default_depth as usize,
                History::KeepLast(depth) => depth as usize,
                History::KeepAll => KEEP_ALL_CACHE,
            },
            heartbeat: (qos.reliability == Reliability::Reliable).then_some(HEARTBEAT),
        })
    }
}

/// The form in which the messages of a topic are put.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MessageForm {
    /// CDR, and an attachment with the publisher's identity.
    RmwZenoh(Gid),
    /// CDR alone.
    Cdr,
    /// The bytes as they were recorded, and no attachment.
    Plain,
}

/// The transcoders of topics, by the recorded topic. Without one a payload is sent as it is recorded.
pub(crate) type Transcoders = HashMap<TopicId, Arc<Transcoder>>;

/// A payload to put.
#[derive(Debug)]
pub(crate) enum Payload {
    AsRecorded(Bytes),
    Transcoded(Bytes),
}

impl Payload {
    /// The bytes to put, and what to tell of them when they are put.
    #[inline]
    pub(crate) fn sent(self) -> (Bytes, Delivery) {
        match self {
            Self::AsRecorded(bytes) => (bytes, Delivery::Sent),
            Self::Transcoded(bytes) => (bytes.clone(), Delivery::Transcoded(bytes)),
        }
    }
}

/// Why subscribers could not read a message.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(crate) enum Unreadable {
    Cdr(#[from] CdrError),
    Ros1(#[from] TranscodeError),
}

/// An attachment of any dialect that has one.
pub(crate) type Attachment = [u8; LENGTH];

impl MessageForm {
    /// The payload to put for a recorded one, which the transcoder makes if there is one; an error if subscribers
    /// could not read it.
    #[inline]
    pub(crate) fn payload(
        self,
        recorded: &Bytes,
        transcoder: Option<&Transcoder>,
    ) -> Result<Payload, Unreadable> {
        if let Some(transcoder) = transcoder {
            let mut payload = Vec::new();
            transcoder.transcode(recorded, &mut payload)?;
            return Ok(Payload::Transcoded(payload.into()));
        }
        match self {
            Self::RmwZenoh(_) | Self::Cdr => check_cdr(recorded)?,
            Self::Plain => {}
        }
        Ok(Payload::AsRecorded(recorded.clone()))
    }

    /// The attachment of one put, from its sequence number and its time.
    #[inline]
    pub(crate) fn attachment(self, sequence: i64, unix_nanos: i64) -> Option<Attachment> {
        match self {
            Self::RmwZenoh(gid) => Some(attachment(sequence, unix_nanos, gid)),
            Self::Cdr | Self::Plain => None,
        }
    }
}

/// What one output declares.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) topics: Vec<TopicSpec>,
    /// The topic of the clock, if one is served.
    pub(crate) clock: Option<TopicSpec>,
    pub(crate) skipped: Vec<Skipped>,
    /// How payloads of recorded topics become those that are sent; others are sent as they are.
    pub(crate) transcoders: Transcoders,
    /// The same topics, clock included, as subscribers have to name them.
    pub(crate) ours: Vec<Ours>,
}

/// A topic to subscribe to.
#[derive(Debug)]
pub(crate) struct SubscriptionSpec {
    /// The key expression: matches whatever the type hash of the publisher is.
    pub(crate) key: String,
    /// The liveliness token that announces the subscription.
    pub(crate) token: String,
}

/// The other nodes on the network, as far as a dialect knows them. Cheap to clone; any thread may read it.
#[derive(Clone, Debug)]
pub(crate) enum Nodes {
    /// Nodes announce themselves on the ROS graph.
    RosGraph(Graph),
    /// Nodes are not announced: only routes are known.
    Unannounced,
}

impl Nodes {
    fn graph(&self) -> Option<&Graph> {
        match self {
            Self::RosGraph(graph) => Some(graph),
            Self::Unannounced => None,
        }
    }

    /// How many subscriptions receive what this session publishes on a topic; `None` if they are not announced.
    pub(crate) fn subscriptions(&self, topic: &str) -> Option<usize> {
        self.graph().map(|graph| graph.reached(topic))
    }

    /// Whether [`Nodes::subscriptions`] counts all announced subscriptions whose type and hash match; `true` if none
    /// are announced.
    pub(crate) fn are_all_reached(&self, topic: &str) -> bool {
        self.graph()
            .is_none_or(|graph| graph.are_all_reached(topic))
    }

    /// The names of the nodes with such subscriptions, sorted.
    pub(crate) fn subscribers(&self, topic: &str) -> Vec<String> {
        let graph = self.graph();
        graph.map_or_else(Vec::new, |graph| graph.subscriber_nodes(topic))
    }

    /// Whether the session `zid` has such a subscription.
    pub(crate) fn subscribes(&self, zid: &str, topic: &str) -> bool {
        self.graph()
            .is_some_and(|graph| graph.subscribes(zid, topic))
    }

    /// The names of the nodes of the session `zid`, sorted.
    pub(crate) fn of_session(&self, zid: &str) -> Vec<String> {
        let graph = self.graph();
        graph.map_or_else(Vec::new, |graph| graph.nodes_of(zid))
    }

    /// Calls `count` with the number of publishers of a topic in other sessions, now and whenever it may have
    /// changed, until it returns `false`. It must not block.
    pub(crate) fn count_publishers(&self, topic: &str, count: Count) {
        if let Some(graph) = self.graph() {
            graph.count_publishers(topic, count);
        }
    }

    /// This session no longer publishes any topic.
    pub(crate) fn retire(&self) {
        if let Some(graph) = self.graph() {
            graph.retire();
        }
    }
}
