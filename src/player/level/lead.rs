//! [`LeadHandle`]: the clock that playback follows. Any thread sets where it is; the machine reads it before everything
//! that it does.

use std::sync::{Arc, Mutex, PoisonError};

use super::gates::{Gate, GateHandle};
use crate::bag::Waker;
use crate::time::Segment;

/// Sets the clock that a player with [`Pace::Follow`](crate::player::Pace::Follow) follows.
///
/// The clock is given as a [`Segment`] in log time: held if only its last value is known, or if it stands; rolling
/// if it is known how it moves on, limited by [`Segment::play_until`] to the time that may be assumed. The sign of
/// its speed is its direction. Another generation is a jump, which playback makes as well; values of one generation
/// never cause one.
#[derive(Clone, Debug)]
pub struct LeadHandle {
    lead: Arc<Mutex<Option<Segment>>>,
    /// Its gate [`Gate::Lead`] is closed while no clock is known. They also wake the player.
    gates: GateHandle,
    wake: Wake,
}

#[derive(Clone)]
struct Wake(Option<Waker>);

impl std::fmt::Debug for Wake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Wake")
    }
}

impl LeadHandle {
    /// No clock is known; `wake` is called after each change.
    pub(crate) fn new(gates: GateHandle, wake: Option<Waker>) -> Self {
        Self {
            lead: Arc::default(),
            gates,
            wake: Wake(wake),
        }
    }

    /// The clock is known to be there. Opens [`Gate::Lead`].
    pub fn set(&self, lead: Segment) {
        self.put(Some(lead));
        self.gates.open(Gate::Lead);
        if let Some(wake) = &self.wake.0 {
            wake();
        }
    }

    /// The clock is not known any more: playback is held until it is. Closes [`Gate::Lead`].
    pub fn lose(&self) {
        self.gates.close(Gate::Lead);
        self.put(None);
    }

    pub(crate) fn get(&self) -> Option<Segment> {
        *self.lead.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, lead: Option<Segment>) {
        *self.lead.lock().unwrap_or_else(PoisonError::into_inner) = lead;
    }
}
