//! Jumps as values: what happened to a clock's time ([`JumpEvent`], [`Reversal`]), and what a handler is given
//! ([`Phase`], [`Notice`]).
//!
//! `state/change.rs` makes them; handlers, sleeps and timers react to them.

use crate::time::{Duration, Ros, Speed, Time};

/// The kind of a jump.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum JumpKind {
    /// The first time of an active source: until then the time was zero, which means that there is none.
    Started,
    /// The source stepped forwards. Ticks are steps too; a filter says which ones it matches.
    Forward,
    /// The source stepped back. A sleep can also end with an event of this kind whose times before and after are the
    /// same: when extrapolated time begins to run backwards.
    Backward,
    /// A source took over from the system clock.
    Activated,
    /// The system clock took over from the source.
    Deactivated,
}

/// One jump of a ROS clock.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct JumpEvent {
    /// What happened.
    pub kind: JumpKind,
    /// The time before it; zero if the clock had none.
    pub before: Time<Ros>,
    /// The time after it; zero if a source became active that has not fed a time yet.
    pub after: Time<Ros>,
}

impl JumpEvent {
    /// The difference, limited to ±292 years. If another clock took over, the number means little.
    pub const fn delta(self) -> Duration {
        self.after.saturating_since(self.before)
    }

    /// Whether another clock took over, so that the times before and after cannot be compared. The first time of a
    /// source is such a change, too, if a machine's clock was shown until then
    /// ([`Fallback`](crate::clock::state::change::Fallback)).
    pub const fn is_clock_change(self) -> bool {
        let left_the_fallback =
            matches!(self.kind, JumpKind::Started) && self.before.as_nanos() != 0;
        left_the_fallback || matches!(self.kind, JumpKind::Activated | JumpKind::Deactivated)
    }

    /// Whether `now()` in other threads waits for the handlers of this jump: of backward jumps and of changes of the
    /// clock.
    pub(crate) const fn is_awaited_by_readers(self) -> bool {
        matches!(self.kind, JumpKind::Backward) || self.is_clock_change()
    }

    /// Whether it is a step from one time of the source to another.
    pub(crate) const fn is_step(self) -> bool {
        matches!(self.kind, JumpKind::Forward | JumpKind::Backward)
    }

    /// The step of a source between two of its times; `None` if they are the same.
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

/// The source changes its direction: the factor changes its sign.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Reversal {
    /// The time at which the direction changes.
    pub at: Time<Ros>,
    /// The factor from then on.
    pub speed: Speed,
}

/// What handlers are called for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Notice {
    Jump(JumpEvent),
    Reversal(Reversal),
    Tick(Time<Ros>),
}

/// Whether the handler is called before or after the jump takes effect.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Phase {
    /// The clock still shows the time before.
    Before,
    /// The clock shows the time after, to the thread that runs the handlers.
    After,
}
