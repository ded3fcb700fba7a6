//! Shards: which cases of a suite are run where.

mod partition;
mod plan;
mod variables;
mod weights;

pub use partition::{Cut, InvalidPartition, Partition, PartitionArg, PartitionError};
pub use plan::{Plan, plan};
pub use variables::attempt;
pub use weights::{Timings, TimingsError, Weights};
