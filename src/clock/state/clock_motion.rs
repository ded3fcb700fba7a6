//! [`Reading`]: how a clock's time follows from the machine's clocks; `now()` evaluates it.
//!
//! Inside the module `clock`, instants of every kind are stored as ROS time; [`Clock`](crate::clock::handle::Clock)
//! converts them to its kind. A reading fits into the words of a [`SeqLock`](super::seqlock::SeqLock).

use super::seqlock::Words;
use crate::clock::sync::{Ordering, fence};
use crate::clock::wall_clock::{Rest, Wall};
use crate::time::{AtEnd, Duration, Ros, Segment, Speed, Steady, Time, TimeRange};

/// The system's date may be set while a thread waits for a point of it; the wait is then too long by this at most. The
/// standard library has no wait that follows the date.
const LONGEST_WAIT_FOR_A_DATE: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reading {
    /// One of the machine's clocks.
    Rest(Rest),
    /// A source is active and has not fed a time: zero.
    Unset,
    /// The last time of the source.
    Held(Time<Ros>),
    /// The last state of the source, extrapolated.
    Moving(Line),
}

/// Time that runs on from an anchor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Line {
    pub(crate) from: Time<Ros>,
    pub(crate) since: Time<Steady>,
    pub(crate) speed: Speed,
    /// Where it stops if no other state arrives.
    pub(crate) limit: Time<Ros>,
    /// What was shown before; the line never shows a time behind it.
    pub(crate) floor: Time<Ros>,
}

/// What readers can see of a clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shown {
    pub(crate) reading: Reading,
    /// Whether a source drives the clock.
    pub(crate) is_active: bool,
    /// Whether handlers run that `now()` has to wait for.
    pub(crate) is_gated: bool,
}

impl Reading {
    pub(crate) fn at(self, wall: &Wall) -> Time<Ros> {
        match self {
            Self::Rest(rest) => wall.read(rest),
            Self::Unset => Time::ZERO,
            Self::Held(at) => at,
            Self::Moving(line) => {
                let now = wall.steady();
                // The seqlock's check must come after the clock is read: otherwise the result could be later than the
                // floor of a line that is being written.
                fence(Ordering::SeqCst);
                line.at(now)
            }
        }
    }

    /// When to check whether `target`, which is in the future, has come; `None` if only a change of the reading can
    /// bring it.
    pub(crate) fn wall_at(self, target: Time<Ros>, wall: &Wall) -> Option<Time<Steady>> {
        let ahead = || target.saturating_since(self.at(wall));
        match self {
            Self::Rest(Rest::Steady) => Some(Time::from_nanos(target.as_nanos())),
            Self::Rest(Rest::System) => {
                let wait = ahead().min(LONGEST_WAIT_FOR_A_DATE);
                Some(wall.steady().saturating_add(wait))
            }
            Self::Unset | Self::Held(_) => None,
            Self::Moving(line) => line.wall_at(target),
        }
    }

    /// Whether the time moves by itself.
    pub(crate) const fn moves(self) -> bool {
        matches!(self, Self::Rest(_) | Self::Moving(_))
    }

    /// Whether a source has fed a time.
    pub(crate) const fn is_set(self) -> bool {
        matches!(self, Self::Held(_) | Self::Moving(_))
    }

    /// What the source fed, without extrapolation.
    #[must_use]
    pub(crate) const fn as_said(self) -> Self {
        match self {
            Self::Moving(line) => Self::Held(line.from),
            other => other,
        }
    }

    /// The same, but not behind `shown`, the time shown before: it stands still there until the line has caught up.
    #[must_use]
    pub(crate) fn not_behind(self, shown: Time<Ros>, heading: Speed) -> Self {
        match self {
            Self::Held(at) if heading.is_reverse() => Self::Held(at.min(shown)),
            Self::Held(at) => Self::Held(at.max(shown)),
            Self::Moving(line) => Self::Moving(Line {
                floor: shown,
                ..line
            }),
            other => other,
        }
    }
}

impl Line {
    /// The player's law of motion: from the anchor to the limit, where it stops.
    fn segment(self) -> Segment {
        let way = TimeRange::between(self.from, self.limit);
        Segment::new(way, self.speed, AtEnd::Hold).roll(self.since)
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
    pub(crate) const fn is_started(self) -> bool {
        !self.is_active || self.reading.is_set()
    }

    pub(crate) fn to_words(self) -> Words {
        let flags = i64::from(self.is_active) << 8 | i64::from(self.is_gated) << 9;
        match self.reading {
            Reading::Rest(Rest::System) => [flags, 0, 0, 0, 0, 0],
            Reading::Rest(Rest::Steady) => [flags | 1, 0, 0, 0, 0, 0],
            Reading::Unset => [flags | 2, 0, 0, 0, 0, 0],
            Reading::Held(at) => [flags | 3, at.as_nanos(), 0, 0, 0, 0],
            Reading::Moving(line) => [
                flags | 4,
                line.from.as_nanos(),
                line.since.as_nanos(),
                line.speed.millionths().into(),
                line.limit.as_nanos(),
                line.floor.as_nanos(),
            ],
        }
    }

    pub(crate) fn from_words(words: Words) -> Self {
        let [tag, from, since, speed, limit, floor] = words;
        let reading = match tag & 0xff {
            0 => Reading::Rest(Rest::System),
            1 => Reading::Rest(Rest::Steady),
            3 => Reading::Held(Time::from_nanos(from)),
            4 => Reading::Moving(Line {
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
            _ => Reading::Unset,
        };
        Self {
            reading,
            is_active: tag & (1 << 8) != 0,
            is_gated: tag & (1 << 9) != 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reading_survives_the_way_through_the_words() {
        let line = Line {
            from: Time::from_nanos(5),
            since: Time::from_nanos(-6),
            speed: Speed::NORMAL.reversed(),
            limit: Time::MIN,
            floor: Time::MAX,
        };
        for reading in [
            Reading::Rest(Rest::System),
            Reading::Rest(Rest::Steady),
            Reading::Unset,
            Reading::Held(Time::from_nanos(-7)),
            Reading::Moving(line),
        ] {
            for (is_active, is_gated) in [(false, false), (true, false), (true, true)] {
                let shown = Shown {
                    reading,
                    is_active,
                    is_gated,
                };
                assert_eq!(Shown::from_words(shown.to_words()), shown);
            }
        }
    }
}
