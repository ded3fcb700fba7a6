//! Whether there is a connection to the network. Needed because puts return `Ok` even when it is lost.
//!
//! It follows zenoh's transport events, which come within milliseconds of a link's end. The result is a state
//! to read, not a sequence of events: a late reader sees the present state, and sees by the count whether there
//! was a loss before.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use zenoh::Wait;
use zenoh::config::WhatAmI;
use zenoh::sample::SampleKind;
use zenoh::session::{TransportEvent, TransportEventsListener};

use crate::wire::error::WireError;
use crate::wire::event::{Events, WireEvent};

/// Whether there is a connection over which puts can leave.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PathState {
    /// Whether there is a connection now.
    pub is_up: bool,
    /// How often it was lost since the session was opened. Messages put around a loss may have reached no
    /// subscriber.
    pub losses: u64,
}

/// The links of this process's sessions, and whether they connect it to the network.
#[derive(Default, Debug)]
pub(crate) struct Connectivity {
    links: Mutex<Links>,
    changed: Condvar,
}

#[derive(Default, Debug)]
struct Links {
    /// The sessions of this process that carry messages, by id. A link between two of them is no connection to
    /// the network, unless the other one has clients.
    sessions: BTreeMap<String, Session>,
    losses: u64,
    /// The session is closing: waiting ends.
    is_closing: bool,
}

/// The links of one session, by the ids of the sessions at the other ends.
#[derive(Default, Debug)]
struct Session {
    routers: BTreeSet<String>,
    peers: BTreeSet<String>,
    clients: BTreeSet<String>,
    /// Other sessions of this process.
    own: BTreeSet<String>,
    /// Set by the first link to a router: from then on other links do not suffice, because new nodes are found
    /// through a router.
    needs_router: bool,
}

impl Links {
    /// Each session carries messages that the others do not, so each needs a connection.
    fn is_up(&self) -> bool {
        !self.sessions.is_empty() && self.sessions.values().all(|one| self.is_connected(one))
    }

    fn is_connected(&self, session: &Session) -> bool {
        let forwards = |own: &String| {
            // A peer forwards to its clients what other peers send.
            let linked = self.sessions.get(own);
            linked.is_some_and(|one| !one.clients.is_empty())
        };
        let is_linked = !session.peers.is_empty()
            || !session.clients.is_empty()
            || session.own.iter().any(forwards);
        !session.routers.is_empty() || (!session.needs_router && is_linked)
    }

    fn has_lost_router(&self) -> bool {
        let mut sessions = self.sessions.values();
        sessions.clone().any(|session| session.needs_router)
            && sessions.all(|session| session.routers.is_empty())
    }
}

impl Connectivity {
    /// Adds the session `zid` of this process. Call it before its links are watched, and before another session
    /// of this process can link to it. The state is down until the session has a link; that does not count as a
    /// loss.
    pub(crate) fn add(&self, zid: &str) {
        self.links().sessions.entry(zid.to_owned()).or_default();
        self.changed.notify_all();
    }

    /// How many sessions there are.
    pub(crate) fn sessions(&self) -> u64 {
        self.links().sessions.len() as u64
    }

    /// Removes the session `zid`, which could not be opened.
    pub(crate) fn remove(&self, zid: &str) {
        self.links().sessions.remove(zid);
        self.changed.notify_all();
    }

    /// A link from session `near` of this process to session `zid` opened. Returns whether the state changed.
    pub(crate) fn opened(&self, near: &str, zid: &str, kind: WhatAmI) -> bool {
        self.change(|links| {
            let is_own = links.sessions.contains_key(zid);
            let Some(session) = links.sessions.get_mut(near) else {
                return;
            };
            let others = match kind {
                _ if is_own => &mut session.own,
                WhatAmI::Router => &mut session.routers,
                WhatAmI::Peer => &mut session.peers,
                WhatAmI::Client => &mut session.clients,
            };
            others.insert(zid.to_owned());
            session.needs_router |= !session.routers.is_empty();
        })
    }

    /// A link from session `near` of this process to session `zid` closed. Returns whether the state changed.
    pub(crate) fn closed(&self, near: &str, zid: &str) -> bool {
        self.change(|links| {
            if let Some(session) = links.sessions.get_mut(near) {
                for others in [
                    &mut session.routers,
                    &mut session.peers,
                    &mut session.clients,
                    &mut session.own,
                ] {
                    others.remove(zid);
                }
            }
        })
    }

