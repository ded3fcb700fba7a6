//! Whether there is a way to the network: puts go on returning `Ok` when it is gone.
//!
//! Taken from zenoh's transport events, which come within milliseconds of a link's end.

use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::event::WireEvent;

/// The links of a session, and whether they are a way out.
#[derive(Debug)]
pub(super) struct Path {
    state: Mutex<State>,
    changed: Condvar,
}

/// Which changes are news.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum News {
    /// All: nobody was there when the session opened.
    All,
    /// All but the first link, which is what opening was for.
    AllButFirst,
    /// None: a router is the way itself.
    None,
}

#[derive(Debug)]
struct State {
    routers: BTreeSet<String>,
    others: BTreeSet<String>,
    /// Once a router was there, other links do not replace it: new nodes are found through it.
    needs_router: bool,
    is_up: bool,
    news: News,
}

/// What is at the other end of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Far {
    Router,
    Other,
}

impl Path {
    pub(super) fn new(news: News) -> Self {
        let state = State {
            routers: BTreeSet::new(),
            others: BTreeSet::new(),
            needs_router: false,
            is_up: news == News::None,
            news,
        };
        Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }

    /// A link to session `zid` opened.
    pub(super) fn opened(&self, zid: &str, far: Far) -> Option<WireEvent> {
        self.change(|state| {
            match far {
                Far::Router => state.routers.insert(zid.to_owned()),
                Far::Other => state.others.insert(zid.to_owned()),
            };
            state.needs_router |= far == Far::Router;
        })
    }

    /// A link to session `zid` closed.
    pub(super) fn closed(&self, zid: &str) -> Option<WireEvent> {
        self.change(|state| {
            state.routers.remove(zid);
            state.others.remove(zid);
        })
    }

    /// Whether what is put now has a way out.
    pub(super) fn is_up(&self) -> bool {
        self.state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_up
    }

    /// Waits until there is a way out, at most so long.
    pub(super) fn wait(&self, patience: Duration) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // Both outcomes are fine: who is not there in time is found later.
        drop(
            self.changed
                .wait_timeout_while(state, patience, |state| !state.is_up),
        );
    }

    fn change(&self, change: impl FnOnce(&mut State)) -> Option<WireEvent> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let was_up = state.is_up;
        change(&mut state);
        if state.news == News::None {
            return None;
        }
        state.is_up =
            !state.routers.is_empty() || (!state.needs_router && !state.others.is_empty());
        self.changed.notify_all();
        match (was_up, state.is_up) {
            (false, true) if state.news == News::AllButFirst => {
                state.news = News::All;
                None
            }
            (false, true) => Some(WireEvent::PathBack),
            (true, false) => Some(WireEvent::PathLost),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_router_takes_the_path_with_it() {
        let path = Path::new(News::AllButFirst);
        assert_eq!(path.opened("r1", Far::Router), None);
        assert_eq!(path.opened("r2", Far::Router), None);
        assert_eq!(path.opened("p", Far::Other), None);
        assert_eq!(path.closed("r1"), None);
        assert_eq!(path.closed("r2"), Some(WireEvent::PathLost));
        assert!(!path.is_up());
        assert_eq!(path.opened("r3", Far::Router), Some(WireEvent::PathBack));
        assert!(path.is_up());
    }

    #[test]
    fn without_any_router_a_peer_will_do() {
        let path = Path::new(News::All);
        assert_eq!(path.opened("p", Far::Other), Some(WireEvent::PathBack));
        assert_eq!(path.closed("p"), Some(WireEvent::PathLost));
    }

    #[test]
    fn a_router_is_its_own_way() {
        let path = Path::new(News::None);
        assert!(path.is_up());
        assert_eq!(path.opened("p", Far::Other), None);
        assert_eq!(path.closed("p"), None);
        assert!(path.is_up());
    }
}
