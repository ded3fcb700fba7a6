//! [`SystemRecord`]: a system under test that stays between runs.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::time::{Ros, Time};
use crate::untrusted::Foreign;

/// A system under test that deals with several runs.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SystemRecord {
    /// How many runs it had dealt with before.
    pub runs_before: u32,
    /// The case of the last of them.
    pub after: Option<String>,
    /// Why it was restarted, if another one was there before it.
    pub started_because: Option<String>,
    /// Whether this run had begun: its clock, or what else came first, was sent.
    pub has_begun: bool,
    /// What `/clock` had shown last when this run began; `None` if it had shown nothing yet, or none was served.
    pub clock_from_ns: Option<i64>,
    /// To which time the clock jumped.
    pub clock_to_ns: Option<i64>,
    /// What the clock showed last in this run.
    pub clock_end_ns: Option<i64>,
    /// The commands by which it was reset before this run.
    pub reset: Vec<Vec<String>>,
    /// How many messages it had published after this run received its outputs and before the run had begun: they are
    /// not among the outputs of the run.
    pub outputs_before: u64,
}

impl SystemRecord {
    /// A summary, as a sentence without a full stop.
    pub fn sentence(&self) -> String {
        let mut text = match self.runs_before {
            0 => "the system under test was started for this run".to_owned(),
            1 => "the system under test had dealt with 1 run before".to_owned(),
            runs => format!("the system under test had dealt with {runs} runs before"),
        };
        // Writing into a string does not fail.
        if let Some(why) = &self.started_because {
            let _ = write!(text, ", because {}", Foreign::text(why));
        }
        if let Some(case) = &self.after {
            let _ = write!(text, ", the last one of {}", Foreign::text(case));
        }
        if let (Some(from), Some(to)) = (self.clock_from_ns, self.clock_to_ns) {
            let (from, to) = (Time::<Ros>::from_nanos(from), Time::<Ros>::from_nanos(to));
            let _ = write!(text, "; the clock jumps from {from} to {to}");
        }
        if self.outputs_before > 0 {
            let (messages, verb) = match self.outputs_before {
                1 => ("1 message".to_owned(), "is"),
                more => (format!("{more} messages"), "are"),
            };
            let _ = write!(
                text,
                "; {messages} that came before the run had begun {verb} not among its outputs"
            );
        }
        text
    }
}
