//! [`Partition`]: which part of a suite is run here, as it is written on the command line or as the environment says.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use super::error::{MOST, PartitionError};
use super::variables::{Said, read};
use crate::ci::suite::scenario::Environment;
use crate::untrusted::Foreign;

/// How cases are given to shards.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Cut {
    /// So that all shards take about the same time.
    #[default]
    Weight,
    /// By a hash of the name: a case stays in its shard whatever other cases there are.
    Hash,
}

/// A part of a suite as it is written: `M/N`, `auto` or `auto/N`, with `hash:` before it for [`Cut::Hash`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PartitionArg {
    cut: Cut,
    which: Which,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Which {
    Given(u32, u32),
    Auto(Option<u32>),
}

/// A text that names no part of a suite.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "`{}` is not a partition: write M/N with M from 1 to N, or auto, or auto/N; with `hash:` before it to cut by names",
    Foreign::text(text)
)]
pub struct InvalidPartition {
    text: String,
}

impl FromStr for PartitionArg {
    type Err = InvalidPartition;

    fn from_str(text: &str) -> Result<Self, InvalidPartition> {
        let (cut, which) = match text.strip_prefix("hash:") {
            Some(which) => (Cut::Hash, which),
            None => (Cut::Weight, text),
        };
        let parsed = match which.split_once('/') {
            None if which == "auto" => Some(Which::Auto(None)),
            Some(("auto", of)) => number(of).map(|of| Which::Auto(Some(of))),
            Some((shard, of)) => number(shard)
                .zip(number(of))
                .filter(|(shard, of)| shard <= of)
                .map(|(shard, of)| Which::Given(shard, of)),
            None => None,
        };
        let which = parsed.ok_or_else(|| InvalidPartition {
            text: text.to_owned(),
        })?;
        Ok(Self { cut, which })
    }
}

/// From 1 to [`MOST`], in decimal digits alone.
fn number(text: &str) -> Option<u32> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|_| is_plain)?;
    (1..=MOST).contains(&number).then_some(number)
}

/// A part of a suite.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Partition {
    /// How cases are given to shards.
    pub cut: Cut,
    /// The number of this shard, from 1.
    pub shard: u32,
    /// How many there are.
    pub shards: u32,
    /// What it was taken from, in words.
    pub from: String,
    /// A file that a system wants to be made by a program that knows of shards.
    pub status_file: Option<PathBuf>,
}

impl Partition {
    /// The whole suite.
    pub fn whole() -> Self {
        Self {
            cut: Cut::Weight,
            shard: 1,
            shards: 1,
            from: "the whole suite".into(),
            status_file: None,
        }
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}/{} ({})",
            self.shard,
            self.shards,
            Foreign::text(&self.from)
        )
    }
}

impl PartitionArg {
    /// Which part is meant, in this environment.
    pub fn resolve(&self, environment: Environment<'_>) -> Result<Partition, PartitionError> {
        let given = match self.which {
            Which::Given(shard, shards) => Partition {
                shard,
                shards,
                from: "from the command line".to_owned(),
                ..Partition::whole()
            },
            Which::Auto(given) => by_environment(given, environment)?,
        };
        Ok(Partition {
            cut: self.cut,
            ..given
        })
    }
}

