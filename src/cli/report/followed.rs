//! [`FollowedSummary`]: the clock that a run has followed, as its summary says it.

use std::fmt;

use serde::Serialize;

use super::units::factor;
use crate::player::LeadMotion;
use crate::untrusted::Foreign;

/// The clock that a run has followed.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FollowedSummary {
    topic: String,
    /// The node that publishes it, if that is known.
    node: Option<String>,
    /// At the end of the run: `unknown`, `lost`, `stands` or `moves`.
    state: &'static str,
    /// Its factor at the end of the run, if it moved and that is known.
    factor: Option<f64>,
}

impl FollowedSummary {
    /// The clock on this topic of this node, and what it did at the end of the run.
    pub fn new(topic: &str, node: Option<&str>, motion: LeadMotion) -> Self {
        let (state, factor) = match motion {
            LeadMotion::Unknown => ("unknown", None),
            LeadMotion::Lost => ("lost", None),
            LeadMotion::Stands => ("stands", None),
            LeadMotion::Moves(factor) => ("moves", factor),
        };
        Self {
            topic: topic.to_owned(),
            node: node.map(str::to_owned),
            state,
            factor,
        }
    }
}

impl fmt::Display for FollowedSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "followed {}", Foreign::text(&self.topic))?;
        if let Some(node) = &self.node {
            write!(f, " of {}", Foreign::text(node))?;
        }
        match (self.state, self.factor) {
            ("unknown", _) => write!(f, ", which never sent a time"),
            ("lost", _) => write!(f, ", which was silent at the end"),
            ("stands", _) => write!(f, ", which was paused at the end"),
            (_, Some(rate)) => {
                write!(f, ", at {} at the end", factor(rate, f.alternate()))
            }
            (_, None) => Ok(()),
        }
    }
}
