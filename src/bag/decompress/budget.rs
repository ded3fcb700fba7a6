//! The byte budget of the read-ahead: how much decompressed data is alive, and who may add to it.
//!
//! A [`Permit`] stands for bytes that are alive and is dropped with them, wherever they end up: open in
//! a cursor, queued, or in the network's hands. A [`Meter`] is one walk's account with the [`Budget`],
//! which all walks of one player share. A walk that is closed but still busy is *leaving*: nobody adds to
//! the budget meanwhile, so however fast walks follow each other, they do not pile up.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// How much decompressed data there is, for tests and for the status line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Usage {
    /// Bytes alive now.
    pub live_bytes: u64,
    /// The most there ever was.
    pub peak_bytes: u64,
    /// How many times a chunk was decompressed.
    pub decompressions: u64,
}

#[derive(Debug)]
struct State {
    usage: Usage,
    /// How many walks are busy although they are closed.
    leaving: usize,
    /// Counts what may let somebody go on, to wake who waits.
    wakes: u64,
}

/// A bound on decompressed bytes, shared by several walks.
#[derive(Debug)]
pub(crate) struct Budget {
    pub(crate) limit: u64,
    state: Mutex<State>,
    freed: Condvar,
}

impl Budget {
    pub(crate) fn new(limit: u64) -> Arc<Self> {
        Arc::new(Self {
            limit,
            state: Mutex::new(State {
                usage: Usage::default(),
                leaving: 0,
                wakes: 0,
            }),
            freed: Condvar::new(),
        })
    }