fn by_environment(
    given: Option<u32>,
    environment: Environment<'_>,
) -> Result<Partition, PartitionError> {
    let mut all = read(environment)?;
    for said in &mut all {
        said.shards = said.shards.or(given.map(u64::from));
        if said.shards.is_none() {
            return Err(PartitionError::NoTotal {
                system: said.system,
                variables: said.from.clone(),
            });
        }
    }
    // Some systems say 1 of 1 where nothing is spread.
    if all.iter().any(|said| said.shards > Some(1)) {
        all.retain(|said| said.shards > Some(1));
    }
    let mut all = all.into_iter();
    let said = all.next().ok_or(PartitionError::Unset)?;
    let place = |said: &Said| (said.shard, said.shards);
    if let Some(other) = all.find(|other| place(other) != place(&said)) {
        return Err(PartitionError::Ambiguous {
            one: said.from,
            other: other.from,
        });
    }
    let Said {
        system,
        status_file,
        shard,
        shards,
        from,
    } = said;
    let shards = shards.unwrap_or(1);
    if let Some(given) = given.filter(|given| u64::from(*given) != shards) {
        return Err(PartitionError::OtherTotal {
            given,
            variables: from,
        });
    }
    if shard > shards {
        return Err(PartitionError::Outside {
            system,
            variables: from,
        });
    }
    match (u32::try_from(shard), u32::try_from(shards)) {
        (Ok(shard), Ok(shards @ ..=MOST)) => Ok(Partition {
            cut: Cut::Weight,
            shard,
            shards,
            from: format!("from {system}: {from}"),
            status_file: status_file.and_then(environment).map(PathBuf::from),
        }),
        _ => Err(PartitionError::TooMany { variables: from }),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    /// Variables are written `NAME=VALUE`, with spaces between them.
    fn resolve(arg: &str, variables: &str) -> Result<(u32, u32), String> {
        let look_up = |name: &str| {
            let mut pairs = variables.split(' ').filter_map(|pair| pair.split_once('='));
            let found = pairs.find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        };
        let arg: PartitionArg = arg
            .parse()
            .map_err(|error: InvalidPartition| error.to_string())?;
        let partition = arg.resolve(&look_up).map_err(|error| error.to_string())?;
        Ok((partition.shard, partition.shards))
    }

    #[test]
    fn parts_are_read_and_counted_from_1() {
        for (text, meant) in [
            ("1/1", Some((1, 1))),
            ("3/8", Some((3, 8))),
            ("hash:8/8", Some((8, 8))),
            ("0/8", None),
            ("9/8", None),
            ("+1/8", None),
            ("1/0", None),
            ("1/100001", None),
            ("1/99999999999999999999", None),
            ("1", None),
            ("", None),
            ("hash:", None),
            ("Auto", None),
            ("auto/0", None),
            ("a/b", None),
        ] {
            assert_eq!(resolve(text, "").ok(), meant, "{text}");
        }
        let hash: PartitionArg = "hash:auto/4".parse().unwrap();
        assert_eq!(hash.cut, Cut::Hash);
    }

    #[test]
    fn each_system_is_read_in_its_own_way_of_counting() {
        let cases: [(&str, &str, (u32, u32)); 17] = [
            ("auto", "CI_NODE_INDEX=1 CI_NODE_TOTAL=4", (1, 4)),
            ("auto", "CIRCLE_NODE_INDEX=0 CIRCLE_NODE_TOTAL=4", (1, 4)),
            (
                "auto",
                "BUILDKITE_PARALLEL_JOB=3 BUILDKITE_PARALLEL_JOB_COUNT=4",
                (4, 4),
            ),
            (
                "auto",
                "SYSTEM_JOBPOSITIONINPHASE=4 SYSTEM_TOTALJOBSINPHASE=4",
                (4, 4),
            ),
            (
                "auto",
                "AWS_BATCH_JOB_ARRAY_INDEX=9 AWS_BATCH_JOB_ARRAY_SIZE=10",
                (10, 10),
            ),
            (
                "auto",
                "CLOUD_RUN_TASK_INDEX=0 CLOUD_RUN_TASK_COUNT=2",
                (1, 2),
            ),
            ("auto", "BATCH_TASK_INDEX=1 BATCH_TASK_COUNT=2", (2, 2)),
            ("auto", "TEST_SHARD_INDEX=1 TEST_TOTAL_SHARDS=2", (2, 2)),
            ("auto", "GTEST_SHARD_INDEX=1 GTEST_TOTAL_SHARDS=2", (2, 2)),
            ("auto/3", "NOMAD_ALLOC_INDEX=0", (1, 3)),
            ("auto", "LSB_JOBINDEX=5 LSB_JOBINDEX_END=5", (5, 5)),
            (
                "auto",
                "SGE_TASK_ID=6 SGE_TASK_FIRST=2 SGE_TASK_LAST=8 SGE_TASK_STEPSIZE=2",
                (3, 4),
            ),
            ("auto/8", "JOB_COMPLETION_INDEX=7", (8, 8)),
            ("auto/8", "PBS_ARRAY_INDEX=1", (1, 8)),
            (
                "auto",
                "SLURM_ARRAY_TASK_ID=5 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_MAX=7 SLURM_ARRAY_TASK_STEP=2 SLURM_ARRAY_TASK_COUNT=4",
                (3, 4),
            ),
            // A job of CircleCI that is not spread, with a system inside that is.
            (
                "auto",
                "TEST_SHARD_INDEX=1 TEST_TOTAL_SHARDS=3 CIRCLE_NODE_INDEX=0 CIRCLE_NODE_TOTAL=1",
                (2, 3),
            ),
            ("auto", "CIRCLE_NODE_INDEX=0 CIRCLE_NODE_TOTAL=1", (1, 1)),
        ];
        for (arg, variables, meant) in cases {
            assert_eq!(resolve(arg, variables), Ok(meant), "{variables:?}");
        }
    }

    #[test]
    fn only_bazel_has_a_file_that_tells_of_shards() {
        for (index, total, wanted) in [
            ("TEST_SHARD_INDEX", "TEST_TOTAL_SHARDS", true),
            ("GTEST_SHARD_INDEX", "GTEST_TOTAL_SHARDS", false),
        ] {
            let look_up = |name: &str| match name {
                "TEST_SHARD_STATUS_FILE" => Some(OsString::from("status")),
                _ if name == index => Some("0".into()),
                _ if name == total => Some("2".into()),
                _ => None,
            };
            let arg: PartitionArg = "auto".parse().unwrap();
            let file = arg.resolve(&look_up).unwrap().status_file;
            assert_eq!(file.is_some(), wanted, "{index}");
        }
    }

    #[test]
    fn what_does_not_say_which_part_is_meant_is_an_error() {
        let cases: [(&str, &str, &str); 17] = [
            ("auto", "", "no variable"),
            ("auto", "LSB_JOBINDEX=0", "no variable"),
            ("auto", "SGE_TASK_ID=undefined", "no variable"),
            (
                "auto",
                "JOB_COMPLETION_INDEX=0",
                "not how many jobs there are",
            ),
            ("auto", "CI_NODE_INDEX=1", "not how many jobs there are"),
            (
                "auto",
                "SLURM_ARRAY_TASK_ID=1",
                "not how many jobs there are",
            ),
            ("auto", "CI_NODE_INDEX=0 CI_NODE_TOTAL=4", "out of range"),
            ("auto", "CI_NODE_INDEX=5 CI_NODE_TOTAL=4", "out of range"),
            (
                "auto",
                "CIRCLE_NODE_INDEX=4 CIRCLE_NODE_TOTAL=4",
                "out of range",
            ),
            ("auto/8", "JOB_COMPLETION_INDEX=8", "out of range"),
            (
                "auto",
                "CI_NODE_INDEX=one CI_NODE_TOTAL=4",
                "is not a number",
            ),
            (
                "auto",
                "CI_NODE_INDEX=1 CI_NODE_TOTAL=-4",
                "is not a number",
            ),
            (
                "auto/3",
                "CI_NODE_INDEX=1 CI_NODE_TOTAL=4",
                "but the environment gives",
            ),
            (
                "auto",
                "CI_NODE_INDEX=1 CI_NODE_TOTAL=9999999",
                "more than 100000 jobs",
            ),
            (
                "auto",
                "CLOUD_RUN_TASK_INDEX=18446744073709551615 CLOUD_RUN_TASK_COUNT=2",
                "out of range",
            ),
            (
                "auto",
                "CI_NODE_INDEX=1 CI_NODE_TOTAL=4 TEST_SHARD_INDEX=1 TEST_TOTAL_SHARDS=4",
                "both",
            ),
            (
                "auto",
                "SLURM_ARRAY_TASK_ID=3 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_MAX=7 SLURM_ARRAY_TASK_STEP=1 SLURM_ARRAY_TASK_COUNT=3",
                "gaps",
            ),
        ];
        for (arg, variables, reason) in cases {
            let error = resolve(arg, variables).unwrap_err();
            assert!(error.contains(reason), "{variables:?}: {error}");
        }
    }
}
