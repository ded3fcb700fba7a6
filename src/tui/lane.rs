//! [`Lane`]: how many messages lie where, drawn one level a column; gaps stay empty.

use crate::bag::Outline;
use crate::time::TimeRange;

/// The density of some topics over a range.
#[derive(Clone, PartialEq, Debug)]
pub struct Lane {
    /// What it covers.
    pub range: TimeRange,
    /// What is known so far; it grows while indexes are read.
    pub outline: Outline,
    /// Whether all of it is known.
    pub is_whole: bool,
}

impl Lane {
    /// The level of each of `width` columns, 0 (nothing there) to 8 a row, of the topics that `is_shown`
    /// takes.
    pub fn levels(&self, width: u16, rows: u16, is_shown: impl Fn(usize) -> bool) -> Vec<u16> {
        let mut columns = vec![0.0; width.into()];
        let shown = self.outline.topics.iter().enumerate();
        for (_, topic) in shown.filter(|(at, _)| is_shown(*at)) {
            add(&topic.density, &mut columns);
        }
        let most = columns.iter().copied().fold(0.0, f64::max);
        columns
            .into_iter()
            .map(|count| level(count, most, 8 * rows))
            .collect()
    }
}

/// Lays parts over columns: each part over all columns that it touches, by its share.
fn add(parts: &[f64], columns: &mut [f64]) {
    let (of, width) = (parts.len(), columns.len());
    if of == 0 || width == 0 {
        return;
    }
    for (at, count) in parts.iter().enumerate().filter(|(_, count)| **count > 0.0) {
        // In units of 1 / (of × width) of the range.
        let (from, to) = (at * width, (at + 1) * width);
        let touched = from / of..=(to - 1) / of;
        for (column, sum) in touched.clone().zip(&mut columns[touched]) {
            let overlap = to.min((column + 1) * of) - from.max(column * of);
            *sum += count * share(overlap, width);
        }
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "screens and outlines have few parts"
)]
fn share(overlap: usize, of: usize) -> f64 {
    overlap as f64 / of as f64
}

/// By the square root: bursts leave the rest to be seen. What is there at all has a level.
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
        lane.levels(width, 1, |topic| topic == 0)
    }

    #[test]
    fn gaps_stay_empty_and_the_least_is_seen() {
        assert_eq!(levels(&[64.0, 0.0, 16.0, 0.001], 4), [8, 0, 4, 1]);
        assert_eq!(levels(&[0.0, 0.0], 2), [0, 0]);
        assert_eq!(levels(&[], 2), [0, 0]);
        assert_eq!(levels(&[1.0], 0), [0_u16; 0]);
    }

    #[test]
    fn parts_are_joined_and_spread() {
        assert_eq!(levels(&[1.0, 1.0, 0.0, 0.0, 8.0, 8.0], 3), [3, 0, 8]);
        assert_eq!(levels(&[1.0, 0.0, 1.0], 6), [8, 8, 0, 0, 8, 8]);
    }
}
