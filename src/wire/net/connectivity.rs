//! Whether there is a way to the network: puts go on returning `Ok` when it is gone.
//!
//! Taken from zenoh's transport events, which come within milliseconds of a link's end. What is known is a state
//! that is asked for, not a sequence of events: whoever looks late sees how it is now, and by the count that there
//! was a loss in between.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Whether what is put has a way out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PathState {
    /// Whether there is one now.
    pub is_up: bool,
    /// How often it was lost since the session was opened. What was put around each loss may have reached nobody.
    pub losses: u64,
}

/// The links of our sessions, and whether they are a way out.
#[derive(Default, Debug)]
pub(crate) struct Path {
    links: Mutex<Links>,
    changed: Condvar,
}

#[derive(Default, Debug)]
struct Links {
    /// Our sessions that messages go through, by their ids. A link between two of them is no way out.
    sessions: BTreeMap<String, Session>,
    losses: u64,
    /// The session closes: nobody waits any more.
    is_closing: bool,
}

/// The links of one session of ours, by the ids of the sessions at their other ends.
#[derive(Default, Debug)]
struct Session {
    routers: BTreeSet<String>,
    others: BTreeSet<String>,
    /// Once a router was there, other links do not replace it: new nodes are found through it.
    needs_router: bool,
}

impl Session {
    fn is_up(&self) -> bool {
        !self.routers.is_empty() || (!self.needs_router && !self.others.is_empty())
    }
}

impl Links {
    /// Each session carries messages that the others do not, so each needs a way out.
    fn is_up(&self) -> bool {
        !self.sessions.is_empty() && self.sessions.values().all(Session::is_up)
    }

    fn has_lost_router(&self) -> bool {
        let mut sessions = self.sessions.values();
        sessions.clone().any(|session| session.needs_router)
            && sessions.all(|session| session.routers.is_empty())
    }
}

/// What is at the other end of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Far {
    Router,
    Other,
}

impl Path {
    /// Messages go through our session `zid` from now on. To be called before its links are watched, and before
    /// another session of ours can have a link to it. The state is down until it has a link, which is not a loss.
    pub(crate) fn add(&self, zid: &str) {
        self.links().sessions.entry(zid.to_owned()).or_default();
        self.changed.notify_all();
    }

    /// Our session `zid` could not be opened.
    pub(crate) fn remove(&self, zid: &str) {
        self.links().sessions.remove(zid);
        self.changed.notify_all();
    }

    /// A link from our session `near` to session `zid` opened. Whether the state is another now.
    pub(crate) fn opened(&self, near: &str, zid: &str, far: Far) -> bool {
        self.change(|links| {
            if links.sessions.contains_key(zid) {
                return;
            }
            let Some(session) = links.sessions.get_mut(near) else {
                return;
            };
            match far {
                Far::Router => session.routers.insert(zid.to_owned()),
                Far::Other => session.others.insert(zid.to_owned()),
            };
            session.needs_router |= far == Far::Router;
        })
    }

    /// A link from our session `near` to session `zid` closed. Whether the state is another now.
    pub(crate) fn closed(&self, near: &str, zid: &str) -> bool {
        self.change(|links| {
            if let Some(session) = links.sessions.get_mut(near) {
                session.routers.remove(zid);
                session.others.remove(zid);
            }
        })
    }

    /// How it is now.
    pub(crate) fn state(&self) -> PathState {
        let links = self.links();
        PathState {
            is_up: links.is_up(),
            losses: links.losses,
        }
    }

    /// Waits until there is a way out, at most so long.
    pub(crate) fn wait(&self, patience: Duration) {
        // Both outcomes are fine: who is not there in time is found later.
        drop(self.wait_while(patience, |links| !links.is_up()));
    }

    /// Waits until a router that was there is not there any more, for any of our sessions. False if the session closes.
    pub(crate) fn wait_for_loss(&self) -> bool {
        let mut links = self.links();
        while !links.is_closing && !links.has_lost_router() {
            let woken = self.changed.wait(links);
            links = woken.unwrap_or_else(PoisonError::into_inner);
        }
        !links.is_closing
    }

