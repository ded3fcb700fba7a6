//! How long after a message of another topic the first message of the topic comes, in log time.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use hdrhistogram::Histogram;

use super::limits::{Limits, percentile};
use crate::ci::judge::expect::rule::{Outcome, Role, Rule, Scope, Seen, messages};
use crate::ci::judge::expect::values::{StampReaders, unreadable};
use crate::time::{Duration, Ros, Time};
use crate::untrusted::Foreign;

/// How many messages may wait for their output at once.
const MAX_WAITING: usize = 1 << 20;

/// Which output belongs to a trigger.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pairing {
    /// The first at the log time of the trigger or later.
    Time,
    /// The first with an equal `header.stamp`.
    Stamp,
}

/// The latencies that are allowed.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct LatencySpec {
    /// The topic of the triggers.
    pub(crate) from: String,
    pub(crate) by: Pairing,
    pub(crate) limits: Limits,
    /// How many triggers may have no output.
    pub(crate) unanswered: u64,
}

impl fmt::Display for LatencySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "latency from {}", Foreign::text(&self.from))?;
        if self.by == Pairing::Stamp {
            write!(f, " by stamp")?;
        }
        write!(f, " {}", self.limits)
    }
}

pub(crate) struct Latency {
    spec: LatencySpec,
    scope: Scope,
    stamps: StampReaders,
    /// The log times of the triggers that wait, the oldest first.
    by_time: VecDeque<Time<Ros>>,
    /// The same by their stamps.
    by_stamp: BTreeMap<i64, Vec<Time<Ros>>>,
    /// How many are in it.
    stamped: usize,
    outputs: u64,
    triggers: u64,
    /// For each limit how many latencies are within it.
    within: Vec<u64>,
    found: Histogram<u64>,
    /// The longest latency, and the log time of its trigger.
    longest: Option<(Duration, Time<Ros>)>,
    /// What ended it early.
    end: Option<Outcome>,
}

impl Latency {
    /// The readers are for the topic and for the triggers.
    pub(crate) fn new(spec: LatencySpec, scope: Scope, stamps: StampReaders) -> Self {
        Self {
            within: vec![0; spec.limits.0.len()],
            spec,
            scope,
            stamps,
            by_time: VecDeque::new(),
            by_stamp: BTreeMap::new(),
            stamped: 0,
            outputs: 0,
            triggers: 0,
            found: Histogram::new(3).expect("three digits are allowed"),
            longest: None,
            end: None,
        }
    }

    fn stamp(&mut self, role: Role, seen: &Seen) -> Option<i64> {
        match self.stamps.stamp(seen) {
            Ok(stamp) => Some(stamp),
            Err(error) => {
                let mut scope = self.scope.clone();
                if role == Role::Trigger {
                    scope.subject.clone_from(&self.spec.from);
                }
                let at = scope.at(seen.at);
                // What was played is not a fault of the system under test.
                self.end
                    .get_or_insert(match unreadable(&scope, &error, &at) {
                        Outcome::Fails(why) if role == Role::Trigger => Outcome::Unknown(why),
                        outcome => outcome,
                    });
                None
            }
        }
    }

    fn trigger(&mut self, seen: &Seen) {
        self.triggers += 1;
        if self.by_time.len() + self.stamped >= MAX_WAITING {
            let what = format!(
                "more than {MAX_WAITING} messages of {} wait",
                Foreign::text(&self.spec.from)
            );
            let what = self.scope.says(what);
            self.end.get_or_insert(Outcome::Unknown(what));
            return;
        }
        match self.spec.by {
            Pairing::Time => self.by_time.push_back(seen.at),
            Pairing::Stamp => {
                if let Some(stamp) = self.stamp(Role::Trigger, seen) {
                    self.by_stamp.entry(stamp).or_default().push(seen.at);
                    self.stamped += 1;
                }
            }
        }
    }

