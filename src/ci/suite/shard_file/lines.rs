//! The lines of the file that a shard writes: one [`Header`], a [`RunRecord`] for each case that was run, one [`End`].

use serde::{Deserialize, Serialize};

use crate::ci::report::{self, RunRecord};

/// The version of the form of these files. A reader takes no other one.
pub const SCHEMA: u32 = 1;
/// The version of the records in them.
const RECORDS: u64 = 1;
const _: () = assert!(
    report::SCHEMA == RECORDS,
    "the form of records has changed, and with it that of these files: raise SCHEMA and RECORDS"
);

/// One line.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Line {
    /// The first line.
    Suite(Header),
    /// A case that was run, when it has ended.
    Run(Box<RunRecord>),
    /// The last line.
    End(End),
}

/// The suite, and the part of it that the file is about.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Header {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The version of this program.
    pub version: String,
    /// [`CaseList::digest`](crate::ci::suite::CaseList::digest).
    pub digest: String,
    /// [`Plan::digest`](crate::ci::suite::Plan::digest).
    pub plan: String,
    /// All cases of the suite, sorted by name.
    pub cases: Vec<Planned>,
    /// The number of this shard, from 1.
    pub shard: u32,
    /// How many there are.
    pub shards: u32,
    /// From what the number was taken, in words.
    pub from: String,
    /// How often this shard was tried, from 1.
    pub attempt: u32,
}

/// A case of the suite.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Planned {
    /// Its name.
    pub name: String,
    /// The shard that runs it.
    pub shard: u32,
    /// Whether it is compared with a reference.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub golden: bool,
}

/// How a shard ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct End {
    /// Why.
    pub why: Why,
    /// How many cases have a record in the file.
    pub cases: usize,
}

/// Why a shard ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// All of its cases were run.
    Complete,
    /// A case failed, and others were left out because of that.
    FailFast,
    /// It was interrupted by a signal.
    Interrupted,
}
