//! [`ViewRange`]: the part of a recording whose values are shown, and the part that is read for it.

use crate::time::{Duration, Ros, Time, TimeRange};

/// How long before and after the playhead values are shown if there is no loop.
const AROUND: Duration = Duration::from_secs(5);
/// A range that is so many times longer than what is shown has too few points for it.
const COARSE: i64 = 4;

/// The part whose values are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ViewRange {
    /// From A to B.
    Loop(TimeRange),
    /// Some seconds around the playhead.
    Around(Time<Ros>),
}

impl ViewRange {
    pub(crate) fn range(self) -> TimeRange {
        match self {
            Self::Loop(range) => range,
            Self::Around(playhead) => TimeRange::between(
                playhead.saturating_sub(AROUND),
                playhead.saturating_add(AROUND),
            ),
        }
    }

    /// Whether a range that was read has what is shown, in enough detail.
    pub(crate) fn is_in(self, known: TimeRange, recording: TimeRange) -> bool {
        let shown = self.range();
        let needed = shown.intersection(recording);
        let is_coarse = known.duration() > shown.duration().saturating_mul(COARSE);
        !is_coarse && needed.is_none_or(|needed| known.intersection(needed) == Some(needed))
    }

    /// The range to read. Around the playhead it is three times as long as what is shown, so that a moving playhead
    /// finds the next part already read.
    pub(crate) fn to_read(self, recording: TimeRange) -> Option<TimeRange> {
        let shown = self.range();
        let more = match self {
            Self::Loop(_) => Duration::ZERO,
            Self::Around(_) => shown.duration(),
        };
        let wanted = TimeRange::between(
            shown.start().saturating_sub(more),
            shown.stop().saturating_add(more),
        );
        wanted.intersection(recording)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(from: i64, to: i64) -> TimeRange {
        TimeRange::between(Time::from_secs(from), Time::from_secs(to))
    }

    #[test]
    fn more_is_read_than_is_shown_around_the_playhead() {
        let all = range(0, 100);
        let around = |secs| ViewRange::Around(Time::from_secs(secs));
        assert_eq!(around(50).range(), range(45, 55));
        for (view, to_read) in [
            (around(50), range(35, 65)),
            (around(2), range(0, 17)),
            (around(99), range(84, 100)),
            (ViewRange::Loop(range(10, 90)), range(10, 90)),
        ] {
            assert_eq!(view.to_read(all), Some(to_read), "{view:?}");
        }
    }

    #[test]
    fn what_was_read_is_enough_if_it_covers_what_is_shown_in_detail() {
        let all = range(0, 100);
        let around = |secs| ViewRange::Around(Time::from_secs(secs));
        for (view, known, is_enough) in [
            (around(52), range(35, 65), true),
            (around(60), range(35, 65), true),
            (around(61), range(35, 65), false),
            // At the edges of the recording there is nothing more to read.
            (around(2), range(0, 15), true),
            (around(99), range(80, 100), true),
            (around(99), range(96, 100), false),
            // A long loop was read with few points in ten seconds.
            (around(50), range(0, 100), false),
            (ViewRange::Loop(range(10, 90)), range(10, 90), true),
            (ViewRange::Loop(range(50, 51)), range(35, 65), false),
        ] {
            assert_eq!(view.is_in(known, all), is_enough, "{view:?} in {known:?}");
        }
    }
}
