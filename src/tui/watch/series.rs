//! [`Series`]: the values of a watched field over a range, thinned out to what a screen can show.

use crate::time::{Duration, Ros, Time, TimeRange};
use crate::untrusted::Foreign;

/// How many equal parts of the range keep values of their own. Of a part with more than [`COLLECTED`] values the lowest
/// and the highest number are kept, and the last values.
pub(crate) const PARTS: usize = 2048;
/// How many values a part may have before it is thinned out.
const COLLECTED: usize = 8;
/// The most characters of a text that are kept.
const MOST_CHARACTERS: usize = 120;

/// The value of a watched field in one message.
#[derive(Clone, PartialEq, Debug)]
pub enum WatchedValue {
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Integer(i128),
    /// A number with a fraction; a delay in seconds.
    Number(f64),
    /// A point in time or a duration, in nanoseconds.
    Time(i64),
    /// A text, shortened and without characters that a terminal would interpret.
    Text(String),
}

impl WatchedValue {
    pub(crate) fn text(text: &str) -> Self {
        Self::Text(Foreign::text(text).at_most(MOST_CHARACTERS).to_string())
    }

    /// As a number that can be drawn.
    pub(crate) fn number(&self) -> Option<f64> {
        let number = match self {
            Self::Bool(value) => f64::from(u8::from(*value)),
            #[expect(clippy::cast_precision_loss, reason = "it is drawn")]
            Self::Integer(value) => *value as f64,
            Self::Number(value) => *value,
            Self::Time(nanos) => Duration::from_nanos(*nanos).as_secs_f64(),
            Self::Text(_) => return None,
        };
        number.is_finite().then_some(number)
    }
}

/// A value and when its message was recorded.
#[derive(Clone, PartialEq, Debug)]
pub struct Point {
    /// When.
    pub time: Time<Ros>,
    /// The value.
    pub value: WatchedValue,
}

/// What a series says of a time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum ValueAt<'a> {
    /// The last value at or before it.
    Known(&'a Point),
    /// There is none.
    None,
    /// It was not read up to there.
    Unread,
}

/// The values of a field over a range, and the last one before it.
#[derive(Clone, PartialEq, Debug)]
pub struct Series {
    range: TimeRange,
    /// Up to where it was read.
    read_to: Time<Ros>,
    /// In the order of time.
    points: Vec<Point>,
    /// Of the present part, in the order of time.
    part: Vec<Point>,
    part_index: usize,
    /// The names of whole numbers, if the field has named ones.
    pub(crate) names: Vec<(i128, String)>,
    /// Why there are no values, or not all.
    pub(crate) problem: Option<String>,
}

impl Series {
    /// Without values: a range in which the field has none.
    pub fn new(range: TimeRange) -> Self {
        Self {
            range,
            read_to: range.stop(),
            points: Vec::new(),
            part: Vec::new(),
            part_index: 0,
            names: Vec::new(),
            problem: None,
        }
    }

    /// Without values, for a reason.
    pub(crate) fn failed(range: TimeRange, reason: impl Into<String>) -> Self {
        Self {
            problem: Some(reason.into()),
            ..Self::new(range)
        }
    }

    /// Reading ended early.
    pub(crate) fn end_at(&mut self, time: Time<Ros>, reason: &str) {
        if self.problem.is_none() {
            self.problem = Some(reason.to_owned());
        }
        self.read_to = time;
    }

    /// Why there are no values, or not all.
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// Adds the next value in the order of time.
    pub fn push(&mut self, time: Time<Ros>, value: WatchedValue) {
        let index = self.part_of(time);
        if index != self.part_index {
            self.points.append(&mut self.part);
            self.part_index = index;
        }
        self.part.push(Point { time, value });
        if self.part.len() > COLLECTED {
            self.thin_out();
        }
    }

    /// Keeps of the present part its lowest and its highest number, its last value, and one from before the range.
    fn thin_out(&mut self) {
        let numbers = || {
            let points = self.part.iter().enumerate();
            points.filter_map(|(at, point)| Some((at, point.value.number()?)))
        };
        let lowest = numbers().min_by(|a, b| a.1.total_cmp(&b.1));
        let highest = numbers().max_by(|a, b| a.1.total_cmp(&b.1));
        let kept = [lowest, highest].map(|found| found.map(|(at, _)| at));
        let (start, last) = (self.range.start(), self.part.len().saturating_sub(1));
        let mut at = 0;
        self.part.retain(|point| {
            // The value from before the range holds at its start.
            let is_before = point.time < start;
            let is_kept = at == last || is_before || kept.contains(&Some(at));
            at += 1;
            is_kept
        });
    }

    fn part_of(&self, time: Time<Ros>) -> usize {
        let nanos = |it: Duration| i128::from(it.as_nanos());
        let whole = nanos(self.range.duration()).max(1);
        let from_start = nanos(time.saturating_since(self.range.start())).max(0);
        let parts = i128::try_from(PARTS).unwrap_or(i128::MAX);
        usize::try_from(from_start * parts / whole).unwrap_or(PARTS)
    }

