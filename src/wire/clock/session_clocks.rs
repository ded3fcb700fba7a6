//! What a [`Session`] does for clocks besides `/clock`: following a clock server, and publishing
//! `~/clock_state`.

use std::sync::Arc;

use zenoh::qos::Priority;

use crate::player::Transport;
use crate::ros::Qos;
use crate::time;

use super::follow::{ClockSource, Follow};
use super::state_message;
use super::state_topic::{StateOf, StateTopic};
use crate::wire::dialect::interface::Nodes;
use crate::wire::dialect::plan::{CLOCK, clock_qos};
use crate::wire::error::WireError;
use crate::wire::publish::publisher::{PutRules, TopicPublisher};
use crate::wire::rmw_zenoh::node::{CLOCK_MESSAGE, OwnType};
use crate::wire::session::Session;

impl Session {
    /// The time of a clock server on this network, for a [`SimTime`](crate::clock::SimTime). It drives clocks
    /// as long as this session is open.
    pub fn clock_source(&self, follow: Follow) -> ClockSource {
        if let Err(error) = self.node.announce() {
            self.connection.events.warn(error.to_string());
        }
        let hash = state_message::hash().ok();
        let topic = match &follow {
            Follow::Clock => self.node.subscription(CLOCK, CLOCK_MESSAGE, clock_qos()),
            Follow::State(name, _) => {
                let state_type = state_type(hash.as_deref());
                self.node.subscription(name, state_type, Qos::default())
            }
        };
        ClockSource {
            zenoh: self.connection.zenoh.clone(),
            nodes: Nodes::RosGraph(self.graph()),
            follow,
            topic,
            inbox: Arc::default(),
            subscription: None,
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
        self.serve_state_of(transport, StateOf::Playback(shift))
    }

    /// Publishes on `~/clock_state` the state of the clock that a player without messages follows
    /// ([`Pace::Follow`](crate::player::Pace::Follow)), so that its factor is known. A player with messages may be
    /// behind the clock that it follows: then use [`Session::serve_state`].
    pub fn serve_followed_state(&self, transport: &Transport) -> Result<StateTopic, WireError> {
        self.serve_state_of(transport, StateOf::Lead)
    }

    fn serve_state_of(&self, transport: &Transport, of: StateOf) -> Result<StateTopic, WireError> {
        self.node.announce()?;
        // The definition is part of this program, and a test computes its hash.
        let hash = state_message::hash().ok();
        let state_type = state_type(hash.as_deref());
        let name = format!("{}/clock_state", self.node_name());
        let (topic, ours) = self.node.own_publisher(&name, state_type, Qos::default());
        // A stuck subscriber must not keep others from receiving the state.
        let rules = PutRules {
            congestion: self.connection.congestion(),
            priority: Priority::Data,
            waits: false,
            shared_memory: None,
        };
        let (sessions, events) = (
            self.connection.put_sessions(false)?,
            &self.connection.events,
        );
        let publisher = TopicPublisher::declare(&sessions, &topic, &rules, events, None)?;
        let served = StateTopic::start(publisher, transport.clone(), of)?;
        self.node.graph.publish_also(ours, served.waker());
        Ok(served)
    }
}

/// The type of `~/clock_state`.
pub(super) fn state_type(hash: Option<&str>) -> OwnType<'_> {
    OwnType {
        dds_type: state_message::DDS_TYPE,
        hash,
    }
}
