//! [`ClockMotion`]: how a clock's time depends on the machine's clocks; `now()` evaluates it.
//!
//! Inside the module `clock`, instants of every kind are stored as ROS time; [`Clock`](crate::clock::handle::Clock)
//! converts them to its kind. A motion fits into the words of a [`SeqLock`](super::seqlock::SeqLock).

use super::seqlock::Words;
use crate::clock::sync::{Ordering, fence};
use crate::clock::wall_clock::{Wall, WallClock};
use crate::time::{AtEnd, Duration, Ros, Segment, Speed, Steady, Time, TimeRange};

/// The system's date may be set while a thread waits until a date; the wait is then too long by this at most. The
/// standard library has no wait that follows the date.
const LONGEST_WAIT_FOR_A_DATE: Duration = Duration::from_secs(1);

/// How a clock's time depends on the machine's clocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ClockMotion {
    /// As one of the machine's clocks.
    Wall(WallClock),
    /// Zero: a source is active and has not fed a time.
    Unset,
    /// Stands still at the last time of the source.
    Held(Time<Ros>),
    /// Extrapolated from the last state of the source.
    Extrapolated(ExtrapolatedTime),
}

/// Time that moves: it was `from` at the instant `since` of the steady clock, and moves at `speed` from then on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ExtrapolatedTime {
    pub(crate) from: Time<Ros>,
    pub(crate) since: Time<Steady>,
    pub(crate) speed: Speed,
    /// Where it stops if no other state arrives.
    pub(crate) limit: Time<Ros>,
    /// The time that was shown before: a time behind it is never shown.
    pub(crate) floor: Time<Ros>,
}

/// What readers can see of a clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shown {
    pub(crate) motion: ClockMotion,
    /// Whether a source drives the clock.
    pub(crate) is_active: bool,
    /// Whether handlers run that `now()` has to wait for.
    pub(crate) blocks_readers: bool,
}

impl ClockMotion {
    /// The time that the clock shows now.
    #[inline]
    pub(crate) fn at(self, wall: &Wall) -> Time<Ros> {
        match self {
            Self::Wall(wall_clock) => wall.read(wall_clock),
            Self::Unset => Time::ZERO,
            Self::Held(at) => at,
            Self::Extrapolated(time) => {
                let now = wall.steady();
                // The seqlock's check must come after the clock is read: otherwise the result could be later than the
                // floor of an extrapolation that is being written.
                fence(Ordering::SeqCst);
                time.at(now)
            }
        }
    }

    /// When to check whether `target`, which is in the future, has come, as an instant of the steady clock; `None` if
    /// the clock gets there only after a change of the motion.
    pub(crate) fn wall_at(self, target: Time<Ros>, wall: &Wall) -> Option<Time<Steady>> {
        match self {
            Self::Wall(WallClock::Steady) => Some(Time::from_nanos(target.as_nanos())),
            Self::Wall(WallClock::System) => {
                let ahead = target.saturating_since(self.at(wall));
                let wait = ahead.min(LONGEST_WAIT_FOR_A_DATE);
                Some(wall.steady().saturating_add(wait))
            }
            Self::Unset | Self::Held(_) => None,
            Self::Extrapolated(time) => time.wall_at(target),
        }
    }

    /// Whether the time moves by itself.
    #[inline]
    pub(crate) const fn moves(self) -> bool {
        matches!(self, Self::Wall(_) | Self::Extrapolated(_))
    }

    /// Whether a source has fed a time.
    #[inline]
    pub(crate) const fn is_set(self) -> bool {
        matches!(self, Self::Held(_) | Self::Extrapolated(_))
    }

    /// What the source fed, without extrapolation.
    #[must_use]
    pub(crate) const fn without_extrapolation(self) -> Self {
        match self {
            Self::Extrapolated(time) => Self::Held(time.from),
            other => other,
        }
    }

