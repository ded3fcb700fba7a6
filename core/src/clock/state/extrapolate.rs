//! Extrapolation: the time between two ticks, for programs that ask for it. A [`ClockState`] becomes an
//! [`ExtrapolatedTime`].
//!
//! By default the time stands still between ticks, because a pause would make every estimate wrong. A program can
//! choose an [`Extrapolation`] for a source that declares its factor.

use super::clock_motion::{ClockMotion, ExtrapolatedTime};
use crate::clock::wall_clock::Wall;
use crate::time::{Duration, Ros, Speed, Steady, System, Time};

/// A state of a clock server's time: a tick, and how the time goes on from there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ClockState {
    /// The time when the state was sent.
    pub time: Time<Ros>,
    /// The real-time factor, negative when playing backwards; `None` (factor 0) while paused.
    pub speed: Option<Speed>,
    /// Counts the jumps: a number other than before means that the time is not continuous.
    pub generation: u64,
    /// When the state was sent by the sender's system clock, if it has one.
    pub sent: Option<Time<System>>,
}

impl ClockState {
    /// A tick of generation 0 without a stamp.
    pub const fn new(time: Time<Ros>, speed: Option<Speed>) -> Self {
        Self {
            time,
            speed,
            generation: 0,
            sent: None,
        }
    }
}

/// How a ROS clock's time moves, as far as that is known.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ClockPace {
    /// As the machine's clock: no source drives the clock.
    Machine,
    /// The source has not fed a time yet.
    NotStarted,
    /// The source feeds times without a factor, as plain `/clock` does; it may also be paused.
    Unknown,
    /// The source reports that it is paused.
    Paused,
    /// At this factor of the machine's time, as the source reports.
    At(Speed),
}

/// What to do with a late tick: one that is behind the extrapolated time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum LateTick {
    /// Wait for it: the time stands still until the time extrapolated from this tick has caught up, within one
    /// generation. A tick that is farther behind than time can have run ahead in [`Extrapolation::max_age`] is still a
    /// backward jump.
    #[default]
    Wait,
    /// Treat it as a backward jump.
    Jump,
}

/// How to extrapolate between ticks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Extrapolation {
    /// How long time goes on from a tick, by this machine's steady clock; then it stands still. A tick that was older
    /// than this when it arrived, by its stamp and this machine's system clock, is not extrapolated at all: it may have
    /// been stored on its way. So the time stands still if `max_age` is less than the difference between the machines'
    /// system clocks, or less than the interval between two states.
    pub max_age: Duration,
    /// What to do with a late tick.
    pub late: LateTick,
}

impl Extrapolation {
    /// Extrapolates for `max_age` at most, and waits for late ticks.
    pub const fn for_at_most(max_age: Duration) -> Self {
        Self {
            max_age,
            late: LateTick::Wait,
        }
    }
}

/// A state and when it arrived. The motion that follows from it does not depend on when it is applied: it may be
/// queued, or be applied later to a clock that is attached.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceivedState {
    pub(crate) state: ClockState,
    pub(crate) how: Extrapolation,
    since: Time<Steady>,
    /// Whether it is too old to extrapolate: it was too old when it arrived, or the clocks have been deactivated since.
    is_stale: bool,
}

impl ReceivedState {
    pub(crate) fn now(state: ClockState, how: Extrapolation, wall: &Wall) -> Self {
        Self::at(state, how, wall.steady(), wall)
    }

    /// It arrived at `since`; a later instant than now counts as now.
    pub(crate) fn at(
        state: ClockState,
        how: Extrapolation,
        since: Time<Steady>,
        wall: &Wall,
    ) -> Self {
        let now = wall.steady();
        let since = since.min(now);
        let waited = now.saturating_since(since);
        // A stamp from the future means that the clocks differ, not that the tick is old.
        let is_stale = match (state.sent, wall.system()) {
            (Some(sent), Some(now)) => {
                now.saturating_since(sent).saturating_sub(waited) > how.max_age
            }
            _ => false,
        };
        Self {
            state,
            how,
            since,
            is_stale,
        }
    }

    /// The same, but not extrapolated.
    #[must_use]
    pub(crate) const fn without_extrapolation(self) -> Self {
        Self {
            is_stale: true,
            ..self
        }
    }

    /// Whether it would be extrapolated if it were not too old.
    pub(crate) const fn is_too_old(&self) -> bool {
        self.is_stale && self.state.speed.is_some()
    }

    /// The motion that follows from it.
    pub(crate) fn motion(self) -> ClockMotion {
        let from = self.state.time;
        match self.state.speed {
            Some(speed) if !self.is_stale => ClockMotion::Extrapolated(ExtrapolatedTime {
                from,
                since: self.since,
                speed,
                limit: if speed.is_reverse() {
                    from.saturating_sub(self.max_distance(speed))
                } else {
                    from.saturating_add(self.max_distance(speed))
                },
                floor: from,
            }),
            _ => ClockMotion::Held(from),
        }
    }

    /// How far time goes at `speed` until this state is too old to extrapolate.
    pub(crate) fn max_distance(self, speed: Speed) -> Duration {
        let distance = speed.scale(self.how.max_age.as_nanos().max(0).into());
        Duration::from_nanos(i64::try_from(distance.unsigned_abs()).unwrap_or(i64::MAX))
    }
}
