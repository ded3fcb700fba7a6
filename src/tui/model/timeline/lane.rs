//! [`Lane`]: message density, drawn as one level per column; gaps stay empty.
//!
//! A lane is measured by the median of its columns that have messages: a steady topic has the level [`USUAL`] in every
//! column, whatever its rate, and so has a recording of steady topics. What is missing is seen as well as what is more.

use super::axis::Axis;
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

/// The level of a column with the median number of messages, of 8.
const USUAL: u16 = 5;

/// What a column of the highest level has, in medians.
fn highest() -> f64 {
    f64::from(8 * 8) / f64::from(USUAL * USUAL)
}

/// The density of a column against the median of those that have messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Density {
    /// Less than half of it.
    Low,
    /// About the median.
    Usual,
    /// More than one and a half times.
    High,
}

/// A column of a lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LaneColumn {
    /// From 0 (no message, or none known) to 8 per row.
    pub(crate) level: u16,
    pub(crate) density: Density,
}

impl Lane {
    /// Each column of `axis`, of the topics that `is_shown` accepts. A column with the median number of messages has
    /// five eighths of the height; less if the densest column has more than about 2.5 times the median: it is the
    /// highest then.
    pub(crate) fn columns(
        &self,
        axis: Axis,
        rows: u16,
        is_shown: impl Fn(usize) -> bool,
    ) -> Vec<LaneColumn> {
        let shares = self.shares(axis);
        let shown = self.outline.topics.iter().enumerate();
        let shown = shown.filter(|(at, _)| is_shown(*at));
        let counts = shares.counts(shown.map(|(_, topic)| topic.density.as_slice()));
        let most = counts.iter().copied().fold(0.0, f64::max);
        columns(&counts, |count, median| {
            level(count / most.max(median * highest()), 8 * rows)
        })
    }

    /// How densities are distributed over columns; for [`Lane::columns_of`].
    pub(crate) fn shares(&self, axis: Axis) -> Shares {
        let topics = self.outline.topics.iter();
        let parts = topics.map(|topic| topic.density.len()).max().unwrap_or(0);
        let piece = |piece: Axis| {
            let to = (piece.range, piece.width.into());
            let first = usize::from(piece.left - axis.left);
            (first, PieceShares::new((self.range, parts), to))
        };
        Shares {
            width: axis.width.into(),
            pieces: axis.pieces().iter().copied().map(piece).collect(),
        }
    }

    /// The columns of one topic in a single row; all empty if the topic is not known.
    pub(crate) fn columns_of(&self, topic: usize, shares: &Shares) -> Vec<LaneColumn> {
        let topic = self.outline.topics.get(topic);
        let counts = shares.counts(topic.map(|topic| topic.density.as_slice()));
        // Of twice the median and more, the differences are not shown.
        columns(&counts, |count, median| {
            level(count / median / highest(), 8)
        })
    }
}

/// How densities are distributed over the columns of an axis. The same for all topics of a lane.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Shares {
    width: usize,
    /// Those of each piece of the axis, and its first column.
    pieces: Vec<(usize, PieceShares)>,
}

impl Shares {
    /// The number of messages in each column, of densities that are added up.
    fn counts<'a>(&self, densities: impl IntoIterator<Item = &'a [f64]>) -> Vec<f64> {
        let mut columns = vec![0.0; self.width];
        for density in densities {
            for (first, piece) in &self.pieces {
                piece.add(density, &mut columns[*first..]);
            }
        }
        columns
    }
}

/// Which share of each part of a density each column gets: a part goes to all columns that it touches.
#[derive(Clone, PartialEq, Debug)]
struct PieceShares {
    from: (TimeRange, usize),
    to: (TimeRange, usize),
    /// Parts, columns and shares.
    all: Vec<(usize, usize, f64)>,
}

