//! [`Reach`]: how far the read-ahead has come, for display.
//!
//! Each cue has a front of its own, so nothing of an older cue is shown. Only the receiver knows which cue is played;
//! it calls [`Cue::lead`](super::cue::Cue::lead). Cues for reads elsewhere do not lead, nor does the cue of the next
//! lap, which is read while the current lap is played.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::time::{Ros, Time};

/// How far the leading cue has read. Cheap to clone; readable from any thread at any time.
#[derive(Clone, Debug, Default)]
pub struct Reach {
    leader: Arc<Mutex<Option<Arc<Front>>>>,
}

impl Reach {
    /// The time of the last message that the leading cue has queued. When the cue has been read to its end: the end of
    /// its range in the direction of play. `None` if it has queued nothing yet, or if no cue leads.
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
        // Nothing panics while the lock is held.
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
