//! [`Judged`]: what is judged.

use crate::bag::{Bag, Selection};
use crate::ci::report::GateRecord;
use crate::time::TimeRange;

/// A run that is judged.
#[derive(Clone, Copy, Debug)]
pub struct Judged<'a> {
    /// What the system under test published. The order of the bag says which times count: log times, unless it was
    /// opened with another.
    pub outputs: &'a Bag,
    /// The recordings that were played: triggers of latencies and transforms are in them, and times such as `+10s` and
    /// `50%` refer to them. `None`: the outputs are in their place.
    pub inputs: Option<&'a Bag>,
    /// The topics of the recordings that were played; `None`: all. A topic that the system under test publishes itself
    /// is not among them.
    pub topics: Option<&'a Selection>,
    /// The names under which topics were played, on the network: those are no outputs, unless a node published them,
    /// too.
    pub played_as: &'a [String],
    /// The part of the recordings that was played, both ends included; `None`: all.
    pub played: Option<TimeRange>,
    /// The gates of the run.
    pub gates: &'a [GateRecord],
}

impl<'a> Judged<'a> {
    /// Any recording, judged without a run.
    pub const fn recording(outputs: &'a Bag) -> Self {
        Self {
            outputs,
            inputs: None,
            topics: None,
            played_as: &[],
            played: None,
            gates: &[],
        }
    }
}