impl PieceShares {
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

/// Columns of these numbers of messages; `level` gets a number and the median.
fn columns(counts: &[f64], level: impl Fn(f64, f64) -> u16) -> Vec<LaneColumn> {
    let mut used: Vec<f64> = counts
        .iter()
        .copied()
        .filter(|count| *count > 0.0)
        .collect();
    let middle = used.len() / 2;
    let median = match used.len() {
        0 => 0.0,
        _ => *used.select_nth_unstable_by(middle, f64::total_cmp).1,
    };
    let column = |count: &f64| LaneColumn {
        level: if *count > 0.0 {
            level(*count, median)
        } else {
            0
        },
        density: density(*count, median),
    };
    counts.iter().map(column).collect()
}

/// Columns of a topic with few messages differ by one although its rate is steady.
fn density(count: f64, median: f64) -> Density {
    if count < median / 2.0 && median - count > 1.0 {
        Density::Low
    } else if count > median * 1.5 && count - median > 1.0 {
        Density::High
    } else {
        Density::Usual
    }
}

/// The level of a column with this share of the messages of the highest column. The square root keeps low levels
/// visible beside bursts. A column with any message has a level. It is rounded, so that columns that differ little from
/// the median have its level.
fn level(share: f64, highest: u16) -> u16 {
    let height = share.clamp(0.0, 1.0).sqrt() * f64::from(highest);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is not above the highest"
    )]
    let level = height.round() as u16;
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
        let columns = lane.columns(Axis::plain(lane.range, 0, width), 1, |topic| topic == 0);
        columns.iter().map(|column| column.level).collect()
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
            (200, 400, [0, 0, 5, 5]),
            (400, 500, [5, 5, 5, 5]),
            (0, 400, [0, 5, 0, 3]),
            (500, 900, [0, 0, 0, 0]),
            (700, 701, [0, 0, 0, 0]),
            (0, 100, [0, 0, 0, 0]),
        ] {
            let columns = lane.columns(Axis::plain(range(from, to), 0, 4), 1, |_| true);
            let found: Vec<u16> = columns.iter().map(|column| column.level).collect();
            assert_eq!(found, levels, "{from} to {to}");
        }
    }

    #[test]
    fn parts_are_combined_into_fewer_columns_and_spread_over_more() {
        assert_eq!(levels(&[1.0, 1.0, 0.0, 0.0, 8.0, 8.0], 3), [2, 0, 5]);
        assert_eq!(levels(&[1.0, 0.0, 1.0], 6), [5, 5, 0, 0, 5, 5]);
    }

    #[test]
    fn a_steady_recording_leaves_room_for_what_is_more_and_dips_are_seen() {
        assert_eq!(levels(&[100.0; 5], 5), [5; 5]);
        assert_eq!(
            levels(&[100.0, 100.0, 50.0, 150.0, 100.0], 5),
            [5, 5, 4, 6, 5]
        );
        // One more or less in ten is not shown: it is chance where columns are narrow.
        assert_eq!(levels(&[10.0, 11.0, 10.0, 9.0, 10.0], 5), [5; 5]);
        // Bursts are not cut off: the highest of them has the full height.
        assert_eq!(levels(&[1.0, 1.0, 1.0, 100.0, 25.0], 5), [1, 1, 1, 8, 4]);
    }

    #[test]
    fn a_lane_of_a_topic_is_measured_by_its_own_median() {
        use Density::{High, Low, Usual};
        let columns = |density: &[f64]| {
            let topic = TopicOutline {
                density: density.to_vec(),
                bytes: None,
            };
            let lane = Lane {
                range: TimeRange::ALL,
                outline: Outline {
                    topics: vec![topic],
                },
                is_whole: true,
            };
            let width = u16::try_from(density.len()).unwrap();
            let columns = lane.columns_of(0, &lane.shares(Axis::plain(lane.range, 0, width)));
            let column = |column: &LaneColumn| (column.level, column.density);
            columns.iter().map(column).collect::<Vec<_>>()
        };
        // Whatever its rate, a steady topic has the same level.
        for count in [1.0, 3.0, 1000.0] {
            assert_eq!(columns(&[count; 3]), [(5, Usual); 3]);
        }
        assert_eq!(
            columns(&[10.0, 10.0, 0.0, 2.0, 10.0, 30.0, 16.0]),
            [
                (5, Usual),
                (5, Usual),
                (0, Low),
                (2, Low),
                (5, Usual),
                (8, High),
                (6, High)
            ]
        );
        // With about one message in a column, one more or less is chance.
        assert_eq!(
            columns(&[1.0, 2.0, 1.0, 0.0]),
            [(5, Usual), (7, Usual), (5, Usual), (0, Usual)]
        );
    }
}
