//! [`Succession`]: becoming the router of this host when the one that was there is gone.
//!
//! ROS 2 nodes keep looking for a router at the same endpoint; only new nodes and those that lost their links need
//! one, but without one none of them is found. Several players may lose it at once: who listens there first is the
//! router, and the others, which cannot listen there any more, connect to it by themselves.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::connectivity::Path;
use super::env::RouterCheck;
use super::probe::has_router;
use super::router::{Router, RouterSlot};
use crate::wire::error::WireError;
use crate::wire::event::{Events, WireEvent};

/// How long a router that is started anew may take: one that is restarted should find its place free.
const GRACE: Duration = Duration::from_secs(1);
/// How long another that took the place may take to be found before this one tries again.
const AGAIN: Duration = Duration::from_secs(1);

/// What it takes to be the router.
pub(crate) struct Heir {
    /// Where a router would answer.
    pub(crate) endpoint: String,
    /// Opens one of our own there.
    pub(crate) open: Box<dyn Fn() -> Result<Router, WireError> + Send>,
}

/// The thread that watches, until it is dropped.
#[derive(Debug)]
pub(crate) struct Succession {
    path: Arc<Path>,
    thread: Option<JoinHandle<()>>,
}

impl Succession {
    /// Begins to watch `path`; the router goes to `slot`.
    pub(crate) fn start(
        heir: Heir,
        path: Arc<Path>,
        slot: RouterSlot,
        events: Events,
    ) -> Result<Self, WireError> {
        let watched = Arc::clone(&path);
        let thread = thread::Builder::new()
            .name("succession".to_owned())
            .spawn(move || succeed(&heir, &watched, &slot, &events))
            .map_err(WireError::Succession)?;
        Ok(Self {
            path,
            thread: Some(thread),
        })
    }
}

/// Returns when this process is the router, or the session closes.
fn succeed(heir: &Heir, path: &Path, slot: &RouterSlot, events: &Events) {
    while path.wait_for_loss() {
        let mut patience = GRACE;
        while path.stays_lost(patience) {
            patience = AGAIN;
            if has_router(RouterCheck::Times(1), &heir.endpoint) {
                continue;
            }
            match (heir.open)() {
                Ok(router) => {
                    let listen = router.listen().to_vec();
                    slot.put(router);
                    events.tell(WireEvent::BecameRouter { listen });
                    return;
                }
                Err(error) => tracing::debug!("the place of the router is taken: {error}"),
            }
        }
    }
}

impl Drop for Succession {
    fn drop(&mut self) {
        self.path.close();
        if let Some(thread) = self.thread.take() {
            // A panic has been reported by its thread.
            let _ = thread.join();
        }
    }
}
