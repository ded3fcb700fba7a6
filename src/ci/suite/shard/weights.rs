//! [`Weights`]: how long cases take: from the summaries of their recordings, or from an earlier report.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration as StdDuration;

use super::millis::millis_of;
use super::timings::Timings;
use crate::bag::Bag;
use crate::ci::suite::scenario::Case;
use crate::time::{Duration, TimeRange, When, parse_span};
use crate::untrusted::Foreign;

/// How many bytes per second are assumed for runs that are not paced by time.
const UNPACED: u64 = 50 << 20;

/// How long cases take, in milliseconds. Only their relation counts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Weights {
    /// Of each case, in the order in which they were given.
    pub millis: Vec<u64>,
    /// What could not be found out, one sentence each.
    pub notes: Vec<String>,
}

impl Weights {
    /// The duration of the recordings divided by the rate, times the repetitions; for the rate `max` by their bytes. A
    /// case that `timings` has takes the time that it took; the other estimates are scaled to these. A recording that
    /// cannot be opened gives the mean of the others.
    pub fn of(cases: &[Case], timings: Option<&Timings>) -> Self {
        let mut known = Summaries::default();
        let estimates: Vec<Option<u64>> = cases.iter().map(|case| known.estimate(case)).collect();
        let measured = |case: &Case| timings.and_then(|timings| timings.of(&case.name));
        let both = cases.iter().zip(&estimates);
        let both = both.filter_map(|(case, estimate)| Some((measured(case)?, (*estimate)?)));
        let (took, guessed) = both.fold((0_u128, 0_u128), |(took, guessed), (one, other)| {
            (took + u128::from(one), guessed + u128::from(other))
        });
        let scaled = |estimate: u64| {
            if guessed == 0 {
                return estimate;
            }
            u64::try_from(u128::from(estimate) * took / guessed).unwrap_or(u64::MAX)
        };
        let each =
            |(case, estimate): (&Case, &Option<u64>)| measured(case).or(estimate.map(scaled));
        let millis: Vec<Option<u64>> = cases.iter().zip(&estimates).map(each).collect();
        let count = millis.iter().flatten().count().max(1) as u64;
        let sum = millis
            .iter()
            .flatten()
            .fold(0_u64, |sum, one| sum.saturating_add(*one));
        Self {
            millis: millis
                .into_iter()
                .map(|one| one.unwrap_or(sum / count))
                .collect(),
            notes: known.notes,
        }
    }
}

/// The summaries of recordings that were opened.
#[derive(Default)]
struct Summaries {
    /// The time range and the bytes.
    known: BTreeMap<Vec<PathBuf>, Option<(Option<TimeRange>, u64)>>,
    notes: Vec<String>,
}

impl Summaries {
    fn estimate(&mut self, case: &Case) -> Option<u64> {
        if !self.known.contains_key(&case.bags) {
            let summary = match Bag::open(&case.bags) {
                Ok(bag) => {
                    let bytes = bag.files().iter().map(|file| file.bytes).sum();
                    Some((bag.range(), bytes))
                }
                Err(error) => {
                    self.notes.push(format!(
                        "how long {} takes is not known: {error}",
                        Foreign::text(&case.name)
                    ));
                    None
                }
            };
            self.known.insert(case.bags.clone(), summary);
        }
        let (range, bytes) = (*self.known.get(&case.bags)?)?;
        let whole = range.map_or(0.0, |range| range.duration().as_secs_f64());
        let played = range.map_or(0.0, |range| played_secs(case, range));
        let number = |flag: &str| {
            let value = case.values(flag).next()?.to_str()?;
            value
                .parse::<f64>()
                .ok()
                .filter(|number| number.is_finite() && *number != 0.0)
        };
        let is_unpaced = case.values("rate").any(|rate| rate == "max");
        let times = number("repeat").map_or(1.0, f64::abs);
        let secs = if is_unpaced {
            let all = StdDuration::from_millis(bytes.saturating_mul(1000) / UNPACED).as_secs_f64();
            if whole > 0.0 {
                all * played / whole
            } else {
                all
            }
        } else {
            played / number("rate").map_or(1.0, f64::abs)
        };
        Some(millis_of(secs * times))
    }
}

/// How much of a recording a case plays, in seconds, without parts of milliseconds. A bound that cannot be read is not
/// one; it is reported when the command line is read.
fn played_secs(case: &Case, range: TimeRange) -> f64 {
    let text = |flag: &str| case.values(flag).next().and_then(|value| value.to_str());
    let when = |flag: &str| {
        let when: When = text(flag)?.parse().ok()?;
        Some(range.clamp(when.in_range(range)))
    };
    let span = |flag: &str| parse_span(text(flag)?).ok().map(Duration::as_millis);
    let start = when("start").unwrap_or(range.start());
    let stop = when("end").unwrap_or(range.stop());
    let offset = span("start-offset").unwrap_or(0).max(0);
    let millis = stop.saturating_since(start).as_millis() - offset;
    let longest = span("playback-duration").unwrap_or(i64::MAX);
    let millis = millis.min(longest).max(0);
    let millis = millis.saturating_add(span("tail").unwrap_or(0).max(0));
    StdDuration::from_millis(u64::try_from(millis).unwrap_or(0)).as_secs_f64()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::ci::suite::scenario::Scenario;

    fn cases(folder: &Path, texts: &[(&str, &str)]) -> Vec<Case> {
        let of = |(name, text): &(&str, &str)| {
            Scenario::parse(&folder.join("a.toml"), name, text, &|_| None)
                .unwrap()
                .cases
        };
        texts.iter().flat_map(of).collect()
    }

    #[test]
    fn a_case_takes_the_time_of_its_recording_by_rate_and_repetitions() {
        let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
        let list = cases(
            &demo,
            &[
                ("plain", "bags = 'demo.mcap'"),
                ("fast", "bags = 'demo.mcap'\nrate = -2"),
                ("twice", "bags = 'demo.mcap'\nrepeat = 2"),
                ("part", "bags = 'demo.mcap'\nplayback-duration = '1500ms'"),
                ("max", "bags = 'demo.mcap'\nrate = 'max'"),
                ("none", "bags = 'none.mcap'"),
                (
                    "window",
                    "bags = 'demo.mcap'\nstart = '+1s'\nend = '+3s'\nrate = 2",
                ),
                ("maxpart", "bags = 'demo.mcap'\nend = '50%'\nrate = 'max'"),
                ("tail", "bags = 'demo.mcap'\nend = '+1s'\ntail = '2s'"),
            ],
        );
        let weights = Weights::of(&list, None);
        let millis = &weights.millis;
        assert!(millis[0] > 5_000, "{millis:?}");
        assert_eq!(
            (millis[1], millis[2], millis[3]),
            (millis[0] / 2, millis[0] * 2, 1_500)
        );
        assert!(millis[4] < millis[0]);
        let known: u64 = millis.iter().sum::<u64>() - millis[5];
        assert_eq!(millis[5], known / 8);
        assert_eq!((millis[6], millis[8]), (1_000, 3_000));
        assert!(millis[7].abs_diff(millis[4] / 2) <= 1, "{millis:?}");
        assert_eq!(weights.notes.len(), 1, "{:?}", weights.notes);
        let timings = Timings::from([("plain".to_owned(), 3 * millis[0])]);
        let timed = Weights::of(&list, Some(&timings)).millis;
        assert_eq!(
            (timed[0], timed[2], timed[3]),
            (3 * millis[0], 6 * millis[0], 4_500)
        );
    }
}
