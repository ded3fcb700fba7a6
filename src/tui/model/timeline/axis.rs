//! [`Axis`]: a closed range of time mapped to columns. [`ZoomWindow`]: the part of the recording that the bar shows.

use std::ops::Deref;

use super::folds::{Folds, MOST};
use crate::time::{Duration, Ros, Time, TimeRange};

/// A closed range of time over `width` columns, beginning at column `left`. The first column begins at the range's
/// start, the last one ends at its stop. Times that are left out take one column each. All other columns show
/// spans of the same length, to within one column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Axis {
    /// The range.
    pub range: TimeRange,
    /// Its first column on the screen.
    pub left: u16,
    /// How many columns it has.
    pub width: u16,
    /// The times that it leaves out.
    pub folds: Folds,
}

impl Axis {
    /// An axis that leaves nothing out.
    pub(crate) fn plain(range: TimeRange, left: u16, width: u16) -> Self {
        Self {
            range,
            left,
            width,
            folds: Folds::default(),
        }
    }

    /// Its parts, without the times that it leaves out: each an axis that leaves nothing out, a column apart from the
    /// one before. If there is no room for that, nothing is left out.
    pub(crate) fn pieces(self) -> Pieces {
        /// The least columns of a piece.
        const LEAST: u16 = 4;
        let whole = Self::plain(self.range, self.left, self.width);
        let mut pieces = Pieces {
            all: [whole; MOST + 1],
            count: 1,
        };
        let rest = || self.folds.rest(self.range);
        let count = u16::try_from(rest().count()).unwrap_or(u16::MAX);
        let Some(mut columns) = self.width.checked_sub(count - 1) else {
            return pieces;
        };
        if count == 1 || columns < LEAST * count {
            return pieces;
        }
        let nanos = |range: TimeRange| i128::from(range.duration().as_nanos().max(1));
        let mut total: i128 = rest().map(nanos).sum();
        let mut left = self.left;
        pieces.count = usize::from(count);
        for ((piece, range), behind) in pieces.all.iter_mut().zip(rest()).zip((0..count).rev()) {
            let share = i128::from(columns) * nanos(range) / total;
            let share = u16::try_from(share).unwrap_or(u16::MAX);
            let width = match behind {
                0 => columns,
                _ => share.clamp(1, columns - behind),
            };
            *piece = Self::plain(range, left, width);
            left += width + 1;
            columns -= width;
            total -= nanos(range);
        }
        pieces
    }

    /// The columns of the times that it leaves out.
    pub(crate) fn fold_columns(self) -> Vec<u16> {
        let pieces = self.pieces();
        pieces.iter().skip(1).map(|piece| piece.left - 1).collect()
    }

    /// The column of a time; `None` outside of the range.
    pub(crate) fn column(self, time: Time<Ros>) -> Option<u16> {
        (self.width > 0 && self.range.contains(time)).then(|| self.nearest_column(time))
    }

    /// The column of a time; times outside map to the nearest edge.
    pub(crate) fn nearest_column(self, time: Time<Ros>) -> u16 {
        let time = self.range.clamp(time);
        if self.folds == Folds::default() {
            return self.left + self.offset(time);
        }
        let pieces = self.pieces();
        let at = pieces.partition_point(|piece| piece.range.stop() < time);
        match pieces.get(at) {
            Some(piece) if piece.range.contains(time) => piece.left + piece.offset(time),
            // In a time that is left out.
            Some(piece) => piece.left.saturating_sub(1),
            None => self.left,
        }
    }

    fn offset(self, time: Time<Ros>) -> u16 {
        let last = i128::from(self.width.saturating_sub(1));
        let span = i128::from(self.span()).max(1);
        let into = i128::from(time.saturating_since(self.range.start()).as_nanos());
        u16::try_from((into * i128::from(self.width) / span).clamp(0, last)).unwrap_or(0)
    }

    /// The time that a click on a column means: the start and the stop themselves at the edges, otherwise the beginning
    /// of the column. Columns outside count as the nearest one.
    pub(crate) fn time(self, column: u16) -> Time<Ros> {
        if self.folds == Folds::default() {
            return self.time_without_folds(column);
        }
        if self.width > 1 && column >= self.left + self.width - 1 {
            return self.range.stop();
        }
        let pieces = self.pieces();
        let is_behind = |piece: &&Self| column < piece.left + piece.width;
        let piece = pieces.iter().find(is_behind).or(pieces.last());
        // A click on a time that is left out means its end.
        piece.map_or(self.range.start(), |piece| {
            piece.time_without_folds(column.max(piece.left))
        })
    }