    /// The present state.
    pub(crate) fn state(&self) -> PathState {
        let links = self.links();
        PathState {
            is_up: links.is_up(),
            losses: links.losses,
        }
    }

    /// Waits until there is a connection, for `patience` at most.
    pub(crate) fn wait(&self, patience: Duration) {
        // Both outcomes are fine: whatever is not linked in time is found later.
        drop(self.wait_while(patience, |links| !links.is_up()));
    }

    /// Waits until no session has a link to a router, after there was one. `false` if the session closes.
    pub(crate) fn wait_for_loss(&self) -> bool {
        let mut links = self.links();
        while !links.is_closing && !links.has_lost_router() {
            let woken = self.changed.wait(links);
            links = woken.unwrap_or_else(PoisonError::into_inner);
        }
        !links.is_closing
    }

    /// Waits up to `patience` for a lost router to come back; `true` if it is still lost and the session is
    /// open.
    pub(crate) fn stays_lost(&self, patience: Duration) -> bool {
        let links = self.wait_while(patience, Links::has_lost_router);
        links.has_lost_router() && !links.is_closing
    }

    /// Ends all waiting, because the session closes.
    pub(crate) fn close(&self) {
        self.links().is_closing = true;
        self.changed.notify_all();
    }

    fn wait_while(
        &self,
        patience: Duration,
        holds: impl Fn(&Links) -> bool,
    ) -> MutexGuard<'_, Links> {
        let goes_on = |links: &mut Links| !links.is_closing && holds(links);
        let waited = self
            .changed
            .wait_timeout_while(self.links(), patience, goes_on);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn change(&self, change: impl FnOnce(&mut Links)) -> bool {
        let mut links = self.links();
        let was_up = links.is_up();
        change(&mut links);
        let is_up = links.is_up();
        links.losses += u64::from(was_up && !is_up);
        self.changed.notify_all();
        was_up != is_up
    }

