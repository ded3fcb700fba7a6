//! [`BlockingSession`]: the zenoh session for puts that wait for subscribers without room.
//!
//! How long a put waits before its message is dropped is one setting of a zenoh session. Messages of reliable
//! topics wait for the stall timeout. After that a stuck subscriber misses them until it reads again, but keeps
//! its link. (With zenoh's own blocking puts the link is closed, and between two peers neither opens it again.)
//! Best-effort messages and the clock must not wait, so they go through the main session, which has its own
//! links.
//!
//! A zenoh session with a clock reads that clock for each message, even if the message already has a timestamp. So this
//! session has no clock ([`super::config::blocking`]). [`Timestamps`](super::timestamps::Timestamps) makes the
//! timestamps of its messages.

use std::sync::Arc;
use std::time::Duration;

use zenoh::Wait;
use zenoh::session::TransportEventsListener;

use super::put::PutSession;
use crate::wire::error::WireError;
use crate::wire::event::Events;
use crate::wire::net::connectivity::{Connectivity, watch_links};
use crate::wire::net::zenoh_config::set_random_id;

/// A second zenoh session of the player, beside the main one.
#[derive(Debug)]
pub(crate) struct BlockingSession {
    _links: TransportEventsListener<()>,
    pub(crate) session: PutSession,
}

impl BlockingSession {
    /// Opens the session; with `patience`, waits that long for a connection. `connectivity` is that of the main
    /// session. It must know this session before a link between the two can open, so the id is chosen here.
    /// `has_timestamps`: whether its messages have zenoh timestamps.
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
            session: PutSession::without_clock(zenoh, has_timestamps),
        })
    }
}
