//! [`Folds`]: long times without messages that an axis leaves out.

use crate::time::{Duration, TimeRange};

/// The most times that an axis leaves out.
pub(super) const MOST: usize = 4;
/// A time is left out if it is longer than this part of the axis.
const PART: i64 = 5;

/// Times that an axis leaves out, in their order. Each takes one column.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Folds([Option<TimeRange>; MOST]);

impl Folds {
    /// The longest of these gaps within `shown`, if each of them is longer than a fifth of it. The gaps are in their
    /// order and do not overlap; those at an edge of `shown` count as far as they are in it.
    pub(crate) fn of(gaps: impl IntoIterator<Item = TimeRange>, shown: TimeRange) -> Self {
        let least = shown.duration().as_nanos() / PART;
        let gaps = gaps.into_iter().filter_map(|gap| gap.intersection(shown));
        let long = gaps.filter(|gap| gap.duration().as_nanos() > least);
        // There is no room for more than four of them.
        let mut folds = Self::default();
        for (place, gap) in folds.0.iter_mut().zip(long) {
            *place = Some(gap);
        }
        // Nothing else is shown: it has to be reached all the same.
        let is_empty = |part: TimeRange| part.duration() == Duration::ZERO;
        if folds.rest(shown).all(is_empty) {
            return Self::default();
        }
        folds
    }

    /// The times that are left out.
    pub(crate) fn iter(self) -> impl Iterator<Item = TimeRange> {
        self.0.into_iter().flatten()
    }

    /// What is shown of `range`: the parts before, between and behind the times that are left out.
    pub(crate) fn rest(self, range: TimeRange) -> impl Iterator<Item = TimeRange> {
        let starts = std::iter::once(range.start()).chain(self.iter().map(TimeRange::stop));
        let stops = self.iter().map(TimeRange::start);
        let stops = stops.chain(std::iter::once(range.stop()));
        starts
            .zip(stops)
            .map(|(start, stop)| TimeRange::between(start, stop))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Time;

    fn range(from: i64, to: i64) -> TimeRange {
        TimeRange::between(Time::from_nanos(from), Time::from_nanos(to))
    }

    #[test]
    fn long_gaps_are_left_out() {
        let all = range(0, 100);
        let of = |gaps: &[TimeRange]| Folds::of(gaps.iter().copied(), all);
        assert_eq!(of(&[range(10, 30), range(50, 55)]), Folds::default());
        let folds = of(&[range(5, 30), range(50, 55), range(60, 100)]);
        assert_eq!(
            folds.iter().collect::<Vec<_>>(),
            [range(5, 30), range(60, 100)]
        );
        let rest: Vec<TimeRange> = folds.rest(all).collect();
        assert_eq!(rest, [range(0, 5), range(30, 60), range(100, 100)]);
        assert_eq!(Folds::default().rest(all).collect::<Vec<_>>(), [all]);
        let zoomed = Folds::of([range(0, 60)], range(50, 90));
        assert_eq!(zoomed.iter().collect::<Vec<_>>(), [range(50, 60)]);
        let within = Folds::of([range(0, 100)], range(40, 60));
        assert_eq!(within, Folds::default());
    }
}
