//! What is called in each second of the recording, and which second it is.

use std::sync::atomic::{AtomicU64, Ordering};

/// The value of the second after the end.
pub(crate) const OVER: u64 = u64::MAX;

/// What is called in a second of the recording.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Nothing,
    Other,
    Player,
}

impl Kind {
    pub(crate) fn of(second: u64) -> Self {
        match second % 3 {
            0 => Self::Nothing,
            1 => Self::Other,
            _ => Self::Player,
        }
    }
}

/// The second of the recording that is played.
#[derive(Default)]
pub(crate) struct Second(pub(crate) AtomicU64);

impl Second {
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
