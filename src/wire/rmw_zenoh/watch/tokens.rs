//! The subscription to liveliness tokens, which keeps the graph up to date.
//!
//! The callback updates a table and sends events; it does not block.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use zenoh::Wait;
use zenoh::pubsub::Subscriber;
use zenoh::sample::SampleKind;

use crate::wire::dialect::notation::Notation;
use crate::wire::error::WireError;
use crate::wire::event::Events;
use crate::wire::rmw_zenoh::graph::Graph;
use crate::wire::rmw_zenoh::ours::Via;

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

/// Follows the tokens of other sessions, as `session` receives them, until the result is dropped.
pub(crate) fn watch_tokens(
    session: &zenoh::Session,
    via: Via,
    notation: &Notation,
    graph: &Graph,
    events: &Events,
    told: &Changes,
) -> Result<Subscriber<()>, WireError> {
    let key = notation.all_tokens();
    let (graph, events, told) = (graph.clone(), events.clone(), told.clone());
    let tokens = session
        .liveliness()
        .declare_subscriber(key.clone())
        .history(true)
        .callback(move |sample| {
            let key = sample.key_expr().as_str();
            let changes = match sample.kind() {
                SampleKind::Put => graph.appeared(key, via),
                SampleKind::Delete => graph.vanished(key, via),
            };
            for event in changes {
                events.send(event);
            }
            told.happened();
        })
        .wait();
    tokens.map_err(|source| WireError::Declare { what: key, source })
}