    /// The same, but not behind `shown`, the time that was shown before: it stands still there until the extrapolation
    /// has caught up.
    #[must_use]
    #[inline]
    pub(crate) fn not_behind(self, shown: Time<Ros>, direction: Speed) -> Self {
        match self {
            Self::Held(at) if direction.is_reverse() => Self::Held(at.min(shown)),
            Self::Held(at) => Self::Held(at.max(shown)),
            Self::Extrapolated(time) => Self::Extrapolated(ExtrapolatedTime {
                floor: shown,
                ..time
            }),
            other => other,
        }
    }
}

impl ExtrapolatedTime {
    /// The same motion as that of a player that plays from the anchor to the limit and holds there.
    fn segment(self) -> Segment {
        let range = TimeRange::between(self.from, self.limit);
        Segment::new(range, self.speed, AtEnd::Hold).roll(self.since)
    }

    fn at(self, now: Time<Steady>) -> Time<Ros> {
        let at = self.segment().position(now);
        if self.speed.is_reverse() {
            at.min(self.floor)
        } else {
            at.max(self.floor)
        }
    }

    fn wall_at(self, target: Time<Ros>) -> Option<Time<Steady>> {
        if self.speed.is_reverse() {
            return None;
        }
        self.segment().wall_at(target)
    }
}

impl Shown {
    /// Whether the clock has a time: a ROS clock has none until its active source has fed one.
    #[inline]
    pub(crate) const fn is_started(self) -> bool {
        !self.is_active || self.motion.is_set()
    }

    #[inline]
    pub(crate) fn to_words(self) -> Words {
        let flags = i64::from(self.is_active) << 8 | i64::from(self.blocks_readers) << 9;
        match self.motion {
            ClockMotion::Wall(WallClock::System) => [flags, 0, 0, 0, 0, 0],
            ClockMotion::Wall(WallClock::Steady) => [flags | 1, 0, 0, 0, 0, 0],
            ClockMotion::Unset => [flags | 2, 0, 0, 0, 0, 0],
            ClockMotion::Held(at) => [flags | 3, at.as_nanos(), 0, 0, 0, 0],
            ClockMotion::Extrapolated(time) => [
                flags | 4,
                time.from.as_nanos(),
                time.since.as_nanos(),
                time.speed.millionths().into(),
                time.limit.as_nanos(),
                time.floor.as_nanos(),
            ],
        }
    }

    #[inline]
    pub(crate) fn from_words(words: Words) -> Self {
        let [tag, from, since, speed, limit, floor] = words;
        let motion = match tag & 0xff {
            0 => ClockMotion::Wall(WallClock::System),
            1 => ClockMotion::Wall(WallClock::Steady),
            3 => ClockMotion::Held(Time::from_nanos(from)),
            4 => ClockMotion::Extrapolated(ExtrapolatedTime {
                from: Time::from_nanos(from),
                since: Time::from_nanos(since),
                // The seqlock discards a torn read afterwards; here it must not panic.
                speed: i32::try_from(speed)
                    .ok()
                    .and_then(|speed| Speed::from_millionths(speed).ok())
                    .unwrap_or(Speed::NORMAL),
                limit: Time::from_nanos(limit),
                floor: Time::from_nanos(floor),
            }),
            _ => ClockMotion::Unset,
        };
        Self {
            motion,
            is_active: tag & (1 << 8) != 0,
            blocks_readers: tag & (1 << 9) != 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_motion_is_the_same_after_to_words_and_from_words() {
        let time = ExtrapolatedTime {
            from: Time::from_nanos(5),
            since: Time::from_nanos(-6),
            speed: Speed::NORMAL.reversed(),
            limit: Time::MIN,
            floor: Time::MAX,
        };
        for motion in [
            ClockMotion::Wall(WallClock::System),
            ClockMotion::Wall(WallClock::Steady),
            ClockMotion::Unset,
            ClockMotion::Held(Time::from_nanos(-7)),
            ClockMotion::Extrapolated(time),
        ] {
            for (is_active, blocks_readers) in [(false, false), (true, false), (true, true)] {
                let shown = Shown {
                    motion,
                    is_active,
                    blocks_readers,
                };
                assert_eq!(Shown::from_words(shown.to_words()), shown);
            }
        }
    }
}