    /// The values in a range, and at least one before and one after it, if there are any: lines reach its edges.
    pub(crate) fn points_around(
        &self,
        shown: TimeRange,
    ) -> impl DoubleEndedIterator<Item = &Point> {
        let from = self
            .points
            .partition_point(|point| point.time < shown.start())
            .saturating_sub(1);
        let is_within = |point: &Point| point.time <= shown.stop();
        let until = self.points.partition_point(is_within);
        let of_part = if until < self.points.len() {
            0
        } else {
            (self.part.partition_point(is_within) + 1).min(self.part.len())
        };
        let points = self.points.get(from..(until + 1).min(self.points.len()));
        let part = self.part.get(..of_part);
        points.into_iter().chain(part).flatten()
    }

    /// What it says of a time.
    pub fn at(&self, time: Time<Ros>) -> ValueAt<'_> {
        if time < self.range.start() || time > self.read_to {
            return ValueAt::Unread;
        }
        let last_of = |points: &[Point]| {
            let count = points.partition_point(|point| point.time <= time);
            count.checked_sub(1)
        };
        let newest = last_of(&self.part).and_then(|at| self.part.get(at));
        let known = newest.or_else(|| last_of(&self.points).and_then(|at| self.points.get(at)));
        known.map_or(ValueAt::None, ValueAt::Known)
    }

    /// The name of a whole number, if it has one.
    pub(crate) fn name_of(&self, number: i128) -> Option<&str> {
        let named = self.names.iter().find(|(value, _)| *value == number);
        named.map(|(_, name)| name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(from: i64, to: i64) -> TimeRange {
        TimeRange::between(Time::from_millis(from), Time::from_millis(to))
    }

    fn series(values: impl IntoIterator<Item = (i64, f64)>, range: TimeRange) -> Series {
        let mut series = Series::new(range);
        for (millis, value) in values {
            series.push(Time::from_millis(millis), WatchedValue::Number(value));
        }
        series
    }

    fn numbers<'a>(points: impl Iterator<Item = &'a Point>) -> Vec<f64> {
        points.filter_map(|point| point.value.number()).collect()
    }

    fn value_at(series: &Series, millis: i64) -> Result<f64, &'static str> {
        match series.at(Time::from_millis(millis)) {
            ValueAt::Known(point) => Ok(point.value.number().unwrap()),
            ValueAt::None => Err("none"),
            ValueAt::Unread => Err("unread"),
        }
    }

    #[test]
    fn what_is_kept_is_bounded_and_keeps_every_peak() {
        let whole = range(0, 1_000_000);
        let values = (0..1_000_000).map(|at| match at {
            // What is no number hides no peak.
            777_770 => (at, f64::NAN),
            777_771 => (at, f64::INFINITY),
            777_777 => (at, 1e6),
            _ => (at, f64::from(u16::try_from(at % 7).unwrap())),
        });
        let series = series(values, whole);
        let kept = numbers(series.points_around(whole));
        assert!(kept.len() <= COLLECTED * PARTS, "{}", kept.len());
        assert!(kept.contains(&1e6));
        assert_eq!(value_at(&series, 999_999), Ok(f64::from(999_999_u32 % 7)));
    }

    #[test]
    fn a_part_is_shown_with_a_value_on_each_side() {
        let values = (0..10).map(|at| (at * 10, f64::from(u8::try_from(at).unwrap())));
        let series = series(values, range(0, 100));
        for (shown, expected) in [
            (range(25, 45), &[2.0, 3.0, 4.0, 5.0][..]),
            (range(20, 40), &[1.0, 2.0, 3.0, 4.0, 5.0]),
            (range(0, 5), &[0.0, 1.0]),
            (range(95, 100), &[8.0, 9.0]),
        ] {
            assert_eq!(numbers(series.points_around(shown)), expected, "{shown:?}");
        }
    }

    #[test]
    fn a_time_has_the_last_value_before_it_unless_it_was_not_read() {
        let mut series = series([(-50, 7.0), (10, 1.0), (20, 2.0)], range(0, 100));
        for (millis, expected) in [
            (-1, Err("unread")),
            (0, Ok(7.0)),
            (9, Ok(7.0)),
            (10, Ok(1.0)),
            (100, Ok(2.0)),
            (101, Err("unread")),
        ] {
            assert_eq!(value_at(&series, millis), expected, "{millis}");
        }
        series.end_at(Time::from_millis(30), "too much");
        assert_eq!(value_at(&series, 30), Ok(2.0));
        assert_eq!(value_at(&series, 31), Err("unread"));
        assert_eq!(value_at(&Series::new(range(0, 1)), 0), Err("none"));
    }
}
