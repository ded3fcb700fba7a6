//! [`Patient`]: the session for blocking puts, which wait for subscribers that have no room.
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

use crate::wire::error::WireError;
use crate::wire::event::Events;
use crate::wire::net::connectivity::Path;
use crate::wire::net::zenoh_config::set_random_id;
use crate::wire::rmw_zenoh::watch::watch_links;

/// A second zenoh session of the player, beside the main one.
#[derive(Debug)]
pub(crate) struct Patient {
    _links: TransportEventsListener<()>,
    pub(crate) zenoh: zenoh::Session,
}

impl Patient {
    /// Opens the session; with `patience`, waits that long for a connection. `path` is that of the main
    /// session. It must know this session before a link between the two can open, so the id is chosen here.
    pub(crate) fn open(
        mut config: zenoh::Config,
        path: &Arc<Path>,
        events: &Events,
        patience: Option<Duration>,
    ) -> Result<Self, WireError> {
        let zid = set_random_id(&mut config)?;
        path.add(&zid);
        let opened = Self::open_as(config, path, events);
        match &opened {
            Err(_) => path.remove(&zid),
            Ok(_) => {
                if let Some(patience) = patience {
                    path.wait(patience);
                }
            }
        }
        opened
    }

    fn open_as(
        config: zenoh::Config,
        path: &Arc<Path>,
        events: &Events,
    ) -> Result<Self, WireError> {
        let opened = zenoh::open(config).wait();
        let zenoh = opened.map_err(|source| WireError::Open {
            what: "a second session, for reliable topics".to_owned(),
            source,
        })?;
        let links = watch_links(&zenoh, events, path)?;
        Ok(Self {
            _links: links,
            zenoh,
        })
    }
}

/// The zenoh sessions that carry messages.
#[derive(Clone, Debug)]
pub(crate) struct Lanes {
    pub(crate) main: zenoh::Session,
    /// For messages that wait; `None` if none wait, or if they wait in zenoh's blocking puts.
    pub(crate) patient: Option<zenoh::Session>,
}

impl Lanes {
    /// The session for blocking puts, if `waits` and if there is one.
    pub(crate) fn patient_for(&self, waits: bool) -> Option<&zenoh::Session> {
        self.patient.as_ref().filter(|_| waits)
    }
}
