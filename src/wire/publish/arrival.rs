//! [`Arrival`]: tells when receivers have everything that was put before.
//!
//! Data of two sessions, or of two priorities of one session, may arrive in any order. A query goes through the same
//! queues as data of its priority, so its answer tells that the data before it has arrived.

use std::time::Duration;

use zenoh::Wait;
use zenoh::qos::{CongestionControl, Priority};
use zenoh::query::{ConsolidationMode, QueryTarget};

use crate::wire::net::answers::Answers;

/// Matches the admin space of every session that has one, and nothing in it: the answers are empty.
const IN_EVERY_ADMIN_SPACE: &str = "@/*/*/arrival";

/// Answers that are awaited from all sessions with an admin space: real `rmw_zenoh` nodes and routers have one.
#[derive(Debug)]
pub(crate) struct Arrival(Answers);

impl Arrival {
    /// Asks all of them, behind everything of this priority that was put on `session`; `None` if the session is
    /// closed. Waits for room in the queues as a put with `congestion` does. After `timeout` no answer is awaited.
    pub(crate) fn ask(
        session: &zenoh::Session,
        priority: Priority,
        congestion: CongestionControl,
        timeout: Duration,
    ) -> Option<Self> {
        let (open, answers) = Answers::pending();
        let asked = session
            .get(IN_EVERY_ADMIN_SPACE)
            .priority(priority)
            .congestion_control(congestion)
            .target(QueryTarget::All)
            .consolidation(ConsolidationMode::None)
            .timeout(timeout)
            .callback(move |_| open.hold())
            .wait();
        asked.is_ok().then_some(Self(answers))
    }

    /// Whether all have answered, or none was asked.
    pub(crate) fn is_certain(&self) -> bool {
        self.0.are_complete()
    }

    /// Waits until all have answered, for `longest` at most; returns whether they have.
    pub(crate) fn wait(&self, longest: Duration) -> bool {
        self.0.wait(longest)
    }
}
