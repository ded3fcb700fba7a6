//! [`Facts`]: how a run waited for the nodes, and what could therefore happen in a different order.

use crate::ci::gates::{GateRule, Trigger};
use crate::ci::report::{Divergence, RunRecord};
use crate::untrusted::Foreign;

/// How many nodes or topics of a kind are named.
const NAMED: usize = 5;

/// How a run waited for the nodes under test.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Facts {
    /// Whether it waited until they had settled, after each clock and each message.
    pub lockstep: bool,
    /// The gates.
    pub gates: Vec<GateFact>,
    /// The topics that were sent.
    pub inputs: Vec<InputFact>,
    /// The topics of the system under test that answer no gate.
    pub outputs_without_gate: Vec<String>,
    /// The threads that run without input, one sentence each.
    pub unprompted: Vec<String>,
}

/// A gate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GateFact {
    /// Its rule, as it is written.
    pub rule: String,
    /// How many of its questions could be unanswered while playback went on, at least 1.
    pub in_flight: u32,
}

/// A topic that was sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InputFact {
    /// Its name.
    pub topic: String,
    /// The nodes that subscribe to it.
    pub subscribers: Vec<String>,
    /// Whether its messages are questions of a gate.
    pub has_gate: bool,
}

impl Facts {
    /// From the record of a run in which so many messages of each gate could be unanswered at once.
    pub fn of(run: &RunRecord, in_flight: u32) -> Self {
        let gates = run.gates.iter().map(|gate| GateFact {
            rule: gate.rule.clone(),
            in_flight,
        });
        let rules: Vec<GateRule> = (run.gates.iter())
            .filter_map(|gate| gate.rule.parse().ok())
            .collect();
        let is_question = |topic: &str| {
            let mut triggers = rules.iter().map(|rule| &rule.trigger);
            triggers.any(|it| matches!(it, Trigger::Topic(name) if name == topic))
        };
        let inputs = run.inputs.iter().map(|input| InputFact {
            topic: input.topic.clone(),
            subscribers: input.subscribers.clone(),
            has_gate: is_question(&input.topic),
        });
        let is_answer = |topic: &String| rules.iter().any(|rule| rule.outputs.contains(topic));
        let outputs = run.outputs.iter().map(|output| output.topic.clone());
        Self {
            lockstep: run.settling.is_some(),
            gates: gates.collect(),
            inputs: inputs.collect(),
            outputs_without_gate: outputs.filter(|topic| !is_answer(topic)).collect(),
            unprompted: run.unprompted.iter().map(ToString::to_string).collect(),
        }
    }

    /// What may have happened in a different order, one sentence each; what has to do with the topic that diverges, and
    /// with the input before it, first.
    pub fn racing(&self, divergence: &Divergence) -> Vec<String> {
        let input = divergence.input.as_ref().map(|(topic, _)| topic.as_str());
        let is_near = |topic: &str| Some(topic) == input || topic == divergence.topic;
        let mut said: Vec<(bool, String)> = Vec::new();
        for GateFact { rule, in_flight } in &self.gates {
            if *in_flight > 1 {
                let sentence = format!(
                    "gate `{}` let {in_flight} messages be unanswered at once, so a node could process them together",
                    Foreign::text(rule)
                );
                let words = || rule.split([' ', ',']);
                let is_of = words().any(|word| !word.is_empty() && is_near(word));
                said.push((is_of, sentence));
            }
        }
        for input in &self.inputs {
            let topic = Foreign::text(&input.topic);
            let nodes = named(&input.subscribers);
            let sentence = match (input.subscribers.len(), input.has_gate || self.lockstep) {
                (0, _) | (1, true) => continue,
                (1, false) => {
                    format!("{topic} has no gate: {nodes} received it while playback went on")
                }
                (_, true) => format!("{topic} goes to {nodes}, which process it at the same time"),
                (_, false) => format!(
                    "{topic} has no gate: {nodes} received it while playback went on, and process it at the same time"
                ),
            };
            said.push((is_near(&input.topic), sentence));
        }
        if !self.lockstep {
            let (near, far): (Vec<String>, Vec<String>) = self
                .outputs_without_gate
                .iter()
                .cloned()
                .partition(|topic| is_near(topic));
            for (is_near, topics) in [(true, near), (false, far)] {
                if !topics.is_empty() {
                    let has = if topics.len() == 1 {
                        "answers"
                    } else {
                        "answer"
                    };
                    let sentence = format!(
                        "{} {has} no gate: playback did not wait for it",
                        named(&topics)
                    );
                    said.push((is_near, sentence));
                }
            }
        }
        said.extend(self.unprompted.iter().map(|it| (false, it.clone())));
        if said.is_empty() {
            return vec![
                "playback waited for the nodes after each message, so the cause is in a node: threads, random numbers, the wall clock, or state of an earlier run".to_owned(),
            ];
        }
        said.sort_by_key(|(is_near, _)| !is_near);
        said.into_iter().map(|(_, sentence)| sentence).collect()
    }
}

