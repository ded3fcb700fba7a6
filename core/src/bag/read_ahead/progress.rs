//! [`Reach`]: how far the read-ahead has come, for display.
//!
//! Each cue has its own [`CueProgress`], so nothing of an older cue is shown. Only the receiver knows which cue is
//! played; it calls [`Cue::lead`](super::cue::Cue::lead). Cues for reads elsewhere do not lead, nor does the cue of the
//! next lap, which is read while the current lap is played.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::time::{Ros, Time};

/// How far the leading cue has read. Cheap to clone; readable from any thread at any time.
#[derive(Clone, Debug, Default)]
pub struct Reach {
    leader: Arc<Mutex<Option<Arc<CueProgress>>>>,
}

impl Reach {
    /// The time of the last message that the leading cue has queued or is queuing. When the cue has been read to its
    /// end: the end of its range in the direction of play. `None` if it has queued nothing yet, or if no cue leads.
    pub fn get(&self) -> Option<Time<Ros>> {
        self.lock().as_ref().and_then(|progress| progress.get())
    }

    /// The look-up of latched messages for which the leading cue is waiting; `None` if it is not.
    pub fn looking_up(&self) -> Option<LookUp> {
        self.lock()
            .as_ref()
            .and_then(|progress| progress.looking_up())
    }

    /// Sets how far another process has read ahead, as that process reports it.
    pub fn tell(&self, read_to: Option<Time<Ros>>, looking_up: Option<LookUp>) {
        let progress = CueProgress::new();
        if let Some(time) = read_to {
            progress.set(time);
        }
        progress.look_up(looking_up);
        self.follow(&progress);
    }

    pub(crate) fn follow(&self, progress: &Arc<CueProgress>) {
        *self.lock() = Some(Arc::clone(progress));
    }

    pub(crate) fn leave(&self, progress: &Arc<CueProgress>) {
        self.lock().take_if(|leader| Arc::ptr_eq(leader, progress));
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<CueProgress>>> {
        // Nothing panics while the lock is held.
        self.leader.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A look-up of latched messages that has to search chunks. They are decompressed for it once per bag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LookUp {
    /// How many chunks have been searched.
    pub done: usize,
    /// How many chunks have to be searched.
    pub of: usize,
}

/// How far one cue has read.
#[derive(Debug)]
pub(crate) struct CueProgress {
    /// In nanoseconds.
    time: AtomicI64,
    look_up: Mutex<Option<LookUp>>,
}

impl CueProgress {
    const NOWHERE: i64 = i64::MIN;

    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            time: AtomicI64::new(Self::NOWHERE),
            look_up: Mutex::new(None),
        })
    }

    pub(crate) fn set(&self, time: Time<Ros>) {
        let nanos = time.as_nanos().max(Self::NOWHERE + 1);
        self.time.store(nanos, Ordering::Relaxed);
    }

    pub(crate) fn look_up(&self, look_up: Option<LookUp>) {
        *self.lock_look_up() = look_up;
    }

    fn looking_up(&self) -> Option<LookUp> {
        *self.lock_look_up()
    }

    fn lock_look_up(&self) -> MutexGuard<'_, Option<LookUp>> {
        self.look_up.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self) -> Option<Time<Ros>> {
        let nanos = self.time.load(Ordering::Relaxed);
        (nanos != Self::NOWHERE).then(|| Time::from_nanos(nanos))
    }
}
