//! [`shown`] and [`wanted`]: the part of a recording whose values are shown, and the larger one that is read.

use crate::time::{Duration, Ros, Time, TimeRange};

/// How long before and after the playhead values are shown if there is no loop.
const AROUND: Duration = Duration::from_secs(5);

/// The range that is shown: from A to B, or some seconds around the playhead.
pub(crate) fn shown(playhead: Time<Ros>, ab_loop: Option<TimeRange>) -> TimeRange {
    ab_loop.unwrap_or_else(|| {
        TimeRange::between(
            playhead.saturating_sub(AROUND),
            playhead.saturating_add(AROUND),
        )
    })
}

/// The range to read for what is shown, if `known` does not have all of it. It is three times as long, so that a
/// moving playhead finds the next part already read.
pub(crate) fn wanted(
    shown: TimeRange,
    known: Option<TimeRange>,
    recording: TimeRange,
) -> Option<TimeRange> {
    let needed = shown.intersection(recording)?;
    if known.is_some_and(|known| known.intersection(needed) == Some(needed)) {
        return None;
    }
    let length = shown.duration();
    let around = TimeRange::between(
        shown.start().saturating_sub(length),
        shown.stop().saturating_add(length),
    );
    around.intersection(recording)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(from: i64, to: i64) -> TimeRange {
        TimeRange::between(Time::from_secs(from), Time::from_secs(to))
    }

    #[test]
    fn more_is_read_than_is_shown_and_only_when_something_is_missing() {
        let all = range(0, 100);
        let around = |secs| shown(Time::from_secs(secs), None);
        assert_eq!(around(50), range(45, 55));
        assert_eq!(
            shown(Time::from_secs(50), Some(range(10, 20))),
            range(10, 20)
        );
        assert_eq!(wanted(around(50), None, all), Some(range(35, 65)));
        for (secs, known, expected) in [
            (52, range(35, 65), None),
            (60, range(35, 65), None),
            (61, range(35, 65), Some(range(46, 76))),
            // At the edges of the recording there is nothing more to read.
            (2, range(0, 15), None),
            (99, range(80, 100), None),
            (99, range(96, 100), Some(range(84, 100))),
        ] {
            assert_eq!(wanted(around(secs), Some(known), all), expected, "{secs}");
        }
    }
}
