//! [`PartitionError`]: why it is not known which part of a suite is run here.

use crate::untrusted::Foreign;

/// The most parts of a suite.
pub(super) const MOST: u32 = 100_000;

/// Why it is not known which part of a suite is run here.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PartitionError {
    /// No variable is set.
    #[error(
        "--partition auto: no variable of the environment gives the number of this job (SLURM_ARRAY_TASK_ID, JOB_COMPLETION_INDEX, CI_NODE_INDEX and others); write --partition M/N"
    )]
    Unset,
    /// A number without how many there are.
    #[error(
        "--partition auto: {system} gives {}, but not how many jobs there are; write --partition auto/N",
        Foreign::text(variables)
    )]
    NoTotal {
        /// The system.
        system: &'static str,
        /// What it gives.
        variables: String,
    },
    /// A number that is greater than how many there are, or too small.
    #[error(
        "--partition auto: out of range: {system} gives {}",
        Foreign::text(variables)
    )]
    Outside {
        /// The system.
        system: &'static str,
        /// What it gives.
        variables: String,
    },
    /// A list of numbers with gaps.
    #[error(
        "--partition auto: the numbers of the jobs have gaps ({}); give them as a range, such as 1-8",
        Foreign::text(variables)
    )]
    Gaps {
        /// What is given.
        variables: String,
    },
    /// A variable that is not a number.
    #[error(
        "--partition auto: {variable}=`{}` is not a number",
        Foreign::text(text)
    )]
    NoNumber {
        /// The variable.
        variable: &'static str,
        /// Its value.
        text: String,
    },
    /// Two systems say different things.
    #[error(
        "--partition auto: both {} and {} are set; write --partition M/N",
        Foreign::text(one),
        Foreign::text(other)
    )]
    Ambiguous {
        /// What one gives.
        one: String,
        /// What another gives.
        other: String,
    },
    /// The environment has another number of jobs than the command line.
    #[error(
        "--partition auto/{given}: but the environment gives {}",
        Foreign::text(variables)
    )]
    OtherTotal {
        /// By the command line.
        given: u32,
        /// By the environment.
        variables: String,
    },
    /// There are too many.
    #[error(
        "--partition auto: more than {MOST} jobs: {}",
        Foreign::text(variables)
    )]
    TooMany {
        /// What is given.
        variables: String,
    },
}
