//! The subscription to liveliness tokens, which keeps the graph up to date.
//!
//! The callback updates a table and sends events; it does not block.

use std::fmt;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use zenoh::Wait;
use zenoh::pubsub::Subscriber;
use zenoh::sample::SampleKind;

use super::graph::Graph;
use crate::wire::error::WireError;
use crate::wire::event::Events;

/// Called after a token has appeared or disappeared; returns `false` when it is no longer needed.
type Changed = Box<dyn Fn() -> bool + Send>;

/// Who is told that the graph has changed. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Changes(Arc<Mutex<Vec<Changed>>>);

impl Changes {
    /// Calls `changed` after each change, until it returns `false`. It must not block.
    pub(crate) fn tell(&self, changed: impl Fn() -> bool + Send + 'static) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Those no longer needed are removed here, too: on a quiet network they would accumulate.
        all.retain(|changed| changed());
        all.push(Box::new(changed));
    }

    fn happened(&self) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|changed| changed());
    }
}

impl fmt::Debug for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Changes")
    }
}

/// Follows the tokens of a domain until the result is dropped.
pub(crate) fn watch_tokens(
    session: &zenoh::Session,
    domain: u32,
    graph: &Graph,
    events: &Events,
    told: &Changes,
) -> Result<Subscriber<()>, WireError> {
    let key = format!("@ros2_lv/{domain}/**");
    let (graph, events, told) = (graph.clone(), events.clone(), told.clone());
    let tokens = session
        .liveliness()
        .declare_subscriber(key.clone())
        .history(true)
        .callback(move |sample| {
            let key = sample.key_expr().as_str();
            let changes = match sample.kind() {
                SampleKind::Put => graph.appeared(key),
                SampleKind::Delete => graph.vanished(key),
            };
            for event in changes {
                events.send(event);
            }
            told.happened();
        })
        .wait();
    tokens.map_err(|source| WireError::Declare { what: key, source })
}

/// Waits a moment for the present tokens to arrive, because decisions made directly afterwards (Humble or not)
/// need them. Ends as soon as all connected sessions have answered, after `patience` at most.
pub(crate) fn settle(session: &zenoh::Session, domain: u32, patience: Duration) {
    // With a callback, because zenoh's own channel holds 256 replies and hangs with more.
    let (alive, done) = sync_channel::<()>(0);
    let get = session
        .liveliness()
        .get(format!("@ros2_lv/{domain}/**"))
        .timeout(patience)
        .callback(move |_| _ = &alive)
        .wait();
    if get.is_ok() {
        // Nothing is ever sent: the channel closes after the last answer.
        if done.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
            tracing::debug!("some sessions have not sent their liveliness tokens yet");
        }
    }
}