/// `a`, `a and b`, `a, b and 7 more`.
fn named(names: &[String]) -> String {
    let shown: Vec<String> = names
        .iter()
        .take(NAMED)
        .map(|name| Foreign::text(name).to_string())
        .collect();
    let more = names.len() - shown.len();
    match &shown[..] {
        all if more > 0 => format!("{} and {more} more", all.join(", ")),
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(topic: &str, subscribers: &[&str], has_gate: bool) -> InputFact {
        InputFact {
            topic: topic.to_owned(),
            subscribers: subscribers.iter().map(|&it| it.to_owned()).collect(),
            has_gate,
        }
    }

    fn divergence(topic: &str, input: &str) -> Divergence {
        Divergence {
            topic: topic.to_owned(),
            input: Some((input.to_owned(), 7)),
            ..Divergence::default()
        }
    }

    #[test]
    fn what_concerns_the_divergence_comes_first() {
        let facts = Facts {
            lockstep: false,
            gates: vec![
                GateFact {
                    rule: "/a -> /b".to_owned(),
                    in_flight: 1,
                },
                GateFact {
                    rule: "/points -> /odom, /map".to_owned(),
                    in_flight: 3,
                },
            ],
            inputs: vec![
                input("/gps", &["/ekf"], false),
                input("/points", &["/slam", "/viewer"], true),
                input("/quiet", &[], false),
                input("/a", &["/ekf"], true),
                input("/imu", &["/ekf", "/slam"], false),
            ],
            outputs_without_gate: vec!["/tf".to_owned(), "/path".to_owned()],
            unprompted: vec!["thread \"timer\" ran 40 times a second".to_owned()],
        };
        assert_eq!(
            facts.racing(&divergence("/tf", "/points")),
            [
                "gate `/points -> /odom, /map` let 3 messages be unanswered at once, so a node could process them together",
                "/points goes to /slam and /viewer, which process it at the same time",
                "/tf answers no gate: playback did not wait for it",
                "/gps has no gate: /ekf received it while playback went on",
                "/imu has no gate: /ekf and /slam received it while playback went on, and process it at the same time",
                "/path answers no gate: playback did not wait for it",
                "thread \"timer\" ran 40 times a second",
            ]
        );
    }

    #[test]
    fn in_lockstep_only_nodes_race_with_each_other() {
        let facts = Facts {
            lockstep: true,
            inputs: vec![input("/imu", &["/ekf"], false)],
            outputs_without_gate: vec!["/odom".to_owned()],
            ..Facts::default()
        };
        let racing = facts.racing(&divergence("/odom", "/imu"));
        assert_eq!(racing.len(), 1);
        assert!(racing[0].contains("the cause is in a node"), "{racing:?}");
        let many: Vec<String> = (0..7).map(|n| format!("/n{n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let facts = Facts {
            inputs: vec![input("/imu", &many, false)],
            ..facts
        };
        assert_eq!(
            facts.racing(&divergence("/odom", "/imu")),
            ["/imu goes to /n0, /n1, /n2, /n3, /n4 and 2 more, which process it at the same time"]
        );
    }
}
