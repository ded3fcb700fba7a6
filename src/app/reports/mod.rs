//! The files into which runs and suites write their reports.

mod device;
mod targets;

pub(crate) use targets::{ReportTargets, Target};
