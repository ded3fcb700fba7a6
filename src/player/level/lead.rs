//! [`LeadHandle`]: the clock that playback follows. Any thread sets where it is; the machine reads it before everything
//! that it does.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crate::bag::Waker;
use crate::time::Segment;

/// Sets the clock that a player with [`Pace::Follow`](crate::player::Pace::Follow) follows.
///
/// The clock is given as a [`Segment`] in log time: held if only its last value is known, or if it stands; rolling
/// if it is known how it moves on, limited by [`Segment::play_until`] to the time that may be assumed. The sign of
/// its speed is its direction. Another generation is a jump, which playback makes as well; values of one generation
/// never cause one.
#[derive(Clone)]
pub struct LeadHandle {
    lead: Arc<Mutex<Option<Segment>>>,
    wake: Option<Waker>,
}

impl LeadHandle {
    /// No clock is known; `wake` is called after each change.
    pub(crate) fn new(wake: Option<Waker>) -> Self {
        Self {
            lead: Arc::default(),
            wake,
        }
    }

    /// Where the clock is.
    pub fn set(&self, lead: Segment) {
        self.put(Some(lead));
    }

    /// The clock is not known any more: a player that follows it is held until it is.
    pub fn lose(&self) {
        self.put(None);
    }

    pub(crate) fn get(&self) -> Option<Segment> {
        *self.lead.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, lead: Option<Segment>) {
        *self.lead.lock().unwrap_or_else(PoisonError::into_inner) = lead;
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
