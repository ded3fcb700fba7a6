//! The subscription to liveliness tokens, which keeps the graph up to date.
//!
//! The callback updates a table and sends events; it does not block.

use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use zenoh::Wait;
use zenoh::pubsub::Subscriber;
use zenoh::sample::SampleKind;

use super::graph::Graph;
use crate::wire::error::WireError;
use crate::wire::event::Events;

/// Follows the tokens of a domain until the result is dropped.
pub(crate) fn watch_tokens(
    session: &zenoh::Session,
    domain: u32,
    graph: &Graph,
    events: &Events,
) -> Result<Subscriber<()>, WireError> {
    let key = format!("@ros2_lv/{domain}/**");
    let (graph, events) = (graph.clone(), events.clone());
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
        })
        .wait();
    tokens.map_err(|source| WireError::Declare { what: key, source })
}

/// Waits a moment for the present tokens to arrive, because decisions made directly afterwards (Humble or not)
/// need them. Ends as soon as all connected sessions have answered, after 50 ms at most.
pub(crate) fn settle(session: &zenoh::Session, domain: u32) {
    const PATIENCE: Duration = Duration::from_millis(50);
    // With a callback, because zenoh's own channel holds 256 replies and hangs with more.
    let (alive, done) = sync_channel::<()>(0);
    let get = session
        .liveliness()
        .get(format!("@ros2_lv/{domain}/**"))
        .timeout(PATIENCE)
        .callback(move |_| _ = &alive)
        .wait();
    if get.is_ok() {
        // Nothing is ever sent: the channel closes after the last answer.
        if done.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            tracing::debug!("some sessions have not sent their liveliness tokens yet");
        }
    }
}
