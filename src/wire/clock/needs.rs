//! [`ClockNeeds`]: what a `/clock` needs of its output, whenever it begins.

use std::sync::{Arc, Mutex};

use super::arrivals::Arrivals;
use crate::wire::dialect::plan::CLOCK;
use crate::wire::event::Events;
use crate::wire::net::sessions::put::PutSessions;
use crate::wire::publish::monitor::TopicCounts;
use crate::wire::publish::publisher::PutRules;
use crate::wire::publish::stalls::Stalls;

/// What a clock of an output needs. Clocks that are served one after the other share it.
#[derive(Clone, Debug)]
pub(crate) struct ClockNeeds {
    pub(super) sessions: PutSessions,
    /// In line with messages, values wait for room as these say.
    pub(super) rules: PutRules,
    /// Of what took the links of the main session. Locked during a put in line.
    pub(super) in_line_put: Arc<Mutex<Arrivals>>,
    pub(super) events: Events,
    pub(super) stalls: Stalls,
    pub(super) counts: Arc<TopicCounts>,
}

impl ClockNeeds {
    /// `has_best_effort`: there are messages that do not wait for room as `rules` say.
    pub(crate) fn new(
        sessions: PutSessions,
        rules: PutRules,
        has_best_effort: bool,
        events: Events,
        stalls: Stalls,
    ) -> Self {
        let blocking = sessions.blocking_for(rules.waits);
        let beside = blocking.filter(|_| has_best_effort).map(|_| rules.priority);
        Self {
            in_line_put: Arc::new(Mutex::new(Arrivals::new(
                sessions.main.zenoh.clone(),
                beside,
            ))),
            sessions,
            rules,
            events,
            stalls,
            counts: Arc::new(TopicCounts::named(CLOCK)),
        }
    }
}
