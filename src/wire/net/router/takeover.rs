//! [`RouterTakeover`]: becoming the router of this host when its router has ended.
//!
//! ROS 2 nodes keep looking for a router at the same endpoint. Only new nodes and nodes that lost their links
//! need a router, but without one they find no other node. Several players may lose their router at once: the
//! first that listens at its endpoint is the new router, and the others, which can no longer listen there,
//! connect to it automatically.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::{Router, RouterSlot};
use crate::wire::error::WireError;
use crate::wire::event::{Events, WireEvent};
use crate::wire::net::connectivity::Connectivity;
use crate::wire::net::env::RouterCheck;
use crate::wire::net::probe::has_router;

/// How long a router may take to restart: it should find its endpoint free.
const GRACE: Duration = Duration::from_secs(1);
/// How long to wait before the next attempt, if another process took the endpoint.
const AGAIN: Duration = Duration::from_secs(1);

/// What is needed to become the router.
pub(crate) struct Successor {
    /// The endpoint of the router.
    pub(crate) endpoint: String,
    /// Opens a router of this process there.
    pub(crate) open: Box<dyn Fn() -> Result<Router, WireError> + Send>,
}

/// The thread that waits for the loss of the router. Dropping this ends it.
#[derive(Debug)]
pub(crate) struct RouterTakeover {
    connectivity: Arc<Connectivity>,
    thread: Option<JoinHandle<()>>,
}

impl RouterTakeover {
    /// Starts to watch `connectivity`; a router that is opened goes to `slot`.
    pub(crate) fn start(
        successor: Successor,
        connectivity: Arc<Connectivity>,
        slot: RouterSlot,
        events: Events,
    ) -> Result<Self, WireError> {
        let watched = Arc::clone(&connectivity);
        let thread = thread::Builder::new()
            .name("router-takeover".to_owned())
            .spawn(move || take_over(&successor, &watched, &slot, &events))
            .map_err(WireError::TakeoverThread)?;
        Ok(Self {
            connectivity,
            thread: Some(thread),
        })
    }
}

/// Returns when this process is the router, or when the session closes.
fn take_over(
    successor: &Successor,
    connectivity: &Connectivity,
    slot: &RouterSlot,
    events: &Events,
) {
    while connectivity.wait_for_loss() {
        let mut patience = GRACE;
        while connectivity.stays_lost(patience) {
            patience = AGAIN;
            if has_router(RouterCheck::Times(1), &successor.endpoint) {
                continue;
            }
            match (successor.open)() {
                Ok(router) => {
                    let listen = router.listen().to_vec();
                    slot.put(router);
                    events.send(WireEvent::BecameRouter { listen });
                    return;
                }
                Err(error) => tracing::debug!("another process is the router now: {error}"),
            }
        }
    }
}

impl Drop for RouterTakeover {
    fn drop(&mut self) {
        self.connectivity.close();
        if let Some(thread) = self.thread.take() {
            // The thread has reported its panic itself.
            let _ = thread.join();
        }
    }
}
