//! [`WireOutput`]: the player's output to the network, for ROS 2 nodes or on plain keys.
//!
//! Only the player's thread puts. Counts are read through the [`Monitor`].

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::bag::Message;
use crate::output::{Delivery, Occasion, Output};
use crate::time::{Ros, Segment, Time};

use super::monitor::{Monitor, Row};
use super::publisher::TopicPublisher;
use super::stalls::Stalls;
use crate::wire::clock::clock_topic::Clock;
use crate::wire::clock::payload::check_cdr;
use crate::wire::event::Events;
use crate::wire::rmw_zenoh::graph::Graph;

/// One topic and its row of counts.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) publisher: TopicPublisher,
    pub(crate) row: Arc<Row>,
    /// Whether payloads must be CDR.
    pub(crate) is_cdr: bool,
    pub(crate) has_complained: bool,
}

/// Publishes messages. Dropping it takes the topics off the ROS graph, then ends the publishers; the session
/// stays open.
pub struct WireOutput {
    pub(crate) lines: Vec<Line>,
    /// The line of each recorded topic, by its index.
    pub(crate) routes: Vec<Option<usize>>,
    pub(crate) clock: Option<Clock>,
    /// The generation of the segment, once there is one.
    pub(crate) generation: Option<u64>,
    pub(crate) graph: Graph,
    pub(crate) events: Events,
    pub(crate) stalls: Stalls,
    /// Whether messages of any topic wait for room.
    pub(crate) waits: bool,
    pub(crate) is_closed: bool,
}

impl Output for WireOutput {
    fn segment(&mut self, segment: &Segment) {
        let generation = segment.generation();
        let before = self.generation.replace(generation);
        if let Some(clock) = &self.clock
            && before.is_some_and(|before| before != generation)
        {
            clock.jump();
        }
    }

    fn clock(&mut self, time: Time<Ros>) {
        if let Some(clock) = &self.clock {
            clock.tick(time);
        }
    }

    fn message(&mut self, message: &Message, _: Occasion) -> Delivery {
        let route = self.routes.get(message.topic.index()).copied().flatten();
        let Some(index) = route else {
            return Delivery::Dropped;
        };
        let line = &mut self.lines[index];
        if line.is_cdr
            && let Err(error) = check_cdr(&message.payload)
        {
            line.row.dropped.fetch_add(1, Ordering::Relaxed);
            if !std::mem::replace(&mut line.has_complained, true) {
                let (name, at) = (&line.row.name, message.log_time);
                self.events.warn(format!(
                    "message of {name} at {at} is skipped, and others like it: {error}"
                ));
            }
            return Delivery::Dropped;
        }
        let (mut put, mut waited) = (Ok(()), Duration::ZERO);
        let (stalls, payload) = (&self.stalls, &message.payload);
        let mut send = || (put, waited) = stalls.while_putting(|| line.publisher.put(payload));
        if let Some(clock) = &self.clock {
            clock.while_putting(send);
        } else {
            send();
        }
        if let Err(error) = put {
            let line = &self.lines[index];
            line.row.dropped.fetch_add(1, Ordering::Relaxed);
            if !std::mem::replace(&mut self.is_closed, true) {
                self.events
                    .warn(format!("{} cannot be published: {error}", line.row.name));
            }
            return Delivery::Dropped;
        }
        let row = &self.lines[index].row;
        row.count_sent(message.payload.len());
        self.stalls.put_took(row, waited);
        Delivery::Sent
    }
}

impl WireOutput {
    /// Counts and readiness, for other threads. On plain keys it is known only whether there is a subscriber,
    /// because subscribers have no tokens.
    pub fn monitor(&self) -> Monitor {
        let rows = self
            .lines
            .iter()
            .map(|line| Arc::clone(&line.row))
            .collect();
        let clock = self.clock.as_ref().map(Clock::row);
        Monitor::new(rows, clock, self.graph.clone())
    }
}

impl Drop for WireOutput {
    fn drop(&mut self) {
        self.graph.retire();
        // All tokens before any entity: others see all topics go at once, and no data path goes before its
        // token.
        for line in &mut self.lines {
            line.publisher.undeclare_token();
        }
        if let Some(clock) = &mut self.clock {
            clock.stop();
        }
    }
}

impl fmt::Debug for WireOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self
            .lines
            .iter()
            .map(|line| line.row.name.as_str())
            .collect();
        f.debug_struct("WireOutput")
            .field("topics", &names)
            .field("clock", &self.clock.is_some())
            .finish_non_exhaustive()
    }
}