    fn time_without_folds(self, column: u16) -> Time<Ros> {
        let offset = column
            .saturating_sub(self.left)
            .min(self.width.saturating_sub(1));
        if offset + 1 >= self.width && self.width > 1 {
            return self.range.stop();
        }
        // Rounded up, so that it lies in the column that was clicked on.
        let into = (i128::from(self.span()) * i128::from(offset))
            .div_euclid(i128::from(self.width.max(1)))
            + i128::from(offset > 0);
        let into = i64::try_from(into).unwrap_or(i64::MAX);
        self.range.clamp(
            self.range
                .start()
                .saturating_add(Duration::from_nanos(into)),
        )
    }

    fn span(self) -> i64 {
        self.range.duration().as_nanos().max(1)
    }
}

/// The parts of an axis, in their order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pieces {
    all: [Axis; MOST + 1],
    count: usize,
}

impl Deref for Pieces {
    type Target = [Axis];

    fn deref(&self) -> &[Axis] {
        &self.all[..self.count]
    }
}

/// The part of the recording that the bar shows: all of it, or less when zoomed in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ZoomWindow {
    all: TimeRange,
    shown: TimeRange,
    /// The number of zoom steps.
    level: u32,
}

impl ZoomWindow {
    /// The factor of one zoom step.
    const STEP: i64 = 4;
    /// The minimum length of a window: a shorter one is played faster than its index is read.
    const MIN_DURATION: Duration = Duration::from_millis(100);

    /// The whole recording.
    pub(crate) const fn new(all: TimeRange) -> Self {
        Self {
            all,
            shown: all,
            level: 0,
        }
    }

    /// The range that is shown.
    pub(crate) const fn range(self) -> TimeRange {
        self.shown
    }

    /// Whether it is less than the whole recording.
    pub(crate) fn is_zoomed(self) -> bool {
        self.shown != self.all
    }

    /// Zooms in (positive) or out, with `around` in the middle if possible.
    #[must_use]
    pub(crate) fn zoomed(self, steps: i8, around: Time<Ros>) -> Self {
        let all = self.all.duration().as_nanos();
        let span = |level: u32| all / Self::STEP.pow(level);
        let mut level = self.level;
        for _ in 0..steps.unsigned_abs() {
            if steps < 0 {
                level = level.saturating_sub(1);
            } else if span(level + 1) >= Self::MIN_DURATION.as_nanos() {
                level += 1;
            }
        }
        let span = Duration::from_nanos(span(level));
        Self { level, ..self }.spanning(span, around, 2)
    }

    /// Moved by pages so that `playhead` is visible, at a tenth of the page in the direction of play.
    #[must_use]
    pub(crate) fn following(self, playhead: Time<Ros>, is_reverse: bool) -> Self {
        if self.shown.contains(playhead) || !self.is_zoomed() {
            return self;
        }
        let span = self.shown.duration();
        if is_reverse {
            let stop = playhead.saturating_add(Duration::from_nanos(span.as_nanos() / 10));
            self.starting(stop.saturating_sub(span), span)
        } else {
            self.spanning(span, playhead, 10)
        }
    }

    /// The range that is shown and as much again in the direction of play, limited to the recording: the next page is
    /// read before it is shown.
    pub(crate) fn with_next(self, is_reverse: bool) -> TimeRange {
        let span = self.shown.duration();
        let (start, stop) = (self.shown.start(), self.shown.stop());
        if is_reverse {
            TimeRange::between(self.all.clamp(start.saturating_sub(span)), stop)
        } else {
            TimeRange::between(start, self.all.clamp(stop.saturating_add(span)))
        }
    }

    /// A range of length `span`, with `time` at one `part`th of it.
    fn spanning(self, span: Duration, time: Time<Ros>, part: i64) -> Self {
        let lead = Duration::from_nanos(span.as_nanos() / part);
        self.starting(time.saturating_sub(lead), span)
    }

