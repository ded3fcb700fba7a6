//! [`Schedule`]: when a timer is due next; plain arithmetic on instants that are arguments.
//!
//! After overruns and forward jumps the grid is that of rcl: one call, then on along the old grid, and the next
//! deadline is always in the future. After a change of the source the remaining wait is as long as before.

use crate::clock::jump::jump_event::{JumpEvent, JumpKind};
use crate::time::{Duration, Kind, Ros, Time};

/// What happens to ticks that were not served in time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum MissedTicks {
    /// One call for all of them; the next tick is the next one of the grid. So a forward jump causes one call (rcl's
    /// rule).
    #[default]
    Skip,
    /// One call for all of them, and the next tick a full period after that call.
    Delay,
    /// A call for each of them, as fast as they can be served.
    Burst,
}

/// Whether a timer goes on after its first tick.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Repeat {
    /// Every period.
    #[default]
    Every,
    /// Once, then it is canceled; [`Timer::reset`](super::timer::Timer::reset) starts it again.
    Once,
}

/// One tick of a timer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Tick<K: Kind> {
    /// When it was due.
    pub expected: Time<K>,
    /// When it was served; before `expected` only if [`Timer::call`](super::timer::Timer::call) took it early.
    pub actual: Time<K>,
    /// How many further ticks were due and are covered by this one; 0 with [`MissedTicks::Burst`], where each tick is
    /// served by itself.
    pub missed: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Schedule {
    pub(crate) period: Duration,
    /// The last call, reset or start.
    pub(crate) last: Time<Ros>,
    /// When it is due; without meaning while canceled.
    pub(crate) next: Time<Ros>,
    pub(crate) missed: MissedTicks,
    pub(crate) repeat: Repeat,
    pub(crate) is_canceled: bool,
}

impl Schedule {
    /// A time before this one means that the clock was set back.
    pub(crate) fn newest_call(self) -> Time<Ros> {
        if self.is_canceled {
            Time::MIN
        } else {
            self.last
        }
    }

    /// Due a full period after `now`.
    #[must_use]
    pub(crate) const fn restarted(self, now: Time<Ros>) -> Self {
        Self {
            last: now,
            next: now.saturating_add(self.period),
            is_canceled: false,
            ..self
        }
    }

    /// Served at `now`, which may be before it is due.
    pub(crate) fn called(self, now: Time<Ros>) -> (Tick<Ros>, Self) {
        let expected = self.next;
        let period = i128::from(self.period.as_nanos());
        let late = i128::from(now.as_nanos()) - i128::from(expected.as_nanos());
        let further = if late < 0 || period == 0 {
            0
        } else {
            late / period
        };
        let (missed, next) = match self.missed {
            MissedTicks::Skip if period == 0 => (0, now),
            MissedTicks::Skip => (further, plus(expected, (further + 1) * period)),
            MissedTicks::Delay => (further, plus(now, period)),
            MissedTicks::Burst => (0, plus(expected, period)),
        };
        let tick = Tick {
            expected,
            actual: now,
            missed: u64::try_from(missed).unwrap_or(u64::MAX),
        };
        let after = Self {
            last: now,
            next,
            is_canceled: self.repeat == Repeat::Once,
            ..self
        };
        (tick, after)
    }

    /// Whether it is still due after a tick was served.
    pub(crate) fn is_always_due(self) -> bool {
        self.period == Duration::ZERO && self.repeat == Repeat::Every
    }

    /// After a jump. A backward jump to before the last call restarts the timer. A change of the source shifts all
    /// instants, so that a timer with four seconds left still has four seconds left.
    #[must_use]
    pub(crate) fn rebased(self, event: JumpEvent) -> Self {
        match event.kind {
            JumpKind::Forward => self,
            JumpKind::Backward => self.not_before_last(event.after),
            JumpKind::Started | JumpKind::Activated | JumpKind::Deactivated => Self {
                last: event
                    .after
                    .saturating_sub(event.before.saturating_since(self.last)),
                next: event
                    .after
                    .saturating_add(self.next.saturating_since(event.before)),
                ..self
            },
        }
    }

    /// A time before the last call means that the clock was set back: the timer restarts, so it waits no longer than a
    /// period.
    #[must_use]
    pub(crate) fn not_before_last(self, now: Time<Ros>) -> Self {
        if now < self.last && !self.is_canceled {
            self.restarted(now)
        } else {
            self
        }
    }
}

fn plus(at: Time<Ros>, nanos: i128) -> Time<Ros> {
    let sum = i128::from(at.as_nanos()) + nanos;
    Time::from_nanos(i64::try_from(sum).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: i64) -> Time<Ros> {
        Time::from_nanos(nanos)
    }

    fn schedule(period: i64, missed: MissedTicks) -> Schedule {
        Schedule {
            period: Duration::from_nanos(period),
            last: at(0),
            next: at(0),
            missed,
            repeat: Repeat::Every,
            is_canceled: false,
        }
        .restarted(at(0))
    }

    /// The same rows for each policy.
    #[test]
    fn the_next_deadline_after_a_call() {
        use MissedTicks::{Burst, Delay, Skip};
        for (period, policy, called, next, missed) in [
            (100, Skip, 100, 200, 0),
            (100, Skip, 150, 200, 0),
            (100, Skip, 199, 200, 0),
            (100, Skip, 200, 300, 1),
            (100, Skip, 250, 300, 1),
            (100, Skip, 1_000, 1_100, 9),
            (100, Skip, 40, 200, 0),
            (0, Skip, 7, 7, 0),
            (100, Delay, 150, 250, 0),
            (100, Delay, 1_000, 1_100, 9),
            (100, Delay, 1_030, 1_130, 9),
            (100, Burst, 1_000, 200, 0),
            (i64::MAX, Skip, i64::MAX, i64::MAX, 0),
        ] {
            let (tick, after) = schedule(period, policy).called(at(called));
            let row = format!("period {period}, {policy:?}, called at {called}");
            assert_eq!((after.next, tick.missed), (at(next), missed), "{row}");
            assert_eq!(
                (tick.expected, tick.actual),
                (at(period), at(called)),
                "{row}"
            );
        }
    }

    #[test]
    fn a_jump_moves_the_deadline_only_where_it_must() {
        use JumpKind::{Activated, Backward, Deactivated, Forward, Started};
        let called = schedule(100, MissedTicks::Skip).called(at(100)).1; // last 100, next 200
        for (kind, before, after, last, next) in [
            (Forward, 150, 990, 100, 200),
            (Backward, 150, 120, 100, 200),
            (Backward, 150, 100, 100, 200),
            (Backward, 150, 99, 99, 199),
            (Activated, 120, 5, -15, 85),
            (Deactivated, 120, 1_000, 980, 1_080),
            (Started, 0, 1_000, 1_100, 1_200),
        ] {
            let (before, after) = (at(before), at(after));
            let rebased = called.rebased(JumpEvent {
                kind,
                before,
                after,
            });
            assert_eq!(
                (rebased.last, rebased.next),
                (at(last), at(next)),
                "{kind:?} to {after}"
            );
        }
    }
}