    pub(crate) fn usage(&self) -> Usage {
        self.lock().usage
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is plain numbers: a panic elsewhere cannot have left it half written.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One walk's account.
#[derive(Debug)]
pub(crate) struct Meter {
    budget: Arc<Budget>,
    account: Mutex<Account>,
}

#[derive(Debug, Default)]
struct Account {
    bytes: u64,
    is_closed: bool,
    is_busy: bool,
}

impl Meter {
    pub(crate) fn new(budget: &Arc<Budget>) -> Arc<Self> {
        Arc::new(Self {
            budget: Arc::clone(budget),
            account: Mutex::default(),
        })
    }

    /// An account with nobody else and no bound.
    pub(crate) fn unbounded() -> Arc<Self> {
        Self::new(&Budget::new(u64::MAX))
    }

    pub(crate) fn usage(&self) -> Usage {
        self.budget.usage()
    }

    /// The bound that it shares with others, in bytes.
    pub(crate) fn limit(&self) -> u64 {
        self.budget.limit
    }

    pub(crate) fn count_decompression(&self) {
        self.budget.lock().usage.decompressions += 1;
    }

    /// Takes note of `bytes` that are alive from now on. Never waits.
    pub(crate) fn permit(self: &Arc<Self>, bytes: u64) -> Permit {
        self.account().bytes += bytes;
        let mut state = self.budget.lock();
        let usage = &mut state.usage;
        usage.live_bytes += bytes;
        usage.peak_bytes = usage.peak_bytes.max(usage.live_bytes);
        drop(state);
        Permit {
            meter: Arc::clone(self),
            bytes,
        }
    }

    /// Waits until `cost` more bytes fit the budget, or until nothing of this walk is alive beyond
    /// `held`, what it holds open itself: then waiting could not help. In either case until the walks
    /// that are closed have ended: what they are decompressing is more than the budget knows of. False
    /// once this one is closed.
    pub(crate) fn wait_for_room(&self, cost: u64, held: u64) -> bool {
        let mut state = self.budget.lock();
        loop {
            let (bytes, is_closed) = {
                let account = self.account();
                (account.bytes, account.is_closed)
            };
            if is_closed {
                return false;
            }
            let is_fitting = state.usage.live_bytes.saturating_add(cost) <= self.budget.limit;
            if state.leaving == 0 && (is_fitting || bytes <= held) {
                return true;
            }
            let seen = state.wakes;
            while state.wakes == seen {
                let waited = self.budget.freed.wait(state);
                state = waited.unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// Whether `cost` more bytes fit the budget now.
    pub(crate) fn has_room(&self, cost: u64) -> bool {
        let state = self.budget.lock();
        state.leaving == 0 && state.usage.live_bytes.saturating_add(cost) <= self.budget.limit
    }

    /// Ends waiting, now and later: nobody wants this walk any more.
    pub(crate) fn close(&self) {
        self.change(|state, account| {
            state.leaving += usize::from(account.is_busy && !account.is_closed);
            account.is_closed = true;
        });
    }

    /// The walk is at work until what is returned is dropped, which has to outlive all that it opens.
    pub(crate) fn begin(self: &Arc<Self>) -> Busy {
        // One that is closed by now will open nothing, so nobody has to wait for it.
        self.change(|_, account| account.is_busy = !account.is_closed);
        Busy(Arc::clone(self))
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.account().is_closed
    }

    fn give_back(&self, bytes: u64) {
        self.change(|state, account| {
            account.bytes -= bytes;
            state.usage.live_bytes -= bytes;
        });
    }

    /// Changes what others may be waiting for.
    fn change(&self, change: impl FnOnce(&mut State, &mut Account)) {
        let mut state = self.budget.lock();
        change(&mut state, &mut self.account());
        state.wakes += 1;
        drop(state);
        self.budget.freed.notify_all();
    }

    fn account(&self) -> MutexGuard<'_, Account> {
        self.account.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A walk at work.
#[derive(Debug)]
pub(crate) struct Busy(Arc<Meter>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.change(|state, account| {
            state.leaving -= usize::from(account.is_busy && account.is_closed);
            account.is_busy = false;
        });
    }
}

/// Bytes that are alive, until it is dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    meter: Arc<Meter>,
    bytes: u64,
}

impl Permit {
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.meter.give_back(self.bytes);
    }
}

/// Decompressed bytes together with their permit: the owner behind a message's payload.
#[derive(Debug)]
pub(crate) struct Owned {
    pub(crate) bytes: Vec<u8>,
    pub(crate) permit: Permit,
}

impl AsRef<[u8]> for Owned {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_with_nothing_alive_never_waits() {
        let budget = Budget::new(10);
        let (a, b) = (Meter::new(&budget), Meter::new(&budget));
        let permit = a.permit(10);
        assert!(b.wait_for_room(100, 0));
        assert!(a.wait_for_room(100, permit.bytes()));
        drop(permit);
        assert!(a.wait_for_room(10, 0));
        assert_eq!(budget.usage().live_bytes, 0);
        assert_eq!(budget.usage().peak_bytes, 10);
    }

    #[test]
    fn nobody_adds_to_the_budget_while_a_closed_walk_is_busy() {
        let budget = Budget::new(10);
        let (old, unborn, new) = (
            Meter::new(&budget),
            Meter::new(&budget),
            Meter::new(&budget),
        );
        let busy = old.begin();
        assert!(new.wait_for_room(1, 0));
        old.close();
        old.close();
        unborn.close();
        let never = unborn.begin();
        assert_eq!(budget.lock().leaving, 1);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| new.wait_for_room(1, 0));
            assert!(!unborn.wait_for_room(1, 0));
            drop(busy);
            assert!(waiting.join().expect("no panic"));
        });
        drop(never);
        assert_eq!(budget.lock().leaving, 0);
    }

    #[test]
    fn who_waits_is_woken_by_a_permit_given_back_or_by_the_end() {
        let budget = Budget::new(10);
        let meter = Meter::new(&budget);
        let permit = meter.permit(10);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| meter.wait_for_room(1, 0));
            drop(permit);
            assert!(waiting.join().expect("no panic"));
            let permit = meter.permit(10);
            let waiting = scope.spawn(|| meter.wait_for_room(1, 0));
            meter.close();
            assert!(!waiting.join().expect("no panic"));
            drop(permit);
        });
    }
}
