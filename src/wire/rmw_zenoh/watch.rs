//! Subscriptions to what zenoh reports: liveliness tokens that appear and disappear, links that open and close.
//!
//! The callbacks update a table and send events; they do not block.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use zenoh::Wait;
use zenoh::config::WhatAmI;
use zenoh::pubsub::Subscriber;
use zenoh::sample::SampleKind;
use zenoh::session::{TransportEvent, TransportEventsListener};

use super::graph::Graph;
use crate::wire::error::WireError;
use crate::wire::event::{Events, WireEvent};
use crate::wire::net::connectivity::{Far, Path};

/// The subscriptions of a session; dropping this ends them.
#[derive(Debug)]
pub(crate) struct Watches {
    _tokens: Subscriber<()>,
    _links: TransportEventsListener<()>,
}

impl Watches {
    pub(crate) fn declare(
        session: &zenoh::Session,
        domain: u32,
        graph: &Graph,
        events: &Events,
        path: &Arc<Path>,
    ) -> Result<Self, WireError> {
        let key = format!("@ros2_lv/{domain}/**");
        let seen = Tokens {
            graph: graph.clone(),
            events: events.clone(),
        };
        let tokens = session
            .liveliness()
            .declare_subscriber(key.clone())
            .history(true)
            .callback(move |sample| {
                let key = sample.key_expr().as_str();
                match sample.kind() {
                    SampleKind::Put => seen.appeared(key),
                    SampleKind::Delete => seen.vanished(key),
                }
            })
            .wait()
            .map_err(|source| WireError::Declare { what: key, source })?;
        let links = watch_links(session, events, path)?;
        Ok(Self {
            _tokens: tokens,
            _links: links,
        })
    }
}

/// Reports the links of `session` to `path`, to which the session was added before, and changes of the path to
/// `events`.
pub(crate) fn watch_links(
    session: &zenoh::Session,
    events: &Events,
    path: &Arc<Path>,
) -> Result<TransportEventsListener<()>, WireError> {
    let (events, path) = (events.clone(), Arc::clone(path));
    let near = session.zid().to_string();
    let listener = session
        .info()
        .transport_events_listener()
        .history(true)
        .callback(move |event| changed(&near, &event, &events, &path))
        .wait();
    listener.map_err(|source| WireError::Declare {
        what: "a watch of links".to_owned(),
        source,
    })
}

fn changed(near: &str, event: &TransportEvent, events: &Events, path: &Path) {
    let zid = event.transport().zid().to_string();
    let is_change = match event.kind() {
        SampleKind::Put => {
            let is_router = event.transport().whatami() == WhatAmI::Router;
            let far = if is_router { Far::Router } else { Far::Other };
            path.opened(near, &zid, far)
        }
        SampleKind::Delete => path.closed(near, &zid),
    };
    if is_change {
        events.tell(WireEvent::PathChanged);
    }
}

struct Tokens {
    graph: Graph,
    events: Events,
}

impl Tokens {
    fn appeared(&self, key: &str) {
        for event in self.graph.appeared(key) {
            self.events.tell(event);
        }
    }

    fn vanished(&self, key: &str) {
        for event in self.graph.vanished(key) {
            self.events.tell(event);
        }
    }
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
            tracing::debug!("not everybody has told of its nodes yet");
        }
    }
}
