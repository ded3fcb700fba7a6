//! [`BlockingSession`]: the zenoh session for puts that wait for subscribers without room.
//!
//! How long a put waits before its message is dropped is one setting of a zenoh session. Messages of reliable
//! topics wait for the stall timeout. After that a stuck subscriber misses them until it reads again, but keeps
//! its link. (With zenoh's own blocking puts the link is closed, and between two peers neither opens it again.)
//! Best-effort messages and the clock must not wait, so they go through the main session, which has its own
//! links.
//!
//! A zenoh session with a clock reads it once more for each message that has a timestamp already. So this session
//! has no clock ([`super::zenoh_config::blocking`]); [`Stamps`] gives its messages their timestamps.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use zenoh::Wait;
use zenoh::session::TransportEventsListener;
use zenoh::time::{NTP64, Timestamp, TimestampId};

use super::connectivity::{Connectivity, watch_links};
use super::zenoh_config::set_random_id;
use crate::wire::error::WireError;
use crate::wire::event::Events;

/// A second zenoh session of the player, beside the main one.
#[derive(Debug)]
pub(crate) struct BlockingSession {
    _links: TransportEventsListener<()>,
    pub(crate) puts: PutSession,
}

impl BlockingSession {
    /// Opens the session; with `patience`, waits that long for a connection. `connectivity` is that of the main
    /// session. It must know this session before a link between the two can open, so the id is chosen here.
    /// `has_timestamps`: its messages have timestamps.
    pub(crate) fn open(
        mut config: zenoh::Config,
        has_timestamps: bool,
        connectivity: &Arc<Connectivity>,
        events: &Events,
        patience: Option<Duration>,
    ) -> Result<Self, WireError> {
        let zid = set_random_id(&mut config)?;
        connectivity.add(&zid);
        let opened = Self::open_as(config, has_timestamps, connectivity, events);
        match &opened {
            Err(_) => connectivity.remove(&zid),
            Ok(_) => {
                if let Some(patience) = patience {
                    connectivity.wait(patience);
                }
            }
        }
        opened
    }

    fn open_as(
        config: zenoh::Config,
        has_timestamps: bool,
        connectivity: &Arc<Connectivity>,
        events: &Events,
    ) -> Result<Self, WireError> {
        let opened = zenoh::open(config).wait();
        let zenoh = opened.map_err(|source| WireError::Open {
            what: "a second session, for reliable topics".to_owned(),
            source,
        })?;
        let links = watch_links(&zenoh, events, connectivity)?;
        Ok(Self {
            _links: links,
            puts: PutSession::new(zenoh, has_timestamps),
        })
    }
}

/// A zenoh session that carries messages.
#[derive(Clone, Debug)]
pub(crate) struct PutSession {
    pub(crate) zenoh: zenoh::Session,
    /// The timestamps of its messages; `None` if they have none.
    pub(crate) stamps: Option<Arc<Stamps>>,
}

impl PutSession {
    pub(crate) fn new(zenoh: zenoh::Session, has_timestamps: bool) -> Self {
        let stamps = has_timestamps.then(|| Arc::new(Stamps::of(&zenoh)));
        Self { zenoh, stamps }
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

/// The timestamps of what a session puts, from readings of the wall clock that are made anyway. Each is later than all
/// that were made before, also when the clock is set back: subscribers tell messages apart by them.
#[derive(Debug)]
pub(crate) struct Stamps {
    session: TimestampId,
    last: AtomicU64,
}

impl Stamps {
    fn of(session: &zenoh::Session) -> Self {
        let now = session.new_timestamp();
        Self {
            session: *now.get_id(),
            last: AtomicU64::new(now.get_time().as_u64()),
        }
    }

    /// The timestamp of a message that is put at `unix_nanos`.
    #[inline]
    pub(crate) fn next(&self, unix_nanos: i64) -> Timestamp {
        let since = Duration::from_nanos(u64::try_from(unix_nanos).unwrap_or(0));
        let now = NTP64::from(since).as_u64();
        let after = |last: u64| now.max(last.saturating_add(1));
        let last = self
            .last
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| {
                Some(after(last))
            });
        let (Ok(last) | Err(last)) = last;
        Timestamp::new(NTP64(after(last)), self.session)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_are_unix_times_and_rise_when_the_clock_does_not() {
        let session = TimestampId::rand();
        let stamps = Stamps {
            session,
            last: AtomicU64::new(0),
        };
        let second = 1_700_000_000_500_000_000;
        let first = stamps.next(second);
        assert_eq!(*first.get_id(), session);
        let since = first.get_time().to_duration();
        assert_eq!(since, Duration::from_millis(1_700_000_000_500));
        let mut before = first;
        for nanos in [second, second - 1_000, second + 1, i64::MIN, second + 2] {
            let next = stamps.next(nanos);
            assert!(next > before, "{nanos}");
            before = next;
        }
    }
}
