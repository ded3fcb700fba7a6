//! [`Weights`]: how long cases take: from the summaries of their recordings, or from an earlier report.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::bag::Bag;
use crate::ci::suite::scenario::Case;
use crate::ci::suite::shard_file::read::read_lines;
use crate::untrusted::Foreign;

/// How many bytes per second are assumed for runs that are not paced by time.
const UNPACED: u64 = 50 << 20;
/// The longest report in XML that is read, in bytes.
const LONGEST_XML: u64 = 256 << 20;

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
        let measured = |case: &Case| {
            timings
                .and_then(|timings| timings.0.get(&case.name))
                .copied()
        };
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
    /// Milliseconds and bytes.
    known: BTreeMap<Vec<PathBuf>, Option<(u64, u64)>>,
    notes: Vec<String>,
}

impl Summaries {
    fn estimate(&mut self, case: &Case) -> Option<u64> {
        if !self.known.contains_key(&case.bags) {
            let summary = match Bag::open(&case.bags) {
                Ok(bag) => {
                    let span = bag.range().map(|range| range.duration().as_millis());
                    let bytes = bag.files().iter().map(|file| file.bytes).sum();
                    Some((u64::try_from(span.unwrap_or(0)).unwrap_or(0), bytes))
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
        let (millis, bytes) = (*self.known.get(&case.bags)?)?;
        let number = |flag: &str| {
            let value = case.values(flag).next()?.to_str()?;
            value
                .parse::<f64>()
                .ok()
                .filter(|number| number.is_finite() && *number != 0.0)
        };
        let is_unpaced = case.values("rate").any(|rate| rate == "max");
        let times = number("repeat").map_or(1.0, f64::abs);
        let once = if is_unpaced {
            bytes.saturating_mul(1000) as f64 / UNPACED as f64
        } else {
            let longest = number("playback-duration").map_or(f64::INFINITY, |secs| secs * 1e3);
            (millis as f64).min(longest) / number("rate").map_or(1.0, f64::abs)
        };
        // A float that does not fit becomes the nearest number that does.
        Some((once * times) as u64)
    }
}

/// How long cases took in an earlier run, by their names, in milliseconds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Timings(BTreeMap<String, u64>);

/// Why an earlier report cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", Foreign::path(file))]
pub struct TimingsError {
    file: PathBuf,
    reason: String,
}

impl Timings {
    /// Reads the report of a shard (NDJSON), or a report in the JUnit format: the times of its test suites.
    pub fn read(file: &Path) -> Result<Self, TimingsError> {
        let refuse = |reason: String| TimingsError {
            file: file.to_owned(),
            reason,
        };
        let start = first_byte(file).map_err(|error| refuse(error.to_string()))?;
        if start == Some(b'<') {
            let mut xml = String::new();
            let read =
                File::open(file).and_then(|file| file.take(LONGEST_XML).read_to_string(&mut xml));
            read.map_err(|error| refuse(error.to_string()))?;
            return Self::of_junit(&xml).map_err(refuse);
        }
        let shard = read_lines(file).map_err(|error| refuse(error.reason))?;
        let runs = shard.runs.iter();
        // A float that does not fit becomes the nearest number that does.
        Ok(Self(
            runs.map(|run| (run.name.clone(), run.took_ms as u64))
                .collect(),
        ))
    }

    fn of_junit(xml: &str) -> Result<Self, String> {
        let report =
            quick_junit::Report::deserialize_from_str(xml).map_err(|error| error.to_string())?;
        let of_suite = |suite: quick_junit::TestSuite| {
            let cases = suite.test_cases.iter().filter_map(|case| case.time);
            let time = suite.time.unwrap_or_else(|| cases.sum());
            let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
            (suite.name.into_string(), millis)
        };
        Ok(Self(report.test_suites.into_iter().map(of_suite).collect()))
    }
}

fn first_byte(file: &Path) -> io::Result<Option<u8>> {
    let mut start = Vec::new();
    File::open(file)?.take(64).read_to_end(&mut start)?;
    Ok(start.trim_ascii_start().first().copied())
}

#[cfg(test)]
mod tests {
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
                ("part", "bags = 'demo.mcap'\nplayback-duration = 1.5"),
                ("max", "bags = 'demo.mcap'\nrate = 'max'"),
                ("none", "bags = 'none.mcap'"),
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
        assert_eq!(millis[5], millis[..5].iter().sum::<u64>() / 5);
        assert_eq!(weights.notes.len(), 1, "{:?}", weights.notes);
        let timings = Timings(BTreeMap::from([("plain".to_owned(), 3 * millis[0])]));
        let timed = Weights::of(&list, Some(&timings)).millis;
        assert_eq!(
            (timed[0], timed[2], timed[3]),
            (3 * millis[0], 6 * millis[0], 4_500)
        );
    }

    #[test]
    fn times_are_read_from_junit() {
        let xml = r#"<?xml version="1.0"?>
            <testsuites name="s" tests="2" failures="0" errors="0">
              <testsuite name="a[rate=1]" tests="1" disabled="0" errors="0" failures="0" time="2.5">
                <testcase name="x" time="1"/></testsuite>
              <testsuite name="b" tests="2" disabled="0" errors="0" failures="0">
                <testcase name="x" time="1"/><testcase name="y" time="0.25"/></testsuite>
            </testsuites>"#;
        let timings = Timings::of_junit(xml).unwrap().0;
        assert_eq!(
            timings,
            BTreeMap::from([("a[rate=1]".to_owned(), 2_500), ("b".to_owned(), 1_250)])
        );
        for hostile in ["<", "<testsuites", "<a><b/></a>", "<testsuites name='x'>"] {
            assert!(Timings::of_junit(hostile).is_err(), "{hostile}");
        }
    }
}
