//! [`judge`]: one pass over the recordings, in which every message goes to the rules that want it.

use std::collections::{BTreeMap, BTreeSet};

use super::expectation::{Expectation, Spec, Window};
use super::judged::Judged;
use super::merged::Merged;
use super::rule::{Outcome, Role, Rule, Scope, Seen};
use super::rules::count::Count;
use super::rules::field::Field;
use super::rules::gap::Gap;
use super::rules::gate::judge_gate;
use super::rules::latency::{Latency, Pairing};
use super::rules::rate::Rate;
use super::rules::stamps::Stamps;
use super::rules::transform::{Transform, TransformReaders};
use super::topics::{Bags, Side, TopicKey};
use super::values::{Readers, StampReaders};
use crate::bag::{Bag, Damage, DamageKind};
use crate::ci::report::{Check, Kind, Verdict};
use crate::time::{Time, TimeRange, When};
use crate::untrusted::Foreign;

/// Judges all expectations: one check for each.
pub(crate) fn judge(all: &[(String, Expectation)], run: &Judged<'_>) -> Vec<Check> {
    let log = Log::of(run);
    let mut pass = Pass::new(&log);
    let begun: Vec<Begun> = all
        .iter()
        .map(|(_, expectation)| pass.begin(expectation, run))
        .collect();
    let damage = pass.run();
    let mut checks = Vec::with_capacity(all.len());
    let mut rules = pass.rules.into_iter();
    for ((name, expectation), begun) in all.iter().zip(begun) {
        let outcome = match begun {
            Begun::Rule => {
                let rule = rules.next().expect("it was begun");
                rule.finish()
            }
            Begun::Done(outcome) => outcome,
        };
        checks.push(check(name, expectation, outcome, &log.bags));
    }
    if let Some((first, count)) = damage {
        let more = if count > 1 {
            format!("; {count} places in all")
        } else {
            String::new()
        };
        let reason = format!("the outputs are damaged, messages may be missing: {first}{more}");
        // The messages that are missing may be the reason.
        for check in &mut checks {
            if check.verdict == Verdict::Failed {
                check.verdict = Verdict::Skipped;
                check.reason = format!("no verdict, because outputs are damaged: {}", check.reason);
            }
        }
        let name = "the outputs are undamaged";
        checks.push(Check::new(Kind::Run, name, Verdict::Error, reason));
    }
    checks
}

fn check(name: &str, expectation: &Expectation, outcome: Outcome, bags: &Bags<'_>) -> Check {
    // A count says how many messages there are, also of a topic that is not there.
    let with_missing = |reason: String| match &expectation.spec {
        Spec::Count(_) => match bags.missing(&expectation.topic) {
            Some(missing) => format!("{reason}; {missing}"),
            None => reason,
        },
        _ => reason,
    };
    let (verdict, reason) = match outcome {
        Outcome::Holds(found) => (Verdict::Passed, with_missing(found)),
        Outcome::Fails(why) => (Verdict::Failed, with_missing(why)),
        Outcome::Unknown(why) => (Verdict::Error, why),
        Outcome::NoMessage => {
            let why = match (bags.missing(&expectation.topic), &expectation.window) {
                (Some(missing), _) => format!(", {missing}"),
                (None, Some(window)) => window.within(),
                (None, None) => String::new(),
            };
            let verdict = if expectation.allows_none {
                Verdict::Passed
            } else {
                Verdict::Failed
            };
            let topic = Foreign::text(&expectation.topic);
            (verdict, format!("{topic}: no message{why}"))
        }
    };
    Check::new(Kind::Expectation, name, verdict, reason)
}

/// What is expected of an output that no node published, because the run played the topic. If no message is expected,
/// that cannot be decided, and everything else fails.
fn of_played(expectation: &Expectation) -> Outcome {
    let topic = Foreign::text(&expectation.topic);
    let why = format!(
        "{topic} was played, and no message of another node was received; hint: --exclude-topics leaves it out"
    );
    match &expectation.spec {
        Spec::Count(spec) if spec.min == 0 => Outcome::Unknown(why),
        _ => Outcome::Fails(why),
    }
}

/// Whether messages may be missing at such a place.
fn loses_messages(damage: DamageKind) -> bool {
    !matches!(
        damage,
        DamageKind::Index | DamageKind::Times | DamageKind::ChannelConflict
    )
}

/// The log of a run.
struct Log<'a> {
    bags: Bags<'a>,
    /// The whole recording, to which times refer.
    recording: TimeRange,
    /// What was played of it.
    played: TimeRange,
}

impl<'a> Log<'a> {
    fn of(run: &Judged<'a>) -> Self {
        let inputs = run.inputs.and_then(Bag::range);
        let recording = inputs.or(run.outputs.range()).or(run.played);
        let recording =
            recording.unwrap_or(TimeRange::between(Time::from_nanos(0), Time::from_nanos(0)));
        Self {
            bags: Bags::of(run),
            recording,
            played: run.played.unwrap_or(recording),
        }
    }

    /// What an expectation is about; `None` if nothing of its window was played.
    fn scope(&self, expectation: &Expectation) -> Option<Scope> {
        let window = expectation.window.as_ref();
        let range = window.map(|window| window.range);
        let end = |when: Option<When>| when.map(|when| when.in_range(self.recording));
        let from = range.and_then(|range| end(range.from)).unwrap_or(Time::MIN);
        let to = range.and_then(|range| end(range.to)).unwrap_or(Time::MAX);
        if from > to {
            return None;
        }
        let judged = TimeRange::between(from, to);
        Some(Scope {
            subject: match &expectation.spec {
                Spec::Transform(_) => "tf".to_owned(),
                _ => expectation.topic.clone(),
            },
            window: judged,
            span: judged.intersection(self.played)?,
            within: window.map_or(String::new(), Window::within),
            origin: self.recording.start(),
        })
    }
}

