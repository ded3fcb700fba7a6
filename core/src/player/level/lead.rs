//! [`LeadHandle`]: the clock that playback follows. Any thread sets where it is; the machine reads it before everything
//! that it does.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
    known: Arc<Mutex<Known>>,
    wake: Option<Waker>,
}

/// What is known of the clock.
#[derive(Debug, Default)]
struct Known {
    lead: Option<Lead>,
    name: Option<Arc<str>>,
}

/// Where the clock is, and where its generation began: the player may read it only after it has moved on.
#[derive(Clone, Copy, Debug)]
struct Lead {
    segment: Segment,
    began: Time<Ros>,
    stands: bool,
}

impl LeadHandle {
    /// No clock is known; `wake` is called after each change.
    pub(crate) fn new(wake: Option<Waker>) -> Self {
        Self {
            known: Arc::default(),
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
                stands: before.is_some_and(|before| before.stands),
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
        self.known().name = Some(name.into());
    }

    /// What the clock is called; `None` if it has no name.
    pub fn name(&self) -> Option<Arc<str>> {
        self.known().name.clone()
    }

    /// Sets whether the clock is known to stand. It is only told: playback follows the values of the clock. Of a clock
    /// that is not known, it is ignored.
    pub fn set_stands(&self, stands: bool) {
        if let Some(lead) = &mut self.known().lead {
            lead.stands = stands;
        }
    }

    /// Whether the clock is known to stand.
    pub fn stands(&self) -> bool {
        self.known().lead.is_some_and(|lead| lead.stands)
    }

    /// Where it was set to be, and where its generation began.
    pub(crate) fn read(&self) -> Option<(Segment, Time<Ros>)> {
        self.known().lead.map(|lead| (lead.segment, lead.began))
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(Option<Lead>) -> Option<Lead>) {
        let mut known = self.known();
        known.lead = change(known.lead);
        drop(known);
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
