//! What a [`Session`] does to be a whole node.

use std::sync::Arc;
use std::thread::{self, JoinHandle};

use bytes::Bytes;
use crossbeam_channel::{Sender, bounded};
use zenoh::qos::Priority;

use crate::bag::Schema;
use crate::player::Transport;
use crate::ros::{Durability, History, Qos, QosDuration, dds_type, message_hash};
use crate::wire::clock::state_message;
use crate::wire::error::WireError;
use crate::wire::publish::publisher::{PutRules, TopicPublisher};
use crate::wire::rmw_zenoh::node::OwnType;
use crate::wire::services::messages::node_topics::{
    CLOCK_DEFINITION, Log, OwnMessage, ParameterEvent, ReadSplitEvent,
};
use crate::wire::services::server::served::Services;
use crate::wire::session::Session;

use super::feed::NodeFeed;
use super::parameter_services;
use super::parameters::{NodeParameter, Parameters};
use super::topics::{Publishers, Topics};
use super::types::{self, Types};

/// What a node says about itself.
#[derive(Clone, Debug, Default)]
pub struct NodeDescription {
    /// Parameters that cannot be set, beside those that every node has and those that drive playback.
    pub parameters: Vec<NodeParameter>,
    /// The types of the recorded messages.
    pub types: Vec<Schema>,
}

/// A whole node, as long as this exists: the parameter services, `~/get_type_description`, `/parameter_events`,
/// `/rosout` and `events/read_split`.
#[derive(Debug)]
pub struct ServedNode {
    // The topics go first: they publish what was told last.
    _topics: NodeTopics,
    _services: [Services; 2],
}

impl Session {
    /// Makes this session a whole ROS node with the player behind `transport`, whose parameters `rate`, `paused` and
    /// `loop` can be set. What `feed` is given is published; what it was given before this call is published when this
    /// call returns.
    pub fn serve_node(
        &self,
        transport: &Transport,
        description: NodeDescription,
        feed: &NodeFeed,
    ) -> Result<ServedNode, WireError> {
        self.node.announce()?;
        let parameters = Arc::new(Parameters::new(description.parameters));
        let topics = self.serve_topics(transport, &parameters, feed)?;
        let forms = |handler| vec![handler];
        let handlers = parameter_services::handlers(&parameters, transport).into_iter();
        let services = self.serve("parameters", handlers.map(forms).collect(), transport)?;
        // Computing the descriptions of thousands of types must not hold up other services.
        let types = Types::new(own_types().chain(description.types).collect());
        let handler = types::handler(types);
        let types = self.serve("type-descriptions", vec![forms(handler)], transport)?;
        Ok(ServedNode {
            _topics: topics,
            _services: [services, types],
        })
    }

    fn serve_topics(
        &self,
        transport: &Transport,
        parameters: &Arc<Parameters>,
        feed: &NodeFeed,
    ) -> Result<NodeTopics, WireError> {
        let node = self.node_name();
        let (namespace, _) = node.rsplit_once('/').unwrap_or_default();
        let depth = |depth| Qos {
            history: History::KeepLast(depth),
            ..Qos::default()
        };
        let rosout = Qos {
            durability: Durability::TransientLocal,
            lifespan: QosDuration { sec: 10, nsec: 0 },
            ..depth(1000)
        };
        let read_split = format!("{namespace}/events/read_split");
        let publishers = Publishers {
            parameter_events: self.own_topic::<ParameterEvent>("/parameter_events", depth(1000))?,
            rosout: self.own_topic::<Log>("/rosout", rosout)?,
            read_split: self.own_topic::<ReadSplitEvent>(&read_split, depth(3))?,
        };
        let (wake, moved) = bounded(1);
        transport.on_change(Arc::new(move || {
            // One that waits is enough.
            let _ = wake.try_send(());
        }));
        let mut topics = Topics {
            publishers,
            parameters: Arc::clone(parameters),
            transport: transport.clone(),
            node,
            live: Vec::new(),
        };
        let (end, ended) = bounded(0);
        let told = feed.received.clone();
        // In this thread, so that what was told before is published before the services below are offered.
        topics.begin(&told);
        let named = thread::Builder::new().name("node-topics".to_owned());
        let thread = named.spawn(move || topics.run(&moved, &told, &ended));
        Ok(NodeTopics {
            end: Some(end),
            thread: Some(thread.map_err(WireError::Thread)?),
        })
    }

    /// A topic that many nodes publish; a stuck subscriber must not keep others from receiving it.
    fn own_topic<T: OwnMessage>(&self, name: &str, qos: Qos) -> Result<TopicPublisher, WireError> {
        // The definition is part of this program, and a test computes its hash.
        let hash = message_hash(T::TYPE, T::DEFINITION.as_bytes());
        let hash = hash.ok().map(|computed| computed.hash);
        let own = OwnType {
            dds_type: &dds_type(T::TYPE).unwrap_or_default(),
            hash: hash.as_deref(),
        };
        // Every node publishes these topics, so that neither other publishers nor subscribers of them are news.
        let (topic, _) = self.node.own_publisher(name, own, qos);
        let rules = PutRules {
            congestion: self.connection.congestion(),
            priority: Priority::Data,
            waits: false,
            shared_memory: None,
        };
        let sessions = self.connection.put_sessions(false)?;
        TopicPublisher::declare(&sessions, &topic, &rules, &self.connection.events, None)
    }
}

/// The types of what this program publishes itself.
fn own_types() -> impl Iterator<Item = Schema> {
    let types = [
        (ParameterEvent::TYPE, ParameterEvent::DEFINITION),
        (Log::TYPE, Log::DEFINITION),
        (ReadSplitEvent::TYPE, ReadSplitEvent::DEFINITION),
        ("rosgraph_msgs/msg/Clock", CLOCK_DEFINITION),
        (state_message::TYPE, state_message::DEFINITION),
    ];
    types.into_iter().map(|(name, definition)| Schema {
        name: name.to_owned(),
        encoding: "ros2msg".to_owned(),
        data: Bytes::from_static(definition.as_bytes()),
    })
}

/// The thread that publishes the node's own topics.
#[derive(Debug)]
struct NodeTopics {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for NodeTopics {
    fn drop(&mut self) {
        self.end = None;
        if let Some(thread) = self.thread.take() {
            // The thread has reported its panic itself.
            let _ = thread.join();
        }
    }
}
