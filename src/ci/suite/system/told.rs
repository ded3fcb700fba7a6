//! [`Said`] and [`Told`]: the lines of JSON that a suite receives from the holder of a system, and gives to a case.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::ci::child::ChildExit;

/// What the process that holds a system says.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Said {
    /// The program under test was started.
    Started(Held),
    /// It has ended by itself.
    Ended(ChildExit),
    /// It was ended, with everything that it had started.
    Over(Over),
}

/// A system that is held.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Held {
    /// The endpoint of its router.
    pub endpoint: String,
    /// Its ROS domain.
    pub domain_id: u32,
    /// The process that holds it, and the program, which is its child.
    pub processes: (u32, u32),
    /// The files with what it writes.
    pub stdout: PathBuf,
    /// The same of its standard error.
    pub stderr: PathBuf,
    /// The variables that its program has beside those of the suite.
    pub environment: BTreeMap<String, String>,
}

/// How a system was ended.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Over {
    /// What is worth to be said about it, a sentence each.
    pub notes: Vec<String>,
    /// Processes that it left behind and that were ended.
    pub orphans: Vec<String>,
}

/// What a case is told.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Told {
    /// The system that it uses; before everything else.
    System(SystemOfCase),
    /// The program under test has ended.
    Ended(ChildExit),
    /// The process that holds the system has ended: the state of the program under test is unknown.
    Lost,
}

/// A system, and what a case has to know of the runs before it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SystemOfCase {
    /// The system.
    pub held: Held,
    /// The name of this case.
    pub case: String,
    /// How many runs it has dealt with.
    pub runs_before: u32,
    /// The case of the last one.
    pub after: Option<String>,
    /// What `/clock` showed last, in nanoseconds.
    pub clock_ns: Option<i64>,
    /// Why it was restarted, if another one was there before it.
    pub started_because: Option<String>,
    /// The commands that reset it between two runs.
    pub reset: Vec<Vec<String>>,
    /// How long each of them may take, in milliseconds.
    pub reset_timeout_ms: u64,
}
