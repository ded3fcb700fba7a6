//! [`Stalls`]: puts that nobody took for as long as the stall timeout, whatever they were of.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::event::{Events, WireEvent};
use super::graph::Graph;
use super::monitor::Row;

/// Counts and tells of puts that waited in vain.
#[derive(Clone, Debug)]
pub(super) struct Stalls {
    graph: Graph,
    events: Events,
    timeout: Duration,
}

impl Stalls {
    pub(super) fn new(graph: Graph, events: Events, timeout: Duration) -> Self {
        Self {
            graph,
            events,
            timeout,
        }
    }

    /// A put on the topic of `row` took so long.
    pub(super) fn put_took(&self, row: &Row, waited: Duration) {
        // zenoh gives up a moment before or after the full time.
        if waited < self.timeout.mul_f64(0.9) {
            return;
        }
        row.stalled.fetch_add(1, Ordering::Relaxed);
        row.lost.fetch_add(1, Ordering::Relaxed);
        self.events.tell(WireEvent::Stalled {
            topic: row.name.clone(),
            waited,
            nodes: self.graph.subscriber_nodes(&row.name),
        });
    }
}
