//! [`OnJump`]: what a jump means to a call that waits; [`SleepError`]: why a wait ended early.
//!
//! These are values: they know neither clocks nor wait queues.

use crate::clock::jump::jump_event::{JumpEvent, JumpKind};
use crate::time::Duration;

/// What a blocking call does when the time jumps.
///
/// If time that is extrapolated ([`Extrapolation`](crate::clock::state::extrapolate::Extrapolation)) begins to run
/// backwards, that ends the same calls as a step back does, at that moment. A call that begins later waits until the
/// time runs forwards to its target, or jumps.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum OnJump {
    /// Keeps waiting for the target, which takes longer after a backward jump.
    #[default]
    Continue,
    /// Ends with [`SleepError::TimeJumped`] on a step back of any size.
    ErrorOnBackward,
    /// Ends with [`SleepError::TimeJumped`] on a step back, or on a step forwards by `min_forward` or more, even if
    /// that step reaches the target. Ticks are steps too, so `min_forward` says which of them count as jumps.
    ErrorOnAny {
        /// The least step forwards that counts as a jump.
        min_forward: Duration,
    },
}

impl OnJump {
    /// Whether `event` ends a sleep with this option.
    pub(crate) fn is_ended_by(self, event: JumpEvent) -> bool {
        match (self, event.kind) {
            (Self::ErrorOnBackward | Self::ErrorOnAny { .. }, JumpKind::Backward) => true,
            (Self::ErrorOnAny { min_forward }, JumpKind::Forward) => event.delta() >= min_forward,
            _ => false,
        }
    }
}

/// Why a wait ended early.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SleepError {
    /// The time jumped, and [`OnJump`] ends the wait for that.
    #[error("the time jumped by {} while asleep", .0.delta())]
    TimeJumped(JumpEvent),
    /// A source took over from the system clock or gave back to it, so that the target means another instant.
    #[error("the time source changed while asleep")]
    SourceChanged,
    /// The [`Cancel`](super::cancel::Cancel) was cancelled, before or during the sleep.
    #[error("the sleep was cancelled")]
    Cancelled,
    /// It took longer than [`SleepOptions::within`](super::sleep_options::SleepOptions::within) allows.
    #[error("the wait took longer than its time limit")]
    TimedOut,
    /// The clock's writer shut it down.
    #[error("the clock was shut down")]
    Shutdown,
    /// Called in a jump handler, for the clock whose jump it handles or another clock of the same
    /// [`SimTime`](crate::clock::source::sim_time::SimTime): the thread would wait for itself.
    #[error("asleep in a jump handler of the same source, which would never end")]
    InHandler,
    /// The thread that wakes the tasks which sleep on a clock could not be started. Only async sleeps (feature `async`)
    /// end with this. The cause is logged.
    #[error(
        "no thread could be started to wake the tasks that sleep on the clock\nhint: raise the limits on threads and memory"
    )]
    NoThread,
}
