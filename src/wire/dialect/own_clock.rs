//! [`ClockAnnouncer`]: how a dialect makes known a `/clock` that begins or ends while topics are published.

use super::interface::TopicSpec;
use super::plain;
use crate::wire::event::WireEvent;
use crate::wire::rmw_zenoh::graph::{Graph, Wake};
use crate::wire::rmw_zenoh::node::Endpoints;
use crate::wire::rmw_zenoh::ours::Ours;
use crate::wire::rmw_zenoh::type_hash::HashForm;

/// Makes the clock of this session known.
#[derive(Clone, Debug)]
pub(crate) enum ClockAnnouncer {
    /// On the ROS graph.
    RosGraph {
        endpoints: Box<Endpoints>,
        form: HashForm,
        graph: Graph,
    },
    /// Nothing is announced on plain keys.
    Plain,
}

impl ClockAnnouncer {
    /// What to declare, and what subscribers have to name. Each clock is a publisher of its own: its sequence numbers
    /// start again.
    pub(crate) fn plan(&self) -> (TopicSpec, Option<Ours>) {
        match self {
            Self::RosGraph {
                endpoints, form, ..
            } => {
                let (topic, ours) = endpoints.clock(*form);
                (topic, Some(ours))
            }
            Self::Plain => (plain::clock(), None),
        }
    }

    /// This session also publishes the clock from now on; `wake` is called for each new subscriber. Returns events
    /// about the endpoints that are there already.
    pub(crate) fn announce(&self, ours: Option<Ours>, wake: Wake) -> Vec<WireEvent> {
        match (self, ours) {
            (Self::RosGraph { graph, .. }, Some(ours)) => graph.publish_clock(ours, wake),
            _ => Vec::new(),
        }
    }

    /// This session no longer publishes the clock.
    pub(crate) fn retire(&self) {
        match self {
            Self::RosGraph { graph, .. } => graph.retire_clock(),
            Self::Plain => {}
        }
    }
}
