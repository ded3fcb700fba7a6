//! [`BlockingSession`]: the zenoh session for puts that wait for subscribers without room.
//!
//! How long a put waits before its message is dropped is one setting of a zenoh session. Messages of reliable
//! topics wait for the stall timeout. After that a stuck subscriber misses them until it reads again, but keeps
//! its link. (With zenoh's own blocking puts the link is closed, and between two peers neither opens it again.)
//! Best-effort messages and the clock must not wait, so they go through the main session, which has its own
//! links.

use std::sync::Arc;
use std::time::Duration;

use zenoh::Wait;
use zenoh::session::TransportEventsListener;

use super::connectivity::{Connectivity, watch_links};
use super::zenoh_config::set_random_id;
use crate::wire::error::WireError;
use crate::wire::event::Events;

/// A second zenoh session of the player, beside the main one.
#[derive(Debug)]
pub(crate) struct BlockingSession {
    _links: TransportEventsListener<()>,
    pub(crate) zenoh: zenoh::Session,
}

impl BlockingSession {
    /// Opens the session; with `patience`, waits that long for a connection. `connectivity` is that of the main
    /// session. It must know this session before a link between the two can open, so the id is chosen here.
    pub(crate) fn open(
        mut config: zenoh::Config,
        connectivity: &Arc<Connectivity>,
        events: &Events,
        patience: Option<Duration>,
    ) -> Result<Self, WireError> {
        let zid = set_random_id(&mut config)?;
        connectivity.add(&zid);
        let opened = Self::open_as(config, connectivity, events);
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
            zenoh,
        })
    }
}

/// The zenoh sessions that carry messages.
#[derive(Clone, Debug)]
pub(crate) struct PutSessions {
    pub(crate) main: zenoh::Session,
    /// For messages that wait; `None` if none wait, or if they wait in zenoh's blocking puts.
    pub(crate) blocking: Option<zenoh::Session>,
    /// Whether messages have a timestamp of zenoh.
    pub(crate) stamp_messages: bool,
}

impl PutSessions {
    /// The session for blocking puts, if `waits` and if there is one.
    pub(crate) fn blocking_for(&self, waits: bool) -> Option<&zenoh::Session> {
        self.blocking.as_ref().filter(|_| waits)
    }
}
