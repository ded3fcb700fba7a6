//! [`Check`]: one thing that was checked, and its verdict. Each is a test case of the reports.

use serde::{Deserialize, Serialize};

/// One thing that was checked.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Check {
    /// What was checked, unique in its run: `/odom: count >= 100`.
    pub name: String,
    /// The kind of check.
    pub kind: Kind,
    /// Whether it holds.
    pub verdict: Verdict,
    /// The reason, in a sentence; also of a check that holds, if there is something to say.
    pub reason: String,
}

/// The kinds of checks, by what they look at.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The run itself: everything was played, nothing was lost.
    Run,
    /// What is played can be read.
    Recording,
    /// The program under test ran to its end.
    Child,
    /// The questions of a gate were answered.
    Gate,
    /// An expectation.
    Expectation,
    /// The outputs are those of a reference.
    Golden,
    /// Repetitions have equal outputs.
    Repeat,
}

/// Whether a check holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It holds.
    Passed,
    /// It was not reached, because something before it failed.
    Skipped,
    /// It does not hold: a verdict on the system under test.
    Failed,
    /// It could not be decided: nothing is known of the system under test.
    Error,
}

impl Kind {
    /// The word: `expectation`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Recording => "recording",
            Self::Child => "child",
            Self::Gate => "gate",
            Self::Expectation => "expectation",
            Self::Golden => "golden",
            Self::Repeat => "repeat",
        }
    }
}

impl Check {
    /// A check that holds.
    pub fn passed(kind: Kind, name: impl Into<String>) -> Self {
        Self::new(kind, name, Verdict::Passed, "")
    }

    /// A check that does not hold.
    pub fn failed(kind: Kind, name: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::new(kind, name, Verdict::Failed, reason)
    }

    /// A check with this verdict.
    pub fn new(
        kind: Kind,
        name: impl Into<String>,
        verdict: Verdict,
        reason: impl Into<String>,
    ) -> Self {
        Self {
            name: name.into(),
            kind,
            verdict,
            reason: reason.into(),
        }
    }
}
