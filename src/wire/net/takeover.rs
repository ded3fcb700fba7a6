//! [`Succession`]: becoming the router of this host when its router is gone.
//!
//! ROS 2 nodes keep looking for a router at the same endpoint. Only new nodes and nodes that lost their links
//! need a router, but without one they find no other node. Several players may lose their router at once: the
//! first that listens at its endpoint is the new router, and the others, which can no longer listen there,
//! connect to it automatically.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::connectivity::Path;
use super::env::RouterCheck;
use super::probe::has_router;
use super::router::{Router, RouterSlot};
use crate::wire::error::WireError;
use crate::wire::event::{Events, WireEvent};

/// How long a router may take to restart: it should find its endpoint free.
const GRACE: Duration = Duration::from_secs(1);
/// How long to wait before the next attempt, if another process took the endpoint.
const AGAIN: Duration = Duration::from_secs(1);

/// What is needed to become the router.
pub(crate) struct Heir {
    /// The endpoint of the router.
    pub(crate) endpoint: String,
    /// Opens a router of this process there.
    pub(crate) open: Box<dyn Fn() -> Result<Router, WireError> + Send>,
}

/// The thread that waits for the loss of the router. Dropping this ends it.
#[derive(Debug)]
pub(crate) struct Succession {
    path: Arc<Path>,
    thread: Option<JoinHandle<()>>,
}

impl Succession {
    /// Starts to watch `path`; a router that is opened goes to `slot`.
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

/// Returns when this process is the router, or when the session closes.
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
            // The thread has reported its panic itself.
            let _ = thread.join();
        }
    }
}
