//! Jumps as values: what happened to a clock's time ([`JumpEvent`], [`Reversal`]) and what a handler is told
//! ([`Phase`], [`Notice`]).
//!
//! `state/change.rs` makes them; handlers, sleepers and timers react to them.

use crate::time::{Duration, Ros, Speed, Time};

/// What kind of jump it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum JumpKind {
    /// The first value of an active source: until then the time was zero, which means none (T20, T21).
    Started,
    /// The source stepped forwards. Ticks are steps too; a filter says which ones count.
    Forward,
    /// The source stepped back. A sleep also ends with it, before and after being the same, where time that goes
    /// on by itself turns to run backwards.
    Backward,
    /// A source took over from the system clock.
    Activated,
    /// The system clock took over from the source.
    Deactivated,
}

/// One jump of a ROS clock (requirement T51).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct JumpEvent {
    /// What happened.
    pub kind: JumpKind,
    /// The time before it; zero if there was none.
    pub before: Time<Ros>,
    /// The time after it; zero if a source became active that has not said anything yet.
    pub after: Time<Ros>,
}

impl JumpEvent {
    /// From before to after, held at ±292 years; also where the clock changed and the number means little.
    pub const fn delta(self) -> Duration {
        self.after.saturating_since(self.before)
    }

    /// Whether another clock took over, so that times before and after do not compare. The first value is
    /// that, too, where the machine's clock was shown until then ([`Fallback`](crate::clock::state::change::Fallback)).
    pub const fn is_clock_change(self) -> bool {
        let left_the_fallback =
            matches!(self.kind, JumpKind::Started) && self.before.as_nanos() != 0;
        left_the_fallback || matches!(self.kind, JumpKind::Activated | JumpKind::Deactivated)
    }

    /// Whether it is from one value of the source to another.
    pub(crate) const fn is_step(self) -> bool {
        matches!(self.kind, JumpKind::Forward | JumpKind::Backward)
    }

    /// What a step of the source between two of its values is; nothing if they are the same.
    pub(crate) fn step(before: Time<Ros>, after: Time<Ros>) -> Option<Self> {
        let kind = match after.cmp(&before) {
            std::cmp::Ordering::Less => JumpKind::Backward,
            std::cmp::Ordering::Equal => return None,
            std::cmp::Ordering::Greater => JumpKind::Forward,
        };
        Some(Self {
            kind,
            before,
            after,
        })
    }
}

/// A source that turns round: its factor changes sign (requirement T53).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Reversal {
    /// The time at which it turns.
    pub at: Time<Ros>,
    /// The factor from here on.
    pub speed: Speed,
}

/// What handlers are told.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Notice {
    Jump(JumpEvent),
    Reversal(Reversal),
    Tick(Time<Ros>),
}

/// Before or after the jump takes effect.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Phase {
    /// The clock still shows the time before.
    Before,
    /// The clock shows the time after, to this thread.
    After,
}
