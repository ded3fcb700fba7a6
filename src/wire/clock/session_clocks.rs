//! What a [`Session`] does for clocks besides `/clock`: following a clock server, and publishing
//! `~/clock_state`.

use std::sync::Arc;

use crate::player::Transport;
use crate::ros::Qos;
use crate::time;

use super::follow::{ClockSource, Follow};
use super::state_message;
use super::state_topic::StateTopic;
use crate::wire::error::WireError;
use crate::wire::publish::publisher::{Spec, TopicPublisher};
use crate::wire::rmw_zenoh::advertise::Planned;
use crate::wire::rmw_zenoh::graph::Ours;
use crate::wire::rmw_zenoh::token::{ANY_HASH, EntityKind, NO_HASH, Token};
use crate::wire::rmw_zenoh::type_hash::Flavour;
use crate::wire::session::{CLOCK_HASH, Session, clock_topic};

impl Session {
    /// The time of a clock server on this network, for a [`SimTime`](crate::clock::SimTime). It drives clocks
    /// as long as this session is open.
    pub fn clock_source(&self, follow: Follow) -> ClockSource {
        if let Err(error) = self.show_node() {
            self.events.warn(error.to_string());
        }
        let flavour = self.flavour();
        let is_humble = flavour == Flavour::Humble;
        let mut topic = clock_topic(if is_humble { NO_HASH } else { CLOCK_HASH });
        if let Follow::State(name, _) = &follow {
            let computed = state_message::hash().ok().filter(|_| !is_humble);
            topic = Planned {
                name: name.clone(),
                dds_type: state_message::DDS_TYPE.to_owned(),
                hash: computed.unwrap_or_else(|| NO_HASH.to_owned()),
                qos: Qos::default(),
                ..topic
            };
        }
        let spec = self.ros_spec(&topic, ANY_HASH);
        let token = spec.token.map(|token| Token {
            kind: EntityKind::Subscription,
            ..token
        });
        ClockSource {
            zenoh: self.zenoh.clone(),
            graph: self.graph.clone(),
            follow,
            key: spec.key,
            token: token.map(|token| token.to_string()).unwrap_or_default(),
            mailbox: Arc::default(),
            heard: None,
            has_thread: false,
        }
    }

    /// Publishes on `~/clock_state` how the clock of the player behind `transport` moves; `shift` is added to
    /// log time. Call it after [`Session::advertise`]; drop the result to end it.
    pub fn serve_state(
        &self,
        transport: &Transport,
        shift: time::Duration,
    ) -> Result<StateTopic, WireError> {
        self.show_node()?;
        let flavour = self.flavour();
        // The definition is part of this program, and a test computes its hash.
        let computed = state_message::hash().ok();
        let hash = computed.filter(|_| flavour != Flavour::Humble);
        let hash = hash.unwrap_or_else(|| NO_HASH.to_owned());
        let key_hash = if flavour == Flavour::Any {
            ANY_HASH
        } else {
            &hash
        };
        let topic = Planned {
            ids: Vec::new(),
            name: format!("{}/clock_state", self.node.node_path()),
            dds_type: state_message::DDS_TYPE.to_owned(),
            hash: hash.clone(),
            qos: Qos::default(),
        };
        // A stuck subscriber must not keep others from receiving the state.
        let spec = Spec {
            waits: false,
            ..self.ros_spec(&topic, key_hash)
        };
        let publisher = TopicPublisher::declare(&self.lanes(false)?, &spec, &self.events, None)?;
        let served = StateTopic::start(publisher, transport.clone(), shift)?;
        let ours = Ours {
            name: topic.name,
            dds_type: topic.dds_type,
            hash: key_hash.to_owned(),
        };
        self.graph.publish_also(ours, served.waker());
        Ok(served)
    }
}
