//! [`Reach`]: how far the read-ahead has come, for a screen that draws it.
//!
//! Each cue has a front of its own, so nothing of an older one can show. Which cue is the one that is
//! played only its receiver knows: [`Cue::lead`](super::cue::Cue::lead) says so. Looks elsewhere and the
//! next lap, which is read while the last one is still played, do not lead.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::time::{Ros, Time};

/// How far the cue that leads has read. Cheap to clone; readable from any thread at any time.
#[derive(Clone, Debug, Default)]
pub struct Reach {
    leader: Arc<Mutex<Option<Arc<Front>>>>,
}

impl Reach {
    /// The time of the last message that the cue in play has queued; the edge of its range that it reads
    /// towards once it is read out. `None` if it has queued nothing yet, or if there is no such cue.
    pub fn get(&self) -> Option<Time<Ros>> {
        self.lock().as_ref().and_then(|front| front.get())
    }

    pub(crate) fn follow(&self, front: &Arc<Front>) {
        *self.lock() = Some(Arc::clone(front));
    }

    pub(crate) fn leave(&self, front: &Arc<Front>) {
        self.lock().take_if(|leader| Arc::ptr_eq(leader, front));
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Front>>> {
        // Nothing panics while it is held.
        self.leader.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How far one cue has read, in nanoseconds.
#[derive(Debug)]
pub(crate) struct Front(AtomicI64);

impl Front {
    const NOWHERE: i64 = i64::MIN;

    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(AtomicI64::new(Self::NOWHERE)))
    }

    pub(crate) fn set(&self, time: Time<Ros>) {
        let nanos = time.as_nanos().max(Self::NOWHERE + 1);
        self.0.store(nanos, Ordering::Relaxed);
    }

    fn get(&self) -> Option<Time<Ros>> {
        let nanos = self.0.load(Ordering::Relaxed);
        (nanos != Self::NOWHERE).then(|| Time::from_nanos(nanos))
    }
}
