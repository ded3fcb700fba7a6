//! What the flags of a run with verdicts mean for the player: its pace, its clock, and the topics that the program
//! under test publishes itself.

use std::collections::BTreeSet;

use super::select::{Chosen, SelectError, check_prefix, under};
use super::{LeftOut, PlanError};
use crate::bag::Topic;
use crate::ci::gates::{Limits, Trigger};
use crate::cli::args::ci_flags::CiArgs;
use crate::cli::args::flags::{ClockArgs, PlayArgs};
use crate::player::{Before, ClockOptions, Pace};
use crate::time::{Duration, Speed, TimeRange};
use crate::wire::Which;

/// The steps of the clock in lockstep, if `--clock` does not say them.
const LOCKSTEP_PERIOD: Duration = Duration::from_millis(10);

impl CiArgs {
    /// Whether the run waits for the system under test: playback then goes at its speed.
    pub fn waits(&self) -> bool {
        self.lockstep || !self.gate.is_empty()
    }

    /// The limits of the gates.
    pub fn limits(&self) -> Limits {
        Limits {
            in_flight: usize::try_from(self.in_flight.get()).unwrap_or(usize::MAX),
            within: self.gate_timeout,
        }
    }

    /// The name under which a topic is played that the system under test publishes, too; `None`: it is left out.
    pub fn aside(&self, name: &str) -> Option<String> {
        self.aside.as_ref().map(|prefix| under(prefix, name))
    }

    /// The nodes that have to have joined, by their full names.
    pub fn nodes(&self) -> impl Iterator<Item = String> {
        self.wait_for_nodes.iter().map(|name| absolute(name))
    }

    /// Which topics of other nodes are received and recorded.
    pub fn received(&self) -> Which {
        if self.record_topics.is_empty() {
            return Which::OfOthers;
        }
        let outputs = self.outputs().into_iter();
        Which::Named(outputs.map(|(name, _)| name).collect())
    }

    /// Whether messages of a topic would be received and recorded; a leading slash does not count.
    pub fn receives(&self, topic: &str) -> bool {
        self.received().receives(&absolute(topic))
    }

    /// The topics that the system under test is known to publish, as they are named on the network, with the flag that
    /// names them.
    pub fn outputs(&self) -> BTreeSet<(String, &'static str)> {
        let answers = self.gate.iter().flat_map(|rule| &rule.outputs);
        let answers = answers.map(|name| (name.clone(), "--gate"));
        let recorded = self.record_topics.iter();
        let recorded = recorded.map(|name| (absolute(name), "--record-topics"));
        answers.chain(recorded).collect()
    }
}

fn absolute(name: &str) -> String {
    format!("/{}", name.trim_start_matches('/'))
}

/// How fast to play: at the speed of the system under test, if nothing else is said and the run waits for it.
pub(super) fn pace(args: &PlayArgs) -> Pace {
    match args.time.rate {
        Some(pace) => pace,
        None if args.ci.waits() => Pace::Max,
        None => Pace::At(Speed::NORMAL),
    }
}

/// The clock of a run that waits: exact before each message, and on a grid of log time instead of wall time.
pub(super) fn driven_clock(args: &ClockArgs, ci: &CiArgs, clock: ClockOptions) -> ClockOptions {
    if !ci.waits() {
        return clock;
    }
    let of_lockstep = (ci.lockstep && args.clock.is_none()).then_some(LOCKSTEP_PERIOD);
    let ticks = ci.gate.iter().filter_map(|rule| match rule.trigger {
        Trigger::Tick(span) => Some(span),
        Trigger::Topic(_) => None,
    });
    let mut steps: Vec<Duration> = ticks.chain(clock.period).chain(of_lockstep).collect();
    steps.sort_unstable();
    steps.dedup();
    ClockOptions {
        period: None,
        steps,
        before: Before::All,
        ..clock
    }
}

/// A range that goes on for the tail, in which there are no messages.
pub(super) fn with_tail(ci: &CiArgs, range: TimeRange) -> TimeRange {
    let tail = ci.tail.unwrap_or_default();
    TimeRange::between(range.start(), range.stop().saturating_add(tail))
}

/// Recorded topics that the system under test publishes itself, by what the flags say, are left out or moved aside: its
/// nodes would receive both.
pub(super) fn without_outputs(
    ci: &CiArgs,
    chosen: Vec<Chosen>,
    topics: &[Topic],
) -> Result<(Vec<Chosen>, Vec<LeftOut>), SelectError> {
    check_prefix("--aside", ci.aside.as_deref())?;
    let outputs = ci.outputs();
    let flag = |name: &str| {
        let mut named = outputs.iter().filter(|(output, _)| output == name);
        named.next().map(|(_, flag)| *flag)
    };
    let (mut played, mut left_out) = (Vec::new(), Vec::new());
    for one in chosen {
        let aside = flag(&one.name).and_then(|_| ci.aside(&one.name));
        let one = Chosen {
            name: aside.unwrap_or(one.name),
            ..one
        };
        match flag(&one.name) {
            None => played.push(one),
            Some(flag) => {
                let reason = format!("the program under test publishes it ({flag})");
                left_out.push(LeftOut::on_purpose(&topics[one.id.index()], reason));
            }
        }
    }
    Ok((played, left_out))
}

/// Each gate has to have a topic that is played: otherwise it would never be closed, and the run would prove nothing.
pub(super) fn check_gates(ci: &CiArgs, chosen: &[Chosen]) -> Result<(), PlanError> {
    for rule in &ci.gate {
        let Trigger::Topic(topic) = &rule.trigger else {
            continue;
        };
        if !chosen.iter().any(|one| one.name == *topic) {
            let played: Vec<&str> = chosen.iter().map(|one| one.name.as_str()).collect();
            return Err(PlanError::GateOfUnplayed {
                rule: rule.to_string(),
                topic: topic.clone(),
                played: played.join(", "),
            });
        }
    }
    Ok(())
}
