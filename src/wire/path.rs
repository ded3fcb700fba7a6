//! Whether there is a way to the network: puts go on returning `Ok` when it is gone.
//!
//! Taken from zenoh's transport events, which come within milliseconds of a link's end. What is known is a state
//! that is asked for, not a sequence of events: whoever looks late sees how it is now, and by the count that there
//! was a loss in between.

use std::collections::BTreeSet;
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

/// The links of a session, and whether they are a way out.
#[derive(Default, Debug)]
pub(super) struct Path {
    links: Mutex<Links>,
    changed: Condvar,
}

#[derive(Default, Debug)]
struct Links {
    routers: BTreeSet<String>,
    others: BTreeSet<String>,
    /// Our own sessions, which are nobody to reach.
    ours: BTreeSet<String>,
    /// Once a router was there, other links do not replace it: new nodes are found through it.
    needs_router: bool,
    losses: u64,
    /// The session closes: nobody waits any more.
    is_closing: bool,
}

impl Links {
    fn is_up(&self) -> bool {
        !self.routers.is_empty() || (!self.needs_router && !self.others.is_empty())
    }

    fn has_lost_router(&self) -> bool {
        self.needs_router && self.routers.is_empty()
    }
}

/// What is at the other end of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Far {
    Router,
    Other,
}

impl Path {
    /// Session `zid` is one of ours: a link to it is no way out.
    pub(super) fn ignore(&self, zid: &str) {
        self.change(|links| {
            links.others.remove(zid);
            links.ours.insert(zid.to_owned());
        });
    }

    /// A link to session `zid` opened. Whether the state is another now.
    pub(super) fn opened(&self, zid: &str, far: Far) -> bool {
        self.change(|links| {
            if links.ours.contains(zid) {
                return;
            }
            match far {
                Far::Router => links.routers.insert(zid.to_owned()),
                Far::Other => links.others.insert(zid.to_owned()),
            };
            links.needs_router |= far == Far::Router;
        })
    }

    /// A link to session `zid` closed. Whether the state is another now.
    pub(super) fn closed(&self, zid: &str) -> bool {
        self.change(|links| {
            links.routers.remove(zid);
            links.others.remove(zid);
        })
    }

    /// How it is now.
    pub(super) fn state(&self) -> PathState {
        let links = self.links();
        PathState {
            is_up: links.is_up(),
            losses: links.losses,
        }
    }

    /// Waits until there is a way out, at most so long.
    pub(super) fn wait(&self, patience: Duration) {
        // Both outcomes are fine: who is not there in time is found later.
        drop(self.wait_while(patience, |links| !links.is_up()));
    }

    /// Waits until a router that was there is not there any more. False if the session closes.
    pub(super) fn wait_for_loss(&self) -> bool {
        let mut links = self.links();
        while !links.is_closing && !links.has_lost_router() {
            let woken = self.changed.wait(links);
            links = woken.unwrap_or_else(PoisonError::into_inner);
        }
        !links.is_closing
    }

    /// Waits for so long whether a lost router comes back; whether it is still lost then, and the session open.
    pub(super) fn stays_lost(&self, patience: Duration) -> bool {
        let links = self.wait_while(patience, Links::has_lost_router);
        links.has_lost_router() && !links.is_closing
    }

    /// Nobody is to wait any more: the session closes.
    pub(super) fn close(&self) {
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

    fn state(path: &Path) -> (bool, u64) {
        let PathState { is_up, losses } = path.state();
        (is_up, losses)
    }

    #[test]
    fn the_last_router_takes_the_path_with_it() {
        let path = Path::default();
        assert_eq!(state(&path), (false, 0));
        assert!(path.opened("r1", Far::Router));
        assert!(!path.opened("r2", Far::Router));
        assert!(!path.opened("p", Far::Other));
        assert!(!path.closed("r1"));
        assert!(path.closed("r2"));
        assert_eq!(state(&path), (false, 1));
        assert!(path.opened("r3", Far::Router));
        assert_eq!(state(&path), (true, 1));
    }

    #[test]
    fn a_loss_shows_to_who_looks_when_it_is_over() {
        let path = Path::default();
        path.opened("r", Far::Router);
        let before = path.state();
        path.closed("r");
        path.opened("r", Far::Router);
        let after = path.state();
        assert!(before.is_up && after.is_up && after.losses > before.losses);
    }

    #[test]
    fn a_session_of_ours_is_no_way_out() {
        let path = Path::default();
        path.ignore("ours");
        assert!(!path.opened("ours", Far::Other) && !path.state().is_up);
        // Known as ours when the link is there already.
        assert!(path.opened("late", Far::Other));
        path.ignore("late");
        assert!(!path.state().is_up);
    }

    #[test]
    fn without_any_router_a_peer_will_do() {
        let path = Path::default();
        assert!(path.opened("p", Far::Other));
        assert!(path.closed("p"));
        assert_eq!(state(&path), (false, 1));
    }

    #[test]
    fn a_router_is_lost_for_so_long_as_it_does_not_come_back() {
        let path = Path::default();
        assert!(!path.stays_lost(Duration::ZERO), "there was none");
        path.opened("r", Far::Router);
        path.closed("r");
        assert!(path.wait_for_loss());
        assert!(path.stays_lost(Duration::ZERO));
        path.opened("r", Far::Router);
        assert!(!path.stays_lost(Duration::MAX));
        path.closed("r");
        path.close();
        assert!(!path.stays_lost(Duration::MAX) && !path.wait_for_loss());
    }
}
