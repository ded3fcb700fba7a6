//! [`Patient`]: the session whose puts wait for a subscriber that has no room.
//!
//! How long a put waits before its message is dropped is one setting of a zenoh session. Messages of reliable topics
//! wait for the stall timeout, then whoever took nothing misses them until it takes something again; its link stays.
//! (With zenoh's own blocking puts the link is closed instead, and between two peers nobody makes it again.) Best
//! effort messages and the clock must not wait, so they go through the main session, with links of its own.

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
    /// Opens it, and waits so long for a way out if somebody is there. `path` is that of the main session. It has to
    /// know this one before a link between the two can open, so the id is chosen here.
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

/// The sessions that messages go through.
#[derive(Clone, Debug)]
pub(crate) struct Lanes {
    pub(crate) main: zenoh::Session,
    /// For what waits; `None` if nothing does, or waits as zenoh blocks.
    pub(crate) patient: Option<zenoh::Session>,
}

impl Lanes {
    /// The patient session, if this is for it.
    pub(crate) fn patient_for(&self, waits: bool) -> Option<&zenoh::Session> {
        self.patient.as_ref().filter(|_| waits)
    }
}
