//! Declares the publishers of an output and its clock, and chooses the zenoh session that their messages use.

use std::sync::Arc;

use zenoh::qos::Priority;

use crate::ros::Reliability;

use super::bulk::BulkLane;
use super::monitor::TopicCounts;
use super::publisher::{PutRules, TopicPublisher};
use super::shared_memory::SharedMemory;
use super::stalls::Stalls;
use super::wire_output::{PublishedTopic, Route, WireOutput};
use crate::wire::clock::needs::ClockNeeds;
use crate::wire::clock::served::ServedClock;
use crate::wire::dialect::interface::{Nodes, TopicSpec, Transcoders};
use crate::wire::error::WireError;
use crate::wire::net::connection::Connection;
use crate::wire::options::{ClockOptions, SendOrder};

/// Whether the messages of a topic wait for subscribers without room. With a clock in line before each message
/// (`is_in_line`) all of them do: a message that must follow its clock takes the same way, whatever its profile.
pub(crate) fn waits(topic: &TopicSpec, is_in_line: bool) -> bool {
    is_in_line || topic.reliability == Reliability::Reliable
}

/// Declares an output for `topics`, whose recorded payloads may have `transcoders`, and for `clock` if it is served. A
/// clock in line with messages waits for room as they do, if any of them does.
pub(crate) fn declare(
    connection: &Connection,
    (topics, transcoders): (&[TopicSpec], &Transcoders),
    clock: Option<(&TopicSpec, ClockOptions)>,
    (nodes, served): (Nodes, impl FnOnce(ClockNeeds) -> ServedClock),
    shared_memory: Option<&SharedMemory>,
) -> Result<WireOutput, WireError> {
    let is_in_line = clock.is_some_and(|(_, clock)| clock.per_message);
    let waits = topics.iter().any(|topic| self::waits(topic, is_in_line)) || is_in_line;
    let sessions = connection.put_sessions(waits)?;
    let events = &connection.events;
    let rules = |waits| PutRules {
        congestion: connection.congestion(),
        priority: Priority::Data,
        waits,
        shared_memory: shared_memory.cloned(),
    };
    let timeout = connection.stall_timeout;
    let blocking = sessions.blocking.as_ref().map(|one| one.zenoh.clone());
    let stalls = Stalls::new(nodes.clone(), events.clone(), timeout, blocking);
    let bulk = match connection.order {
        SendOrder::AllTopics => None,
        SendOrder::PerTopic => Some(BulkLane::start(&stalls)?),
    };
    let has_best_effort = !topics.iter().all(|topic| self::waits(topic, is_in_line));
    let needs = ClockNeeds::new(
        sessions.clone(),
        rules(waits),
        has_best_effort,
        events.clone(),
        stalls.clone(),
    );
    let mut output = WireOutput {
        topics: Vec::with_capacity(topics.len()),
        routes: Vec::new(),
        clock: served(needs),
        generation: None,
        nodes,
        events: events.clone(),
        stalls,
        source_stamps: connection.source_stamps,
        bulk,
        is_closed: false,
    };
    let mut waiting = Vec::new();
    for (index, topic) in topics.iter().enumerate() {
        let rules = rules(self::waits(topic, is_in_line));
        let counts = Arc::new(TopicCounts::of(topic));
        let publisher = TopicPublisher::declare(&sessions, topic, &rules, events, Some(&counts))?;
        if rules.waits {
            waiting.push(Arc::clone(&counts));
        }
        output.topics.push(PublishedTopic {
            publisher,
            counts,
            is_bulk: false,
        });
        for id in &topic.ids {
            if output.routes.len() <= id.index() {
                output.routes.resize_with(id.index() + 1, || None);
            }
            output.routes[id.index()] = Some(Route {
                publisher: index,
                transcoder: transcoders.get(id).cloned(),
            });
        }
    }
    output.stalls.watch(waiting);
    if let Some((topic, options)) = clock {
        output.clock.begin(topic, options)?;
    }
    Ok(output)
}
