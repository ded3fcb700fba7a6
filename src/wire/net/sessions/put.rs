//! [`PutSession`]: a zenoh session, and the timestamps of the messages that it sends.

use std::sync::Arc;

use super::timestamps::Timestamps;
use crate::wire::net::zenoh_config::has_timestamps;

/// A zenoh session, and the timestamps of the messages that it sends.
#[derive(Clone, Debug)]
pub(crate) struct PutSession {
    pub(crate) zenoh: zenoh::Session,
    /// `None` if messages have no zenoh timestamps.
    pub(crate) timestamps: Option<Arc<Timestamps>>,
    /// Whether the zenoh session has a clock.
    pub(crate) has_clock: bool,
}

impl PutSession {
    /// A session that was opened with `config`.
    pub(crate) fn opened_with(config: &zenoh::Config, zenoh: zenoh::Session) -> Self {
        let has_clock = has_timestamps(config);
        Self {
            has_clock,
            ..Self::without_clock(zenoh, has_clock)
        }
    }

    /// A session without a clock. `has_timestamps`: whether its messages have zenoh timestamps nevertheless.
    pub(crate) fn without_clock(zenoh: zenoh::Session, has_timestamps: bool) -> Self {
        let timestamps = has_timestamps.then(|| Arc::new(Timestamps::of(&zenoh)));
        Self {
            zenoh,
            timestamps,
            has_clock: false,
        }
    }
}

/// The zenoh sessions that carry messages.
#[derive(Clone, Debug)]
pub(crate) struct PutSessions {
    pub(crate) main: PutSession,
    /// For messages that wait; `None` if none wait, or if they wait in zenoh's blocking puts.
    pub(crate) blocking: Option<PutSession>,
}

impl PutSessions {
    /// The session for blocking puts, if `waits` and if there is one.
    pub(crate) fn blocking_for(&self, waits: bool) -> Option<&PutSession> {
        self.blocking.as_ref().filter(|_| waits)
    }
}
