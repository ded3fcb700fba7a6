//! [`Expectation`]: one thing that is expected, as it was read.

use std::fmt;

use super::rules::count::CountSpec;
use super::rules::field::FieldSpec;
use super::rules::gate::GateSpec;
use super::rules::latency::LatencySpec;
use super::rules::rate::RateSpec;
use super::rules::stamps::StampsSpec;
use super::rules::transform::TransformSpec;
use crate::time::{Duration, WhenRange};
use crate::untrusted::Foreign;

/// One thing that is expected.
#[derive(Clone, Debug)]
pub(crate) struct Expectation {
    /// What its name begins with: the topic, or a name from the file.
    pub(crate) label: String,
    /// The topic that is judged; empty if there is none.
    pub(crate) topic: String,
    pub(crate) window: Option<Window>,
    /// Whether the topic may be missing.
    pub(crate) allows_none: bool,
    pub(crate) spec: Spec,
}

impl Expectation {
    /// Its name in reports, which is not unique yet.
    pub(crate) fn name(&self) -> String {
        let window = self.window.as_ref().map_or(String::new(), Window::within);
        let label = Foreign::text(&self.label).at_most(200);
        format!("{label}: {}{window}", self.spec)
    }
}

/// The part of the log that is judged.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Window {
    /// As it was written.
    pub(crate) text: String,
    pub(crate) range: WhenRange,
}

impl Window {
    /// At the end of a sentence.
    pub(crate) fn within(&self) -> String {
        format!(" within {}", Foreign::text(&self.text).at_most(100))
    }
}

/// What is expected.
#[derive(Clone, Debug)]
pub(crate) enum Spec {
    Count(CountSpec),
    Rate(RateSpec),
    /// At most so long without a message.
    MaxGap(Duration),
    Latency(LatencySpec),
    Stamps(StampsSpec),
    Field(FieldSpec),
    Transform(TransformSpec),
    Gate(GateSpec),
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(spec) => spec.fmt(f),
            Self::Rate(spec) => spec.fmt(f),
            Self::MaxGap(most) => write!(f, "gap <= {most}"),
            Self::Latency(spec) => spec.fmt(f),
            Self::Stamps(spec) => spec.fmt(f),
            Self::Field(spec) => spec.fmt(f),
            Self::Transform(spec) => spec.fmt(f),
            Self::Gate(spec) => spec.fmt(f),
        }
    }
}
