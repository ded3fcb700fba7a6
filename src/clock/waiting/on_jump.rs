//! [`OnJump`]: what a jump means to a call that waits; [`SleepError`]: why a wait ended early.
//!
//! Values: they know neither clocks nor wait queues.

use crate::clock::jump::jump_event::{JumpEvent, JumpKind};
use crate::time::Duration;

/// What a blocking call does when the time jumps (requirement T56).
///
/// Time that goes on by itself ([`Extrapolation`](crate::clock::state::extrapolate::Extrapolation)) and turns to run backwards ends
/// what a step back ends, at the turn. A call that begins later waits until the time comes back or jumps.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum OnJump {
    /// Goes on to wait for the target, which after a backward jump takes longer.
    #[default]
    Continue,
    /// Ends with [`SleepError::TimeJumped`] on a step back of any size.
    ErrorOnBackward,
    /// Ends with [`SleepError::TimeJumped`] on a step back, or forwards by `min_forward` or more even if
    /// that reaches the target. Ticks are steps too, so this says which ones are jumps.
    ErrorOnAny {
        /// The least step forwards that is a jump.
        min_forward: Duration,
    },
}

impl OnJump {
    /// Whether a sleep with this ends at `event`.
    pub(crate) fn minds(self, event: JumpEvent) -> bool {
        match (self, event.kind) {
            (Self::ErrorOnBackward | Self::ErrorOnAny { .. }, JumpKind::Backward) => true,
            (Self::ErrorOnAny { min_forward }, JumpKind::Forward) => event.delta() >= min_forward,
            _ => false,
        }
    }
}

/// Why a wait ended before what was waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SleepError {
    /// The time jumped, and [`OnJump`] asked to hear of it.
    #[error("the time jumped by {} while asleep", .0.delta())]
    TimeJumped(JumpEvent),
    /// The source took over or gave back, so that the target means another instant.
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
    /// A jump handler cannot sleep on the clock whose jump it handles, nor on others of its
    /// [`SimTime`](crate::clock::source::sim_time::SimTime): it would wait for itself.
    #[error("asleep in a jump handler of the same source, which would never end")]
    InHandler,
    /// The system could not start the thread that wakes the tasks which sleep on a clock; only sleeps of the feature
    /// `async` end so. The cause is logged.
    #[error(
        "no thread could be started to wake the tasks that sleep on the clock\nhint: raise the limits on threads and memory"
    )]
    NoThread,
}