    fn starting(self, start: Time<Ros>, span: Duration) -> Self {
        if span >= self.all.duration() {
            return Self::new(self.all);
        }
        let latest = self.all.stop().saturating_sub(span);
        let start = start.clamp(self.all.start(), latest);
        Self {
            shown: TimeRange::between(start, start.saturating_add(span)),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn range(from: i64, to: i64) -> TimeRange {
        TimeRange::between(Time::from_nanos(from), Time::from_nanos(to))
    }

    #[test]
    fn a_time_that_is_left_out_takes_one_column() {
        let seconds = |from, to| TimeRange::between(Time::from_secs(from), Time::from_secs(to));
        // Ten seconds, three hours of nothing, and twenty seconds.
        let all = seconds(0, 10_830);
        let folds = Folds::of([seconds(10, 10_810)], all);
        let axis = Axis {
            folds,
            ..Axis::plain(all, 5, 31)
        };
        assert_eq!(
            *axis.pieces(),
            [
                Axis::plain(seconds(0, 10), 5, 10),
                Axis::plain(seconds(10_810, 10_830), 16, 20)
            ]
        );
        assert_eq!(axis.fold_columns(), [15]);
        let at = Time::from_secs;
        for (time, column) in [
            (0, 5),
            (9, 14),
            (10, 14),
            (11, 15),
            (10_809, 15),
            (10_810, 16),
            (10_830, 35),
        ] {
            assert_eq!(axis.column(at(time)), Some(column), "{time}");
        }
        assert_eq!(axis.column(at(10_831)), None);
        assert_eq!(axis.time(0), at(0));
        assert_eq!(axis.time(15), at(10_810));
        assert_eq!(axis.time(99), at(10_830));
        for column in 5..36 {
            let expected = if column == 15 { 16 } else { column };
            assert_eq!(axis.column(axis.time(column)), Some(expected), "{column}");
        }
        // Without room for both parts nothing is left out.
        let narrow = Axis { width: 8, ..axis };
        assert_eq!(*narrow.pieces(), [Axis::plain(all, 5, 8)]);
        assert_eq!(narrow.column(at(5_415)), Some(9));
    }

    proptest! {
        #[test]
        fn a_click_lands_in_its_own_column(from in any::<i64>(), to in any::<i64>(), left in 0_u16..40,
                                           width in 1_u16..500, click in 0_u16..600) {
            let axis = Axis::plain(range(from, to), left, width);
            let time = axis.time(click);
            prop_assert!(axis.range.contains(time));
            let column = axis.column(time).unwrap();
            prop_assert!((left..left + width).contains(&column));
            // If columns are shorter than a nanosecond, several columns have the same time.
            if axis.range.duration().as_nanos() >= i64::from(width) && axis.range.duration() < Duration::MAX {
                prop_assert_eq!(column, click.clamp(left, left + width - 1));
            }
        }

        #[test]
        fn a_zoom_window_stays_within_the_recording_and_contains_its_time(from in any::<i32>(), span in 1_i64..1 << 50,
                                                            at in 0.0_f64..1.0, steps in -3_i8..6, is_reverse: bool) {
            let all = range(i64::from(from), i64::from(from) + span);
            #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "any place will do")]
            let time = all.start().saturating_add(Duration::from_nanos((span as f64 * at) as i64));
            let window = ZoomWindow::new(all).zoomed(steps, time);
            prop_assert!(window.range().contains(time));
            prop_assert!(all.contains(window.range().start()) && all.contains(window.range().stop()));
            for playhead in [all.start(), all.stop(), time] {
                let moved = window.following(playhead, is_reverse);
                prop_assert!(moved.range().contains(playhead));
                prop_assert_eq!(moved.range().duration(), window.range().duration());
            }
            prop_assert!(!window.zoomed(-10, time).is_zoomed());
            prop_assert!(steps <= 0 || !window.zoomed(-steps, time).is_zoomed());
            prop_assert!(!window.is_zoomed() || window.range().duration() >= ZoomWindow::MIN_DURATION);
            let next = window.with_next(is_reverse);
            prop_assert!(all.contains(next.start()) && all.contains(next.stop()));
            prop_assert_eq!(next.intersection(window.range()), Some(window.range()));
        }
    }
}
