//! What a run waits for, and how these waits end.

use crate::ci::gates::{Ledger, Missed, Tally};
use crate::ci::report::Moment;
use crate::ci::settle::{Settler, Unsettled};
use crate::ci::spans::SpanHistogram;
use crate::time::{Duration, Ros, Time};
use crate::untrusted::Foreign;

/// What happens when a question is not answered in time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnMiss {
    /// The run fails.
    #[default]
    Fail,
    /// It is counted, and the run goes on. More than this many of one rule fail the run.
    Count(u64),
}

/// What a run waits for.
#[derive(Debug)]
pub struct Drive {
    /// The questions.
    pub ledger: Ledger,
    /// What happens when one is not answered.
    pub on_miss: OnMiss,
    /// Whether the run also waits until the processes have settled, which a [`Governor`](super::Governor) tells.
    pub lockstep: bool,
    /// Where the run starts.
    pub start: Time<Ros>,
    /// Whether the system under test was there before the run: then only the clock of the start goes out until
    /// [`Desk::release`](super::Desk::release), and what arrives before it does not belong to the run.
    pub is_held: bool,
}

/// What a [`Governor`](super::Governor) waits for besides answers.
#[derive(Debug)]
pub struct Waiting {
    /// Tells when the processes have settled.
    pub settler: Settler,
    /// How long that may take, each time: from when something is sent until they have settled and nothing new has come.
    pub limit: Duration,
}

/// Why a run cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// A question was not answered in time.
    #[error("{0}")]
    Missed(Missed),
    /// The processes do not settle.
    #[error("the program under test has {0}")]
    Unsettled(Unsettled),
    /// The processes settle again and again, but before the run goes on they have published something: it would wait
    /// for ever.
    #[error(
        "the program under test has not settled after {:.1?}: {messages} messages came meanwhile, the last one of {}",
        took.to_std(), Foreign::text(topic)
    )]
    Restless {
        /// The topic of the last message.
        topic: String,
        /// How many messages came.
        messages: u64,
        /// How long the run has waited since it sent something.
        took: Duration,
    },
    /// A gate goes by the stamps of a topic whose messages have none.
    #[error(
        "gate `{}` goes by stamp, but {} ({}) has no header.stamp that can be read: its type begins with none, or has no definition",
        Foreign::text(rule),
        Foreign::text(topic),
        Foreign::text(type_name)
    )]
    Unstamped {
        /// The rule.
        rule: String,
        /// The topic that answers.
        topic: String,
        /// Its type.
        type_name: String,
    },
    /// The thread that governs the run panicked: a defect of this program.
    #[error("the thread that governs the run panicked")]
    Panicked,
}

/// How far a run has come.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Progress {
    /// What has become of the questions of each rule.
    pub tallies: Vec<Tally>,
    /// How long settling took, each time.
    pub settling: SpanHistogram,
    /// Whether a process under test has run after something was sent. Known only in lockstep.
    pub has_reacted: bool,
    /// The questions that were given up, the first ones.
    pub missed: Vec<Missed>,
    /// When what happened.
    pub timeline: Vec<Moment>,
}

/// How the end of a run was waited for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Drained {
    /// Everything was answered, and the outputs are in.
    Whole,
    /// Everything was answered, but outputs kept coming. Later outputs are not in the run.
    Restless,
    /// Something was in the way: see the [`Trouble`].
    Troubled,
    /// The caller did not want to wait any longer.
    CalledOff,
}
