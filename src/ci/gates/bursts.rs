//! [`Bursts`]: how many messages of a topic go out before playback waits for an answer.

use std::collections::{BTreeMap, VecDeque};

use super::rule::{GateRule, Trigger};
use crate::time::{Duration, Ros, Time};

/// The most messages of a topic that go out without a wait.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Burst {
    /// The topic, by its name on the network.
    pub topic: String,
    /// How many messages they are.
    pub messages: u64,
    /// The time of the first of them.
    pub at: Time<Ros>,
}

/// Counts the messages of a recording between the questions at which playback waits. As many questions as may be in
/// flight can be open, so a burst reaches over as many of them.
#[derive(Debug)]
pub struct Bursts {
    triggers: Vec<String>,
    ticks: Vec<Duration>,
    in_flight: usize,
    start: Time<Ros>,
    /// The time of the last message.
    reached: Time<Ros>,
    /// How many questions there were.
    questions: u64,
    topics: BTreeMap<String, Window>,
}

/// The messages of a topic since the oldest question that may be open.
#[derive(Debug, Default)]
struct Window {
    /// Those after the same number of questions as one, with that number: at most as many as questions may be open.
    stretches: VecDeque<Stretch>,
    /// How many messages they are.
    messages: u64,
    longest: Option<(u64, Time<Ros>)>,
}

/// Messages of a topic between two questions.
#[derive(Debug)]
struct Stretch {
    /// How many questions there were before.
    questions: u64,
    messages: u64,
    first: Time<Ros>,
}

impl Bursts {
    /// For gates with these rules, in a run that starts at `start`. No rules: playback never waits.
    pub fn new(rules: &[GateRule], in_flight: usize, start: Time<Ros>) -> Self {
        let (mut triggers, mut ticks) = (Vec::new(), Vec::new());
        for rule in rules {
            match &rule.trigger {
                Trigger::Topic(topic) => triggers.push(topic.clone()),
                Trigger::Tick(span) => ticks.push(*span),
            }
        }
        Self {
            triggers,
            ticks,
            in_flight: in_flight.max(1),
            start,
            reached: start,
            questions: 0,
            topics: BTreeMap::new(),
        }
    }

    /// The next message, in the order of playing.
    pub fn message(&mut self, topic: &str, at: Time<Ros>) {
        self.questions += self.steps_to(at);
        self.reached = self.reached.max(at);
        if !self.topics.contains_key(topic) {
            self.topics.insert(topic.to_owned(), Window::default());
        }
        let first = self.questions.saturating_sub(self.in_flight as u64 - 1);
        if let Some(window) = self.topics.get_mut(topic) {
            window.add(self.questions, first, at);
        }
        if self.triggers.iter().any(|trigger| trigger == topic) {
            self.questions += 1;
        }
    }

    /// How many steps of the clock there are after the last message, up to and including `at`.
    fn steps_to(&self, at: Time<Ros>) -> u64 {
        let passed = |span: &Duration, time: Time<Ros>| {
            let from_start = time.saturating_since(self.start).as_nanos();
            from_start.max(0) / span.as_nanos().max(1)
        };
        let steps = self.ticks.iter().map(|span| {
            let new = passed(span, at) - passed(span, self.reached);
            u64::try_from(new).unwrap_or(0)
        });
        steps.sum()
    }

    /// The longest burst of each topic, sorted by topic.
    pub fn longest(&self) -> Vec<Burst> {
        let topics = self.topics.iter();
        let longest = topics.filter_map(|(topic, window)| {
            let (messages, at) = window.longest?;
            Some(Burst {
                topic: topic.clone(),
                messages,
                at,
            })
        });
        longest.collect()
    }
}

impl Window {
    /// Adds a message after so many questions; those before question `first` are dealt with.
    fn add(&mut self, questions: u64, first: u64, at: Time<Ros>) {
        match self.stretches.back_mut() {
            Some(last) if last.questions == questions => last.messages += 1,
            _ => self.stretches.push_back(Stretch {
                questions,
                messages: 1,
                first: at,
            }),
        }
        self.messages += 1;
        while let Some(oldest) = self.stretches.front()
            && oldest.questions < first
        {
            self.messages -= oldest.messages;
            self.stretches.pop_front();
        }
        if self
            .longest
            .is_none_or(|(longest, _)| self.messages > longest)
            && let Some(oldest) = self.stretches.front()
        {
            self.longest = Some((self.messages, oldest.first));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Time<Ros> {
        Time::from_millis(millis)
    }

    fn bursts(
        rules: &[&str],
        in_flight: usize,
        messages: &[(&str, i64)],
    ) -> Vec<(String, u64, i64)> {
        let rules: Vec<GateRule> = rules.iter().map(|rule| rule.parse().unwrap()).collect();
        let mut bursts = Bursts::new(&rules, in_flight, at(0));
        for (topic, time) in messages {
            bursts.message(topic, at(*time));
        }
        let longest = bursts.longest().into_iter();
        longest
            .map(|burst| (burst.topic, burst.messages, burst.at.as_nanos() / 1_000_000))
            .collect()
    }

    #[test]
    fn a_burst_ends_at_a_question() {
        let messages = [
            ("/imu", 1),
            ("/imu", 2),
            ("/points", 3),
            ("/imu", 4),
            ("/imu", 5),
            ("/imu", 6),
            ("/points", 7),
            ("/imu", 8),
        ];
        let of = |in_flight| bursts(&["/points -> /odom"], in_flight, &messages);
        assert_eq!(of(1), [("/imu".into(), 3, 4), ("/points".into(), 1, 3)]);
        assert_eq!(of(2), [("/imu".into(), 5, 1), ("/points".into(), 2, 3)]);
        let ungated = bursts(&[], 1, &messages);
        assert_eq!(ungated, [("/imu".into(), 6, 1), ("/points".into(), 2, 3)]);
    }

    #[test]
    fn steps_of_the_clock_are_questions() {
        let messages: Vec<(&str, i64)> = (0..100).map(|ms| ("/imu", ms)).collect();
        let found = bursts(&["tick 20ms -> /cmd"], 1, &messages);
        assert_eq!(found, [("/imu".into(), 20, 0)]);
        let both = bursts(&["tick 20ms -> /cmd", "tick 30ms -> /map"], 1, &messages);
        assert_eq!(both, [("/imu".into(), 20, 0)]);
    }
    #[test]
    fn messages_without_a_question_take_no_memory() {
        let mut bursts = Bursts::new(&["/points -> /odom".parse().unwrap()], 3, at(0));
        for ms in 0..10_000 {
            bursts.message("/imu", at(ms));
            if ms % 1_000 == 0 {
                bursts.message("/points", at(ms));
            }
        }
        assert_eq!(bursts.longest()[0].messages, 3_000);
        assert!(bursts.topics.values().all(|it| it.stretches.len() <= 3));
    }
}
