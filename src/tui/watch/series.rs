//! [`Series`]: the values of a watched field over a range, thinned out to what a screen can show.

use crate::time::{Ros, Time, TimeRange};

/// How many equal parts of the range keep values of their own. Of each part the lowest and the highest number are kept,
/// and the last value.
pub(crate) const PARTS: usize = 2048;
/// The most characters of a text that are kept.
const MOST_CHARACTERS: usize = 120;

/// The value of a watched field in one message.
#[derive(Clone, PartialEq, Debug)]
pub enum WatchedValue {
    /// A number. A truth value is 0 or 1; times and delays are in seconds.
    Number(f64),
    /// A text, shortened and without characters that a terminal would interpret.
    Text(String),
}

impl WatchedValue {
    pub(crate) fn text(text: &str) -> Self {
        let shown = crate::untrusted::Foreign::text(text).at_most(MOST_CHARACTERS);
        Self::Text(shown.to_string())
    }

    pub(crate) fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(_) => None,
        }
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

/// The values of a field over a range.
#[derive(Clone, PartialEq, Debug)]
pub struct Series {
    range: TimeRange,
    /// In the order of time.
    points: Vec<Point>,
    /// The lowest, the highest and the last value of the present part, in the order of time.
    part: Vec<Point>,
    part_index: usize,
    /// The names of values, if the field has named ones.
    pub names: Vec<(i128, String)>,
    /// Why there are no values, or not all.
    pub problem: Option<String>,
}

impl Series {
    /// Without values.
    pub fn new(range: TimeRange) -> Self {
        Self {
            range,
            points: Vec::new(),
            part: Vec::new(),
            part_index: 0,
            names: Vec::new(),
            problem: None,
        }
    }

    /// Adds the next value in the order of time.
    pub fn push(&mut self, time: Time<Ros>, value: WatchedValue) {
        let index = self.part_of(time);
        if index != self.part_index {
            self.points.append(&mut self.part);
            self.part_index = index;
        }
        self.part.push(Point { time, value });
        if self.part.len() > 4 {
            self.thin_out();
        }
    }

    /// Keeps of the present part its lowest, its highest, and its last value.
    fn thin_out(&mut self) {
        let number = |point: &Point| point.value.number();
        let mut at = (0, 0);
        for (index, point) in self.part.iter().enumerate() {
            let lowest = number(&self.part[at.0]);
            let highest = number(&self.part[at.1]);
            if number(point).is_some_and(|it| lowest.is_none_or(|lowest| it < lowest)) {
                at.0 = index;
            }
            if number(point).is_some_and(|it| highest.is_none_or(|highest| it > highest)) {
                at.1 = index;
            }
        }
        let last = self.part.len() - 1;
        let mut index = 0;
        self.part.retain(|_| {
            let is_kept = index == at.0 || index == at.1 || index == last;
            index += 1;
            is_kept
        });
    }

    fn part_of(&self, time: Time<Ros>) -> usize {
        let nanos = |it: crate::time::Duration| i128::from(it.as_nanos());
        let whole = nanos(self.range.duration()).max(1);
        let from_start = nanos(time.saturating_since(self.range.start())).max(0);
        let parts = i128::try_from(PARTS).unwrap_or(i128::MAX);
        usize::try_from(from_start * parts / whole).unwrap_or(PARTS)
    }

    /// The values in a range, and at least one before and one after it, if there are any: lines reach its edges.
    pub(crate) fn points_around(&self, shown: TimeRange) -> impl Iterator<Item = &Point> {
        let from = self
            .points
            .partition_point(|point| point.time < shown.start())
            .saturating_sub(1);
        let all = self.points.iter().skip(from).chain(&self.part);
        let mut is_over = false;
        all.take_while(move |point| {
            let was_over = is_over;
            is_over = point.time > shown.stop();
            !was_over
        })
    }

    /// The name of a number, if it has one.
    pub(crate) fn name_of(&self, number: f64) -> Option<&str> {
        #[expect(clippy::cast_precision_loss, reason = "names are of small numbers")]
        let is_it = |(value, _): &&(i128, String)| (*value as f64).total_cmp(&number).is_eq();
        let named = self.names.iter().find(is_it);
        named.map(|(_, name)| name.as_str())
    }

    /// The last value at or before a time.
    pub fn at(&self, time: Time<Ros>) -> Option<&Point> {
        let is_before = |point: &Point| point.time <= time;
        let newest = self.part.iter().rev().find(|point| is_before(point));
        newest.or_else(|| {
            let count = self.points.partition_point(is_before);
            count.checked_sub(1).and_then(|at| self.points.get(at))
        })
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

    #[test]
    fn what_is_kept_is_bounded_and_keeps_every_peak() {
        let whole = range(0, 1_000_000);
        let values = (0..1_000_000).map(|at| {
            let value = if at == 777_777 {
                1e6
            } else {
                f64::from(u16::try_from(at % 7).unwrap())
            };
            (at, value)
        });
        let series = series(values, whole);
        let kept = numbers(series.points_around(whole));
        assert!(kept.len() <= 4 * PARTS, "{}", kept.len());
        assert!(kept.contains(&1e6));
        assert_eq!(
            series.at(Time::from_millis(999_999)).unwrap().time,
            Time::from_millis(999_999)
        );
    }

    #[test]
    fn a_part_is_shown_with_a_value_on_each_side() {
        let series = series(
            (0..10).map(|at| (at * 10, f64::from(u8::try_from(at).unwrap()))),
            range(0, 100),
        );
        for (shown, expected) in [
            (range(25, 45), &[2.0, 3.0, 4.0, 5.0][..]),
            (range(20, 40), &[1.0, 2.0, 3.0, 4.0, 5.0]),
            (range(0, 5), &[0.0, 1.0]),
            (range(95, 100), &[8.0, 9.0]),
        ] {
            assert_eq!(numbers(series.points_around(shown)), expected, "{shown:?}");
        }
        let at = |millis| {
            series
                .at(Time::from_millis(millis))
                .and_then(|it| it.value.number())
        };
        assert_eq!(
            [at(-1), at(0), at(9), at(10), at(500)],
            [None, Some(0.0), Some(0.0), Some(1.0), Some(9.0)]
        );
    }
}
