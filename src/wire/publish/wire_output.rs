//! [`WireOutput`]: the player's output to the network, in any dialect.
//!
//! Only the player's thread puts, except large messages ([`BulkLane`]). Counts are read through the [`Monitor`].

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::bag::Message;
use crate::output::{Delivery, Occasion, Output};
use crate::time::{Duration, Ros, Segment, Time};
use crate::transcode::Transcoder;

use super::bulk::{BulkLane, BulkMessage, LARGE};
use super::monitor::{Monitor, TopicCounts};
use super::publisher::TopicPublisher;
use super::stalls::Stalls;
use crate::wire::clock::served::ServedClock;
use crate::wire::dialect::interface::Nodes;
use crate::wire::event::Events;
use crate::wire::options::{ClockOptions, SourceStamps};

/// One topic and its counts.
#[derive(Debug)]
pub(crate) struct PublishedTopic {
    pub(crate) publisher: TopicPublisher,
    pub(crate) counts: Arc<TopicCounts>,
    /// Whether its messages take the lane of large messages.
    pub(crate) is_bulk: bool,
}

/// What becomes of the messages of a recorded topic.
#[derive(Debug)]
pub(crate) struct Route {
    /// The index of its publisher.
    pub(crate) publisher: usize,
    /// Makes the payload that is sent; `None`: it is sent as recorded.
    pub(crate) transcoder: Option<Arc<Transcoder>>,
}

/// Publishes messages. Dropping it takes the topics off the ROS graph, then ends the publishers; the session
/// stays open.
pub struct WireOutput {
    pub(crate) topics: Vec<PublishedTopic>,
    /// The route of each recorded topic, by its index.
    pub(crate) routes: Vec<Option<Route>>,
    pub(crate) clock: ServedClock,
    /// The generation of the segment, once there is one.
    pub(crate) generation: Option<u64>,
    pub(crate) nodes: Nodes,
    pub(crate) events: Events,
    pub(crate) stalls: Stalls,
    pub(crate) source_stamps: SourceStamps,
    /// Puts large messages; `None` if all topics keep one order.
    pub(crate) bulk: Option<BulkLane>,
    pub(crate) is_closed: bool,
}

impl Output for WireOutput {
    fn segment(&mut self, segment: &Segment) {
        let generation = segment.generation();
        let before = self.generation.replace(generation);
        if before.is_none_or(|before| before == generation) {
            return;
        }
        if let Some(lane) = &self.bulk {
            self.clock.while_putting(|| lane.flush());
        }
        if let Some(clock) = self.clock.clock() {
            clock.jump();
        }
    }

    fn clock(&mut self, time: Time<Ros>) {
        if let Some(clock) = self.clock.clock() {
            clock.tick(time);
        }
    }

    fn serve_clock(&mut self, period: Option<Duration>) -> bool {
        self.clock.serve(period.map(|period| ClockOptions {
            hz: Some(period.as_secs_f64().recip()),
            per_message: false,
        }))
    }

    fn waits_elsewhere(&mut self, is_waiting: bool) {
        if let Some(clock) = self.clock.clock() {
            clock.waits_elsewhere(is_waiting);
        }
    }

    fn finish(&mut self) {
        if let Some(lane) = &self.bulk {
            self.clock.while_putting(|| lane.flush());
        }
    }

    fn message(&mut self, message: &Message, _: Occasion) -> Delivery {
        let route = self.routes.get(message.topic.index());
        let Some(route) = route.and_then(Option::as_ref) else {
            return Delivery::Dropped;
        };
        let topic = &mut self.topics[route.publisher];
        let form = topic.publisher.form();
        let payload = form.payload(&message.payload, route.transcoder.as_deref());
        let (payload, sent) = match payload {
            Ok(payload) => payload.sent(),
            Err(error) => {
                let counts = &topic.counts;
                counts.dropped.fetch_add(1, Ordering::Relaxed);
                if counts.first_problem.get().is_none() {
                    let (name, at) = (&counts.name, message.log_time);
                    let problem = counts.first_problem.get_or_init(|| error.to_string());
                    self.events.warn(format!(
                        "message of {name} at {at} is skipped, and others like it: {problem}"
                    ));
                }
                return Delivery::Dropped;
            }
        };
        let bytes = payload.len();
        let publisher = &mut topic.publisher;
        let stamped = match self.source_stamps {
            SourceStamps::Wall => publisher.stamp(),
            SourceStamps::Log => publisher.stamp_with(message.log_time),
        };
        if let (Some(lane), Some(low)) = (&self.bulk, publisher.low())
            && (topic.is_bulk || bytes >= LARGE)
            // The put of this thread reports a closed session.
            && !lane.is_closed()
        {
            topic.is_bulk = true;
            let message = BulkMessage {
                to: Arc::clone(low),
                payload,
                stamped,
                counts: Arc::clone(&topic.counts),
            };
            self.clock.while_putting(|| lane.put(message));
            return sent;
        }
        let put = || publisher.put_with(payload, stamped);
        let put = || self.stalls.while_putting(put);
        let (put, waited) = self.clock.while_putting(put);
        if let Err(error) = put {
            let counts = &topic.counts;
            counts.dropped.fetch_add(1, Ordering::Relaxed);
            let problem = counts.first_problem.get_or_init(|| error.to_string());
            if !std::mem::replace(&mut self.is_closed, true) {
                let name = &counts.name;
                self.events
                    .warn(format!("{name} cannot be published: {problem}"));
            }
            return Delivery::Dropped;
        }
        topic.counts.count_sent(bytes);
        self.stalls.put_took(&topic.counts, waited);
        sent
    }
}

impl WireOutput {
    /// Counts and readiness, for other threads. On plain keys it is known only whether there is a subscriber,
    /// because subscribers have no tokens.
    pub fn monitor(&self) -> Monitor {
        let topics = self.topics.iter();
        let topics = topics.map(|topic| Arc::clone(&topic.counts)).collect();
        Monitor::new(topics, self.clock.counts(), self.nodes.clone())
    }
}

impl Drop for WireOutput {
    fn drop(&mut self) {
        self.bulk = None;
        self.nodes.retire();
        // All tokens before any entity: others see all topics go at once, and no data path goes before its
        // token.
        for topic in &mut self.topics {
            topic.publisher.undeclare_token();
        }
        self.clock.end();
    }
}

impl fmt::Debug for WireOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let topics = self.topics.iter();
        let names: Vec<&str> = topics.map(|topic| topic.counts.name.as_str()).collect();
        f.debug_struct("WireOutput")
            .field("topics", &names)
            .field("clock", &self.clock.clock().is_some())
            .finish_non_exhaustive()
    }
}
