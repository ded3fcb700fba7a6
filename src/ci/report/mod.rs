//! What is said about a run: the record of everything that happened, and the reports that are made from it.

mod check;
mod record;

pub use check::{Check, Kind, Verdict};
pub use record::{
    ChildRecord, Divergence, Ended, GateRecord, Happened, Host, Input, Moment, OutputTopic, Pacing,
    RecordedFile, Repeated, RunRecord, Spans,
};
