//! Many runs: scenarios, how they are spread over machines, and how their records come together again.
//!
//! A [`scenario`] is a run that stands in a file; with parameters it is several [cases](scenario::Case). A [`CaseList`]
//! has the cases of a suite. A [`Partition`] says which part of it is run here, and [`plan`] which cases that are;
//! [`Runner`] runs them, each as a process of its own. [`ShardWriter`] writes what became of each, and [`merge`] puts
//! the files of all shards together again.

mod case_list;
mod diverged;
mod error;
mod exit_class;
mod merge;
mod repetitions;
mod run;
pub mod scenario;
mod shard;
mod shard_file;
pub mod system;

pub use case_list::CaseList;
pub use error::SuiteError;
pub use exit_class::worst_exit;
pub use merge::{MergeError, Merged, merge};
pub use repetitions::{fold, verdict_on_failures};
pub use run::{Event, Finished, Runner, RunnerError, kill_all};
pub use shard::{
    Cut, InvalidPartition, Partition, PartitionArg, PartitionError, Plan, Timings, TimingsError,
    Weights, attempt, plan,
};
pub use shard_file::{
    End, Header, Line, Planned, SCHEMA, ShardFile, ShardFileError, ShardWriter, Why,
};