    fn links(&self) -> MutexGuard<'_, Links> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const OF_CLIENTS: &str = "a zenoh client is linked to the player itself: a message that it has no room for within a \
     millisecond is lost, and not counted; link it to a zenoh router, or make it a peer";

/// Reports the links of `session` to `connectivity`, to which the session was added before, and changes of the
/// connection to `events`.
pub(crate) fn watch_links(
    session: &zenoh::Session,
    events: &Events,
    connectivity: &Arc<Connectivity>,
) -> Result<TransportEventsListener<()>, WireError> {
    let (events, connectivity) = (events.clone(), Arc::clone(connectivity));
    let near = session.zid().to_string();
    let has_warned = AtomicBool::new(false);
    let listener = session
        .info()
        .transport_events_listener()
        .history(true)
        .callback(move |event| {
            let is_client = event.transport().whatami() == WhatAmI::Client;
            if is_client && !has_warned.swap(true, Ordering::Relaxed) {
                events.warn(OF_CLIENTS.to_owned());
            }
            changed(&near, &event, &events, &connectivity);
        })
        .wait();
    listener.map_err(|source| WireError::Declare {
        what: "a listener for links".to_owned(),
        source,
    })
}

fn changed(near: &str, event: &TransportEvent, events: &Events, connectivity: &Connectivity) {
    let zid = event.transport().zid().to_string();
    let kind = event.transport().whatami();
    let is_change = match event.kind() {
        SampleKind::Put => connectivity.opened(near, &zid, kind),
        SampleKind::Delete => connectivity.closed(near, &zid),
    };
    if is_change {
        events.send(WireEvent::PathChanged);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAIN: &str = "a";
    const SECOND: &str = "b";

    fn path() -> Connectivity {
        let path = Connectivity::default();
        path.add(MAIN);
        path
    }

    fn state(path: &Connectivity) -> (bool, u64) {
        let PathState { is_up, losses } = path.state();
        (is_up, losses)
    }

    #[test]
    fn the_path_is_lost_with_the_last_router() {
        let path = path();
        assert_eq!(state(&path), (false, 0));
        assert!(path.opened(MAIN, "r1", WhatAmI::Router));
        assert!(!path.opened(MAIN, "r2", WhatAmI::Router));
        assert!(!path.opened(MAIN, "p", WhatAmI::Peer));
        assert!(!path.closed(MAIN, "r1"));
        assert!(path.closed(MAIN, "r2"));
        assert_eq!(state(&path), (false, 1));
        assert!(path.opened(MAIN, "r3", WhatAmI::Router));
        assert_eq!(state(&path), (true, 1));
    }

    #[test]
    fn a_loss_is_visible_after_it_has_ended() {
        let path = path();
        path.opened(MAIN, "r", WhatAmI::Router);
        let before = path.state();
        path.closed(MAIN, "r");
        path.opened(MAIN, "r", WhatAmI::Router);
        let after = path.state();
        assert!(before.is_up && after.is_up && after.losses > before.losses);
    }

    #[test]
    fn each_session_needs_a_link_and_each_loss_counts() {
        let path = path();
        path.opened(MAIN, "r", WhatAmI::Router);
        path.add(SECOND);
        // A session without any link so far has lost nothing.
        assert_eq!(state(&path), (false, 0));
        assert!(path.opened(SECOND, "r", WhatAmI::Router));
        assert_eq!(state(&path), (true, 0));
        assert!(path.closed(MAIN, "r"));
        assert!(path.opened(MAIN, "r", WhatAmI::Router));
        assert!(path.closed(SECOND, "r"));
        assert_eq!(state(&path), (false, 2));
        // One loss for both sessions: there was no connection in between.
        assert!(!path.closed(MAIN, "r"));
        assert!(!path.opened(MAIN, "r", WhatAmI::Router));
        assert!(path.opened(SECOND, "r", WhatAmI::Router));
        assert_eq!(state(&path), (true, 2));
    }

    #[test]
    fn a_link_between_own_sessions_does_not_count() {
        let path = path();
        path.add(SECOND);
        assert!(
            !path.opened(MAIN, SECOND, WhatAmI::Peer) && !path.opened(SECOND, MAIN, WhatAmI::Peer)
        );
        assert!(!path.closed(MAIN, SECOND) && !path.closed(SECOND, MAIN));
        assert_eq!(state(&path), (false, 0));
    }

    #[test]
    fn clients_of_one_session_are_reached_from_the_sessions_that_are_linked_to_it() {
        let path = path();
        path.add(SECOND);
        path.opened(MAIN, "c", WhatAmI::Client);
        assert_eq!(state(&path), (false, 0));
        assert!(path.opened(SECOND, MAIN, WhatAmI::Peer));
        assert_eq!(state(&path), (true, 0));
        assert!(path.closed(MAIN, "c"));
        // A peer forwards nothing to other peers.
        assert!(!path.opened(MAIN, "p", WhatAmI::Peer));
        assert_eq!(state(&path), (false, 1));
    }

    #[test]
    fn a_session_that_could_not_be_opened_is_not_waited_for() {
        let path = path();
        path.opened(MAIN, "r", WhatAmI::Router);
        path.add(SECOND);
        path.remove(SECOND);
        path.wait(Duration::MAX);
        assert_eq!(state(&path), (true, 0));
    }

    #[test]
    fn without_a_router_a_link_to_a_peer_is_enough() {
        let path = path();
        assert!(path.opened(MAIN, "p", WhatAmI::Peer));
        assert!(path.closed(MAIN, "p"));
        assert_eq!(state(&path), (false, 1));
    }

    #[test]
    fn a_router_is_lost_until_it_comes_back() {
        let path = path();
        assert!(!path.stays_lost(Duration::ZERO), "there was none");
        path.opened(MAIN, "r", WhatAmI::Router);
        path.closed(MAIN, "r");
        assert!(path.wait_for_loss());
        assert!(path.stays_lost(Duration::ZERO));
        path.opened(MAIN, "r", WhatAmI::Router);
        assert!(!path.stays_lost(Duration::MAX));
        path.closed(MAIN, "r");
        path.close();
        assert!(!path.stays_lost(Duration::MAX) && !path.wait_for_loss());
    }

    #[test]
    fn a_router_is_lost_when_no_session_has_a_link_to_it() {
        let path = path();
        path.add(SECOND);
        for session in [MAIN, SECOND] {
            path.opened(session, "r", WhatAmI::Router);
        }
        path.closed(MAIN, "r");
        assert!(!path.stays_lost(Duration::MAX));
        path.closed(SECOND, "r");
        assert!(path.stays_lost(Duration::ZERO));
    }
}
