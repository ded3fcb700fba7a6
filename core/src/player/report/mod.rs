//! What a run did, counted while it runs: start at `run_report.rs`.

pub(super) mod counts;
pub(super) mod digest;
pub(super) mod lateness;
pub(super) mod run_report;
