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

use super::error::WireError;
use super::event::Events;
use super::path::Path;
use super::watch::watch_links;

/// A second zenoh session of the player, beside the main one.
#[derive(Debug)]
pub(super) struct Patient {
    _links: TransportEventsListener<()>,
    pub(super) path: Arc<Path>,
    pub(super) zenoh: zenoh::Session,
}

impl Patient {
    /// Opens it, and waits for the link that counts if somebody is there. `main` is the session it stands beside, and
    /// the path of that: a link between the two is no way out.
    pub(super) fn open(
        config: zenoh::Config,
        (main, main_path): (&zenoh::Session, &Path),
        events: &Events,
        patience: Option<Duration>,
    ) -> Result<Self, WireError> {
        let opened = zenoh::open(config).wait();
        let zenoh = opened.map_err(|source| WireError::Open {
            what: "a second session, for reliable topics".to_owned(),
            source,
        })?;
        let path = Arc::new(Path::default());
        path.ignore(&main.zid().to_string());
        main_path.ignore(&zenoh.zid().to_string());
        let links = watch_links(&zenoh, events, &path)?;
        if let Some(patience) = patience {
            path.wait(patience);
        }
        Ok(Self {
            _links: links,
            path,
            zenoh,
        })
    }
}

/// The sessions that messages go through.
#[derive(Clone, Debug)]
pub(super) struct Lanes {
    pub(super) main: zenoh::Session,
    /// For what waits; `None` if nothing does, or waits as zenoh blocks.
    pub(super) patient: Option<zenoh::Session>,
}

impl Lanes {
    /// The patient session, if this is for it.
    pub(super) fn patient_for(&self, waits: bool) -> Option<&zenoh::Session> {
        self.patient.as_ref().filter(|_| waits)
    }
}
