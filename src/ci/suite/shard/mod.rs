//! Shards: which cases of a suite are run where.

mod error;
mod millis;
mod partition;
mod plan;
mod timings;
mod variables;
mod weights;

pub use error::PartitionError;
pub use partition::{Cut, InvalidPartition, Partition, PartitionArg};
pub use plan::{Plan, plan};
pub use timings::{Timings, TimingsError};
pub use variables::attempt;
pub use weights::Weights;
