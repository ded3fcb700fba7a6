//! [`Lane`]: message density, drawn as one level per column; gaps stay empty.

use crate::bag::Outline;
use crate::time::TimeRange;

/// The density of some topics over a range.
#[derive(Clone, PartialEq, Debug)]
pub struct Lane {
    /// The range.
    pub range: TimeRange,
    /// The counts that are known so far; they grow while indexes are read.
    pub outline: Outline,
    /// Whether everything has been read.
    pub is_whole: bool,
}

impl Lane {
    /// The level of each of `width` columns over `range`, from 0 (no message, or none known) to 8 per row, of the
    /// topics that `is_shown` accepts.
    pub fn levels(
        &self,
        range: TimeRange,
        width: u16,
        rows: u16,
        is_shown: impl Fn(usize) -> bool,
    ) -> Vec<u16> {
        let shares = self.shares(range, width);
        let shown = self.outline.topics.iter().enumerate();
        let shown = shown.filter(|(at, _)| is_shown(*at));
        shares.levels(shown.map(|(_, topic)| topic.density.as_slice()), rows)
    }

    /// How densities are distributed over columns; for [`Lane::levels_of`].
    pub(crate) fn shares(&self, range: TimeRange, width: u16) -> Shares {
        let topics = self.outline.topics.iter();
        let parts = topics.map(|topic| topic.density.len()).max();
        Shares::new((self.range, parts.unwrap_or(0)), (range, width.into()))
    }

    /// The levels of one topic in a single row of columns, from 0 to 8; all 0 if the topic is not known.
    pub(crate) fn levels_of(&self, topic: usize, shares: &Shares) -> Vec<u16> {
        let topic = self.outline.topics.get(topic);
        shares.levels(topic.map(|topic| topic.density.as_slice()), 1)
    }
}

/// Which share of each part of a density each column gets: a part goes to all columns that it touches. The same for all
/// topics of a lane.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Shares {
    from: (TimeRange, usize),
    to: (TimeRange, usize),
    /// Parts, columns and shares.
    all: Vec<(usize, usize, f64)>,
}

impl Shares {
    /// Of so many equal parts of a range for so many equal columns of another.
    fn new(from: (TimeRange, usize), to: (TimeRange, usize)) -> Self {
        let nanos = |range: TimeRange| i128::from(range.duration().as_nanos().max(1));
        let count = |parts: usize| i128::try_from(parts).unwrap_or(i128::MAX);
        let (of, width) = (count(from.1), count(to.1));
        let mut all = Vec::new();
        // Integers give exactly the columns that are touched, in units of nanoseconds / (of × width), from the first
        // column.
        let (part, column) = (nanos(from.0) * width, nanos(to.0) * of);
        let lead = i128::from(from.0.start().as_nanos()) - i128::from(to.0.start().as_nanos());
        let first = lead * of * width;
        let parts = if width == 0 { 0 } else { from.1 };
        for (at, index) in (0..).zip(0..parts) {
            let start = (first + at * part).max(0);
            let stop = (first + (at + 1) * part).min(column * width);
            for touched in (start / column)..width {
                let overlap = stop.min((touched + 1) * column) - start.max(touched * column);
                if overlap <= 0 {
                    break;
                }
                if let Ok(touched) = usize::try_from(touched) {
                    all.push((index, touched, share(overlap, part)));
                }
            }
        }
        Self { from, to, all }
    }

    /// The level of each column, from 0 to 8 per row, of densities that are added up.
    fn levels<'a>(&self, densities: impl IntoIterator<Item = &'a [f64]>, rows: u16) -> Vec<u16> {
        let mut columns = vec![0.0; self.to.1];
        for density in densities {
            self.add(density, &mut columns);
        }
        let most = columns.iter().copied().fold(0.0, f64::max);
        let levels = columns.into_iter();
        levels.map(|count| level(count, most, 8 * rows)).collect()
    }

    fn add(&self, density: &[f64], columns: &mut [f64]) {
        if density.len() == self.from.1 {
            for (part, column, share) in &self.all {
                columns[*column] += density[*part] * share;
            }
        } else if !density.is_empty() {
            // A player elsewhere may have told of another number of parts.
            Self::new((self.from.0, density.len()), self.to).add(density, columns);
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "it is the height of a column")]
fn share(overlap: i128, of: i128) -> f64 {
    overlap as f64 / of as f64
}

/// The square root keeps low levels visible beside bursts. A column with any message has a level.
fn level(count: f64, most: f64, highest: u16) -> u16 {
    if count <= 0.0 || most <= 0.0 {
        return 0;
    }
    let height = (count / most).sqrt() * f64::from(highest);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is not above the highest"
    )]
    let level = height.ceil() as u16;
    level.clamp(1, highest.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bag::TopicOutline;
    use crate::time::Time;

    fn levels(parts: &[f64], width: u16) -> Vec<u16> {
        let topic = |density: &[f64]| TopicOutline {
            density: density.to_vec(),
            bytes: None,
        };
        let lane = Lane {
            range: TimeRange::ALL,
            outline: Outline {
                topics: vec![topic(parts), topic(&[1e9])],
            },
            is_whole: true,
        };
        lane.levels(lane.range, width, 1, |topic| topic == 0)
    }

    #[test]
    fn gaps_are_empty_and_the_lowest_density_is_visible() {
        assert_eq!(levels(&[64.0, 0.0, 16.0, 0.001], 4), [8, 0, 4, 1]);
        assert_eq!(levels(&[0.0, 0.0], 2), [0, 0]);
        assert_eq!(levels(&[], 2), [0, 0]);
        assert_eq!(levels(&[1.0], 0), [0_u16; 0]);
    }

    #[test]
    fn a_part_of_the_range_shows_the_density_of_that_part() {
        let range = |from, to| TimeRange::between(Time::from_nanos(from), Time::from_nanos(to));
        let topic = TopicOutline {
            density: vec![4.0, 0.0, 1.0, 16.0],
            bytes: None,
        };
        let lane = Lane {
            range: range(100, 500),
            outline: Outline {
                topics: vec![topic],
            },
            is_whole: true,
        };
        for (from, to, levels) in [
            (100, 500, [4, 0, 2, 8]),
            (200, 400, [0, 0, 8, 8]),
            (400, 500, [8, 8, 8, 8]),
            (0, 400, [0, 8, 0, 4]),
            (500, 900, [0, 0, 0, 0]),
            (700, 701, [0, 0, 0, 0]),
            (0, 100, [0, 0, 0, 0]),
        ] {
            assert_eq!(
                lane.levels(range(from, to), 4, 1, |_| true),
                levels,
                "{from} to {to}"
            );
        }
    }

    #[test]
    fn parts_are_combined_into_fewer_columns_and_spread_over_more() {
        assert_eq!(levels(&[1.0, 1.0, 0.0, 0.0, 8.0, 8.0], 3), [3, 0, 8]);
        assert_eq!(levels(&[1.0, 0.0, 1.0], 6), [8, 8, 0, 0, 8, 8]);
    }
}
