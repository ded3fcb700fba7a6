//! Time between two ticks, for those who ask for it: [`ClockState`] in, a reading that goes on out.
//!
//! By default time stands still between ticks, as a pause breaks every estimate (requirement T32). A
//! source that declares its factor may opt in with an [`Extrapolation`] (T33–T35).

use super::reading::{Line, Reading};
use crate::clock::wall_clock::Wall;
use crate::time::{Duration, Ros, Speed, Steady, System, Time};

/// What a clock server says of its time (requirement T34): a tick, and how it goes on from there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ClockState {
    /// The time when this was sent.
    pub time: Time<Ros>,
    /// The real-time factor, negative when playing backwards; `None` (factor 0) while paused.
    pub speed: Option<Speed>,
    /// Counts the jumps: another number than before means that the time is not a continuation.
    pub generation: u64,
    /// When this was sent by the sender's system clock, if it has one.
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

/// How a ROS clock's time goes, as far as that is known.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ClockPace {
    /// As the machine's clock: no source drives it.
    Machine,
    /// The source has not said anything yet.
    NotStarted,
    /// The source says times and no factor, as plain `/clock` does: it may be paused, too.
    Unknown,
    /// The source says that it is paused.
    Paused,
    /// At this factor of the machine's time, says the source.
    At(Speed),
}

/// A late tick: one that lies behind what was extrapolated.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum LateTick {
    /// Is waited for: the time stands until the tick's line has caught up, within one generation. What lies farther
    /// behind than time can have run ahead in [`Extrapolation::max_age`] is a jump all the same.
    #[default]
    Wait,
    /// Is a backward jump, and reported as one.
    Jump,
}

/// How to go on between ticks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Extrapolation {
    /// How long a tick is gone on from, by this machine's steady clock; then the time stands. A tick that
    /// was older than this when it came, by its stamp and this machine's system clock, is not gone on
    /// from at all (T35): it may have been stored on its way. So less than what the machines' system clocks
    /// differ by, or than lies between two states, lets time stand.
    pub max_age: Duration,
    /// What a late tick is.
    pub late: LateTick,
}

impl Extrapolation {
    /// For `max_age` at most; late ticks are waited for.
    pub const fn for_at_most(max_age: Duration) -> Self {
        Self {
            max_age,
            late: LateTick::Wait,
        }
    }
}

/// A state and when it came. What follows from it is the same whenever it is made use of: it may wait for its turn,
/// and a clock that joins later is told of it, too.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heard {
    pub(crate) state: ClockState,
    pub(crate) how: Extrapolation,
    since: Time<Steady>,
    /// Whether it is too old to go on from: it was so when it came, or nobody has listened since.
    is_stale: bool,
}

impl Heard {
    pub(crate) fn now(state: ClockState, how: Extrapolation, wall: &Wall) -> Self {
        Self::at(state, how, wall.steady(), wall)
    }

    /// It came at `since`, which is not later than now.
    pub(crate) fn at(
        state: ClockState,
        how: Extrapolation,
        since: Time<Steady>,
        wall: &Wall,
    ) -> Self {
        let now = wall.steady();
        let since = since.min(now);
        let waited = now.saturating_since(since);
        // A stamp from the future says that the clocks differ, not that the tick is old.
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

    /// The same, not gone on from.
    #[must_use]
    pub(crate) const fn as_said(self) -> Self {
        Self {
            is_stale: true,
            ..self
        }
    }

    /// Whether time would go on from it, were it not too old.
    pub(crate) const fn is_too_old(&self) -> bool {
        self.is_stale && self.state.speed.is_some()
    }

    /// The reading that follows from it.
    pub(crate) fn reading(self) -> Reading {
        let from = self.state.time;
        match self.state.speed {
            Some(speed) if !self.is_stale => Reading::Moving(Line {
                from,
                since: self.since,
                speed,
                limit: if speed.is_reverse() {
                    from.saturating_sub(self.reach(speed))
                } else {
                    from.saturating_add(self.reach(speed))
                },
                floor: from,
            }),
            _ => Reading::Held(from),
        }
    }

    /// How far time goes at `speed` until this is too old to go on from.
    pub(crate) fn reach(self, speed: Speed) -> Duration {
        let way = speed.scale(self.how.max_age.as_nanos().max(0).into());
        Duration::from_nanos(i64::try_from(way.unsigned_abs()).unwrap_or(i64::MAX))
    }
}