    /// Waits for so long whether a lost router comes back; whether it is still lost then, and the session open.
    pub(crate) fn stays_lost(&self, patience: Duration) -> bool {
        let links = self.wait_while(patience, Links::has_lost_router);
        links.has_lost_router() && !links.is_closing
    }

    /// Nobody is to wait any more: the session closes.
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

#[cfg(test)]
mod tests {
    use super::*;

    const MAIN: &str = "a";
    const SECOND: &str = "b";

    fn path() -> Path {
        let path = Path::default();
        path.add(MAIN);
        path
    }

    fn state(path: &Path) -> (bool, u64) {
        let PathState { is_up, losses } = path.state();
        (is_up, losses)
    }

    #[test]
    fn the_last_router_takes_the_path_with_it() {
        let path = path();
        assert_eq!(state(&path), (false, 0));
        assert!(path.opened(MAIN, "r1", Far::Router));
        assert!(!path.opened(MAIN, "r2", Far::Router));
        assert!(!path.opened(MAIN, "p", Far::Other));
        assert!(!path.closed(MAIN, "r1"));
        assert!(path.closed(MAIN, "r2"));
        assert_eq!(state(&path), (false, 1));
        assert!(path.opened(MAIN, "r3", Far::Router));
        assert_eq!(state(&path), (true, 1));
    }

    #[test]
    fn a_loss_shows_to_who_looks_when_it_is_over() {
        let path = path();
        path.opened(MAIN, "r", Far::Router);
        let before = path.state();
        path.closed(MAIN, "r");
        path.opened(MAIN, "r", Far::Router);
        let after = path.state();
        assert!(before.is_up && after.is_up && after.losses > before.losses);
    }

    #[test]
    fn each_session_needs_a_way_out_and_each_loss_counts() {
        let path = path();
        path.opened(MAIN, "r", Far::Router);
        path.add(SECOND);
        // What was not there yet is not lost.
        assert_eq!(state(&path), (false, 0));
        assert!(path.opened(SECOND, "r", Far::Router));
        assert_eq!(state(&path), (true, 0));
        assert!(path.closed(MAIN, "r"));
        assert!(path.opened(MAIN, "r", Far::Router));
        assert!(path.closed(SECOND, "r"));
        assert_eq!(state(&path), (false, 2));
        // One loss for both: there is no way out in between.
        assert!(!path.closed(MAIN, "r"));
        assert!(!path.opened(MAIN, "r", Far::Router));
        assert!(path.opened(SECOND, "r", Far::Router));
        assert_eq!(state(&path), (true, 2));
    }

    #[test]
    fn a_link_between_our_sessions_is_no_way_out_and_no_loss() {
        let path = path();
        path.add(SECOND);
        assert!(!path.opened(MAIN, SECOND, Far::Other) && !path.opened(SECOND, MAIN, Far::Other));
        assert!(!path.closed(MAIN, SECOND) && !path.closed(SECOND, MAIN));
        assert_eq!(state(&path), (false, 0));
    }

    #[test]
    fn a_session_that_could_not_be_opened_is_not_waited_for() {
        let path = path();
        path.opened(MAIN, "r", Far::Router);
        path.add(SECOND);
        path.remove(SECOND);
        path.wait(Duration::MAX);
        assert_eq!(state(&path), (true, 0));
    }

    #[test]
    fn without_any_router_a_peer_will_do() {
        let path = path();
        assert!(path.opened(MAIN, "p", Far::Other));
        assert!(path.closed(MAIN, "p"));
        assert_eq!(state(&path), (false, 1));
    }

    #[test]
    fn a_router_is_lost_for_so_long_as_it_does_not_come_back() {
        let path = path();
        assert!(!path.stays_lost(Duration::ZERO), "there was none");
        path.opened(MAIN, "r", Far::Router);
        path.closed(MAIN, "r");
        assert!(path.wait_for_loss());
        assert!(path.stays_lost(Duration::ZERO));
        path.opened(MAIN, "r", Far::Router);
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
            path.opened(session, "r", Far::Router);
        }
        path.closed(MAIN, "r");
        assert!(!path.stays_lost(Duration::MAX));
        path.closed(SECOND, "r");
        assert!(path.stays_lost(Duration::ZERO));
    }
}
