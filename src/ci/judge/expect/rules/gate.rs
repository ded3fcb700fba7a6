//! How long the answers of a gate took, in wall time.

use std::fmt;

use super::limits::{Limits, percentile};
use crate::ci::gates::GateRule;
use crate::ci::judge::expect::rule::Outcome;
use crate::ci::report::GateRecord;
use crate::time::Duration;

/// The latencies of a gate that are allowed, in wall time: at 50, 99 and 100 percent.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct GateSpec {
    pub(crate) rule: GateRule,
    pub(crate) limits: Limits,
}

impl fmt::Display for GateSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "wall latency {}", self.limits)
    }
}

/// Judges the gate with this rule among those of the run.
pub(crate) fn judge_gate(spec: &GateSpec, gates: &[GateRecord]) -> Outcome {
    let is_same = |gate: &&GateRecord| {
        gate.rule
            .parse::<GateRule>()
            .is_ok_and(|rule| rule == spec.rule)
    };
    let rule = &spec.rule;
    let Some(gate) = gates.iter().find(is_same) else {
        return Outcome::Unknown(format!("{rule}: the run has no such gate"));
    };
    if gate.latency.count == 0 {
        return Outcome::Fails(format!("{rule}: no question was answered"));
    }
    let mut found = Vec::new();
    for (percent, most) in &spec.limits.0 {
        let millis = match percent {
            50 => gate.latency.p50,
            99 => gate.latency.p99,
            _ => gate.latency.max,
        };
        let is_figure = format!("{} = {millis} ms", percentile(*percent));
        let latency = Duration::from_secs_f64(millis / 1e3);
        if latency.is_none_or(|latency| latency > *most) {
            return Outcome::Fails(format!(
                "{rule}: wall latency {is_figure}, at most {most} is expected"
            ));
        }
        found.push(is_figure);
    }
    let count = gate.latency.count;
    Outcome::Holds(format!("{rule}: {} of {count} answers", found.join(", ")))
}
