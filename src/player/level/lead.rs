//! [`LeadHandle`]: the clock that playback follows. Any thread sets where it is; the machine reads it before everything
//! that it does.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::bag::Waker;
use crate::time::{Motion, Ros, Segment, Time};

/// Sets the clock that a player with [`Pace::Follow`](crate::player::Pace::Follow) follows.
///
/// The clock is given as a [`Segment`] in log time: held if only its last value is known, or if it stands; rolling
/// if it is known how it moves on, limited by [`Segment::play_until`] to the time that may be assumed. The sign of
/// its speed is its direction. Another generation is a jump, which playback makes as well; values of one generation
/// never cause one.
#[derive(Clone)]
pub struct LeadHandle {
    lead: Arc<Mutex<Option<Lead>>>,
    name: Arc<Mutex<Option<Arc<str>>>>,
    stands: Arc<AtomicBool>,
    wake: Option<Waker>,
}

/// Where the clock is, and where its generation began: the player may read it only after it has moved on.
#[derive(Clone, Copy, Debug)]
struct Lead {
    segment: Segment,
    began: Time<Ros>,
}

impl LeadHandle {
    /// No clock is known; `wake` is called after each change.
    pub(crate) fn new(wake: Option<Waker>) -> Self {
        Self {
            lead: Arc::default(),
            name: Arc::default(),
            stands: Arc::default(),
            wake,
        }
    }

    /// Where the clock is.
    pub fn set(&self, lead: Segment) {
        self.change(|before| {
            let identity = |it: Segment| (it.generation(), it.speed().is_reverse());
            let same = before.filter(|before| identity(before.segment) == identity(lead));
            let (Motion::Held(from) | Motion::Rolling { from, .. }) = lead.motion();
            Some(Lead {
                segment: lead,
                began: same.map_or(from, |before| before.began),
            })
        });
    }

    /// The clock is not known any more: a player that follows it is held until it is.
    pub fn lose(&self) {
        self.change(|_| None);
    }

    /// Where it was set to be; `None` if it is not known.
    pub fn get(&self) -> Option<Segment> {
        self.read().map(|(lead, _)| lead)
    }

    /// Sets what the clock is called in messages to users, such as `/clock of /simulator`.
    pub fn set_name(&self, name: &str) {
        *self.name.lock().unwrap_or_else(PoisonError::into_inner) = Some(name.into());
    }

    /// What the clock is called; `None` if it has no name.
    pub fn name(&self) -> Option<Arc<str>> {
        let name = self.name.lock().unwrap_or_else(PoisonError::into_inner);
        name.clone()
    }

    /// Sets whether the clock is known to stand. It is only told: playback follows the values of the clock.
    pub fn set_stands(&self, stands: bool) {
        self.stands.store(stands, Ordering::Relaxed);
    }

    /// Whether the clock is known to stand.
    pub fn stands(&self) -> bool {
        self.stands.load(Ordering::Relaxed)
    }

    /// Where it was set to be, and where its generation began.
    pub(crate) fn read(&self) -> Option<(Segment, Time<Ros>)> {
        let lead = *self.lead.lock().unwrap_or_else(PoisonError::into_inner);
        lead.map(|lead| (lead.segment, lead.began))
    }

    fn change(&self, change: impl FnOnce(Option<Lead>) -> Option<Lead>) {
        let mut lead = self.lead.lock().unwrap_or_else(PoisonError::into_inner);
        *lead = change(*lead);
        drop(lead);
        if let Some(wake) = &self.wake {
            wake();
        }
    }
}

impl fmt::Debug for LeadHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LeadHandle").field(&self.get()).finish()
    }
}
