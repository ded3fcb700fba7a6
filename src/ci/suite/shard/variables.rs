//! The variables by which systems that run many jobs tell a job its number, and how many there are.

use super::error::PartitionError;
use crate::ci::suite::scenario::Environment;

/// How a system counts its jobs.
enum Count {
    /// From 0 or 1, with a variable for how many there are.
    From(u64, &'static str),
    /// From 0 or 1; nothing says how many there are.
    Open(u64),
    /// From a first to a last number in steps: the variables for these, and one for how many there are.
    Range {
        first: Option<&'static str>,
        last: &'static str,
        step: Option<&'static str>,
        count: Option<&'static str>,
    },
}

/// The name of the system, the variable of the shard number, how it counts, and the variable with the path of the file
/// that a program with support for shards has to create.
const SYSTEMS: &[(&str, &str, Count, Option<&str>)] = &[
    (
        "Slurm",
        "SLURM_ARRAY_TASK_ID",
        Count::Range {
            first: Some("SLURM_ARRAY_TASK_MIN"),
            last: "SLURM_ARRAY_TASK_MAX",
            step: Some("SLURM_ARRAY_TASK_STEP"),
            count: Some("SLURM_ARRAY_TASK_COUNT"),
        },
        None,
    ),
    ("Kubernetes", "JOB_COMPLETION_INDEX", Count::Open(0), None),
    (
        "AWS Batch",
        "AWS_BATCH_JOB_ARRAY_INDEX",
        Count::From(0, "AWS_BATCH_JOB_ARRAY_SIZE"),
        None,
    ),
    (
        "GitLab",
        "CI_NODE_INDEX",
        Count::From(1, "CI_NODE_TOTAL"),
        None,
    ),
    (
        "Buildkite",
        "BUILDKITE_PARALLEL_JOB",
        Count::From(0, "BUILDKITE_PARALLEL_JOB_COUNT"),
        None,
    ),
    (
        "CircleCI",
        "CIRCLE_NODE_INDEX",
        Count::From(0, "CIRCLE_NODE_TOTAL"),
        None,
    ),
    (
        "Azure Pipelines",
        "SYSTEM_JOBPOSITIONINPHASE",
        Count::From(1, "SYSTEM_TOTALJOBSINPHASE"),
        None,
    ),
    (
        "Cloud Run",
        "CLOUD_RUN_TASK_INDEX",
        Count::From(0, "CLOUD_RUN_TASK_COUNT"),
        None,
    ),
    (
        "Google Batch",
        "BATCH_TASK_INDEX",
        Count::From(0, "BATCH_TASK_COUNT"),
        None,
    ),
    (
        "Bazel",
        "TEST_SHARD_INDEX",
        Count::From(0, "TEST_TOTAL_SHARDS"),
        Some("TEST_SHARD_STATUS_FILE"),
    ),
    (
        "gtest",
        "GTEST_SHARD_INDEX",
        Count::From(0, "GTEST_TOTAL_SHARDS"),
        None,
    ),
    ("PBS", "PBS_ARRAY_INDEX", Count::Open(1), None),
    (
        "LSF",
        "LSB_JOBINDEX",
        Count::Range {
            first: None,
            last: "LSB_JOBINDEX_END",
            step: Some("LSB_JOBINDEX_STEP"),
            count: None,
        },
        None,
    ),
    (
        "Grid Engine",
        "SGE_TASK_ID",
        Count::Range {
            first: Some("SGE_TASK_FIRST"),
            last: "SGE_TASK_LAST",
            step: Some("SGE_TASK_STEPSIZE"),
            count: None,
        },
        None,
    ),
    ("Nomad", "NOMAD_ALLOC_INDEX", Count::Open(0), None),
];

/// The variables that say how often a job was tried, and the number that the first try has there.
const ATTEMPTS: &[(&str, u32)] = &[
    ("AWS_BATCH_JOB_ATTEMPT", 1),
    ("BUILDKITE_RETRY_COUNT", 0),
    ("CLOUD_RUN_TASK_ATTEMPT", 0),
    ("GITHUB_RUN_ATTEMPT", 1),
    ("SLURM_RESTART_COUNT", 0),
];

/// What a system says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Said {
    pub(super) system: &'static str,
    /// The variable with the path of the file that a program with support for shards has to create.
    pub(super) status_file: Option<&'static str>,
    /// From 1.
    pub(super) shard: u64,
    pub(super) shards: Option<u64>,
    /// The variables and their values.
    pub(super) from: String,
}

/// What all systems say whose variables are set.
pub(super) fn read(environment: Environment<'_>) -> Result<Vec<Said>, PartitionError> {
    let said = SYSTEMS.iter().map(|(system, index, count, status_file)| {
        one(system, (index, *status_file), count, environment)
    });
    said.filter_map(Result::transpose).collect()
}

/// How often this job was tried, from 1, if a variable of its system says so.
pub fn attempt(environment: Environment<'_>) -> Option<u32> {
    ATTEMPTS.iter().find_map(|(variable, first)| {
        let number: u32 = environment(variable)?.to_str()?.trim().parse().ok()?;
        number.checked_sub(*first)?.checked_add(1)
    })
}

fn one(
    system: &'static str,
    (index, status_file): (&'static str, Option<&'static str>),
    count: &Count,
    environment: Environment<'_>,
) -> Result<Option<Said>, PartitionError> {
    let mut from = Vec::new();
    let mut number = |variable: &'static str| -> Result<Option<u64>, PartitionError> {
        let Some(text) = environment(variable).filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        let text = text.to_string_lossy().into_owned();
        from.push(format!("{variable}={text}"));
        match text.trim().parse() {
            Ok(number) => Ok(Some(number)),
            // Of a job of Grid Engine that is no part of an array.
            Err(_) if text == "undefined" => Ok(None),
            Err(_) => Err(PartitionError::NoNumber { variable, text }),
        }
    };
    let Some(at) = number(index)? else {
        return Ok(None);
    };
    let outside = |variables: String| PartitionError::Outside { system, variables };
    let (shard, shards) = match *count {
        Count::From(base, total) => (at.checked_sub(base), number(total)?),
        Count::Open(base) => (at.checked_sub(base), None),
        // Of a job of LSF that is no part of an array.
        Count::Range { first: None, .. } if at == 0 => return Ok(None),
        Count::Range {
            first,
            last,
            step,
            count,
        } => {
            let first = first.map_or(Ok(None), &mut number)?.unwrap_or(1);
            let step = step.map_or(Ok(None), &mut number)?.unwrap_or(1).max(1);
            let count = count.map_or(Ok(None), &mut number)?;
            let last = number(last)?;
            let steps = last.and_then(|last| last.checked_sub(first));
            let shards = steps.map(|steps| steps / step + 1);
            if let (Some(count), Some(shards)) = (count, shards)
                && count != shards
            {
                return Err(PartitionError::Gaps {
                    variables: from.join(", "),
                });
            }
            let offset = at.checked_sub(first);
            (offset.map(|offset| offset / step), shards)
        }
    };
    let from = from.join(", ");
    let shard = shard.and_then(|shard| shard.checked_add(1));
    let shard = shard.ok_or_else(|| outside(from.clone()))?;
    if shards.is_some_and(|shards| shard > shards) {
        return Err(outside(from));
    }
    Ok(Some(Said {
        system,
        status_file,
        shard,
        shards,
        from,
    }))
}