/// What has become of an expectation before the pass.
enum Begun {
    /// Its rule is the next of those of the pass.
    Rule,
    Done(Outcome),
}

/// The rules of a pass, and which messages they want.
struct Pass<'l, 'a> {
    log: &'l Log<'a>,
    rules: Vec<Box<dyn Rule>>,
    wanted: BTreeMap<TopicKey, BTreeSet<(usize, Role)>>,
}

impl<'l, 'a> Pass<'l, 'a> {
    fn new(log: &'l Log<'a>) -> Self {
        Self {
            log,
            rules: Vec::new(),
            wanted: BTreeMap::new(),
        }
    }

    fn begin(&mut self, expectation: &Expectation, run: &Judged<'_>) -> Begun {
        if let Spec::Gate(spec) = &expectation.spec {
            return Begun::Done(judge_gate(spec, run.gates));
        }
        let Some(scope) = self.log.scope(expectation) else {
            let within = expectation
                .window
                .as_ref()
                .map_or(String::new(), Window::within);
            let label = Foreign::text(&expectation.label);
            let what = format!("{label}: nothing was played{within}");
            return Begun::Done(Outcome::Unknown(what));
        };
        let bags = &self.log.bags;
        let mut routes = Vec::new();
        let topics = match &expectation.spec {
            Spec::Transform(_) => bags.either(&expectation.topic),
            _ => bags.named(Side::Outputs, &expectation.topic),
        };
        if topics.is_empty() && bags.is_played(&expectation.topic) {
            return Begun::Done(of_played(expectation));
        }
        routes.extend(topics.iter().map(|topic| (*topic, Role::Subject)));
        let rule: Box<dyn Rule> = match &expectation.spec {
            Spec::Count(spec) => Box::new(Count::new(*spec, scope)),
            Spec::Rate(spec) => Box::new(Rate::new(*spec, scope)),
            Spec::MaxGap(most) => Box::new(Gap::new(*most, scope)),
            Spec::Latency(spec) => {
                let inputs = bags.named(Side::Inputs, &spec.from);
                let triggers = if inputs.is_empty() {
                    bags.either(&spec.from)
                } else {
                    inputs
                };
                let mut stamped = topics.clone();
                if spec.by == Pairing::Stamp {
                    stamped.extend(&triggers);
                } else {
                    stamped.clear();
                }
                routes.extend(triggers.iter().map(|topic| (*topic, Role::Trigger)));
                let stamps = StampReaders::new(bags, &stamped);
                Box::new(Latency::new(spec.clone(), scope, stamps))
            }
            Spec::Stamps(spec) => {
                let readers = Readers::new(bags, &topics, &spec.path);
                Box::new(Stamps::new(spec, scope, readers))
            }
            Spec::Field(spec) => {
                let readers = Readers::new(bags, &topics, &spec.path);
                Box::new(Field::new(spec.clone(), scope, readers))
            }
            Spec::Transform(spec) => {
                let mut all = Vec::new();
                for (name, is_static) in [("/tf", false), ("/tf_static", true)] {
                    for side in [Side::Inputs, Side::Outputs] {
                        let named = bags.named(side, name);
                        let role = Role::Transforms { is_static };
                        routes.extend(named.iter().map(|topic| (*topic, role)));
                        all.extend(named);
                    }
                }
                let readers = TransformReaders::new(bags, &all);
                let stamps = StampReaders::new(bags, &topics);
                Box::new(Transform::new(spec.clone(), scope, readers, stamps))
            }
            Spec::Gate(_) => unreachable!("it was judged above"),
        };
        for (topic, role) in routes {
            self.wanted
                .entry(topic)
                .or_default()
                .insert((self.rules.len(), role));
        }
        self.rules.push(rule);
        Begun::Rule
    }

    /// Reads the recordings. Returns the damage of the outputs by which messages may be missing: the first, and how
    /// much there is. What is damaged in the inputs was not played.
    fn run(&mut self) -> Option<(Damage, u64)> {
        let outputs = self.log.bags.outputs;
        let lost = outputs
            .damage()
            .iter()
            .filter(|damage| loses_messages(damage.kind));
        let mut damage = lost.clone().next().cloned().zip(Some(lost.count() as u64));
        let topics = self.wanted.keys().copied().collect();
        for (side, item) in Merged::new(&self.log.bags, &topics) {
            match item {
                Ok(message) => {
                    let topic = TopicKey {
                        side,
                        id: message.topic,
                    };
                    let seen = Seen {
                        at: message.key.time,
                        topic,
                        payload: message.payload,
                    };
                    self.pass(&seen);
                }
                Err(found) if side == Side::Outputs && !outputs.damage().contains(&found) => {
                    damage.get_or_insert((found, 0)).1 += 1;
                }
                Err(_) => {}
            }
        }
        damage
    }

    fn pass(&mut self, seen: &Seen) {
        let is_played = seen.topic.side == Side::Outputs || self.log.played.contains(seen.at);
        for (rule, role) in self.wanted.get(&seen.topic).into_iter().flatten() {
            // Static transforms from before are sent again at the start.
            let is_sent = is_played
                || *role == Role::Transforms { is_static: true }
                    && seen.at <= self.log.played.stop();
            if is_sent {
                self.rules[*rule].message(*role, seen);
            }
        }
    }
}