    fn output(&mut self, seen: &Seen) {
        self.outputs += 1;
        match self.spec.by {
            Pairing::Time => {
                while let Some(asked) = self.by_time.pop_front() {
                    self.latency(asked, seen.at);
                }
            }
            Pairing::Stamp => {
                let stamp = self.stamp(Role::Subject, seen);
                let asked = stamp.and_then(|stamp| self.by_stamp.remove(&stamp));
                for asked in asked.into_iter().flatten() {
                    self.stamped -= 1;
                    self.latency(asked, seen.at);
                }
            }
        }
    }

    fn latency(&mut self, asked: Time<Ros>, answered: Time<Ros>) {
        let latency = answered.saturating_since(asked);
        for ((_, most), within) in self.spec.limits.0.iter().zip(&mut self.within) {
            *within += u64::from(latency <= *most);
        }
        let nanos = u64::try_from(latency.as_nanos()).unwrap_or(0);
        self.found.record(nanos).expect("it grows with its values");
        if self.longest.is_none_or(|(longest, _)| latency > longest) {
            self.longest = Some((latency, asked));
        }
    }

    /// The latency that this part of all does not exceed, in words: to three digits, but for the longest.
    fn figure(&self, percent: u8) -> String {
        let name = percentile(percent);
        match self.longest {
            Some((longest, _)) if percent == 100 => format!("{name} = {longest}"),
            _ => {
                let nanos = self.found.value_at_quantile(f64::from(percent) / 100.0);
                let step = 10_u64.pow(nanos.checked_ilog10().unwrap_or(0).saturating_sub(2));
                let nanos = nanos.saturating_add(step / 2) / step * step;
                let rounded = Duration::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX));
                format!("{name} ≈ {rounded}")
            }
        }
    }
}

impl Rule for Latency {
    fn message(&mut self, role: Role, seen: &Seen) {
        if self.end.is_some() {
            return;
        }
        match role {
            Role::Trigger if self.scope.window.contains(seen.at) => self.trigger(seen),
            Role::Subject => self.output(seen),
            _ => {}
        }
    }

    fn finish(self: Box<Self>) -> Outcome {
        let Self { spec, scope, .. } = &*self;
        if let Some(end) = self.end {
            return end;
        }
        if self.triggers == 0 {
            let from = Foreign::text(&spec.from);
            return Outcome::Unknown(scope.says(format!("no message of {from}{}", scope.within)));
        }
        if self.outputs == 0 {
            return Outcome::NoMessage;
        }
        let answered = self.found.len();
        let unanswered = self.triggers.saturating_sub(answered);
        if unanswered > spec.unanswered {
            let waiting = self
                .by_time
                .front()
                .or(self.by_stamp.values().flatten().min());
            let first = waiting.map_or(String::new(), |at| {
                format!(", the first at {}", scope.at(*at))
            });
            let what = format!(
                "{unanswered} of {} of {} got no output{first}; at most {} is expected",
                messages(self.triggers),
                Foreign::text(&spec.from),
                spec.unanswered
            );
            return Outcome::Fails(scope.says(what));
        }
        let mut found = Vec::new();
        for ((percent, most), within) in spec.limits.0.iter().zip(&self.within) {
            let is_figure = self.figure(*percent);
            // So many have to be within the limit, rounded up.
            let needed = answered.saturating_mul(u64::from(*percent)).div_ceil(100);
            if *within < needed {
                let place = match self.longest {
                    Some((_, asked)) if *percent == 100 => {
                        format!(", for {} at {}", Foreign::text(&spec.from), scope.at(asked))
                    }
                    _ => String::new(),
                };
                let what = format!("latency {is_figure}{place}, at most {most} is expected");
                return Outcome::Fails(scope.says(what));
            }
            found.push(is_figure);
        }
        let what = format!("latency {} of {answered}", found.join(", "));
        Outcome::Holds(scope.says(what))
    }
}
